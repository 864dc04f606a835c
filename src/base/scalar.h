// What kernels need of a scalar beyond + − · /, once for doubles; intervals and exact numbers bring their
// own in base/.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/bounded.h"
#include "base/bounded_number.h"
#include "base/exact.h"
#include "base/interval.h"
#include "base/number.h"
#include "base/rounded.h"

namespace qkv {

inline double larger(double a, double b) { return std::max(a, b); }
inline bool is_plus_infinity(double x) { return x == std::numeric_limits<double>::infinity(); }
inline bool certainly_exceeds(double a, double b) { return a > b; }
inline bool certainly_equals(double a, double b) { return a == b; }
inline double hull(double a, double) { return a; }
inline double infinity_of(const double*, int sign) { return sign * std::numeric_limits<double>::infinity(); }
inline double nan_of(const double*) { return std::numeric_limits<double>::quiet_NaN(); }

inline bool certainly_equals(const Bounded& a, const Bounded& b) {
  return a.value == b.value && a.error == 0 && b.error == 0;
}
inline bool certainly_equals(const Rounded& a, const Rounded& b) { return a.value() == b.value(); }

template <class T>
T infinity(int sign) {
  return infinity_of(static_cast<const T*>(nullptr), sign);
}
template <class T>
T not_a_number() {
  return nan_of(static_cast<const T*>(nullptr));
}

template <class T>
bool is_minus_infinity(const T& x) {
  return is_plus_infinity(T(-x));
}

// Whether two numbers that cannot be told apart now must be taken as equal: for intervals, at
// the highest precision.
template <class T>
bool settles_ties() {
  if constexpr (std::is_same_v<T, Interval>) return Interval::default_precision() >= kMostDigits;
  return false;
}

// Whether ∞ − ∞ is NaN, as the processor has it, and not the limit that a softmax means.
template <class T>
constexpr bool follows_ieee() {
  return std::is_same_v<T, Rounded>;
}

template <class T>
T scalar_of(const Number& number) {
  if constexpr (std::is_same_v<T, double>) {
    return number.value;
  } else if constexpr (std::is_same_v<T, Exact>) {
    return exact_value(number);
  } else if constexpr (std::is_same_v<T, Bounded>) {
    return bounded(number);
  } else if constexpr (std::is_same_v<T, Rounded>) {
    return rounded_value(number);
  } else {
    return enclose(number);
  }
}

}  // namespace qkv

// Doubles that know how wrong they may be.
//
// A Bounded is a plain double and a bound on its distance from the true real number.  The value
// is bit for bit what the same kernel gives on doubles; the bound is proved, and 0 where nothing
// was rounded.  Most decimals are settled by it, and an interval is never made.
//
// How the bound grows: the product of a ± ea and b ± eb is off by at most |a|·eb + ea·(|b| + eb)
// for what came in, and by half a unit in the last place for rounding it.  The bound itself is
// computed in doubles; the half unit is taken a little too large, which pays for that as long as
// the bound is small beside the value.  What is not so usual (a difference that cancels, zero,
// underflow, infinity) is done with more care, out of line.
//
// Infinity and NaN.  A given -inf has the error 0 and keeps it through every operation whose
// result is certain: -inf + x is -inf, exp(-inf) is 0.  An infinity with any other error says
// nothing, one that overflowed for instance.  NaN has an infinite error, ∞ − ∞ too; only the NaN
// somebody asked for (nan_of), and what is computed from it, is certain and has the error 0.
#pragma once

#include <Eigen/Core>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/matrix.h"

namespace qkv {

struct BoundedProduct;

struct Bounded {
  double value = 0;
  double error = 0;  // at least |value − the true number|

  Bounded() = default;
  Bounded(int exact) : value(exact) {}
  Bounded(double exact) : value(exact) {}
  Bounded(double near, double within) : value(near), error(within) {}

  Bounded& operator+=(const Bounded& b);
  Bounded& operator-=(const Bounded& b);
  Bounded& operator+=(const BoundedProduct& product);
};

// A product that is not yet computed: `sum += a * b`, most of the work of every kernel, is then one
// operation, with one bound for its two roundings.
struct BoundedProduct {
  double a, a_error;
  double b, b_error;
  operator Bounded() const;
};

// On an x87, where doubles are computed with more digits and rounded again when stored, an exact
// operation cannot be told by looking at its result; every operation is charged for a rounding.
inline constexpr bool kDoublesArePlain =
    FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 16;

namespace bounded_detail {

// Half a unit in the last place of 1, and 1/256 of it for the roundings of the bound itself, of which no
// formula here makes more than eight.  Twice as much where a result is rounded twice.
inline constexpr double kHalfUlp = (kDoublesArePlain ? 0x1p-53 : 0x1p-52) * (1 + 0x1p-8);

// Whether that 1/256 is enough: 8 · 2^-53 · error < 2^-61 · |value|, and nothing can have underflowed.
// False for zeros, infinities and NaN; an x87 sees an overflow only later.
inline bool is_usual(double value, double error) {
  const double size = std::abs(value);
  return error < size * 0x1p-12 - 0x1p-960 && (kDoublesArePlain || size <= DBL_MAX);
}

// The careful bounds, for everything else; constant functions, so that a loop keeps its pointers in
// registers.
[[gnu::const]] double bound_of_sum(double a, double a_error, double b, double b_error);
[[gnu::const]] double bound_of_product(double a, double a_error, double b, double b_error);
[[gnu::const]] double bound_of_step(double sum, double error, double a, double a_error, double b,
                                    double b_error);

inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
inline bool are_exact(double error, double other) { return (bits(error) | bits(other)) == 0; }

// Dekker 1971: the difference that takes the larger operand first shows what the rounding took.
inline bool is_exact_sum(double a, double b, double sum) {
  return kDoublesArePlain && sum - a == b && sum - b == a;
}

// At most 26 binary digits each, and neither underflow nor overflow.
inline bool is_exact_product(double a, double b, double product) {
  constexpr std::uint64_t kLowBits = (std::uint64_t{1} << 27) - 1;
  const double size = std::abs(product);
  return kDoublesArePlain && ((bits(a) | bits(b)) & kLowBits) == 0 &&
         (size >= DBL_MIN ? size <= DBL_MAX : size == 0 && (a == 0 || b == 0));
}

}  // namespace bounded_detail

inline Bounded operator-(const Bounded& a) { return {-a.value, a.error}; }

// Only sums of exact numbers are ever called exact.  A compiler that fuses a product into the sum changes
// nothing then, and otherwise makes one rounding where two are charged.
inline Bounded operator+(const Bounded& a, const Bounded& b) {
  using namespace bounded_detail;
  const double value = a.value + b.value;
  if (are_exact(a.error, b.error) && is_exact_sum(a.value, b.value, value)) return value;
  const double error = a.error + (b.error + std::abs(value) * kHalfUlp);
  if (is_usual(value, error)) [[likely]]
    return {value, error};
  return {value, bound_of_sum(a.value, a.error, b.value, b.error)};
}

inline Bounded operator-(const Bounded& a, const Bounded& b) { return a + -b; }

inline BoundedProduct operator*(const Bounded& a, const Bounded& b) {
  return {a.value, a.error, b.value, b.error};
}

inline BoundedProduct::operator Bounded() const {
  using namespace bounded_detail;
  const double value = a * b;
  if (are_exact(a_error, b_error) && is_exact_product(a, b, value)) return value;
  const double spread = std::abs(a) * b_error + a_error * (std::abs(b) + b_error);
  const double error = spread + std::abs(value) * kHalfUlp;
  if (is_usual(value, error)) [[likely]]
    return {value, error};
  return {value, bound_of_product(a, a_error, b, b_error)};
}

inline Bounded& Bounded::operator+=(const BoundedProduct& p) {
  using namespace bounded_detail;
  const double term = p.a * p.b;
  const double sum = value + term;
  double bound = 0;
  // Most sums are inexact from their first terms on; `error > 0` comes first, and is easily foretold.
  if (error > 0 || !are_exact(p.a_error, p.b_error) || !is_exact_product(p.a, p.b, term) ||
      !is_exact_sum(value, term, sum)) {
    const double size = std::abs(p.b);
    const double of_term = std::abs(p.a) * (p.b_error + size * kHalfUlp) + p.a_error * (size + p.b_error);
    bound = error + (std::abs(sum) * kHalfUlp + of_term);
    if (!is_usual(sum, bound)) [[unlikely]] {
      bound = bound_of_step(value, error, p.a, p.a_error, p.b, p.b_error);
    }
  }
  value = sum;
  error = bound;
  return *this;
}

// Member by member: copied whole, a running sum would live in memory.
inline Bounded& Bounded::operator+=(const Bounded& b) {
  const Bounded sum = *this + b;
  value = sum.value;
  error = sum.error;
  return *this;
}
inline Bounded& Bounded::operator-=(const Bounded& b) { return *this += -b; }

Bounded operator/(const Bounded& a, const Bounded& b);

// Functions are taken to be within four units in the last place.  Of the C library's, glibc, musl and the
// BSDs stay below 1 for log, sin and cos and 3 for tanh (Zimmermann et al., Accuracy of Mathematical
// Functions); exp is base/exp.h's, within 2.
Bounded exp(const Bounded& x);
Bounded tanh(const Bounded& x);
Bounded sin(const Bounded& x);
Bounded cos(const Bounded& x);
Bounded log(const Bounded& x);   // nothing is known of it when x may be 0 or negative
Bounded sqrt(const Bounded& x);  // nothing is known of it when x may be negative

inline bool operator==(const Bounded& a, int b) { return a.value == b && a.error == 0; }

// Whether every number within the bound has the text fixed_text(x.value, decimals).  False leaves it open; it
// is never true wrongly.   decimals: 0 … 17
bool decides(const Bounded& x, int decimals);

}  // namespace qkv

template <>
struct Eigen::NumTraits<qkv::Bounded> : Eigen::GenericNumTraits<qkv::Bounded> {
  enum {
    IsInteger = 0,
    IsSigned = 1,
    IsComplex = 0,
    RequireInitialization = 1,
    ReadCost = 2,
    AddCost = 10,
    MulCost = 10
  };
};

namespace qkv {

// A type of its own, like IntervalMatrix.
struct BoundedMatrix : MatrixOf<Bounded> {
  using MatrixOf<Bounded>::MatrixOf;
  BoundedMatrix(MatrixOf<Bounded> m) : MatrixOf<Bounded>(std::move(m)) {}
};

// What kernels need; see base/scalar.h.
Bounded larger(const Bounded& a, const Bounded& b);
bool is_plus_infinity(const Bounded& x);  // certainly: not for a sum that overflowed
bool certainly_exceeds(const Bounded& a, const Bounded& b);
Bounded hull(const Bounded& a, const Bounded& b);  // a's value, with a bound that reaches all of b
Bounded infinity_of(const Bounded*, int sign);
Bounded nan_of(const Bounded*);

}  // namespace qkv

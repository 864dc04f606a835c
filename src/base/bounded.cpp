#include "base/bounded.h"

#include <mpfi.h>

#include <algorithm>
#include <array>

#include "base/decimal.h"
#include "base/exp.h"
#include "base/interval.h"

namespace qkv {
namespace {

using namespace bounded_detail;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnderflow = 0x1p-1070;  // all the underflows of one operation and its bound, 2^-1075 each
constexpr double kFourUlps = 0x1p-50;
constexpr unsigned kDigits = 60;  // of the intervals that compare two ends

// Pays for the roundings of a bound, of exp and of expm1 in it.
double with_slack(double bound) {
  const double result = bound * (1 + 0x1p-40) + kUnderflow;
  return result < kInfinity ? result : kInfinity;  // not NaN
}

// An infinite one when the result overflowed.
double rounding(double value) { return std::abs(value) <= DBL_MAX ? std::abs(value) * kHalfUlp : kInfinity; }

bool is_surely_infinite(double x, double error) { return std::isinf(x) && error == 0; }
bool is_surely_nan(double x, double error) { return std::isnan(x) && error == 0; }
bool is_surely_nan(const Bounded& x) { return is_surely_nan(x.value, x.error); }

// Finite, and something is known of it.
bool is_known(double x, double error) { return std::isfinite(x) && error < kInfinity; }
bool is_surely_not_zero(double x, double error) {
  return is_surely_infinite(x, error) || (is_known(x, error) && std::abs(x) > error);
}

// Binary zeros after the last one of the significand; 53 for a power of two, whose product is always exact.
int spare_digits(double x) {
  return std::countr_zero((bits(x) & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 53);
}

// With at most 53 digits between them, q · b is exact, and then so was a / b = q.
bool is_exact_quotient(double a, double b, double q) {
  if (!kDoublesArePlain) return false;
  return a == 0 || (std::abs(a) >= DBL_MIN && spare_digits(q) + spare_digits(b) >= 53 && q * b == a);
}

}  // namespace

double bounded_detail::bound_of_sum(double a, double a_error, double b, double b_error) {
  const double value = a + b;
  if (std::isnan(value)) return is_surely_nan(a, a_error) || is_surely_nan(b, b_error) ? 0 : kInfinity;
  if (std::isinf(a) || std::isinf(b)) {
    const bool is_certain = (is_surely_infinite(a, a_error) || is_known(a, a_error)) &&
                            (is_surely_infinite(b, b_error) || is_known(b, b_error));
    return is_certain ? 0 : kInfinity;
  }
  if (are_exact(a_error, b_error) && is_exact_sum(a, b, value)) return 0;
  return with_slack(a_error + b_error + rounding(value));
}

double bounded_detail::bound_of_product(double a, double a_error, double b, double b_error) {
  const double value = a * b;
  if (std::isnan(value)) return is_surely_nan(a, a_error) || is_surely_nan(b, b_error) ? 0 : kInfinity;
  if (std::isinf(a) || std::isinf(b)) {
    return is_surely_not_zero(a, a_error) && is_surely_not_zero(b, b_error) ? 0 : kInfinity;
  }
  if (!is_known(a, a_error) || !is_known(b, b_error)) return kInfinity;
  if (are_exact(a_error, b_error) && is_exact_product(a, b, value)) return 0;
  if ((a == 0 && a_error == 0) || (b == 0 && b_error == 0)) return 0;
  return with_slack(std::abs(a) * b_error + a_error * (std::abs(b) + b_error) + rounding(value));
}

double bounded_detail::bound_of_step(double sum, double error, double a, double a_error, double b,
                                     double b_error) {
  return bound_of_sum(sum, error, a * b, bound_of_product(a, a_error, b, b_error));
}

Bounded operator/(const Bounded& a, const Bounded& b) {
  const double value = a.value / b.value;
  if (std::isnan(value)) return {value, is_surely_nan(a) || is_surely_nan(b) ? 0 : kInfinity};
  if (std::isinf(b.value)) {
    return {value, is_surely_infinite(b.value, b.error) && is_known(a.value, a.error) ? 0 : kInfinity};
  }
  if (!is_surely_not_zero(b.value, b.error)) return {value, kInfinity};
  if (std::isinf(a.value)) return {value, is_surely_infinite(a.value, a.error) ? 0 : kInfinity};
  if (are_exact(a.error, b.error) && is_exact_quotient(a.value, b.value, value)) return value;
  // A/B − a/b = ((A − a) − (B − b)·a/b) / B, and |B| is at least this:
  const double least = std::abs(b.value) - b.error;
  const double quotient = std::abs(value) + kUnderflow;
  return {value, with_slack(a.error / least + quotient * (b.error / least) + rounding(value))};
}

Bounded exp(const Bounded& x) {
  const double value = exp(x.value);
  if (std::isnan(x.value)) return {value, x.error == 0 ? 0 : kInfinity};
  if (x.error == 0 && (x.value == 0 || std::isinf(x.value))) return value;
  if (std::isinf(x.value)) return {value, kInfinity};
  const double growth = x.error <= 1 ? x.error * (1 + x.error) : std::expm1(x.error);  // at least e^error − 1
  return {value, with_slack(value * kFourUlps + (value + 4 * kUnderflow) * growth)};
}

Bounded tanh(const Bounded& x) {
  const double value = std::tanh(x.value);
  if (std::isnan(x.value)) return {value, x.error == 0 ? 0 : kInfinity};
  if (x.error == 0 && (x.value == 0 || std::isinf(x.value))) return value;
  if (std::isinf(x.value)) return {value, kInfinity};
  return {value, with_slack(x.error + std::abs(value) * kFourUlps)};  // the slope is at most 1
}

namespace {

// Of sin and cos, whose slope is at most 1.
Bounded wave(const Bounded& x, double value, double at_zero) {
  if (!std::isfinite(x.value)) return {value, kInfinity};
  if (x.error == 0 && x.value == 0) return at_zero;
  return {value, with_slack(x.error + std::abs(value) * kFourUlps)};
}

}  // namespace

Bounded sin(const Bounded& x) { return wave(x, std::sin(x.value), 0); }
Bounded cos(const Bounded& x) { return wave(x, std::cos(x.value), 1); }

Bounded log(const Bounded& x) {
  const double value = std::log(x.value);
  if (x.error == 0 && x.value == 1) return value;
  const double least = x.value - x.error;
  if (!std::isfinite(value) || !(least > 0)) return {value, kInfinity};
  return {value, with_slack(x.error / least + std::abs(value) * kFourUlps)};
}

Bounded sqrt(const Bounded& x) {
  const double value = std::sqrt(x.value);
  if (std::isnan(value)) return {value, is_surely_nan(x) ? 0 : kInfinity};
  if (is_surely_infinite(x.value, x.error)) return value;
  if (x.value == 0 && x.error == 0) return value;
  if (!(x.error <= x.value)) return {value, kInfinity};
  if (x.error == 0 && is_exact_quotient(x.value, value, value)) return value;
  // √A − √a = (A − a) / (√A + √a)
  return {value, with_slack(x.error / value + rounding(value))};
}

bool decides(const Bounded& x, int decimals) {
  if (x.error == 0) return true;
  if (!is_known(x.value, x.error)) return false;
  static constexpr std::array kPowers{1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,
                                      1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17};  // exact doubles
  const double power = kPowers[static_cast<std::size_t>(decimals)];
  const double size = std::abs(x.value);
  if (size + x.error < kScientificFrom) {
    // In units of the last decimal, the text changes at the half-integers.
    const double reach = x.error * power;
    if (reach >= 0.5) return false;
    const double scaled = size * power;
    if (scaled < 0x1p52) {
      const double to_half = std::abs(scaled - std::floor(scaled) - 0.5);
      const double margin = scaled * 0x1p-51 + 0x1p-51;
      return to_half > reach * (1 + 0x1p-40) + margin;
    }
  }
  // Texts are monotone: when both ends have the same, so has everything between.
  const PrecisionScope scope(kDigits);
  Interval ends;
  __mpfi_struct& raw = *ends.backend().data();
  mpfr_set_d(&raw.left, x.value, MPFR_RNDD);
  mpfr_sub_d(&raw.left, &raw.left, x.error, MPFR_RNDD);
  mpfr_set_d(&raw.right, x.value, MPFR_RNDU);
  mpfr_add_d(&raw.right, &raw.right, x.error, MPFR_RNDU);
  return fixed_text(ends, decimals).has_value();
}

Bounded larger(const Bounded& a, const Bounded& b) {
  const double value = std::max(a.value, b.value);
  if (is_surely_nan(a) || is_surely_nan(b)) return {value, std::isnan(value) ? 0 : kInfinity};
  if (certainly_exceeds(a, b)) return {value, a.error};
  if (certainly_exceeds(b, a)) return {value, b.error};
  if (std::isnan(a.value) || std::isnan(b.value)) return {value, kInfinity};
  return {value, std::max(a.error, b.error)};
}

bool is_plus_infinity(const Bounded& x) { return x.value == kInfinity && x.error == 0; }

bool certainly_exceeds(const Bounded& a, const Bounded& b) {
  if ((std::isinf(a.value) && a.error != 0) || (std::isinf(b.value) && b.error != 0)) return false;
  // Rounding keeps order, so the rounded ends compare as the ends do; stored, they are rounded alike.
  const volatile double least = a.value - a.error;
  const volatile double most = b.value + b.error;
  return least > most;
}

Bounded hull(const Bounded& a, const Bounded& b) {
  if (is_surely_nan(a) && is_surely_nan(b)) return a;
  if (a.value == b.value) return {a.value, std::max(a.error, b.error)};
  if (!is_known(a.value, a.error) || !is_known(b.value, b.error)) return {a.value, kInfinity};
  return {a.value, std::max(a.error, with_slack(std::abs(a.value - b.value) + b.error))};
}

Bounded infinity_of(const Bounded*, int sign) { return sign * kInfinity; }
Bounded nan_of(const Bounded*) { return kNan; }

}  // namespace qkv

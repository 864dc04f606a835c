#include "base/bounded_number.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/interval.h"

namespace qkv {
namespace {

constexpr double kWholeNumbers = 0x1p53;  // up to here every whole number is a double
constexpr double kUlp = 0x1p-52;

// A double with so few digits in use may be the decimal itself: 0.5, 2.375.  One that fills its
// 53 digits is taken to be near it.
bool has_spare_digits(double x) {
  constexpr std::uint64_t kLowBits = (std::uint64_t{1} << 26) - 1;
  return (std::bit_cast<std::uint64_t>(x) & kLowBits) == 0;
}

// Whether a double with spare digits, the nearest to a decimal, is that decimal; nullopt where this does not
// tell.
//
// Its 27 binary digits times the 26 of 5^11 are 53, so that value · 10^decimals is computed exactly.  The
// decimal, times the same power, is a whole number, and differs from that by less than half a unit in the
// last place: by less than 1. They are equal when this is a whole number too.
std::optional<bool> is_that_decimal(double value, int decimals) {
  static constexpr std::array kPowers{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
  if (static_cast<std::size_t>(decimals) >= kPowers.size()) return std::nullopt;
  const double scaled = value * kPowers[static_cast<std::size_t>(decimals)];
  if (!(std::abs(scaled) < kWholeNumbers)) return std::nullopt;
  return scaled == std::floor(scaled);
}

// Half a unit in the last place; a whole one for an expression, whose double is only near.
double distance_at_most(double value, double ulps) {
  return std::abs(value) * kUlp * ulps + std::numeric_limits<double>::denorm_min();
}

}  // namespace

Bounded bounded(const Rational& value) {
  const PrecisionScope precision(40);
  const double nearest = middle_double(enclose(value));
  return {nearest, Rational(nearest) == value ? 0 : distance_at_most(nearest, 1)};
}

Bounded bounded(const Number& number) {
  if (number.kind == Number::Kind::infinite || number.kind == Number::Kind::nan) return number.value;
  if (number.kind != Number::Kind::finite) return 0;
  if (number.is_decimal && number.decimals == 0 && std::abs(number.value) < kWholeNumbers)
    return number.value;
  if (!has_spare_digits(number.value))
    return {number.value, distance_at_most(number.value, number.is_decimal ? 1 : 4)};
  if (number.is_decimal) {
    if (const auto is_exact = is_that_decimal(number.value, number.decimals))
      return {number.value, *is_exact ? 0 : distance_at_most(number.value, 1)};
  }
  const Exact exact = exact_value(number);
  const bool is_same = exact.is_rational() && exact.rational() == Rational(number.value);
  return {number.value, is_same ? 0 : distance_at_most(number.value, number.is_decimal ? 1 : 4)};
}

}  // namespace qkv

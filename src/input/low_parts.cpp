#include "input/low_parts.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "base/decimal.h"
#include "base/double_double_number.h"
#include "input/short_decimal.h"

namespace qkv {
namespace {

constexpr std::array kPowersOfTen{
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // doubles
static_assert(kPowersOfTen.size() == kMostShortDecimals + 1);

// x − the number, of the decimal with at most 15 digits whose nearest double is x; nullopt where that has not
// `decimals` digits behind the point, or fewer.
//
// Two decimals of at most 15 digits have different doubles.  So if a whole number below 10^15, divided by
// 10^decimals, gives x, it is the decimal, however the whole number was found.  Then p + e = x·10^decimals
// exactly, and p is so near to the whole number that their difference is exact too.
std::optional<double> rest_of(double x, std::size_t decimals) {
  constexpr double kMostDigits = 1e15;
  const double power = kPowersOfTen[decimals];
  const double whole = std::nearbyint(x * power);
  if (!(std::abs(whole) < kMostDigits) || whole / power != x) return std::nullopt;
  const DoubleDouble product = double_double::product_of(x, power);
  return ((whole - product.hi) - product.lo) / power;
}

}  // namespace

std::optional<std::vector<double>> low_parts(const Numbers& numbers) {
  assert(numbers.are_short && !numbers.are_doubles);
  const std::size_t count = static_cast<std::size_t>(numbers.rows * numbers.cols);
  std::vector<double> rests(count);
  std::size_t decimals = 0;  // as many as the last number had
  for (std::size_t i = 0; i < count; ++i) {
    const double x = numbers.values[i];
    if (x == 0) continue;
    std::optional<double> rest = rest_of(x, decimals);
    for (std::size_t others = 0; !rest && others < kPowersOfTen.size(); ++others) {
      rest = rest_of(x, others);
      if (rest) decimals = others;
    }
    if (!rest) {
      NumberError none;
      const auto exact = double_double_of(parse_number(shortest_text(x), none).value_or(Number{}));
      if (!exact) return std::nullopt;
      rest = exact->lo;
    }
    rests[i] = *rest;
  }
  return rests;
}

}  // namespace qkv

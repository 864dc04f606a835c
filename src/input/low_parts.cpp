#include "input/low_parts.h"

#include <cassert>
#include <cmath>
#include <cstddef>

#include "base/decimal.h"
#include "base/double_double_number.h"
#include "input/short_decimal.h"

namespace qkv {
namespace {

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

// The same where the number of decimals is not known; most often it is that of the number before.
class Rests {
 public:
  std::optional<double> of(double x) {
    if (x == 0) return 0;
    std::optional<double> rest = rest_of(x, decimals_);
    for (std::size_t others = 0; !rest && others < kPowersOfTen.size(); ++others) {
      rest = rest_of(x, others);
      if (rest) decimals_ = others;
    }
    return rest;
  }

 private:
  std::size_t decimals_ = 0;
};

// Slower, and for any number.
std::optional<double> careful_rest(const Number& number) {
  const auto exact = double_double_of(number);
  return exact && exact->hi == number.value ? std::optional(exact->lo) : std::nullopt;
}

// f(i) for each i < count, unless one has none.
template <class F>
std::optional<std::vector<double>> all_rests(std::size_t count, F f) {
  std::vector<double> rests(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<double> rest = f(i);
    if (!rest) return std::nullopt;
    rests[i] = *rest;
  }
  return rests;
}

}  // namespace

std::optional<std::vector<double>> low_parts(const Numbers& numbers) {
  assert(numbers.are_short && !numbers.are_doubles);
  Rests rests;
  return all_rests(static_cast<std::size_t>(numbers.rows * numbers.cols), [&](std::size_t i) {
    const double x = numbers.values[i];
    if (const auto rest = rests.of(x)) return rest;
    NumberError none;
    return careful_rest(parse_number(shortest_text(x), none).value_or(Number{}));
  });
}

std::optional<std::vector<double>> low_parts(const std::vector<Number>& numbers) {
  Rests rests;
  return all_rests(numbers.size(), [&](std::size_t i) {
    const Number& number = numbers[i];
    const bool is_short = number.is_decimal && number.text.size() <= kDigitsOfDoubles;
    const auto rest = is_short ? rests.of(number.value) : std::nullopt;
    return rest ? rest : careful_rest(number);
  });
}

}  // namespace qkv

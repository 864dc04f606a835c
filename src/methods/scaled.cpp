#include "methods/scaled.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/double_double.h"
#include "base/threads.h"
#include "fast/attend.h"
#include "input/short_decimal.h"
#include "methods/operands.h"

namespace qkv {
namespace {

constexpr double kMostWhole = 0x1p53;

// x·10^decimals where that is a whole number, the number that x stands for being meant.
//   is_double  x itself, else the decimal of at most 15 digits that has this double
std::optional<double> whole_of(double x, int decimals, bool is_double) {
  constexpr double kMostDigits = 1e15;  // below it different decimals have different doubles
  const double power = kPowersOfTen[static_cast<std::size_t>(decimals)];
  const double whole = std::nearbyint(x * power);
  if (!(std::abs(whole) < kMostDigits)) return std::nullopt;
  if (!is_double) return whole / power == x ? std::optional(whole) : std::nullopt;
  const DoubleDouble product = double_double::product_of(x, power);
  return product.hi == whole && product.lo == 0 ? std::optional(whole) : std::nullopt;
}

std::optional<ScaledMatrix> scaled(const Given& given, bool is_turned) {
  constexpr int kMostDecimals = 15;
  const bool are_doubles = given.numbers && given.numbers->are_doubles;
  const auto is_short = [](const Number& n) { return n.is_decimal && n.text.size() <= kDigitsOfDoubles; };
  const bool are_short = given.numbers ? are_doubles || given.numbers->are_short
                                       : std::all_of(given.cells.begin(), given.cells.end(), is_short);
  if (!are_short) return std::nullopt;
  const Values<double> values(given, is_turned);
  const auto x = values.matrix();
  ScaledMatrix result{Matrix(x.rows(), x.cols())};
  for (Index i = 0; i < x.size(); ++i) {
    while (!whole_of(x.data()[i], result.decimals, are_doubles)) {
      if (++result.decimals > kMostDecimals) return std::nullopt;
    }
  }
  for (Index i = 0; i < x.size(); ++i) {
    const auto whole = whole_of(x.data()[i], result.decimals, are_doubles);
    if (!whole) return std::nullopt;
    result.whole.data()[i] = *whole;
    result.most = std::max(result.most, std::abs(*whole));
  }
  return result;
}

// By 10^decimals, exactly; false where that is too large.
bool scale_up(ScaledMatrix& matrix, int decimals) {
  if (decimals == 0) return true;
  if (static_cast<std::size_t>(decimals) > kMostShortDecimals) return false;
  const double power = kPowersOfTen[static_cast<std::size_t>(decimals)];
  matrix.most *= power;
  if (!(matrix.most < kMostWhole)) return false;
  matrix.whole *= power;
  matrix.decimals += decimals;
  return true;
}

}  // namespace

ScaledWeights::ScaledWeights(const Given& given_w, const Given* given_b, Layout layout) {
  auto own_w = scaled(given_w, layout == Layout::linear);
  if (given_b != nullptr) b = scaled(*given_b, false);
  if (own_w && (given_b == nullptr || b)) w = std::move(own_w);
}

bool ScaledWeights::fit(const ScaledMatrix& x) {
  if (!w) return false;
  if (b) {
    const int apart = x.decimals + w->decimals - b->decimals;
    if (!scale_up(*b, std::max(apart, 0)) || !scale_up(*w, std::max(-apart, 0))) return false;
  }
  return static_cast<double>(w->whole.rows()) * x.most * w->most + (b ? b->most : 0) < kMostWhole;
}

std::optional<ScaledMatrix> scaled_operand(const Problem& problem, const char* name) {
  const Origin origin = origin_of(problem, name);
  if (origin.given != nullptr) return scaled(*origin.given, false);
  ScaledWeights weights(*origin.w, origin.b, problem.layout);
  if (!weights.w) return std::nullopt;
  const auto x = scaled(*origin.x, false);
  if (!x || !weights.fit(*x)) return std::nullopt;
  ScaledMatrix product{fast::project(x->whole, weights.w->whole, {.threads = threads()}),
                       x->decimals + weights.w->decimals};
  if (weights.b) product.whole.rowwise() += weights.b->whole.row(0);
  product.most = product.whole.cwiseAbs().maxCoeff();
  return product;
}

}  // namespace qkv

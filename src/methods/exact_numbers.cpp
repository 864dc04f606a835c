#include "methods/exact_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bounded.h"
#include "base/double_double.h"
#include "base/exact.h"
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

// Makes of w and b such that x·w + b can be added up in doubles, exactly.
//   x_decimals, x_most  of x
bool can_be_added(int x_decimals, double x_most, ScaledMatrix& w, std::optional<ScaledMatrix>& b) {
  double most = static_cast<double>(w.whole.rows()) * x_most;
  if (b) {
    const int apart = x_decimals + w.decimals - b->decimals;
    if (!scale_up(*b, std::max(apart, 0)) || !scale_up(w, std::max(-apart, 0))) return false;
  }
  most = most * w.most + (b ? b->most : 0);
  return most < kMostWhole;
}

struct ScaledWeights {
  std::optional<ScaledMatrix> w, b;
  bool are_known = false;

  ScaledWeights(const Given& given_w, const Given* given_b, Layout layout)
      : w(scaled(given_w, layout == Layout::linear)) {
    if (given_b != nullptr) b = scaled(*given_b, false);
    are_known = w && (given_b == nullptr || b);
  }
};

std::optional<ScaledMatrix> scaled_values(const Problem& problem) {
  const Origin origin = origin_of(problem, "V");
  if (origin.given != nullptr) return scaled(*origin.given, false);
  ScaledWeights weights(*origin.w, origin.b, problem.layout);
  if (!weights.are_known) return std::nullopt;
  auto x = scaled(*origin.x, false);
  if (!x || !can_be_added(x->decimals, x->most, *weights.w, weights.b)) return std::nullopt;
  ScaledMatrix v{fast::project(x->whole, weights.w->whole, {.threads = threads()}),
                 x->decimals + weights.w->decimals};
  if (weights.b) v.whole.rowwise() += weights.b->whole.row(0);
  v.most = v.whole.cwiseAbs().maxCoeff();
  return v;
}

std::string decimal_text(double whole, int decimals) {
  std::string digits = std::to_string(static_cast<long long>(std::abs(whole)));
  const auto behind = static_cast<std::size_t>(decimals);
  if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
  if (behind > 0) digits.insert(digits.size() - behind, ".");
  return (whole < 0 ? "-" : "") + digits;
}

}  // namespace

ExactNumbers::ExactNumbers(const Problem& problem)
    : has_sinks_(!problem.sink_logits.empty()),
      empty_row_is_nan_(problem.empty_row == EmptyRow::nan),
      heads_each_(problem.heads / problem.kv_heads),
      visible_(visible_keys_of(problem)),
      has_output_(problem.has("W_O")) {
  if (!kDoublesArePlain) return;
  v_ = scaled_values(problem);
  if (!v_) return;
  const Matrix& v = v_->whole;
  width_ = v.cols() / problem.kv_heads;
  concat_width_ = width_ * problem.heads;
  decimals_ = v_->decimals;
  ends_.resize(v.rows(), v.cols());
  for (Index j = v.rows() - 1; j >= 0; --j) {
    for (Index c = 0; c < v.cols(); ++c) {
      const bool goes_on = j + 1 < v.rows() && v(j + 1, c) == v(j, c);
      ends_(j, c) = goes_on ? ends_(j + 1, c) : static_cast<int>(j + 1);
    }
  }
  if (!has_output_) return;
  ScaledWeights output(problem["W_O"], problem.has("b_O") ? &problem["b_O"] : nullptr, problem.layout);
  if (!output.are_known || !can_be_added(v_->decimals, v_->most, *output.w, output.b)) {
    v_ = std::nullopt;
    return;
  }
  decimals_ += output.w->decimals;
  w_o_ = std::move(output.w);
  b_o_ = std::move(output.b);
}

// What stands in concat, where it is one value.
std::optional<double> ExactNumbers::read(Index row, Index column) const {
  const Index c = column / width_ / heads_each_ * width_ + column % width_;
  std::optional<double> value;
  const auto add = [&](Index begin, Index end) {
    const bool is_one = ends_(begin, c) >= end && (!value || *value == v_->whole(begin, c));
    value = v_->whole(begin, c);
    return is_one;
  };
  if (!visible_) {
    if (!add(0, v_->whole.rows())) return std::nullopt;
  } else {
    const auto at = static_cast<std::size_t>(row);
    for (std::size_t r = visible_->first[at]; r < visible_->first[at + 1]; ++r) {
      if (!add(visible_->runs[r].begin, visible_->runs[r].end)) return std::nullopt;
    }
    if (!value) return empty_row_is_nan_ ? std::nullopt : std::optional(0.0);
  }
  // A sink takes a part of the weight.
  return has_sinks_ && *value != 0 ? std::nullopt : value;
}

std::optional<std::string> ExactNumbers::text(Index row, Index column, int decimals) const {
  if (!v_) return std::nullopt;
  std::optional<double> whole;
  if (!has_output_) {
    whole = read(row, column);
  } else {
    double sum = b_o_ ? b_o_->whole(0, column) : 0;
    for (Index c = 0; c < concat_width_; ++c) {
      const auto value = read(row, c);
      if (!value) return std::nullopt;
      sum += *value * w_o_->whole(c, column);
    }
    whole = sum;
  }
  if (!whole) return std::nullopt;
  return fixed_text(exact_decimal(decimal_text(*whole, decimals_)), decimals);
}

}  // namespace qkv

#include "methods/exact_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bounded.h"
#include "base/exact.h"
#include "methods/operands.h"

namespace qkv {
namespace {

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
      visible_(visible_keys_of(problem)) {
  if (!kDoublesArePlain) return;
  v_ = scaled_operand(problem, "V");
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
  if (!problem.has("W_O")) return;
  output_.emplace(problem["W_O"], problem.has("b_O") ? &problem["b_O"] : nullptr, problem.layout);
  if (output_->fit(*v_)) {
    decimals_ += output_->w->decimals;
  } else {
    v_ = std::nullopt;
  }
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
  if (!output_) {
    whole = read(row, column);
  } else {
    double sum = output_->b ? output_->b->whole(0, column) : 0;
    for (Index c = 0; c < concat_width_; ++c) {
      const auto value = read(row, c);
      if (!value) return std::nullopt;
      sum += *value * output_->w->whole(c, column);
    }
    whole = sum;
  }
  if (!whole) return std::nullopt;
  return fixed_text(exact_decimal(decimal_text(*whole, decimals_)), decimals);
}

}  // namespace qkv

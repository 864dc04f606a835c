#include "methods/operands.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "input/low_parts.h"
#include "input/short_decimal.h"

namespace qkv {

Origin origin_of(const Problem& problem, std::string_view name) {
  // What is said to be the same as a computed matrix is computed as that one is.
  for (auto same = problem.same_as.find(name); !problem.has(name) && same != problem.same_as.end();
       same = problem.same_as.find(name)) {
    name = same->second;
  }
  const auto find = [&](std::string_view wanted) {
    const auto found = problem.given.find(wanted);
    return found == problem.given.end() ? nullptr : &found->second;
  };
  if (const Given* given = find(name)) return {.given = given};
  const std::string of_role = "_" + std::string(name);
  return {.x = find(name != "Q" && problem.has("X_kv") ? "X_kv" : "X"),
          .w = find("W" + of_role),
          .b = find("b" + of_role)};
}

Sizes sizes_of(const Problem& p) {
  const Origin q = origin_of(p, "Q");
  const Origin v = origin_of(p, "V");
  Sizes sizes{.queries = q.rows(),
              .keys = v.rows(),
              .d_k = q.cols(p.layout) / p.heads,
              .d_v = v.cols(p.layout) / p.kv_heads,
              .result = 0};
  sizes.result = sizes.d_v * p.heads;
  if (p.has("W_O")) sizes.result = p.layout == Layout::linear ? p["W_O"].rows : p["W_O"].cols;
  return sizes;
}

std::optional<KeyRuns> visible_keys_of(const Problem& problem) {
  if (problem.mask_rule) {
    const Sizes sizes = sizes_of(problem);
    return visible_keys(*problem.mask_rule, problem.align, problem.first_index, sizes.queries, sizes.keys);
  }
  return problem.allowed ? std::optional(key_runs(*problem.allowed)) : std::nullopt;
}

// ---- Doubles -------------------------------------------------------------------------------------

Weights::Weights(const Given& w, const Given* b, Layout layout) : w_(w, layout == Layout::linear) {
  if (b != nullptr) b_.emplace(*b);
}

Matrix Weights::applied_to(const Eigen::Ref<const Matrix>& x, const fast::How& how) const {
  Matrix result = fast::project(x, w_.matrix(), how);
  if (b_) result.rowwise() += b_->matrix().row(0);
  return result;
}

fast::ProjectionPart Weights::part(Index first, Index count) const {
  const auto w = w_.matrix();
  fast::ProjectionPart part{.depth = w.rows(), .count = count};
  double squares = 0;
  for (Index c = first; c < first + count; ++c) {
    const double length = fast::length_of(w.data() + c, w.rows(), w.cols());
    squares += length * length;
  }
  part.w_length = std::sqrt(squares);
  if (b_) part.b_length = fast::length_of(b_->matrix().data() + first, count);
  return part;
}

Projection::Projection(const Origin& origin, Layout layout)
    : x_(*origin.x), weights_(*origin.w, origin.b, layout) {
  const auto x = x_.matrix();
  lengths_.reserve(static_cast<std::size_t>(x.rows()));
  for (Index i = 0; i < x.rows(); ++i) lengths_.push_back(fast::length_of(x.data() + i * x.cols(), x.cols()));
  longest_ = *std::max_element(lengths_.begin(), lengths_.end());
}

std::vector<double> Projection::errors_of_rows(Index first, Index count,
                                               const fast::RoundingUnits& units) const {
  const fast::ProjectionPart part = weights_.part(first, count);
  std::vector<double> errors;
  errors.reserve(lengths_.size());
  for (const double length : lengths_) errors.push_back(fast::projection_error(length, part, units));
  return errors;
}

double Projection::largest_error_of_row(Index first, Index count, const fast::RoundingUnits& units) const {
  return fast::projection_error(longest_, weights_.part(first, count), units);
}

double Projection::largest_error_of_number(Index first, Index count, const fast::RoundingUnits& units) const {
  double largest = 0;
  for (Index c = first; c < first + count; ++c)
    largest = std::max(largest, fast::projection_error(longest_, weights_.part(c, 1), units));
  return largest;
}

OutputProjection::OutputProjection(const Problem& problem)
    : weights_(problem["W_O"], problem.has("b_O") ? &problem["b_O"] : nullptr, problem.layout) {
  const auto w = weights_.w().matrix();
  const Index width = w.rows() / problem.heads;
  sums_.resize(problem.heads, w.cols());
  for (Index h = 0; h < problem.heads; ++h)
    sums_.row(h) = w.middleRows(h * width, width).cwiseAbs().colwise().sum();
  for (Index c = 0; c < w.cols(); ++c) {
    const fast::ProjectionPart column = weights_.part(c, 1);
    part_.w_length = std::max(part_.w_length, column.w_length);
    part_.b_length = std::max(part_.b_length, column.b_length);
  }
  part_.depth = w.rows();
  part_.count = 1;
}

double OutputProjection::bound(const double* row, const double* bounds,
                               const fast::RoundingUnits& units) const {
  constexpr double kSlack = 1.001;  // for the roundings of these sums
  double inherited = 0;
  const double worst = *std::max_element(bounds, bounds + sums_.rows());
  if (!std::isfinite(worst)) return worst;
  for (Index c = 0; c < sums_.cols(); ++c) {
    double sum = 0;
    for (Index h = 0; h < sums_.rows(); ++h) sum += bounds[h] * sums_(h, c);
    inherited = std::max(inherited, sum);
  }
  return inherited * kSlack + fast::projection_error(fast::length_of(row, weights_.depth()), part_, units);
}

// ---- Double-doubles ------------------------------------------------------------------------------

DoubleDoubles::DoubleDoubles(const Values<double>& upper, const Given& given, bool is_turned)
    : hi_(upper.matrix().data()), hi_stride_(upper.matrix().cols()) {
  const Index cols = hi_stride_;
  if (given.numbers && given.numbers->are_doubles) {
    constexpr double kLarge = 0x1p500;
    const double* const values = given.numbers->values.get();
    are_known_ =
        std::all_of(values, values + given.rows * given.cols, [](double x) { return std::abs(x) < kLarge; });
    low_.assign(static_cast<std::size_t>(cols), 0);
    return;
  }
  auto rests = given.numbers ? low_parts(*given.numbers) : low_parts(given.cells);
  are_known_ = rests.has_value();
  lo_stride_ = cols;
  if (!rests) return;
  low_ = std::move(*rests);
  if (is_turned) {
    const Eigen::Map<const Matrix> as_written(low_.data(), given.rows, given.cols);
    const Matrix turned = as_written.transpose();
    std::copy_n(turned.data(), turned.size(), low_.begin());
  }
}

DoubleDoubles::DoubleDoubles(Index rows, Index cols)
    : own_(static_cast<std::size_t>(rows * cols)), low_(own_.size()), hi_stride_(cols), lo_stride_(cols) {
  hi_ = own_.data();
}

DoubleDoubles::DoubleDoubles(const ScaledMatrix& matrix)
    : DoubleDoubles(matrix.whole.rows(), matrix.whole.cols()) {
  const double power = kPowersOfTen[static_cast<std::size_t>(matrix.decimals)];
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const double whole = matrix.whole.data()[i];
    own_[i] = whole / power;
    // As input/low_parts.cpp: what the quotient times the power lacks is a double.
    const DoubleDouble product = double_double::product_of(own_[i], power);
    low_[i] = ((whole - product.hi) - product.lo) / power;
  }
}

ProjectionAgain::ProjectionAgain(const Weights& weights, const Given& w, const Given* b, Layout layout)
    : depth_(weights.depth()), columns_(weights.columns()), w_(weights.w(), w, layout == Layout::linear) {
  if (b != nullptr) b_.emplace(weights.b(), *b, false);
}

void ProjectionAgain::apply(const fast::AgainMatrix& x, Index rows, double* hi, double* lo,
                            const fast::How& how) const {
  const fast::AgainMatrix b = b_ ? b_->view() : fast::AgainMatrix{};
  fast::project_again(x, rows, w_.view(), depth_, columns_, b_ ? &b : nullptr, hi, lo, how);
}

}  // namespace qkv

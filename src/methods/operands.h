// Q, K and V of a large problem, and the projection of its result, as matrices of plain numbers: as they are
// given, or X·W + b.  A part of methods/untraced.cpp.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "base/key_runs.h"
#include "base/matrix.h"
#include "fast/attend_again.h"
#include "fast/bound.h"
#include "methods/scaled.h"
#include "problem/problem.h"

namespace qkv {

// Where Q, K or V comes from: it is given, or else x·w + b.
struct Origin {
  const Given* given = nullptr;
  const Given* x = nullptr;
  const Given* w = nullptr;
  const Given* b = nullptr;  // null: none

  bool is_known() const { return given != nullptr || (x != nullptr && w != nullptr); }
  Index rows() const { return given != nullptr ? given->rows : x->rows; }
  Index cols(Layout layout) const {
    if (given != nullptr) return given->cols;
    return layout == Layout::linear ? w->rows : w->cols;
  }
};
// name: "Q", "K" or "V".  Points into the problem.
Origin origin_of(const Problem& problem, std::string_view name);

struct Sizes {
  Index queries, keys, d_k, d_v;  // the widths of a head
  Index result;                   // columns
};
Sizes sizes_of(const Problem& problem);
// nullopt: every query sees every key.
std::optional<KeyRuns> visible_keys_of(const Problem& problem);

// A given matrix, or its transpose, as the kernels want it: where it stands, or converted.
template <class T>
class Values {
 public:
  explicit Values(const Given& given, bool is_turned = false)
      : rows_(is_turned ? given.cols : given.rows), cols_(is_turned ? given.rows : given.cols) {
    if constexpr (std::is_same_v<T, double>) {
      if (given.numbers && !is_turned) {
        at_ = given.numbers->values.get();
        return;
      }
    }
    own_.reserve(static_cast<std::size_t>(rows_ * cols_));
    for (Index i = 0; i < rows_; ++i) {
      for (Index j = 0; j < cols_; ++j) {
        const Index at = is_turned ? j * rows_ + i : i * cols_ + j;
        own_.push_back(static_cast<T>(given.numbers ? given.numbers->values[static_cast<std::size_t>(at)]
                                                    : given.cells[static_cast<std::size_t>(at)].value));
      }
    }
    at_ = own_.data();
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  Eigen::Map<const MatrixOf<T>> matrix() const { return {at_, rows_, cols_}; }

 private:
  Index rows_, cols_;
  std::vector<T> own_;
  const T* at_ = nullptr;
};

// W and b of a projection.
class Weights {
 public:
  Weights(const Given& w, const Given* b, Layout layout);

  // x·W + b in the bits of a trace on plain doubles.
  Matrix applied_to(const Eigen::Ref<const Matrix>& x, const fast::How& how) const;
  fast::ProjectionPart part(Index first, Index count) const;
  const Values<double>& w() const { return w_; }
  const Values<double>& b() const { return *b_; }  // where there is one
  Index depth() const { return w_.matrix().rows(); }
  Index columns() const { return w_.matrix().cols(); }

 private:
  Values<double> w_;
  std::optional<Values<double>> b_;
};

// X·W + b, and how far its rows are from the true ones, in some of its columns.
class Projection {
 public:
  Projection(const Origin& origin, Layout layout);

  const Values<double>& x() const { return x_; }
  const Weights& weights() const { return weights_; }
  std::vector<double> errors_of_rows(Index first, Index count, const fast::RoundingUnits& units) const;
  double largest_error_of_row(Index first, Index count, const fast::RoundingUnits& units) const;
  double largest_error_of_number(Index first, Index count, const fast::RoundingUnits& units) const;

 private:
  Values<double> x_;
  Weights weights_;
  std::vector<double> lengths_;  // of the rows of X
  double longest_ = 0;
};

// Y = concat·W_O + b_O.
class OutputProjection {
 public:
  explicit OutputProjection(const Problem& problem);

  const Weights& weights() const { return weights_; }
  // How far a number of a row of Y is at most from the true one.
  //   row     of concat, as it was computed
  //   bounds  of each head's part of it
  double bound(const double* row, const double* bounds, const fast::RoundingUnits& units) const;

 private:
  Weights weights_;
  Matrix sums_;                // Σ|W_O| of a head's rows, [heads, columns]
  fast::ProjectionPart part_;  // of the longest column and the largest number of b_O
};

// A matrix in double-doubles: of numbers as they are written, or to be filled.
class DoubleDoubles {
 public:
  DoubleDoubles(const Values<double>& upper, const Given& given, bool is_turned);
  DoubleDoubles(Index rows, Index cols);
  explicit DoubleDoubles(const ScaledMatrix& matrix);  // of at most 22 decimals
  DoubleDoubles(const DoubleDoubles&) = delete;
  DoubleDoubles& operator=(const DoubleDoubles&) = delete;

  // False where a number is so small or large that its lower part might be no normal double.
  bool are_known() const { return are_known_; }
  fast::AgainMatrix view() const { return {hi_, low_.data(), hi_stride_, lo_stride_}; }
  double* hi() { return own_.data(); }
  double* lo() { return low_.data(); }

 private:
  const double* hi_ = nullptr;
  std::vector<double> own_, low_;
  Index hi_stride_ = 0;
  Index lo_stride_ = 0;  // of doubles one row of zeros, for all
  bool are_known_ = true;
};

// x·W + b in double-doubles.
class ProjectionAgain {
 public:
  // x and weights live as long
  ProjectionAgain(const Weights& weights, const Given& w, const Given* b, Layout layout);
  bool are_known() const { return w_.are_known() && (!b_ || b_->are_known()); }
  // → hi and lo [rows, columns]
  void apply(const fast::AgainMatrix& x, Index rows, double* hi, double* lo, const fast::How& how) const;

 private:
  Index depth_, columns_;
  DoubleDoubles w_;
  std::optional<DoubleDoubles> b_;
};

}  // namespace qkv

#include "ops/double_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/open_runs.h"
#include "base/threads.h"
#include "fast/attend.h"

namespace qkv::double_loops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

fast::How by_all_threads() { return {.threads = threads()}; }

// row(i) for every row of the matrix, each by some thread.
template <class Row>
void each_row(const Matrix& m, Row row) {
  share_rows(m.rows(), m.cols(), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) row(i);
  });
}

// Its pages are first touched by the threads that fill it.
Matrix rows_to_fill(const Matrix& like) { return Matrix(like.rows(), like.cols()); }

}  // namespace

Matrix dot_rows(const Matrix& q, const Matrix& k) { return fast::dot_rows(q, k, by_all_threads()); }

Matrix project(const Matrix& x, const Matrix& w) { return fast::project(x, w, by_all_threads()); }

// A forbidden key adds 0 · v, which changes no bit of a sum as long as v is finite.
Matrix weighted_sum(const Matrix& weights, const Matrix& v, const Params& params) {
  Matrix result = fast::project(weights, v, by_all_threads());
  for (Index i = 0; i < result.rows() && params.empty_row_is_nan; ++i) {
    if (row_is_empty(params, i)) result.row(i).setConstant(kNan);
  }
  return result;
}

Matrix add_all(const std::vector<std::reference_wrapper<const Matrix>>& terms, const Params& params) {
  const Matrix& first = terms.front();
  const bool has_mask = params.allowed != nullptr;
  Matrix result = rows_to_fill(first);
  each_row(result, [&](Index i) {
    if (has_mask) result.row(i).setConstant(-kInfinity);
    if (!has_mask) result.row(i) = first.row(i);
    each_open_run(params.allowed.get(), i, result.cols(), [&](Index begin, Index end) {
      if (has_mask) std::copy_n(&first(i, begin), end - begin, &result(i, begin));
      for (std::size_t t = 1; t < terms.size(); ++t) {
        const double* const term = &terms[t].get()(i, 0);
        double* const sum = &result(i, 0);
        for (Index j = begin; j < end; ++j) sum[j] += term[j];
      }
    });
  });
  return result;
}

Matrix row_max(const Matrix& scores, double start, const Params& params) {
  Matrix result(scores.rows(), 1);
  each_row(scores, [&](Index i) {
    double max = start;
    each_open_run(params.allowed.get(), i, scores.cols(), [&](Index begin, Index end) {
      for (Index j = begin; j < end; ++j) max = std::max(max, scores(i, j));
    });
    result(i, 0) = max;
  });
  return result;
}

Matrix shift(const Matrix& scores, const Matrix& max, const Params& params) {
  Matrix result = rows_to_fill(scores);
  each_row(result, [&](Index i) {
    result.row(i).setConstant(-kInfinity);
    const double top = max(i, 0);
    const double* const from = &scores(i, 0);
    double* const to = &result(i, 0);
    Index open = 0;
    Index last = 0;
    each_open_run(params.allowed.get(), i, scores.cols(), [&](Index begin, Index end) {
      for (Index j = begin; j < end; ++j) to[j] = from[j] == kInfinity ? 0 : from[j] - top;
      open += end - begin;
      last = end - 1;
    });
    // The maximum minus itself, which −∞ − (−∞) would not say.
    if (top == -kInfinity && open == 1) to[last] = 0;
  });
  return result;
}

Matrix exponential(const Matrix& x, const Params& params) {
  Matrix result = rows_to_fill(x);
  each_row(result, [&](Index i) {
    result.row(i).setZero();
    each_open_run(params.allowed.get(), i, x.cols(), [&](Index begin, Index end) {
      std::copy_n(&x(i, begin), end - begin, &result(i, begin));
      fast::exp_all(&result(i, begin), end - begin);
    });
  });
  return result;
}

Matrix normalise_rows(const Matrix& e, const Matrix& sum, const Params& params) {
  Matrix result = rows_to_fill(e);
  each_row(result, [&](Index i) {
    result.row(i).setZero();
    const double total = sum(i, 0);
    each_open_run(params.allowed.get(), i, e.cols(), [&](Index begin, Index end) {
      const double* const from = &e(i, 0);
      double* const to = &result(i, 0);
      for (Index j = begin; j < end; ++j) to[j] = from[j] / total;
    });
    if (params.empty_row_is_nan && row_is_empty(params, i)) result.row(i).setConstant(kNan);
  });
  return result;
}

}  // namespace qkv::double_loops

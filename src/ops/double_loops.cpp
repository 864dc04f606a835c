#include "ops/double_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/open_runs.h"

namespace qkv::double_loops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// So many columns, and so many rows, are summed at a time: their sums stay in registers.
constexpr Index kColumns = 8;
constexpr Index kRows = 2;

// sum[i][j] = Σ_k left[k][i] · right[k][j], k from 0 upwards.   right: rows of `stride` numbers
void tile(const double* left, const double* right, Index stride, Index terms, double* sums) {
  double sum[kRows][kColumns] = {};
  for (Index k = 0; k < terms; ++k) {
    const double* const l = left + k * kRows;
    const double* const r = right + k * stride;
    for (Index i = 0; i < kRows; ++i) {
      for (Index j = 0; j < kColumns; ++j) sum[i][j] += l[i] * r[j];
    }
  }
  std::copy_n(&sum[0][0], kRows * kColumns, sums);
}

// left [n, d] · right [d, m], where `right` comes as panels of kColumns columns, [m / kColumns][d][kColumns],
// filled up with zeros.
class Product {
 public:
  // Of `left` the mask closes cells, which count as 0; null: none.
  Product(const Matrix& left, std::vector<double> panels, Index columns, const Mask* open = nullptr)
      : left_(left), panels_(std::move(panels)), columns_(columns), open_(open) {}

  Matrix result() const {
    const Index d = left_.cols();
    Matrix result(left_.rows(), columns_);
    std::vector<double> packed(static_cast<std::size_t>(d * kRows));
    double sums[kRows * kColumns];
    for (Index i = 0; i < result.rows(); i += kRows) {
      const Index rows = std::min(kRows, result.rows() - i);
      std::fill(packed.begin(), packed.end(), 0);
      Index count = 0;  // products behind the last open cell are not needed
      for (Index r = 0; r < rows; ++r) {
        each_open_run(open_, i + r, d, [&](Index begin, Index end) {
          for (Index k = begin; k < end; ++k)
            packed[static_cast<std::size_t>(k * kRows + r)] = left_(i + r, k);
          count = std::max(count, end);
        });
      }
      for (Index j = 0; j < columns_; j += kColumns) {
        tile(packed.data(), panels_.data() + j * d, kColumns, count, sums);
        for (Index r = 0; r < rows; ++r)
          std::copy_n(sums + r * kColumns, std::min(kColumns, columns_ - j), &result(i + r, j));
      }
    }
    return result;
  }

 private:
  const Matrix& left_;
  std::vector<double> panels_;
  Index columns_;
  const Mask* open_;
};

// at(k, j): row k, column j of the right factor [d, m].
template <class At>
std::vector<double> panels(Index d, Index m, At at) {
  std::vector<double> packed(static_cast<std::size_t>((m + kColumns - 1) / kColumns * kColumns * d));
  for (Index j = 0; j < m; ++j) {
    double* const panel = packed.data() + j / kColumns * kColumns * d + j % kColumns;
    for (Index k = 0; k < d; ++k) panel[k * kColumns] = at(k, j);
  }
  return packed;
}

}  // namespace

Matrix dot_rows(const Matrix& q, const Matrix& k) {
  return Product(q, panels(q.cols(), k.rows(), [&](Index r, Index j) { return k(j, r); }), k.rows()).result();
}

Matrix project(const Matrix& x, const Matrix& w) {
  return Product(x, panels(w.rows(), w.cols(), [&](Index r, Index j) { return w(r, j); }), w.cols()).result();
}

// A forbidden key adds 0 · v, which changes no bit of a sum as long as v is finite.
Matrix weighted_sum(const Matrix& weights, const Matrix& v, const Params& params) {
  const auto at = [&](Index j, Index c) { return v(j, c); };
  Matrix result = Product(weights, panels(v.rows(), v.cols(), at), v.cols(), params.allowed.get()).result();
  for (Index i = 0; i < result.rows() && params.empty_row_is_nan; ++i) {
    if (row_is_empty(params, i)) result.row(i).setConstant(kNan);
  }
  return result;
}

Matrix add_all(const std::vector<std::reference_wrapper<const Matrix>>& terms, const Params& params) {
  const Matrix& first = terms.front();
  const bool has_mask = params.allowed != nullptr;
  Matrix result = has_mask ? Matrix::Constant(first.rows(), first.cols(), -kInfinity) : Matrix(first);
  for (Index i = 0; i < result.rows(); ++i) {
    each_open_run(params.allowed.get(), i, result.cols(), [&](Index begin, Index end) {
      if (has_mask) std::copy_n(&first(i, begin), end - begin, &result(i, begin));
      for (std::size_t t = 1; t < terms.size(); ++t) {
        const double* const term = &terms[t].get()(i, 0);
        double* const sum = &result(i, 0);
        for (Index j = begin; j < end; ++j) sum[j] += term[j];
      }
    });
  }
  return result;
}

Matrix row_max(const Matrix& scores, double start, const Params& params) {
  Matrix result(scores.rows(), 1);
  for (Index i = 0; i < scores.rows(); ++i) {
    double max = start;
    each_open_run(params.allowed.get(), i, scores.cols(), [&](Index begin, Index end) {
      for (Index j = begin; j < end; ++j) max = std::max(max, scores(i, j));
    });
    result(i, 0) = max;
  }
  return result;
}

Matrix shift(const Matrix& scores, const Matrix& max, const Params& params) {
  Matrix result = Matrix::Constant(scores.rows(), scores.cols(), -kInfinity);
  for (Index i = 0; i < scores.rows(); ++i) {
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
  }
  return result;
}

Matrix exponential(const Matrix& x, const Params& params) {
  Matrix result = Matrix::Zero(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    each_open_run(params.allowed.get(), i, x.cols(), [&](Index begin, Index end) {
      for (Index j = begin; j < end; ++j) result(i, j) = std::exp(x(i, j));
    });
  }
  return result;
}

Matrix normalise_rows(const Matrix& e, const Matrix& sum, const Params& params) {
  Matrix result = Matrix::Zero(e.rows(), e.cols());
  for (Index i = 0; i < e.rows(); ++i) {
    const double total = sum(i, 0);
    each_open_run(params.allowed.get(), i, e.cols(), [&](Index begin, Index end) {
      const double* const from = &e(i, 0);
      double* const to = &result(i, 0);
      for (Index j = begin; j < end; ++j) to[j] = from[j] / total;
    });
    if (params.empty_row_is_nan && row_is_empty(params, i)) result.row(i).setConstant(kNan);
  }
  return result;
}

}  // namespace qkv::double_loops

// The arithmetic of the backward pass and of the loss that it starts from.
//
// Of every step y = f(x) it makes, from the gradient dy of the loss with respect to y, that with
// respect to x: dx = (∂y/∂x)ᵀ·dy.  Shapes as in ops/kernels.h.
#pragma once

#include <cmath>

#include "base/matrix.h"
#include "base/scalar.h"
#include "ops/kernels.h"
#include "plan/op.h"

namespace qkv::kernels {

// a [n, p], b [n, q] → aᵀ·b, [p, q].  A forbidden cell of a takes no part: its value may be NaN.
template <class T>
MatrixOf<T> transposed_product(const MatrixOf<T>& a, const MatrixOf<T>& b, const Params& params) {
  MatrixOf<T> result(a.cols(), b.cols());
  for (Index i = 0; i < a.cols(); ++i) {
    for (Index j = 0; j < b.cols(); ++j) {
      T sum(0);
      for (Index r = 0; r < a.rows(); ++r) {
        if (is_allowed(params, r, i)) sum += a(r, i) * b(r, j);
      }
      result(i, j) = sum;
    }
  }
  return result;
}

// Whether one weight of the row is 1 and all others are 0, for certain: one key alone is visible.
template <class T>
bool is_settled(const MatrixOf<T>& p, Index row, const Params& params) {
  const T one(1);
  const T zero(0);
  for (Index j = 0; j < p.cols(); ++j) {
    if (!is_allowed(params, row, j)) continue;
    if (!certainly_equals(p(row, j), one) && !certainly_equals(p(row, j), zero)) return false;
  }
  return true;
}

// Through the softmax, row by row: the Jacobian diag(p) − p·pᵀ times dp, which is p ∘ (dp − Σ dp·p).
//   p [n, m] weights, dp [n, m] → [n, m], exactly 0 for forbidden keys.
// A sink's weight has no gradient arriving, so it only makes the p smaller.
// The row of a single key cannot change; dp − dp of intervals would not show that.
template <class T>
MatrixOf<T> softmax_gradient(const MatrixOf<T>& p, const MatrixOf<T>& dp, const Params& params) {
  MatrixOf<T> result(p.rows(), p.cols());
  for (Index i = 0; i < p.rows(); ++i) {
    const bool is_constant = is_settled<T>(p, i, params);
    T mean(0);
    for (Index j = 0; j < p.cols(); ++j) {
      if (!is_constant && is_allowed(params, i, j)) mean += p(i, j) * dp(i, j);
    }
    for (Index j = 0; j < p.cols(); ++j) {
      if (is_constant || !is_allowed(params, i, j)) {
        result(i, j) = T(0);
      } else {
        const T apart = dp(i, j) - mean;
        result(i, j) = p(i, j) * apart;
      }
    }
  }
  return result;
}

// diag(p) − p·pᵀ of one row p of the weights, [m, m].
template <class T>
MatrixOf<T> softmax_jacobian(const MatrixOf<T>& weights, Index row) {
  const Index m = weights.cols();
  MatrixOf<T> result(m, m);
  for (Index j = 0; j < m; ++j) {
    for (Index k = 0; k < m; ++k) {
      const T product = weights(row, j) * weights(row, k);
      result(j, k) = j == k ? T(weights(row, j) - product) : T(-product);
    }
  }
  return result;
}

// y = c·tanh(x / c):  dx = dy·(1 − (y / c)²).  A −∞ in y is a forbidden key.
template <class T>
MatrixOf<T> soft_cap_gradient(const MatrixOf<T>& dy, const MatrixOf<T>& y, const Number& cap) {
  const T c = scalar_of<T>(cap);
  MatrixOf<T> result(dy.rows(), dy.cols());
  for (Index i = 0; i < dy.rows(); ++i) {
    for (Index j = 0; j < dy.cols(); ++j) {
      if (is_minus_infinity(y(i, j))) {
        result(i, j) = T(0);
        continue;
      }
      const T bent = y(i, j) / c;
      const T square = bent * bent;
      const T slope = T(1) - square;
      result(i, j) = dy(i, j) * slope;
    }
  }
  return result;
}

// [n, d] → [1, d]
template <class T>
MatrixOf<T> column_sums(const MatrixOf<T>& x) {
  MatrixOf<T> result(1, x.cols());
  for (Index j = 0; j < x.cols(); ++j) {
    T sum(0);
    for (Index i = 0; i < x.rows(); ++i) sum += x(i, j);
    result(0, j) = sum;
  }
  return result;
}

// −Σ p·ln q of each row: q [n, c] probabilities, p [n, c] targets → [n, 1].
// A class that is no target takes no part: 0·ln 0 is NaN.
template <class T>
MatrixOf<T> cross_entropy(const MatrixOf<T>& q, const MatrixOf<T>& p) {
  using std::log;
  const T zero(0);
  MatrixOf<T> result(q.rows(), 1);
  for (Index i = 0; i < q.rows(); ++i) {
    T sum(0);
    for (Index j = 0; j < q.cols(); ++j) {
      if (certainly_equals(p(i, j), zero)) continue;
      const T logarithm = log(q(i, j));
      sum += p(i, j) * logarithm;
    }
    result(i, 0) = -sum;
  }
  return result;
}

}  // namespace qkv::kernels

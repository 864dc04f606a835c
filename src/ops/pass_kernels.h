// The arithmetic of work in pieces.
#pragma once

#include "ops/kernels.h"

namespace qkv::kernels {

// Matrices of equal width, one below the other.
template <class T>
MatrixOf<T> stack_rows(const InputsOf<MatrixOf<T>>& parts) {
  Index rows = 0;
  for (const MatrixOf<T>& part : parts) rows += part.rows();
  MatrixOf<T> result(rows, parts[0].get().cols());
  Index at = 0;
  for (const MatrixOf<T>& part : parts) {
    result.middleRows(at, part.rows()) = part;
    at += part.rows();
  }
  return result;
}

// The online softmax.   Milakov and Gimelshein 2018; in the form of FlashAttention-2 (Dao 2023): the
// accumulator is divided once, at the end.

// scores [n, c] of a tile, old [n, 1] → the larger of old and the row's maximum.
template <class T>
MatrixOf<T> running_max(const MatrixOf<T>& scores, const MatrixOf<T>& old, const Params& params) {
  MatrixOf<T> result = old;
  for (Index i = 0; i < scores.rows(); ++i) {
    for (Index j = 0; j < scores.cols(); ++j) {
      if (is_allowed(params, i, j)) result(i, 0) = larger(result(i, 0), scores(i, j));
    }
  }
  return result;
}

// e^(old − new), [n, 1].  Before the first visible key there is nothing to rescale: −∞ gives 0, also
// where both are −∞ and the difference would be NaN.
template <class T>
MatrixOf<T> rescale(const MatrixOf<T>& old, const MatrixOf<T>& now) {
  using qkv::exp;
  MatrixOf<T> result(old.rows(), 1);
  for (Index i = 0; i < old.rows(); ++i) {
    if (is_minus_infinity(old(i, 0))) {
      result(i, 0) = T(0);
    } else if (certainly_equals(old(i, 0), now(i, 0))) {
      result(i, 0) = T(1);
    } else {
      const T change = old(i, 0) - now(i, 0);
      result(i, 0) = T(exp(change));
    }
  }
  return result;
}

// sum·rescale + Σ_j e_j, [n, 1].
template <class T>
MatrixOf<T> running_sum(const MatrixOf<T>& sum, const MatrixOf<T>& rescale, const MatrixOf<T>& e) {
  MatrixOf<T> result(e.rows(), 1);
  for (Index i = 0; i < e.rows(); ++i) {
    T total = sum(i, 0) * rescale(i, 0);
    for (Index j = 0; j < e.cols(); ++j) total += e(i, j);
    result(i, 0) = total;
  }
  return result;
}

// acc [n, d_v] · rescale + e [n, c] · v [c, d_v].
template <class T>
MatrixOf<T> running_read(const MatrixOf<T>& acc, const MatrixOf<T>& rescale, const MatrixOf<T>& e,
                         const MatrixOf<T>& v, const Params& params) {
  MatrixOf<T> result(acc.rows(), acc.cols());
  for (Index i = 0; i < acc.rows(); ++i) {
    for (Index c = 0; c < acc.cols(); ++c) {
      T total = acc(i, c) * rescale(i, 0);
      for (Index j = 0; j < e.cols(); ++j) {
        if (is_allowed(params, i, j)) total += e(i, j) * v(j, c);
      }
      result(i, c) = total;
    }
  }
  return result;
}

// x [n, d] / sum [n, 1]; an empty row becomes zeros, or NaN.
template <class T>
MatrixOf<T> divide_rows(const MatrixOf<T>& x, const MatrixOf<T>& sum, const Params& params) {
  MatrixOf<T> result(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    const bool is_empty = row_is_empty(params, i);
    for (Index c = 0; c < x.cols(); ++c) {
      if (is_empty) {
        result(i, c) = params.empty_row_is_nan ? not_a_number<T>() : T(0);
      } else {
        result(i, c) = x(i, c) / sum(i, 0);
      }
    }
  }
  return result;
}

}  // namespace qkv::kernels

// How widely a row of weights is spread.
#pragma once

#include <cmath>

#include "base/matrix.h"
#include "base/scalar.h"
#include "plan/op.h"

namespace qkv::kernels {

// weights [n, m], shifted [n, m], sums [n, 1] → [n, 1]: −Σ w·ln w of each row, in nats.
// As Σ w·(ln sum − shifted), which is the same because w = e^shifted / sum: no logarithm of a weight that is
// too small to have one.  Weights of exactly 0 add nothing, the limit of w·ln w.   Shannon 1948, section 6.
template <class T>
MatrixOf<T> row_entropy(const MatrixOf<T>& weights, const MatrixOf<T>& shifted, const MatrixOf<T>& sums,
                        const Params& p) {
  using std::log;
  MatrixOf<T> result(weights.rows(), 1);
  for (Index i = 0; i < weights.rows(); ++i) {
    const bool is_empty = row_is_empty(p, i);
    T entropy = is_empty && p.empty_row_is_nan ? not_a_number<T>() : T(0);
    if (!is_empty) {
      const T log_of_sum = log(sums(i, 0));
      for (Index j = 0; j < weights.cols(); ++j) {
        if (!is_allowed(p, i, j) || certainly_equals(weights(i, j), T(0))) continue;
        const T surprise = T(log_of_sum - shifted(i, j));
        entropy = T(entropy + T(weights(i, j) * surprise));
      }
    }
    result(i, 0) = entropy;
  }
  return result;
}

// Nats to bits.
template <class T>
MatrixOf<T> in_bits(const MatrixOf<T>& nats) {
  using std::log;
  const T bit = log(T(2));
  MatrixOf<T> result(nats.rows(), nats.cols());
  for (Index i = 0; i < nats.rows(); ++i) {
    for (Index j = 0; j < nats.cols(); ++j) result(i, j) = T(nats(i, j) / bit);
  }
  return result;
}

}  // namespace qkv::kernels

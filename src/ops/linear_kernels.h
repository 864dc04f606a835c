// The arithmetic of linear attention: feature maps, and the state that takes the place of the
// table of queries by keys.
//
// The softmax's e^(q·k) is replaced by φ(q)·φ(k), which can be taken apart: (φ(Q)·φ(K)ᵀ)·V is
// φ(Q)·(φ(K)ᵀ·V), and φ(K)ᵀ·V is a small matrix whatever the number of keys.
// Katharopoulos et al. 2020, section 3.2.
//
// Shapes: n queries, m keys, f features, d_v the width of a value.
#pragma once

#include <cmath>

#include "base/exp.h"
#include "base/matrix.h"
#include "base/scalar.h"
#include "plan/op.h"

namespace qkv::kernels {

template <class T, class F>
MatrixOf<T> map_cells(const MatrixOf<T>& x, F f) {
  MatrixOf<T> result(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) result(i, j) = f(x(i, j));
  }
  return result;
}

// elu(x) + 1: x + 1 above 0, e^x below.  As one sum it needs no branch, which an interval around 0
// could not take.
template <class T>
MatrixOf<T> elu_plus_1(const MatrixOf<T>& x) {
  using qkv::exp;
  return map_cells<T>(x, [](const T& a) {
    const T above = larger(a, T(0));
    const T below = -larger(T(-a), T(0));
    return T(above + T(exp(below)));
  });
}

template <class T>
MatrixOf<T> exp_of(const MatrixOf<T>& x) {
  using qkv::exp;
  return map_cells<T>(x, [](const T& a) { return T(exp(a)); });
}

template <class T>
MatrixOf<T> relu(const MatrixOf<T>& x) {
  return map_cells<T>(x, [](const T& a) { return T(larger(a, T(0))); });
}

// Of elu(x) + 1, from φ(x) = elu(x) + 1 itself: 1 above 0, where φ(x) > 1; e^x = φ(x) below.
template <class T>
T elu_plus_1_slope(const T& phi) {
  return T(-larger(T(-phi), T(-1)));
}

// Of max(x, 0): 1 above 0, else 0; either, while an interval does not tell.
template <class T>
T relu_slope(const T& x) {
  const T zero(0);
  const T one(1);
  if (certainly_exceeds(x, zero)) return one;
  if (certainly_exceeds(zero, x) || certainly_equals(x, zero) || settles_ties<T>()) return zero;
  return hull(zero, one);
}

// What arrives times slope(x), number by number; x, or φ(x) itself where that tells the slope.
template <class T, class Slope>
MatrixOf<T> times_slope(const MatrixOf<T>& arrived, const MatrixOf<T>& x, Slope slope) {
  MatrixOf<T> result(arrived.rows(), arrived.cols());
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < result.cols(); ++j) {
      const T steep = slope(x(i, j));
      result(i, j) = arrived(i, j) * steep;
    }
  }
  return result;
}

// φ(q)·φ(k) of every query and key: [n, f], [m, f] → [n, m].  0 where the key is forbidden.
template <class T>
MatrixOf<T> kernel_scores(const MatrixOf<T>& phi_q, const MatrixOf<T>& phi_k, const Params& params) {
  MatrixOf<T> result(phi_q.rows(), phi_k.rows());
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < result.cols(); ++j) {
      T sum(0);
      for (Index r = 0; r < phi_q.cols() && is_allowed(params, i, j); ++r) sum += phi_q(i, r) * phi_k(j, r);
      result(i, j) = sum;
    }
  }
  return result;
}

// Keys [from, from + count): Σ φ(k)ᵀ·v, [f, d_v], and Σ φ(k), [1, f].
template <class T>
MatrixOf<T> state_of_keys(const MatrixOf<T>& phi_k, const MatrixOf<T>& v, Index from, Index count) {
  MatrixOf<T> state(phi_k.cols(), v.cols());
  for (Index r = 0; r < state.rows(); ++r) {
    for (Index c = 0; c < state.cols(); ++c) {
      T sum(0);
      for (Index j = from; j < from + count; ++j) sum += phi_k(j, r) * v(j, c);
      state(r, c) = sum;
    }
  }
  return state;
}
template <class T>
MatrixOf<T> sum_of_keys(const MatrixOf<T>& phi_k, Index from, Index count) {
  MatrixOf<T> sums(1, phi_k.cols());
  for (Index r = 0; r < sums.cols(); ++r) {
    T sum(0);
    for (Index j = from; j < from + count; ++j) sum += phi_k(j, r);
    sums(0, r) = sum;
  }
  return sums;
}

// φ(q)·S / (φ(q)·z + eps), for queries [from, from + count).   S [f, d_v], z [1, f]
template <class T>
MatrixOf<T> read_state(const MatrixOf<T>& phi_q, const MatrixOf<T>& state, const MatrixOf<T>& z, Index from,
                       Index count, const Number* eps) {
  MatrixOf<T> result(count, state.cols());
  for (Index i = 0; i < count; ++i) {
    T denominator(0);
    for (Index r = 0; r < z.cols(); ++r) denominator += phi_q(from + i, r) * z(0, r);
    if (eps != nullptr) denominator += scalar_of<T>(*eps);
    for (Index c = 0; c < state.cols(); ++c) {
      T sum(0);
      for (Index r = 0; r < z.cols(); ++r) sum += phi_q(from + i, r) * state(r, c);
      result(i, c) = T(sum / denominator);
    }
  }
  return result;
}

}  // namespace qkv::kernels

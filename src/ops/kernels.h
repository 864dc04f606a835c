// The arithmetic of every step, as templates over the scalar: double for speed, an interval
// for proof, an exact number where the value has a form.  Sums run from left to right, as on paper; a blocked
// product would round differently on each machine.
//
// Shapes: n queries, m keys, d_k the width of a query and a key, d_v the width of a value.
#pragma once

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/exp.h"
#include "base/matrix.h"
#include "base/scalar.h"
#include "ops/double_loops.h"
#include "plan/op.h"

namespace qkv::kernels {

// ---- Products --------------------------------------------------------------------------

// A projection, X·W.   x [n, d], w [d, e] → [n, e].  Row vectors, as the textbooks write it.
// With a symbolic x, `basis` columns of it are one cell, and so it is in the result.
template <class T>
MatrixOf<T> project(const MatrixOf<T>& x, const MatrixOf<T>& w, Index basis = 1) {
  if constexpr (std::is_same_v<T, double>) {
    if (basis == 1) return double_loops::project(x, w);
  }
  MatrixOf<T> result(x.rows(), w.cols() * basis);
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < w.cols(); ++j) {
      for (Index b = 0; b < basis; ++b) {
        T sum(0);
        for (Index k = 0; k < w.rows(); ++k) sum += x(i, k * basis + b) * w(k, j);
        result(i, j * basis + b) = sum;
      }
    }
  }
  return result;
}

// Adds a bias row [1, e] to every row.  Of a symbolic cell it joins the constant, which comes first.
template <class T>
MatrixOf<T> add_row(MatrixOf<T> x, const MatrixOf<T>& bias, Index basis = 1) {
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < bias.cols(); ++j) x(i, j * basis) += bias(0, j);
  }
  return x;
}

// Every query against every key: q [n, d_k], k [m, d_k] → Q·Kᵀ, [n, m].
template <class T>
MatrixOf<T> dot_rows(const MatrixOf<T>& q, const MatrixOf<T>& k) {
  if constexpr (std::is_same_v<T, double>) return double_loops::dot_rows(q, k);
  MatrixOf<T> result(q.rows(), k.rows());
  for (Index i = 0; i < q.rows(); ++i) {
    for (Index j = 0; j < k.rows(); ++j) {
      T sum(0);
      for (Index r = 0; r < q.cols(); ++r) sum += q(i, r) * k(j, r);
      result(i, j) = sum;
    }
  }
  return result;
}

// The additive score v·tanh(q·W + k·U + b), a small network with one hidden layer.
//   q [n, d_q], k [m, d_k], w [d_q, h], u [d_k, h], v [1, h], b [1, h] or null → [n, m]
// Bahdanau et al. 2015, appendix A.1.2.
template <class T>
MatrixOf<T> additive_scores(const MatrixOf<T>& q, const MatrixOf<T>& k, const MatrixOf<T>& w,
                            const MatrixOf<T>& u, const MatrixOf<T>& v, const MatrixOf<T>* b) {
  using std::tanh;
  const MatrixOf<T> from_query = project(q, w);
  const MatrixOf<T> from_key = project(k, u);
  MatrixOf<T> result(q.rows(), k.rows());
  for (Index i = 0; i < q.rows(); ++i) {
    for (Index j = 0; j < k.rows(); ++j) {
      T sum(0);
      for (Index h = 0; h < v.cols(); ++h) {
        T inside = from_query(i, h) + from_key(j, h);
        if (b != nullptr) inside += (*b)(0, h);
        const T hidden = tanh(inside);
        sum += v(0, h) * hidden;
      }
      result(i, j) = sum;
    }
  }
  return result;
}

// The concat score v·tanh([q; k]·W): the additive one with W's upper rows for the query and
// its lower rows for the key.   w [d_q + d_k, h].   Luong et al. 2015, section 3.1.
template <class T>
MatrixOf<T> concat_scores(const MatrixOf<T>& q, const MatrixOf<T>& k, const MatrixOf<T>& w,
                          const MatrixOf<T>& v) {
  const MatrixOf<T> for_query = w.topRows(q.cols());
  const MatrixOf<T> for_key = w.bottomRows(k.cols());
  return additive_scores<T>(q, k, for_query, for_key, v, nullptr);
}

// The read: weights [n, m], v [m, d_v] → weights·V, [n, d_v].
// A forbidden key does not take part at all, so nothing in its value can leak in.
template <class T>
MatrixOf<T> weighted_sum(const MatrixOf<T>& weights, const MatrixOf<T>& v, const Params& params) {
  if constexpr (std::is_same_v<T, double>) {
    if (v.allFinite()) return double_loops::weighted_sum(weights, v, params);
  }
  MatrixOf<T> result(weights.rows(), v.cols());
  for (Index i = 0; i < weights.rows(); ++i) {
    const bool is_empty_as_nan = params.empty_row_is_nan && row_is_empty(params, i);
    for (Index c = 0; c < v.cols(); ++c) {
      T sum(0);
      for (Index j = 0; j < weights.cols(); ++j) {
        if (is_allowed(params, i, j)) sum += weights(i, j) * v(j, c);
      }
      result(i, c) = is_empty_as_nan ? not_a_number<T>() : sum;
    }
  }
  return result;
}

// The hard read: the value of the key with the largest weight, the first of equals.
template <class T>
MatrixOf<T> hard_read(const MatrixOf<T>& weights, const MatrixOf<T>& v, const Params& params) {
  MatrixOf<T> result(weights.rows(), v.cols());
  for (Index i = 0; i < weights.rows(); ++i) {
    // Keys that no other key certainly exceeds: one, or several while numbers cannot be told apart.
    std::vector<Index> best;
    for (Index j = 0; j < weights.cols(); ++j) {
      if (!is_allowed(params, i, j)) continue;
      const T& weight = weights(i, j);
      std::erase_if(best, [&](Index b) { return certainly_exceeds(weight, weights(i, b)); });
      const bool is_settled = !best.empty() && (certainly_exceeds(weights(i, best.front()), weight) ||
                                                certainly_equals(weights(i, best.front()), weight));
      if (!is_settled) best.push_back(j);
    }
    if (settles_ties<T>() && best.size() > 1) best.erase(best.begin() + 1, best.end());
    for (Index c = 0; c < v.cols(); ++c) {
      T value = params.empty_row_is_nan ? not_a_number<T>() : T(0);
      if (!best.empty()) value = v(best.front(), c);
      for (const Index j : best) value = hull(value, v(j, c));
      result(i, c) = value;
    }
  }
  return result;
}

// ---- One score at a time ---------------------------------------------------------------

// -inf marks a forbidden key and stays what it is: 0 · -inf is NaN, and tanh(-inf) is -1,
// which would bring the key back.
template <class T, class F>
MatrixOf<T> map_scores(const MatrixOf<T>& scores, F f) {
  MatrixOf<T> result(scores.rows(), scores.cols());
  for (Index i = 0; i < scores.rows(); ++i) {
    for (Index j = 0; j < scores.cols(); ++j) {
      result(i, j) = is_minus_infinity(scores(i, j)) ? scores(i, j) : f(scores(i, j));
    }
  }
  return result;
}

// scores / √d_k.  The variance of a dot product of d_k independent terms is d_k times that of
// one term; this brings it back to 1.   Vaswani et al. 2017, section 3.2.1.
template <class T>
MatrixOf<T> divide_by_root(const MatrixOf<T>& scores, const Number& d_k) {
  using std::sqrt;
  const T root = sqrt(scalar_of<T>(d_k));
  return map_scores<T>(scores, [&](const T& s) { return T(s / root); });
}

template <class T>
MatrixOf<T> multiply(const MatrixOf<T>& scores, const Number& factor) {
  const T c = scalar_of<T>(factor);
  return map_scores<T>(scores, [&](const T& s) { return T(s * c); });
}

template <class T>
MatrixOf<T> divide(const MatrixOf<T>& scores, const Number& divisor) {
  const T c = scalar_of<T>(divisor);
  return map_scores<T>(scores, [&](const T& s) { return T(s / c); });
}

// c·tanh(s / c): nearly s while |s| is small, never beyond ±c.   Gemma 2, 2024, section 2.
template <class T>
MatrixOf<T> soft_cap(const MatrixOf<T>& scores, const Number& cap) {
  using std::tanh;
  const T c = scalar_of<T>(cap);
  return map_scores<T>(scores, [&](const T& s) {
    const T inside = s / c;
    const T bent = tanh(inside);
    return T(c * bent);
  });
}

// ALiBi: −slope·|position of the query − position of the key|, [n, m].   Press et al. 2022.
template <class T>
MatrixOf<T> distance_bias(Shape shape, const Number& slope, long align) {
  const T c = scalar_of<T>(slope);
  MatrixOf<T> result(shape.rows, shape.cols);
  for (Index i = 0; i < shape.rows; ++i) {
    for (Index j = 0; j < shape.cols; ++j) {
      const T distance(static_cast<double>(std::abs(i + align - j)));
      result(i, j) = distance == 0 ? T(0) : T(-(c * distance));
    }
  }
  return result;
}

// Sum of equally shaped matrices, left to right; a forbidden cell is -inf whatever the others say.
template <class T>
MatrixOf<T> add_all(const std::vector<std::reference_wrapper<const MatrixOf<T>>>& terms,
                    const Params& params) {
  if constexpr (std::is_same_v<T, double>) return double_loops::add_all(terms, params);
  MatrixOf<T> result = terms.front().get();
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < result.cols(); ++j) {
      for (std::size_t t = 1; t < terms.size(); ++t) result(i, j) += terms[t].get()(i, j);
      if (!is_allowed(params, i, j)) result(i, j) = infinity<T>(-1);
    }
  }
  return result;
}

// ---- Softmax, in the five lines a student writes on paper --------------------------------
//
// Maximum, shift, exponential, sum, division.  Subtracting the maximum changes nothing in
// exact arithmetic, because the common factor exp(-max) cancels, and it keeps exp from
// overflowing: softmax(1000, 1001) is (0.2689, 0.7311), not NaN.
//
// A row in which every key is forbidden has no distribution.  It becomes zeros (or NaN, if
// asked).  The mask decides that, never the scores: -inf - (-inf) is NaN.
//
// A sink logit is one more key that takes weight and gives nothing: it joins the maximum and
// the sum, and has no column of its own.

// [n, m] → [n, 1].  -inf for an empty row without a sink.
template <class T>
MatrixOf<T> row_max(const MatrixOf<T>& scores, const Number* sink, const Params& params) {
  if constexpr (std::is_same_v<T, double>) {
    return double_loops::row_max(scores, sink != nullptr ? scalar_of<T>(*sink) : infinity<T>(-1), params);
  }
  MatrixOf<T> result(scores.rows(), 1);
  for (Index i = 0; i < scores.rows(); ++i) {
    T max = sink != nullptr ? scalar_of<T>(*sink) : infinity<T>(-1);
    for (Index j = 0; j < scores.cols(); ++j) {
      if (is_allowed(params, i, j)) max = larger(max, scores(i, j));
    }
    result(i, 0) = max;
  }
  return result;
}

// The key that certainly has the maximum; -1 while others, or the sink, may have it.
template <class T>
Index certain_maximum(const MatrixOf<T>& scores, Index row, const T& max, const Number* sink,
                      const Params& params) {
  if (sink != nullptr && !certainly_exceeds(max, scalar_of<T>(*sink))) return -1;
  Index found = -1;
  for (Index j = 0; j < scores.cols(); ++j) {
    if (!is_allowed(params, row, j)) continue;
    if (certainly_exceeds(max, scores(row, j)) || certainly_exceeds(scores(row, j), max)) continue;
    if (found >= 0) return -1;
    found = j;
  }
  return found;
}

// scores [n, m], max [n, 1] → scores − max, at most 0.  The maximum minus itself is exactly 0,
// which subtracting its interval from itself would not show.
// +inf − (+inf) is taken as 0: all scores that are infinite share the weight, the others get
// none, which is the limit of making them equally large.
template <class T>
MatrixOf<T> shift(const MatrixOf<T>& scores, const MatrixOf<T>& max, const Number* sink,
                  const Params& params) {
  if constexpr (std::is_same_v<T, double>) return double_loops::shift(scores, max, params);
  MatrixOf<T> result(scores.rows(), scores.cols());
  for (Index i = 0; i < scores.rows(); ++i) {
    const Index largest = follows_ieee<T>() ? -1 : certain_maximum<T>(scores, i, max(i, 0), sink, params);
    for (Index j = 0; j < scores.cols(); ++j) {
      if (!is_allowed(params, i, j)) {
        result(i, j) = infinity<T>(-1);
      } else if (j == largest || (!follows_ieee<T>() && is_plus_infinity(scores(i, j)))) {
        result(i, j) = T(0);
      } else {
        result(i, j) = scores(i, j) - max(i, 0);
      }
    }
  }
  return result;
}

// e^x, cell by cell; exactly 0 where the key is forbidden.
template <class T>
MatrixOf<T> exponential(const MatrixOf<T>& x, const Params& params) {
  using qkv::exp;
  if constexpr (std::is_same_v<T, double>) return double_loops::exponential(x, params);
  MatrixOf<T> result(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) {
      result(i, j) = is_allowed(params, i, j) ? T(exp(x(i, j))) : T(0);
    }
  }
  return result;
}

// [n, m] → [n, 1].  With a sink: plus e^(sink − max).
template <class T>
MatrixOf<T> row_sum(const MatrixOf<T>& e, const Number* sink, const MatrixOf<T>* max) {
  using qkv::exp;
  MatrixOf<T> result(e.rows(), 1);
  for (Index i = 0; i < e.rows(); ++i) {
    T sum(0);
    for (Index j = 0; j < e.cols(); ++j) sum += e(i, j);
    if (sink != nullptr) {
      T shifted = scalar_of<T>(*sink);
      if (max != nullptr) shifted -= (*max)(i, 0);
      sum += T(exp(shifted));
    }
    result(i, 0) = sum;
  }
  return result;
}

// e [n, m], sum [n, 1] → e / sum.
template <class T>
MatrixOf<T> normalise_rows(const MatrixOf<T>& e, const MatrixOf<T>& sum, const Params& params) {
  if constexpr (std::is_same_v<T, double>) return double_loops::normalise_rows(e, sum, params);
  MatrixOf<T> result(e.rows(), e.cols());
  for (Index i = 0; i < e.rows(); ++i) {
    const bool is_empty = row_is_empty(params, i);
    for (Index j = 0; j < e.cols(); ++j) {
      if (is_empty) {
        result(i, j) = params.empty_row_is_nan ? not_a_number<T>() : T(0);
      } else if (!is_allowed(params, i, j)) {
        result(i, j) = T(0);
      } else {
        result(i, j) = e(i, j) / sum(i, 0);
      }
    }
  }
  return result;
}

// ---- Several heads -----------------------------------------------------------------------

// What a head would hold if x [n, h·d], read as one long list, were cut into h matrices [n, d].
template <class T>
MatrixOf<T> cut_flat(const MatrixOf<T>& x, Index head, Index heads) {
  const Index d = x.cols() / heads;
  MatrixOf<T> result(x.rows(), d);
  for (Index k = 0; k < result.size(); ++k) {
    const Index flat = head * result.size() + k;
    result(k / d, k % d) = x(flat / x.cols(), flat % x.cols());
  }
  return result;
}

// Matrices of equally many rows, side by side.
template <class T>
MatrixOf<T> join_columns(const InputsOf<MatrixOf<T>>& parts) {
  Index width = 0;
  for (const MatrixOf<T>& part : parts) width += part.cols();
  MatrixOf<T> result(parts[0].get().rows(), width);
  Index at = 0;
  for (const MatrixOf<T>& part : parts) {
    result.middleCols(at, part.cols()) = part;
    at += part.cols();
  }
  return result;
}

// The same numbers as one long list, part after part, cut into rows of the joined width.
template <class T>
MatrixOf<T> join_flat(const InputsOf<MatrixOf<T>>& parts, Index basis) {
  MatrixOf<T> result = join_columns<T>(parts);
  const MatrixOf<T>& first = parts[0];
  const Index d = first.cols() / basis;
  const Index width = result.cols() / basis;
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < width; ++j) {
      const Index flat = i * width + j;
      const MatrixOf<T>& part = parts[static_cast<std::size_t>(flat / (first.rows() * d))];
      const Index within = flat % (first.rows() * d);
      for (Index b = 0; b < basis; ++b) result(i, j * basis + b) = part(within / d, within % d * basis + b);
    }
  }
  return result;
}

// ‖a_i − b_i‖ of each row: a, b [n, d] → [n, 1].
template <class T>
MatrixOf<T> row_distance(const MatrixOf<T>& a, const MatrixOf<T>& b) {
  using std::sqrt;
  MatrixOf<T> result(a.rows(), 1);
  for (Index i = 0; i < a.rows(); ++i) {
    T sum(0);
    for (Index j = 0; j < a.cols(); ++j) {
      const T apart = a(i, j) - b(i, j);
      sum += apart * apart;
    }
    result(i, 0) = sqrt(sum);
  }
  return result;
}

}  // namespace qkv::kernels

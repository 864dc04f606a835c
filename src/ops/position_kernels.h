// The arithmetic of positions: sinusoids that are added, and rotations.
#pragma once

#include <cmath>
#include <numeric>
#include <optional>

#include "base/exp.h"
#include "base/matrix.h"
#include "base/number.h"
#include "base/scalar.h"

namespace qkv::kernels {

// The whole number whose q-th power is `base`, where there is one.
inline std::optional<double> whole_root(const Number& base, Index q) {
  constexpr double kMostWhole = 9007199254740992.0;
  if (!base.is_decimal || base.value < 1 || base.value > kMostWhole || base.value != std::floor(base.value))
    return std::nullopt;
  const double root = std::round(std::pow(base.value, 1.0 / static_cast<double>(q)));
  double power = 1;
  for (Index i = 0; i < q && power <= base.value; ++i) power *= root;
  return power == base.value ? std::optional(root) : std::nullopt;
}

// base^(p/q), p/q ≥ 0.  Exact for roots that are whole and for square roots: 10000^(2/4) is 100.
template <class T>
T power(const Number& base, Index p, Index q) {
  using qkv::exp;
  using std::log;
  using std::sqrt;
  const Index common = std::gcd(p, q);
  if (common > 0) {
    p /= common;
    q /= common;
  }
  T root(0);
  if (const auto whole = whole_root(base, q)) {
    root = T(*whole);
  } else if (q <= 2) {
    root = q == 1 ? scalar_of<T>(base) : T(sqrt(scalar_of<T>(base)));
  } else {
    const T exponent = T(static_cast<double>(p)) / T(static_cast<double>(q));
    const T logarithm = log(scalar_of<T>(base));
    return T(exp(T(exponent * logarithm)));
  }
  T result(1);
  for (Index i = 0; i < p; ++i) result = T(result * root);
  return result;
}

// positions [n, 1] → [n, dims/2]: position / base^(2i/dims), i counted from 0.
//   Su et al. 2021, section 3.2.2; the same angles as in Vaswani et al. 2017, section 3.5.
template <class T>
MatrixOf<T> angles(const MatrixOf<T>& positions, const Number& base, Index dims) {
  MatrixOf<T> result(positions.rows(), (dims + 1) / 2);
  for (Index i = 0; i < result.cols(); ++i) {
    const T divisor = power<T>(base, 2 * i, dims);
    for (Index t = 0; t < result.rows(); ++t) result(t, i) = T(positions(t, 0) / divisor);
  }
  return result;
}

// Of the wavelengths of sinusoids.   Vaswani et al. 2017, section 3.5.
inline constexpr long kSinusoidBase = 10000;

// angles [n, ⌈d/2⌉] → [n, d]: sin and cos of each angle in turn.   Vaswani et al. 2017, section 3.5.
template <class T>
MatrixOf<T> sinusoids(const MatrixOf<T>& angles, Index d) {
  using std::cos;
  using std::sin;
  MatrixOf<T> result(angles.rows(), d);
  for (Index t = 0; t < result.rows(); ++t) {
    for (Index c = 0; c < d; ++c)
      result(t, c) = c % 2 == 0 ? T(sin(angles(t, c / 2))) : T(cos(angles(t, c / 2)));
  }
  return result;
}

// The two columns that turn together by angle i of `pairs`.
struct TurningPair {
  Index first;
  Index second;
};
inline TurningPair turning_pair(Index i, Index pairs, bool is_interleaved) {
  return is_interleaved ? TurningPair{2 * i, 2 * i + 1} : TurningPair{i, i + pairs};
}

// x [n, h·d], angles [n, dims/2] → x with each pair (a, b) of the first dims columns of every d turned:
// (a·cos − b·sin, a·sin + b·cos).  The other columns pass through.   Su et al. 2021, section 3.2.2.
template <class T>
MatrixOf<T> rotate(const MatrixOf<T>& x, const MatrixOf<T>& angles, bool is_interleaved, Index d) {
  using std::cos;
  using std::sin;
  MatrixOf<T> result = x;
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index i = 0; i < angles.cols(); ++i) {
      const auto [a, b] = turning_pair(i, angles.cols(), is_interleaved);
      const T c = cos(angles(t, i));
      const T s = sin(angles(t, i));
      for (Index first = 0; first < x.cols(); first += d) {
        const T x_a = x(t, first + a);
        const T x_b = x(t, first + b);
        result(t, first + a) = T(x_a * c) - T(x_b * s);
        result(t, first + b) = T(x_a * s) + T(x_b * c);
      }
    }
  }
  return result;
}

}  // namespace qkv::kernels

// Notation: a number that was computed is x, the true one X; |x − X| ≤ α + ρ·|x| along a row (RowBound).
// u is half a unit in the last place of 1: every operation gives (exact result)·(1 + δ), |δ| ≤ u, unless it
// underflows, which adds at most 2^-1075.
//
// Sums of products (Higham, Accuracy and Stability, 2nd edition, section 3.1).  Whatever the order, a sum of
// n products is off by at most γ_n·Σ|x_k||y_k| with γ_n = n·u / (1 − n·u), and n·2^-1074 for underflow.  What
// came in adds, from XY − xy = (X − x)y + x(Y − y) + (X − x)(Y − y),
//
//   Σ (α + ρ|x_k|)(|y_k| + e) + |x_k|·e,      where e bounds every |y_k − Y_k|.
//
// By Cauchy and Schwarz Σ|x_k||y_k| ≤ ‖x‖·‖y‖, so that a row needs its own length and the largest length of
// all columns, and no second product of matrices.
//
// The bounds themselves are computed in doubles.  Every function here makes a bound of a few dozen positive
// terms, besides norms and sums of at most 2^20 terms; so each of them is off by less than one part in 2^30,
// and `bound` adds more than that.
//
// Where is_plain is false (an x87), or anything is infinite or NaN, nothing is claimed.

#include "ops/row_bounds.h"

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>

#include "base/bounded.h"
#include "base/bounded_number.h"
#include "base/open_runs.h"
#include "base/threads.h"

namespace qkv::row_bounds {
namespace {

constexpr double kU = 0x1p-53;
constexpr double kTiny = 0x1p-1000;    // more than all the underflows of one number but those of a sum
constexpr double kFourUlps = 0x1p-50;  // of exp and tanh, as base/bounded.h takes them
constexpr Index kMostTerms = 1 << 20;  // of one sum

double gamma(Index n) {
  const double nu = static_cast<double>(n) * kU;
  return nu / (1 - nu);
}

// Pays for the roundings made in computing the bound.
RowBound bound(double absolute, double relative) {
  constexpr double kSlack = 1 + 0x1p-20;
  return {absolute * kSlack + kTiny, relative * kSlack};
}

bool is_known(const RowBound& b) { return b.absolute <= DBL_MAX && b.relative < 0.25; }

// Bounds made by row(i), which several threads may call, of matrices whose rows are as long as these; none
// when one of them says nothing.
template <class Row>
Bounds each_row(const Matrix& looked_at, Row row) {
  if (!kDoublesArePlain) return {};
  Bounds bounds(static_cast<std::size_t>(looked_at.rows()));
  std::atomic<bool> are_known = true;
  share_rows(looked_at.rows(), looked_at.cols(), [&](Index begin, Index end) {
    for (Index i = begin; i < end && are_known; ++i) {
      RowBound& own = bounds[static_cast<std::size_t>(i)];
      own = row(i);
      if (!is_known(own)) are_known = false;
    }
  });
  if (!are_known) return {};
  return bounds;
}

// Of the cells of a row that the mask leaves open; NaN or ∞ when one of them is.
double largest(const Matrix& m, const Params& params, Index row) {
  double size = 0;
  const double* const x = m.data() + row * m.cols();
  each_open_run(params.allowed.get(), row, m.cols(), [&](Index begin, Index end) {
    constexpr Index kLanes = 8;  // numbers that are looked at together, so that vectors can be used
    double sizes[kLanes] = {};
    double nan[kLanes] = {};  // NaN when one is infinite or NaN
    const auto look_at = [&](Index j, Index lane) {
      const double own = std::abs(x[j]);
      sizes[lane] = own > sizes[lane] ? own : sizes[lane];
      nan[lane] += x[j] * 0;
    };
    Index j = begin;
    for (; j + kLanes <= end; j += kLanes) {
      for (Index lane = 0; lane < kLanes; ++lane) look_at(j + lane, lane);
    }
    for (; j < end; ++j) look_at(j, 0);
    for (Index lane = 0; lane < kLanes; ++lane) size = std::max(size, sizes[lane]) + nan[lane];
  });
  return size;
}

// √Σx², where the squares do not underflow; else Σ|x| at most, which is never less.
double length(double squares, double sum) { return squares > 0x1p-900 ? std::sqrt(squares) : sum; }

struct Lengths {
  double squares = 0;
  double sum = 0;  // Σ|x|
  double length() const { return row_bounds::length(squares, sum); }
};

Lengths lengths(const Matrix& m, Index row) {
  Lengths of;
  for (Index j = 0; j < m.cols(); ++j) {
    of.squares += m(row, j) * m(row, j);
    of.sum += std::abs(m(row, j));
  }
  return of;
}

// Of a factor of which whole rows or columns are multiplied.
struct Factor {
  double length = 0;   // of the longest
  double largest = 0;  // number in size
  double error = 0;    // of any number
};

Factor factor(const RowBounded& m, bool by_columns) {
  Factor f;
  std::vector<double> squares(static_cast<std::size_t>(by_columns ? m.values.cols() : 0));
  for (Index i = 0; i < m.values.rows(); ++i) {
    const double size = largest(m.values, {}, i);
    if (!(size <= DBL_MAX)) return {0, 0, std::numeric_limits<double>::infinity()};
    f.largest = std::max(f.largest, size);
    f.error = std::max(f.error, m.bounds[static_cast<std::size_t>(i)].at(size));
    if (!by_columns) f.length = std::max(f.length, lengths(m.values, i).length());
    for (std::size_t j = 0; j < squares.size(); ++j)
      squares[j] += m.values(i, static_cast<Index>(j)) * m.values(i, static_cast<Index>(j));
  }
  for (const double s : squares)
    f.length = std::max(f.length, length(s, static_cast<double>(m.values.rows()) * f.largest));
  return f;
}

// Of a row of sums of products: the row has this length, Σ|x| and bound, and n terms.
double of_products(double row_length, double row_sum, const RowBound& x, const Factor& y, Index n) {
  const double of_rounding = gamma(n) * row_length * y.length;
  const double of_row = x.relative * (row_length * y.length + row_sum * y.error) +
                        x.absolute * static_cast<double>(n) * (y.largest + y.error);
  return of_rounding + of_row + row_sum * y.error + static_cast<double>(n) * 0x1p-1074;
}

Bounds products(const RowBounded& x, const Factor& y, const Params& params, const Matrix& result) {
  const Index n = x.values.cols();
  if (n > kMostTerms) return {};
  return each_row(result, [&](Index i) {
    if (!(largest(result, {}, i) <= DBL_MAX) || params.basis != 1) return RowBound{DBL_MAX, 1};
    const Lengths of = lengths(x.values, i);
    return bound(of_products(of.length(), of.sum, x.bounds[static_cast<std::size_t>(i)], y, n), 0);
  });
}

// The rows of a result that each come from the same row of the one input, cell by cell: off(i, largest in
// the result's row, the input's bound).
template <class Off>
Bounds by_cells(Inputs in, const Params& params, const Matrix& result, Off off) {
  return each_row(result, [&](Index i) {
    const double size = largest(result, params, i);
    if (!(size <= DBL_MAX)) return RowBound{DBL_MAX, 1};
    return off(i, size, in[0].bounds[static_cast<std::size_t>(i)]);
  });
}

bool is_number(const Bounded& x) { return std::isfinite(x.value) && x.error < std::abs(x.value) * 0x1p-20; }

// x / b: (X − x)/B, and x·(1/B − 1/b), and one rounding.  B is at least (1 − ε)|b| in size, where ε is b's
// relative error.
Bounds quotient(Inputs in, const Params& params, const Matrix& result, const Bounded& b) {
  if (!is_number(b)) return {};
  const double epsilon = b.error / std::abs(b.value);
  return by_cells(in, params, result, [&](Index, double, const RowBound& x) {
    const double least = std::abs(b.value) * (1 - epsilon);
    return bound(x.absolute / least, (x.relative + 2 * epsilon + kU) * (1 + 4 * epsilon + 4 * kU));
  });
}

}  // namespace

Bounds same(Inputs in, const Params&, const Matrix&) { return {in[0].bounds.begin(), in[0].bounds.end()}; }

Bounds side_by_side(Inputs in, const Params&, const Matrix& result) {
  return each_row(result, [&](Index i) {
    RowBound widest;
    for (const RowBounded& part : in) {
      const RowBound& own = part.bounds[static_cast<std::size_t>(i)];
      widest = {std::max(widest.absolute, own.absolute), std::max(widest.relative, own.relative)};
    }
    return widest;
  });
}

Bounds dot_rows(Inputs in, const Params& params, const Matrix& result) {
  return products(in[0], factor(in[1], false), params, result);
}

namespace {

// The bias is one more term of each sum.
Bounds projected(Inputs in, const Params& params, const Matrix& result, bool is_linear) {
  Bounds bounds = products(in[0], factor(in[1], !is_linear), params, result);
  if (in.size() < 3 || bounds.empty()) return bounds;
  const Factor bias = factor(in[2], false);
  for (Index i = 0; i < result.rows(); ++i) {
    RowBound& b = bounds[static_cast<std::size_t>(i)];
    b = bound(b.absolute + bias.error, kU * (1 + 2 * kU));
    if (!is_known(b)) return {};
  }
  return bounds;
}

}  // namespace

Bounds project(Inputs in, const Params& params, const Matrix& result) {
  return projected(in, params, result, false);
}
Bounds project_linear(Inputs in, const Params& params, const Matrix& result) {
  return projected(in, params, result, true);
}

// The weights that take part are those that the mask leaves open.
Bounds weighted_sum(Inputs in, const Params& params, const Matrix& result) {
  const RowBounded& w = in[0];
  const Factor v = factor(in[1], true);
  const Index m = w.values.cols();
  if (m > kMostTerms) return {};
  return each_row(w.values, [&](Index i) {
    if (!(largest(result, {}, i) <= DBL_MAX)) return RowBound{DBL_MAX, 1};
    double sum = 0;
    each_open_run(params.allowed.get(), i, m, [&](Index begin, Index end) {
      for (Index j = begin; j < end; ++j) sum += std::abs(w.values(i, j));
    });
    // Σ|w||v| ≤ Σ|w| · max|v|: of weights that sum to 1 this is less than the product of lengths.
    const RowBound& b = w.bounds[static_cast<std::size_t>(i)];
    const double off = gamma(m) * sum * v.largest + b.relative * sum * (v.largest + v.error) +
                       b.absolute * static_cast<double>(m) * (v.largest + v.error) + sum * v.error +
                       static_cast<double>(m) * 0x1p-1074;
    return bound(off, 0);
  });
}

Bounds divide_by_root(Inputs in, const Params& params, const Matrix& result) {
  return quotient(in, params, result, sqrt(bounded(params.numbers[0])));
}

Bounds divide(Inputs in, const Params& params, const Matrix& result) {
  return quotient(in, params, result, bounded(params.numbers[0]));
}

// x·c is the quotient by 1/c, with the errors of a factor.
Bounds multiply(Inputs in, const Params& params, const Matrix& result) {
  const Bounded c = bounded(params.numbers[0]);
  if (!is_number(c)) return {};
  const double epsilon = c.error / std::abs(c.value);
  return by_cells(in, params, result, [&](Index, double, const RowBound& x) {
    return bound(x.absolute * std::abs(c.value) * (1 + epsilon),
                 (x.relative + 2 * epsilon + kU) * (1 + 4 * epsilon + 4 * kU));
  });
}

// c·tanh(x/c).  The slope of tanh is at most 1, so that an error of x/c grows no further; |tanh| ≤ 1.
Bounds soft_cap(Inputs in, const Params& params, const Matrix& result) {
  const Bounded c = bounded(params.numbers[0]);
  if (!is_number(c)) return {};
  const double epsilon = c.error / std::abs(c.value);
  return by_cells(in, params, result, [&](Index i, double, const RowBound& x) {
    const double size = largest(in[0].values, params, i);
    const double inside = (x.at(size) + size * (2 * epsilon + kU)) / (std::abs(c.value) * (1 - 2 * epsilon));
    const double bent = inside + kFourUlps;
    return bound(std::abs(c.value) * (bent + epsilon * (1 + bent) + kU), 0);
  });
}

Bounds distance_bias(Inputs, const Params& params, const Matrix& result) {
  const Bounded c = bounded(params.numbers[0]);
  if (!(c.error <= std::abs(c.value) * 0x1p-20)) return {};
  const double epsilon = c.value == 0 ? 0 : c.error / std::abs(c.value);
  return each_row(result, [&](Index i) {
    if (!(largest(result, {}, i) <= DBL_MAX)) return RowBound{DBL_MAX, 1};
    return bound(0, (epsilon + kU) * (1 + 4 * epsilon + 4 * kU));
  });
}

// t terms make t − 1 roundings, each of a partial sum that is at most Σ max|term|, or 2 Σ with what came in.
Bounds add_all(Inputs in, const Params& params, const Matrix& result) {
  return by_cells(in, params, result, [&](Index i, double, const RowBound&) {
    double off = 0;
    double sizes = 0;
    for (const RowBounded& term : in) {
      const double size = largest(term.values, params, i);
      sizes += size;
      off += term.bounds[static_cast<std::size_t>(i)].at(size);
    }
    return bound(off + static_cast<double>(in.size() - 1) * kU * 2 * sizes, 0);
  });
}

// The largest of numbers that are each off by at most e is off by at most e.
Bounds row_max(Inputs in, const Params& params, const Matrix& result) {
  const Bounded sink = params.numbers.empty() ? Bounded(0) : bounded(params.numbers[0]);
  return each_row(in[0].values, [&](Index i) {
    const double size = largest(in[0].values, params, i);
    const bool is_empty = result(i, 0) == -std::numeric_limits<double>::infinity();
    if (is_empty && row_is_empty(params, i)) return RowBound{};
    if (!(size <= DBL_MAX && std::abs(result(i, 0)) <= DBL_MAX)) return RowBound{DBL_MAX, 1};
    return bound(std::max(in[0].bounds[static_cast<std::size_t>(i)].at(size), sink.error), 0);
  });
}

Bounds shift(Inputs in, const Params& params, const Matrix& result) {
  return by_cells(in, params, result, [&](Index i, double, const RowBound& x) {
    if (row_is_empty(params, i)) return RowBound{};
    const double size = largest(in[0].values, params, i);
    const double max = std::abs(in[1].values(i, 0));
    return bound(x.at(size) + in[1].bounds[static_cast<std::size_t>(i)].at(max), kU * (1 + 2 * kU));
  });
}

// e^X = e^x·e^(X−x), and e^t − 1 ≤ t(1 + t) for 0 ≤ t ≤ 1.
Bounds exponential(Inputs in, const Params& params, const Matrix& result) {
  return by_cells(in, params, result, [&](Index i, double, const RowBound& x) {
    const double off = x.at(largest(in[0].values, params, i));
    if (!(off <= 0x1p-10)) return RowBound{DBL_MAX, 1};
    const double growth = off * (1 + off);
    return bound(kTiny, kFourUlps * (1 + growth) + growth * (1 + kFourUlps));
  });
}

// Positive terms: what is relative of each is relative of their sum.
Bounds row_sum(Inputs in, const Params& params, const Matrix& result) {
  const Index m = in[0].values.cols();
  const bool has_sink = !params.numbers.empty();
  if (m > kMostTerms || (has_sink && in.size() < 2)) return {};
  const Bounded sink = has_sink ? bounded(params.numbers[0]) : Bounded(0);
  return each_row(in[0].values, [&](Index i) {
    const double sum = result(i, 0);
    if (!(sum <= DBL_MAX) || !(in[0].values.row(i).minCoeff() >= 0)) return RowBound{DBL_MAX, 1};
    const RowBound& e = in[0].bounds[static_cast<std::size_t>(i)];
    double relative = e.relative + gamma(m + 1) * (1 + e.relative);
    if (has_sink) {
      const double max = in[1].values(i, 0);
      const double off =
          sink.error + in[1].bounds[static_cast<std::size_t>(i)].at(max) + kU * std::abs(sink.value - max);
      if (!(off <= 0x1p-10)) return RowBound{DBL_MAX, 1};
      relative += off * (1 + off) + kFourUlps * 2;
    }
    return bound(static_cast<double>(m) * (e.absolute + 0x1p-1074) + kTiny, relative * (1 + 0x1p-20));
  });
}

// E/S = (e/s)·(1 + (E − e)/e)/(1 + (S − s)/s).
Bounds normalise(Inputs in, const Params& params, const Matrix& result) {
  return by_cells(in, params, result, [&](Index i, double, const RowBound& e) {
    if (row_is_empty(params, i)) return params.empty_row_is_nan ? RowBound{DBL_MAX, 1} : RowBound{};
    const double sum = in[1].values(i, 0);
    const double of_sum = in[1].bounds[static_cast<std::size_t>(i)].at(sum) / sum;
    if (!(sum > 0 && of_sum < 0x1p-10)) return RowBound{DBL_MAX, 1};
    const double relative = (e.relative + of_sum) * (1 + 2 * of_sum) + kU;
    return bound(e.absolute * (1 + 2 * of_sum) / sum, relative * (1 + 4 * kU));
  });
}

}  // namespace qkv::row_bounds

// One query in double-doubles, and projections.  As for few queries, lanes are keys, and components of the
// values for the output; every sum is added up from left to right, so the bits do not depend on the width of
// a vector.
#pragma once

#include "fast/kernel_vectors.h"

namespace qkv::fast::QKV_LANES {
namespace {

using Doubles = Vector<double>;
using DoubleDoubles = DoubleDoubleOf<Doubles>;

inline constexpr Length kLanesAgain = Sizes<double>::kLanes;
inline constexpr Length kSquares = 2;  // at once: their sums need not wait for one another
static_assert(kSquares * kLanesAgain <= kMostLanesAgain);

[[gnu::always_inline]] inline DoubleDoubles all_of(DoubleDouble x) { return {all(x.hi), all(x.lo)}; }

// `count` numbers, and zeros.
[[gnu::always_inline]] inline Doubles load_some(const double* from, Length count) {
  Doubles x{};
  for (Length lane = 0; lane < count; ++lane) x[lane] = from[lane];
  return x;
}

// What happens to scores before the softmax.   distance: of the keys from the query
[[gnu::always_inline]] inline DoubleDoubles adjusted(const Again& again, DoubleDoubles score,
                                                     Doubles distance) {
  namespace dd = double_double;
  if (again.scale == ScaleBy::factor) score = dd::multiply(score, all_of(again.by));
  if (again.scale == ScaleBy::divisor) score = dd::divide(score, all_of(again.by));
  if (again.has_cap) {
    const DoubleDoubles cap = all_of(again.cap);
    score = dd::multiply(cap, dd::tanh<Doubles, Bits<double>>(dd::divide(score, cap)));
  }
  if (again.has_slope) {
    const DoubleDoubles bias = dd::multiply(all_of(again.slope), {distance, Doubles{}});
    score = dd::add(score, dd::negated(bias));
  }
  return again.has_temperature ? dd::divide(score, all_of(again.temperature)) : score;
}

// The scores of the keys [begin, end), and of as many more as fill vectors; those are the last key's.
[[gnu::always_inline]] inline void score_again(const Again& again, Length begin, Length end, double* hi,
                                               double* lo) {
  constexpr Length kLanes = kLanesAgain;
  const double* q_hi = again.q.hi + again.query * again.q.hi_stride;
  const double* q_lo = again.q.lo + again.query * again.q.lo_stride;
  for (Length key = begin; key < end; key += kSquares * kLanes) {
    const auto row = [&](Length i) { return key + i < end ? key + i : end - 1; };
    DoubleDoubles sum[kSquares] = {};
    for (Length r = 0; r < again.d_k; r += kLanes) {
      const Length count = again.d_k - r < kLanes ? again.d_k - r : kLanes;
      Doubles k_hi[kSquares][kLanes];
      Doubles k_lo[kSquares][kLanes];
      for (Length s = 0; s < kSquares; ++s) {
#pragma GCC unroll 8
        for (Length l = 0; l < kLanes; ++l) {
          const Length j = row(s * kLanes + l);
          const double* at_hi = again.k.hi + j * again.k.hi_stride + r;
          const double* at_lo = again.k.lo + j * again.k.lo_stride + r;
          k_hi[s][l] = count == kLanes ? load(at_hi) : load_some(at_hi, count);
          k_lo[s][l] = count == kLanes ? load(at_lo) : load_some(at_lo, count);
        }
        transpose<double>(k_hi[s]);
        transpose<double>(k_lo[s]);
      }
      for (Length l = 0; l < count; ++l) {
        const DoubleDoubles q{all(q_hi[r + l]), all(q_lo[r + l])};
#pragma GCC unroll 2
        for (Length s = 0; s < kSquares; ++s) {
          const DoubleDoubles k{k_hi[s][l], k_lo[s][l]};
          sum[s] = double_double::add(sum[s], double_double::multiply(q, k));
        }
      }
    }
#pragma GCC unroll 2
    for (Length s = 0; s < kSquares; ++s) {
      Doubles distance;
      for (Length l = 0; l < kLanes; ++l) {
        const Length apart = again.position - row(s * kLanes + l);
        distance[l] = static_cast<double>(apart < 0 ? -apart : apart);
      }
      const DoubleDoubles score = adjusted(again, sum[s], distance);
      const Length at = key - begin + s * kLanes;
      store(hi + at, score.hi);
      store(lo + at, score.lo);
    }
  }
}

// Σ weight·value of some vectors of components, divided by the sum of the weights.   last: how many of the
// last one's components there are
template <Length kVectors>
[[gnu::always_inline]] inline void read_again(const Again& again, Length first, Length last,
                                              DoubleDouble sum) {
  constexpr Length kLanes = kLanesAgain;
  DoubleDoubles read[kVectors] = {};
  const double *hi = again.hi, *lo = again.lo;
  for (Length p = 0; p < again.piece_count; ++p) {
    for (Length j = again.pieces[p].begin; j < again.pieces[p].end; ++j) {
      const DoubleDoubles weight{all(*hi++), all(*lo++)};
      const double* at_hi = again.v.hi + j * again.v.hi_stride + first;
      const double* at_lo = again.v.lo + j * again.v.lo_stride + first;
#pragma GCC unroll 4
      for (Length c = 0; c < kVectors; ++c, at_hi += kLanes, at_lo += kLanes) {
        const bool is_whole = c + 1 < kVectors || last == kLanes;
        const DoubleDoubles value{is_whole ? load(at_hi) : load_some(at_hi, last),
                                  is_whole ? load(at_lo) : load_some(at_lo, last)};
        read[c] = double_double::add(read[c], double_double::multiply(weight, value));
      }
    }
  }
  for (Length c = 0; c < kVectors; ++c) {
    const DoubleDoubles result = double_double::divide(read[c], all_of(sum));
    for (Length l = 0; l < (c + 1 < kVectors ? kLanes : last); ++l)
      again.output[first + c * kLanes + l] = {result.hi[l], result.lo[l]};
  }
}

// As on paper, but that the sum divides the result and not each weight: a rounding the less.
void again(const Again& again) {
  constexpr Length kLanes = kLanesAgain;
  Length keys = 0;
  for (Length p = 0; p < again.piece_count; ++p) {
    const Piece& piece = again.pieces[p];
    score_again(again, piece.begin, piece.end, again.hi + keys, again.lo + keys);
    keys += piece.end - piece.begin;
  }

  DoubleDouble most = again.has_sink ? again.sink : DoubleDouble{again.hi[0], again.lo[0]};
  for (Length i = 0; i < keys; ++i) {
    const DoubleDouble score{again.hi[i], again.lo[i]};
    if (double_double::exceeds(score, most)) most = score;
  }
  const auto weight = [&](DoubleDoubles score) {
    const DoubleDoubles shifted = double_double::add(score, double_double::negated(all_of(most)));
    return double_double::exp<Doubles, Bits<double>>(shifted);
  };
  DoubleDouble sum{0, 0};
  for (Length i = 0; i < keys; i += kLanes) {
    const DoubleDoubles e = weight({load(again.hi + i), load(again.lo + i)});
    store(again.hi + i, e.hi);
    store(again.lo + i, e.lo);
    for (Length l = 0; l < kLanes && i + l < keys; ++l)
      sum = double_double::add(sum, DoubleDouble{e.hi[l], e.lo[l]});
  }
  if (again.has_sink) {
    const DoubleDoubles e = weight(all_of(again.sink));
    sum = double_double::add(sum, DoubleDouble{e.hi[0], e.lo[0]});
  }

  constexpr Length kVectors = 4;
  Length c = 0;
  for (; c + kVectors * kLanes <= again.d_v; c += kVectors * kLanes)
    read_again<kVectors>(again, c, kLanes, sum);
  for (; c < again.d_v; c += kLanes)
    read_again<1>(again, c, again.d_v - c < kLanes ? again.d_v - c : kLanes, sum);
}

// Some vectors of columns, of all rows: their part of w stays in a near cache.   last: how many columns of
// the last vector there are
template <Length kVectors>
[[gnu::always_inline]] inline void project_columns(const ProjectAgain& work, Length first, Length last) {
  constexpr Length kLanes = kLanesAgain;
  const auto load_columns = [&](const double* from, Length c) {
    return c + 1 < kVectors || last == kLanes ? load(from + c * kLanes) : load_some(from + c * kLanes, last);
  };
  for (Length i = work.begin; i < work.end; ++i) {
    const double* x_hi = work.x.hi + i * work.x.hi_stride;
    const double* x_lo = work.x.lo + i * work.x.lo_stride;
    DoubleDoubles sum[kVectors] = {};
    for (Length r = 0; r < work.depth; ++r) {
      const DoubleDoubles x{all(x_hi[r]), all(x_lo[r])};
      const double* w_hi = work.w.hi + r * work.w.hi_stride + first;
      const double* w_lo = work.w.lo + r * work.w.lo_stride + first;
#pragma GCC unroll 4
      for (Length c = 0; c < kVectors; ++c) {
        const DoubleDoubles w{load_columns(w_hi, c), load_columns(w_lo, c)};
        sum[c] = double_double::add(sum[c], double_double::multiply(x, w));
      }
    }
    for (Length c = 0; c < kVectors; ++c) {
      if (work.b.hi != nullptr) {
        const DoubleDoubles b{load_columns(work.b.hi + first, c), load_columns(work.b.lo + first, c)};
        sum[c] = double_double::add(sum[c], b);
      }
      for (Length l = 0; l < (c + 1 < kVectors ? kLanes : last); ++l) {
        const Length at = i * work.columns + first + c * kLanes + l;
        work.hi[at] = sum[c].hi[l];
        work.lo[at] = sum[c].lo[l];
      }
    }
  }
}

void project_again(const ProjectAgain& work) {
  constexpr Length kLanes = kLanesAgain;
  constexpr Length kVectors = 4;
  Length c = 0;
  for (; c + kVectors * kLanes <= work.columns; c += kVectors * kLanes)
    project_columns<kVectors>(work, c, kLanes);
  for (; c < work.columns; c += kLanes)
    project_columns<1>(work, c, work.columns - c < kLanes ? work.columns - c : kLanes);
}

}  // namespace
}  // namespace qkv::fast::QKV_LANES

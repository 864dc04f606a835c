// A few queries, when decoding.  Here lanes are keys, and components of the values for the output; keys and
// values are read as they are stored, each once.
#pragma once

#include "fast/kernel_vectors.h"

namespace qkv::fast::QKV_LANES {
namespace {

inline constexpr Length kBytesAhead = 4096;  // to ask for, before they are read

// As many keys at once as a vector has lanes: a square of their components is turned, and each query's sums
// go on.
template <class T, Length kQueries>
[[gnu::always_inline]] inline void score_few(const Few<T>& few, Length begin, Length end) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  const Length whole = few.d_k / kLanes * kLanes;
  Length key = begin;
  for (; key + kLanes <= end; key += kLanes) {
    const T* k = few.k + key * few.k_stride;
    Vector<T> sum[kQueries] = {};
    for (Length r = 0; r < whole; r += kLanes) {
      Vector<T> square[kLanes];
#pragma GCC unroll 16
      for (Length l = 0; l < kLanes; ++l) {
        const T* at = k + l * few.k_stride + r;
        square[l] = load(at);
        __builtin_prefetch(reinterpret_cast<const char*>(at) + kBytesAhead);
      }
      transpose<T>(square);
#pragma GCC unroll 16
      for (Length l = 0; l < kLanes; ++l) {
#pragma GCC unroll 4
        for (Length i = 0; i < kQueries; ++i) {
          sum[i] = sum[i] + square[l] * few.q[i * few.q_stride + r + l];
        }
      }
    }
    for (Length r = whole; r < few.d_k; ++r) {
      Vector<T> component{};
      for (Length l = 0; l < kLanes; ++l) component[l] = k[l * few.k_stride + r];
      for (Length i = 0; i < kQueries; ++i) sum[i] = sum[i] + component * few.q[i * few.q_stride + r];
    }
    for (Length i = 0; i < kQueries; ++i) store<T>(few.scores + i * few.score_stride + key, sum[i]);
  }
  for (; key < end; ++key) {
    const T* k = few.k + key * few.k_stride;
    for (Length i = 0; i < kQueries; ++i) {
      const T* q = few.q + i * few.q_stride;
      T sum = 0;
      for (Length r = 0; r < few.d_k; ++r) sum = sum + q[r] * k[r];
      few.scores[i * few.score_stride + key] = sum;
    }
  }
}

// Adjusts the scores of one query and takes their maximum.  The last vector of a piece may reach into the
// next one's keys, which come later and are adjusted then; so the raw scores of what it must not touch are
// kept.
template <class T>
[[gnu::always_inline]] inline T adjust_few(const Few<T>& few, Length query, T most) {
  const Adjust<T>& adjust = *few.adjust;
  T* scores = few.scores + query * few.score_stride;
  for (Length p = 0; p < few.piece_count; ++p) {
    const Piece& piece = few.pieces[p];
    if ((piece.rows >> query & 1) == 0) {
      for (Length j = piece.begin; j < piece.end; ++j) scores[j] = -Sizes<T>::kInfinity;
      continue;
    }
    for (Length j = piece.begin; j < piece.end; ++j) {
      T s = scores[j];
      if (adjust.scale == ScaleBy::factor) s = s * adjust.by;
      if (adjust.scale == ScaleBy::divisor) s = s / adjust.by;
      if (adjust.has_cap && s != -Sizes<T>::kInfinity) s = adjust.cap * adjust.tanh(s / adjust.cap);
      if (adjust.has_slope) {
        const T distance = static_cast<T>(few.position + query - j);
        s = s - adjust.slope * (distance < 0 ? -distance : distance);
      }
      if (adjust.has_temperature) s = s / adjust.temperature;
      scores[j] = s;
      most = most < s ? s : most;
    }
  }
  return most;
}

// output[·][c …] of kVectors vectors of components; the weights are where the scores were.
template <class T, Length kQueries, Length kVectors>
[[gnu::always_inline]] inline void read_few(const Few<T>& few, Length c) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  Vector<T> sum[kQueries][kVectors] = {};
  each_block(few.pieces, few.piece_count, few.key_count, [&](Length begin, Length end, Length) {
    for (Length key = begin; key < end; ++key) {
      const T* v = few.v + key * few.v_stride + c;
      Vector<T> of_key[kVectors];
#pragma GCC unroll 8
      for (Length l = 0; l < kVectors; ++l) {
        of_key[l] = load(v + l * kLanes);
        __builtin_prefetch(reinterpret_cast<const char*>(v + l * kLanes) + kBytesAhead);
      }
#pragma GCC unroll 4
      for (Length i = 0; i < kQueries; ++i) {
        const T weight = few.scores[i * few.score_stride + key];
#pragma GCC unroll 8
        for (Length l = 0; l < kVectors; ++l) sum[i][l] = sum[i][l] + of_key[l] * weight;
      }
    }
  });
  for (Length i = 0; i < kQueries; ++i) {
    for (Length l = 0; l < kVectors; ++l)
      store<T>(few.output + i * few.output_stride + c + l * kLanes, sum[i][l]);
  }
}

template <class T, Length kQueries>
void read_few_columns(const Few<T>& few) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  constexpr Length kMost = 8 / kQueries;
  Length c = 0;
  for (; c + kMost * kLanes <= few.d_v; c += kMost * kLanes) read_few<T, kQueries, kMost>(few, c);
  for (; c + kLanes <= few.d_v; c += kLanes) read_few<T, kQueries, 1>(few, c);
  for (; c < few.d_v; ++c) {
    for (Length i = 0; i < kQueries; ++i) {
      const T* weights = few.scores + i * few.score_stride;
      T sum = 0;
      for (Length p = 0; p < few.piece_count; ++p) {
        for (Length j = few.pieces[p].begin; j < few.pieces[p].end; ++j) {
          sum = sum + weights[j] * few.v[j * few.v_stride + c];
        }
      }
      few.output[i * few.output_stride + c] = sum;
    }
  }
}

template <class T, Length kQueries>
std::uint64_t some(const Few<T>& few) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  each_block(few.pieces, few.piece_count, few.key_count,
             [&](Length begin, Length end, Length) { score_few<T, kQueries>(few, begin, end); });

  std::uint64_t seen = 0;
  for (Length p = 0; p < few.piece_count; ++p) seen |= few.pieces[p].rows;
  std::uint64_t undecided = 0;
  const Adjust<T>& adjust = *few.adjust;
  for (Length i = 0; i < kQueries; ++i) {
    T* scores = few.scores + i * few.score_stride;
    T most = adjust_few(few, i, adjust.has_sink ? adjust.sink : -Sizes<T>::kInfinity);
    if (most == -Sizes<T>::kInfinity) most = 0;
    T sum = 0;
    // Vectors from the start of each block on; what the last one has too many is put back.
    each_block(few.pieces, few.piece_count, few.key_count, [&](Length begin, Length end, Length) {
      for (Length j = begin; j < end; j += kLanes) {
        const Vector<T> before = load(scores + j);
        const Vector<T> e = exponential<T, Range::any, Separate>(before - most);
        store<T>(scores + j, e);
        const Length lanes = end - j < kLanes ? end - j : kLanes;
        for (Length l = 0; l < lanes; ++l) sum = sum + e[l];
        for (Length l = lanes; l < kLanes; ++l) scores[j + l] = before[l];
      }
    });
    if (adjust.has_sink) {
      sum = sum + exponential<T, Range::any, Separate>(all<T>(adjust.sink - most))[0];
    }
    if ((seen >> i & 1) != 0 && !(sum > 0)) undecided |= std::uint64_t{1} << i;
    const T divisor = sum > 0 ? sum : T(1);
    each_block(few.pieces, few.piece_count, few.key_count, [&](Length begin, Length end, Length) {
      for (Length j = begin; j < end; ++j) scores[j] = scores[j] / divisor;
    });
  }
  read_few_columns<T, kQueries>(few);
  for (Length i = 0; i < kQueries; ++i) {
    if ((seen >> i & 1) != 0) continue;
    for (Length c = 0; c < few.d_v; ++c) {
      few.output[i * few.output_stride + c] = few.empty_row_is_nan ? T(__builtin_nan("")) : T(0);
    }
  }
  return undecided;
}

template <class T>
std::uint64_t few(const Few<T>& few) {
  switch (few.queries) {
    case 1:
      return some<T, 1>(few);
    case 2:
      return some<T, 2>(few);
    case 3:
      return some<T, 3>(few);
    default:
      return some<T, 4>(few);
  }
}

}  // namespace
}  // namespace qkv::fast::QKV_LANES

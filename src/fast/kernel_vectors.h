// Vectors of one width, and what is done with them whatever is computed: products, transposing, exponentials,
// runs of keys.
//
// Scores and outputs are both the product of [depth][rows] with [depth][columns], where a register tile holds
// some vectors of rows times all columns.  It is the depth that is summed over: the components of a key, or
// the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/exp.h"
#include "fast/kernel.h"

namespace qkv::fast::QKV_LANES {
namespace {

template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  typedef double Type __attribute__((vector_size(QKV_VECTOR_BYTES)));
  typedef std::uint64_t Bits __attribute__((vector_size(QKV_VECTOR_BYTES)));
};
template <>
struct VectorOf<float> {
  typedef float Type __attribute__((vector_size(QKV_VECTOR_BYTES)));
  typedef std::uint32_t Bits __attribute__((vector_size(QKV_VECTOR_BYTES)));
};

template <class T>
struct Sizes {
  static constexpr Length kLanes = QKV_VECTOR_BYTES / sizeof(T);
  static constexpr Length kRows = 192 / sizeof(T);  // of a strip
  static constexpr Length kVectors = kRows / kLanes;
  static constexpr Length kColumns = QKV_VECTOR_BYTES == 64 ? 8 : 4;
  // Of shifted scores: their exponentials are normal numbers, and so are the remainders of dividing them by a
  // sum.
  static constexpr T kLeastUsual = sizeof(T) == 8 ? -600 : -40;
  static constexpr T kInfinity = __builtin_huge_valf();
};

struct Fused {
#ifdef QKV_FUSED_DOUBLES
  static constexpr bool kIsFused = true;
  using Doubles = VectorOf<double>::Type;
  using Floats = VectorOf<float>::Type;
  [[gnu::always_inline]] static inline Doubles multiply_add(Doubles a, Doubles b, Doubles c) {
    return (Doubles)QKV_FUSED_DOUBLES(a, b, c);
  }
  [[gnu::always_inline]] static inline Floats multiply_add(Floats a, Floats b, Floats c) {
    return (Floats)QKV_FUSED_FLOATS(a, b, c);
  }
#else
  static constexpr bool kIsFused = false;
  template <class V>
  [[gnu::always_inline]] static inline V multiply_add(V a, V b, V c) {
    return a * b + c;
  }
#endif
};
using Separate = exp_detail::Separate;
using exp_detail::Range;

// The register tile: with separate products a register more is needed.
template <class Arithmetic>
inline constexpr Length kTileVectors = 3;
template <>
inline constexpr Length kTileVectors<Separate> = QKV_VECTOR_BYTES == 64 ? 3 : 2;

template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
using Bits = typename VectorOf<T>::Bits;

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  Vector<T> x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T> x) {
  __builtin_memcpy(to, &x, sizeof x);
}
template <class T>
[[gnu::always_inline]] inline Vector<T> all(T x) {
  return x - Vector<T>{};  // not +, which would have to look at -0
}
template <class T>
[[gnu::always_inline]] inline Vector<T> larger(Vector<T> x, Vector<T> than) {  // `than` when x is NaN
  return x > than ? x : than;
}
template <class T>
[[gnu::always_inline]] inline Vector<T> smaller(Vector<T> x, Vector<T> than) {
  return x < than ? x : than;
}
template <class T, Range kRange, class Arithmetic>
[[gnu::always_inline]] inline Vector<T> exponential(Vector<T> x) {
#if FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16
  return exp_detail::exp_of<T, Vector<T>, Bits<T>, kRange, Arithmetic>(x);
#else  // an x87, for which base/exp.h takes the C library's, too
  for (Length lane = 0; lane < Sizes<T>::kLanes; ++lane) x[lane] = static_cast<T>(__builtin_exp(x[lane]));
  return x;
#endif
}

// a / b, rounded as the division is, by 1/b, rounded.  The first two corrections leave less than a unit in
// the last place, and then the remainder is exact and the third is right (Markstein 1990).  Holds where the
// remainder is no subnormal number.
template <class T>
[[gnu::always_inline]] inline Vector<T> quotient(Vector<T> a, Vector<T> b, Vector<T> one_by_b) {
  const Vector<T> near = a * one_by_b;
  const Vector<T> nearer = Fused::multiply_add(Fused::multiply_add(-b, near, a), one_by_b, near);
  return Fused::multiply_add(Fused::multiply_add(-b, nearer, a), one_by_b, nearer);
}

// ---- The product ---------------------------------------------------------------------------

// c[j][i] (+)= Σ a[·][i]·b[·][j], over kVectors vectors of rows i and kColumns columns j; from one row of b
// to the next it is b_step numbers.
template <class T, class Arithmetic, Length kVectors, Length kColumns>
[[gnu::always_inline]] inline void tile(const T* a, const T* b, Length b_step, Length depth, T* c, bool adds,
                                        Length ahead) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  constexpr Length kRows = Sizes<T>::kRows;
  Vector<T> sum[kColumns][kVectors];
#pragma GCC unroll 8
  for (Length j = 0; j < kColumns; ++j) {
#pragma GCC unroll 3
    for (Length i = 0; i < kVectors; ++i) {
      sum[j][i] = adds ? load(c + j * kRows + i * kLanes) : Vector<T>{};
    }
  }
  for (Length k = 0; k < depth; ++k, a += kRows, b += b_step) {
    __builtin_prefetch(b + ahead, 0, 2);
    Vector<T> of_row[kVectors];
#pragma GCC unroll 3
    for (Length i = 0; i < kVectors; ++i) of_row[i] = load(a + i * kLanes);
#pragma GCC unroll 8
    for (Length j = 0; j < kColumns; ++j) {
      const Vector<T> of_column = all(b[j]);
#pragma GCC unroll 3
      for (Length i = 0; i < kVectors; ++i) {
        sum[j][i] = Arithmetic::multiply_add(of_row[i], of_column, sum[j][i]);
      }
    }
  }
#pragma GCC unroll 8
  for (Length j = 0; j < kColumns; ++j) {
#pragma GCC unroll 3
    for (Length i = 0; i < kVectors; ++i) store<T>(c + j * kRows + i * kLanes, sum[j][i]);
  }
}

// One tile after the other: those of the rows that need it.   ahead: where to ask for what comes next, in
// numbers from b
template <class T, class Arithmetic>
[[gnu::noinline]] void multiply(const T* a, const T* b, Length b_step, Length depth, T* c, bool adds,
                                std::uint64_t rows, Length ahead) {
  constexpr Length kTile = kTileVectors<Arithmetic>;
  constexpr Length kTileRows = kTile * Sizes<T>::kLanes;
  for (Length row = 0; row < Sizes<T>::kRows; row += kTileRows) {
    if ((rows >> row & ((std::uint64_t{1} << kTileRows) - 1)) == 0) continue;
    tile<T, Arithmetic, kTile, Sizes<T>::kColumns>(a + row, b, b_step, depth, c + row, adds, ahead);
  }
}

template <class T>
void product(const T* a, const T* b, Length depth, T* c) {
  multiply<T, Separate>(a, b, Sizes<T>::kColumns, depth, c, false, ~std::uint64_t{0}, 0);
}

// ---- Transposing ---------------------------------------------------------------------------

// In each of log2(lanes) steps of a transposition, pairs of vectors exchange the lanes that the other's place
// has.
template <class T, std::size_t kApart, bool kIsUpper, std::size_t... kLane>
[[gnu::always_inline]] inline Vector<T> exchanged(Vector<T> a, Vector<T> b, std::index_sequence<kLane...>) {
  constexpr std::size_t kLanes = Sizes<T>::kLanes;
  return __builtin_shufflevector(a, b,
                                 (kIsUpper ? ((kLane & kApart) != 0 ? kLanes + kLane : kLane + kApart)
                                           : ((kLane & kApart) != 0 ? kLanes + kLane - kApart : kLane))...);
}

template <class T, std::size_t kApart = 1>
[[gnu::always_inline]] inline void transpose(Vector<T>* x) {
  constexpr std::size_t kLanes = Sizes<T>::kLanes;
  if constexpr (kApart < kLanes) {
    constexpr std::make_index_sequence<kLanes> kEach;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kLanes; ++i) {
      if ((i & kApart) != 0) continue;
      const Vector<T> lower = exchanged<T, kApart, false>(x[i], x[i + kApart], kEach);
      const Vector<T> upper = exchanged<T, kApart, true>(x[i], x[i + kApart], kEach);
      x[i] = lower;
      x[i + kApart] = upper;
    }
    transpose<T, 2 * kApart>(x);
  }
}

// ---- Runs of keys --------------------------------------------------------------------------

// A run of pieces without a gap, cut at kBlock keys.
struct Block {
  Length begin, end;
  Length next_piece;  // that goes on after it
};

inline Block block_at(const Piece* pieces, Length count, Length piece, Length begin, Length most) {
  Length end = begin;
  while (piece < count && pieces[piece].begin <= end) {
    const Length stop = pieces[piece].end;
    if (stop - begin >= most) return {begin, begin + most, stop - begin == most ? piece + 1 : piece};
    end = stop;
    ++piece;
  }
  return {begin, end, piece};
}

// f(begin, end) of every block.
template <class F>
[[gnu::always_inline]] inline void each_block(const Piece* pieces, Length count, Length most, F f) {
  Length piece = 0;
  Length at = 0;
  while (piece < count) {
    if (at < pieces[piece].begin) at = pieces[piece].begin;
    const Block block = block_at(pieces, count, piece, at, most);
    f(block.begin, block.end, piece);
    at = block.end;
    piece = block.next_piece;
  }
}

}  // namespace
}  // namespace qkv::fast::QKV_LANES

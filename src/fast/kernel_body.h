// The arithmetic of attention for one width of vectors; compiled once for each by kernel_*.cpp.
//
// The lanes of a vector are queries.  So everything is a loop over the keys, in their order, and every sum is
// added up from left to right as on paper; how wide a vector is, or how many rows are computed together,
// changes no bit.
//
//   strip   Some queries against all keys: their scores, the largest, exp, the sum, the weights, the output:
//   what a trace
//           computes, line by line, with room for the scores of these queries only.
//   online  The same in blocks of keys, with a maximum that grows (Milakov and Gimelshein 2018;
//   FlashAttention).  When
//           it does, what was summed is multiplied by e^(old − new).  Products are fused into sums where the
//           processor can.  Other last digits than the trace's, within bound.h's bound.
//   few     A few queries, when decoding.  Here lanes are keys, and components of the values for the output.
//
// Scores and outputs are both the product of [depth][rows] with [depth][columns], where a register tile holds
// some vectors of rows times all columns.  It is the depth that is summed over: the components of a key, or
// the keys.
//
// A key that a query must not see has the score −∞ and so the weight 0, and 0·v changes nothing.

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

// ---- Scores --------------------------------------------------------------------------------

// One number for each row of a strip.
template <class T>
struct Row {
  Vector<T> at[Sizes<T>::kVectors];
};

template <class T>
[[gnu::always_inline]] inline Bits<T> visible_in(std::uint64_t rows, Length vector) {
  using Word = typename exp_detail::Of<T>::Bits;
  Bits<T> one_each{};
  for (Length lane = 0; lane < Sizes<T>::kLanes; ++lane) one_each[lane] = Word{1} << lane;
  // As many bits as a vector has lanes: they fit into one of its numbers.
  const Bits<T> word = Bits<T>{} + static_cast<Word>(rows >> (vector * Sizes<T>::kLanes));
  return (word & one_each) == one_each;
}

template <class T>
[[gnu::always_inline]] inline Vector<T> scaled(Vector<T> s, const Adjust<T>& adjust) {
  if (adjust.scale == ScaleBy::factor) return s * adjust.by;
  if (adjust.scale == ScaleBy::divisor) return s / adjust.by;
  return s;
}

// −∞ stays: tanh would make −1 of it.
template <class T>
[[gnu::always_inline]] inline Vector<T> capped(Vector<T> s, const Adjust<T>& adjust) {
  const Vector<T> inside = s / adjust.cap;
  Vector<T> bent{};
  for (Length lane = 0; lane < Sizes<T>::kLanes; ++lane) bent[lane] = adjust.tanh(inside[lane]);
  return s == all<T>(-Sizes<T>::kInfinity) ? s : adjust.cap * bent;
}

// s − slope·|distance|, which is s + (−(slope·|distance|)).
template <class T>
[[gnu::always_inline]] inline Vector<T> sloped(Vector<T> s, Vector<T> distance, T slope) {
  return s - slope * (distance < T(0) ? -distance : distance);
}

// What stays true while scores are adjusted: the largest of each row, and the smallest that is visible.
template <class T>
struct Extent {
  Row<T> most, least;
};

// From raw scores [keys][rows] to those that the softmax takes; −∞ where a row must not see the key.
template <class T>
[[gnu::always_inline]] inline void adjust_scores(T* scores, Length first_key, Length keys, std::uint64_t rows,
                                                 Length position, const Adjust<T>& adjust,
                                                 Extent<T>& extent) {
  using S = Sizes<T>;
  constexpr std::uint64_t kAll = (std::uint64_t{1} << S::kRows) - 1;
  Vector<T> lane{};
  for (Length l = 0; l < S::kLanes; ++l) lane[l] = static_cast<T>(l);
  const bool is_plain = adjust.scale != ScaleBy::divisor && !adjust.has_cap && !adjust.has_slope &&
                        !adjust.has_temperature && rows == kAll;
  const T factor = adjust.scale == ScaleBy::factor ? adjust.by : T(1);
  for (Length v = 0; v < S::kVectors; ++v) {
    T* at = scores + v * S::kLanes;
    Vector<T> most = extent.most.at[v];
    Vector<T> least = extent.least.at[v];
    if (is_plain) {
      for (Length j = 0; j < keys; ++j, at += S::kRows) {
        const Vector<T> s = load(at) * factor;
        store<T>(at, s);
        most = larger<T>(s, most);
        least = smaller<T>(s, least);
      }
    } else {
      const Bits<T> is_visible = visible_in<T>(rows, v);
      for (Length j = 0; j < keys; ++j, at += S::kRows) {
        Vector<T> s = scaled<T>(load(at), adjust);
        if (adjust.has_cap) s = capped<T>(s, adjust);
        if (adjust.has_slope) {
          const T offset = static_cast<T>(position + v * S::kLanes - (first_key + j));
          s = sloped<T>(s, lane + offset, adjust.slope);
        }
        if (adjust.has_temperature) s = s / adjust.temperature;
        least = smaller<T>(is_visible ? s : all<T>(S::kInfinity), least);
        s = is_visible ? s : all<T>(-S::kInfinity);
        most = larger<T>(s, most);
        store<T>(at, s);
      }
    }
    extent.most.at[v] = most;
    extent.least.at[v] = least;
  }
}

// The queries of a strip, one column after the other: [d_k][rows], zeros in rows that it does not have.
template <class T>
void gather_queries(const Strip<T>& strip) {
  using S = Sizes<T>;
  const Length whole = strip.d_k / S::kLanes * S::kLanes;
  for (Length first = 0; first < S::kRows; first += S::kLanes) {
    for (Length r = 0; r < whole; r += S::kLanes) {
      Vector<T> square[S::kLanes];
      for (Length l = 0; l < S::kLanes; ++l) {
        square[l] = first + l < strip.rows ? load(strip.q + (first + l) * strip.q_stride + r) : Vector<T>{};
      }
      transpose<T>(square);
      for (Length l = 0; l < S::kLanes; ++l)
        store<T>(strip.q_columns + (r + l) * S::kRows + first, square[l]);
    }
  }
  for (Length r = whole; r < strip.d_k; ++r) {
    T* column = strip.q_columns + r * S::kRows;
    for (Length i = 0; i < S::kRows; ++i) column[i] = i < strip.rows ? strip.q[i * strip.q_stride + r] : T(0);
  }
}

// The rows that see some of the keys [begin, end); `piece` is the first that may.
inline std::uint64_t rows_that_see(const Piece* pieces, Length count, Length piece, Length begin,
                                   Length end) {
  std::uint64_t rows = 0;
  for (; piece < count && pieces[piece].begin < end; ++piece) {
    if (pieces[piece].end > begin) rows |= pieces[piece].rows;
  }
  return rows;
}

// The scores of the keys [begin, end), and of those that share a panel with them, in tiles of which a row
// sees something; `scores` is that of key `origin`.
template <class T, class Arithmetic>
[[gnu::always_inline]] inline void score_keys(const Strip<T>& strip, Length begin, Length end, T* scores,
                                              Length origin, Length piece) {
  using S = Sizes<T>;
  const Length panel = S::kColumns * strip.d_k;
  for (Length key = begin / S::kColumns * S::kColumns; key < end; key += S::kColumns) {
    while (strip.pieces[piece].end <= key) ++piece;
    const std::uint64_t rows = rows_that_see(strip.pieces, strip.piece_count, piece, key, key + S::kColumns);
    multiply<T, Arithmetic>(strip.q_columns, strip.keys + key * strip.d_k, S::kColumns, strip.d_k,
                            scores + (key - origin) * S::kRows, false, rows, panel);
  }
}

template <class T>
[[gnu::always_inline]] inline Length first_of_panel(Length key) {
  return key / Sizes<T>::kColumns * Sizes<T>::kColumns;
}

// The maximum to subtract: 0 for a row that sees nothing, or nothing but −∞.
template <class T>
[[gnu::always_inline]] inline Vector<T> finite_or_zero(Vector<T> most) {
  return most == all<T>(-Sizes<T>::kInfinity) ? Vector<T>{} : most;
}

template <class T>
[[gnu::always_inline]] inline Extent<T> no_extent(const Adjust<T>& adjust) {
  Extent<T> extent;
  for (Length v = 0; v < Sizes<T>::kVectors; ++v) {
    extent.most.at[v] = all<T>(adjust.has_sink ? adjust.sink : -Sizes<T>::kInfinity);
    extent.least.at[v] = all<T>(Sizes<T>::kInfinity);
  }
  return extent;
}

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

// ---- The end of a strip ----------------------------------------------------------------------

template <class T>
std::uint64_t seen_rows(const Strip<T>& strip) {
  std::uint64_t rows = 0;
  for (Length p = 0; p < strip.piece_count; ++p) rows |= strip.pieces[p].rows;
  return rows;
}

// Stores sums [d_v][rows] as rows; zeros or NaN in those that see nothing.  → the rows that have no sum of
// weights.
template <class T>
std::uint64_t finish(const Strip<T>& strip, const Row<T>& sum) {
  using S = Sizes<T>;
  const Length whole = strip.d_v / S::kLanes * S::kLanes;
  for (Length first = 0; first < strip.rows; first += S::kLanes) {
    const Length rows = strip.rows - first < S::kLanes ? strip.rows - first : S::kLanes;
    T* output = strip.output + first * strip.output_stride;
    for (Length c = 0; c < whole; c += S::kLanes) {
      Vector<T> square[S::kLanes];
      for (Length l = 0; l < S::kLanes; ++l) square[l] = load(strip.sums + (c + l) * S::kRows + first);
      transpose<T>(square);
      for (Length l = 0; l < rows; ++l) store<T>(output + l * strip.output_stride + c, square[l]);
    }
    for (Length c = whole; c < strip.d_v; ++c) {
      for (Length l = 0; l < rows; ++l) {
        output[l * strip.output_stride + c] = strip.sums[c * S::kRows + first + l];
      }
    }
  }

  const std::uint64_t seen = seen_rows(strip);
  std::uint64_t undecided = 0;
  for (Length i = 0; i < strip.rows; ++i) {
    if ((seen >> i & 1) == 0) {
      const T value = strip.empty_row_is_nan ? T(__builtin_nan("")) : T(0);
      for (Length c = 0; c < strip.d_v; ++c) strip.output[i * strip.output_stride + c] = value;
    } else if (!(sum.at[i / S::kLanes][i % S::kLanes] > 0)) {
      undecided |= std::uint64_t{1} << i;
    }
  }
  return undecided;
}

template <class T>
[[gnu::always_inline]] inline Length whole_columns(const Strip<T>& strip) {
  return (strip.d_v + Sizes<T>::kColumns - 1) / Sizes<T>::kColumns * Sizes<T>::kColumns;
}

// sums += weights [keys][rows] · values
template <class T, class Arithmetic>
[[gnu::always_inline]] inline void add_values(const Strip<T>& strip, const T* weights, Length key,
                                              Length keys, Length piece) {
  using S = Sizes<T>;
  const std::uint64_t rows = rows_that_see(strip.pieces, strip.piece_count, piece, key, key + keys);
  for (Length c = 0; c < strip.d_v; c += S::kColumns) {
    multiply<T, Arithmetic>(
        weights, strip.values + c / S::kColumns * strip.value_panel + key * strip.value_step,
        strip.value_step, keys, strip.sums + c * S::kRows, true, rows, kBlock * strip.value_step);
  }
}

// ---- The exact order -------------------------------------------------------------------------

// scores − max, exp, added to sum
template <class T, Range kRange>
[[gnu::always_inline]] inline void exponentials(T* at, Length keys, const Row<T>& most, Row<T>& sum) {
  using S = Sizes<T>;
  for (Length j = 0; j < keys; ++j, at += S::kRows) {
#pragma GCC unroll 3
    for (Length v = 0; v < S::kVectors; ++v) {
      const Vector<T> shifted = load(at + v * S::kLanes) - most.at[v];
      const Vector<T> e = exponential<T, kRange, Separate>(shifted);
      sum.at[v] = sum.at[v] + e;
      store<T>(at + v * S::kLanes, e);
    }
  }
}

template <class T, bool kIsUsual>
[[gnu::always_inline]] inline void divide(const T* e, T* weights, Length keys, const Row<T>& sum,
                                          const Row<T>& one_by_sum) {
  using S = Sizes<T>;
  for (Length j = 0; j < keys; ++j) {
    for (Length v = 0; v < S::kVectors; ++v) {
      const Length at = j * S::kRows + v * S::kLanes;
      store<T>(weights + at,
               kIsUsual ? quotient<T>(load(e + at), sum.at[v], one_by_sum.at[v]) : load(e + at) / sum.at[v]);
    }
  }
}

template <class T>
std::uint64_t strip(const Strip<T>& strip) {
  using S = Sizes<T>;
  constexpr std::uint64_t kAll = (std::uint64_t{1} << S::kRows) - 1;
  gather_queries(strip);

  Extent<T> extent = no_extent(*strip.adjust);
  Length scored = 0;  // keys before this one have scores, as far as they are visible
  for (Length p = 0; p < strip.piece_count; ++p) {
    const Piece& piece = strip.pieces[p];
    for (Length at = piece.begin; at < piece.end;) {
      if (at >= scored) {
        scored = first_of_panel<T>(at) + S::kColumns;
        score_keys<T, Separate>(strip, at, scored, strip.scores, 0, p);
      }
      const Length end = piece.end < scored ? piece.end : scored;
      adjust_scores(strip.scores + at * S::kRows, at, end - at, piece.rows, strip.position, *strip.adjust,
                    extent);
      at = end;
    }
  }

  Row<T> most, sum;
  bool is_usual = true;
  for (Length v = 0; v < S::kVectors; ++v) {
    most.at[v] = finite_or_zero<T>(extent.most.at[v]);
    sum.at[v] = Vector<T>{};
    const Vector<T> lowest = extent.least.at[v] - most.at[v];
    for (Length lane = 0; lane < S::kLanes; ++lane) is_usual &= lowest[lane] > S::kLeastUsual;
  }
  for (Length p = 0; p < strip.piece_count; ++p) {
    const Piece& piece = strip.pieces[p];
    T* at = strip.scores + piece.begin * S::kRows;
    if (is_usual && piece.rows == kAll) {
      exponentials<T, Range::small_negative>(at, piece.end - piece.begin, most, sum);
    } else {
      exponentials<T, Range::any>(at, piece.end - piece.begin, most, sum);
    }
  }
  Row<T> divisor, one_by_divisor;
  for (Length v = 0; v < S::kVectors; ++v) {
    if (strip.adjust->has_sink) {
      sum.at[v] = sum.at[v] + exponential<T, Range::any, Separate>(strip.adjust->sink - most.at[v]);
    }
    divisor.at[v] = sum.at[v] > T(0) ? sum.at[v] : all<T>(1);
    one_by_divisor.at[v] = T(1) / divisor.at[v];
  }

  const Length columns = whole_columns(strip);
  for (Length i = 0; i < columns * S::kRows; ++i) strip.sums[i] = 0;
  each_block(strip.pieces, strip.piece_count, kBlock, [&](Length begin, Length end, Length piece) {
    const T* e = strip.scores + begin * S::kRows;
    if (is_usual && Fused::kIsFused) {
      divide<T, true>(e, strip.weights, end - begin, divisor, one_by_divisor);
    } else {
      divide<T, false>(e, strip.weights, end - begin, divisor, one_by_divisor);
    }
    add_values<T, Separate>(strip, strip.weights, begin, end - begin, piece);
  });
  return finish(strip, sum);
}

// ---- Online ------------------------------------------------------------------------------------

template <class T>
std::uint64_t online(const Strip<T>& strip) {
  using S = Sizes<T>;
  constexpr std::uint64_t kAll = (std::uint64_t{1} << S::kRows) - 1;
  // e^this is next to nothing, but a normal number; a key that must not be seen has exactly 0 all the same.
  const Vector<T> least = all<T>(sizeof(T) == 8 ? -700 : -80);
  gather_queries(strip);

  const Length columns = whole_columns(strip);
  for (Length i = 0; i < columns * S::kRows; ++i) strip.sums[i] = 0;
  Extent<T> extent = no_extent(*strip.adjust);
  Row<T> most, sum;
  for (Length v = 0; v < S::kVectors; ++v) {
    most.at[v] = finite_or_zero<T>(extent.most.at[v]);
    sum.at[v] = Vector<T>{};
  }

  each_block(strip.pieces, strip.piece_count, kBlock, [&](Length begin, Length end, Length first_piece) {
    const Length origin = first_of_panel<T>(begin);
    score_keys<T, Fused>(strip, begin, end, strip.scores, origin, first_piece);
    const auto each_piece = [&](auto f) {
      for (Length p = first_piece; p < strip.piece_count && strip.pieces[p].begin < end; ++p) {
        const Piece& piece = strip.pieces[p];
        const Length from = piece.begin > begin ? piece.begin : begin;
        const Length to = piece.end < end ? piece.end : end;
        f(strip.scores + (from - origin) * S::kRows, from, to - from, piece.rows);
      }
    };
    each_piece([&](T* at, Length key, Length keys, std::uint64_t rows) {
      adjust_scores(at, key, keys, rows, strip.position, *strip.adjust, extent);
    });

    bool has_grown = false;
    Row<T> shrink;
    for (Length v = 0; v < S::kVectors; ++v) {
      const Vector<T> now = finite_or_zero<T>(extent.most.at[v]);
      const Vector<T> change = most.at[v] - now;
      for (Length lane = 0; lane < S::kLanes; ++lane) has_grown |= change[lane] != 0;
      shrink.at[v] = exponential<T, Range::small_negative, Fused>(larger<T>(change, least));
      most.at[v] = now;
    }
    if (has_grown) {
      // From 0, which stood for −∞, a maximum may also go down; nothing is summed then.
      for (Length v = 0; v < S::kVectors; ++v) {
        const Vector<T> factor = sum.at[v] == T(0) ? Vector<T>{} : shrink.at[v];
        sum.at[v] = sum.at[v] * factor;
        for (Length c = 0; c < columns; ++c) {
          T* at = strip.sums + c * S::kRows + v * S::kLanes;
          store<T>(at, load(at) * factor);
        }
      }
    }

    each_piece([&](T* at, Length, Length keys, std::uint64_t rows) {
      for (Length j = 0; j < keys; ++j, at += S::kRows) {
#pragma GCC unroll 3
        for (Length v = 0; v < S::kVectors; ++v) {
          const Vector<T> shifted = larger<T>(least, load(at + v * S::kLanes) - most.at[v]);
          Vector<T> e = exponential<T, Range::small_negative, Fused>(shifted);
          if (rows != kAll) e = visible_in<T>(rows, v) ? e : Vector<T>{};
          sum.at[v] = sum.at[v] + e;
          store<T>(at + v * S::kLanes, e);
        }
      }
    });
    add_values<T, Fused>(strip, strip.scores + (begin - origin) * S::kRows, begin, end - begin, first_piece);
  });

  for (Length v = 0; v < S::kVectors; ++v) {
    if (strip.adjust->has_sink) {
      sum.at[v] = sum.at[v] + exponential<T, Range::small_negative, Fused>(
                                  larger<T>(strip.adjust->sink - most.at[v], least));
    }
    for (Length c = 0; c < columns; ++c) {
      T* at = strip.sums + c * S::kRows + v * S::kLanes;
      store<T>(at, load(at) / sum.at[v]);
    }
  }
  return finish(strip, sum);
}

// ---- A few queries -----------------------------------------------------------------------------

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

template <class T>
void exp_all(T* x, Length count) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  Length i = 0;
  for (; i + kLanes <= count; i += kLanes) store<T>(x + i, exponential<T, Range::any, Separate>(load(x + i)));
  for (; i < count; ++i) x[i] = exponential<T, Range::any, Separate>(all<T>(x[i]))[0];
}

template <class T>
constexpr Kernels<T> kKernels{Sizes<T>::kRows, Sizes<T>::kColumns, strip<T>,  online<T>,
                              few<T>,          product<T>,         exp_all<T>};

}  // namespace

const Table kTable{kKernels<double>, kKernels<float>};

}  // namespace qkv::fast::QKV_LANES

// Strips of queries, one in each lane of some vectors.
//
//   strip   Some queries against all keys: their scores, the largest, exp, the sum, the weights, the output.
//           What a trace computes, line by line, with room for the scores of these queries only.
//   online  The same in blocks of keys, with a maximum that grows (Milakov and Gimelshein 2018;
//           FlashAttention).  When it does, what was summed is multiplied by e^(old − new).  Products are
//           fused into sums where the processor can.  Other last digits than the trace's, within bound.h's
//           bound.
//
// A key that a query must not see has the score −∞ and so the weight 0, and 0·v changes nothing.
#pragma once

#include "fast/kernel_vectors.h"

namespace qkv::fast::QKV_LANES {
namespace {

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

// Of the scores so far: the largest of each row, and the smallest that is visible.
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

// The largest of each row, of raw scores that `factor` will scale.
template <class T>
[[gnu::always_inline]] inline void largest_scores(const T* scores, Length keys, T factor, Row<T>& most) {
  using S = Sizes<T>;
  Row<T> raw;
  for (Length v = 0; v < S::kVectors; ++v) raw.at[v] = all<T>(-S::kInfinity);
  for (Length j = 0; j < keys; ++j, scores += S::kRows) {
#pragma GCC unroll 3
    for (Length v = 0; v < S::kVectors; ++v) {
      raw.at[v] = larger<T>(load(scores + v * S::kLanes), raw.at[v]);
    }
  }
  for (Length v = 0; v < S::kVectors; ++v) most.at[v] = larger<T>(raw.at[v] * factor, most.at[v]);
}

template <class T>
std::uint64_t online(const Strip<T>& strip) {
  using S = Sizes<T>;
  constexpr std::uint64_t kAll = (std::uint64_t{1} << S::kRows) - 1;
  // e^this is next to nothing, but a normal number; a key that must not be seen has exactly 0 all the same.
  const Vector<T> least = all<T>(sizeof(T) == 8 ? -700 : -80);
  // Where a score is only scaled, and by a factor that keeps the order, that waits for the shift: it is one
  // operation with it.
  const Adjust<T>& adjust = *strip.adjust;
  const T factor = adjust.scale == ScaleBy::factor ? adjust.by : T(1);
  const bool is_plain = adjust.scale != ScaleBy::divisor && factor > 0 && !adjust.has_cap &&
                        !adjust.has_slope && !adjust.has_temperature;
  gather_queries(strip);

  const Length columns = whole_columns(strip);
  for (Length i = 0; i < columns * S::kRows; ++i) strip.sums[i] = 0;
  Extent<T> extent = no_extent(adjust);
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
      if (is_plain && rows == kAll) {
        largest_scores(at, keys, factor, extent.most);
      } else {
        adjust_scores(at, key, keys, rows, strip.position, adjust, extent);
      }
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

    const auto add_exponentials = [&](T* at, Length keys, const auto& shift, const auto& seen) {
      for (Length j = 0; j < keys; ++j, at += S::kRows) {
#pragma GCC unroll 3
        for (Length v = 0; v < S::kVectors; ++v) {
          const Vector<T> shifted = larger<T>(least, shift(load(at + v * S::kLanes), v));
          const Vector<T> e = seen(exponential<T, Range::small_negative, Fused>(shifted), v);
          sum.at[v] = sum.at[v] + e;
          store<T>(at + v * S::kLanes, e);
        }
      }
    };
    each_piece([&](T* at, Length, Length keys, std::uint64_t rows) {
      const auto shift = [&](Vector<T> s, Length v) { return s - most.at[v]; };
      const auto shift_scaled = [&](Vector<T> s, Length v) {
        return Fused::multiply_add(s, all<T>(factor), -most.at[v]);
      };
      const auto every = [](Vector<T> e, Length) { return e; };
      const auto visible = [&](Vector<T> e, Length v) { return visible_in<T>(rows, v) ? e : Vector<T>{}; };
      if (rows != kAll) {
        add_exponentials(at, keys, shift, visible);
      } else if (is_plain) {
        add_exponentials(at, keys, shift_scaled, every);
      } else {
        add_exponentials(at, keys, shift, every);
      }
    });
    add_values<T, Fused>(strip, strip.scores + (begin - origin) * S::kRows, begin, end - begin, first_piece);
  });

  for (Length v = 0; v < S::kVectors; ++v) {
    if (adjust.has_sink) {
      sum.at[v] = sum.at[v] +
                  exponential<T, Range::small_negative, Fused>(larger<T>(adjust.sink - most.at[v], least));
    }
    for (Length c = 0; c < columns; ++c) {
      T* at = strip.sums + c * S::kRows + v * S::kLanes;
      store<T>(at, load(at) / sum.at[v]);
    }
  }
  return finish(strip, sum);
}

}  // namespace
}  // namespace qkv::fast::QKV_LANES

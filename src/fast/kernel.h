// What fast/attend.cpp hands to the arithmetic, and the arithmetic of each instruction set as a table of
// functions.
//
// kernel_body.h is compiled once for each, with other flags.  What such a file holds must not be called on
// another processor, so it shares nothing: no inline function of a standard header, plain structs and
// pointers only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/double_double.h"

namespace qkv::fast {

using Length = std::ptrdiff_t;  // Index, without Eigen

// Keys [begin, end), and which rows of a strip may look at them: bit i for row i.
struct Piece {
  Length begin, end;
  std::uint64_t rows;
};

enum class ScaleBy { nothing, factor, divisor };

// What happens to a score before the softmax, in this order.
template <class T>
struct Adjust {
  ScaleBy scale = ScaleBy::nothing;
  T by = 1;
  bool has_cap = false;
  T cap = 1;
  T (*tanh)(T) = nullptr;
  bool has_slope = false;
  T slope = 0;
  bool has_temperature = false;
  T temperature = 1;
  bool has_sink = false;
  T sink = 0;
};

// Consecutive queries against all keys.
template <class T>
struct Strip {
  const T* q;  // [rows, d_k]
  Length q_stride;
  Length rows;    // at most Kernels::rows; what lacks is computed from zeros and not stored
  const T* keys;  // panels of `columns` keys: [⌈keys/columns⌉][d_k][columns], the last filled with zeros
  const T* values;  // panels of `columns` components, the last filled with zeros; as they stand where none
                    // needs that
  Length value_panel, value_step;  // from one panel to the next, and from one key to the next in it
  Length key_count, d_k, d_v;
  const Piece* pieces;  // ascending; none of them without rows
  Length piece_count;
  Length position;  // of the first query among the keys
  const Adjust<T>* adjust;
  bool empty_row_is_nan;
  T* q_columns;  // room for [d_k][rows]
  T* scores;     // [key_count rounded up to columns][rows]; online: [kBlock + columns][rows]
  T* weights;    // [kBlock][rows]
  T* sums;       // [d_v rounded up to columns][rows]
  T* output;     // [rows, d_v]
  Length output_stride;
};

// One to kMostFew queries, keys and values as they are stored, each read once.
template <class T>
struct Few {
  const T *q, *k, *v;
  Length q_stride, k_stride, v_stride;
  Length queries, key_count, d_k, d_v;
  const Piece* pieces;
  Length piece_count;
  Length position;
  const Adjust<T>* adjust;
  bool empty_row_is_nan;
  T* scores;            // [queries][score_stride]
  Length score_stride;  // at least key_count, rounded up to a whole vector
  T* output;
  Length output_stride;
};

// The lower part of each number stands in a matrix of its own; its stride may be 0.
struct DoubleDoubleRows {
  const double* hi;
  const double* lo;
  Length hi_stride, lo_stride;
};

// One query in double-doubles.
struct Again {
  DoubleDoubleRows q, k, v;
  Length query, d_k, d_v;
  const Piece* pieces;  // at least one key
  Length piece_count;
  Length position;  // of the query among the keys
  ScaleBy scale;
  bool has_cap, has_slope, has_temperature, has_sink;
  DoubleDouble by, cap, slope, temperature, sink;
  double *hi, *lo;  // room for a score of each key, and kMostLanesAgain more
  DoubleDouble* output;
};
inline constexpr Length kMostLanesAgain = 16;

// Rows [begin, end) of x·w + b in double-doubles.
struct ProjectAgain {
  DoubleDoubleRows x, w;
  DoubleDoubleRows b;  // one row; hi is null where there is none
  Length begin, end, depth, columns;
  double *hi, *lo;  // [all rows, columns]
};

inline constexpr Length kBlock =
    128;  // keys that are weighted at once: their weights stay in the nearest cache
inline constexpr Length kMostFew = 4;

template <class T>
struct Kernels {
  Length rows;     // of a strip
  Length columns;  // of a panel
  // These return the rows (bit i) whose softmax has no sum, because a score overflowed; nothing is stored for
  // them.
  std::uint64_t (*strip)(const Strip<T>&);
  std::uint64_t (*online)(const Strip<T>&);
  std::uint64_t (*few)(const Few<T>&);
  // a [depth][rows], b [depth][columns] → c [columns][rows], c[j][i] = Σ a[·][i]·b[·][j], from left to right
  void (*product)(const T* a, const T* b, Length depth, T* c);
  void (*exp_all)(T* x, Length count);
};

struct Table {
  Kernels<double> doubles;
  Kernels<float> floats;
  void (*again)(const Again&);
  void (*project_again)(const ProjectAgain&);
};

namespace baseline {
extern const Table kTable;
}
namespace avx2 {
extern const Table kTable;
}
namespace avx512 {
extern const Table kTable;
}

}  // namespace qkv::fast

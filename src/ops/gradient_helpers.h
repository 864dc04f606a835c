// What rows of the backward pass have in common: products with a transposed matrix, and parts.
#pragma once

#include "ops/gradient_kernels.h"
#include "ops/product_rows.h"

namespace qkv::ops {

inline constexpr auto transpose_times = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  return kernels::transposed_product<T>(in[0], in[1], p);
};

inline Shape transposed_shape(std::span<const Shape> in, const Params&) { return {in[0].cols, in[1].cols}; }

// Rows in which the key of this row was forbidden are left out.
inline Expression transposed_cell(const CellQuestion& q) {
  Expression e;
  for (Index r = 0; r < q.inputs[0].rows; ++r) {
    if (!is_allowed(q.params, r, q.row)) continue;
    if (!e.empty()) e.push_back(" + ");
    append(e, {Term(0, r, q.row), "·", Term(1, r, q.col)});
  }
  if (e.empty()) e.push_back("0");
  return e;
}

inline Index height_of_first(std::span<const Shape> in) { return in[0].rows; }

constexpr Op transpose_times_op(const char* name, Text title, Text why) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "#1^T #2",
      .kernel = kernel<transpose_times>(),
      .shape = transposed_shape,
      .cell = transposed_cell,
      .reads = {Reads::all, Reads::column},
      .terms = height_of_first,
  };
}

// numbers: the first and the last one, counted from 1.
inline Index first_of(const Params& p) { return static_cast<Index>(p.numbers[0].value) - 1; }
inline Index count_of(const Params& p) { return static_cast<Index>(p.numbers[1].value) - first_of(p); }

}  // namespace qkv::ops

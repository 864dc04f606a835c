// Rows whose step is a product of two matrices, or of one and another transposed: what differs is what is
// said of it.
#pragma once

#include "ops/row_helpers.h"

namespace qkv::ops {

inline constexpr auto product = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::project<T>(in[0], in[1]);
};
inline constexpr auto product_with_transpose = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::dot_rows<T>(in[0], in[1]);
};
inline Shape product_shape(std::span<const Shape> in, const Params&) { return {in[0].rows, in[1].cols}; }
inline Shape dot_shape(std::span<const Shape> in, const Params&) { return {in[0].rows, in[1].rows}; }

inline Expression product_cell(const CellQuestion& q) {
  return sum_of_products(
      q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
      [&](Index k) { return Term(1, k, q.col); });
}

inline Expression dot_cell(const CellQuestion& q) {
  return sum_of_products(
      q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
      [&](Index k) { return Term(1, q.col, k); });
}

constexpr Op product_op(const char* name, Text title, Text why) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "#1 #2",
      .kernel = kernel<product>(),
      .shape = product_shape,
      .cell = product_cell,
      .reads = {Reads::row, Reads::column},
      .terms = width_of_first,
  };
}

constexpr Op product_with_transpose_op(const char* name, Text title, Text why) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "#1 #2^T",
      .kernel = kernel<product_with_transpose>(),
      .shape = dot_shape,
      .cell = dot_cell,
      .reads = {Reads::row, Reads::row_of_column},
      .terms = width_of_first,
  };
}

}  // namespace qkv::ops

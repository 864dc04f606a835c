// Rows of products with a weight matrix: X·W, or X·Wᵀ where W is stored as nn.Linear does.
#pragma once

#include <utility>

#include "ops/row_bounds.h"
#include "ops/row_helpers.h"

namespace qkv::ops {

enum class Stored { as_written, as_linear };

template <Stored stored, bool biased>
constexpr auto projection = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  const MatrixOf<T>& x = in[0];
  const MatrixOf<T>& w = in[1];
  MatrixOf<T> result = stored == Stored::as_linear ? kernels::project<T>(x, w.transpose(), p.basis)
                                                   : kernels::project<T>(x, w, p.basis);
  if constexpr (biased) result = kernels::add_row<T>(std::move(result), in[2].get(), p.basis);
  return result;
};

template <Stored stored>
Shape projected_shape(std::span<const Shape> in, const Params& p) {
  return {in[0].rows, (stored == Stored::as_linear ? in[1].rows : in[1].cols) * p.basis};
}

template <Stored stored, bool biased>
Expression projected_cell(const CellQuestion& q) {
  Expression e = sum_of_products(
      q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
      [&](Index k) { return stored == Stored::as_linear ? Term(1, q.col, k) : Term(1, k, q.col); });
  if (biased) append(e, {" + ", Term(2, 0, q.col)});
  return e;
}

template <Stored stored, bool biased>
constexpr Op projection_op(const char* name, Text title, Text why) {
  constexpr bool is_linear = stored == Stored::as_linear;
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = is_linear ? (biased ? "#1 #2^T + #3" : "#1 #2^T") : (biased ? "#1 #2 + #3" : "#1 #2"),
      .kernel = kernel<projection<stored, biased>>(),
      .shape = projected_shape<stored>,
      .cell = projected_cell<stored, biased>,
      .reads = {Reads::row, is_linear ? Reads::row_of_column : Reads::column, Reads::column},
      .row_bounds = is_linear ? row_bounds::project_linear : row_bounds::project,
      .terms = width_of_first,
  };
}

}  // namespace qkv::ops

// Small words for writing rows: a kernel for all scalars from one lambda, the shape rules
// that recur, and expressions.
#pragma once

#include <string>
#include <utility>

#include "base/interval.h"
#include "ops/kernels.h"
#include "plan/op.h"

namespace qkv::ops {

template <auto F, class M>
M run_kernel(const InputsOf<M>& in, const Params& p) {
  using T = typename M::Scalar;
  const InputsOf<MatrixOf<T>> plain(in.begin(), in.end());
  return F.template operator()<T>(plain, p);
}

// `F` takes (inputs, params) with inputs[i].get() a MatrixOf<T>, and returns a MatrixOf<T>.
template <auto F>
constexpr Kernel kernel() {
  return {.doubles = run_kernel<F, Matrix>,
          .intervals = run_kernel<F, IntervalMatrix>,
          .exacts = run_kernel<F, ExactMatrix>,
          .bounded = run_kernel<F, BoundedMatrix>,
          .rounded = run_kernel<F, RoundedMatrix>};
}

inline Shape same_shape(std::span<const Shape> in, const Params&) { return in[0]; }
inline Shape one_column(std::span<const Shape> in, const Params&) { return {in[0].rows, 1}; }

// Of what is given and not computed: its shape is said by who gives it, and there is nothing to explain.
inline Shape shape_of_params(std::span<const Shape>, const Params& p) { return p.shape; }
inline Expression no_cells(const CellQuestion&) { return {}; }
constexpr Op given_op(Text title, Text why, const char* name = "given") {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "",
      .kernel = {},
      .shape = shape_of_params,
      .cell = no_cells,
  };
}

// The sum of two equally shaped matrices.
constexpr Op add_op(Text title, Text why) {
  return {
      .name = "add",
      .title = title,
      .why = why,
      .formula = "#1 + #2",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
        return in[0].get() + in[1].get();
      }>(),
      .shape = same_shape,
      .cell =
          [](const CellQuestion& q) {
            return Expression{Term(0, q.row, q.col), " + ", Term(1, q.row, q.col)};
          },
      .reads = {Reads::cell, Reads::cell},
  };
}

// Of any number of inputs that are all read alike.
constexpr std::array<Reads, kMostInputs> every_input(Reads reads) {
  std::array<Reads, kMostInputs> all{};
  for (Reads& one : all) one = reads;
  return all;
}

inline Index width_of_first(std::span<const Shape> in) { return in[0].cols; }

inline void append(Expression& to, Expression more) {
  for (Term& term : more) to.push_back(std::move(term));
}

// a·b + c·d + …: the cells of `left` along its row times the cells `right` gives for each k.
template <class Left, class Right>
Expression sum_of_products(Index count, Left left, Right right) {
  Expression e;
  for (Index k = 0; k < count; ++k) {
    if (k > 0) e.push_back(" + ");
    e.push_back(left(k));
    e.push_back("·");
    e.push_back(right(k));
  }
  return e;
}

}  // namespace qkv::ops

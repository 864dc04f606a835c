// One node's kernel in any kind of number.
#pragma once

#include <type_traits>

#include "base/bounded.h"
#include "base/exact.h"
#include "base/interval.h"
#include "base/rounded.h"
#include "base/scalar.h"
#include "plan/plan.h"

namespace qkv {

template <class M>
KernelOf<M> kernel_of(const Op& op) {
  if constexpr (std::is_same_v<M, Matrix>) return op.kernel.doubles;
  if constexpr (std::is_same_v<M, IntervalMatrix>) return op.kernel.intervals;
  if constexpr (std::is_same_v<M, ExactMatrix>) return op.kernel.exacts;
  if constexpr (std::is_same_v<M, BoundedMatrix>) return op.kernel.bounded;
  if constexpr (std::is_same_v<M, RoundedMatrix>) return op.kernel.rounded;
}

inline bool is_given(const Node& node) { return node.op->kernel.doubles == nullptr; }

// Row i of a given matrix, or all its rows.
template <class M>
M given_rows(const Node& node, Index from, Index count) {
  M matrix(count, node.shape.cols);
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) {
      const Number& number = node.given[static_cast<std::size_t>((from + i) * matrix.cols() + j)];
      matrix(i, j) = scalar_of<typename M::Scalar>(number);
    }
  }
  return matrix;
}

// The value of a node from the values of all earlier ones.
template <class M>
M value_of(const Node& node, const std::vector<M>& earlier) {
  if (is_given(node)) return given_rows<M>(node, 0, node.shape.rows);
  InputsOf<M> inputs;
  for (const NodeId id : node.inputs) inputs.emplace_back(earlier[id]);
  return kernel_of<M>(*node.op)(inputs, node.params);
}

template <class M>
typename M::Scalar sum_of_row(const M& matrix, Index row) {
  typename M::Scalar sum(0);
  for (Index j = 0; j < matrix.cols(); ++j) sum += matrix(row, j);
  return sum;
}

}  // namespace qkv

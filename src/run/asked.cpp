#include "run/asked.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace qkv {
namespace {

BoundedMatrix row_sums_of(const Node& node, const BoundedMatrix& value) {
  if (!node.has_row_sums) return BoundedMatrix(0, 0);
  BoundedMatrix sums(value.rows(), 1);
  for (Index i = 0; i < value.rows(); ++i) sums(i, 0) = sum_of_row(value, i);
  return sums;
}

}  // namespace

Asked::Asked(const Plan& plan, Proof& proof) : plan_(plan), proof_(proof), nearest_(plan.nodes.size()) {
  for (const Node& node : plan.nodes) {
    near_.push_back(value_of(node, near_));
    near_sums_.push_back(row_sums_of(node, near_.back()));
  }
}

const Asked::Nearest& Asked::found(NodeId id) {
  Nearest& result = nearest_[id];
  if (result.is_found) return result;
  const Node& node = plan_[id];
  const auto nearest = [&](const Bounded& x, Index row, Index col) {
    if (x.error == 0) return x.value + 0.0;  // −0 + 0 is 0
    proof_.enclose_up_to(id);
    return proof_.nearest({id, row, col});
  };
  result.values.resize(node.shape.rows, node.shape.cols);
  for (Index i = 0; i < node.shape.rows; ++i) {
    for (Index j = 0; j < node.shape.cols; ++j) {
      // What is read as a decimal is read as the nearest double.
      const bool is_decimal =
          is_given(node) && node.given[static_cast<std::size_t>(i * node.shape.cols + j)].is_decimal;
      result.values(i, j) = nearest(is_decimal ? Bounded(cell(id, i, j).value) : cell(id, i, j), i, j);
    }
  }
  result.row_sums.resize(near_sums_[id].rows(), 1);
  for (Index i = 0; i < result.row_sums.rows(); ++i)
    result.row_sums(i, 0) = nearest(row_sum(id, i), i, kRowSum);
  result.is_found = true;
  return result;
}

std::vector<Matrix> Asked::kinds() {
  std::vector<Matrix> kinds;
  for (NodeId id = 0; id < near_.size(); ++id) {
    const BoundedMatrix& near = near_[id];
    const bool are_certain = std::all_of(near.data(), near.data() + near.size(), [](const Bounded& x) {
      return x.error == 0 || std::abs(x.value) + x.error < DBL_MAX / 2;
    });
    kinds.push_back(are_certain ? Matrix(near.unaryExpr([](const Bounded& x) { return x.value; }))
                                : nearest(id));
  }
  return kinds;
}

}  // namespace qkv

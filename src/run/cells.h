// Any cell of a plan, in any kind of number, without computing the rest.
//
// Nearly all digits are settled by one cheap computation of everything.  The few cells that it
// leaves open are computed again, each alone, in a dearer kind of number; Op::reads says what a
// cell is made of.  Rows and matrices that others ask for again are kept.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "run/apply.h"

namespace qkv {

template <class M>
class Cells {
 public:
  using T = typename M::Scalar;

  explicit Cells(const Plan& plan) : plan_(plan), whole_(plan.nodes.size()) {}

  // From now on this is the value of the node, whatever its kernel says.
  void pin(NodeId id, std::shared_ptr<const M> value) {
    whole_[id] = std::move(value);
    std::erase_if(rows_, [&](const auto& kept) { return kept.first.first == id; });
  }

  // Asked before a row is computed: somebody may know it better.
  void know(std::function<std::optional<M>(NodeId, Index)> known) { known_ = std::move(known); }

  T cell(NodeId id, Index row, Index col) {
    if (whole_[id]) return (*whole_[id])(row, col);
    if (const auto kept = rows_.find({id, row}); kept != rows_.end()) return (*kept->second)(0, col);
    const Node& node = plan_[id];
    if (is_given(node) || !can_compute_columns(node)) return this->row(id, row)(0, col);
    return compute(node, row, col)(0, 0);
  }

  // [1, cols]
  const M& row(NodeId id, Index row) {
    std::unique_ptr<const M>& kept = rows_[{id, row}];
    if (kept) return *kept;
    const Node& node = plan_[id];
    if (whole_[id] || !can_compute_rows(node)) {
      kept = std::make_unique<const M>(MatrixOf<T>(whole(id).row(row)));
    } else if (is_given(node)) {
      kept = std::make_unique<const M>(given_rows<M>(node, row, 1));
    } else if (auto known = known_ ? known_(id, row) : std::nullopt) {
      kept = std::make_unique<const M>(std::move(*known));
    } else {
      kept = std::make_unique<const M>(compute(node, row, std::nullopt));
    }
    return *kept;
  }

  const M& whole(NodeId id) {
    std::shared_ptr<const M>& kept = whole_[id];
    if (kept) return *kept;
    const Node& node = plan_[id];
    if (is_given(node)) {
      kept = std::make_shared<const M>(given_rows<M>(node, 0, node.shape.rows));
    } else if (can_compute_rows(node)) {
      M all(node.shape.rows, node.shape.cols);
      for (Index i = 0; i < all.rows(); ++i) all.row(i) = row(id, i);
      kept = std::make_shared<const M>(std::move(all));
    } else {
      InputsOf<M> inputs;
      for (const NodeId input : node.inputs) inputs.emplace_back(whole(input));
      kept = std::make_shared<const M>(kernel_of<M>(*node.op)(inputs, node.params));
    }
    return *kept;
  }

 private:
  static Reads reads(const Node& node, std::size_t input) {
    return node.op->reads[std::min(input, kMostInputs - 1)];
  }

  // Given matrices, steps without inputs, and steps whose first input is read by rows.
  static bool can_compute_rows(const Node& node) {
    return node.inputs.empty() || reads(node, 0) == Reads::cell || reads(node, 0) == Reads::row;
  }

  // Of a symbolic result several columns are one cell.
  static bool can_compute_columns(const Node& node) {
    if (node.params.basis != 1 || !can_compute_rows(node)) return false;
    if (node.inputs.empty()) return true;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (reads(node, k) != Reads::row && reads(node, k) != Reads::all) return true;
    }
    return false;
  }

  // One row, or one cell of it.
  M compute(const Node& node, Index row, std::optional<Index> col) {
    std::vector<M> made;
    made.reserve(node.inputs.size());
    const auto keep = [&](M part) -> const M& { return made.emplace_back(std::move(part)); };
    InputsOf<M> inputs;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const NodeId input = node.inputs[k];
      switch (reads(node, k)) {
        case Reads::cell:
          inputs.emplace_back(col ? keep(single(cell(input, row, *col))) : this->row(input, row));
          break;
        case Reads::row:
          inputs.emplace_back(this->row(input, row));
          break;
        case Reads::row_of_column:
          inputs.emplace_back(col ? this->row(input, *col) : whole(input));
          break;
        case Reads::column:
          inputs.emplace_back(col ? keep(MatrixOf<T>(whole(input).col(*col))) : whole(input));
          break;
        case Reads::all:
          inputs.emplace_back(whole(input));
          break;
      }
    }
    return kernel_of<M>(*node.op)(inputs, params_of(node, row, col));
  }

  static M single(T value) {
    M matrix(1, 1);
    matrix(0, 0) = std::move(value);
    return matrix;
  }

  // The parameters as if the row, or the cell, were the whole matrix.
  static Params params_of(const Node& node, Index row, std::optional<Index> col) {
    Params params = node.params;
    params.shape = {1, col ? 1 : node.params.shape.cols};
    params.align += row - col.value_or(0);
    if (!params.allowed) return params;
    params.empty_row_is_nan = params.empty_row_is_nan && row_is_empty(node.params, row);
    const bool columns_are_keys = !node.inputs.empty() && reads(node, 0) == Reads::cell;
    const Mask part = col && columns_are_keys ? Mask(params.allowed->block(row, *col, 1, 1))
                                              : Mask(params.allowed->row(row));
    params.allowed = std::make_shared<const Mask>(part);
    return params;
  }

  const Plan& plan_;
  std::vector<std::shared_ptr<const M>> whole_;  // null: not needed so far
  std::map<std::pair<NodeId, Index>, std::unique_ptr<const M>> rows_;
  std::function<std::optional<M>(NodeId, Index)> known_;
};

}  // namespace qkv

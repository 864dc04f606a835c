#include "run/doubles.h"

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <limits>

#include "base/bounded_number.h"
#include "base/threads.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// As base/bounded_number.h has it for one number: half a unit in the last place of a decimal, two units of an
// expression.
constexpr double kOfDecimal = 0x1p-53 * (1 + 0x1p-8);
constexpr double kOfExpression = 0x1p-51 * (1 + 0x1p-8);

}  // namespace

Doubles::Computed& Doubles::node(NodeId id) {
  Computed& made = nodes_[id];
  if (made.is_done) return made;
  for (const NodeId input : plan_[id].inputs) node(input);
  if (!(is_given(plan_[id]) ? compute_given(id) : compute_by_rows(id))) compute_by_cells(id);
  made.is_done = true;
  return made;
}

bool Doubles::compute_given(NodeId id) {
  const Node& node = plan_[id];
  if (node.is_symbolic() || !kDoublesArePlain) return false;
  Computed& made = nodes_[id];
  made.values.resize(node.shape.rows, node.shape.cols);
  made.row_bounds.resize(static_cast<std::size_t>(node.shape.rows));
  std::atomic<bool> is_known = true;
  share_rows(node.shape.rows, node.shape.cols, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      RowBound& bound = made.row_bounds[static_cast<std::size_t>(i)];
      for (Index j = 0; j < node.shape.cols; ++j) {
        const Number& number = node.given[static_cast<std::size_t>(i * node.shape.cols + j)];
        made.values(i, j) = scalar_of<double>(number);
        if (number.kind == Number::Kind::infinite && number.value < 0) continue;
        if (number.kind != Number::Kind::finite) is_known = false;
        if (number.is_decimal && number.decimals == 0 && std::abs(number.value) < 0x1p53) continue;
        bound.relative = std::max(bound.relative, number.is_decimal ? kOfDecimal : kOfExpression);
        bound.absolute = 0x1p-1070;
      }
    }
  });
  if (!is_known) made = {};
  return is_known;
}

bool Doubles::compute_by_rows(NodeId id) {
  const Node& node = plan_[id];
  if (node.op->row_bounds == nullptr || node.is_symbolic()) return false;
  std::vector<RowBounded> inputs;
  InputsOf<Matrix> matrices;
  for (const NodeId input : node.inputs) {
    const Computed& from = nodes_[input];
    if (static_cast<Index>(from.row_bounds.size()) != from.values.rows()) return false;
    inputs.push_back({from.values, from.row_bounds});
    matrices.emplace_back(from.values);
  }
  Computed& made = nodes_[id];
  made.values = node.op->kernel.doubles(matrices, node.params);
  made.row_bounds = node.op->row_bounds(inputs, node.params, made.values);
  if (static_cast<Index>(made.row_bounds.size()) == made.values.rows()) return true;
  made = {};
  return false;
}

void Doubles::compute_by_cells(NodeId id) {
  const Node& node = plan_[id];
  Computed& made = nodes_[id];
  if (is_given(node)) {
    made.cells = given_rows<BoundedMatrix>(node, 0, node.shape.rows);
  } else {
    InputsOf<BoundedMatrix> inputs;
    for (const NodeId input : node.inputs) inputs.emplace_back(cells(input));
    made.cells = node.op->kernel.bounded(inputs, node.params);
  }
  const BoundedMatrix& all = *made.cells;
  made.values.resize(all.rows(), all.cols());
  made.row_bounds.resize(static_cast<std::size_t>(all.rows()));
  bool is_known = !node.is_symbolic();
  for (Index i = 0; i < all.rows(); ++i) {
    for (Index j = 0; j < all.cols(); ++j) {
      const Bounded& cell = all(i, j);
      made.values(i, j) = cell.value;
      double& bound = made.row_bounds[static_cast<std::size_t>(i)].absolute;
      bound = std::max(bound, cell.error);
      is_known = is_known && cell.error <= DBL_MAX;
      if (is_closed(node, i, j)) {
        is_known = is_known && cell.error == 0 && (cell.value == 0 || cell.value == -kInfinity);
      } else {
        is_known = is_known && std::isfinite(cell.value);
      }
    }
  }
  if (!is_known) made.row_bounds.clear();
}

const BoundedMatrix& Doubles::cells(NodeId id) {
  Computed& of = nodes_[id];
  if (of.cells) return *of.cells;
  if (is_given(plan_[id])) return of.cells.emplace(given_rows<BoundedMatrix>(plan_[id], 0, of.values.rows()));
  BoundedMatrix all(of.values.rows(), of.values.cols());
  for (Index i = 0; i < all.rows(); ++i) {
    for (Index j = 0; j < all.cols(); ++j) all(i, j) = {of.values(i, j), bound(id, i, j)};
  }
  return of.cells.emplace(std::move(all));
}

double Doubles::bound(NodeId id, Index row, Index col) {
  const Computed& of = node(id);
  if (of.cells) return (*of.cells)(row, col).error;
  const double value = of.values(row, col);
  if (!std::isfinite(value) || is_closed(plan_[id], row, col)) return 0;
  return of.row_bounds[static_cast<std::size_t>(row)].at(value);
}

const Bounded& Doubles::row_sum(NodeId id, Index row) {
  Computed& of = node(id);
  if (of.row_sums.empty()) {
    for (Index i = 0; i < of.values.rows(); ++i) of.row_sums.push_back(sum_of(of, i));
  }
  return of.row_sums[static_cast<std::size_t>(row)];
}

// m terms, added from left to right: γ_m·Σ|x|, and what each term is off by.
Bounded Doubles::sum_of(const Computed& of, Index row) {
  if (of.row_bounds.empty()) return sum_of_row(*of.cells, row);
  const Index m = of.values.cols();
  double sizes = 0;
  for (Index j = 0; j < m; ++j) sizes += std::abs(of.values(row, j));
  const RowBound& each = of.row_bounds[static_cast<std::size_t>(row)];
  const double of_sum = (static_cast<double>(m + 1) * 0x1p-53 * (1 + 0x1p-20) + each.relative) * sizes +
                        static_cast<double>(m) * each.absolute;
  return {sum_of_row(of.values, row), of_sum * (1 + 0x1p-20)};
}

}  // namespace qkv

// A large plan in doubles, each number with a bound of its error.
//
// Where an op knows the bound of a whole row beforehand (Op::row_bounds), its matrix is computed in plain
// doubles, which is several times faster; the others compute a bound with every number (base/bounded.h).
// Either way the doubles are the same, bit for bit.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bounded.h"
#include "base/row_bounded.h"
#include "run/apply.h"

namespace qkv {

class Doubles {
 public:
  explicit Doubles(const Plan& plan) : plan_(plan), nodes_(plan.nodes.size()) {}

  // Computed when first asked for, with whatever it is made of: not for use by several threads at once.
  const Matrix& values(NodeId id) { return node(id).values; }
  // How far a number can be from the true one; infinite when nothing is known.
  double bound(NodeId id, Index row, Index col);
  // One a row; empty where nothing is known of whole rows.
  std::span<const RowBound> row_bounds(NodeId id) { return node(id).row_bounds; }
  const Bounded& row_sum(NodeId id, Index row);

 private:
  struct Computed {
    bool is_done = false;
    Matrix values;
    std::vector<RowBound> row_bounds;
    std::optional<BoundedMatrix> cells;  // as soon as somebody needs them
    std::vector<Bounded> row_sums;       // likewise
  };

  Computed& node(NodeId id);
  bool compute_given(NodeId id);
  bool compute_by_rows(NodeId id);
  void compute_by_cells(NodeId id);
  const BoundedMatrix& cells(NodeId id);
  static Bounded sum_of(const Computed& of, Index row);

  const Plan& plan_;
  std::vector<Computed> nodes_;
};

}  // namespace qkv

// The values of a small problem: those that decide most digits at once, and the nearest ones when asked for.
//
// Every node is computed in doubles with bounds, which costs next to nothing.  The double nearest to the true
// number takes an enclosure of everything before it, fifty times the work; whoever prints text never asks.
#pragma once

#include <vector>

#include "base/bounded.h"
#include "run/proof.h"

namespace qkv {

class Asked {
 public:
  // `plan` and `proof`, of the same plan, must outlive it.
  Asked(const Plan& plan, Proof& proof);

  const Bounded& cell(NodeId id, Index row, Index col) const { return near_[id](row, col); }
  const Bounded& row_sum(NodeId id, Index row) const { return near_sums_[id](row, 0); }

  // [rows, cols], each the double nearest to the true number, never −0.
  const Matrix& nearest(NodeId id) { return found(id).values; }
  // [rows, 1] where the node has row sums, else empty.
  const Matrix& nearest_row_sums(NodeId id) { return found(id).row_sums; }

  // Of every node numbers that are infinite, NaN or finite where the nearest ones are.
  std::vector<Matrix> kinds();

 private:
  struct Nearest {
    bool is_found = false;
    Matrix values;
    Matrix row_sums;
  };
  const Nearest& found(NodeId id);

  const Plan& plan_;
  Proof& proof_;
  std::vector<BoundedMatrix> near_;
  std::vector<BoundedMatrix> near_sums_;
  std::vector<Nearest> nearest_;
};

}  // namespace qkv

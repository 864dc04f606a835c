// A Trace is a plan and the value of every node: what reports, checks and exports read.
//
// Small problems are computed on intervals, with the precision raised until every digit that
// will be shown is proved and every double is the nearest one.  Problems for which that would
// take noticeable time are computed in plain doubles, and the trace says so.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/matrix.h"
#include "base/text.h"
#include "plan/plan.h"

namespace qkv {

enum class Arithmetic {
  proved,   // digits and doubles are those of the true real numbers
  doubles,  // IEEE double, sums from left to right; digits are those of the computed doubles
};

struct RunOptions {
  int decimals = 4;               // digits after the point that will be shown
  bool rounds_each_step = false;  // as on paper: every step is rounded to `decimals` before the next uses it
  // Nodes whose digits are wanted at further numbers of decimals too.
  std::vector<std::pair<NodeId, int>> also = {};
};

class Trace {
 public:
  const Plan& plan() const { return plan_; }
  Arithmetic arithmetic() const { return arithmetic_; }

  // [rows, cols] of the node's numeric matrix; see Node::basis for symbolic ones.
  const Matrix& values(NodeId id) const { return values_[id]; }

  // One number with `decimals` digits after the point, as base/decimal.h writes it.
  std::string text(NodeId id, Index row, Index col, int decimals) const;
  // The sum of a row of a node that has row sums.
  std::string row_sum_text(NodeId id, Index row, int decimals) const;
  double row_sum(NodeId id, Index row) const;
  // Zero for certain, not by rounding: the weight of a forbidden key.
  bool is_exactly_zero(NodeId id, Index row, Index col) const;

  // Values outside what arithmetic can carry, explained.
  const std::vector<Said>& warnings() const { return warnings_; }

 private:
  friend Trace run(Plan plan, const RunOptions& options);
  struct Enclosures;

  Plan plan_;
  Arithmetic arithmetic_ = Arithmetic::proved;
  std::vector<Matrix> values_;
  std::vector<Matrix> row_sums_;                  // [rows, 1], or empty
  std::shared_ptr<const Enclosures> enclosures_;  // null when computed in doubles
  std::vector<Said> warnings_;
};

Trace run(Plan plan, const RunOptions& options);

}  // namespace qkv

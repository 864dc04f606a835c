// A Trace is a plan and the value of every node: what reports, checks and exports read.
//
// Everything is computed in doubles, each with a bound of its error.  The digits of a cell are proved when
// its text is asked for; the few that a bound leaves open are computed again, that row alone, with more
// precision.  In small problems the values are more than that when they are asked for, each the double
// nearest to the true number; in larger ones this would take noticeable time, and the computed doubles stay.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bounded.h"
#include "base/fixed.h"
#include "base/matrix.h"
#include "base/rounded.h"
#include "base/text.h"
#include "plan/plan.h"

namespace qkv {

class Asked;
class Doubles;
class Proof;

enum class Arithmetic {
  proved,   // values are the doubles nearest to the true real numbers
  doubles,  // values are IEEE doubles, sums from left to right, with a bound of their error
  format,   // values and texts are those of a floating-point format, not the true ones
  plain,    // doubles without a bound; texts are those of the computed doubles
};

inline constexpr unsigned kDigitsOfAssumedTies = 1600;

struct RunOptions {
  // As on paper: every step is rounded to so many decimals before the next one uses it.
  std::optional<int> rounds_to = std::nullopt;
  const FloatFormat* format = nullptr;  // carry every operation out in this format
  bool plain = false;                   // prove nothing, for comparison
  bool at_once = false;                 // enclose a small problem before anybody asks, for comparison
};

class Trace {
 public:
  const Plan& plan() const { return *plan_; }
  Arithmetic arithmetic() const { return arithmetic_; }

  // [rows, cols] of the node's numeric matrix; see Node::basis for symbolic ones.
  const Matrix& values(NodeId id) const;
  // The same, kept for as long as somebody needs it; null unless Arithmetic::doubles.
  std::shared_ptr<const Matrix> shared_values(NodeId id) const;
  // How far a value of this node can be from the true one; with Arithmetic::doubles.
  double bound(NodeId id) const;
  double bound_at(NodeId id, Index row, Index col) const;

  // One of the values, as if it were exact, where they are at hand; else, for decisions that leave room, a
  // double near it with a bound of its distance from the true number, which costs nothing.
  Bounded computed(NodeId id, Index row, Index col) const;
  Bounded computed_row_sum(NodeId id, Index row) const;

  // One number with `decimals` digits after the point, as base/decimal.h writes it.  Proves it when
  // need be, and remembers what it needed for that: not for use by several threads at once.
  std::string text(NodeId id, Index row, Index col, int decimals) const;
  // Adds to `columns` those of the row's numbers whose text may be another one than that of their double, or
  // that the mask closes and that are not certain to be 0 or −∞.  Only where shared_values() has the node.
  void find_open(NodeId id, Index row, const FixedDecimals& decimals, std::vector<Index>& columns) const;
  // The sum of a row of a node that has row sums.
  std::string row_sum_text(NodeId id, Index row, int decimals) const;
  // A number as somebody printed it, minus the true value.
  std::string difference_text(const Number& printed, NodeId id, Index row, Index col, int decimals) const;
  double row_sum(NodeId id, Index row) const;
  double row_sum_bound(NodeId id, Index row) const;
  // Zero for certain, not by rounding: the weight of a forbidden key.
  bool is_exactly_zero(NodeId id, Index row, Index col) const;

  // Of the texts asked for so far: those that needed more precision than the first pass, and
  // those that could not be told from a tie with kDigitsOfAssumedTies digits and were taken for one.
  std::size_t texts_proved_singly() const;
  std::size_t assumed_ties() const;
  // Whether it is known without looking that all numbers are finite, but for those that the mask closes.
  bool is_surely_finite(NodeId id) const;
  // Only with Arithmetic::proved, where it then holds an enclosure of every node, and ::doubles.
  Proof& proof() const;
  // "1/2", "3/2·√2", "e^(1/√2) / (1 + e^(1/√2))"; empty where the exact value has no such form.
  std::string exact_text(NodeId id, Index row, Index col) const;
  // Whether the true value is exactly this decimal.
  bool is_exactly(NodeId id, Index row, Index col, const std::string& decimal) const;
  const FloatFormat* format() const { return format_; }

  // Values outside what arithmetic can carry, explained.
  const std::vector<Said>& warnings() const { return warnings_; }

 private:
  friend Trace run(Plan plan, const RunOptions& options);

  void run_on_intervals(const RunOptions& options);
  void run_on_doubles();
  void run_on_bounded_doubles(int decimals);
  struct CellBounds;
  const CellBounds& cell_bounds() const;
  // A bound that may be wider than bound_at(), and is at hand; with Arithmetic::doubles.
  double near(NodeId id, Index row, Index col) const;
  template <class M>
  void run_without_proof();

  std::shared_ptr<const Plan> plan_;
  Arithmetic arithmetic_ = Arithmetic::proved;
  const FloatFormat* format_ = nullptr;  // with Arithmetic::format
  std::shared_ptr<Doubles> doubles_;     // with Arithmetic::doubles, unless steps are rounded on the way
  std::vector<Matrix> values_;           // else
  std::vector<Matrix> row_sums_;         // [rows, 1], or empty
  mutable std::shared_ptr<const CellBounds> cell_bounds_;  // with Arithmetic::doubles, once asked for
  std::shared_ptr<Proof> proof_;
  std::shared_ptr<Asked> asked_;  // instead of values_ and row_sums_ with Arithmetic::proved, unless rounded
  std::vector<Said> warnings_;
};

Trace run(Plan plan, const RunOptions& options);

// √x with proved digits.
std::string root_text(const Number& of, int decimals);

}  // namespace qkv

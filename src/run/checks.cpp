#include "run/checks.h"

#include <cmath>
#include <limits>

#include "run/proof.h"

namespace qkv {
namespace {

using Outcome = Finding::Outcome;

// Keeps the worst case.
void note(Finding& finding, Outcome outcome, double by, Index row) {
  ++finding.count;
  const bool is_worse = finding.outcome == Outcome::absent ||
                        (outcome == Outcome::fails && finding.outcome != outcome) ||
                        (outcome == Outcome::within && finding.outcome == Outcome::exactly) ||
                        (outcome == finding.outcome && by > finding.by);
  if (!is_worse) return;
  finding.outcome = outcome;
  finding.by = by;
  finding.row = row;
}

bool is_proved(const Trace& trace) { return trace.arithmetic() == Arithmetic::proved; }

// How far from 0 the points of an interval go.
double reach(const Interval& x) {
  const double low = std::abs(static_cast<double>(lower(x)));
  const double high = std::abs(static_cast<double>(upper(x)));
  return std::max(low, high);
}

// A difference that ought to be 0, in floating-point arithmetic with a bound of its error.
void note_difference(Finding& finding, double difference, double bound, Index row) {
  if (std::abs(difference) <= bound) {
    const double by = std::abs(difference) + bound;
    note(finding, by == 0 ? Outcome::exactly : Outcome::within, by, row);
  } else {
    const double by = std::abs(difference);
    note(finding, Outcome::fails, std::isnan(by) ? std::numeric_limits<double>::infinity() : by, row);
  }
}

// The same, enclosed by an interval.  What is not a number holds nothing.
void note_enclosed_difference(Finding& finding, const Interval& off, Index row) {
  const double by = reach(off);
  note(finding, contains_zero(off) && std::isfinite(by) ? Outcome::within : Outcome::fails,
       std::isnan(by) ? std::numeric_limits<double>::infinity() : by, row);
}

// The numbers of a small format do not sum to what the format itself makes of their sum.
double true_sum_less_1(const Matrix& values, Index row) {
  Rational sum = -1;
  for (Index j = 0; j < values.cols(); ++j) {
    if (!std::isfinite(values(row, j))) return values.row(row).sum() - 1;
    sum += Rational(values(row, j));
  }
  return static_cast<double>(sum);
}

// How a value lies to a limit: not below it, or not above it.
enum class Side { above, below };

void note_side(Finding& finding, const Trace& trace, const CellPlace& at, const CellPlace& limit, Side side) {
  const double sign = side == Side::above ? 1 : -1;
  if (!is_proved(trace)) {
    const double over =
        sign * (trace.values(at.node)(at.row, at.col) - trace.values(limit.node)(limit.row, limit.col));
    const double bound = trace.bound(at.node) + trace.bound(limit.node);
    if (over >= bound) return note(finding, Outcome::exactly, 0, at.row);
    return note(finding, over >= -bound ? Outcome::within : Outcome::fails, bound - over, at.row);
  }
  Proof& proof = trace.proof();
  const PrecisionScope precision(Proof::kFirstPrecision);
  const Interval over = sign * (proof.enclosure(at) - proof.enclosure(limit));
  const Interval zero = 0;
  if (!certainly_exceeds(zero, over) && !contains_zero(over))
    return note(finding, Outcome::exactly, 0, at.row);
  if (certainly_exceeds(zero, over)) return note(finding, Outcome::fails, reach(over), at.row);
  const auto order = compare(proof.exact(at), proof.exact(limit));
  if (!order) return note(finding, Outcome::within, reach(over), at.row);
  if (*order * sign >= 0) return note(finding, Outcome::exactly, 0, at.row);
  note(finding, Outcome::fails, reach(over), at.row);
}

}  // namespace

Finding rows_sum_to_one(const Trace& trace, NodeId weights) {
  Finding finding;
  const Node& node = trace.plan()[weights];
  for (Index i = 0; i < node.shape.rows; ++i) {
    if (row_is_empty(node.params, i)) continue;
    if (trace.arithmetic() == Arithmetic::format) {
      note_difference(finding, true_sum_less_1(trace.values(weights), i), 0, i);
      continue;
    }
    if (!is_proved(trace)) {
      note_difference(finding, trace.row_sum(weights, i) - 1, trace.row_sum_bound(weights, i), i);
      continue;
    }
    const CellPlace sum{weights, i, kRowSum};
    if (compare(trace.proof().exact(sum), Exact(1)) == 0) {
      note(finding, Outcome::exactly, 0, i);
      continue;
    }
    const PrecisionScope precision(Proof::kFirstPrecision);
    note_enclosed_difference(finding, trace.proof().enclosure(sum) - Interval(1), i);
  }
  return finding;
}

Finding rows_sum_to_less(const Trace& trace, NodeId weights) {
  Finding finding;
  const Node& node = trace.plan()[weights];
  for (Index i = 0; i < node.shape.rows; ++i) {
    if (row_is_empty(node.params, i)) continue;
    if (!is_proved(trace)) {
      const double over = trace.arithmetic() == Arithmetic::format ? true_sum_less_1(trace.values(weights), i)
                                                                   : trace.row_sum(weights, i) - 1;
      const double bound = trace.row_sum_bound(weights, i);
      if (over <= -bound) {
        note(finding, Outcome::exactly, 0, i);
      } else {
        note(finding, over <= bound ? Outcome::within : Outcome::fails, over + bound, i);
      }
      continue;
    }
    const CellPlace sum{weights, i, kRowSum};
    const PrecisionScope precision(Proof::kFirstPrecision);
    const Interval over = trace.proof().enclosure(sum) - Interval(1);
    const auto order = compare(trace.proof().exact(sum), Exact(1));
    const bool is_surely_less = certainly_exceeds(Interval(0), over);
    if (order ? *order <= 0 : is_surely_less) {
      note(finding, Outcome::exactly, 0, i);
    } else {
      note(finding, !order && contains_zero(over) ? Outcome::within : Outcome::fails, reach(over), i);
    }
  }
  return finding;
}

Finding forbidden_weights_are_zero(const Trace& trace, NodeId weights) {
  Finding finding;
  const Node& node = trace.plan()[weights];
  for (Index i = 0; i < node.shape.rows; ++i) {
    if (row_is_empty(node.params, i) && node.params.empty_row_is_nan) continue;
    for (Index j = 0; j < node.shape.cols; ++j) {
      if (is_allowed(node.params, i, j)) continue;
      const bool is_zero = trace.is_exactly_zero(weights, i, j);
      note(finding, is_zero ? Outcome::exactly : Outcome::fails, std::abs(trace.values(weights)(i, j)), i);
    }
  }
  return finding;
}

Finding shift_changes_nothing(const Trace& trace, NodeId weights, NodeId naive_exp, NodeId naive_sum) {
  Finding finding;
  const Node& node = trace.plan()[weights];
  for (Index i = 0; i < node.shape.rows; ++i) {
    if (row_is_empty(node.params, i)) continue;
    for (Index j = 0; j < node.shape.cols; ++j) {
      if (!is_allowed(node.params, i, j)) continue;
      if (!is_proved(trace)) {
        const double naive = trace.values(naive_exp)(i, j) / trace.values(naive_sum)(i, 0);
        const double weight = trace.values(weights)(i, j);
        // The bound of a quotient e / s: (error of e + e / s · error of s) / s.
        const double bound = (trace.bound_at(naive_exp, i, j) + naive * trace.bound_at(naive_sum, i, 0)) /
                                 trace.values(naive_sum)(i, 0) +
                             std::numeric_limits<double>::epsilon() * naive + trace.bound_at(weights, i, j);
        note_difference(finding, weight - naive, bound, i);
        continue;
      }
      Proof& proof = trace.proof();
      const Exact exponential = proof.exact({naive_exp, i, j});
      const Exact naive = exponential / proof.exact({naive_sum, i, 0});
      if (compare(proof.exact({weights, i, j}), naive) == 0) {
        note(finding, Outcome::exactly, 0, i);
        continue;
      }
      const PrecisionScope precision(Proof::kFirstPrecision);
      note_enclosed_difference(finding,
                               proof.enclosure({weights, i, j}) -
                                   proof.enclosure({naive_exp, i, j}) / proof.enclosure({naive_sum, i, 0}),
                               i);
    }
  }
  return finding;
}

Finding values_are_equal(const Trace& trace, NodeId a, NodeId b) {
  Finding finding;
  for (Index i = 0; i < trace.plan()[a].shape.rows; ++i) {
    for (Index j = 0; j < trace.plan()[a].shape.cols; ++j) {
      const double difference = trace.values(a)(i, j) - trace.values(b)(i, j);
      if (!is_proved(trace)) {
        note_difference(finding, difference, trace.bound_at(a, i, j) + trace.bound_at(b, i, j), i);
        continue;
      }
      Proof& proof = trace.proof();
      if (compare(proof.exact({a, i, j}), proof.exact({b, i, j})) == 0) {
        note(finding, Outcome::exactly, 0, i);
        continue;
      }
      const PrecisionScope precision(Proof::kFirstPrecision);
      note_enclosed_difference(finding, proof.enclosure({a, i, j}) - proof.enclosure({b, i, j}), i);
    }
  }
  return finding;
}

Finding output_is_in_hull(const Trace& trace, NodeId output) {
  Finding finding;
  const Node& node = trace.plan()[output];
  const NodeId v = node.inputs[1];
  for (Index c = 0; c < node.shape.cols; ++c) {
    Index least = 0;
    Index most = 0;
    trace.values(v).col(c).minCoeff(&least);
    trace.values(v).col(c).maxCoeff(&most);
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (row_is_empty(node.params, i)) continue;
      note_side(finding, trace, {output, i, c}, {v, least, c}, Side::above);
      note_side(finding, trace, {output, i, c}, {v, most, c}, Side::below);
    }
  }
  return finding;
}

}  // namespace qkv

#include "run/slope.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "run/apply.h"

namespace qkv {
namespace {

// The formula's own error is of the order h², and the difference leaves 40 of the 60 digits.
constexpr unsigned kDigits = 60;
constexpr const char* kStep = "1e-20";
constexpr const char* kFinerStep = "1e-30";
// Far above h² and far below any gradient that somebody writes down.
constexpr double kTolerance = 1e-25;
// Slopes to both sides that lie further apart than h can explain.
constexpr double kCorner = 1e-10;
// Cells that are computed again; about a quarter of a second.
constexpr Index kMostWork = 100'000;

using Values = std::vector<IntervalMatrix>;

// The cross-entropy; without targets Σ d.y ∘ y of the last step y, whose gradient d.y is given.
NodeId last_of_loss(const Plan& plan) { return plan.find("loss").value_or(plan.last_step()); }

Interval loss_of(const Plan& plan, const Values& values) {
  if (const auto loss = plan.find("loss")) return values[*loss](0, 0);
  const NodeId last = plan.last_step();
  const auto arriving = plan.find("d." + plan[last].id);
  const IntervalMatrix from_above =
      given_rows<IntervalMatrix>(plan[*arriving], 0, plan[*arriving].shape.rows);
  Interval sum = 0;
  for (Index k = 0; k < from_above.size(); ++k) sum += from_above(k) * values[last](k);
  return sum;
}

Interval loss_with(const Plan& plan, NodeId x, Values values) {
  for (NodeId id = x + 1; id <= last_of_loss(plan); ++id) values[id] = value_of(plan[id], values);
  return loss_of(plan, values);
}

Index work(const Plan& plan, NodeId x) {
  Index cells = 0;
  for (NodeId id = x + 1; id <= last_of_loss(plan); ++id) cells += plan[id].shape.rows * plan[id].shape.cols;
  return cells * plan[x].shape.rows * plan[x].shape.cols;
}

double reach(const Interval& x) {
  return std::max(std::abs(static_cast<double>(lower(x))), std::abs(static_cast<double>(upper(x))));
}

}  // namespace

Finding gradient_is_slope(const Trace& trace, NodeId x, NodeId gradient) {
  Finding finding;
  const Plan& plan = trace.plan();
  if (trace.arithmetic() != Arithmetic::proved || work(plan, x) > kMostWork) return finding;
  const PrecisionScope precision(kDigits);
  Values values;
  for (const Node& node : plan.nodes) values.push_back(value_of(node, values));
  const Interval step = enclose_decimal(kStep);
  const Interval finer = enclose_decimal(kFinerStep);
  const Interval here = loss_of(plan, values);
  for (Index i = 0; i < plan[x].shape.rows; ++i) {
    for (Index j = 0; j < plan[x].shape.cols; ++j) {
      if (is_minus_infinity(values[x](i, j))) continue;  // a forbidden key, which no small change opens
      const auto moved = [&](const Interval& by) {
        Values around = values;
        around[x](i, j) += by;
        return loss_with(plan, x, std::move(around));
      };
      const auto off_with = [&](const Interval& h) {
        const Interval slope = (moved(h) - moved(Interval(-h))) / (2 * h);
        return reach(Interval(values[gradient](i, j) - slope));
      };
      double off = off_with(step);
      if (!(off <= kTolerance)) {
        // elu(x) + 1 at 0: where the slope bends, the error is of the order h.
        off = off_with(finer);
        // max(x, 0) at 0: a corner, where the loss has no slope.
        const Interval turn = (moved(finer) - here) / finer - (here - moved(Interval(-finer))) / finer;
        if (reach(turn) > kCorner) continue;
      }
      const bool is_worse = finding.count == 0 || !(off <= finding.by);
      ++finding.count;
      if (!is_worse) continue;
      finding.by = off;
      finding.row = i;
      finding.outcome = off <= kTolerance ? Finding::Outcome::within : Finding::Outcome::fails;
    }
  }
  return finding;
}

}  // namespace qkv

#include "render/exported.h"

#include <algorithm>
#include <limits>

#include "report/formula.h"

namespace qkv {
namespace {

bool is_asked_for(const Plan& plan, NodeId id, const Telling& telling) {
  const Node& node = plan[id];
  if (!telling.steps.empty()) {
    return std::any_of(telling.steps.begin(), telling.steps.end(),
                       [&](const std::string& asked) { return asked == node.id || asked == node.name(); });
  }
  if (telling.detail == Detail::summary) return id == plan.last_step();
  return telling.detail == Detail::full || node.level == Level::main;
}

}  // namespace

std::vector<NodeId> exported_steps(const Plan& plan, const Telling& telling, bool brief) {
  std::vector<NodeId> steps;
  std::vector<bool> is_needed(plan.nodes.size(), false);
  for (NodeId id = plan.nodes.size(); id-- > 0;) {
    if (!is_needed[id] && !is_asked_for(plan, id, telling)) continue;
    steps.push_back(id);
    for (const NodeId input : reading_of(plan[id], brief).inputs) is_needed[input] = true;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

bool holds_minus_inf(const Matrix& values) {
  return (values.array() == -std::numeric_limits<double>::infinity()).any();
}
bool holds_zero(const Matrix& values) { return (values.array() == 0).any(); }
bool is_finite(const Matrix& values) { return values.array().isFinite().all(); }

}  // namespace qkv

#include "methods/entropy.h"

#include <utility>

#include "ops/rows.h"

namespace qkv {
namespace {

// One number a row of weights.
NodeId add_aside(Plan& plan, NodeId weights, const char* name, const Op& op, std::vector<NodeId> inputs) {
  const Node& of = plan[weights];
  Node node;
  node.id = of.prefix + name;
  node.prefix = of.prefix;
  node.op = &op;
  node.inputs = std::move(inputs);
  node.params = of.params;
  node.level = Level::full;
  node.role = Role::aside;
  node.shape = {of.shape.rows, 1};
  node.rows = of.rows;
  plan.nodes.push_back(std::move(node));
  return plan.nodes.size() - 1;
}

}  // namespace

Plan with_entropies(Plan plan) {
  const std::size_t count = plan.nodes.size();
  for (NodeId id = 0; id < count; ++id) {
    if (plan[id].name() != "weights") continue;
    const auto shifted = plan.find(plan[id].prefix + "shifted");
    const auto sum = plan.find(plan[id].prefix + "sum");
    if (!shifted || !sum) continue;  // given weights, and those of linear attention
    const NodeId entropy = add_aside(plan, id, "entropy", ops::row_entropy, {id, *shifted, *sum});
    add_aside(plan, id, "entropy.bits", ops::entropy_in_bits, {entropy});
  }
  return plan;
}

}  // namespace qkv

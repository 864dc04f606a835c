#include "plan/plan.h"

#include <cassert>

#include "plan/training.h"

namespace qkv {

std::optional<NodeId> Plan::find(std::string_view id) const {
  for (NodeId i = 0; i < nodes.size(); ++i) {
    if (nodes[i].id == id) return i;
  }
  return std::nullopt;
}

std::optional<NodeId> Plan::find_beside(const Node& node, std::string_view name) const {
  std::string prefix = node.prefix;
  while (true) {
    if (const auto found = find(prefix + std::string(name)); found || prefix.empty()) return found;
    const std::size_t point = prefix.find_last_of('.', prefix.size() - 2);
    prefix.resize(point == std::string::npos ? 0 : point + 1);
  }
}

NodeId Plan::last_step() const {
  NodeId last = nodes.size();
  const auto is_result = [](const Node& node) {
    return node.role == Role::step && !is_gradient(node) && !is_of_loss(node);
  };
  while (last > 0 && !is_result(nodes[last - 1])) --last;
  assert(last > 0);
  return last - 1;
}

Node Builder::node_of(const std::string& name, const Op& op, NodeTraits traits) const {
  Node node;
  node.id = prefix_ + name;
  node.prefix = prefix_;
  node.op = &op;
  node.level = traits.level;
  node.role = traits.role;
  node.rows = std::move(traits.rows);
  node.cols = std::move(traits.cols);
  node.has_row_sums = traits.has_row_sums;
  node.basis = std::move(traits.basis);
  node.vectors = std::move(traits.vectors);
  return node;
}

NodeId Builder::given(const std::string& name, const Op& op, Shape shape, GivenNumbers values,
                      NodeTraits traits) {
  assert(values.size() == static_cast<std::size_t>(shape.rows * shape.cols));
  Node node = node_of(name, op, std::move(traits));
  node.shape = shape;
  node.given = std::move(values);
  plan_.nodes.push_back(std::move(node));
  return plan_.nodes.size() - 1;
}

NodeId Builder::step(const std::string& name, const Op& op, std::vector<NodeId> inputs, Params params,
                     NodeTraits traits) {
  Node node = node_of(name, op, std::move(traits));
  std::vector<Shape> shapes;
  for (const NodeId input : inputs) shapes.push_back(plan_.nodes[input].shape);
  node.shape = op.shape(shapes, params);
  node.inputs = std::move(inputs);
  node.params = std::move(params);
  plan_.nodes.push_back(std::move(node));
  return plan_.nodes.size() - 1;
}

}  // namespace qkv

#include "plan/plan.h"

#include <cassert>

namespace qkv {

std::optional<NodeId> Plan::find(std::string_view id) const {
  for (NodeId i = 0; i < nodes.size(); ++i) {
    if (nodes[i].id == id) return i;
  }
  return std::nullopt;
}

NodeId Plan::last_step() const {
  NodeId last = nodes.size();
  while (last > 0 && nodes[last - 1].role != Role::step) --last;
  assert(last > 0);
  return last - 1;
}

namespace {

Node node_of(std::string id, const Op& op, NodeTraits traits) {
  Node node;
  node.id = std::move(id);
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

}  // namespace

NodeId Builder::given(std::string id, const Op& op, Shape shape, std::vector<Number> values,
                      NodeTraits traits) {
  assert(values.size() == static_cast<std::size_t>(shape.rows * shape.cols));
  Node node = node_of(std::move(id), op, std::move(traits));
  node.shape = shape;
  node.given = std::move(values);
  plan_.nodes.push_back(std::move(node));
  return plan_.nodes.size() - 1;
}

NodeId Builder::step(std::string id, const Op& op, std::vector<NodeId> inputs, Params params,
                     NodeTraits traits) {
  Node node = node_of(std::move(id), op, std::move(traits));
  std::vector<Shape> shapes;
  for (const NodeId input : inputs) shapes.push_back(plan_.nodes[input].shape);
  node.shape = op.shape(shapes, params);
  node.inputs = std::move(inputs);
  node.params = std::move(params);
  plan_.nodes.push_back(std::move(node));
  return plan_.nodes.size() - 1;
}

}  // namespace qkv

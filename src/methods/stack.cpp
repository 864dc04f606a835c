// Several passes one after the other: layers with a residual stream, and several reads of one memory.

#include <string>
#include <utility>

#include "methods/pass.h"
#include "ops/rows.h"

namespace qkv {

NodeId add_residual(const Problem& problem, Builder& builder, NodeId read) {
  const auto positioned = builder.plan().find("X.positioned");
  const NodeId x = positioned ? *positioned : *builder.plan().find("X");
  return builder.step("residual", ops::add_residual, {x, read}, {}, {.rows = problem.tokens});
}

std::string layer_prefix(std::size_t index) { return "L" + std::to_string(index + 1) + "."; }

NodeId out_of_layer(const Problem& layer, Builder& builder, NodeId x, NodeId read) {
  if (!layer.has_residual) return read;
  return builder.step("residual", ops::add_residual, {x, read}, {}, {.rows = builder[x].rows});
}

NodeId stack(const Problem& problem, Builder& builder, Parameters& parameters) {
  NodeId x = given_rows(problem, builder, parameters, "X");
  for (std::size_t layer = 0; layer < problem.stack.size(); ++layer) {
    const std::string prefix = layer_prefix(layer);
    builder.name_under(prefix);
    parameters.enter_layer(prefix);
    const Problem& own = problem.stack[layer];
    const NodeId read = attend(own, builder, parameters, {.nodes = {{"X", x}}}).last;
    builder.name_under(prefix);
    x = out_of_layer(own, builder, x, read);
  }
  return x;
}

// Sukhbaatar et al. 2015, section 2.2: u ← u + o, and the memory is read again.
NodeId hops(const Problem& problem, Builder& builder, Parameters& parameters) {
  NodeId q = given_rows(problem, builder, parameters, "Q");
  const NodeId k = given_rows(problem, builder, parameters, "K");
  const NodeId v = given_rows(problem, builder, parameters, "V");
  NodeId read = 0;
  for (Index hop = 1; hop <= problem.hops; ++hop) {
    builder.name_under("hop" + std::to_string(hop) + ".");
    if (hop > 1) q = builder.step("Q", ops::next_query, {q, read}, {}, {.rows = problem.tokens});
    read = attend(problem, builder, parameters, {.nodes = {{"Q", q}, {"K", k}, {"V", v}}}).last;
  }
  return read;
}

}  // namespace qkv

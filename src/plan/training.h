// Which steps tell how the result is judged and learned from, and what they are called.
#pragma once

#include <string>

#include "plan/plan.h"

namespace qkv {

// Of the backward pass: "d.Q", "d.h1.scores".
inline bool is_gradient(const Node& node) { return node.prefix.starts_with("d."); }

// Of the loss, which comes after the result.
inline bool is_of_loss(const Node& node) {
  return node.id == "q" || node.id == "losses" || node.id == "loss";
}

// The name that a step has in every head: "scores" of "h1.scores", "d.scores" of "d.h1.scores".
inline std::string name_in_every_head(const Node& node) {
  return (is_gradient(node) ? "d." : "") + std::string(node.name());
}

}  // namespace qkv

// Linear attention: what takes the place of the lines from scores to output.
#pragma once

#include <optional>

#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

// q [n, d_k], k [m, d_k], v [m, d_v] of one head → its output, [n, d_v].
NodeId read_linearly(Builder& builder, const Problem& problem, NodeId q, NodeId k, NodeId v);

// What a pass that goes token by token knows of its own tokens and of all earlier ones.
struct LinearState {
  NodeId phi_k;  // of the pass's own keys: [m, features]
  NodeId s;      // the sum of φ(k)ᵀ·v over all tokens so far: [features, d_v]
  NodeId z;      // the sum of φ(k): [1, features]
};

// The state that earlier passes left, if any, and the tokens of this pass added to it.
LinearState add_to_state(Builder& builder, const Problem& problem, NodeId k, NodeId v,
                         const std::optional<LinearState>& past);

// What one head of the pass reads: a single token the state; several tokens, of which each may see those up
// to its own, the values of the pass.  Only the first pass may hold several.
NodeId read_in_pass(Builder& builder, const Problem& problem, NodeId q, NodeId v, const LinearState& state);

}  // namespace qkv

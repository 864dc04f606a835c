// Linear attention: what takes the place of the lines from scores to output.
#pragma once

#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

// q [n, d_k], k [m, d_k], v [m, d_v] of one head → its output, [n, d_v].
NodeId read_linearly(Builder& builder, const Problem& problem, NodeId q, NodeId k, NodeId v);

}  // namespace qkv

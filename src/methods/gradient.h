// The backward pass, as further steps of the plan.
#pragma once

#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

// Appends the loss, where there are targets, and for every step and parameter that the result is made
// of the gradient of the loss, under the prefix d. before its id.
void append_gradient(const Problem& problem, Builder& builder);

}  // namespace qkv

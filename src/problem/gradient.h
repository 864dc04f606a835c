// The loss that a gradient is taken of: [target], or what arrives at the last step.
#pragma once

#include "problem/draft.h"
#include "problem/roles.h"

namespace qkv {

void settle_gradient(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics);

}  // namespace qkv

// Linear attention has no scores: what changes or enters scores is refused beside it.
#pragma once

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/problem.h"
#include "problem/roles.h"

namespace qkv {

// After masks and positions, whose results it looks at.
void check_linear(const Draft& draft, const Roles& roles, const Problem& problem, Diagnostics& diagnostics);

}  // namespace qkv

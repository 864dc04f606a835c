// Which steps this problem has, and which shapes they have: what [expect.STEP] may name.
#pragma once

#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/problem.h"
#include "problem/roles.h"

namespace qkv {

// Ids of the steps that a trace of one head can have, in their order.
std::vector<std::string_view> step_ids();

// Compares the expectations with the steps of the problem.
//   problem  with scale and mask filled in
// Whether a step exists is only said when `diagnostics` holds no error.
// Where an option has changed the problem, an expectation that no longer fits it is left out with a warning.
void check_expectations(Draft& draft, const Roles& roles, const Problem& problem, Diagnostics& diagnostics);

}  // namespace qkv

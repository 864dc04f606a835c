// From a problem to the plan of its calculation: the only place that knows an order.
#pragma once

#include <optional>

#include "base/diagnostic.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "problem/read_problem.h"

namespace qkv {

Plan plan_of(const Problem& problem);

// Every expected step must be one of the plan, with the printed shape, and hold numbers.  Where options
// have changed the problem, what does not fit it any more is left out with a warning.
void check_expectations(Problem& problem, const Plan& plan, Diagnostics& diagnostics);

struct Planned {
  Problem problem;
  Plan plan;
};

// Reads and plans; nullopt when there is an error.
std::optional<Planned> read_and_plan(const ProblemInput& input, Diagnostics& diagnostics);

}  // namespace qkv

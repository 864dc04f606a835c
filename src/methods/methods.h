// From a problem to the plan of its calculation: the only place that knows an order.
#pragma once

#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

Plan plan_of(const Problem& problem);

}  // namespace qkv

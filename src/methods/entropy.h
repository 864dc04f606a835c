// The entropy of every row of weights, beside a plan that is already made.
#pragma once

#include "plan/plan.h"

namespace qkv {

// The same plan with an aside `entropy`, and `entropy.bits`, for each softmax in it.
Plan with_entropies(Plan plan);

}  // namespace qkv

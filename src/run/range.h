// Values outside the range of a double: never in silence.
#pragma once

#include <vector>

#include "base/text.h"
#include "run/trace.h"

namespace qkv {

// At most one sentence, about the first such cell: what follows from it needs no second one.
std::vector<Said> range_warnings(const Plan& plan, const std::vector<Matrix>& values, Arithmetic arithmetic);

}  // namespace qkv

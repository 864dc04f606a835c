// Values outside the range of a double: never in silence.
#pragma once

#include <functional>
#include <vector>

#include "base/text.h"
#include "run/trace.h"

namespace qkv {

// At most one sentence, about the first such cell: what follows from it needs no second one.
//   values  of each node, or numbers that are infinite, NaN and finite where they are
std::vector<Said> range_warnings(const Trace& trace,
                                 const std::function<const Matrix&(NodeId)>& values);

}  // namespace qkv

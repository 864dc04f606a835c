// Whether a gradient is what it says: how fast the loss changes.
#pragma once

#include "run/checks.h"

namespace qkv {

// d.x against (loss(x + h) − loss(x − h)) / 2h, cell by cell of a given matrix x, which is computed
// forwards only.  Absent where that would take noticeable time.
Finding gradient_is_slope(const Trace& trace, NodeId x, NodeId gradient);

}  // namespace qkv

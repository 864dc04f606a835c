// What an output is made of, and whether it leaves the hull of the tokens: why attention has a W_V.
#pragma once

#include <vector>

#include "report/narrate.h"

namespace qkv {

// For values that are the tokens X themselves, or projected from them without changing the width, which is
// one or two; else nothing.  `rows`: those of the output that are shown.
std::vector<Block> hull_remark(const Trace& trace, NodeId output, const std::vector<Index>& rows,
                               const Telling& telling);

}  // namespace qkv

// What is worth saying about the numbers of one step in particular: a symmetric table, where the weight went,
// which key a hard read took, between which bounds an output lies.
#pragma once

#include <vector>

#include "report/narrate.h"

namespace qkv {

// `rows`: those of the step that are shown.
std::vector<Block> remarks(const Trace& trace, NodeId id, const std::vector<Index>& rows,
                           const Telling& telling);

}  // namespace qkv

// A step that counts, such as the numbers in a cache, shows whole numbers.
#pragma once

#include "plan/plan.h"

namespace qkv {

// Digits after the point in the tables of this node: `decimals`, none where it holds counts, positions or
// numbers of heads.
int decimals_of(const Node& node, int decimals);

}  // namespace qkv

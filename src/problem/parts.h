// What is written for one layer or one head alone: L2.W_Q, L2.mask, h1.W_Q.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "problem/draft.h"

namespace qkv {

// [h1.W_Q], [h2.W_Q] … are the columns of W_Q, head by head; K and V also as [g1.K] ….  Joins them.
// With one head [h1.mask] is [mask].
void join_heads(Draft& draft, Diagnostics& diagnostics);

// The draft of one layer: its own matrices and settings in place of those of all.
Draft draft_of_layer(const Draft& draft, Index layer, Diagnostics& diagnostics);

// What a head may have for itself beside what all heads have: "mask" and "bias".
//   name  "mask" or "bias"
// Returns the names under which it is given: "mask", "h1.mask", …, in this order.
std::vector<std::string> tables_given(const Draft& draft, std::string_view name);

// Parts that belong to no layer or head that there is.
void reject_other_parts(const Draft& draft, Diagnostics& diagnostics);

}  // namespace qkv

// What is written for one layer or one head alone: L2.W_Q, L2.mask, h1.W_Q.
#pragma once

#include "base/diagnostic.h"
#include "problem/draft.h"

namespace qkv {

// [h1.W_Q], [h2.W_Q] … are the columns of W_Q, head by head; K and V also as [g1.K] ….  Joins them.
void join_heads(Draft& draft, Diagnostics& diagnostics);

// The draft of one layer: its own matrices and settings in place of those of all.
Draft draft_of_layer(const Draft& draft, Index layer, Diagnostics& diagnostics);

// Parts that belong to no layer or head that there is.
void reject_other_parts(const Draft& draft, Diagnostics& diagnostics);

}  // namespace qkv

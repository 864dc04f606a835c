// Where the tokens stand, and in which order: rope, pos, positions, kv_positions, order.
#pragma once

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/problem.h"
#include "problem/roles.h"

namespace qkv {

// Puts the rows of X, or of Q, K and V, into the new order that `order` asks for.
void shuffle_tokens(Draft& draft, Roles& roles, Diagnostics& diagnostics);

// Fills in rope, positions and kv_positions of the problem; its heads must be settled.
void settle_positions(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics);

}  // namespace qkv

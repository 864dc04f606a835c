// Work in pieces: decode, prefill, tile.
#pragma once

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/roles.h"

namespace qkv {

// Decoding is causal, whether or not the mask says so.
void imply_causal(Draft& draft);

void check_passes(const Draft& draft, const Roles& roles, Diagnostics& diagnostics);

}  // namespace qkv

// How many heads there are, and what each of them has of its own.
#pragma once

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/problem.h"
#include "problem/roles.h"

namespace qkv {

// Fills in heads, kv_heads, is_dropped, slopes and sink_logits of the problem.
void settle_heads(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics);

}  // namespace qkv

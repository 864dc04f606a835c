// What the queries and the keys are called.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/roles.h"

namespace qkv {

struct Labels {
  std::vector<std::string> tokens;     // one per query
  std::vector<std::string> kv_tokens;  // one per key
};

// Both counts in `roles` must be known.  The settings tokens and kv_tokens come first, then the
// labels of rows, then t1 t2 …  In self-attention the queries' names serve the keys too.
Labels label_tokens(const Draft& draft, const Roles& roles, Diagnostics& diagnostics);

}  // namespace qkv

// Do all shapes fit?
#pragma once

#include "base/diagnostic.h"
#include "base/matrix.h"
#include "problem/draft.h"
#include "problem/roles.h"

namespace qkv {

// Fills in the shapes of Q, K and V and the numbers of queries and keys, as far as they are
// known, and compares everything with them.  Splits [W_QKV] into W_Q, W_K and W_V.
void fit_shapes(Draft& draft, Roles& roles, Diagnostics& diagnostics);

// The rows and columns of W as they act in X·W, whatever the layout.
Shape as_columns(const Settings& settings, Shape stored);

}  // namespace qkv

// Do all shapes fit?
#pragma once

#include <optional>

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

// The columns of the last line, Y, concat or output; nullopt where they are not known, and where V holds
// symbols, so that the line is none of numbers.   `roles` with its shapes filled in
std::optional<Index> width_of_result(const Draft& draft, const Roles& roles);

}  // namespace qkv

// How far rows of doubles can be from the true numbers: one function a kernel, for Op::row_bounds.
#pragma once

#include <span>
#include <vector>

#include "base/row_bounded.h"
#include "plan/op.h"

namespace qkv::row_bounds {

using Inputs = std::span<const RowBounded>;
using Bounds = std::vector<RowBound>;  // one a row; empty: nothing is known

Bounds same(Inputs in, const Params&, const Matrix& result);
Bounds side_by_side(Inputs in, const Params&, const Matrix& result);

Bounds dot_rows(Inputs in, const Params&, const Matrix& result);        // q, k
Bounds project(Inputs in, const Params&, const Matrix& result);         // x, w and perhaps a bias
Bounds project_linear(Inputs in, const Params&, const Matrix& result);  // the same, w as nn.Linear stores it
Bounds weighted_sum(Inputs in, const Params&, const Matrix& result);    // weights, v

Bounds divide_by_root(Inputs in, const Params&, const Matrix& result);
Bounds multiply(Inputs in, const Params&, const Matrix& result);
Bounds divide(Inputs in, const Params&, const Matrix& result);
Bounds soft_cap(Inputs in, const Params&, const Matrix& result);
Bounds distance_bias(Inputs in, const Params&, const Matrix& result);
Bounds add_all(Inputs in, const Params&, const Matrix& result);

// numbers: a sink's logit, or none.
Bounds row_max(Inputs in, const Params&, const Matrix& result);
Bounds shift(Inputs in, const Params&, const Matrix& result);  // scores, max
Bounds exponential(Inputs in, const Params&, const Matrix& result);
Bounds row_sum(Inputs in, const Params&, const Matrix& result);    // e, and with a sink perhaps max
Bounds normalise(Inputs in, const Params&, const Matrix& result);  // e, sum

}  // namespace qkv::row_bounds

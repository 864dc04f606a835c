// The kernels that take the time of a large trace, once more for plain doubles.
//
// Bit for bit what ops/kernels.h would give: every number is the same sum, taken from left to right, with a
// product and a sum rounded each for itself.  Only the order in which different numbers are worked on is
// another one: neighbouring columns together, so that a processor's vector holds several sums and never parts
// of one.  A mask is read as the runs of keys that it leaves open.
#pragma once

#include <functional>
#include <vector>

#include "base/matrix.h"
#include "plan/op.h"

namespace qkv::double_loops {

Matrix dot_rows(const Matrix& q, const Matrix& k);
Matrix project(const Matrix& x, const Matrix& w);
Matrix weighted_sum(const Matrix& weights, const Matrix& v, const Params& params);

Matrix add_all(const std::vector<std::reference_wrapper<const Matrix>>& terms, const Params& params);
Matrix row_max(const Matrix& scores, double start, const Params& params);
Matrix shift(const Matrix& scores, const Matrix& max, const Params& params);
Matrix exponential(const Matrix& x, const Params& params);
Matrix normalise_rows(const Matrix& e, const Matrix& sum, const Params& params);

}  // namespace qkv::double_loops

// Whether a point lies in the convex hull of the rows of a matrix, on a line or in a plane; decided exactly.
#pragma once

#include <optional>

#include "run/trace.h"

namespace qkv {

// Row `row` of node `point` against all rows of node `points`; both have one or two columns.  The edge
// belongs to the hull.  nullopt where the exact values have no form that could decide a tie.
//   trace  proved, or in doubles with a bound
std::optional<bool> lies_in_hull(const Trace& trace, NodeId point, Index row, NodeId points);

}  // namespace qkv

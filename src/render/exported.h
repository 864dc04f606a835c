// Which steps of a plan are written where somebody else computes them again: a script, a spreadsheet.
#pragma once

#include <optional>
#include <vector>

#include "report/narrate.h"
#include "run/trace.h"

namespace qkv {

// In the order of the plan: what --steps and --detail ask for, and all that it is computed from.
// `brief`: where a step has a brief form, that form is what is computed; see Node::brief.
std::vector<NodeId> exported_steps(const Plan& plan, const Telling& telling, bool brief);

// Whether some cell of the numeric matrix is −∞, 0, or no finite number.
bool holds_minus_inf(const Matrix& values);
bool holds_zero(const Matrix& values);
bool is_finite(const Matrix& values);

}  // namespace qkv

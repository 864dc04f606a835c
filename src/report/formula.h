// The formula of an op, written for one step: names and numbers in place of #1 and @1.
#pragma once

#include <string>

#include "plan/plan.h"
#include "report/math.h"

namespace qkv {

// A node as it is computed, or in brief.
struct Reading {
  const Op& op;
  const std::vector<NodeId>& inputs;
  const Params& params;
};
Reading reading_of(const Node& node, bool brief);

// `brief`: as the node's Brief tells it, where it has one.
//
// As a tree, for renderers that set formulas.  Without parts for inputs.
Math math_formula(const Plan& plan, NodeId id, bool brief = false);

// In TeX, with step ids as names: "Q K^T", "\frac{scores}{\sqrt{d_k}}".  Empty for inputs.
std::string tex_formula(const Plan& plan, NodeId id, bool brief = false);

// For a terminal: "Q · Kᵀ", "scores / √d_k".
std::string plain_formula(const Plan& plan, NodeId id, bool brief = false);

// With shapes on both sides: "scores (3×3) = Q (3×2) · Kᵀ (2×3)".
std::string formula_with_shapes(const Plan& plan, NodeId id, bool brief = false);
// The same, where math_formula() has been made.
std::string formula_with_shapes(const Plan& plan, NodeId id, bool brief, const Math& formula);

// "(3×2)"
std::string shape_text(const Node& node);

}  // namespace qkv

// The mistakes that are known by name: what people do wrong in attention, each as the numbers it gives.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "check/judge.h"
#include "check/spoils.h"

namespace qkv {

struct Mistake {
  const char* id;                         // "M09", or "S1" … for slips that know nothing of attention
  const char* name;                       // "no-scale"
  std::array<std::string_view, 4> nodes;  // the steps it can spoil: "scaled", "weights"; none: any
  Text sentence;                          // what was done; @d is d_k, @m the number of keys
  Text remedy;                            // what to do
  spoil::Results (*results)(const Spoil&);
  bool is_of_one_cell = false;  // no mistake of a step with several wrong numbers

  bool is_slip() const { return nodes.front().empty(); }
};

std::span<const Mistake> mistakes();

// The steps of a plan that a mistake can spoil; none for a slip.
std::vector<NodeId> nodes_spoiled(const Mistake& mistake, const Plan& plan);

// All mistakes that explain every cell of a wrong step, the likeliest first, each id once.
std::vector<const Mistake*> mistakes_behind(const Sheet& sheet, NodeId target,
                                            const MatrixOf<Verdict>& cells);

}  // namespace qkv

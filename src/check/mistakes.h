// The mistakes that are known by name: what people do wrong in attention, each as the numbers it gives.
#pragma once

#include <span>
#include <vector>

#include "check/judge.h"

namespace qkv {

// One step as somebody does it wrong: its sheet so far, and the node.
struct Spoil {
  const Sheet& sheet;
  NodeId node;

  const Node& at() const { return sheet.plan()[node]; }
  // A node's numbers as they stand on the sheet, or follow from it; null when there is no such node before
  // this one.
  const IntervalMatrix* value(std::string_view id) const;
  const IntervalMatrix& input(std::size_t i) const { return sheet.value(at().inputs[i], Chain::theirs); }
};

struct Mistake {
  const char* id;    // "M09", or "S1" … for slips that know nothing of attention
  const char* name;  // "no-scale"
  const char* node;  // the step it spoils: "weights"; "" for any
  Text sentence;     // what was done; @d is d_k, @m the number of keys
  Text remedy;       // what to do
  // Every result it can have; matrices of another shape than the node's are passed over.
  std::vector<IntervalMatrix> (*results)(const Spoil&);
};

std::span<const Mistake> mistakes();

// All mistakes that explain every cell of a wrong step, the likeliest first, each id once.
std::vector<const Mistake*> mistakes_behind(const Sheet& sheet, NodeId target,
                                            const MatrixOf<Verdict>& cells);

}  // namespace qkv

// Which conventions turn a problem's inputs into somebody's output: how an engineer finds the bug in a port.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "check/difference.h"
#include "problem/problem.h"

namespace qkv {

// Only what differs from the problem: {"scale", "none"}, {"axis", "columns"}; empty when nothing does.
struct Explanation {
  std::vector<std::pair<std::string, std::string>> conventions;
  std::string reproduces;  // "weights", "output" or "Y"
};

// All smallest sets of conventions that reproduce the numbers, those with fewest changes first.
//   output  one matrix, or named steps of which weights, output and Y are looked at
// Looked at: scale, axis of the softmax, mask (corner, polarity, diagonal, none), weight layout, Q and K
// exchanged, another matrix in place of V, cap after the mask, and precision.
std::vector<Explanation> detect(const Problem& problem, const std::vector<ShownStep>& output);

// nullopt-like: whether the problem is one that detect can recompute: dot products of numbers, softmax, soft
// read.
bool can_detect(const Problem& problem);

Report told(const std::vector<Explanation>& found, Language language);
// Schema qkv/detect-1.
std::string as_json(const std::vector<Explanation>& found);

}  // namespace qkv

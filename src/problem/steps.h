// The names that steps can have: what [expect.STEP] and answer sheets may speak of.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "problem/problem.h"

namespace qkv {

struct StepName {
  const char* name;
  std::optional<Text> absent;  // what a problem lacks that has no such step; else it starts later, or has no
                               // such step in its method
};

// In the order in which a calculation comes to them.
std::vector<std::string_view> step_names();

// Null when no problem has such a step.
const StepName* find_step_name(std::string_view name);

// The section at which the calculation starts: "scores"; for Q, K, V and X: "Q" and "X".
std::string_view entry_name(Entry entry);

// "h1.weights" is "weights" of the first head: the name behind prefixes of one letter and a number.
std::string_view behind_prefixes(std::string_view id);

}  // namespace qkv

// From sources to a Problem, or to everything that is wrong with them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "problem/problem.h"

namespace qkv {

// What the command line hands over.
struct ProblemInput {
  SourcePtr file;  // the problem file; null when everything comes from options
  // --q FILE and the like: section name ("Q", "W_Q", "mask", …) and the file's text.
  // Overrides the section of the same name in `file`.
  std::vector<std::pair<std::string, SourcePtr>> matrices;
  // --mask causal and the like: key and value.  Overrides the setting of the same name.
  std::vector<std::pair<std::string, std::string>> settings = {};
  // Like `matrices`, of files that input/numbers.h could read; such a matrix has no cells, only their values.
  std::vector<std::pair<std::string, NumbersPtr>> numbers = {};
  // Nobody will look at a table of queries by keys: none is made, and none limits the size.
  bool asks_for_result_alone = false;
};

// Reads, checks and completes a problem.  Every fault that can be found is added to
// `diagnostics`, warnings and notes too; nullopt exactly when one of them is an error.
std::optional<Problem> read_problem(const ProblemInput& input, Diagnostics& diagnostics);

}  // namespace qkv

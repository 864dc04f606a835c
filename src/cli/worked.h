// A problem as a command sees it: read from the options, planned, run and compared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared.h"

namespace qkv {

// A command's view of its problem: read, planned, run and compared with what a text prints.
struct Worked {
  Problem problem;
  Trace trace;
  std::shared_ptr<const Trace> truth;  // where `trace` itself rounds on the way, else null
  About about;
  std::vector<Comparison> comparisons;
  Telling telling;
  std::vector<std::string> input_files;
};

// What --weights brings, as matrices and settings; a matrix that has an option of its own stays.
void add_checkpoint(const SharedOptions& options, ProblemInput& input, Diagnostics& diagnostics);

// What a report says of the problem before any step; of a gradient nothing yet.
About about_of(const Problem& problem, const Diagnostics& diagnostics);

// The query that --row names, by its label or by its number as the problem counts; else an error is added.
std::optional<Index> query_named(const std::string& name, const std::vector<std::string>& tokens,
                                 int first_index, Diagnostics& diagnostics);

// The problem of FILE, the matrix files and the settings; or one that is not in a file of the user's.
std::optional<Worked> work_out(const SharedOptions& options, const Presentation& presentation,
                               Diagnostics& diagnostics);
std::optional<Worked> work_out(const ProblemInput& input, const SharedOptions& options,
                               const Presentation& presentation, Diagnostics& diagnostics);

}  // namespace qkv

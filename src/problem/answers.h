// A sheet of answers: sections named by step ids, with somebody's numbers, "_" where none was written.
//
// Which steps a problem has, and their shapes, only its plan knows; see check/sheet.h.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "problem/problem.h"

namespace qkv {

struct Answer {
  std::string step;  // as written in the header: "weights"; "" for a matrix alone
  Given written;     // `source` and `span` are those of the header
  std::vector<Span> cell_spans;
};

struct AnswerFile {
  SourcePtr source;
  std::vector<Answer> answers;  // in the order of the file
  // It says how to calculate, and holds nothing but what a problem may give or expect.
  bool is_problem = false;
};

// The steps that one sheet may hold; no trace of a size that can be filled in by hand comes near.
inline constexpr std::size_t kMostAnswers = 100'000;

// A file without any section is one matrix, an answer without a step.  Settings title, source and decimals
// may stand on top; others are pointed out as without effect. Every fault that can be found is added to
// `diagnostics`.
AnswerFile read_answers(const SourcePtr& source, Diagnostics& diagnostics);

}  // namespace qkv

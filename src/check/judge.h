// Marks a sheet as a good teacher would: step by step, errors carried forward, honest rounding accepted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/sheet.h"
#include "problem/answers.h"

namespace qkv {

// From best to worst, blank aside.
enum class Verdict {
  right,    // the true value rounds to it
  rounded,  // follows from the sheet's own rounded numbers, none of them wrong
  carried,  // follows from a wrong number earlier on the sheet
  wrong,
  blank,
};

struct Mistake;  // check/mistakes.h

struct JudgedStep {
  NodeId node = 0;
  Verdict verdict = Verdict::right;  // the worst of its cells; blank when nothing is filled in
  MatrixOf<Verdict> cells;
  // All mistakes that reproduce the wrong cells, the likeliest first.
  std::vector<const Mistake*> mistakes;
  // The first wrong cell, and what was expected there given the numbers before it; in a step with digits
  // cut off, the first of these and what it rounds to.
  Index row = 0;
  Index col = 0;
  std::string expected;
  bool is_rounded_root = false;  // explained by a rounded √d_k; see `root`
  std::string root;              // "1.41"
  bool is_cut_off = false;       // right but for digits that were cut off, not rounded
  bool is_trivial = false;       // one number in every cell, and wrong: what follows from it shows nothing
  // The first step on the sheet with the same mistake, in another head or matrix: one slip, made again.
  std::optional<NodeId> repeats = std::nullopt;
  bool earns = false;  // the point of this step
};

struct Judgement {
  std::vector<JudgedStep> steps;  // those on the sheet, in the order of the plan
  int points = 0;
  int of = 0;
  bool is_in_columns = false;  // the sheet keeps tokens in columns: its matrices were read transposed
  bool is_right() const;       // no wrong cell
};

// The answers by node.  Errors: a step that the plan lacks, another shape, a symbolic step, no number in a
// cell that asks for one.  Where all of them fit transposed, that is no other shape.
std::map<NodeId, Given> fit_answers(const Plan& plan, const AnswerFile& file, Diagnostics& diagnostics);

// `decimals` of the sentence about what was expected.
Judgement judge(const Trace& truth, std::map<NodeId, Given> answers, int decimals);

}  // namespace qkv

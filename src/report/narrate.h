// From a trace to a report: which steps, in what detail, with how many digits, in which words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/expect.h"
#include "report/report.h"
#include "run/equality.h"
#include "run/trace.h"

namespace qkv {

enum class Detail {
  summary,  // the result only
  steps,    // every main step
  cells,    // and the arithmetic of every cell
  full,     // and the softmax line by line, with the unshifted form beside it
};

// What a report says about the problem as a whole, before any step.
struct About {
  std::string title;
  std::string source;
  std::string file;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> tokens;  // the queries' labels, for --row
  int first_index = 1;
  Index heads = 1;
  Index kv_heads = 1;
  std::vector<Said> warnings;  // of the reader; for JSON, a terminal shows them as diagnostics
  Said mask_meaning;
  Said gradient_meaning;
};

// What the problem's method claims to be equal to, and how far apart the two were.
struct Proved {
  Said claim;
  Equality found;
};

struct Telling {
  Detail detail = Detail::steps;
  int decimals = 4;
  Language language = Language::en;
  std::vector<std::string> steps = {};       // ids; empty: all that `detail` shows
  std::optional<Index> row = std::nullopt;   // one query only
  std::optional<Index> head = std::nullopt;  // one head only, and what all heads share
  bool only_output = false;                  // the bare result
  bool exact = false;                        // fractions, roots and exponentials beside the decimals
  bool checks = false;                       // with a footer of what must hold
  std::vector<Proved> proofs = {};           // told at the end
  bool colours = true;                       // what renders it wants the values behind the texts
  // The true trace, where this one is rounded at every step or computed in a small format.
  const Trace* truth = nullptr;
};

// The lines at the head of a report: title, source, settings and what they mean.
std::vector<Block> head_lines(const About& about, Language language);

Report narrate(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
               const Telling& telling);

// The softmax of the first row in its five lines: max, shifted, exp, sum, weights.
Report softmax_lines(const Trace& trace, const Telling& telling);

// The tree from one number down to the inputs.
Report explain(const Trace& trace, const CellAt& at, const Telling& telling);

// Reads "output[t1,1]", "max[t1]", 'scores[苹果,吃]': labels first, then numbers counted from 1.
// nullopt with a reason when there is no such step or cell.
std::optional<CellAt> find_cell(const Plan& plan, const std::string& text, Said& reason, Said& hint);

}  // namespace qkv

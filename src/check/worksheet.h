// A sheet to print or to fill in: the problem on top, with all that is given, then every step asked for with
// "_" in each cell; and its key, the same sheet solved.
#pragma once

#include <string>
#include <vector>

#include "problem/problem.h"
#include "report/narrate.h"

namespace qkv {

// The steps a sheet asks for: those of `telling.steps`, or all that are computed and shown at its detail.
// Symbolic steps are left out; nobody can mark them.
std::vector<NodeId> steps_asked(const Plan& plan, const Telling& telling);

enum class Cells { blank, solved };

// As text: filled in, it is an answer file; solved, one in which everything is right.  The instruction names
// the problem file.
//   problem  for the masks as they were given; the other matrices stand in the trace
std::string worksheet_text(const Trace& trace, const Problem& problem, const About& about,
                           const Telling& telling, Cells cells);
// To print: tables with empty cells, or solved ones.
std::string worksheet_markdown(const Trace& trace, const Problem& problem, const About& about,
                               const Telling& telling, Cells cells);
std::string worksheet_latex(const Trace& trace, const Problem& problem, const About& about,
                            const Telling& telling, Cells cells);

}  // namespace qkv

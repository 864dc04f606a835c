// A sheet to print or to fill in: the problem on top, then every step asked for with "_" in each cell.
#pragma once

#include <string>
#include <vector>

#include "report/narrate.h"

namespace qkv {

// The steps a sheet asks for: those of `telling.steps`, or all that are computed and shown at its detail.
// Symbolic steps are left out; nobody can mark them.
std::vector<NodeId> steps_asked(const Plan& plan, const Telling& telling);

// As text: filled in, it is an answer file.  `command` names the problem file in the instruction.
std::string worksheet_text(const Plan& plan, const About& about, const Telling& telling);
// To print: tables with empty cells.
std::string worksheet_markdown(const Plan& plan, const About& about, const Telling& telling);
std::string worksheet_latex(const Plan& plan, const About& about, const Telling& telling);

}  // namespace qkv

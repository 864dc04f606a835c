// A trace as a spreadsheet that computes: a block a step, its cells as formulas over the cells of earlier
// blocks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/narrate.h"
#include "run/trace.h"

namespace qkv {

// CSV.  Of each step: its id, title and formula; a row of column labels; a row of cells for each of its rows;
// an empty line.  What is given stands as a number (=1/3 where it was so written), what is computed as a
// formula such as =B4*B9+C4*C9.  In place of a formula stands the value where the formula would have no such
// word (argmax), would need −∞ or an exponential that is out of a spreadsheet's range, or would be too long
// for a cell.  A symbolic cell has a column for each of its names. The steps that `telling` asks for, and all
// that they are computed from; the softmax always line by line.
std::string render_spreadsheet(const Trace& trace, const Telling& telling);

// An expression of numbers, references and the signs of report/cell_text.h in the words of a spreadsheet:
// "e^(B4 − B9) / √2" is "EXP(B4-B9)/SQRT(2)".  nullopt where it has none for a sign.
std::optional<std::string> spreadsheet_formula(std::string_view expression);

}  // namespace qkv

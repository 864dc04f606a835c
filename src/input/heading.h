// The line of column headings above a matrix.
#pragma once

#include "input/cells.h"
#include "input/forms.h"
#include "input/words.h"

namespace qkv {

// Drops the first row, with a note, where it is a heading by one of these rules:
//   * none of its words is a number, and the rows below hold numbers and are as wide, or wider by one label;
//   * it counts 0 1 2 … or 1 2 3 …, and the rows below are wider by one number that counts too: as pandas
//   prints.
//     That number is no cell either.
void drop_heading(const Paste& paste, const CellReader& cells, WordTable& table);

}  // namespace qkv

// The rows of one matrix, as people write them.
//
//   row  = [ label ( ":" | "|" ) ] cell { sep cell } [ ";" ]
//   cell = number | symbol | "_"
//   sep  = spaces, tabs or ","; the brackets [ ] ( ) { } around a row or the whole are ignored
//
// A section's body, cut out, is a matrix file; a matrix file pasted in is a section's body.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/matrix.h"
#include "base/number.h"
#include "input/cells.h"
#include "input/faults.h"

namespace qkv {

struct MatrixText {
  Index rows = 0;
  Index cols = 0;
  std::vector<Number> cells;  // row by row; a cell that could not be read is 0
  std::vector<Span> cell_spans;
  std::vector<std::string> row_labels;  // one per row, "" where a row has none; or empty
  std::vector<Span> row_spans;
  bool has_faults = false;  // errors were told of some cells
};

// Reads one matrix.  nullopt, with errors added, when its shape is unknown: no rows, ragged
// rows, too many cells.  A cell that is no number is an error too, but leaves the shape known.
std::optional<MatrixText> read_matrix(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics);

inline constexpr std::size_t kLongestLabel = 128;  // bytes

}  // namespace qkv

// Steps as they stand in a file, whoever wrote it: what `qkv trace` prints, JSON, a sheet, or a matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

// A number as it stands somewhere, and what one unit of its last digit is; 0 for an exact number.
struct ShownNumber {
  std::string text;
  double value = 0;
  double unit = 0;
  bool is_blank = false;
};

struct ShownStep {
  std::string id;                       // "" for a matrix without a name
  std::vector<std::string> rows, cols;  // labels, or numbers
  std::vector<std::vector<ShownNumber>> cells;
  std::vector<ShownNumber> sums = {};  // of the rows, where they are printed beside them
};

// Reads a trace as JSON (schema qkv/trace-1), named lists of lists as JSON ({"weights": [[0.4, 0.6]]}), the
// text that `qkv trace` prints, a sheet of answers, or one matrix, as text or as a NumPy array; by content,
// not by name.  Nothing, with errors added, when it is none of them.
std::optional<std::vector<ShownStep>> read_steps(const SourcePtr& source, Diagnostics& diagnostics);

// Is this what `qkv trace` writes, as JSON or as text?  Told by content.
enum class TraceForm { none, json, text };
TraceForm trace_form(const Source& source);

}  // namespace qkv

// Compares what a text prints for a step with what the trace says.
//
// A printed number agrees when the true value, rounded to the digits written, is that number;
// or when carrying rounded numbers from step to step, as on paper, gives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/cell_text.h"
#include "run/trace.h"

namespace qkv {

// The printed numbers of one step.  Blank cells are not compared.
struct Printed {
  std::string step;
  Shape shape;
  std::vector<Number> cells;  // row by row
};

struct Difference {
  CellAt at;
  std::string printed;
  std::string calculated;  // at the decimals written
  std::string by;          // printed − true, with four more digits
};

enum class Agreement { exact, on_paper, differs };

struct Comparison {
  std::string step;
  Index compared = 0;  // cells with a printed number
  Agreement agreement = Agreement::exact;
  int paper_decimals = 0;  // with on_paper
  std::vector<Difference> differences = {};
};

std::vector<Comparison> compare(const Trace& trace, const std::vector<Printed>& printed);

}  // namespace qkv

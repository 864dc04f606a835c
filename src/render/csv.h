// The tables of a report as comma-separated values.
#pragma once

#include <string>

#include "report/report.h"

namespace qkv {

// RFC 4180 with plain line ends.  Each table is a block, with an empty line between two: the step's id and
// the names of the columns, then a line a row, which begins with the row's label.  Minus infinity is -inf.
std::string render_csv(const Report& report);

}  // namespace qkv

// The tables of a report as comma-separated values.
#pragma once

#include <string>

#include "report/report.h"

namespace qkv {

// RFC 4180 with plain line ends.  Each table is a block, with an empty line between two; its first line holds the step's
// id, where there are row labels below it, and the names of the columns.  Minus infinity is -inf.
std::string render_csv(const Report& report);

}  // namespace qkv

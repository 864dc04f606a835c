// One matrix of a trace, for other programs.
#pragma once

#include "cli/worked.h"

namespace qkv {

// The one table that the report shows as a NumPy file, to --output or standard output; an error that says how
// to choose when it shows several or one of symbols, or when the bytes would go to a terminal.  The values
// are the doubles nearest to the true ones; with --arithmetic those of the format.
void write_array(const Report& report, const Worked& worked, const SharedOptions& options,
                 Diagnostics& diagnostics);

// A matrix of doubles as a NumPy file, likewise.
//   id  of the step it is
void write_array(const Matrix& matrix, const std::string& id, const SharedOptions& options,
                 const std::vector<std::string>& inputs, Diagnostics& diagnostics);

}  // namespace qkv

// The result alone of a large problem: read, computed and printed without a trace.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/shared.h"

namespace qkv {

// Of the problem and its matrices together, known without reading them; what cannot be looked at counts as
// nothing.
std::uintmax_t input_bytes(const SharedOptions& options);

// The exit status; nullopt where the problem is to be traced: because it is small, because more than the
// result is asked for, because some line of it is not one that fast/ knows, or because there is something to
// complain of, which the other way does better.
std::optional<int> show_result_alone(const SharedOptions& options, const Presentation& presentation,
                                     Diagnostics& diagnostics);

}  // namespace qkv

// The footer of --checks: what must hold in every trace, and whether it does in this one.
#pragma once

#include <vector>

#include "report/report.h"
#include "run/trace.h"

namespace qkv {

// A heading and a line for each law; nothing where no law applies.
std::vector<Block> checks(const Trace& trace, Language language);

}  // namespace qkv

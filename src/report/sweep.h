// The softmax of one row again and again, a setting changing from line to line: how it saturates or spreads.
#pragma once

#include <string>
#include <vector>

#include "report/narrate.h"

namespace qkv {

struct SweepLine {
  std::string name;  // "temperature = 2"
  Trace trace;       // with entropies; one row
};

// One line each: the weights, the largest of them, the entropy of the row in nats and bits.
//   scores  what stands above the weights; when a row repeats them, one copy is shown
Report softmax_sweep(const std::vector<SweepLine>& lines, const std::vector<std::string>& scores,
                     const Telling& telling);

}  // namespace qkv

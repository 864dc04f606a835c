// How far the digits of a trace are from the true ones: of one rounded at every step, as on
// paper, or of one carried out in a small floating-point format.
#pragma once

#include <optional>
#include <string>

#include "report/cell_text.h"
#include "run/trace.h"

namespace qkv {

struct Departure {
  CellAt at;
  std::string here;
  std::string truly;
  std::optional<long long>
      units;  // here − truly, in units of the last digit; nullopt where one is no plain decimal
};

struct Departures {
  Index compared = 0;
  Index differing = 0;
  std::optional<Departure> first;
  std::optional<Departure> largest;  // an overflow, which no unit measures, is larger than any other
};

// Compares the shown digits of one step.
Departures departures(const Trace& trace, const Trace& truth, NodeId id, int decimals);

}  // namespace qkv

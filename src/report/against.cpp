#include "report/against.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace qkv {
namespace {

// More digits than a long long holds are no longer counted in units of the last one.
constexpr std::size_t kCountableDigits = 18;

// "-1.25" → -125
std::optional<long long> without_point(std::string text) {
  std::erase(text, '.');
  const bool is_plain = text.find_first_not_of("-0123456789") == std::string::npos;
  if (!is_plain || text.empty() || text.size() > kCountableDigits) return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

long long size_of(const Departure& d) {
  return d.units ? std::llabs(*d.units) : std::numeric_limits<long long>::max();
}

}  // namespace

Departures departures(const Trace& trace, const Trace& truth, NodeId id, int decimals) {
  const Node& node = trace.plan()[id];
  Departures found;
  for (Index i = 0; i < node.shape.rows; ++i) {
    for (Index j = 0; j < node.shown_cols(); ++j) {
      const CellAt at{id, i, j};
      ++found.compared;
      Departure d{at, shown_cell(trace, at, decimals).text, shown_cell(truth, at, decimals).text,
                  std::nullopt};
      if (d.here == d.truly) continue;
      ++found.differing;
      const auto here = without_point(d.here);
      const auto truly = without_point(d.truly);
      if (here && truly) d.units = *here - *truly;
      if (!found.largest || size_of(d) > size_of(*found.largest)) found.largest = d;
      if (!found.first) found.first = std::move(d);
    }
  }
  return found;
}

}  // namespace qkv

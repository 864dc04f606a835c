// Which keys each query sees, as runs of neighbours: of a causal mask one a query, of a window with sinks
// two, where a table would hold a cell for every pair.
#pragma once

#include <cstddef>
#include <vector>

#include "base/matrix.h"

namespace qkv {

struct KeyRun {
  Index begin = 0;
  Index end = 0;  // the first key behind it
  bool operator==(const KeyRun&) const = default;
};

struct KeyRuns {
  // Those of query i are runs[first[i]] to runs[first[i + 1] - 1]: ascending, apart, none empty.
  std::vector<std::size_t> first{0};
  std::vector<KeyRun> runs;

  void add_query(const std::vector<KeyRun>& more) {
    runs.insert(runs.end(), more.begin(), more.end());
    first.push_back(runs.size());
  }
  Index queries() const { return static_cast<Index>(first.size()) - 1; }
};

// Of a table: the cells that are true.
KeyRuns key_runs(const Mask& mask);

}  // namespace qkv

#include "base/key_runs.h"

#include "base/open_runs.h"

namespace qkv {

KeyRuns key_runs(const Mask& mask) {
  KeyRuns result;
  for (Index i = 0; i < mask.rows(); ++i) {
    std::vector<KeyRun> seen;
    each_open_run(&mask, i, mask.cols(), [&](Index begin, Index end) { seen.push_back({begin, end}); });
    result.add_query(seen);
  }
  return result;
}

}  // namespace qkv

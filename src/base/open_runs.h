// A row of a mask as the runs of columns that it leaves open: a causal row is one run, and a loop over it
// asks nothing of each cell.
#pragma once

#include <cstring>

#include "base/matrix.h"

namespace qkv {

// Calls use(begin, end) for every run of open columns, from left to right.
//   mask  [rows, cols]; null: everything is open
template <class Use>
void each_open_run(const Mask* mask, Index row, Index cols, Use&& use) {
  if (cols == 0) return;
  if (mask == nullptr) return use(Index{0}, cols);
  static_assert(sizeof(bool) == 1);
  const bool* const first = mask->data() + row * cols;
  const bool* const last = first + cols;
  const auto next = [last](const bool* from, bool wanted) {
    const auto left = static_cast<std::size_t>(last - from);
    const void* const found = left == 0 ? nullptr : std::memchr(from, wanted, left);
    return found == nullptr ? last : static_cast<const bool*>(found);
  };
  for (const bool* begin = next(first, true); begin != last;) {
    const bool* const end = next(begin, false);
    use(static_cast<Index>(begin - first), static_cast<Index>(end - first));
    begin = next(end, true);
  }
}

}  // namespace qkv

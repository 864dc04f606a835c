// Which keys each query may look at: the setting `mask`, the section [mask], those of single
// heads and every -inf put together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/problem.h"
#include "problem/roles.h"

namespace qkv {

struct Visibility {
  std::shared_ptr<const Mask> allowed;   // null: every key
  std::shared_ptr<const Mask> mask;      // null: neither the setting nor [mask]
  std::shared_ptr<const Mask> by_sinks;  // as Problem::seen_by_sinks
  std::shared_ptr<const MaskSetting> rule;  // as Problem::mask_rule
  std::vector<HeadMask> heads;           // as Problem::head_masks
  Said meaning;
  long align = 0;
};

// Both counts in `roles` must be known.  Warns of empty rows, or refuses them, as the
// setting `empty_row` wants.
//   tokens  one label per query, to name empty rows
Visibility visibility(const Draft& draft, const Roles& roles, const std::vector<std::string>& tokens,
                      Diagnostics& diagnostics);

}  // namespace qkv

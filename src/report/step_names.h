// What somebody probably meant who named a step that a problem does not have.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "plan/plan.h"

namespace qkv {

// "weights" of a problem with two heads: "did you mean one of: h1.weights | h2.weights?"; a title, 权重,
// stands for its step; else what is spelt alike, or all there is.
//   ids  those that may be named here
Said hint_for_step(const Plan& plan, const std::string& word, const std::vector<std::string>& ids);

}  // namespace qkv

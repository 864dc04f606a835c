// What was shown to be equal, in words.
#pragma once

#include <vector>

#include "report/narrate.h"

namespace qkv {

// `are_rounded`: the steps that are told are rounded, those that were compared are not.
std::vector<Block> proofs(const std::vector<Proved>& proofs, Language language, bool are_rounded);

// Neither refuted nor undefined.
bool is_shown(const Equality& found);

// The power of ten that is not below a difference, as everybody writes it: "1e-38".
std::string magnitude_text(double by);

}  // namespace qkv

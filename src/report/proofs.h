// What was shown to be equal, in words.
#pragma once

#include <vector>

#include "report/narrate.h"

namespace qkv {

std::vector<Block> proofs(const std::vector<Proved>& proofs, Language language);

// The power of ten that is not below a difference, as everybody writes it: "1e-38".
std::string magnitude_text(double by);

}  // namespace qkv

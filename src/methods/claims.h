// What a calculation claims to be equal to, as other calculations that must give the same numbers.
#pragma once

#include <vector>

#include "base/text.h"
#include "plan/row_pair.h"
#include "problem/problem.h"

namespace qkv {

struct Claim {
  struct Part {
    Plan other;
    std::vector<RowPair> rows;
  };
  Said sentence;  // "decoding with a cache gives the rows of one full causal pass"
  std::vector<Part> parts;
};

// All that hold for this problem by what its method promises; `plan` is the problem's own.
std::vector<Claim> claims_of(const Problem& problem, const Plan& plan);

}  // namespace qkv

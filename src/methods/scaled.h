// Matrices of short decimals as whole numbers over a power of ten.  Their projections are whole numbers too,
// which doubles add up without rounding while they stay below 2^53: exact, and at the speed of doubles.
//
// Not on processors whose doubles are not plain (base/bounded.h).
#pragma once

#include <optional>

#include "base/matrix.h"
#include "problem/problem.h"

namespace qkv {

// whole / 10^decimals
struct ScaledMatrix {
  Matrix whole;
  int decimals = 0;
  double most = 0;  // no whole number is larger; below 2^53
};

// W and b; w is none where a number is no short decimal.
struct ScaledWeights {
  std::optional<ScaledMatrix> w, b;

  ScaledWeights(const Given& given_w, const Given* given_b, Layout layout);
  // Gives w and b such scales that x·w + b is a sum of whole numbers of one scale, x.decimals + w->decimals.
  // False where that could reach 2^53.
  bool fit(const ScaledMatrix& x);
};

// Q, K or V, given or projected; nullopt where it has no such form.
std::optional<ScaledMatrix> scaled_operand(const Problem& problem, const char* name);

}  // namespace qkv

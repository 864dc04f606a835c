// New problems that a person can do by hand, and that tell mistakes apart.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check/mistakes.h"
#include "run/trace.h"

namespace qkv {

// The sizes within which every seed has its exercise.
inline constexpr Index kFewestTokens = 2, kMostTokens = 6;
inline constexpr Index kLeastKeyWidth = 1, kMostKeyWidth = 9;
inline constexpr Index kMostHeads = 4;
inline constexpr int kFewestDecimals = 2, kMostDecimals = 6;

struct ExerciseRequest {
  std::uint64_t seed = 1;
  Index tokens = 3;
  Index heads = 1;
  Index d_k = 4;  // of one head, as d_v
  Index d_v = 2;
  bool is_causal = false;
  int decimals = 2;
  Language language = Language::en;
};

// Mistakes that nobody can tell apart in a step, because they give the same numbers there; or from a right
// answer, because they give the right ones.
struct Alike {
  std::string step;
  std::vector<const Mistake*> mistakes;
  bool is_right = false;
};

struct Exercise {
  std::string text;          // of a problem file
  std::vector<Alike> alike;  // in the order of the steps, at the asked decimals
};

// The same request gives the same exercise on every machine.
//
// Entries are small whole numbers, no score is beyond ±9, and at the asked decimals no value lies near a
// rounding edge.  No known mistake gives the right numbers and no two give the same ones, but for those that
// do at this size whatever the numbers: where d_k is the number of keys, or its root, and where √d_k is 1.
// Where no such problem is found (two tokens, two decimals, d_k = 1), it is the one that tells most apart.
//   request   within the sizes above
//   trace_of  reads, plans and runs a problem text
Exercise make_exercise(const ExerciseRequest& request,
                       const std::function<Trace(const std::string&)>& trace_of);

}  // namespace qkv

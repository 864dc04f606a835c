// New problems that a person can do by hand, and that tell mistakes apart.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "run/trace.h"

namespace qkv {

struct ExerciseRequest {
  std::uint64_t seed = 1;
  Index tokens = 3;
  Index d_k = 4;
  Index d_v = 2;
  bool is_causal = false;
  int decimals = 2;
  Language language = Language::en;
};

// The text of a problem file.  The same request gives the same problem on every machine.
//
// Entries are small whole numbers and no score is beyond ±9; at the asked decimals no value lies near a
// rounding edge, and no two known mistakes give the same numbers in the same step.  nullopt when no such
// problem was found, as with one token.
//   trace_of  reads, plans and runs a problem text
std::optional<std::string> make_exercise(const ExerciseRequest& request,
                                         const std::function<Trace(const std::string&)>& trace_of);

}  // namespace qkv

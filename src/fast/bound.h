// How far an output of attend() can be from attention of the true real numbers, told without computing it.
#pragma once

#include <vector>

#include "fast/attend.h"

namespace qkv::fast {

// How an arithmetic rounds.
struct RoundingUnits {
  double unit;            // of a result at most, relative; four times as much of an exponential
  double least;           // what underflow adds to that, absolute
  double nearly_nothing;  // what an exponential is at most that became 0
  double most;            // numbers up to it do not overflow
};
template <class T>
RoundingUnits units_of();
RoundingUnits units_of_double_doubles();

// One bound for each query, of every component of its output: from the lengths of queries and keys, the
// number of keys it sees and the largest value.  Proved in bound.cpp; infinite where a score may overflow.
//   are_inputs_exact  q, k, v and the settings are the true numbers; else each is off by a rounding
//   units             of the arithmetic that computes the job, if that is not T's own
template <class T>
std::vector<double> error_bounds(const Job<T>& job, bool is_online, bool are_inputs_exact = false,
                                 const RoundingUnits& units = units_of<T>());

}  // namespace qkv::fast

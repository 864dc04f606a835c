// How far an output of attend() can be from attention of the true real numbers, told without computing it.
#pragma once

#include <vector>

#include "fast/attend.h"

namespace qkv::fast {

// One bound for each query, of every component of its output: from the lengths of queries and keys, the
// number of keys it sees and the largest value.  Proved in bound.cpp; infinite where a score may overflow.
// are_inputs_exact: q, k, v and the settings are the true numbers; else the nearest T to them.
template <class T>
std::vector<double> error_bounds(const Job<T>& job, bool is_online, bool are_inputs_exact = false);

}  // namespace qkv::fast

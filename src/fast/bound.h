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

// How far q, k and v of a job are from the true ones.
struct InputErrors {
  bool are_rounded = true;           // each number by a rounding, as decimals are
  std::vector<double> queries = {};  // and each query by a vector of such a length; empty: of none
  double keys = 0;                   // a key by one of such a length at most
  double values = 0;                 // a component of a value by so much at most
};

// One bound for each query, of every component of its output: from the lengths of queries and keys, the
// number of keys it sees and the largest value.  Proved in bound.cpp; infinite where a score may overflow.
//   units  of the arithmetic that computes the job, if that is not T's own
template <class T>
std::vector<double> error_bounds(const Job<T>& job, bool is_online, const InputErrors& inputs = {},
                                 const RoundingUnits& units = units_of<T>());

// At least the length of a vector, and hardly more.   step: from one of its numbers to the next
template <class T>
double length_of(const T* numbers, Index count, Index step = 1);

// Some columns of W and the numbers of b that go with them, each taken together as one vector.
struct ProjectionPart {
  Index depth = 0;  // rows of W
  Index count = 0;  // columns
  double w_length = 0, b_length = 0;
};
// How far a row of X·W + b can be from the true one in those columns, as a vector; each number of X, W and b
// is off by a rounding, and every sum is added up from the left.  Infinite where it may overflow.
double projection_error(double x_length, const ProjectionPart& part, const RoundingUnits& units);

}  // namespace qkv::fast

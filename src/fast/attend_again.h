// One query of attend() again, in double-doubles (base/double_double.h): for the digits that doubles leave
// open.
//
// A row of 4096 keys of 64 numbers takes about a millisecond, and error_bounds() with their rounding says
// that 25 digits of it are right.
#pragma once

#include <vector>

#include "base/double_double.h"
#include "fast/attend.h"

namespace qkv::fast {

// The numbers of one head.
struct AgainJob {
  Job<double> upper;  // of all numbers the nearest doubles
  // The lower parts, as upper.q, k and v have theirs.  A stride may be 0: one row, of zeros, for all.
  const double* q = nullptr;
  const double* k = nullptr;
  const double* v = nullptr;
  Index q_stride = 0, k_stride = 0, v_stride = 0;
  // The settings that `upper` has.
  DoubleDouble by{1, 0}, softcap{1, 0}, slope{0, 0}, temperature{1, 0}, sink{0, 0};
};

// → output [d_v], the same bits on every processor.  Only for a query that sees a key, and whose bound is
// finite.
void attend_again(const AgainJob& job, Index query, DoubleDouble* output, Isa isa = best_isa());

// A matrix of which each number is hi + lo, row-major; a stride may be 0: one row for all.
struct AgainMatrix {
  const double* hi = nullptr;
  const double* lo = nullptr;
  Index hi_stride = 0, lo_stride = 0;
};

// x [rows, depth] · w [depth, columns] + b [1, columns] → hi and lo [rows, columns], each sum added up from
// the left; the same bits on every processor and with any number of threads.   b: null where there is none
void project_again(const AgainMatrix& x, Index rows, const AgainMatrix& w, Index depth, Index columns,
                   const AgainMatrix* b, double* hi, double* lo, const How& how = {});

}  // namespace qkv::fast

// How far apart two calculations are, with certainty.
#pragma once

#include "plan/row_pair.h"
#include "run/trace.h"

namespace qkv {

struct Equality {
  Index compared = 0;    // numbers
  Index exactly = 0;     // of them, those that are the same number for certain
  double largest = 0;    // no difference is larger; infinity when nothing can be said
  bool differs = false;  // some difference is not zero, for certain
  Index undefined = 0;   // 0/0 on both sides: of these nothing can be said

  void add(const Equality& more);
};

// Compares whole rows, cell by cell; of symbolic rows the coefficients of each name, 0 where a row lacks it.
Equality compare_rows(const Trace& trace, const Trace& other, const RowPair& rows);

}  // namespace qkv

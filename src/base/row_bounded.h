// Doubles with one bound of their error a row: what a large matrix can afford.
//
// A bound a cell (base/bounded.h) costs several times the arithmetic that it watches.  The bound of a row is
// worked out beforehand, from the lengths of vectors and the largest number of a row, by the formulas that
// ops/row_bounds.cpp proves; it is wider, and still far narrower than a printed digit.
#pragma once

#include <cmath>
#include <span>

#include "base/matrix.h"

namespace qkv {

// Every number of the row is within absolute + relative · |the double| of the true one.
struct RowBound {
  double absolute = 0;
  double relative = 0;
  double at(double value) const { return absolute + relative * std::abs(value); }
};

// Cells that a mask closes hold 0 or −∞, and are exact; all others are finite, or no bound is known.
struct RowBounded {
  const Matrix& values;
  std::span<const RowBound> bounds;  // one a row
};

}  // namespace qkv

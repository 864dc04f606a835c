// The sign of a number that is known not to be 0, from enclosures of growing precision.
#pragma once

#include "base/interval.h"

namespace qkv {

//   enclose  () → Interval around the number, at the precision of the scope
// Ends, because the enclosures of a number that is not 0 leave 0 in the end.
template <class Enclose>
int sign_by_intervals(Enclose enclose) {
  constexpr unsigned kFirstDigits = 40;
  const Interval zero = 0;
  for (unsigned digits = kFirstDigits;; digits *= 2) {
    const PrecisionScope precision(digits);
    const Interval x = enclose();
    if (certainly_exceeds(x, zero)) return 1;
    if (certainly_exceeds(zero, x)) return -1;
  }
}

}  // namespace qkv

// Numbers as written, as doubles that know how far they are from what was written.
#pragma once

#include "base/bounded.h"
#include "base/exact.h"
#include "base/number.h"

namespace qkv {

// The double nearest to a fraction, and whether it is the fraction.
Bounded bounded(const Rational& value);
// Symbols and blanks count as 0.
Bounded bounded(const Number& number);

}  // namespace qkv

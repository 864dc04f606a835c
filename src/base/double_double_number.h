// Double-doubles of numbers as written, and their text.
#pragma once

#include <optional>
#include <string>

#include "base/double_double.h"
#include "base/number.h"

namespace qkv {

// A number as it is written, and the root of one, to within kRounding; nullopt where it is no double-double:
// 0 aside, below 2^-500 or above 2^500.
std::optional<DoubleDouble> double_double_of(const Number& number);
std::optional<DoubleDouble> double_double_of_root(const Number& number);

// The text of every number that is within `error` of x, if all of them have the same; see base/decimal.h.
std::optional<std::string> fixed_text(const DoubleDouble& x, double error, int decimals);

}  // namespace qkv

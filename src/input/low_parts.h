// What short decimals have beyond the doubles nearest to them: 0.1 is a double and −5.55…·10^-18.
#pragma once

#include <optional>
#include <vector>

#include "base/number.h"
#include "input/numbers.h"

namespace qkv {

// For each number, decimal − double, to within 2^-105 of the number.   numbers: decimals of at most 15 digits
// nullopt where a number, 0 aside, is so small or large that the rest might be no normal double.
std::optional<std::vector<double>> low_parts(const Numbers& numbers);
// The same of numbers that may have more digits or be expressions; nullopt also where one's value is not the
// nearest double.
std::optional<std::vector<double>> low_parts(const std::vector<Number>& numbers);

}  // namespace qkv

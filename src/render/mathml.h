// Formulas in MathML Core, which browsers set themselves.
#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace qkv {

// <math> with "name = right"; the formula must have parts.
std::string mathml(const Formula& formula);

// A step id as a symbol: "W_Q" is W with an index, "h1.scores" a word.
std::string mathml_name(std::string_view id);

}  // namespace qkv

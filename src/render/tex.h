// Formulas in TeX, for Markdown and LaTeX: what stands between dollar signs.
#pragma once

#include <string>
#include <string_view>

#include "report/math.h"

namespace qkv {

// "\frac{\mathit{scores}}{\sqrt{d_{k}}}".  Needs \operatorname and \text, of amsmath.
std::string tex_math(const Math& math);

// A step id as a symbol: "W_Q" is W_{Q}, "h1.scores" is \mathit{h1.scores}.
std::string tex_name(std::string_view id);

// What a table's cell shows: "-0.5000", "−∞", "1/√2 ≈ 0.7071", "0.2689·v0 + 0.7311·v1".
std::string tex_number(std::string_view shown);

}  // namespace qkv

// Exact values as one writes them on paper.

#include <algorithm>

#include "base/exact.h"

namespace qkv {
namespace {

// "e", "e^2", "e^(-1/√2)"
std::string power_of_e(const Algebraic& exponent) {
  const std::string text = text_of(exponent);
  if (text == "1") return "e";
  const bool is_plain = text.find_first_not_of("0123456789") == std::string::npos;
  return is_plain ? "e^" + text : "e^(" + text + ")";
}

// The largest power of e first: "e^2 + 1", "2 + e^(-1/√2)".
std::string text_of(Sum sum) {
  std::stable_sort(sum.begin(), sum.end(), [](const Exponential& a, const Exponential& b) {
    return sign(a.exponent - b.exponent) > 0;
  });
  std::string text;
  for (const Exponential& e : sum) {
    const auto& terms = e.coefficient.terms();
    const bool is_single = terms.size() == 1;
    const bool is_negative = is_single && terms.front().coefficient < 0;
    std::string size = is_single ? text_of_size(terms.front()) : "(" + text_of(e.coefficient) + ")";
    if (!e.exponent.is_zero()) {
      size = size == "1" ? power_of_e(e.exponent) : size + "·" + power_of_e(e.exponent);
    } else if (!is_single && sum.size() == 1) {
      size = text_of(e.coefficient);
    }
    text = joined(text, is_negative, size);
  }
  return text;
}

std::string in_brackets(const Sum& sum) {
  const std::string text = text_of(sum);
  return text.find_first_of(" /·") == std::string::npos ||
                 (sum.size() == 1 && text.find(' ') == std::string::npos)
             ? text
             : "(" + text + ")";
}

}  // namespace

std::string exact_text(const Exact& x) {
  if (!x.is_finite()) return "";
  if (x.is_rational()) return x.rational().str();
  const Sum below = x.denominator();
  if (below.size() == 1) return text_of(x.numerator());  // it is 1: any other single term was divided out
  return in_brackets(x.numerator()) + " / " + in_brackets(below);
}

}  // namespace qkv

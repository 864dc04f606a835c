#include "base/decimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fixed.h"

namespace qkv {

std::string without_negative_zero(std::string text) {
  if (text.starts_with('-') && text.find_first_of("123456789infa") == std::string::npos) text.erase(0, 1);
  return text;
}

std::size_t whole_digits(const std::string& fixed) {
  return std::min(fixed.find('.'), fixed.size()) - (fixed.starts_with('-') ? 1 : 0);
}

std::string fixed_text(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (decimals <= FixedDecimals::kMostDecimals) {
    if (auto text = FixedDecimals(decimals).exact_text(value)) return *std::move(text);
  }
  // fmt's fixed and exponent forms round exactly, half to even, as printf does.
  if (std::abs(value) < kScientificFrom) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (whole_digits(text) < kScientificDigits) return without_negative_zero(std::move(text));
  }
  return fmt::format("{:.{}e}", value, decimals);
}

std::string shortest_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value == 0 ? 0.0 : value);
}

}  // namespace qkv

#include "calc/sizes.h"

#include <array>

#include "base/exact.h"

namespace qkv {
namespace {

constexpr int kSizeDecimals = 3;

using Units = std::array<const char*, 7>;
constexpr Units kBinary{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr Units kDecimal{"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};

std::string size_in(const Integer& bytes, const Integer& step, const Units& units) {
  Integer unit = 1;
  std::size_t i = 0;
  while (i + 1 < units.size() && bytes >= unit * step) {
    unit *= step;
    ++i;
  }
  return short_text(Rational(bytes, unit), kSizeDecimals) + " " + units[i];
}

}  // namespace

std::string grouped(const Integer& count) {
  std::string text = count.str();
  const std::size_t first_digit = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = text.size(); at > first_digit + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

Integer bytes_of_bits(const Integer& bits) { return (bits + 7) / 8; }

std::string binary_size(const Integer& bytes) { return size_in(bytes, 1024, kBinary); }
std::string decimal_size(const Integer& bytes) { return size_in(bytes, 1000, kDecimal); }

std::string both_sizes(const Integer& bytes) {
  return bytes < 1000 ? "" : binary_size(bytes) + " = " + decimal_size(bytes);
}

std::string times(const Rational& ratio) {
  const bool is_part = numerator(ratio) == 1 && denominator(ratio) != 1;
  return (is_part ? ratio.str() : short_text(ratio, kSizeDecimals)) + "×";
}

std::string short_text(const Rational& value, int decimals) {
  std::string text = fixed_text(Exact(value), decimals).value();
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace qkv

#include "input/float_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace qkv {

std::uint64_t bits_of(std::string_view bytes, bool is_big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char byte = bytes[is_big_endian ? i : bytes.size() - 1 - i];
    bits = bits << 8U | static_cast<unsigned char>(byte);
  }
  return bits;
}

double half_of(std::uint64_t bits) {
  const auto exponent = static_cast<int>(bits >> 10U & 0x1fU);
  const auto fraction = static_cast<double>(bits & 0x3ffU);
  double size = 0;
  if (exponent == 0x1f) {
    size = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits >> 15U & 1U) != 0 ? -size : size;
}

double bfloat_of(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16U)); }

std::string all_digits(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "+inf" : "-inf";  // signed, a word is never taken for a label
  if (value == 0) return "0";
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const auto bits = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const int decimals = std::max(0, 53 - exponent - std::countr_zero(bits));
  if (std::abs(value) >= 1e-5 && std::abs(value) < 1e17) return fmt::format("{:.{}f}", value, decimals);
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value))));
  // The logarithm may be one off.
  std::string text = fmt::format("{:.{}e}", value, std::max(0, decimals + before_point + 1));
  const std::size_t e = text.find('e');
  const std::size_t last = text.find_last_not_of('0', e - 1);
  const std::size_t end = text[last] == '.' ? last : last + 1;
  return text.find('.') < e ? text.erase(end, e - end) : text;
}

}  // namespace qkv

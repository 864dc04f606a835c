// Numbers as files of arrays hold them, and their text with every digit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qkv {

// Up to eight bytes.
std::uint64_t bits_of(std::string_view bytes, bool is_big_endian);

// Half precision: one bit of sign, five of exponent, ten of fraction.
double half_of(std::uint64_t bits);

// bfloat16: the upper half of a float.
double bfloat_of(std::uint64_t bits);

// A double is a whole number times a power of two, so its decimal text ends:
// "0.1000000000000000055511151231257827".
// "+inf" has its sign, so that it is never taken for a label.
std::string all_digits(double value);

}  // namespace qkv

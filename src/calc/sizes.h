// Counts and sizes as a reader wants them: 131,072 bytes, 128 KiB, 131.072 KB, 4×.
//
// KiB, MiB, GiB count in 1,024s and KB, MB, GB in 1,000s.  An article that writes "128 KB" for 131,072
// bytes means the first; both are named, so that nobody has to guess.
#pragma once

#include <string>

#include "base/algebraic.h"

namespace qkv {

// "131,072"
std::string grouped(const Integer& count);

// Of a size in bits: the bytes it fills, a started one included.
Integer bytes_of_bits(const Integer& bits);

// "128 KiB", "131.072 KB": in the largest unit that fits, three decimals at most.
std::string binary_size(const Integer& bytes);
std::string decimal_size(const Integer& bytes);

// "128 KiB = 131.072 KB"; nothing below 1,000 bytes, where the bytes say it all.
std::string both_sizes(const Integer& bytes);

// "4×", "1/8×", "0.018×"
std::string times(const Rational& ratio);

// At most `decimals` digits after the point, and no zeros at the end.
std::string short_text(const Rational& value, int decimals);

}  // namespace qkv

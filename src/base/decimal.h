// Number text exists once: fixed digits, half to even, never "-0.00", infinity spelt out.
//
// All text here is ASCII with '-'; a renderer may put the typographic signs in.
#pragma once

#include <string>

namespace qkv {

// From here on a fixed number of decimals would print digits nobody reads.
inline constexpr double kScientificFrom = 1e15;
inline constexpr std::size_t kScientificDigits =
    16;  // before the point: 999999999999999.99 rounds up to them

// `decimals` digits after the point, correctly rounded (half to even) from the double's own
// value: "0.4011", "-1.8000", "inf", "-inf", "nan"; from 1e15 on "1.0000e+15".
std::string fixed_text(double value, int decimals);

// The shortest text that reads back as the same double: "0.1", "1e+300".
std::string shortest_text(double value);

// How many digits stand before the point.
std::size_t whole_digits(const std::string& fixed);

// "-0.00" says something that is not so.
std::string without_negative_zero(std::string text);

}  // namespace qkv

// Whole numbers from the command line, for the commands that calculate with sizes alone.
#pragma once

#include <optional>
#include <string>

#include "base/algebraic.h"
#include "base/diagnostic.h"

namespace qkv {

// More than any model has; what is larger is a slip.
inline constexpr long long kMostCount = 1'000'000'000'000;

// A whole number from `least` to `most`; nullopt with an error that names the option.
std::optional<long long> count_of(const std::string& option, const std::string& text,
                                  Diagnostics& diagnostics, long long least = 1, long long most = kMostCount);

// Bits of a number that takes so many bytes: "2" is 16, "0.5" is 4.
std::optional<long long> bits_of_bytes(const std::string& option, const std::string& text,
                                       Diagnostics& diagnostics);

// Whether a count of bytes or operations is one that JSON readers keep whole, 2^63 at most; else an error.
bool is_countable(const Integer& count, Diagnostics& diagnostics);

}  // namespace qkv

// What the readers of LaTeX share: its letters, and the commands that show nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace qkv {

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Take none, and show nothing.
inline constexpr std::array<std::string_view, 17> kSpaces{
    "quad", "qquad", "displaystyle", "textstyle", "left",   "right",    "big", "Big", "bigl",
    "bigr", "hline", "thinspace",    "enspace",   "limits", "nonumber", "bf",  "rm"};

}  // namespace qkv

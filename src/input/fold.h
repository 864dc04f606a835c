// The full-width forms that a Chinese keyboard produces, read as their ASCII twins.
//
//   ， ： ； ＝ ［ ］ （ ） ｛ ｝ ｜ ＃ ％ ． ＋ － ＊ ／ ０ … ９   U+3000   U+2212 −   ∞
//
// Nothing is rewritten: words keep their place in the source, so that a caret can find it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

inline constexpr char kOther = '\0';       // a character without an ASCII twin
inline constexpr char kInfinity = '\x01';  // ∞, which reads as "inf"

struct Folded {
  char value;          // ASCII, kOther or kInfinity
  std::size_t length;  // bytes it takes in the source
};

// The character at `at`, which must lie inside the text.
Folded fold_at(std::string_view text, std::size_t at);

inline bool is_space(char folded) {
  return folded == ' ' || folded == '\t' || folded == '\r' || folded == '\f';
}
inline bool is_open_bracket(char folded) { return folded == '[' || folded == '(' || folded == '{'; }
inline bool is_close_bracket(char folded) { return folded == ']' || folded == ')' || folded == '}'; }

// A word in ASCII as far as possible; characters without a twin stay.
struct FoldedWord {
  std::string text;
  std::vector<std::size_t> offsets;  // of each byte of `text` in the word as written; and its end
};
FoldedWord folded_word(std::string_view word);
std::string folded(std::string_view word);

}  // namespace qkv

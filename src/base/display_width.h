// How many columns text takes on a terminal, and which text is safe to print there.
//
// 我 takes two columns, √ ∞ α take one, combining marks none: neither bytes nor characters
// align a table.  Labels come from users, so everything that could move the cursor, change
// colours or reverse the direction of a line is shown as \u{1b} and never emitted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qkv {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  // bytes
};

// The first character of a text that is not empty.  A byte that is not UTF-8 counts as U+FFFD.
CodePoint first_code_point(std::string_view text);

// Where the first byte stands that is not UTF-8; nullopt when the whole text is.
std::optional<std::size_t> invalid_utf8_at(std::string_view text);

std::size_t character_count(std::string_view text);
int column_width(std::string_view text);

// Nothing shows where it stands, and it takes no column: a zero-width space, a word joiner, a byte order
// mark.
bool is_invisible(char32_t c);

// Punctuation, or a sign of mathematics or of money: no letter, digit or picture.
bool is_sign(char32_t c);

// The text with control characters (C0, DEL, C1), line separators, bidi controls and invisible characters
// spelt out.  Joiners stay between characters that they may join, in emoji and in scripts of India.
std::string visible(std::string_view text);

// The same, cut with "…" after 60 columns: for a word quoted in a message.
std::string quotable(std::string_view text);

// The text filled up with spaces to `width` columns; a wider text stays as it is.
std::string fill_left(std::string_view text, int width);   // right-aligned
std::string fill_right(std::string_view text, int width);  // left-aligned

}  // namespace qkv

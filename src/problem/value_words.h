// The value of a setting, cut into words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

struct ValueWord {
  std::string text;  // full-width forms folded
  Span span;         // bytes of the value
};

// Words between white space.
std::vector<ValueWord> words_of(std::string_view value);

// The pieces between commas, "1,1,0"; a piece may be empty.  `offset` is where `text` begins.
std::vector<ValueWord> split_at_commas(std::string_view text, std::size_t offset);

// A whole number with a sign, of at most nine digits; nullopt for anything else.
std::optional<long> small_integer(std::string_view text);

}  // namespace qkv

// Line and column of a byte, worked out only when somebody is told about it.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/diagnostic.h"

namespace qkv {

struct Position {
  std::size_t line = 1;    // from 1
  std::size_t column = 1;  // in characters, from 1
  Span whole_line;         // without its line break
};

// `at` may be the end of the text.
Position position_of(std::string_view text, std::size_t at);

std::size_t line_of(std::string_view text, std::size_t at);

}  // namespace qkv

#include "input/markdown_text.h"

#include <charconv>

namespace qkv {

std::string markdown_text(std::string_view written) {
  std::string text;
  for (std::size_t at = 0; at < written.size();) {
    const std::string_view rest = written.substr(at);
    const bool is_escape =
        rest.size() > 1 && rest[0] == '\\' &&
        std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").find(rest[1]) != std::string_view::npos;
    if (is_escape) {
      text += rest[1];
      at += 2;
      continue;
    }
    const std::size_t end = rest.find(';');
    unsigned code = 0;
    if (rest.starts_with("&#") && end != std::string_view::npos &&
        std::from_chars(rest.data() + 2, rest.data() + end, code).ptr == rest.data() + end && code > 31 &&
        code < 127) {
      text += static_cast<char>(code);
      at += end + 1;
      continue;
    }
    text += rest[0];
    ++at;
  }
  return text;
}

}  // namespace qkv

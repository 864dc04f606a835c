#include "base/position.h"

#include <algorithm>

#include "base/display_width.h"

namespace qkv {

std::size_t line_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  return static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
}

Position position_of(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  const std::size_t break_before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = break_before == std::string_view::npos ? 0 : break_before + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  if (end > begin && end < text.size() && text[end - 1] == '\r') --end;
  return {line_of(text, begin), character_count(text.substr(begin, at - begin)) + 1, {begin, end}};
}

}  // namespace qkv

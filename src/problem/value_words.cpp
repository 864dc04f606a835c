#include "problem/value_words.h"

#include <charconv>

#include "input/fold.h"

namespace qkv {

std::vector<ValueWord> words_of(std::string_view value) {
  std::vector<ValueWord> words;
  for (std::size_t at = 0; at < value.size();) {
    if (const Folded c = fold_at(value, at); is_space(c.value)) {
      at += c.length;
      continue;
    }
    const std::size_t begin = at;
    while (at < value.size() && !is_space(fold_at(value, at).value)) at += fold_at(value, at).length;
    words.push_back({folded(value.substr(begin, at - begin)), {begin, at}});
  }
  return words;
}

std::vector<ValueWord> split_at_commas(std::string_view text, std::size_t offset) {
  std::vector<ValueWord> pieces;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    pieces.push_back({std::string(text.substr(begin, end - begin)), {offset + begin, offset + end}});
    if (end == text.size()) return pieces;
    begin = end + 1;
  }
}

std::optional<long> small_integer(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > kMostDigits + (text[0] == '-' ? 1 : 0)) return std::nullopt;
  long value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace qkv

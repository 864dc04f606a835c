#include "input/fold.h"

#include <algorithm>
#include <numeric>

#include "base/display_width.h"

namespace qkv {
namespace {

constexpr std::string_view kTwins = ",:;=[](){}|#%.+-*/0123456789";

// Which has nothing to fold, as most words.
bool is_ascii(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

Folded fold_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {text[at], 1};
  const CodePoint c = first_code_point(text.substr(at));
  if (c.value >= 0xff01 && c.value <= 0xff5e) {
    const char twin = static_cast<char>(c.value - 0xff01 + '!');
    return {kTwins.find(twin) == std::string_view::npos ? kOther : twin, c.length};
  }
  switch (c.value) {
    case 0x00a0:  // no-break space, from web pages
    case 0x3000:
      return {' ', c.length};
    case 0x2212:
      return {'-', c.length};
    case 0x221e:
      return {kInfinity, c.length};
    default:
      return {kOther, c.length};
  }
}

FoldedWord folded_word(std::string_view word) {
  FoldedWord result;
  if (is_ascii(word)) {
    result.text = word;
    result.offsets.resize(word.size() + 1);
    std::iota(result.offsets.begin(), result.offsets.end(), std::size_t{0});
    return result;
  }
  for (std::size_t at = 0; at < word.size();) {
    const Folded c = fold_at(word, at);
    const std::size_t before = result.text.size();
    if (c.value == kInfinity && c.length > 1) {
      result.text += "inf";
    } else if (c.value == kOther) {
      result.text += word.substr(at, c.length);
    } else {
      result.text += c.value;
    }
    // All bytes of a character that stays in UTF-8 stand where it begins.
    result.offsets.insert(result.offsets.end(), result.text.size() - before, at);
    at += c.length;
  }
  result.offsets.push_back(word.size());
  return result;
}

std::string folded(std::string_view word) {
  return is_ascii(word) ? std::string(word) : folded_word(word).text;
}

}  // namespace qkv

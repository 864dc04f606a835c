#include "base/display_width.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <utility>

namespace qkv {
namespace {

bool is_joiner(char32_t c) { return c == 0x200c || c == 0x200d; }

bool is_unsafe(char32_t c) {
  const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool is_line_separator = c == 0x2028 || c == 0x2029;
  const bool is_bidi_control = c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                               (c >= 0x2066 && c <= 0x2069);
  return is_control || is_line_separator || is_bidi_control || (is_invisible(c) && !is_joiner(c));
}

// Printable ASCII, as most text is: a column each, and nothing to spell out.
bool is_plain(char c) { return c >= 0x20 && c <= 0x7e; }
bool is_plain_ascii(std::string_view text) { return std::all_of(text.begin(), text.end(), is_plain); }

// ASCII has nothing to join.
bool joins_nothing(char32_t before, char32_t c) { return is_joiner(c) && before < 0x80; }

// Nothing in it has to be spelt out.
bool is_visible(std::string_view text) {
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      before = static_cast<unsigned char>(text[at]);
      ++at;
      continue;
    }
    const CodePoint c = first_code_point(text.substr(at));
    if (is_unsafe(c.value) || joins_nothing(before, c.value) || c.value == 0xfffd) return false;
    before = c.value;
    at += c.length;
  }
  return true;
}

// Latin letters and mathematical signs; of others a table knows, which is larger than the rest of a small
// trace.
bool is_one_column(char32_t c) { return (c >= 0x20 && c < 0x7f) || (c >= 0x2200 && c < 0x2300); }

std::string spaces_up_to(std::string_view text, int width) {
  const int missing = width - column_width(text);
  return std::string(missing > 0 ? static_cast<std::size_t>(missing) : 0, ' ');
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &value);
  if (length <= 0) return {0xfffd, 1};
  return {static_cast<char32_t>(value), static_cast<std::size_t>(length)};
}

std::optional<std::size_t> invalid_utf8_at(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    utf8proc_int32_t value = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &value);
    if (length <= 0) return at;
    at += static_cast<std::size_t>(length);
  }
  return std::nullopt;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    text.remove_prefix(first_code_point(text).length);
    ++count;
  }
  return count;
}

int column_width(std::string_view text) {
  if (is_plain_ascii(text)) return static_cast<int>(text.size());
  int width = 0;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    width += is_one_column(c.value) ? 1 : utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.value));
    text.remove_prefix(c.length);
  }
  return width;
}

bool is_invisible(char32_t c) {
  return c == 0xad || (c >= 0x200b && c <= 0x200d) || c == 0x2060 || c == 0xfeff;
}

bool is_sign(char32_t c) {
  if (c < 0x80)
    return c > 0x20 && c != 0x7f && c != '_' && !(c >= '0' && c <= '9') &&
           !((c | 0x20U) >= 'a' && (c | 0x20U) <= 'z');
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
      return true;
    default:
      return false;
  }
}

std::string visible(std::string_view text) {
  if (is_plain_ascii(text) || is_visible(text)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  char32_t before = 0;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (is_unsafe(c.value) || joins_nothing(std::exchange(before, c.value), c.value)) {
      result += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c.value));
    } else if (c.value == 0xfffd) {
      result += "\xef\xbf\xbd";  // also in place of a byte that is not UTF-8
    } else {
      result += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return result;
}

std::string quotable(std::string_view text) {
  constexpr int kWidest = 60;
  std::string result;
  char32_t before = 0;
  for (int width = 0; !text.empty();) {
    const CodePoint c = first_code_point(text);
    const std::size_t length = c.length;
    const bool is_joined = is_joiner(c.value) && !joins_nothing(before, c.value);
    const std::string next =
        is_joined ? std::string(text.substr(0, length)) : visible(text.substr(0, length));
    before = c.value;
    width += column_width(next);
    if (width > kWidest) return result + "…";
    result += next;
    text.remove_prefix(length);
  }
  return result;
}

std::string fill_left(std::string_view text, int width) { return spaces_up_to(text, width).append(text); }

std::string fill_right(std::string_view text, int width) {
  return std::string(text) + spaces_up_to(text, width);
}

}  // namespace qkv

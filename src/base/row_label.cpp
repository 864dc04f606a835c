#include "base/row_label.h"

#include <string_view>

#include "base/display_width.h"
#include "base/number.h"

namespace qkv {
namespace {

// Whether the reader could take a sign for something else, or its full-width twin for it.
bool needs_quotes(const std::string& name) {
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint c = first_code_point(std::string_view(name).substr(at));
    at += c.length;
    const bool is_ascii_word = c.value == '_' || c.value == '-' || (c.value >= '0' && c.value <= '9') ||
                               (c.value >= 'A' && c.value <= 'Z') || (c.value >= 'a' && c.value <= 'z');
    const bool is_other_letter = c.value >= 0x80 && c.value != 0xA0 && c.value != 0x3000 &&
                                 !(c.value >= 0x2000 && c.value <= 0x2FFF) &&
                                 !(c.value >= 0xFF00 && c.value <= 0xFFEF);
    if (!is_ascii_word && !is_other_letter) return true;
  }
  return false;
}

}  // namespace

std::string row_label_text(const std::string& name) {
  if (name.empty()) return "";
  NumberError ignored;
  const auto number = parse_number(name, ignored);
  const bool looks_like_number = number && number->kind != Number::Kind::symbol;
  if (looks_like_number) return "";
  std::string text = visible(name);
  if (!needs_quotes(name)) return text + " | ";
  for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 2))
    text.insert(at, 1, '"');
  return "\"" + text + "\" | ";
}

}  // namespace qkv

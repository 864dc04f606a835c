#include "base/ascii.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/display_width.h"

namespace qkv {
namespace {

constexpr auto kSigns = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"√(", "sqrt("}, {"·", "*"},     {"∘", ".*"},  {"×", "x"},   {"−", "-"},  {"∞", "inf"},
    {"ᵀ", "^T"},     {"²", "^2"},    {"⁹", "^9"},  {"Σ", "sum"}, {"→", "->"}, {"≈", "~"},
    {"≤", "<="},     {"≥", ">="},    {"…", "..."}, {"±", "+-"},  {"÷", "/"},  {"├─ ", "|- "},
    {"└─ ", "`- "},  {"│  ", "|  "}, {"“", "\""},  {"”", "\""},  {"’", "'"},  {"—", "-"},
    {"–", "-"},      {"φ", "phi"},   {"█", "#"},   {"✓", "+"},   {"✗", "x"},
});

constexpr std::string_view kRoot = "√";

// All signs that stand in what qkv writes in English.
constexpr std::u32string_view kOwn = U"√·∘×−∞ᵀ⊤²⁹Σ∑→≈≤≥…±÷├└│─“”’—–φ░▒▓█✓✗‹›";

template <class Chosen>
std::string in_references(std::string_view text, Chosen&& is_chosen) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (is_chosen(c.value)) {
      out += fmt::format("&#x{:x};", static_cast<unsigned>(c.value));
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out;
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

}  // namespace

std::string in_ascii(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      out += text[i++];
      continue;
    }
    const std::string_view rest = text.substr(i);
    const auto sign =
        std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& s) { return rest.starts_with(s.first); });
    if (sign != kSigns.end()) {
      out += sign->second;
      i += sign->first.size();
    } else if (rest.starts_with(kRoot)) {
      // √2 and √d_k get the brackets that the sign made unnecessary.
      i += kRoot.size();
      std::string under;
      while (i < text.size() && is_of_name(text[i])) under += text[i++];
      out += "sqrt(" + under + ")";
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string json_in_ascii(std::string_view json) {
  std::string marked(json);
  for (const std::string_view mark : {"“", "”"}) {
    for (std::size_t at = marked.find(mark); at != std::string::npos; at = marked.find(mark, at))
      marked.replace(at, mark.size(), "\\\"");
  }
  return in_ascii(marked);
}

std::string signs_in_references(std::string_view text) {
  return in_references(text, [](char32_t c) { return kOwn.find(c) != std::u32string_view::npos; });
}

std::string in_references(std::string_view text) {
  return in_references(text, [](char32_t c) { return c >= 0x80; });
}

}  // namespace qkv

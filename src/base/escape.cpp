#include "base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/display_width.h"

namespace qkv {
namespace {

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// Signs that a text font may lack; in math every TeX has them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kTexSigns{{
    {"√", "\\surd"},    {"·", "\\cdot"},   {"∘", "\\circ"},    {"×", "\\times"},  {"−", "-"},
    {"∞", "\\infty"},   {"ᵀ", "^{T}"},     {"²", "^{2}"},      {"Σ", "\\Sigma "}, {"→", "\\to"},
    {"≈", "\\approx"},  {"≤", "\\le"},     {"≥", "\\ge"},      {"±", "\\pm"},     {"÷", "\\div"},
    {"φ", "\\varphi"},  {"α", "\\alpha"},  {"β", "\\beta"},    {"θ", "\\theta"},  {"π", "\\pi"},
    {"σ", "\\sigma"},   {"λ", "\\lambda"}, {"∂", "\\partial"}, {"≠", "\\ne"},     {"∈", "\\in"},
    {"ε", "\\epsilon"}, {"∑", "\\sum"},
}};

// Each character of text without control characters.
template <class Do>
void each_sign(const std::string& text, Do&& take) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = first_code_point(std::string_view(text).substr(at)).length;
    take(std::string_view(text).substr(at, length));
    at += length;
  }
}

// visible() leaves no end of a line, so a backslash before these two is enough.
std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : visible(text)) {
    if (is_one_of(c, "\\\"")) out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string escape_markdown(std::string_view text) {
  const std::string shown = visible(text);
  std::string out;
  for (std::size_t at = 0; at < shown.size(); ++at) {
    const char c = shown[at];
    const std::string_view rest = std::string_view(shown).substr(at);
    const bool begins_list = out.empty() && is_one_of(c, "+-=");
    const bool ends_word = at + 1 == shown.size() || shown[at + 1] == ' ';
    const bool ends_number = is_one_of(c, ".)") && ends_word && !out.empty() &&
                             out.find_first_not_of("0123456789") == std::string::npos;  // 1. or 1)
    const bool begins_address = rest.starts_with("://") || rest.starts_with("@") ||
                                (c == '.' && at >= 3 && shown.compare(at - 3, 3, "www") == 0);
    if (begins_address) {  // GitHub makes links of bare addresses, with a backslash too
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      if (is_one_of(c, "\\`*_[]<>#|$&~") || begins_list || ends_number) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string escape_latex(std::string_view text) {
  const std::string shown = visible(text);
  std::string out;
  each_sign(shown, [&](std::string_view sign) {
    const auto math = std::find_if(kTexSigns.begin(), kTexSigns.end(),
                                   [&](const auto& entry) { return entry.first == sign; });
    if (math != kTexSigns.end()) {
      out += "$" + std::string(math->second) + "$";
    } else if (sign == "\\") {
      out += "\\textbackslash{}";
    } else if (sign == "~") {
      out += "\\textasciitilde{}";
    } else if (sign == "^") {
      out += "\\textasciicircum{}";
    } else if (sign.size() == 1 && is_one_of(sign[0], "#$%&_{}")) {
      out += "\\" + std::string(sign);
    } else if (sign.size() == 1 && is_one_of(sign[0], "<>|\"[]'`")) {
      out += "{" + std::string(sign) + "}";  // no ligature, no optional argument after a line's end
    } else if (sign == "-" && out.ends_with('-')) {
      out += "{-}";  // -- would become a dash
    } else {
      out += sign;
    }
  });
  return out;
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_json_in_html(std::string_view json) {
  std::string out;
  for (const char c : json) {
    // Inside JSON these stand in strings only, where they may be written so.
    if (is_one_of(c, "<>&")) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string csv_text(std::string_view text) {
  std::string shown = visible(text);
  if (!shown.empty() && is_one_of(shown.front(), "=+-@'")) shown.insert(0, "'");
  // "#", "%" and "[" would begin a comment or a section where qkv reads it again.
  const bool needs_quotes =
      shown.find_first_of(",;\"\t#%[") != std::string::npos || shown.starts_with(' ') || shown.ends_with(' ');
  if (!needs_quotes) return shown;
  std::string out = "\"";
  for (const char c : shown) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string python_string(std::string_view text) { return double_quoted(text); }

std::string octave_string(std::string_view text) { return double_quoted(text); }

}  // namespace qkv

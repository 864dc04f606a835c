#include "render/tex.h"

#include <algorithm>

#include "base/escape.h"

namespace qkv {
namespace {

bool is_plain_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-*/e") == std::string_view::npos;
}

std::string italic(std::string_view text) {
  if (text.size() == 1) return std::string(text);
  return "\\mathit{" + std::string(text) + "}";
}

class TexWriter {
 public:
  std::string write(const Math& math) const {
    switch (math.kind) {
      case Math::Kind::sequence:
        return joined(math);
      case Math::Kind::input:
        return tex_name(math.text) + (math.is_transposed ? "^{\\top}" : "");
      case Math::Kind::number:
        return tex_number(math.text);
      case Math::Kind::word:
        return word(math.text);
      case Math::Kind::sign:
        return sign(math.text);
      case Math::Kind::times:
        return "\\, ";
      case Math::Kind::function:
        return function(math);
      case Math::Kind::fraction:
        return "\\frac{" + write(math.parts[0]) + "}{" + write(math.parts[1]) + "}";
      case Math::Kind::root:
        return "\\sqrt{" + write(math.parts[0]) + "}";
      case Math::Kind::power:
        return write(math.parts[0]) + "^{" + exponent(math.parts[1]) + "}";
    }
    return "";
  }

 private:
  std::string joined(const Math& math) const {
    std::string out;
    for (const Math& part : math.parts) out += write(part);
    return out;
  }

  // softmax and diag are functions, d_k and p_i symbols.
  static std::string word(const std::string& text) {
    if (text.size() == 1 || text.find('_') != std::string::npos) return tex_name(text);
    return "\\operatorname{" + text + "}";
  }

  static std::string sign(const std::string& text) {
    if (text == " · ") return " \\cdot ";
    if (text == " ∘ ") return " \\circ ";
    if (text == " − ") return " - ";
    if (text == "−") return "-";
    if (text == "..") return "{..}";
    if (text == "|") return "\\vert ";
    return text;
  }

  static std::string function(const Math& math) {
    const std::string name = math.text == "Σ"        ? "\\sum"
                             : math.text == "argmax" ? "\\operatorname*{arg\\,max}"
                                                     : "\\" + math.text;
    return name + (math.index.empty() ? " " : "_{" + math.index + "} ");
  }

  std::string exponent(const Math& math) const {
    return math.kind == Math::Kind::word && math.text == "T" ? "\\top" : write(math);
  }
};

}  // namespace

std::string tex_math(const Math& math) { return TexWriter().write(math); }

std::string tex_name(std::string_view id) {
  const std::size_t dot = id.rfind('.');
  const std::string_view prefix = dot == std::string_view::npos ? "" : id.substr(0, dot + 1);
  const std::string_view name = id.substr(prefix.size());
  const std::size_t bar = name.find('_');
  std::string out;
  if (bar == std::string_view::npos) {
    out = prefix.empty() ? italic(name) : "\\mathit{" + std::string(prefix) + std::string(name) + "}";
  } else {
    if (!prefix.empty()) out = "\\mathit{" + std::string(prefix) + "}";
    std::string below(name.substr(bar + 1));
    std::replace(below.begin(), below.end(), '_', ' ');
    out += italic(name.substr(0, bar)) + "_{" + (below.size() == 1 ? below : "\\mathit{" + below + "}") + "}";
  }
  return out;
}

std::string tex_number(std::string_view shown) {
  if (is_plain_number(shown)) {
    std::string out(shown);
    for (std::size_t at = 0; (at = out.find('*', at)) != std::string::npos; at += 6)
      out.replace(at, 1, "\\cdot ");
    return out;
  }
  if (shown == "∞" || shown == "inf") return "\\infty";
  if (shown == "−∞" || shown == "-inf") return "-\\infty";
  return "\\text{" + escape_latex(shown) + "}";
}

}  // namespace qkv

#include "render/tex.h"

#include <algorithm>
#include <optional>
#include <utility>

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

// An exact value, as base/exact writes it: "3/2·√2", "e^(-1/√2) / (2 + e^(-1/√2))".  Of numbers, roots and
// powers of e there are a sum, or two as a fraction.
class ExactReader {
 public:
  explicit ExactReader(std::string_view text) : rest_(text) {}

  // nullopt where it is something else, symbols for instance.
  std::optional<std::string> read() {
    std::string above = side();
    std::string below = take(" / ") ? side() : "";
    if (is_wrong_ || !rest_.empty()) return std::nullopt;
    return below.empty() ? above : fraction(above, below);
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string digits() {
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    is_wrong_ = is_wrong_ || end == 0;
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return found;
  }

  // In an exponent in one line.
  std::string fraction(const std::string& above, const std::string& below) const {
    return depth_ > 0 ? above + "/" + below : "\\frac{" + above + "}{" + below + "}";
  }

  // Above or below the line of a fraction, which stands for the brackets around all of it.
  std::string side() {
    const std::string_view before = rest_;
    if (take("(")) {
      std::string inside = sum();
      if (take(")") && (rest_.empty() || rest_.starts_with(" / "))) return inside;
      rest_ = before;
    }
    return sum();
  }

  std::string sum() {
    std::string out = take("-") ? "-" : "";
    out += product();
    while (!is_wrong_) {
      if (take(" + ")) {
        out += " + " + product();
      } else if (take(" - ")) {
        out += " - " + product();
      } else {
        break;
      }
    }
    return out;
  }

  std::string product() {
    std::string out = factor();
    while (!is_wrong_ && take("·")) out += "\\, " + factor();
    return out;
  }

  std::string factor() {
    if (take("(")) {
      std::string inside = sum();
      is_wrong_ = is_wrong_ || !take(")");
      return "(" + inside + ")";
    }
    if (take("e")) {
      if (!take("^")) return "e";
      ++depth_;
      const bool is_in_brackets = take("(");
      const std::string exponent = is_in_brackets ? sum() : digits();
      is_wrong_ = is_wrong_ || (is_in_brackets && !take(")"));
      --depth_;
      return "e^{" + exponent + "}";
    }
    const std::string above = number();
    return take("/") ? fraction(above, number()) : above;
  }

  std::string number() { return take("√") ? "\\sqrt{" + digits() + "}" : digits(); }

  std::string_view rest_;
  int depth_ = 0;  // of exponents
  bool is_wrong_ = false;
};

// "1/√2 ≈ 0.7071", "1/2 = 0.5000", "≈ 0.4011"; nullopt where it is something else.
std::optional<std::string> tex_exact(std::string_view shown) {
  for (const auto& [sign, tex] :
       {std::pair<std::string_view, const char*>{"≈ ", "\\approx "}, {"= ", "= "}}) {
    const std::size_t at = shown.find(sign);
    if (at == std::string_view::npos) continue;
    const std::string_view decimal = shown.substr(at + sign.size());
    if (!is_plain_number(decimal)) return std::nullopt;
    if (at == 0) return tex + std::string(decimal);
    const auto exact = ExactReader(shown.substr(0, at - 1)).read();
    return exact ? std::optional(*exact + " " + tex + std::string(decimal)) : std::nullopt;
  }
  return std::nullopt;
}

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
  if (const auto exact = tex_exact(shown)) return *exact;
  return "\\text{" + escape_latex(shown) + "}";
}

}  // namespace qkv

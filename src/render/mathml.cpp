#include "render/mathml.h"

#include <algorithm>

#include "base/escape.h"

namespace qkv {
namespace {

std::string element(std::string_view name, std::string_view inside) {
  std::string out = "<";
  out.append(name).append(">").append(inside).append("</").append(name).append(">");
  return out;
}

std::string row(const std::string& inside) { return element("mrow", inside); }

constexpr std::string_view kThinSpace = R"(<mspace width="0.17em"/>)";
constexpr std::string_view kSpace = R"(<mspace width="0.28em"/>)";

std::string number(const std::string& text) {
  if (text == "inf") return "<mi>∞</mi>";
  if (text == "-inf") return row("<mo>−</mo><mi>∞</mi>");
  const bool is_negative = text.starts_with('-');
  const std::string digits = element("mn", escape_xml(is_negative ? text.substr(1) : text));
  return is_negative ? row("<mo>−</mo>" + digits) : digits;
}

std::string sign(const std::string& text) {
  if (text == " ") return std::string(kSpace);
  // Brackets keep the height of the line, as on paper.
  if (text == "(" || text == ")" || text == "[" || text == "]" || text == "|")
    return "<mo stretchy=\"false\">" + text + "</mo>";
  std::string bare = text;
  std::erase(bare, ' ');
  return element("mo", escape_xml(bare));
}

std::string function(const Math& math) {
  const std::string name = math.text == "Σ" ? "<mo>∑</mo>" : element("mi", escape_xml(math.text));
  return math.index.empty() ? name : element("munder", name + element("mi", escape_xml(math.index)));
}

std::string written(const Math& math);

std::string written_parts(const Math& math) {
  std::string out;
  for (const Math& part : math.parts) out += written(part);
  return out;
}

std::string exponent(const Math& math) {
  return math.kind == Math::Kind::word && math.text == "T" ? "<mo>⊤</mo>" : written(math);
}

// One element, so that it may be a part of a fraction or a power; only the sign of a product, which never is,
// is two.
std::string written(const Math& math) {
  switch (math.kind) {
    case Math::Kind::sequence:
      return row(written_parts(math));
    case Math::Kind::input: {
      const std::string name = mathml_name(math.text);
      return math.is_transposed ? element("msup", name + "<mo>⊤</mo>") : name;
    }
    case Math::Kind::number:
      return number(math.text);
    case Math::Kind::word:
      return mathml_name(math.text);
    case Math::Kind::sign:
      return sign(math.text);
    case Math::Kind::times:
      return "<mo>\u2062</mo>" + std::string(kThinSpace);  // invisible on paper, "times" when read aloud
    case Math::Kind::function:
      return function(math);
    case Math::Kind::fraction:
      return element("mfrac", written(math.parts[0]) + written(math.parts[1]));
    case Math::Kind::root:
      return element("msqrt", written(math.parts[0]));
    case Math::Kind::power:
      return element("msup", written(math.parts[0]) + exponent(math.parts[1]));
  }
  return "";
}

}  // namespace

std::string mathml(const Formula& formula) {
  return "<math displaystyle=\"true\">" + mathml_name(formula.name) + "<mo>=</mo>" + written(formula.right) +
         "</math>";
}

std::string mathml_name(std::string_view id) {
  const std::size_t dot = id.rfind('.');
  const std::size_t bar = id.find('_', dot == std::string_view::npos ? 0 : dot + 1);
  if (bar == std::string_view::npos) return element("mi", escape_xml(id));
  std::string below(id.substr(bar + 1));
  std::replace(below.begin(), below.end(), '_', ' ');
  return element("msub", element("mi", escape_xml(id.substr(0, bar))) + element("mi", escape_xml(below)));
}

}  // namespace qkv

#include "report/math.h"

#include <array>
#include <cctype>
#include <utility>

namespace qkv {
namespace {

using Kind = Math::Kind;

struct Spelling {
  std::string_view tex;
  const char* text;
  const char* index = "";
};
constexpr std::array<Spelling, 9> kFunctions{{{"\\max_j", "max", "j"},
                                              {"\\argmax_j", "argmax", "j"},
                                              {"\\sum_j", "Σ", "j"},
                                              {"\\sum_i", "Σ", "i"},
                                              {"\\max", "max"},
                                              {"\\min", "min"},
                                              {"\\tanh", "tanh"},
                                              {"\\ln", "ln"},
                                              {"\\exp", "exp"}}};
constexpr std::array<Spelling, 5> kOperators{
    {{" + ", " + "}, {" - ", " − "}, {" > ", " > "}, {" \\cdot ", " · "}, {" \\circ ", " ∘ "}}};

class MathReader {
 public:
  MathReader(std::string_view formula, const std::vector<std::string>& inputs,
             const std::vector<std::string>& numbers)
      : rest_(formula), inputs_(inputs), numbers_(numbers) {}

  Math read() { return sequence('\0'); }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  static Math leaf(Kind kind, std::string text) { return {.kind = kind, .text = std::move(text)}; }

  // The { stands next.
  Math braced() {
    rest_.remove_prefix(1);
    Math inside = sequence('}');
    rest_.remove_prefix(1);
    return inside;
  }

  // After an operand a space is a product; after a comma, a bracket or the name of a function it is a space.
  static bool is_operand(const Math& math) {
    if (math.kind == Kind::function || math.kind == Kind::times) return false;
    return math.kind != Kind::sign || math.text == ")" || math.text == "]" || math.text == "|";
  }

  Math sequence(char end) {
    Math all;
    while (!rest_.empty() && rest_.front() != end) {
      if (take_operator(all)) continue;
      if (take(" ")) {
        const bool is_product = !all.parts.empty() && is_operand(all.parts.back());
        all.parts.push_back(is_product ? leaf(Kind::times, "") : leaf(Kind::sign, " "));
      } else if (take("^")) {
        Math base = std::move(all.parts.back());
        all.parts.pop_back();
        all.parts.push_back(raised(std::move(base)));
      } else {
        operand(all.parts);
      }
    }
    return all;
  }

  bool take_operator(Math& all) {
    for (const Spelling& op : kOperators) {
      if (!take(op.tex)) continue;
      all.parts.push_back(leaf(Kind::sign, op.text));
      return true;
    }
    return false;
  }

  // The ^ has been taken.
  Math raised(Math base) {
    if (base.kind == Kind::input && take("T")) {
      base.is_transposed = true;
      return base;
    }
    Math exponent;
    if (rest_.starts_with("{")) {
      exponent = braced();
    } else {
      exponent = leaf(is_letter(rest_.front()) ? Kind::word : Kind::number, std::string(1, rest_.front()));
      rest_.remove_prefix(1);
    }
    return {.kind = Kind::power, .parts = {std::move(base), std::move(exponent)}};
  }

  void operand(std::vector<Math>& to) {
    if (take("\\frac")) {
      Math above = braced();
      to.push_back({.kind = Kind::fraction, .parts = {std::move(above), braced()}});
      return;
    }
    if (take("\\sqrt")) {
      to.push_back({.kind = Kind::root, .parts = {braced()}});
      return;
    }
    for (const Spelling& function : kFunctions) {
      if (!take(function.tex)) continue;
      to.push_back({.kind = Kind::function, .text = function.text, .index = function.index});
      return;
    }
    if (take("#*")) return all_inputs(", ", to);
    if (take("#;")) return all_inputs("; ", to);
    if (take("#+")) return all_inputs(" + ", to);
    const char c = rest_.front();
    if (c == '#' || c == '@') {
      const std::size_t index = static_cast<std::size_t>(rest_[1] - '1');
      rest_.remove_prefix(2);
      to.push_back(c == '@' ? leaf(Kind::number, numbers_[index]) : input(index));
    } else if (is_letter(c)) {
      to.push_back(leaf(Kind::word, run([](char l) { return is_letter(l) || l == '_'; })));
    } else if (is_digit(c)) {
      to.push_back(leaf(Kind::number, run(is_digit)));
    } else if (take("..")) {
      to.push_back(leaf(Kind::sign, ".."));
    } else {
      rest_.remove_prefix(1);
      to.push_back(leaf(Kind::sign, c == '-' ? "−" : std::string(1, c)));
    }
  }

  static bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  template <class Belongs>
  std::string run(Belongs belongs) {
    std::string text;
    for (; !rest_.empty() && belongs(rest_.front()); rest_.remove_prefix(1)) text += rest_.front();
    return text;
  }

  Math input(std::size_t index) const {
    return {.kind = Kind::input, .text = inputs_[index], .input = index};
  }

  void all_inputs(const char* separator, std::vector<Math>& to) const {
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (k > 0) to.push_back(leaf(Kind::sign, separator));
      to.push_back(input(k));
    }
  }

  std::string_view rest_;
  const std::vector<std::string>& inputs_;
  const std::vector<std::string>& numbers_;
};

class PlainWriter {
 public:
  explicit PlainWriter(const InputName& name) : name_(name) {}

  std::string write(const Math& math) const {
    switch (math.kind) {
      case Kind::sequence:
        return joined(math.parts);
      case Kind::input:
        return name_(math);
      case Kind::number:
      case Kind::word:
      case Kind::sign:
        return math.text;
      case Kind::times:
        return " · ";
      case Kind::function:
        return math.index.empty() ? math.text : math.text + "_" + math.index;
      case Kind::fraction:
        return grouped(math.parts[0]) + " / " + grouped(math.parts[1]);
      case Kind::root:
        return "√" + grouped(math.parts[0]);
      case Kind::power:
        return write(math.parts[0]) + exponent(math.parts[0], math.parts[1]);
    }
    return "";
  }

 private:
  std::string joined(const std::vector<Math>& parts) const {
    std::string out;
    for (const Math& part : parts) out += write(part);
    return out;
  }

  static bool is_compound(const std::string& text) {
    for (const char* op : {" + ", " − ", " · ", "/", "*"}) {  // a parameter may be 1/3
      if (text.find(op) != std::string::npos) return true;
    }
    return false;
  }
  std::string grouped(const Math& math) const {
    std::string text = write(math);
    return is_compound(text) ? "(" + text + ")" : text;
  }

  std::string exponent(const Math& base, const Math& math) const {
    const std::string text = write(math);
    if (text == "2") return "²";
    if (text == "T") return "ᵀ";
    const bool is_short = base.kind == Kind::word && text.find(' ') == std::string::npos;
    return is_short ? "^" + text : "^(" + text + ")";
  }

  const InputName& name_;
};

}  // namespace

Math read_math(std::string_view formula, const std::vector<std::string>& inputs,
               const std::vector<std::string>& numbers) {
  return MathReader(formula, inputs, numbers).read();
}

std::string plain_math(const Math& math, const InputName& name) { return PlainWriter(name).write(math); }

}  // namespace qkv

// One number of LaTeX in the grammar of problem files: \frac{1}{\sqrt{2}} is 1/sqrt(2).
//
// Colours, boxes, braces under a term and space commands are decoration: what they hold is read.

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input/forms.h"
#include "input/latex_words.h"
#include "input/spelling.h"

namespace qkv {
namespace {

// Take one argument, which is what they show.
constexpr std::array<std::string_view, 18> kWrappers{
    "mathbf", "mathrm",    "mathit",     "mathsf",    "mathtt",       "text",
    "textbf", "textit",    "bm",         "pmb",       "boxed",        "boldsymbol",
    "mbox",   "underline", "underbrace", "overbrace", "operatorname", "mathbb"};
// Take two, and show the second.
constexpr std::array<std::string_view, 3> kColours{"textcolor", "colorbox", "bbox"};
// A product of factors, which the number grammar writes without brackets: a/(b·c) is a/b/c.
struct Product {
  bool is_negative = false;
  std::vector<std::pair<bool, std::string>> factors;  // divided by?, and a number or sqrt(…)

  void times(bool divided, const Product& other) {
    is_negative = is_negative != other.is_negative;
    for (const auto& [is_divided, factor] : other.factors)
      factors.emplace_back(is_divided != divided, factor);
  }
  std::string text() const {
    std::string result = is_negative ? "-" : "";
    if (factors.front().first) result += "1";
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (factors[i].first) {
        result += "/";
      } else if (i > 0) {
        result += "*";
      }
      result += factors[i].second;
    }
    return result;
  }
};

class LatexNumber {
 public:
  explicit LatexNumber(std::string_view text) : text_(text) {}

  std::optional<std::string> whole() {
    const auto value = product('\0');
    if (!value || at_ < text_.size()) return std::nullopt;
    return value->text();
  }

 private:
  static constexpr int kDeepest = 16;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    for (;;) {
      if (is_white(peek()) || peek() == '~' || peek() == '$') {
        ++at_;
      } else if (peek() == '\\' && at_ + 1 < text_.size() &&
                 std::string_view(",;:!> ()[]").find(text_[at_ + 1]) != std::string_view::npos) {
        at_ += 2;
      } else if (peek() == '\\') {
        const std::size_t begin = at_;
        const std::string_view name = command();
        if (is_one_of(name, kSpaces)) continue;
        if (name == "phantom" || name == "hphantom" || name == "hspace" || name == "color") {
          skip_argument();
          continue;
        }
        at_ = begin;
        return;
      } else {
        return;
      }
    }
  }

  std::string_view command() {
    const std::size_t begin = ++at_;
    while (is_letter(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void skip_argument() {
    while (is_white(peek())) ++at_;
    if (peek() == '{' || peek() == '[') {
      at_ = end_of_bracket(text_, at_, text_.size());
    } else if (at_ < text_.size()) {
      ++at_;
    }
  }

  // Up to `close`, which is read too.
  std::optional<Product> product(char close) {
    if (++depth_ > kDeepest) return std::nullopt;
    Product result;
    skip_space();
    while (peek() == '-' || peek() == '+' || text_.substr(at_).starts_with("−")) {
      if (peek() != '+') result.is_negative = !result.is_negative;
      at_ += peek() == '-' || peek() == '+' ? 1 : std::string_view("−").size();
      skip_space();
    }
    bool is_divided = false;
    for (;;) {
      skip_space();
      if (at_ >= text_.size() || (close != '\0' && peek() == close)) break;
      if (peek() == '/' || peek() == '*') {
        if (result.factors.empty()) return std::nullopt;
        is_divided = peek() == '/';
        ++at_;
        continue;
      }
      const std::size_t begin = at_;
      bool begins_with_number = is_digit(peek());
      if (peek() == '\\') {
        const std::string_view name = command();
        begins_with_number = name.ends_with("frac");
        if (name == "times" || name == "cdot" || name == "ast") continue;
        if (name == "div") {
          is_divided = true;
          continue;
        }
        at_ = begin;
      }
      auto next = factor();
      if (!next) return std::nullopt;
      if (peek() == '^' && !power(*next)) return std::nullopt;
      const bool is_juxtaposed = !result.factors.empty() && is_digit(next->factors.front().second[0]) &&
                                 is_digit(text_[begin]) && begin > 0 && is_white(text_[begin - 1]);
      if (is_juxtaposed && !is_divided && !follows_sign(begin))
        return std::nullopt;  // "1 0": an & was forgotten
      // "1\frac{1}{2}" is one and a half, no product.
      const bool is_mixed =
          begins_with_number && !result.factors.empty() && is_digit(result.factors.back().second[0]);
      if (is_mixed && !is_divided && !follows_sign(begin)) return std::nullopt;
      result.times(is_divided, *next);
      is_divided = false;
    }
    if (close != '\0') {
      if (peek() != close) return std::nullopt;
      ++at_;
    }
    --depth_;
    if (result.factors.empty()) return std::nullopt;
    join_power_of_ten(result);
    return result;
  }

  // Is the last thing before `begin` a sign of multiplication or division?
  bool follows_sign(std::size_t begin) const {
    std::string_view before = text_.substr(0, begin);
    while (!before.empty() && is_white(before.back())) before.remove_suffix(1);
    return before.ends_with("\\times") || before.ends_with("\\cdot") || before.ends_with("\\ast") ||
           before.ends_with("\\div") || before.ends_with('*') || before.ends_with('/');
  }

  // 10^{-3} → 1e-3
  bool power(Product& base) {
    ++at_;
    std::string exponent;
    if (peek() == '{') {
      const std::size_t end = end_of_bracket(text_, at_, text_.size());
      exponent = text_.substr(at_ + 1, end - at_ - 2);
      at_ = end;
    } else {
      exponent = text_.substr(at_, 1);
      ++at_;
    }
    std::erase_if(exponent, is_white);
    const std::size_t digits = exponent.starts_with('-') || exponent.starts_with('+') ? 1 : 0;
    const bool is_whole = exponent.size() > digits &&
                          std::all_of(exponent.begin() + static_cast<long>(digits), exponent.end(), is_digit);
    if (!is_whole || base.factors.size() != 1 || base.factors[0].second != "10") return false;
    base.factors[0].second = "1e" + exponent;
    return true;
  }

  // 1.5 · 1e-3 → 1.5e-3
  static void join_power_of_ten(Product& product) {
    auto& f = product.factors;
    if (f.size() != 2 || f[0].first || f[1].first || !f[1].second.starts_with("1e")) return;
    if (f[0].second.find_first_not_of("0123456789.") != std::string::npos) return;
    f[0].second += f[1].second.substr(1);
    f.pop_back();
  }

  std::optional<Product> single(std::string factor) { return Product{false, {{false, std::move(factor)}}}; }

  std::optional<Product> factor() {
    if (is_digit(peek()) || peek() == '.') return single(number());
    if (text_.substr(at_).starts_with("∞")) {
      at_ += std::string_view("∞").size();
      return single("inf");
    }
    if (peek() == '{') {
      ++at_;
      return product('}');
    }
    if (peek() == '(') {
      ++at_;
      return product(')');
    }
    if (peek() == '\\') return called();
    if (is_letter(peek())) return symbol();
    return std::nullopt;
  }

  std::string number() {
    std::string result;
    for (;;) {
      if (is_digit(peek()) || peek() == '.') {
        result += peek();
        ++at_;
      } else if (text_.substr(at_).starts_with("{,}")) {
        result += ",";  // which of the two it is, all numbers together decide
        at_ += 3;
      } else if (peek() == ',' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
        result += ",";
        ++at_;
      } else if (text_.substr(at_).starts_with("\\,") && at_ + 2 < text_.size() && is_digit(text_[at_ + 2])) {
        at_ += 2;  // 10\,000
      } else {
        break;
      }
    }
    const bool is_exponent = (peek() == 'e' || peek() == 'E') && at_ + 1 < text_.size() &&
                             (is_digit(text_[at_ + 1]) || text_[at_ + 1] == '-' || text_[at_ + 1] == '+');
    if (is_exponent) {
      result += text_[at_++];
      result += text_[at_++];
      while (is_digit(peek())) result += text_[at_++];
    }
    if (text_.substr(at_).starts_with("\\%")) {
      result += "%";
      at_ += 2;
    } else if (peek() == '%') {
      result += "%";
      ++at_;
    }
    return result;
  }

  // v_0 → v0
  std::optional<Product> symbol() {
    std::string name;
    while (is_letter(peek()) || is_digit(peek())) name += text_[at_++];
    if (peek() == '_') {
      ++at_;
      const bool has_braces = peek() == '{';
      if (has_braces) ++at_;
      while (is_digit(peek())) name += text_[at_++];
      if (has_braces && peek() == '}') ++at_;
    }
    return single(std::move(name));
  }

  std::optional<Product> called() {
    const std::string_view name = command();
    if (name == "infty") return single("inf");
    if (name == "frac" || name == "dfrac" || name == "tfrac" || name == "cfrac") {
      auto above = argument();
      const auto below = above ? argument() : std::nullopt;
      if (!below) return std::nullopt;
      above->times(true, *below);
      return above;
    }
    if (name == "sqrt") {
      skip_space_only();
      if (peek() == '[') return std::nullopt;  // a cube root
      const auto inside = argument();
      if (!inside) return std::nullopt;
      return single("sqrt(" + inside->text() + ")");
    }
    if (is_one_of(name, kColours)) {
      skip_argument();
      return argument();
    }
    if (is_one_of(name, kWrappers)) {
      const auto inside = argument();
      if (inside && (peek() == '_' || peek() == '^')) {
        ++at_;
        skip_argument();
      }
      return inside;
    }
    return std::nullopt;
  }

  void skip_space_only() {
    while (is_white(peek())) ++at_;
  }

  // "{…}", or the next digit or command.
  std::optional<Product> argument() {
    skip_space_only();
    if (peek() == '{') {
      ++at_;
      return product('}');
    }
    if (is_digit(peek())) return single(std::string(1, text_[at_++]));
    if (peek() == '\\') return called();
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::string> latex_number(std::string_view latex) {
  constexpr std::size_t kLongest = 1000;  // bytes; bounds the recursion
  return latex.size() > kLongest ? std::nullopt : LatexNumber(latex).whole();
}

}  // namespace qkv

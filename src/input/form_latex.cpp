// LaTeX: \begin{bmatrix} 1 & -\infty \\[6pt] \frac{1}{2} & \sqrt{2} \end{bmatrix}
//
// Colours, boxes, braces under a term and space commands are decoration: what they hold is read.

#include <algorithm>
#include <array>
#include <utility>

#include "input/forms.h"
#include "input/plain_rows.h"
#include "input/spelling.h"

namespace qkv {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Take one argument, which is what they show.
constexpr std::array<std::string_view, 18> kWrappers{
    "mathbf", "mathrm",    "mathit",     "mathsf",    "mathtt",       "text",
    "textbf", "textit",    "bm",         "pmb",       "boxed",        "boldsymbol",
    "mbox",   "underline", "underbrace", "overbrace", "operatorname", "mathbb"};
// Take two, and show the second.
constexpr std::array<std::string_view, 3> kColours{"textcolor", "colorbox", "bbox"};
// Take none, and show nothing.
constexpr std::array<std::string_view, 17> kSpaces{
    "quad", "qquad", "displaystyle", "textstyle", "left",   "right",    "big", "Big", "bigl",
    "bigr", "hline", "thinspace",    "enspace",   "limits", "nonumber", "bf",  "rm"};

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
      if (peek() == '\\') {
        const std::string_view name = command();
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

// ---- where the matrices are ----

struct Environment {
  Span whole;
  Span inside;
  std::string_view before;  // what stands between it and the one before: "M = "
};

bool is_matrix_environment(std::string_view name) {
  return name.ends_with("matrix") || name.ends_with("matrix*") || name == "array" || name == "tabular";
}

std::vector<Environment> environments(std::string_view text, Span body) {
  constexpr std::string_view kBegin = "\\begin{";
  std::vector<Environment> found;
  std::size_t after_last = body.begin;
  for (std::size_t at = text.find(kBegin, body.begin); at < body.end; at = text.find(kBegin, at + 1)) {
    const std::size_t name = at + kBegin.size();
    const std::size_t close = text.find('}', name);
    if (close >= body.end) break;
    const std::string_view kind = text.substr(name, close - name);
    if (!is_matrix_environment(kind)) continue;
    std::size_t inside = close + 1;
    while (inside < body.end && (text[inside] == '{' || text[inside] == '['))  // of array: {ccc}
      inside = end_of_bracket(text, inside, body.end);
    const std::string ending = "\\end{" + std::string(kind) + "}";
    const std::size_t end = std::min(text.find(ending, inside), body.end);
    found.push_back({{at, std::min(end + ending.size(), body.end)},
                     {inside, end},
                     text.substr(after_last, at - after_last)});
    at = after_last = found.back().whole.end;
    if (after_last >= body.end) break;
  }
  return found;
}

class LatexRows {
 public:
  LatexRows(const Paste& paste, WordTable& table, bool is_environment)

      : is_environment_(is_environment), paste_(paste), text_(paste.text()), table_(table), rows_(table) {}

  // `separator` is & between cells, or 0: white space and commas.
  void read(Span inside, bool has_ampersands) {
    const std::string_view all = text_.substr(inside.begin, inside.end - inside.begin);
    const bool lines_are_rows = !is_environment_ && all.find("\\\\") == std::string_view::npos;
    std::size_t begin = inside.begin;
    int depth = 0;
    for (std::size_t at = inside.begin; at < inside.end;) {
      const char c = text_[at];
      if (c == '\\' && at + 1 < inside.end && text_[at + 1] == '\\') {
        cell({begin, at}, has_ampersands);
        end_row();
        at = begin = after_line_break(at + 2, inside.end);
      } else if (text_.substr(at, inside.end - at).starts_with("\\hline")) {
        at += 6;
        begin = at;
      } else if (c == '\\') {
        const std::size_t end = after_command(at, inside.end);
        if (!has_ampersands && is_decoration(text_.substr(at, end - at))) {
          cell({begin, at}, false);
          begin = end;
        }
        at = end;
      } else if (c == '%' && at > inside.begin && is_white(text_[at - 1])) {
        cell({begin, at}, has_ampersands, true);
        at = begin = std::min(text_.find('\n', at), inside.end);
      } else if (c == '{' || c == '}') {
        depth += c == '{' ? 1 : -1;
        ++at;
      } else if (c == '\n' && has_ampersands && lines_are_rows) {
        cell({begin, at}, true, true);
        end_row();
        begin = ++at;
      } else if (depth == 0 && has_ampersands && c == '&') {
        cell({begin, at}, true);
        begin = ++at;
      } else if (depth == 0 && !has_ampersands &&
                 (is_white(c) || std::string_view(",[]()$;").find(c) != std::string_view::npos)) {
        cell({begin, at}, false);
        if (c == '\n' || c == ';') end_row();
        begin = ++at;
      } else {
        ++at;
      }
    }
    cell({begin, std::min(inside.end, text_.size())}, has_ampersands, true);
    end_row();
  }

 private:
  std::size_t after_command(std::size_t at, std::size_t end) const {
    at = std::min(at + 2, end);
    while (at < end && is_letter(text_[at]) && is_letter(text_[at - 1])) ++at;
    return at;
  }

  // \left, \[ and \, between cells that white space separates.
  static bool is_decoration(std::string_view command) {
    return command.size() > 1 && (is_one_of(command.substr(1), kSpaces) || !is_letter(command[1]));
  }

  // "\\[6pt]", "\\*"
  std::size_t after_line_break(std::size_t at, std::size_t end) const {
    if (at < end && text_[at] == '*') ++at;
    if (at < end && text_[at] == '[' && at + 1 < end && (is_digit(text_[at + 1]) || text_[at + 1] == '-'))
      at = std::min(text_.find(']', at), end - 1) + 1;
    return at;
  }

  void cell(Span span, bool is_between_ampersands, bool is_last = false) {
    while (span.begin < span.end && is_white(text_[span.begin])) ++span.begin;
    while (span.begin < span.end && is_white(text_[span.end - 1])) --span.end;
    const std::string_view written = text_.substr(span.begin, span.end - span.begin);
    if (written.empty()) {
      // Nothing between two &: the row shows it as too short, and the cell after it is where.
      if (is_between_ampersands && (!is_last || cells_ > 0))
        add(missing_word(paste_, {span.begin, span.begin + 1}));
      return;
    }
    const bool is_plain = written.find_first_of("\\{$~_^") == std::string_view::npos;
    auto number = is_plain || is_elision(written) ? std::nullopt : latex_number(written);
    if (written == "\\_") number = "_";
    add(number ? table_.spelt(span, *number) : Word{span});
  }

  void add(Word word) {
    ++cells_;
    rows_.cell(word);
  }

  void end_row() {
    cells_ = 0;
    rows_.end_row();
  }

  bool is_environment_;
  const Paste& paste_;
  std::string_view text_;
  WordTable& table_;
  RowBuilder rows_;
  int cells_ = 0;
};

// A label in quotes may hold anything: "a & b" | 1 0
std::string without_quoted(std::string_view text) {
  std::string rest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t quote = std::min(text.find('"', at), text.size());
    const std::size_t close = std::min(text.find('"', quote + 1), text.size());
    const bool is_on_one_line = text.substr(quote, close - quote).find('\n') == std::string_view::npos;
    rest += text.substr(at, quote - at);
    at = close < text.size() && is_on_one_line ? close + 1 : quote + 1;
  }
  return rest;
}

bool recognises(const Paste& paste, Span body) {
  const std::string unquoted = without_quoted(paste.written(body));
  const std::string_view text = unquoted;
  if (text.find("\\begin{") != std::string_view::npos) return !environments(paste.text(), body).empty();
  if (text.find('&') != std::string_view::npos) return true;
  for (const std::string_view command :
       {"\\frac", "\\dfrac", "\\tfrac", "\\sqrt", "\\infty", "\\times", "\\cdot"}) {
    if (text.find(command) != std::string_view::npos) return true;
  }
  return false;
}

// "maskedScores = " and "+" before an environment: the name is the word before "=".
std::string_view name_before(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return {};
  std::string_view name = text.substr(0, equals);
  while (!name.empty() && (is_white(name.back()) || name.back() == '&')) name.remove_suffix(1);
  const std::size_t begin = name.find_last_of(" \t\n,;");
  return name.substr(begin == std::string_view::npos ? 0 : begin + 1);
}

// "^T", "^{\\top}", "^{\\mathsf{T}}"
bool is_transposed_after(std::string_view text) {
  if (!text.starts_with('^')) return false;
  const std::size_t end =
      text.size() > 1 && text[1] == '{' ? end_of_bracket(text, 1, text.size()) : text.size();
  const std::string_view power = text.substr(1, std::min<std::size_t>(end, 20) - 1);
  return power.starts_with('T') || power.starts_with("\\top") || power.find("T}") != std::string_view::npos ||
         power.find("\\top}") != std::string_view::npos;
}

// A factor before the matrix, or a term behind it, would be lost.
bool stands_alone(const Paste& paste, const Environment& matrix, Span body) {
  const std::size_t equals = matrix.before.rfind('=');
  const std::string_view before = matrix.before.substr(equals == std::string_view::npos ? 0 : equals + 1);
  const bool has_factor = before.find("\\frac") != std::string_view::npos ||
                          before.find("\\sqrt") != std::string_view::npos ||
                          before.find_first_of("0123456789/") != std::string_view::npos;
  std::size_t at = matrix.whole.end;
  while (at < body.end && is_white(paste.text()[at])) ++at;
  const std::string_view after = paste.text().substr(at, body.end - at);
  const bool has_term = after.starts_with('/') || after.starts_with('+') || after.starts_with('-') ||
                        after.starts_with('*') || after.starts_with("\\cdot") || after.starts_with("\\times");
  if (!has_factor && !has_term) return true;
  const Span place = has_term ? Span{at, at + 1} : Span{matrix.whole.begin, matrix.whole.begin + 1};
  paste.faults.error(place,
                     has_term
                         ? say({"what stands behind the matrix would be lost", "矩阵后面还有内容，不能略去"})
                         : say({"a factor stands before the matrix", "矩阵前面有一个因子"}),
                     say({"write the numbers of the result", "请写出算好的数"}));
  return false;
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const Said name = say({"a LaTeX matrix", " LaTeX 矩阵"});
  table.comma_separates = say({"'&'", " '&' "});
  std::vector<Environment> found = environments(paste.text(), body);
  if (found.empty()) {
    Span inside = body;
    const bool has_ampersands = paste.written(body).find('&') != std::string_view::npos;
    if (!has_ampersands) table.comma_separates = {};
    LatexRows(paste, table, false).read(inside, has_ampersands);
    return name;
  }
  const Environment* chosen = &found.front();
  if (found.size() > 1) {
    const auto by_name = std::find_if(found.begin(), found.end(), [&](const Environment& e) {
      return is_name_of(name_before(e.before), paste.place.wanted);
    });
    // A product or a sum after "name =" is not yet the matrix of that name.
    if (by_name == found.end() ||
        (by_name + 1 != found.end() && name_before((by_name + 1)->before).empty())) {
      paste.faults.error(found[1].whole,
                         say({"{0} matrices stand here, and which is meant cannot be told",
                              "这里有 {0} 个矩阵，看不出要哪一个"},
                             found.size()),
                         say({"paste one \\begin … \\end alone", "请只粘贴其中一个 \\begin … \\end"}));
      return {};
    }
    chosen = &*by_name;
  }
  if (!stands_alone(paste, *chosen, body)) return {};
  LatexRows(paste, table, true).read(chosen->inside, true);
  if (is_transposed_after(paste.text().substr(chosen->whole.end, body.end - chosen->whole.end)))
    table.is_transposed = true;
  return name;
}

}  // namespace

std::optional<std::string> latex_number(std::string_view latex) {
  constexpr std::size_t kLongest = 1000;  // bytes; bounds the recursion
  return latex.size() > kLongest ? std::nullopt : LatexNumber(latex).whole();
}

const Form kLatexForm{recognises, read};

}  // namespace qkv

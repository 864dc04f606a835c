// LaTeX: \begin{bmatrix} 1 & -\infty \\[6pt] \frac{1}{2} & \sqrt{2} \end{bmatrix}
//
// Where the matrices stand, and their rows; latex_number() reads the cells.

#include <algorithm>
#include <array>
#include <utility>

#include "input/forms.h"
#include "input/latex_words.h"
#include "input/plain_rows.h"
#include "input/spelling.h"

namespace qkv {
namespace {

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

const Form kLatexForm{recognises, read};

}  // namespace qkv

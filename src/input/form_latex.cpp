// LaTeX: \begin{bmatrix} 1 & -\infty \\[6pt] \frac{1}{2} & \sqrt{2} \end{bmatrix}
//
// Where the matrices stand, and their rows; latex_number() reads the cells.

#include <algorithm>
#include <array>
#include <utility>

#include "base/number.h"
#include "input/forms.h"
#include "input/latex_words.h"
#include "input/lines.h"
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
      } else if (const std::size_t rule = rule_length(text_.substr(at, inside.end - at)); rule > 0) {
        at = begin = at + rule;
      } else if (c == '\\') {
        const std::size_t end = after_command(at, inside.end);
        const std::string_view command = text_.substr(at, end - at);
        if (command == "\\cr" || command == "\\tabularnewline") {
          cell({begin, at}, has_ampersands);
          end_row();
          at = begin = after_line_break(end, inside.end);
          continue;
        }
        if (!has_ampersands && is_decoration(text_.substr(at, end - at))) {
          cell({begin, at}, false);
          begin = end;
        }
        at = end;
      } else if (c == '%' && at > inside.begin && begins_comment(at)) {
        const int before = cells_;
        if (!is_blank({begin, at})) cell({begin, at}, has_ampersands, true);
        is_cell_read_ = cells_ > before;
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

  bool is_blank(Span span) const {
    return std::all_of(text_.begin() + static_cast<long>(span.begin),
                       text_.begin() + static_cast<long>(span.end), is_white);
  }

  // "40%" is read, though TeX reads the sign as the beginning of a comment; at the end of a line it is one.
  bool begins_comment(std::size_t at) const {
    if (text_[at - 1] == '\\') return false;
    const std::size_t next = std::min(text_.find_first_not_of(" \t\r", at + 1), text_.size());
    return is_white(text_[at - 1]) || next == text_.size() || text_[next] == '\n';
  }

  // "\hline", "\midrule" and "\cmidrule(lr){1-2}": a line between rows.
  static std::size_t rule_length(std::string_view text) {
    for (const std::string_view rule :
         {"\\hline", "\\toprule", "\\midrule", "\\bottomrule", "\\cmidrule", "\\cline"}) {
      if (!text.starts_with(rule)) continue;
      std::size_t at = rule.size();
      while (at < text.size() && (text[at] == '(' || text[at] == '{' || text[at] == '['))
        at = end_of_bracket(text, at, text.size());
      return at;
    }
    return 0;
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
    if (written.empty() && std::exchange(is_cell_read_, false)) return;
    if (written.empty() && table_.rows.empty() && cells_ == 0 && is_above_names(span.begin)) return;
    if (written.empty()) {
      // Nothing between two &: the row shows it as too short, and the cell after it is where.
      if (is_between_ampersands && (!is_last || cells_ > 0))
        add(missing_word(paste_, {span.begin, span.begin + 1}));
      return;
    }
    const bool is_plain = written.find_first_of("\\{$~_^") == std::string_view::npos;
    auto number = is_plain || is_elision(written) ? std::nullopt : latex_number(written);
    if (written == "\\_") number = "_";
    // "the dog" is no product.
    if (const auto shown = shown_text(written); shown && (!number || shown->find(' ') != std::string::npos))
      number = shown;
    add(number ? table_.spelt(span, *number) : Word{span});
  }

  // Do names of columns follow, " & a & b \\\\", and no number?
  bool is_above_names(std::size_t at) const {
    const std::size_t end = std::min(text_.find("\\\\", at), text_.size());
    bool has_names = false;
    while (at < end) {
      const std::size_t next = std::min(text_.find('&', at), end);
      std::string_view cell = text_.substr(at, next - at);
      while (!cell.empty() && (is_white(cell.front()) || cell.front() == '$')) cell.remove_prefix(1);
      while (!cell.empty() && (is_white(cell.back()) || cell.back() == '$')) cell.remove_suffix(1);
      at = next + 1;
      if (cell.empty()) continue;
      NumberError ignored;
      const auto latex = latex_number(cell);
      const auto number = parse_number(latex.value_or(std::string(cell)), ignored);
      if (number && number->kind != Number::Kind::symbol) return false;
      has_names = true;
    }
    return has_names && end < text_.size();
  }

  // "\text{小猫}" → "小猫"
  static std::optional<std::string> shown_text(std::string_view latex) {
    for (const std::string_view command :
         {"\\text{", "\\textbf{", "\\textit{", "\\mathrm{", "\\mathbf{", "\\mbox{"}) {
      if (!latex.starts_with(command)) continue;
      const std::string_view inside = latex.substr(command.size(), latex.size() - command.size() - 1);
      const bool is_plain = latex.ends_with('}') && inside.find_first_of("\\{}$") == std::string_view::npos;
      return is_plain ? std::optional(std::string(inside)) : std::nullopt;
    }
    return std::nullopt;
  }

  void add(Word word) {
    ++cells_;
    rows_.cell(word);
  }

  void end_row() {
    cells_ = 0;
    is_cell_read_ = false;
    const std::size_t before = table_.rows.size();
    rows_.end_row();
    if (table_.rows.size() > before) table_.rows.back().first_word = FirstWord::name;
  }

  bool is_environment_;
  const Paste& paste_;
  std::string_view text_;
  WordTable& table_;
  RowBuilder rows_;
  int cells_ = 0;
  bool is_cell_read_ = false;  // before a comment, and what separates it from the next comes below
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

// The power at `at`, "^T" or "^{-1}": where it ends, and whether it transposes.
struct Power {
  std::size_t end = 0;
  bool transposes = false;
};
Power power_at(std::string_view text, std::size_t at, std::size_t end) {
  std::size_t begin = at + 1;
  while (begin < end && is_white(text[begin])) ++begin;
  if (begin >= end) return {begin, false};
  Power power{.end = begin + 1};
  if (text[begin] == '{') {
    power.end = end_of_bracket(text, begin, end);
  } else if (text[begin] == '\\') {
    while (power.end < end && is_letter(text[power.end])) ++power.end;
    while (power.end < end && text[power.end] == '{') power.end = end_of_bracket(text, power.end, end);
  }
  std::string exponent;
  for (const char c : text.substr(begin, power.end - begin)) {
    if (!is_white(c) && c != '{' && c != '}') exponent += c;
  }
  for (const std::string_view sign : {"T", "\\top", "\\intercal", "\\mathsfT", "\\mathrmT", "\\mathbfT",
                                      "\\textT", "\\mathsf T", "\\rmT", "\\tT"})
    power.transposes = power.transposes || exponent == sign;
  return power;
}

// Around a matrix, and no part of the calculation: \left[, \quad, &, a subscript with its size.
bool is_frame_command(std::string_view name) {
  constexpr std::array<std::string_view, 18> kFrames{
      "label", "tag",   "notag", "boxed", "small",  "normalsize", "centering", "Bigl",   "Bigr",
      "biggl", "biggr", "Biggl", "Biggr", "langle", "lbrack",     "rbrack",    "hspace", "noindent"};
  return is_one_of(name, kSpaces) || is_one_of(name, kFrames);
}

// What stands before the matrix and would change its numbers: "-", "2", "X^T"; empty where nothing does.
Span factor_before(std::string_view text, Span before) {
  const std::size_t equals = text.substr(0, before.end).rfind('=');
  if (equals != std::string_view::npos && equals >= before.begin) before.begin = equals + 1;
  std::size_t end = before.end;
  bool is_at_math = false;  // behind "$" or "\[" there is prose
  while (end > before.begin && !is_at_math) {
    const char c = text[end - 1];
    if (is_white(c) || c == '&' || c == '[' || c == '(' || c == '{' || c == '|' || c == '.') {
      is_at_math = end - 1 > before.begin && text[end - 2] == '\\' && (c == '[' || c == '(');
      --end;
      continue;
    }
    const bool is_space_command = end - 1 > before.begin && text[end - 2] == '\\' &&
                                  std::string_view(",;:!").find(c) != std::string_view::npos;
    if (is_space_command) {
      end -= 2;
      continue;
    }
    if (c == '$' || c == ':' || c == ',' || c == ';' || c == '}' || c == ']') {
      // "\begin{aligned}" and "\hspace{1em}", but not "\frac{1}{2}"
      const std::size_t command = text.substr(0, end).rfind('\\');
      const bool is_environment =
          c == '}' && command != std::string_view::npos && command >= before.begin &&
          (text.substr(command).starts_with("\\begin") || text.substr(command).starts_with("\\end") ||
           text.substr(command).starts_with("\\text{") || text.substr(command).starts_with("\\label"));
      if (c != '}' && c != ']') is_at_math = true;
      if (is_environment) is_at_math = true;
      if (!is_at_math) break;
      continue;
    }
    std::size_t begin = end;
    while (begin > before.begin && is_letter(text[begin - 1])) --begin;
    const std::string_view word = text.substr(begin, end - begin);
    const bool is_command = begin > before.begin && text[begin - 1] == '\\';
    if (is_command && is_frame_command(word)) {
      end = begin - 1;
      continue;
    }
    if (c == '\\') {  // "\\" above, or what is left of "\["
      --end;
      continue;
    }
    // A word of prose, or a name in another script; not "softmax("
    const bool is_other_script = static_cast<unsigned char>(c) >= 0x80 && c != '\xb7';
    if (!is_command && ((word.size() > 2 && is_white(text[end])) || is_other_script)) return {};
    break;
  }
  if (is_at_math || end == before.begin) return {};
  std::size_t begin = end - 1;
  while (begin > before.begin && !is_white(text[begin - 1])) --begin;
  return {begin, end};
}

// Behind the matrix: is it transposed, and what would be lost?
struct Behind {
  bool is_transposed = false;
  Span lost{};
};
Behind behind(std::string_view text, std::size_t at, std::size_t end) {
  Behind found;
  while (at < end) {
    const char c = text[at];
    if (is_white(c) || std::string_view("])|.,;:&}").find(c) != std::string_view::npos) {
      ++at;
    } else if (c == '$') {
      break;  // prose
    } else if (c == '_') {
      at = at + 1 < end && text[at + 1] == '{' ? end_of_bracket(text, at + 1, end) : at + 2;
    } else if (c == '^') {
      const Power power = power_at(text, at, end);
      if (!power.transposes || found.is_transposed) {
        found.lost = {at, std::min(power.end, end)};
        return found;
      }
      found.is_transposed = true;
      at = power.end;
    } else if (c == '\'') {
      if (found.is_transposed) break;
      found.is_transposed = true;
      ++at;
    } else if (c == '%') {
      at = std::min(text.find('\n', at), end);
    } else if (c == '\\' && at + 1 < end && !is_letter(text[at + 1])) {
      if (text[at + 1] == ']' || text[at + 1] == ')') break;
      at += 2;
    } else if (c == '\\') {
      std::size_t name_end = at + 1;
      while (name_end < end && is_letter(text[name_end])) ++name_end;
      const std::string_view name = text.substr(at + 1, name_end - at - 1);
      if (name == "text" || name == "end" || name == "in" || name == "mbox" || name == "textrm" ||
          name == "par")
        break;
      if (!is_frame_command(name)) {
        found.lost = {at, name_end};
        return found;
      }
      at = name_end;
      while (at < end && text[at] == '{') at = end_of_bracket(text, at, end);
    } else {
      const std::size_t begin = at;
      while (at < end && is_letter(text[at])) ++at;
      const bool is_prose = at - begin > 2 || static_cast<unsigned char>(c) >= 0x80;
      if (!is_prose || text.substr(begin, end - begin).starts_with("×") ||
          text.substr(begin, end - begin).starts_with("·"))
        found.lost = {begin, begin + 1};
      return found;
    }
  }
  return found;
}

// A factor before the matrix, or a term behind it, would be lost.
bool stands_alone(const Paste& paste, const Environment& matrix, const Behind& behind) {
  const std::size_t before = static_cast<std::size_t>(matrix.before.data() - paste.text().data());
  const Span factor = factor_before(paste.text(), {before, before + matrix.before.size()});
  if (factor.end == factor.begin && behind.lost.end == behind.lost.begin) return true;
  if (factor.end > factor.begin) {
    paste.faults.error(factor, say({"a factor stands before the matrix", "矩阵前面有一个因子"}),
                       say({"write the numbers of the result; behind a name stands '='",
                            "请写出算好的数；如果是名称，后面要写“=”"}));
  } else {
    paste.faults.error(behind.lost,
                       say({"what stands behind the matrix would be lost", "矩阵后面还有内容，不能略去"}),
                       say({"write the numbers of the result", "请写出算好的数"}));
  }
  return false;
}

// Of several matrices: behind the first stands the name of the next.
std::size_t end_of_line(const Paste& paste, const Environment& matrix, std::size_t end) {
  const std::size_t at = paste.text().find_first_of(",;\n&", matrix.whole.end);
  return std::min(at, end);
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
  const bool is_last = chosen == &found.back();
  const std::size_t end = is_last ? body.end : (chosen + 1)->whole.begin;
  const Behind behind_it =
      behind(paste.text(), chosen->whole.end, is_last ? end : end_of_line(paste, *chosen, end));
  if (!stands_alone(paste, *chosen, behind_it)) return {};
  LatexRows(paste, table, true).read(chosen->inside, true);
  if (behind_it.is_transposed) table.is_transposed = true;
  return name;
}

}  // namespace

std::vector<NamedSpan> named_latex(std::string_view text) {
  std::vector<NamedSpan> found;
  for (const Environment& matrix : environments(text, {0, text.size()})) {
    const std::string_view written = name_before(matrix.before);
    std::string name;
    for (std::size_t at = 0; at < written.size(); ++at) {
      if (written[at] == '\\') {
        while (at + 1 < written.size() && is_letter(written[at + 1])) ++at;
      } else if (std::string_view("{}$&").find(written[at]) == std::string_view::npos) {
        name += written[at];
      }
    }
    if (!is_plain_name(name)) continue;
    const auto begin = static_cast<std::size_t>(written.data() - text.data());
    const std::size_t value = matrix.whole.begin - (matrix.before.size() - matrix.before.rfind('=') - 1);
    if (!found.empty()) found.back().body.end = begin;
    found.push_back({std::move(name), {begin, begin + written.size()}, {value, text.size()}});
  }
  return found;
}

const Form kLatexForm{recognises, read};

}  // namespace qkv

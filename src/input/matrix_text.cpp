// In three passes, because the first row alone does not tell what it is:
//
//   1. words: every line becomes rows of words, each knowing its place in the source;
//   2. labels: an unmarked first word is a label only if every row has one;
//   3. numbers.

#include "input/matrix_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "input/fold.h"
#include "input/lines.h"

namespace qkv {
namespace {

constexpr std::size_t kLongestWord = 4000;  // bytes
constexpr int kMostFaults = 20;             // told of one matrix; the rest is likely of the same kind

// "3 numbers"
Said numbers(std::size_t count) {
  return count == 1 ? say({"1 number", "1 个数"}) : say({"{0} numbers", "{0} 个数"}, count);
}

enum class Label { none, marked, before_bracket };

struct RowText {
  Span span;              // from the first character to the last
  std::size_t first = 0;  // words[first, last)
  std::size_t last = 0;
  Label label = Label::none;  // if not none, the first word is the label
  bool is_broken = false;     // an error hides how many numbers it has
};

struct Word {
  Span span;  // with the quotes
  bool is_quoted = false;
};

class MatrixReader {
 public:
  MatrixReader(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics)
      : place_(place), text_(place.source->text), rules_(rules), diagnostics_(diagnostics) {}

  std::optional<MatrixText> read() {
    commas_are_decimal_ = guess_decimal_comma();
    read_words();
    if (is_hopeless()) return std::nullopt;
    if (rows_.empty()) {
      if (faults_ == 0) no_rows();
      return std::nullopt;
    }
    find_unmarked_labels();
    if (!widths_agree()) {
      // The numbers are read all the same: their faults are faults of their own.
      read_cells();
      return std::nullopt;
    }
    result_.rows = static_cast<Index>(rows_.size());
    result_.cols = static_cast<Index>(width(rows_[0]));
    read_cells();
    result_.has_faults = faults_ > 0;
    suspect_labels();
    return std::move(result_);
  }

 private:
  std::string_view written(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  void error(Span span, Said message, Said hint = {}) {
    if (is_hopeless()) return;
    ++faults_;
    diagnostics_.error(place_.source, span, std::move(message), std::move(hint));
    if (faults_ == kMostFaults) {
      diagnostics_.error(
          place_.source, place_.name,
          say({"{0} has more faults; these were the first {1}", "{0} 还有其他错误；以上是前 {1} 处"},
              place_.called, kMostFaults));
    }
  }

  void no_rows() {
    if (place_.within == Within::section) {
      error(place_.name, say({"{0} has no rows", "{0} 没有任何一行"}, place_.called));
    } else {
      diagnostics_.error(place_.source->name, say({"no numbers in this file", "文件里没有数"}));
    }
  }

  // Reading on would only say the same again.
  bool is_hopeless() const { return is_too_large_ || faults_ >= kMostFaults; }

  template <class Do>
  void each_line(Do&& take) const {
    for (std::size_t at = place_.body.begin; at < place_.body.end;) {
      const Line line = line_at(text_, at, place_.body.end);
      at = line.next;
      if (!line.is_blank() && !take(line)) return;
    }
  }

  // ---- decimal commas ----

  // "1,5 <tab> -2,25": where tabs separate the cells, or ";" does on every line, a comma
  // between two digits is a decimal comma.  Brackets or spaces around commas say otherwise.
  bool guess_decimal_comma() {
    bool has_tabs = false;
    bool has_comma = false;
    bool is_possible = true;
    std::size_t lines = 0;
    std::optional<std::size_t> semicolons;  // the same inside every line
    std::optional<Span> first_comma;
    each_line([&](const Line& line) {
      ++lines;
      std::size_t inner_semicolons = 0;
      bool field_has_comma = false;
      for (std::size_t at = line.content.begin; at < line.content.end && is_possible;) {
        const Folded c = fold_at(text_, at);
        const std::size_t next = at + c.length;
        if (c.value == '\t') has_tabs = true;
        if (c.value == ';' && next < line.content.end) ++inner_semicolons;
        if (c.value == '\t' || c.value == ';') field_has_comma = false;
        if (c.value == ' ' || is_open_bracket(c.value) || c.value == '"') is_possible = false;
        if (c.value == ',') {
          if (field_has_comma || !is_digit_at(next, line) || !is_digit_before(at, line)) is_possible = false;
          if (!first_comma) first_comma = Span{at, next};
          has_comma = field_has_comma = true;
        }
        at = next;
      }
      if (semicolons && *semicolons != inner_semicolons) semicolons = 0;
      if (!semicolons) semicolons = inner_semicolons;
      return is_possible;
    });
    // On a single line "1,0;0,1" are two rows, as MATLAB writes them.
    const bool semicolons_separate = !has_tabs && lines > 1 && semicolons.value_or(0) > 0;
    if (!is_possible || !has_comma || !(has_tabs || semicolons_separate)) return false;
    semicolons_separate_cells_ = semicolons_separate;
    diagnostics_.note(
        place_.source, *first_comma,
        say({"commas in {0} are read as decimal points, because {1} separates the numbers",
             "{0} 中的逗号读作小数点，因为数与数之间用的是{1}"},
            place_.called, semicolons_separate ? Said{"';'", " ';'"} : Said{"a tab", "制表符"}));
    return true;
  }

  bool is_digit_at(std::size_t at, const Line& line) const {
    if (at >= line.content.end) return false;
    const char c = fold_at(text_, at).value;
    return c >= '0' && c <= '9';
  }
  bool is_digit_before(std::size_t at, const Line& line) const {
    if (at == line.content.begin) return false;
    std::size_t before = at - 1;
    while (before > line.content.begin && (static_cast<unsigned char>(text_[before]) & 0xc0U) == 0x80)
      --before;
    return is_digit_at(before, line);
  }

  // ---- words ----

  void read_words() {
    each_line([&](const Line& line) {
      std::size_t begin = line.content.begin;
      if (const auto assignment = assignment_of(text_, line);
          assignment && is_plain_name(written(assignment->name))) {
        if (!begins_pasted_matrix(text_.substr(0, line.content.end), *assignment)) {
          misplaced_setting(*assignment);
          return !is_hopeless();
        }
        begin = assignment->value.begin;
      } else if (place_.within == Within::matrix_file) {
        if (const auto header = header_of(text_, line)) {
          error(header->span,
                say({"a matrix file holds rows only, but here begins the section {0}",
                     "矩阵文件只含数据行，而这里是小节 {0} 的开头"},
                    quotable(written(header->span))),
                say({"give a problem file as FILE, without an option",
                     "题目文件请直接作为 FILE 给出，不要放在选项里"}));
          return false;
        }
      }
      read_line(begin + call_length(written({begin, line.content.end})), line.content.end);
      return !is_hopeless();
    });
    end_row();
  }

  // In a section the outline has told of it; a matrix file has no outline.
  void misplaced_setting(const Assignment& assignment) {
    if (place_.within == Within::section) return;
    error({assignment.name.begin, assignment.value.end},
          say({"a matrix file holds rows only, no settings", "矩阵文件只含数据行，不含设置"}),
          say({"give a problem file as FILE, without an option",
               "题目文件请直接作为 FILE 给出，不要放在选项里"}));
  }

  void read_line(std::size_t at, std::size_t end) {
    if (!is_row_open_ && depth_ == 0) at = label_with_commas(at, end);
    while (at < end && !is_hopeless()) {
      const Folded c = fold_at(text_, at);
      const Span here{at, at + c.length};
      if (is_space(c.value)) {
        at = here.end;
      } else if (is_open_bracket(c.value)) {
        open_bracket(here);
        at = here.end;
      } else if (is_close_bracket(c.value)) {
        close_bracket(here);
        at = here.end;
      } else if (c.value == ',') {
        comma(here);
        at = here.end;
      } else if (c.value == ';') {
        if (semicolons_separate_cells_) {
          comma(here);
        } else {
          end_row();
        }
        at = here.end;
      } else if (c.value == ':' || c.value == '|') {
        mark_label(here);
        at = here.end;
      } else {
        at = c.value == '"' ? quoted_word(at, end) : word(at, end);
      }
    }
    // "[[1, 2," + "3, 4]]": a row that stands in its own bracket inside another goes on.
    if (depth_ < 2 || !is_row_open_) end_row();
  }

  // "a,b | 1 2": before ":" or "|" a comma belongs to the label.  Reads such a label and its sign;
  // returns where to go on, which is `at` for every other line.
  std::size_t label_with_commas(std::size_t at, std::size_t end) {
    std::optional<Span> label;
    bool has_comma = false;
    bool has_ended = false;
    for (std::size_t here = at; here < end;) {
      const Folded c = fold_at(text_, here);
      const Span span{here, here + c.length};
      if (c.value == ':' || c.value == '|') {
        if (!label || !has_comma) return at;
        add_word({*label, false});
        mark_label(span);
        return span.end;
      }
      if (is_space(c.value)) {
        has_ended = label.has_value();
      } else if (has_ended || c.value == ';' || c.value == '"' || is_open_bracket(c.value) ||
                 is_close_bracket(c.value)) {
        return at;
      } else {
        if (!label) label = Span{span.begin, span.begin};
        label->end = span.end;
        has_comma = has_comma || c.value == ',';
      }
      here = span.end;
    }
    return at;
  }

  void open_bracket(Span here) {
    if (is_closed_ && is_row_open_) {
      if (row_.label != Label::none) {
        error(here, say({"two bracketed rows after one label", "一个标签后面有两组括号"}),
              say({"each matrix has a section of its own", "每个矩阵要有自己的小节"}));
      }
      end_row();  // "[1, 0], [0, 1]": two rows
    }
    if (is_row_open_ && words_in_row() == 1 && row_.label == Label::none && depth_ < 2)
      row_.label = Label::before_bracket;
    ++depth_;
    if (depth_ == 3 && !is_stack_reported_) {
      is_stack_reported_ = true;
      error(here,
            say({"brackets three deep: this is a stack of matrices", "括号有三层：这是多个矩阵叠在一起"}),
            say({"write one matrix in each section", "每个小节只写一个矩阵"}));
    }
    is_comma_last_ = false;
    is_closed_ = false;
  }

  // Brackets are decoration: one too many or too few changes nothing.
  void close_bracket(Span here) {
    if (depth_ > 0) --depth_;
    is_closed_ = true;
    is_comma_last_ = false;
    if (is_row_open_) row_.span.end = here.end;
  }

  void comma(Span here) {
    const bool is_between_rows = is_closed_ || (depth_ > 0 && !is_row_open_);
    if (!is_between_rows && (is_comma_last_ || words_in_row() == (row_.label == Label::none ? 0U : 1U))) {
      error(here, say({"no number before this ','", "这个“,”前面没有数"}),
            say({"write 0 for a zero", "零也要写成 0"}));
      add_word({here, false});  // counted, so that the row does not look ragged too
    }
    is_comma_last_ = true;
  }

  void mark_label(Span here) {
    if (words_in_row() == 1 && row_.label == Label::none) {
      row_.label = Label::marked;
      return;
    }
    if (!is_row_open_) open_row(here.begin);
    row_.is_broken = true;
    error(here,
          say({"'{0}' stands only after the label of a row", "“{0}”只能写在一行的标签后面"}, written(here)),
          say({"a label that holds '{0}' is written in quotes", "含有“{0}”的标签要加引号"}, written(here)));
  }

  std::size_t quoted_word(std::size_t begin, std::size_t end) {
    const std::size_t close = text_.substr(0, end).find('"', begin + 1);
    if (close == std::string_view::npos) {
      error({begin, end}, say({"the quote is never closed on this line", "这一行的引号没有配对"}));
      add_word({{begin, end}, true});
      row_.is_broken = true;
      return end;
    }
    add_word({{begin, close + 1}, true});
    return close + 1;
  }

  std::size_t word(std::size_t begin, std::size_t end) {
    std::size_t at = begin;
    while (at < end) {
      const Folded c = fold_at(text_, at);
      if (c.value == '(' && written({begin, at}).ends_with("sqrt")) {
        at = end_of_root(at, end);
        continue;
      }
      const bool is_separator = is_space(c.value) || c.value == ';' || c.value == ':' || c.value == '|' ||
                                c.value == '"' || is_open_bracket(c.value) || is_close_bracket(c.value) ||
                                (c.value == ',' && !commas_are_decimal_);
      if (is_separator) break;
      at += c.length;
    }
    add_word({{begin, at}, false});
    return at;
  }

  // After the bracket that closes "sqrt(", which may hold further ones.
  std::size_t end_of_root(std::size_t at, std::size_t end) const {
    int depth = 0;
    while (at < end) {
      const char c = fold_at(text_, at).value;
      at += fold_at(text_, at).length;
      if (c == '(') ++depth;
      if (c == ')' && --depth == 0) return at;
    }
    return end;
  }

  std::size_t words_in_row() const { return is_row_open_ ? words_.size() - row_.first : 0; }

  void open_row(std::size_t at) {
    is_row_open_ = true;
    is_closed_ = false;
    row_ = {.span = {at, at}, .first = words_.size(), .last = words_.size()};
  }

  void add_word(Word word) {
    if (!is_row_open_) open_row(word.span.begin);
    row_.span.end = word.span.end;
    words_.push_back(word);
    is_comma_last_ = false;
    // Labels are words too, hence the factor.
    if (words_.size() > 2 * static_cast<std::size_t>(kMostCells)) too_large();
  }

  void end_row() {
    if (is_row_open_) {
      row_.last = words_.size();
      rows_.push_back(row_);
    }
    is_row_open_ = false;
    is_closed_ = false;
    is_comma_last_ = false;
  }

  void too_large() {
    error(place_.name,
          say({"{0} has more than {1} numbers, the most that are traced", "{0} 的数超过 {1} 个，这是上限"},
              place_.called, "1,000,000"));
    is_too_large_ = true;
  }

  // ---- labels ----

  // Would this word be read as a number, right or wrong?  A mistyped number is no label.
  bool is_meant_as_number(const Word& word) const {
    if (word.is_quoted) return false;
    if (is_too_long(word)) return true;
    const std::string text = folded(written(word.span));
    const char first = text[0];
    if ((first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.') return true;
    NumberError ignored;
    const std::optional<Number> number = parse_number(text, ignored);
    if (number) return is_legal(*number) || number->kind == Number::Kind::nan;
    return text == "e" || text == "pi" || text.starts_with("sqrt");
  }

  // Longer than any number or label; not even folded.
  static bool is_too_long(const Word& word) { return word.span.end - word.span.begin > kLongestWord; }

  bool is_legal(const Number& number) const {
    switch (number.kind) {
      case Number::Kind::finite:
        return true;
      case Number::Kind::infinite:
        return rules_.infinity;
      case Number::Kind::symbol:
        return rules_.symbols;
      case Number::Kind::blank:
        return rules_.blanks;
      case Number::Kind::nan:
        return rules_.nan;
    }
    return false;
  }

  void find_unmarked_labels() {
    const bool all_begin_with_a_label = std::all_of(rows_.begin(), rows_.end(), [&](const RowText& row) {
      if (row.label != Label::none) return true;
      return row.last - row.first > 1 && !is_meant_as_number(words_[row.first]);
    });
    bool has_labels = false;
    for (RowText& row : rows_) {
      const bool is_quoted = row.last > row.first && words_[row.first].is_quoted;
      if (row.label == Label::none && (all_begin_with_a_label || is_quoted))
        row.label = Label::before_bracket;
      has_labels = has_labels || row.label != Label::none;
      // A label without its mark: whether it counts as a cell cannot be said.
      const bool is_doubtful =
          row.label == Label::none && row.last - row.first > 1 && !is_meant_as_number(words_[row.first]);
      row.is_broken = row.is_broken || is_doubtful;
    }
    if (!has_labels) return;
    for (const RowText& row : rows_) {
      result_.row_labels.push_back(row.label == Label::none ? std::string() : label_text(words_[row.first]));
    }
  }

  std::string label_text(const Word& word) {
    std::string_view text = written(word.span);
    if (word.is_quoted) {
      text.remove_prefix(1);
      if (text.ends_with('"')) text.remove_suffix(1);
    }
    if (text.size() > kLongestLabel) {
      error(word.span, say({"a label of {0} bytes; the limit is {1}", "标签有 {0} 字节；上限是 {1}"},
                           text.size(), kLongestLabel));
      return {};
    }
    NumberError ignored;
    const auto number = parse_number(folded(text), ignored);
    if (!word.is_quoted && number && number->kind == Number::Kind::finite && ++number_labels_ == 1) {
      diagnostics_.warning(
          place_.source, word.span,
          say({"'{0}' is read as the label of this row, not as a number", "“{0}”读作这一行的标签，而不是数"},
              text),
          say({"put it in quotes if a label is meant", "如果确实是标签，请加引号"}));
    }
    return std::string(text);
  }

  // ---- widths ----

  static std::size_t width(const RowText& row) {
    return row.last - row.first - (row.label == Label::none ? 0 : 1);
  }

  bool widths_agree() {
    std::vector<std::size_t> whole;  // rows whose width is known
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].is_broken) whole.push_back(i);
    }
    bool agree = whole.size() == rows_.size() && !is_stack_reported_;
    if (whole.empty()) return false;
    const std::size_t like = whole[0];  // the row that the others are compared with
    const std::size_t expected = width(rows_[like]);
    if (expected == 0) {
      error(rows_[like].span,
            say({"row {0} of {1} has no numbers", "{1} 的第 {0} 行没有数"}, like + 1, place_.called));
      return false;
    }
    // When all the others agree among themselves, the first row is the odd one.
    const bool first_is_odd = whole.size() > 2 && width(rows_[whole[1]]) != expected &&
                              std::all_of(whole.begin() + 2, whole.end(), [&](std::size_t i) {
                                return width(rows_[i]) == width(rows_[whole[1]]);
                              });
    if (first_is_odd) {
      error(rows_[like].span, say({"row {0} of {1} has {2}, but the other rows have {3}",
                                   "{1} 的第 {0} 行有 {2}，而其他各行有 {3} 个"},
                                  like + 1, place_.called, numbers(expected), width(rows_[whole[1]])));
      return false;
    }
    for (const std::size_t i : whole) {
      if (width(rows_[i]) == expected) continue;
      agree = false;
      error(rows_[i].span, say({"row {0} of {1} has {2}, but row {4} has {3}",
                                "{1} 的第 {0} 行有 {2}，而第 {4} 行有 {3} 个"},
                               i + 1, place_.called, numbers(width(rows_[i])), expected, like + 1));
    }
    if (expected * rows_.size() > static_cast<std::size_t>(kMostCells)) {
      too_large();
      return false;
    }
    return agree;
  }

  // ---- numbers ----

  void read_cells() {
    for (const RowText& row : rows_) {
      result_.row_spans.push_back(row.span);
      for (std::size_t i = row.first + (row.label == Label::none ? 0 : 1); i < row.last; ++i) {
        result_.cells.push_back(is_hopeless() ? Number{} : cell(words_[i]));
        result_.cell_spans.push_back(words_[i].span);
      }
    }
  }

  Number cell(const Word& word) {
    const std::string_view as_written = written(word.span);
    if (fold_at(as_written, 0).value == ',' && as_written.size() <= 3)
      return {};  // reported as a missing number
    if (word.is_quoted) {
      if (as_written.size() < 2 || !as_written.ends_with('"')) return {};  // reported as an unclosed quote
      error(word.span, say({"text in quotes where a number is expected", "这里应当是数，却是引号中的文字"}));
      return {};
    }
    if (is_too_long(word)) {
      error(word.span,
            say({"a word of {0} bytes where a number is expected", "这里应当是数，却是 {0} 字节长的字串"},
                as_written.size()));
      return {};
    }
    FoldedWord read = folded_word(as_written);
    if (commas_are_decimal_) std::replace(read.text.begin(), read.text.end(), ',', '.');
    NumberError fault;
    std::optional<Number> number = parse_number(read.text, fault);
    if (number && is_legal(*number)) {
      if (number->kind == Number::Kind::symbol) suspect_letter(word, *number);
      return std::move(*number);
    }
    if (number) fault = illegal(*number);
    if (fault.hint.empty() && is_first_of_several(word)) {
      fault.hint = say({"a label needs ':' or '|' after it", "标签后面要写“:”或“|”"});
    }
    const std::size_t begin = std::min(fault.at, read.text.size());
    const std::size_t end = std::min(fault.at + fault.length, read.text.size());
    error({word.span.begin + read.offsets[begin], word.span.begin + read.offsets[end]},
          std::move(fault.message), std::move(fault.hint));
    return {};
  }

  bool is_first_of_several(const Word& word) const {
    const auto row = std::upper_bound(rows_.begin(), rows_.end(), word.span.begin,
                                      [](std::size_t at, const RowText& r) { return at < r.span.begin; });
    if (row == rows_.begin()) return false;
    const RowText& found = *(row - 1);
    return found.last - found.first > 1 && words_[found.first].span == word.span && !is_meant_as_number(word);
  }

  NumberError illegal(const Number& number) const {
    NumberError fault = not_a_number(number.text);
    switch (number.kind) {
      case Number::Kind::symbol:
        if (fault.hint.empty() && number.text[0] == 'v') {
          fault.hint = say({"symbols stand only in [V]", "符号只能出现在 [V] 中"});
        }
        break;
      case Number::Kind::infinite:
        fault.message = say({"'{0}' is not allowed in {1}", "{1} 中不能有“{0}”"}, number.text, place_.called);
        fault.hint = say({"infinity is legal in mask, bias, scores, scaled, masked and expect.*",
                          "无穷大只能出现在 mask、bias、scores、scaled、masked 和 expect.* 中"});
        break;
      case Number::Kind::blank:
        fault.message = say({"'_' is not a number", "“_”不是数字"});
        fault.hint = say({"a cell is left blank only on an answer sheet", "只有答题纸上才能留空"});
        break;
      case Number::Kind::nan:
      case Number::Kind::finite:
        break;
    }
    return fault;
  }

  // In V the letter O is a legal symbol, and hardly ever meant as one.
  void suspect_letter(const Word& word, const Number& symbol) {
    const NumberError doubt = not_a_number(symbol.text);
    if (doubt.hint.empty() || symbol.text.size() > 1) return;
    diagnostics_.warning(place_.source, word.span,
                         say({"'{0}' is read as a symbol", "“{0}”读作符号"}, symbol.text), doubt.hint);
  }

  // "A 1 0" is a label and two numbers in K, but a symbol and two numbers in V.
  void suspect_labels() {
    if (!rules_.symbols || !result_.row_labels.empty() || result_.cols < 2) return;
    for (std::size_t i = 0; i < result_.cells.size(); ++i) {
      const bool is_first = i % static_cast<std::size_t>(result_.cols) == 0;
      if ((result_.cells[i].kind == Number::Kind::symbol) != is_first) return;
    }
    const std::string& word = result_.cells[0].text;
    const bool is_usual_symbol =
        word[0] == 'v' && word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (is_usual_symbol) return;
    diagnostics_.warning(
        place_.source, result_.cell_spans[0],
        say({"'{0}' is read as a symbol: the first value of its row", "“{0}”读作符号，是这一行的第一个值"},
            quotable(word)),
        say({"if it is the label of the row, write '{0}:'", "如果它是这一行的标签，请写“{0}:”"},
            quotable(word)));
  }

  const MatrixPlace& place_;
  std::string_view text_;
  CellRules rules_;
  Diagnostics& diagnostics_;

  bool commas_are_decimal_ = false;
  bool semicolons_separate_cells_ = false;

  std::vector<Word> words_;
  std::vector<RowText> rows_;
  RowText row_;  // the row being read
  bool is_row_open_ = false;
  bool is_closed_ = false;  // its bracket was closed
  bool is_comma_last_ = false;
  int depth_ = 0;  // open brackets
  bool is_stack_reported_ = false;
  bool is_too_large_ = false;
  int number_labels_ = 0;
  int faults_ = 0;

  MatrixText result_;
};

}  // namespace

std::optional<MatrixText> read_matrix(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics) {
  return MatrixReader(place, rules, diagnostics).read();
}

}  // namespace qkv

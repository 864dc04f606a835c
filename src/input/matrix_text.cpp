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
#include "input/forms.h"
#include "input/heading.h"
#include "input/lines.h"
#include "input/plain_numbers.h"
#include "input/spelling.h"

namespace qkv {
namespace {

// "3 numbers"
Said numbers(std::size_t count) {
  return count == 1 ? say({"1 number", "1 个数"}) : say({"{0} numbers", "{0} 个数"}, count);
}

class MatrixReader {
 public:
  MatrixReader(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics)
      : place_(place),
        text_(place.source->text),
        rules_(rules),
        faults_(place, diagnostics),
        cells_(place, rules, table_) {}

  std::optional<MatrixText> read() {
    read_words({place_, faults_}, place_.body, table_);
    if (is_hopeless()) return std::nullopt;
    if (table_.rows.empty()) {
      if (faults_.count() == 0) faults_.no_rows();
      return std::nullopt;
    }
    find_elisions();
    judge_spaces();
    judge_commas();
    drop_heading({place_, faults_}, cells_, table_);
    drop_line_numbers();
    find_unmarked_labels();
    if (!widths_agree()) {
      // The numbers are read all the same: their faults are faults of their own.
      read_cells();
      return std::nullopt;
    }
    result_.rows = static_cast<Index>(table_.rows.size());
    result_.cols = static_cast<Index>(table_.rows[0].width());
    read_cells();
    turn();
    result_.has_faults = faults_.count() > 0;
    suspect_labels();
    if (faults_.count() == 0) watch_brackets();
    return std::move(result_);
  }

 private:
  std::string_view written(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  void error(Span span, Said message, Said hint = {}) {
    faults_.error(span, std::move(message), std::move(hint));
  }
  bool is_hopeless() const { return faults_.is_hopeless(); }

  // A paste whose end, or beginning, was not copied.
  void watch_brackets() {
    long open = 0;
    Span odd{};  // the last that opens, or the first that closes too much
    for (std::size_t begin = place_.body.begin; begin < place_.body.end && open >= 0;) {
      const Line line = line_at(text_, begin, place_.body.end);  // without its comment
      begin = line.next;
      bool is_quoted = false;
      for (std::size_t at = line.content.begin; at < line.content.end && open >= 0;) {
        const Folded c = fold_at(text_, at);
        if (c.value == '"') is_quoted = !is_quoted;
        const int step = is_quoted ? 0 : is_open_bracket(c.value) - is_close_bracket(c.value);
        open += step;
        if (step > 0 || open < 0) odd = {at, at + c.length};
        at += c.length;
      }
    }
    if (open == 0) return;
    faults_.warning(
        odd, say({"the brackets do not match; was all of it copied?", "括号没有配对；粘贴的内容完整吗？"}));
  }

  // ---- what the words are, before they are read ----

  // Numbers that were left out when the matrix was printed: no width can be told of such a row.
  void find_elisions() {
    bool is_said = false;
    for (RowText& row : table_.rows) {
      for (std::size_t i = row.first; i < row.last; ++i) {
        const std::string_view word = written(table_.words[i].span);
        const bool may_be = word.starts_with('.') || word.starts_with('\\') || word.starts_with("\xe2");
        if (!may_be || !is_elision(word)) continue;
        row.is_broken = true;
        if (is_said) continue;
        is_said = true;
        error(table_.words[i].span,
              say({"'{0}': numbers were left out here when the matrix was printed",
                   "“{0}”：打印时这里省略了一些数"},
                  word),
              say({"write them all; NumPy prints all with np.set_printoptions(threshold=sys.maxsize), "
                   "PyTorch with "
                   "torch.set_printoptions(profile=\"full\")",
                   "请全部写出；让 NumPy 打印全部：np.set_printoptions(threshold=sys.maxsize)，PyTorch："
                   "torch.set_printoptions(profile=\"full\")"}));
      }
    }
  }

  // "1 234,5": told of once.
  void judge_spaces() {
    for (const Word& word : table_.words) {
      const std::string_view whole = written(word.span);
      const bool may_be = whole.find_first_of(" \xc2\xe2\xe3") != std::string_view::npos;
      if (!may_be || word.is_missing || word.spelling >= 0 || CellReader::is_too_long(word)) continue;
      const std::string_view inner =
          word.is_quoted && whole.size() > 1 ? whole.substr(1, whole.size() - 2) : whole;
      if (!has_spaced_thousands(folded(inner))) continue;
      faults_.note(word.span, say({"spaces inside a number of {0} are read as thousands separators",
                                   "{0} 中数内的空格读作千位分隔符"},
                                  place_.called));
      return;
    }
  }

  // Where a comma does not separate cells, all numbers together tell what it is, and what a point is.
  void judge_commas() {
    cells_.set_decimal_mark(',', false);  // until more is known
    std::optional<Span> first_comma;
    bool has_quotes = false;
    std::optional<Span> decimal_comma, decimal_point;  // the first number that has the one or the other
    std::optional<Span> unclear_point;                 // 1.234
    bool has_point_of_thousands = false;
    for (const RowText& row : table_.rows) {
      for (std::size_t i = row.first + (row.label == Label::none ? 0 : 1); i < row.last; ++i) {
        const Word& word = table_.words[i];
        if (word.is_missing || CellReader::is_too_long(word)) continue;
        const FoldedWord read = cells_.folded(word);
        const bool begins_number =
            !read.text.empty() && std::string_view("+-.0123456789").find(read.text[0]) != std::string::npos;
        if (!begins_number) continue;
        const std::size_t comma = read.text.find(',');
        const bool may_hold_comma = word.is_quoted || !table_.comma_separates.empty();
        if (comma != std::string::npos && !may_hold_comma) continue;
        const MarkUse of_comma = use_of_mark(read.text, ',');
        const MarkUse of_point = use_of_mark(read.text, '.');
        if (comma != std::string::npos && !first_comma) {
          const std::size_t at = word.span.begin + read.offsets[comma];
          first_comma = word.spelling < 0 ? Span{at, at + fold_at(text_, at).length} : word.span;
          has_quotes = word.is_quoted;
        }
        if (of_comma == MarkUse::wrong || (comma != std::string::npos && of_point == MarkUse::wrong)) {
          return error(word.span,
                       say({"'{0}': commas and points do not stand as in a number",
                            "“{0}”：逗号和小数点的位置不像一个数"},
                           quotable(read.text)),
                       hint_of_marks());
        }
        const auto keep = [&](std::optional<Span>& place, bool is_so) {
          if (is_so && !place) place = word.span;
        };
        keep(decimal_comma, of_comma == MarkUse::decimal || of_point == MarkUse::thousands);
        keep(decimal_point, of_point == MarkUse::decimal || of_comma == MarkUse::thousands);
        keep(unclear_point, of_point == MarkUse::either);
        has_point_of_thousands = has_point_of_thousands || of_point == MarkUse::thousands;
      }
    }
    if (!first_comma) return cells_.set_decimal_mark('\0', false);
    if (decimal_comma && decimal_point) {
      const bool comma_is_later = decimal_comma->begin > decimal_point->begin;
      return error(
          comma_is_later ? *decimal_comma : *decimal_point,
          say({"'{0}' has a decimal comma, but '{1}' a decimal point", "“{0}”用逗号作小数点，而“{1}”用点"},
              quotable(written(*decimal_comma)), quotable(written(*decimal_point))),
          hint_of_marks());
    }
    if (unclear_point && !decimal_point && !has_point_of_thousands) {
      return error(
          *unclear_point,
          say({"the point in '{0}' may set thousands apart, or be a decimal point: the numbers of {1} "
               "do not tell",
               "“{0}”中的点可能是千位分隔，也可能是小数点：{1} 的数看不出是哪一种"},
              quotable(written(*unclear_point)), place_.called),
          hint_of_marks());
    }
    const Said separator =
        has_quotes ? say({"quotes enclose the numbers", "数写在引号里"})
                   : say({"{0} separates the numbers", "数与数之间用的是{0}"}, table_.comma_separates);
    if (decimal_point) {
      cells_.set_decimal_mark('.', false);
      faults_.note(*first_comma, say({"commas in {0} are read as thousands separators, because {1}",
                                      "{0} 中的逗号读作千位分隔符，因为{1}"},
                                     place_.called, separator));
    } else {
      cells_.set_decimal_mark(',', has_point_of_thousands);
      faults_.note(*first_comma, say({"commas in {0} are read as decimal points, because {1}",
                                      "{0} 中的逗号读作小数点，因为{1}"},
                                     place_.called, separator));
    }
  }

  static Said hint_of_marks() {
    return say({"write every number with '.' as its decimal point and without marks between thousands",
                "每个数都用“.”作小数点，千位之间不要加符号"});
  }

  // "t1: (1, 2, 3)^T" is how books write the vector of one token; without a label it is a matrix, and
  // transposed.
  void turn() {
    const std::size_t signs = table_.transpositions.size();
    const bool is_of_token = result_.rows == 1 && (!result_.row_labels.empty() || is_numbered_vector());
    if (signs == 1 && !is_of_token) table_.is_transposed = !table_.is_transposed;
    if (signs == 1 && is_of_token) {
      faults_.note(table_.transpositions.front(),
                   say({"a column vector is read as the row of its token", "列向量读作该 token 对应的一行"}));
    }
    if (!table_.is_transposed) return;
    const auto rows = static_cast<std::size_t>(result_.rows);
    const auto cols = static_cast<std::size_t>(result_.cols);
    MatrixText turned;
    for (std::size_t j = 0; j < cols; ++j) {
      for (std::size_t i = 0; i < rows; ++i) {
        turned.cells.push_back(std::move(result_.cells[i * cols + j]));
        turned.cell_spans.push_back(result_.cell_spans[i * cols + j]);
      }
      turned.row_spans.push_back(result_.cell_spans[j]);
    }
    turned.rows = result_.cols;
    turned.cols = result_.rows;
    result_ = std::move(turned);
    faults_.note(result_.row_spans.front(),
                 say({"{0} is transposed, as it is written: {1}×{2}", "{0} 按所写转置：{1}×{2}"},
                     place_.called, result_.rows, result_.cols));
  }

  // "q_1 = (1, 0)^T"
  bool is_numbered_vector() const {
    const std::size_t above = text_.substr(0, result_.row_spans.front().begin).rfind('\n');
    const std::size_t begin = std::max(place_.body.begin, above == std::string_view::npos ? 0 : above + 1);
    const auto assignment = assignment_of(text_, line_at(text_, begin, place_.body.end));
    const std::string_view name = assignment ? written(assignment->name) : std::string_view();
    return name.size() > 1 && name[0] >= 'a' && name[0] <= 'z' &&
           name.find_first_not_of("_0123456789", 1) == std::string_view::npos;
  }

  // ---- labels ----

  // Letters of any script, digits and spaces: no "math.pi", and nothing that computes.  'a' is quoted in
  // Python.
  bool is_row_name(const Word& word) const {
    if (word.is_quoted) return true;
    if (word.is_missing || CellReader::is_too_long(word)) return false;
    std::string_view name =
        word.spelling < 0 ? written(word.span) : table_.spellings[static_cast<std::size_t>(word.spelling)];
    if (name.size() > 2 && name.front() == '\'' && name.back() == '\'')
      name = name.substr(1, name.size() - 2);
    for (std::size_t at = 0; at < name.size();) {
      const CodePoint c = first_code_point(name.substr(at));
      if (c.value != '_' && is_sign(c.value)) return false;
      at += c.length;
    }
    return !name.empty();
  }

  // A first word without its mark, of a row in which it may be a label.
  bool may_be_label(const RowText& row) const {
    const Word& first = table_.words[row.first];
    NumberError ignored;
    if (cells_.is_meant_as_number(first) || (first.is_quoted && cells_.number(first, ignored))) return false;
    return row.first_word == FirstWord::label || (row.first_word == FirstWord::name && is_row_name(first));
  }

  // [["v0", "v1"], ["v1", 2]]: what JSON has no other way to write.  Words of which some stand behind the
  // first are no labels, and the usual names of values are none anywhere.
  bool are_quotes_of_symbols() const {
    bool has_any = false;
    bool are_usual = true;
    bool are_behind_first = false;
    for (const RowText& row : table_.rows) {
      if (row.first_word != FirstWord::name || row.label != Label::none) return false;
      for (std::size_t i = row.first; i < row.last; ++i) {
        const Word& word = table_.words[i];
        if (!word.is_quoted || CellReader::is_too_long(word)) continue;
        NumberError ignored;
        const auto number = parse_number(cells_.folded(word).text, ignored);
        if (!number || number->kind == Number::Kind::finite) return false;
        if (number->kind != Number::Kind::symbol) continue;
        has_any = true;
        are_usual = are_usual && is_usual_symbol(number->text);
        are_behind_first = are_behind_first || i > row.first;
      }
    }
    return has_any && (are_usual || (are_behind_first && rules_.symbols));
  }

  // "1[-1.8, 0.7]": the number of the line, as web pages copy it with their code.
  void drop_line_numbers() {
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const RowText& row = table_.rows[i];
      if (row.label != Label::before_bracket ||
          written(table_.words[row.first].span) != std::to_string(i + 1) ||
          !is_open_bracket(fold_at(text_, table_.words[row.first].span.end).value))
        return;
    }
    faults_.note(table_.words[table_.rows[0].first].span,
                 say({"the number before the bracket is read as the number of the line, not as a label",
                      "括号前的数字读作行号，不是标签"}));
    for (RowText& row : table_.rows) {
      ++row.first;
      row.label = Label::none;
    }
  }

  // "-inf" and "nan", which JSON has no other way to write, and "1,234" of a table that commas separate.
  bool is_number_in_quotes(const Word& word) const {
    NumberError ignored;
    const auto number = cells_.number(word, ignored);
    const bool has_comma = written(word.span).find(',') != std::string_view::npos;
    return number && number->kind != Number::Kind::symbol &&
           (number->kind != Number::Kind::finite || has_comma);
  }

  void find_unmarked_labels() {
    const bool all_begin_with_a_label = std::all_of(table_.rows.begin(), table_.rows.end(),
                                                    [&](const RowText& row) {
                                                      if (row.label != Label::none) return true;
                                                      if (row.words() < 2)
                                                        return false;  // ":" alone has none
                                                      return may_be_label(row);
                                                    }) &&
                                        !are_letters_for_digits();
    const bool are_symbols = are_quotes_of_symbols();
    const bool are_before_cells = rules_.symbols && has_words_before_cells();
    bool has_labels = false;
    // "1.5","2.5": quotes around every word are those of a spreadsheet, and make no label.
    const bool are_all_quoted = std::all_of(table_.rows.begin(), table_.rows.end(), [&](const RowText& row) {
      return row.words() > 1 && row.label == Label::none &&
             std::all_of(table_.words.begin() + static_cast<long>(row.first),
                         table_.words.begin() + static_cast<long>(row.last),
                         [](const Word& word) { return word.is_quoted; });
    });
    for (RowText& row : table_.rows) {
      const bool is_quoted = !are_all_quoted && !are_symbols && row.words() > 1 &&
                             table_.words[row.first].is_quoted &&
                             !is_number_in_quotes(table_.words[row.first]);
      if (row.label == Label::none &&
          ((all_begin_with_a_label && !are_symbols) || are_before_cells || is_quoted))
        row.label = Label::before_bracket;
      has_labels = has_labels || row.label != Label::none;
      // A label without its mark: whether it counts as a cell cannot be said.
      NumberError ignored;
      const bool is_doubtful = row.label == Label::none && row.words() > 1 &&
                               !cells_.is_meant_as_number(table_.words[row.first]) &&
                               !cells_.number(table_.words[row.first], ignored);
      row.is_broken = row.is_broken || is_doubtful;
    }
    if (!has_labels) return;
    for (const RowText& row : table_.rows) {
      result_.row_labels.push_back(row.label == Label::none ? std::string()
                                                            : label_text(table_.words[row.first]));
    }
  }

  // "O 1" above "l 0": more likely digits than labels.
  bool are_letters_for_digits() const {
    return std::all_of(table_.rows.begin(), table_.rows.end(), [&](const RowText& row) {
      return row.label == Label::none && row.words() > 1 && !table_.words[row.first].is_quoted &&
             is_letter_for_digit(written(table_.words[row.first].span));
    });
  }

  bool is_usual_symbol(std::string_view word) const {
    return word[0] == 'v' && word.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }

  // "r0 <tab> 1 <tab> 2" on every line of a table: in V too the word is a label, though it could be a symbol.
  bool has_words_before_cells() {
    for (const RowText& row : table_.rows) {
      if (row.label != Label::none || row.words() < 2 || row.first_word == FirstWord::cell) return false;
      const Word& first = table_.words[row.first];
      NumberError ignored;
      const auto symbol = first.is_missing ? std::nullopt : cells_.number(first, ignored);
      if (!symbol || symbol->kind != Number::Kind::symbol || is_usual_symbol(symbol->text)) return false;
      const std::size_t behind = text_.find_first_not_of(' ', first.span.end);
      if (behind == std::string_view::npos || (text_[behind] != '\t' && text_[behind] != ',')) return false;
      for (std::size_t i = row.first + 1; i < row.last; ++i) {
        const auto number = cells_.number(table_.words[i], ignored);
        if (number && number->kind == Number::Kind::symbol) return false;
      }
    }
    faults_.note(
        table_.words[table_.rows[0].first].span,
        say({"'{0}' is read as the label of its row, not as a symbol", "“{0}”读作这一行的标签，不是符号"},
            quotable(written(table_.words[table_.rows[0].first].span))));
    return true;
  }

  std::string label_text(const Word& word) {
    std::string_view text =
        word.spelling < 0 ? written(word.span) : table_.spellings[static_cast<std::size_t>(word.spelling)];
    if (word.is_quoted) {
      text.remove_prefix(1);
      if (text.ends_with('"')) text.remove_suffix(1);
    }
    if (text.size() > kLongestLabel) {
      error(word.span, say({"a label of {0} bytes; the limit is {1}", "标签有 {0} 字节；上限是 {1}"},
                           text.size(), kLongestLabel));
      return {};
    }
    std::string label(text);
    for (std::size_t at = label.find("\"\""); word.is_quoted && at != std::string::npos;
         at = label.find("\"\"", at + 1))
      label.erase(at, 1);
    NumberError ignored;
    const auto number = parse_number(folded(text), ignored);
    if (!word.is_quoted && number && number->kind == Number::Kind::finite && ++number_labels_ == 1) {
      faults_.warning(
          word.span,
          say({"'{0}' is read as the label of this row, not as a number", "“{0}”读作这一行的标签，而不是数"},
              text),
          say({"put it in quotes if a label is meant", "如果确实是标签，请加引号"}));
    }
    return label;
  }

  // ---- widths ----

  bool widths_agree() {
    std::vector<std::size_t> whole;  // rows whose width is known
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      if (!table_.rows[i].is_broken) whole.push_back(i);
    }
    bool agree = whole.size() == table_.rows.size() && !table_.is_stack;
    if (whole.empty()) return false;
    const std::size_t like = whole[0];  // the row that the others are compared with
    const std::size_t expected = table_.rows[like].width();
    if (expected == 0) {
      error(table_.rows[like].span,
            say({"row {0} of {1} has no numbers", "{1} 的第 {0} 行没有数"}, like + 1, place_.called));
      return false;
    }
    // When all the others agree among themselves, the first row is the odd one.
    const bool first_is_odd = whole.size() > 2 && table_.rows[whole[1]].width() != expected &&
                              std::all_of(whole.begin() + 2, whole.end(), [&](std::size_t i) {
                                return table_.rows[i].width() == table_.rows[whole[1]].width();
                              });
    if (first_is_odd) {
      error(table_.rows[like].span,
            say({"row {0} of {1} has {2}, but the other rows have {3}",
                 "{1} 的第 {0} 行有 {2}，而其他各行有 {3} 个"},
                like + 1, place_.called, numbers(expected), table_.rows[whole[1]].width()));
      return false;
    }
    for (const std::size_t i : whole) {
      if (table_.rows[i].width() == expected) continue;
      agree = false;
      if (table_.rows[i].comma_at_end && table_.rows[i].width() + 1 == expected) {
        error(*table_.rows[i].comma_at_end, say({"no number behind this ','", "这个“,”后面没有数"}),
              say({"write 0 for a zero", "零也要写成 0"}));
        continue;
      }
      error(
          table_.rows[i].span,
          say({"row {0} of {1} has {2}, but row {4} has {3}", "{1} 的第 {0} 行有 {2}，而第 {4} 行有 {3} 个"},
              i + 1, place_.called, numbers(table_.rows[i].width()), expected, like + 1));
    }
    if (expected * table_.rows.size() > static_cast<std::size_t>(kMostCells)) {
      faults_.too_large();
      return false;
    }
    return agree;
  }

  // ---- numbers ----

  void read_cells() {
    for (const RowText& row : table_.rows) {
      result_.row_spans.push_back(row.span);
      for (std::size_t i = row.first + (row.label == Label::none ? 0 : 1); i < row.last; ++i) {
        result_.cells.push_back(is_hopeless() ? Number{} : cell(table_.words[i]));
        result_.cell_spans.push_back(table_.words[i].span);
      }
    }
  }

  Number cell(const Word& word) {
    if (word.is_missing || is_elision(written(word.span))) return {};  // said already
    if (word.is_quoted && !is_closed_quote(word)) return {};
    if (CellReader::is_too_long(word)) {
      error(word.span,
            say({"a word of {0} bytes where a number is expected", "这里应当是数，却是 {0} 字节长的字串"},
                word.span.end - word.span.begin));
      return {};
    }
    if (cells_.is_no_value(word)) {
      no_value(word);
      return {};
    }
    NumberError fault;
    if (std::optional<Number> number = cells_.number(word, fault)) {
      if (number->kind == Number::Kind::symbol) suspect_letter(word, *number);
      return std::move(*number);
    }
    if (word.is_quoted) {
      error(word.span, say({"text in quotes where a number is expected", "这里应当是数，却是引号中的文字"}));
      return {};
    }
    if (fault.hint.empty() && is_first_of_several(word)) {
      fault.hint = say({"a label needs ':' or '|' after it", "标签后面要写“:”或“|”"});
    }
    error({word.span.begin + fault.at, word.span.begin + fault.at + fault.length}, std::move(fault.message),
          std::move(fault.hint));
    return {};
  }

  void no_value(const Word& word) {
    const std::string text = cells_.folded(word).text;
    if (is_missing_value(text)) {
      NumberError fault = not_a_number(text);
      return error(word.span, std::move(fault.message), std::move(fault.hint));
    }
    error(word.span,
          say({"'{0}' is what a spreadsheet shows where a formula has failed, not a number",
               "“{0}”是电子表格中公式出错的标记，不是数"},
              text),
          say({"mend the formula and copy again, or write the number that is meant",
               "请改正公式后重新复制，或直接写出应有的数"}));
  }

  // A quote that is never closed was said.
  bool is_closed_quote(const Word& word) const {
    const std::string_view text = written(word.span);
    return text.size() >= 2 && text.ends_with('"');
  }

  bool is_first_of_several(const Word& word) const {
    const auto row = std::upper_bound(table_.rows.begin(), table_.rows.end(), word.span.begin,
                                      [](std::size_t at, const RowText& r) { return at < r.span.begin; });
    if (row == table_.rows.begin()) return false;
    const RowText& found = *(row - 1);
    return found.words() > 1 && found.first_word == FirstWord::label &&
           table_.words[found.first].span == word.span && !cells_.is_meant_as_number(word);
  }

  // In V the letter O is a legal symbol, and hardly ever meant as one.
  void suspect_letter(const Word& word, const Number& symbol) {
    const NumberError doubt = not_a_number(symbol.text);
    if (doubt.hint.empty() || symbol.text.size() > 1) return;
    faults_.warning(word.span, say({"'{0}' is read as a symbol", "“{0}”读作符号"}, symbol.text), doubt.hint);
  }

  // "A 1 0" is a label and two numbers in K, but a symbol and two numbers in V.
  void suspect_labels() {
    if (!rules_.symbols || !result_.row_labels.empty() || result_.cols < 2) return;
    for (std::size_t i = 0; i < result_.cells.size(); ++i) {
      const bool is_first = i % static_cast<std::size_t>(result_.cols) == 0;
      if ((result_.cells[i].kind == Number::Kind::symbol) != is_first) return;
    }
    const std::string& word = result_.cells[0].text;
    if (is_usual_symbol(word)) return;
    faults_.warning(
        result_.cell_spans[0],
        say({"'{0}' is read as a symbol: the first value of its row", "“{0}”读作符号，是这一行的第一个值"},
            quotable(word)),
        say({"if it is the label of the row, write '{0}:'", "如果它是这一行的标签，请写“{0}:”"},
            quotable(word)));
  }

  const MatrixPlace& place_;
  std::string_view text_;
  CellRules rules_;
  Faults faults_;
  WordTable table_;
  CellReader cells_;
  int number_labels_ = 0;
  MatrixText result_;
};

}  // namespace

std::optional<MatrixText> read_matrix(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics) {
  if (auto numbers = read_plain_numbers(place)) return numbers;
  return MatrixReader(place, rules, diagnostics).read();
}

}  // namespace qkv

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
#include "input/plain_rows.h"

namespace qkv {
namespace {

constexpr std::size_t kLongestWord = 4000;  // bytes

// "3 numbers"
Said numbers(std::size_t count) {
  return count == 1 ? say({"1 number", "1 个数"}) : say({"{0} numbers", "{0} 个数"}, count);
}

class MatrixReader {
 public:
  MatrixReader(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics)
      : place_(place), text_(place.source->text), rules_(rules), faults_(place, diagnostics) {}

  std::optional<MatrixText> read() {
    read_plain_rows({place_, faults_}, place_.body, table_);
    if (is_hopeless()) return std::nullopt;
    if (table_.rows.empty()) {
      if (faults_.count() == 0) faults_.no_rows();
      return std::nullopt;
    }
    find_unmarked_labels();
    if (!widths_agree()) {
      // The numbers are read all the same: their faults are faults of their own.
      read_cells();
      return std::nullopt;
    }
    result_.rows = static_cast<Index>(table_.rows.size());
    result_.cols = static_cast<Index>(table_.rows[0].width());
    read_cells();
    result_.has_faults = faults_.count() > 0;
    suspect_labels();
    return std::move(result_);
  }

 private:
  std::string_view written(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  void error(Span span, Said message, Said hint = {}) {
    faults_.error(span, std::move(message), std::move(hint));
  }
  bool is_hopeless() const { return faults_.is_hopeless(); }

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
    const bool all_begin_with_a_label =
        std::all_of(table_.rows.begin(), table_.rows.end(), [&](const RowText& row) {
          if (row.label != Label::none) return true;
          return row.words() > 1 && !is_meant_as_number(table_.words[row.first]);
        });
    bool has_labels = false;
    for (RowText& row : table_.rows) {
      const bool is_quoted = row.words() > 0 && table_.words[row.first].is_quoted;
      if (row.label == Label::none && (all_begin_with_a_label || is_quoted))
        row.label = Label::before_bracket;
      has_labels = has_labels || row.label != Label::none;
      // A label without its mark: whether it counts as a cell cannot be said.
      const bool is_doubtful =
          row.label == Label::none && row.words() > 1 && !is_meant_as_number(table_.words[row.first]);
      row.is_broken = row.is_broken || is_doubtful;
    }
    if (!has_labels) return;
    for (const RowText& row : table_.rows) {
      result_.row_labels.push_back(row.label == Label::none ? std::string()
                                                            : label_text(table_.words[row.first]));
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
      faults_.warning(
          word.span,
          say({"'{0}' is read as the label of this row, not as a number", "“{0}”读作这一行的标签，而不是数"},
              text),
          say({"put it in quotes if a label is meant", "如果确实是标签，请加引号"}));
    }
    return std::string(text);
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
    if (table_.commas_are_decimal) std::replace(read.text.begin(), read.text.end(), ',', '.');
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
    const auto row = std::upper_bound(table_.rows.begin(), table_.rows.end(), word.span.begin,
                                      [](std::size_t at, const RowText& r) { return at < r.span.begin; });
    if (row == table_.rows.begin()) return false;
    const RowText& found = *(row - 1);
    return found.words() > 1 && table_.words[found.first].span == word.span && !is_meant_as_number(word);
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
    const bool is_usual_symbol =
        word[0] == 'v' && word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (is_usual_symbol) return;
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
  int number_labels_ = 0;
  MatrixText result_;
};

}  // namespace

std::optional<MatrixText> read_matrix(const MatrixPlace& place, CellRules rules, Diagnostics& diagnostics) {
  return MatrixReader(place, rules, diagnostics).read();
}

}  // namespace qkv

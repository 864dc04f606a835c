// What programs print on a terminal: R, Julia, Octave, MATLAB, and PyTorch from C++.
//
//        [,1]  [,2]     2×3 Matrix{Float64}:     A =                     Columns 1 through 2:
//   [1,]    1 -2.50      1.0  -2.5  0.25
//   [2,]    0  3.00      0.0   3.0  4.0             1.0e+03 *                1   2
//                                                   0.0010    1.5000     Column 3:
//                                                                            3
//
// Blocks of columns are put side by side again, and a common factor moves the point of every number.

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/number.h"
#include "input/code_text.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/spelling.h"

namespace qkv {
namespace {

enum class Kind { row, name, columns, factor, r_heading, julia_heading, diagonal, footer };

constexpr std::size_t kLongestSingle = 1000;  // bytes of "name = number"

std::vector<Span> words_of(std::string_view text, Span line) {
  std::vector<Span> words;
  for (std::size_t at = line.begin; at < line.end;) {
    const Folded c = fold_at(text, at);
    if (is_space(c.value)) {
      at += c.length;
      continue;
    }
    const std::size_t begin = at;
    while (at < line.end && !is_space(fold_at(text, at).value)) at += fold_at(text, at).length;
    words.push_back({begin, at});
  }
  return words;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number_text(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "[2,]" and "[,2]": R's row and column numbers
bool is_r_row(std::string_view word) {
  return word.size() > 3 && word.starts_with('[') && word.ends_with(",]") &&
         is_number_text(word.substr(1, word.size() - 3));
}
bool is_r_column(std::string_view word) {
  return word.size() > 3 && word.starts_with("[,") && word.ends_with(']') &&
         is_number_text(word.substr(2, word.size() - 3));
}

bool is_number(std::string_view word) {
  NumberError ignored;
  const auto number = parse_number(folded(word), ignored);
  return number && number->kind != Number::Kind::symbol;
}

// "1.0e+03 *": its power of ten
std::optional<int> factor_of(std::string_view line) {
  if (!line.ends_with('*')) return std::nullopt;
  line.remove_suffix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  const std::string_view mantissa = line.substr(0, line.find_first_of("eE"));
  if (mantissa.empty() || mantissa.find_first_not_of("0123456789.") != std::string_view::npos)
    return std::nullopt;
  const std::string_view digits = mantissa.substr(0, mantissa.find('.'));
  int power = 0;
  if (line.size() > mantissa.size()) {
    std::string_view exponent = line.substr(mantissa.size() + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    const auto [end, error] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
    if (error != std::errc() || end != exponent.data() + exponent.size()) return std::nullopt;
  }
  // "0.01 *", "100 *", "1.0e+03 *"
  std::string all(mantissa);
  std::erase(all, '.');
  const std::size_t one = all.find_first_not_of('0');
  if (one == std::string::npos || all[one] != '1' || all.find_first_not_of('0', one + 1) != std::string::npos)
    return std::nullopt;
  return power + static_cast<int>(digits.size()) - static_cast<int>(one) - 1;
}

Kind kind_of(std::string_view text, const Line& line) {
  const std::string_view content = text.substr(line.content.begin, line.content.end - line.content.begin);
  const std::vector<Span> words = words_of(text, line.content);
  const auto word = [&](std::size_t i) { return text.substr(words[i].begin, words[i].end - words[i].begin); };
  if (content.ends_with('=') && is_plain_name(content.substr(0, content.size() - 1))) return Kind::name;
  const bool is_columns = (word(0) == "Columns" || word(0) == "Column") && words.size() > 1 &&
                          is_number_text(word(1).substr(0, word(1).find(':')));
  if (is_columns) return Kind::columns;
  if (factor_of(content)) return Kind::factor;
  if (std::all_of(words.begin(), words.end(),
                  [&](Span w) { return is_r_column(text.substr(w.begin, w.end - w.begin)); }))
    return Kind::r_heading;
  const bool is_julia = content.ends_with(':') && content.find('{') != std::string_view::npos &&
                        (word(0).find("×") != std::string_view::npos || word(0).ends_with("-element"));
  if (is_julia) return Kind::julia_heading;
  // "2×3 logical array"
  const bool is_shape =
      words.size() > 1 && (content.ends_with(" matrix") || content.ends_with(" array")) &&
      is_digit(content[0]) &&
      (word(0).find("×") != std::string_view::npos || word(0).find('x') != std::string_view::npos);
  if (is_shape) return Kind::diagonal;
  if (content == "Diagonal Matrix" || content == "Permutation Matrix") return Kind::diagonal;
  if (content.starts_with('[') && (content.find("Type{") != std::string_view::npos ||
                                   content.find("Tensor of size") != std::string_view::npos))
    return Kind::footer;
  return Kind::row;
}

bool begins_with_bracket(std::string_view text, const Line& line) {
  return is_open_bracket(fold_at(text, line.content.begin).value);
}

// "[1] 0.1 0.2": a vector in R, each line with the number of its first entry.
bool is_r_vector(std::string_view text, Span body) {
  std::size_t next = 1;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (line.is_blank()) continue;
    const std::vector<Span> words = words_of(text, line.content);
    const std::string_view first = text.substr(words[0].begin, words[0].end - words[0].begin);
    if (words.size() < 2 || first != "[" + std::to_string(next) + "]") return false;
    next += words.size() - 1;
  }
  return next > 1;
}

// "A = 0.5": how Octave prints a matrix of one number; where it begins.
std::optional<Span> single_number(std::string_view text, Span body) {
  const std::size_t begin = skip_blank(text, body.begin, body.end);
  const auto declared = declaration_at(text, begin, body.end);
  if (!declared) return std::nullopt;
  const Span value = trimmed(text, {declared->value, std::min(text.find('\n', begin), body.end)});
  if (skip_blank(text, value.end, body.end) < body.end) return std::nullopt;
  return is_number(text.substr(value.begin, value.end - value.begin)) ? std::optional(value) : std::nullopt;
}

bool recognises(const Paste& paste, Span body) {
  const std::string_view text = paste.text();
  const std::string_view written = paste.written(body);
  if (body.end - body.begin < kLongestSingle && single_number(text, body)) return true;
  const std::size_t first = written.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (written.substr(first).starts_with("[1] ")) return is_r_vector(text, body);
  // Most texts hold none of the words, and are not looked at line by line.
  bool is_possible = false;
  for (const std::string_view sign :
       {"=\n", "=\r", "Column", "*", "[,", "×", "-element", "Diagonal", "Type{", "Tensor of"})
    is_possible = is_possible || written.find(sign) != std::string_view::npos;
  if (!is_possible) return false;
  bool found = false;
  bool has_name = false;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (line.is_blank()) continue;
    const Kind kind = kind_of(text, line);
    if (kind == Kind::row && has_name && !begins_with_bracket(text, line)) found = true;
    has_name = kind == Kind::name;
    found = found || (kind != Kind::row && kind != Kind::name);
  }
  return found;
}

// "-0.0010" of a column under "1.0e+03 *" is -1.0.
Word times(const Paste& paste, WordTable& table, Span word, int power) {
  // What "format rat" prints for an infinity
  const std::string_view written = paste.written(word);
  if (written == "1/0" || written == "-1/0") return table.spelt(word, written == "1/0" ? "inf" : "-inf");
  if (power == 0) return {.span = word};
  auto number = times_power_of_ten(folded(paste.written(word)), power);
  return number ? table.spelt(word, std::move(*number)) : Word{.span = word};
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const std::string_view text = paste.text();
  Said form = say({"an Octave or MATLAB print", " Octave 或 MATLAB 的输出"});
  if (const auto number = body.end - body.begin < kLongestSingle ? single_number(text, body) : std::nullopt) {
    RowBuilder out(table);
    out.cell({.span = *number});
    out.end_row();
    return form;
  }
  std::vector<std::vector<Word>> rows;
  std::vector<Span> row_spans;
  std::size_t next_row = 0;  // of this block of columns
  bool is_first_block = true;
  int power = 0;
  Span factor;
  const auto begin_block = [&] {
    if (next_row > 0) is_first_block = false;
    next_row = 0;
  };
  const bool is_vector = is_r_vector(text, body);
  if (is_vector) form = say({"an R print", " R 的输出"});
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (line.is_blank()) continue;
    switch (kind_of(text, line)) {
      case Kind::name:
      case Kind::diagonal:
        continue;
      case Kind::columns:
        begin_block();
        continue;
      case Kind::r_heading:
        form = say({"an R print", " R 的输出"});
        begin_block();
        continue;
      case Kind::julia_heading:
        form = say({"a Julia print", " Julia 的输出"});
        continue;
      case Kind::footer:
        form = say({"a PyTorch print", " PyTorch 的输出"});
        continue;
      case Kind::factor:
        power = *factor_of(paste.written(line.content));
        factor = line.content;
        continue;
      case Kind::row:
        break;
    }
    std::vector<Span> words = words_of(text, line.content);
    if (is_r_row(paste.written(words[0])) || is_vector) words.erase(words.begin());
    // The label of a row stands again in every block.
    const bool is_label_again = !is_first_block && next_row < rows.size() && words.size() > 1 &&
                                paste.written(words[0]) == paste.written(rows[next_row][0].span) &&
                                !is_number(paste.written(words[0]));
    if (is_label_again) words.erase(words.begin());
    if (is_vector) {
      is_first_block = row_spans.empty();
      next_row = 0;
    }
    if (is_first_block) {
      rows.emplace_back();
      row_spans.push_back(line.content);
    } else if (next_row >= rows.size()) {
      paste.faults.error(line.content, say({"this block of columns has more rows than the first",
                                            "这一段列的行数比第一段多"}));
      return {};
    }
    for (const Span word : words) rows[next_row].push_back(times(paste, table, word, power));
    ++next_row;
  }
  RowBuilder out(table);
  for (const auto& row : rows) {
    for (const Word& word : row) out.cell(word);
    out.end_row();
  }
  if (power != 0) {
    paste.faults.note(
        factor,
        say({"every number is multiplied by the common factor 10^{0}", "每个数都乘以公因子 10^{0}"}, power));
  }
  return form;
}

}  // namespace

const Form kPrintForm{recognises, read};

}  // namespace qkv

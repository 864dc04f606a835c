#include "input/cells.h"

#include <algorithm>
#include <utility>

#include "input/lines.h"

namespace qkv {
namespace {

// "1 234,5" → "1234,5"
void close_up_thousands(FoldedWord& word) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < word.text.size();) {
    if (const std::size_t space = thousands_space_length(word.text, at); space > 0) {
      at += space;
      continue;
    }
    word.text[kept] = word.text[at];
    word.offsets[kept++] = word.offsets[at++];
  }
  word.offsets[kept] = word.offsets.back();
  word.text.resize(kept);
  word.offsets.resize(kept + 1);
}

}  // namespace

FoldedWord CellReader::folded(const Word& word) const {
  std::string_view text = written(word);
  std::size_t begin = 0;
  if (word.is_quoted && text.size() >= 2) {
    text = text.substr(1, text.size() - 2);
    begin = 1;
  }
  if (word.spelling < 0) {
    FoldedWord result = folded_word(text);
    for (std::size_t& offset : result.offsets) offset += begin;
    if (has_spaced_thousands(result.text)) close_up_thousands(result);
    return result;
  }
  // Where in the word a fault lies cannot be said: all of it.
  FoldedWord result{table_.spellings[static_cast<std::size_t>(word.spelling)], {}};
  result.offsets.assign(result.text.size(), 0);
  result.offsets.push_back(text.size());
  return result;
}

std::optional<Number> CellReader::legal(std::string_view text, NumberError& fault) const {
  std::optional<Number> number = parse_number(text, fault);
  if (number && !is_legal(*number)) {
    fault = illegal(*number);
    return std::nullopt;
  }
  return number;
}

std::optional<Number> CellReader::number(const Word& word, NumberError& fault) const {
  const FoldedWord read = folded(word);
  std::string text = read.text;
  const bool has_mark = text.find(',') != std::string::npos ||
                        (points_are_of_thousands_ && use_of_mark(text, '.') != MarkUse::none);
  if (decimal_mark_ != '\0' && has_mark) text = with_point(text, decimal_mark_);
  // Mathematica's words are no symbols of V.
  const bool is_reserved = text == "Infinity" || text == "Indeterminate";
  if (auto number = is_reserved ? std::nullopt : legal(text, fault)) return number;
  if (const auto other = respelt(text, rules_.truth)) {
    NumberError fault_of_other;
    if (auto number = legal(*other, fault_of_other)) return number;
    // "np.float64(inf)" is a number, but no legal one.
    if (parse_number(*other, fault_of_other)) {
      legal(*other, fault);
      fault.at = 0;
      fault.length = read.text.size();
    }
  }
  const std::size_t begin = std::min(fault.at, read.text.size());
  const std::size_t end = std::min(fault.at + fault.length, read.text.size());
  fault.at = read.offsets[begin];
  fault.length = read.offsets[end] - fault.at;
  return std::nullopt;
}

bool CellReader::is_meant_as_number(const Word& word) const {
  if (word.is_missing) return true;
  if (word.is_quoted) return false;
  if (is_too_long(word)) return true;
  if (is_no_value(word)) return true;
  const std::string text = folded(word).text;
  const char first = text[0];
  if ((first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.') return true;
  NumberError ignored;
  const std::optional<Number> number = parse_number(text, ignored);
  if (number && (is_legal(*number) || number->kind == Number::Kind::nan)) return true;
  if (text == "e" || text == "pi" || text.starts_with("sqrt") || is_number_word(text)) return true;
  if (is_number_gone_wrong(text)) return true;
  const auto other = respelt(text, rules_.truth);
  return other && parse_number(*other, ignored);
}

bool CellReader::is_no_value(const Word& word) const {
  if (word.is_missing || is_too_long(word)) return false;
  const std::string text = folded(word).text;
  if (text.empty()) return false;
  if (is_missing_value(text)) return true;
  return spreadsheet_error_length(text) == text.size() || is_office_error(text);
}

bool CellReader::is_legal(const Number& number) const {
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

NumberError CellReader::illegal(const Number& number) const {
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

}  // namespace qkv

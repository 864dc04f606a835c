#include "input/lines.h"

#include <algorithm>

#include "input/fold.h"

namespace qkv {
namespace {

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Letters of other scripts too: [查询] is meant as a section, and deserves that error.
bool is_letter(Folded c) { return c.value == kOther || is_ascii_letter(c.value); }

bool is_end_of_word(std::string_view text, std::size_t at) {
  return at >= text.size() || std::string_view(" \t\r\n,;|\"&])}").find(text[at]) != std::string_view::npos;
}

std::size_t comment_begin(std::string_view text, Span line) {
  bool is_quoted = false;
  bool is_after_space = true;
  for (std::size_t at = line.begin; at < line.end;) {
    const Folded c = fold_at(text, at);
    if (c.value == '"') is_quoted = !is_quoted;
    if (!is_quoted && is_after_space && (c.value == '#' || c.value == '%') &&
        spreadsheet_error_length(text.substr(at, line.end - at)) == 0)
      return at;
    is_after_space = is_space(c.value);
    at += c.length;
  }
  return line.end;
}

}  // namespace

std::size_t spreadsheet_error_length(std::string_view text) {
  if (!text.starts_with('#')) return 0;
  for (const std::string_view name :
       {"#VALUE!", "#DIV/0!", "#N/A", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#ERROR!",
        "#FIELD!", "#BLOCKED!", "#CONNECT!", "#UNKNOWN!", "#GETTING_DATA"}) {
    if (text.starts_with(name) && is_end_of_word(text, name.size())) return name.size();
  }
  return 0;
}

bool is_number_word(std::string_view word) {
  for (const std::string_view number :
       {"inf", "Inf", "nan", "NaN", "True", "False", "true", "false", "TRUE", "FALSE"}) {
    if (word == number) return true;
  }
  return false;
}

Span trimmed(std::string_view text, Span span) {
  while (span.begin < span.end) {
    const Folded c = fold_at(text, span.begin);
    if (!is_space(c.value)) break;
    span.begin += c.length;
  }
  while (span.begin < span.end) {
    std::size_t last = span.end - 1;
    while (last > span.begin && (static_cast<unsigned char>(text[last]) & 0xc0U) == 0x80) --last;
    if (!is_space(fold_at(text, last).value)) break;
    span.end = last;
  }
  return span;
}

Line line_at(std::string_view text, std::size_t begin, std::size_t stop) {
  text = text.substr(0, stop);
  const std::size_t line_break = std::min(text.find('\n', begin), stop);
  Line line;
  line.next = std::min(line_break + 1, stop);
  line.whole = {begin, line_break};
  if (line_break > begin && text[line_break - 1] == '\r') --line.whole.end;
  line.content = trimmed(text, {begin, comment_begin(text, line.whole)});
  return line;
}

std::optional<Header> header_of(std::string_view text, const Line& line) {
  const std::string_view content = text.substr(line.content.begin, line.content.end - line.content.begin);
  if (content.empty() || fold_at(content, 0).value != '[') return std::nullopt;
  std::size_t at = fold_at(content, 0).length;
  Header header{"", line.content};
  while (at < content.size()) {
    const Folded c = fold_at(content, at);
    if (c.value == ']') break;
    const bool may_follow = is_ascii_digit(c.value) || c.value == '_' || c.value == '.';
    if (!is_letter(c) && (header.name.empty() || !may_follow)) return std::nullopt;
    if (c.value == kOther) {
      header.name += content.substr(at, c.length);
    } else {
      header.name += c.value;
    }
    at += c.length;
  }
  const bool is_closed_at_the_end = at < content.size() && at + fold_at(content, at).length == content.size();
  if (!is_closed_at_the_end || header.name.empty() || is_number_word(header.name)) return std::nullopt;
  return header;
}

std::optional<Assignment> assignment_of(std::string_view text, const Line& line) {
  bool is_quoted = false;
  for (std::size_t at = line.content.begin; at < line.content.end;) {
    const Folded c = fold_at(text, at);
    if (c.value == '"') is_quoted = !is_quoted;
    if (c.value == '=' && !is_quoted) {
      return Assignment{trimmed(text, {line.content.begin, at}),
                        trimmed(text, {at + c.length, line.content.end})};
    }
    at += c.length;
  }
  return std::nullopt;
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || !is_letter(fold_at(name, 0))) return false;
  for (std::size_t at = 0; at < name.size();) {
    const Folded c = fold_at(name, at);
    if (!is_letter(c) && !is_ascii_digit(c.value) && !is_space(c.value) && c.value != '_' && c.value != '.')
      return false;
    at += c.length;
  }
  return true;
}

namespace {

// "np.array(…", but not "sqrt(2)", which is a number.
bool is_call(std::string_view value) {
  std::size_t at = 0;
  while (at < value.size() && (is_ascii_letter(value[at]) || is_ascii_digit(value[at]) || value[at] == '.' ||
                               value[at] == '_' || value[at] == ':'))
    ++at;
  return at > 0 && at < value.size() && is_ascii_letter(value[0]) && fold_at(value, at).value == '(' &&
         !value.substr(0, at).ends_with("sqrt");
}

// A line of its own inside a call: "dtype=float32)", "device='cuda:0',"
bool is_argument(std::string_view value) {
  int depth = 0;
  for (std::size_t at = 0; at < value.size(); at += fold_at(value, at).length) {
    const char c = fold_at(value, at).value;
    if (is_open_bracket(c)) ++depth;
    if (is_close_bracket(c) && --depth < 0) return true;
  }
  return value.ends_with(',');
}

}  // namespace

bool begins_pasted_matrix(std::string_view text, const Assignment& assignment) {
  const std::string_view value =
      text.substr(assignment.value.begin, assignment.value.end - assignment.value.begin);
  // "-[1 2]" and "2*[1 2]" are refused where the rows are read.
  const std::size_t behind = std::min(value.find_first_not_of("-+*0123456789. "), value.size());
  const bool is_product =
      behind > 0 && behind < value.size() && is_open_bracket(fold_at(value, behind).value);
  return is_product || value.empty() || value.starts_with("【") || is_open_bracket(fold_at(value, 0).value) ||
         value[0] == '\\' || is_call(value) || is_argument(value);
}

}  // namespace qkv

#include "input/code_text.h"

#include <algorithm>
#include <array>

#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"

namespace qkv {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// ">>> a" and "In [2]: a" ask, and "Out[2]: " stands before the answer: where what follows begins; `at` where
// none of them stands there.
std::size_t after_prompt(std::string_view text, std::size_t at, std::size_t end) {
  const std::string_view rest = text.substr(at, end - at);
  const std::size_t line_end = std::min(text.find('\n', at), end);
  if (rest.starts_with(">>> "))
    return text.substr(at, line_end - at).find('[') > line_end ? line_end : at + 4;
  if (!rest.starts_with("In [") && !rest.starts_with("Out[")) return at;
  const std::size_t close = text.find("]:", at);
  if (close >= line_end) return at;
  return rest.starts_with("In") ? line_end : close + 2;
}

bool is_behind_colon(std::string_view text, std::size_t begin, std::size_t at) {
  const Span before = trimmed(text, {begin, at});
  return before.end > before.begin && text[before.end - 1] == ':';
}

// "a" of Rust's "let mut a: Vec<Vec<f64>>"; any other name is the whole.
Span without_let(std::string_view text, Span name) {
  const auto drop = [&](std::string_view word) {
    const bool is_there = text.substr(name.begin, name.end - name.begin).starts_with(word);
    if (is_there) name.begin += word.size();
    return is_there;
  };
  if (!drop("let ")) return name;
  drop("mut ");
  name.end = std::min(text.find(':', name.begin), name.end);
  return trimmed(text, name);
}

}  // namespace

bool computes(std::string_view name, char bracket, bool holds_list) {
  if (bracket == '[') {
    constexpr std::array<std::string_view, 7> kOfMathematica{
        "Inverse", "Transpose", "IdentityMatrix", "DiagonalMatrix", "Range", "Table", "ConstantArray"};
    const std::size_t point = name.find('.');  // "np.r_[1, 2]"
    const bool is_dotted =
        point != std::string_view::npos && point + 1 < name.size() && is_letter(name[point + 1]);
    return is_dotted || std::find(kOfMathematica.begin(), kOfMathematica.end(), name) != kOfMathematica.end();
  }
  // "A(1, 2)" and "x_1(1, 2)" are points with their coordinates; "t(" and "c(" are functions of R.
  const std::string_view index = name.substr(std::min<std::size_t>(name.size(), 1));
  const bool is_point = !name.empty() && is_letter(name[0]) &&
                        index.find_first_not_of("_0123456789") == std::string_view::npos &&
                        ((name[0] >= 'A' && name[0] <= 'Z') || !index.empty());
  // "小猫(1, 0)": no name in code; letters of Greek and Latin may be.
  const bool is_of_other_script = static_cast<unsigned char>(name.empty() ? '\0' : name[0]) >= 0xe2;
  if (!holds_list && (is_point || is_of_other_script)) return false;
  return !name.empty() &&
         (is_letter(name[0]) || name[0] == '.' || static_cast<unsigned char>(name[0]) >= 0x80);
}

std::optional<Range> range_at(std::string_view text, std::size_t at, std::size_t end) {
  constexpr std::size_t kMostDigits = 7;
  std::vector<long> numbers;
  for (;;) {
    const bool is_negative = at < end && text[at] == '-';
    if (is_negative) ++at;
    const std::size_t begin = at;
    long value = 0;
    while (at < end && is_digit(text[at]) && at - begin < kMostDigits)
      value = value * 10 + (text[at++] - '0');
    if (at == begin) return std::nullopt;
    numbers.push_back(is_negative ? -value : value);
    if (at >= end || text[at] != ':' || numbers.size() == 3) break;
    ++at;
  }
  const bool goes_on = at < end && (is_digit(text[at]) || is_letter(text[at]) ||
                                    std::string_view(".:*/^%").find(text[at]) != std::string_view::npos);
  if (numbers.size() < 2 || goes_on) return std::nullopt;
  return numbers.size() == 2 ? Range{numbers[0], 1, numbers[1], at}
                             : Range{numbers[0], numbers[1], numbers[2], at};
}

std::size_t list_type_length(std::string_view text, std::size_t at, std::size_t end) {
  const std::string_view rest = text.substr(at, end - at);
  for (const std::string_view macro : {"vec!", "array!"}) {
    if (rest.starts_with(macro) && rest.size() > macro.size() && rest[macro.size()] == '[')
      return macro.size();
  }
  for (const std::string_view type : {"Float64", "Float32", "Float16", "BigFloat", "Int64", "Int32", "Int",
                                      "Bool", "Real", "Any", "Rational{Int64}", "Rational{Int}"}) {
    if (rest.starts_with(type) && rest.substr(type.size()).starts_with('[')) return type.size();
  }
  std::size_t inside = 0;  // "[]", "[2]" or "[...]", as often as there are dimensions
  while (inside < rest.size() && rest[inside] == '[') {
    const std::size_t close = rest.find_first_not_of("0123456789.", inside + 1);
    if (close == std::string_view::npos || rest[close] != ']') return 0;
    inside = close + 1;
  }
  if (inside == 0) return 0;
  const std::size_t type_end = end_of_name(rest, inside, rest.size());
  return type_end > inside && type_end < rest.size() && rest[type_end] == '{' ? type_end : 0;
}

std::size_t end_of_name(std::string_view text, std::size_t at, std::size_t end) {
  if (at >= end || !is_letter(text[at])) return at;
  while (at < end) {
    const bool is_scope = text[at] == ':' && at + 1 < end && text[at + 1] == ':';
    if (is_scope) {
      at += 2;
    } else if (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.') {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

std::size_t skip_blank(std::string_view text, std::size_t at, std::size_t end) {
  while (at < end) {
    const Folded c = fold_at(text, at);
    if (is_space(c.value) || c.value == '\n') {
      at += c.length;
    } else if (text.substr(at, end - at).starts_with("/*")) {
      at = std::min(text.find("*/", at), end - 2) + 2;
    } else if (c.value == '#' || c.value == '%' || text.substr(at, end - at).starts_with("//") ||
               text.substr(at, end - at).starts_with("```")) {
      at = std::min(text.find('\n', at), end);
    } else {
      const std::size_t after = after_prompt(text, at, end);
      if (after == at) break;
      at = after;
    }
  }
  return at;
}

std::optional<Declaration> declaration_at(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t line_end = std::min(text.find('\n', begin), end);
  Declaration found;
  int angles = 0;                         // open < of a template
  std::optional<std::size_t> dimensions;  // where the first [ of "K[2][3]" stands
  for (std::size_t at = begin; at < line_end;) {
    const Folded c = fold_at(text, at);
    const std::string_view rest = text.substr(at, line_end - at);
    if (rest.starts_with("<-") && angles == 0) {
      found.name = trimmed(text, {begin, at});
      found.value = at + 2;
      return found.name.begin < found.name.end ? std::optional(found) : std::nullopt;
    }
    if (rest.starts_with(":=") && angles == 0) {
      found.name = trimmed(text, {begin, at});
      found.value = at + 2;
      const bool is_name = is_plain_name(text.substr(found.name.begin, found.name.end - found.name.begin));
      return is_name ? std::optional(found) : std::nullopt;
    }
    if (c.value == '=' && angles == 0) {
      if (rest.starts_with("==") || rest.starts_with("=>")) return std::nullopt;
      found.name = without_let(text, trimmed(text, {begin, dimensions.value_or(at)}));
      found.value = at + c.length;
      if (!is_plain_name(text.substr(found.name.begin, found.name.end - found.name.begin)) && !found.has_type)
        return std::nullopt;
      return found.name.begin < found.name.end ? std::optional(found) : std::nullopt;
    }
    if (c.value == '{' && found.has_type && angles == 0) {
      found.name = trimmed(text, {begin, at});
      found.value = at;
      return found;
    }
    if (c.value == '<') {
      ++angles;
    } else if (c.value == '>') {
      if (angles == 0) return std::nullopt;
      --angles;
      found.has_type = true;
    } else if (c.value == '[' && is_behind_colon(text, begin, at)) {
      at = end_of_bracket(text, at, line_end);  // "[[f64; 2]; 2]"
      found.has_type = true;
      continue;
    } else if (c.value == '[') {
      // Only a size between the brackets: "[1, 0]" is a row.
      std::size_t inside = at + 1;
      while (inside < line_end && is_digit(text[inside])) ++inside;
      if (inside >= line_end || text[inside] != ']' || at == begin) return std::nullopt;
      if (!dimensions) dimensions = at;
      long size = 0;
      for (std::size_t digit = at + 1; digit < inside && size < 100'000'000; ++digit)
        size = size * 10 + (text[digit] - '0');
      found.sizes.push_back(size);
      found.has_type = true;
      at = inside + 1;
      continue;
    } else {
      const bool may_stand = c.value == kOther || is_letter(c.value) || is_digit(c.value) ||
                             is_space(c.value) || c.value == '.' || c.value == ':' || c.value == '*' ||
                             c.value == '&' || (c.value == ',' && angles > 0);
      if (!may_stand) return std::nullopt;
    }
    at += c.length;
  }
  return std::nullopt;
}

}  // namespace qkv

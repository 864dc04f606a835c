#include "input/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/display_width.h"

namespace qkv {
namespace {

constexpr std::array<std::string_view, 22> kNumberTypes{
    "float",    "double",  "half",     "int",      "long",    "float16",   "float32", "float64",
    "bfloat16", "int8",    "int16",    "int32",    "int64",   "uint8",     "tensor",  "scalar",
    "Decimal",  "Float32", "Fraction", "Rational", "Float64", "longdouble"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// "np.float64" → "float64"
std::string_view last_name(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_name_character(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin);
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

bool is_root(std::string_view name) { return name.ends_with("sqrt") || name.ends_with("Sqrt"); }

std::string_view without_sign(std::string_view text) {
  return text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
}

std::optional<std::string> truth(std::string_view word) {
  for (const std::string_view yes : {"True", "true", "TRUE", "✓", "✔", "☑", "√"}) {
    if (word == yes) return "1";
  }
  for (const std::string_view no : {"False", "false", "FALSE", "✗", "✘", "✕", "✖", "☒", "☐"}) {
    if (word == no) return "0";
  }
  return std::nullopt;
}

// "np.float64(0.5)" → "0.5", "Fraction(1, 2)" → "1/2"
void open_type_call(std::string& text) {
  const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const std::size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return;
  const std::string_view name = std::string_view(text).substr(sign, open - sign);
  const std::string_view type = last_name(name);
  const bool is_known = std::find(kNumberTypes.begin(), kNumberTypes.end(), type) != kNumberTypes.end();
  if (!is_known || !std::all_of(name.begin(), name.end(), is_name_character)) return;  // "2*float(1)"
  std::string inside = text.substr(open + 1, text.size() - open - 2);
  std::erase_if(inside, [](char c) { return c == ' ' || c == '"' || c == '\''; });
  // "int(2.7)" is 2.
  const bool is_of_whole = type == "long" || type.find("int") != std::string_view::npos;
  if (is_of_whole && !std::all_of(inside.begin() + (inside.starts_with('-') ? 1 : 0), inside.end(), is_digit))
    return;
  replace_all(inside, ",", "/");
  if (sign == 1 && text[0] == '-') {
    inside = inside.starts_with('-') ? inside.substr(1) : "-" + inside;
  }
  text = std::move(inside);
}

void write_roots(std::string& text) {
  if (text.find('[') != std::string::npos) {
    replace_all(text, "Sqrt[", "sqrt(");
    replace_all(text, "]", ")");
  }
  for (const std::string_view module : {"np.", "numpy.", "math.", "torch.", "jnp.", "cmath."}) {
    replace_all(text, std::string(module) + "sqrt", "sqrt");
  }
  for (std::size_t at = text.find("√"); at != std::string::npos; at = text.find("√")) {
    std::size_t end = at + std::string_view("√").size();
    if (end < text.size() && text[end] == '(') {
      text.replace(at, end - at, "sqrt");
      continue;
    }
    const std::size_t begin = end;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    if (end == begin) return;
    text.replace(at, end - at, "sqrt(" + text.substr(begin, end - begin) + ")");
  }
  // "2sqrt(2)": a product without its sign.  In "1/2sqrt(2)" nobody can tell what is divided by.
  for (std::size_t at = text.find("sqrt"); at != std::string::npos; at = text.find("sqrt", at + 5)) {
    std::size_t begin = at;
    while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
    if (begin < at && (begin == 0 || text[begin - 1] != '/')) text.insert(at, "*");
  }
}

// "×10^-3", "·10⁻²", "*10**-3", "*^-3" → "e-3"
void write_powers_of_ten(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kSuperscripts{{{"⁰", "0"},
                                                                                         {"¹", "1"},
                                                                                         {"²", "2"},
                                                                                         {"³", "3"},
                                                                                         {"⁴", "4"},
                                                                                         {"⁵", "5"},
                                                                                         {"⁶", "6"},
                                                                                         {"⁷", "7"},
                                                                                         {"⁸", "8"},
                                                                                         {"⁹", "9"},
                                                                                         {"⁻", "-"},
                                                                                         {"⁺", "+"}}};
  for (const std::string_view times : {"×10", "·10", "⋅10", "∙10", "*10", "x10", "X10"}) {
    const std::size_t at = text.find(times);
    if (at == std::string::npos || at == 0 || !(is_digit(text[at - 1]) || text[at - 1] == '.')) continue;
    std::string power = text.substr(at + times.size());
    if (power.starts_with('^')) {
      power.erase(0, 1);
    } else if (power.starts_with("**")) {
      power.erase(0, 2);
    } else {
      const std::string plain = power;
      for (const auto& [raised, digit] : kSuperscripts) replace_all(power, raised, digit);
      if (power == plain) continue;  // "2*100" is a product
    }
    std::erase_if(power, [](char c) { return c == '(' || c == ')' || c == '{' || c == '}'; });
    text = text.substr(0, at) + "e" + power;
    return;
  }
  replace_all(text, "*^", "e");
}

// "2.5`20", Mathematica's number of digits that count
void drop_precision(std::string& text) {
  const std::size_t mark = text.find('`');
  if (mark == std::string::npos || mark == 0 || !(is_digit(text[mark - 1]) || text[mark - 1] == '.')) return;
  text.erase(mark, std::min(text.find_first_not_of("`.0123456789", mark), text.size()) - mark);
}

// "1_000" and "1'000"
void drop_digit_marks(std::string& text) {
  for (std::size_t at = 1; at + 1 < text.size();) {
    if ((text[at] == '_' || text[at] == '\'') && is_digit(text[at - 1]) && is_digit(text[at + 1])) {
      text.erase(at, 1);
    } else {
      ++at;
    }
  }
}

void write_fractions(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFractions{{{"½", "1/2"},
                                                                                     {"⅓", "1/3"},
                                                                                     {"⅔", "2/3"},
                                                                                     {"¼", "1/4"},
                                                                                     {"¾", "3/4"},
                                                                                     {"⅕", "1/5"},
                                                                                     {"⅛", "1/8"},
                                                                                     {"⅙", "1/6"},
                                                                                     {"⁄", "/"}}};
  replace_all(text, "//", "/");
  for (const auto& [sign, fraction] : kFractions) {
    if (fraction == "/") {
      replace_all(text, sign, fraction);
      continue;
    }
    // "1½" is one and a half, no product; nobody can tell what "½½" is, and "1/½" is not 1/1/2.
    for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1)) {
      const std::size_t end = at + sign.size();
      const bool is_alone =
          (at == 0 || std::string_view("+-*(").find(text[at - 1]) != std::string_view::npos) &&
          (end == text.size() || std::string_view("*/)%").find(text[end]) != std::string_view::npos);
      if (is_alone) text.replace(at, sign.size(), fraction);
    }
  }
}

// "1.0f", "1.0L"; "1.0f64" and "1_f64"
void drop_suffix(std::string& text) {
  for (const std::string_view type : {"f32", "f64", "i32", "i64", "u8"}) {
    if (!text.ends_with(type) || text.size() == type.size()) continue;
    std::size_t end = text.size() - type.size();
    if (text[end - 1] == '_') --end;
    if (end == 0 || !(is_digit(text[end - 1]) || text[end - 1] == '.')) continue;
    text.resize(end);
    return;
  }
  if (text.size() < 2) return;
  const char before = text[text.size() - 2];
  if (!is_digit(before) && before != '.') return;
  if (std::string_view("fFL").find(text.back()) != std::string_view::npos) text.pop_back();
}

}  // namespace

std::optional<std::string> respelt(std::string_view folded, bool truth_values) {
  if (truth_values) {
    if (auto value = truth(folded)) return value;
  }
  std::string text(folded);
  for (const std::string_view dash : {"–", "‐", "‒", "﹣"}) {
    if (text.starts_with(dash)) text.replace(0, dash.size(), "-");
  }
  open_type_call(text);
  const std::string_view unsigned_text = without_sign(text);
  const std::string_view name = last_name(unsigned_text);
  const bool is_path = name.size() < unsigned_text.size() &&
                       std::all_of(unsigned_text.begin(), unsigned_text.end(), is_name_character);
  if (name == "Infinity" || (is_path && (name == "inf" || name == "Inf")))
    return (text[0] == '-' ? "-inf" : "inf");
  if (name == "Indeterminate" || (is_path && name == "nan")) return "nan";
  drop_precision(text);
  write_roots(text);
  write_powers_of_ten(text);
  write_fractions(text);
  drop_digit_marks(text);
  drop_suffix(text);
  if (text == folded) return std::nullopt;
  return text;
}

bool begins_number_call(std::string_view before_bracket, char bracket) {
  if (bracket == '[') return before_bracket.ends_with("Sqrt");
  if (bracket != '(') return false;
  const std::string_view name = last_name(before_bracket);
  return is_root(name) || before_bracket.ends_with("√") ||
         std::find(kNumberTypes.begin(), kNumberTypes.end(), name) != kNumberTypes.end();
}

std::optional<std::string> times_power_of_ten(std::string_view number, int exponent) {
  const bool is_negative = number.starts_with('-');
  const std::string_view size = without_sign(number);
  std::string lower(size);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (lower == "inf" || lower == "nan") return std::string(number);
  const std::size_t point = std::min(size.find('.'), size.size());
  std::string digits(size.substr(0, point));
  if (point < size.size()) digits += size.substr(point + 1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    const std::size_t e = size.find_first_of("eE");
    if (e == std::string_view::npos || e == 0 || size.size() - e > 6) return std::nullopt;
    const std::string_view power = size.substr(e + 1);
    const std::string_view power_digits = without_sign(power);
    if (power_digits.empty() || !std::all_of(power_digits.begin(), power_digits.end(), is_digit))
      return std::nullopt;
    int sum = 0;
    for (const char c : power_digits) sum = sum * 10 + (c - '0');
    if (power.starts_with('-')) sum = -sum;
    return fmt::format("{}{}e{}", is_negative ? "-" : "", size.substr(0, e), sum + exponent);
  }
  if (exponent > 30 || exponent < -30) return fmt::format("{}e{}", number, exponent);
  if (size.find_first_not_of("0.") == std::string_view::npos && point == size.size())
    return std::string(number);
  long before_point = static_cast<long>(point) + exponent;
  if (before_point <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - before_point), '0');
    before_point = 1;
  }
  const auto whole = static_cast<std::size_t>(before_point);
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  std::string result = digits.substr(0, whole);
  result.erase(0, std::min(result.find_first_not_of('0'), result.size() - 1));
  if (digits.size() > whole) result += "." + digits.substr(whole);
  return (is_negative ? "-" : "") + result;
}

std::size_t thousands_space_length(std::string_view folded, std::size_t at) {
  if (folded[at] == ' ') return 1;
  for (const std::string_view space : {"\u2009", "\u202f", "\u2007"}) {
    if (folded.substr(at).starts_with(space)) return space.size();
  }
  return 0;
}

bool has_spaced_thousands(std::string_view folded) {
  const auto digits_at = [&](std::size_t at) {
    std::size_t end = at;
    while (end < folded.size() && is_digit(folded[end])) ++end;
    return end - at;
  };
  std::size_t at = folded.size() - without_sign(folded).size();
  const std::size_t first = digits_at(at);
  if (first == 0 || first > 3 || folded[at] == '0') return false;
  at += first;
  if (at >= folded.size()) return false;
  const std::string_view space = folded.substr(at, thousands_space_length(folded, at));
  if (space.empty()) return false;
  while (folded.substr(at).starts_with(space)) {
    at += space.size();
    if (digits_at(at) != 3) return false;
    at += 3;
  }
  if (at == folded.size()) return true;
  if (folded[at] != '.' && folded[at] != ',') return false;
  return at + 1 + digits_at(at + 1) == folded.size();
}

bool is_elision(std::string_view word) {
  for (const std::string_view dots :
       {"…", "⋯", "⋮", "⋱", "\\cdots", "\\dots", "\\ldots", "\\vdots", "\\ddots"}) {
    if (word == dots || word == std::string(dots) + std::string(dots)) return true;
  }
  return word.size() >= 2 && word.find_first_not_of('.') == std::string_view::npos;
}

bool is_number_gone_wrong(std::string_view folded) {
  constexpr std::array<std::string_view, 14> kOfNumbers{"e",  "pi",    "π",     "sqrt", "exp", "log", "ln",
                                                        "np", "numpy", "torch", "math", "tau", "inf", "Math"};
  if (folded.empty()) return false;
  // "math.pi", "e^2", "pi/2", "√2π"
  bool has_operator = false;
  bool has_name = false;
  bool are_all_of_numbers = true;
  bool has_invisible = false;
  std::string_view seen;  // without what is invisible
  for (std::size_t at = 0; at < folded.size();) {
    const CodePoint c = first_code_point(folded.substr(at));
    if (is_invisible(c.value)) {
      has_invisible = true;
    } else if (seen.empty()) {
      seen = folded.substr(at);
    }
    const bool begins_name = c.value != '_' && c.value != U'√' && !is_sign(c.value) && !is_digit(folded[at]);
    std::size_t end = at + c.length;
    if (begins_name) {
      while (end < folded.size() && !is_digit(folded[end]) &&
             !is_sign(first_code_point(folded.substr(end)).value))
        end += first_code_point(folded.substr(end)).length;
      has_name = true;
      const std::string_view name = folded.substr(at, end - at);
      are_all_of_numbers =
          are_all_of_numbers && std::find(kOfNumbers.begin(), kOfNumbers.end(), name) != kOfNumbers.end();
    } else {
      has_operator = has_operator || std::string_view(".^*/(+").find(folded[at]) != std::string_view::npos;
    }
    at = end;
  }
  const char32_t begin = first_code_point(folded).value;
  const bool is_fraction_sign = (begin >= 0xbc && begin <= 0xbe) || (begin >= 0x2150 && begin <= 0x215e);
  if (is_fraction_sign || folded == "π" || (has_name && has_operator && are_all_of_numbers)) return true;
  if (seen.empty()) return false;
  // "≈0.5", "<0.01", "=1/2", "—0.5", and "=A1" of a spreadsheet; but not "<0x0A>", a token.
  std::string_view behind = seen;  // its signs
  while (!behind.empty() && is_sign(first_code_point(behind).value))
    behind.remove_prefix(first_code_point(behind).length);
  const bool begins_number = !behind.empty() && is_digit(behind[0]);
  if (has_invisible && begins_number) return true;
  if (behind.empty() || behind.size() == seen.size() || seen[0] == '#' || seen.back() == '>') return false;
  const bool is_formula =
      seen[0] == '=' && ((behind[0] >= 'A' && behind[0] <= 'Z') || (behind[0] >= 'a' && behind[0] <= 'z'));
  return begins_number || is_formula;
}

bool is_letter_for_digit(std::string_view word) {
  return word == "O" || word == "o" || word == "l" || word == "I";
}

bool is_missing_value(std::string_view word) {
  for (const std::string_view missing : {"NA", "<NA>", "N/A", "n/a", "null", "NULL", "None"}) {
    if (word == missing) return true;
  }
  return false;
}

bool is_office_error(std::string_view word) {
  return word.size() == 7 && word.starts_with("Err:") && std::all_of(word.begin() + 4, word.end(), is_digit);
}

MarkUse use_of_mark(std::string_view folded, char mark) {
  std::string_view number = without_sign(folded);
  number = number.substr(0, number.find_first_not_of("0123456789.,"));
  const char other = mark == ',' ? '.' : ',';
  const auto count = std::count(number.begin(), number.end(), mark);
  if (count == 0) return MarkUse::none;
  const auto are_groups = [](std::string_view text, char between) {
    const std::size_t first = text.find(between);
    if (first == 0 || first > 3 || text[0] == '0') return false;
    for (std::size_t at = first; at < text.size(); at += 4) {
      if (text[at] != between || text.size() - at < 4) return false;
      if (!std::all_of(text.begin() + static_cast<long>(at) + 1, text.begin() + static_cast<long>(at) + 4,
                       is_digit))
        return false;
    }
    return true;
  };
  const std::size_t other_at = number.find(other);
  if (other_at != std::string_view::npos) {
    if (number.rfind(mark) < other_at)  // 1,234.5
      return number.find(other, other_at + 1) == std::string_view::npos &&
                     are_groups(number.substr(0, other_at), mark)
                 ? MarkUse::thousands
                 : MarkUse::wrong;
    return count == 1 && are_groups(number.substr(0, number.find(mark)), other) ? MarkUse::decimal
                                                                                : MarkUse::wrong;
  }
  if (count > 1) return are_groups(number, mark) ? MarkUse::thousands : MarkUse::wrong;
  const std::string_view behind = without_sign(folded).substr(number.size());
  return (behind.empty() || behind == "%") && are_groups(number, mark) ? MarkUse::either : MarkUse::decimal;
}

std::string with_point(std::string_view folded, char decimal) {
  std::string text(folded);
  std::erase(text, decimal == ',' ? '.' : ',');
  std::replace(text.begin(), text.end(), ',', '.');
  return text;
}

}  // namespace qkv

#include "base/number.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/display_width.h"

namespace qkv {
namespace {

constexpr std::size_t kLongestNumber = 1000;  // characters; nobody writes more digits by hand
constexpr long kLargestExponent = 9999;
constexpr int kDeepestRoot = 16;  // sqrt(sqrt(…)): bounds the recursion

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string in_lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool is_nan(std::string_view text) {
  const std::string lower = in_lower_case(text);
  return lower == "nan" || lower == "-nan" || lower == "+nan";
}

bool is_name(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text) {
    if (!is_letter(c) && !is_digit(c)) return false;
  }
  return true;
}

// What somebody may have meant by a character that no number holds.
Said hint_for_character(std::string_view at) {
  if (at.empty()) return {};
  const auto [c, length] = first_code_point(at);
  if ((c >= 0xbc && c <= 0xbe) || (c >= 0x2150 && c <= 0x215e))
    return say({"write a fraction as 3/2 or 1.5, and alone", "分数写作 3/2 或 1.5，并且单独写"});
  if (is_invisible(c))
    return say({"an invisible character, U+{0}; delete it", "这里有看不见的字符 U+{0}；请删去"},
               fmt::format("{:04X}", static_cast<unsigned>(c)));
  // "≈0.5", "<0.01", "=1/2", "£5"
  const bool is_before_digit =
      at.size() > length && (is_digit(at[length]) || at[length] == '.' || at[length] == '-');
  if (std::u32string_view(U"≈~∼≃≅<>=≤≥±$£€¥'“‘•").find(c) != std::u32string_view::npos && is_before_digit)
    return say({"write the number alone, without '{0}'", "请只写数，不要写“{0}”"}, at.substr(0, length));
  switch (c) {
    case U'O':
    case U'o':
      return say({"the letter O; did you mean 0?", "这是字母 O；是不是想写数字 0？"});
    case U'l':
    case U'I':
      return say({"the letter {0}; did you mean 1?", "这是字母 {0}；是不是想写数字 1？"}, at.substr(0, 1));
    case U'#':
      return say({"a comment needs a space before '#'", "注释符号“#”前面要有空格"});
    case U'.':
      return say({"a number has one decimal point", "一个数只有一个小数点"});
    case U'√':
      return say({"write a root as sqrt(2)", "平方根写作 sqrt(2)"});
    case U'×':
    case U'·':
      return say({"write a product as 2*3", "乘法写作 2*3"});
    case U'÷':
      return say({"write a quotient as 1/3", "除法写作 1/3"});
    case U'–':
    case U'—':
      return say({"this dash is not a minus sign; write -", "这个横线不是减号；请写 -"});
    case U'、':
      return say({"separate numbers by a space or ','", "数与数之间用空格或“,”隔开"});
    case U'。':
      return say({"write the decimal point as '.'", "小数点写作“.”"});
    case U'…':
      return say({"numbers were left out here; write them all", "这里省略了一些数；请全部写出"});
    default:
      return {};
  }
}

// "1+2i", "0.5-1j"
bool is_complex(std::string_view lower) {
  if (lower.size() < 2 || (lower.back() != 'i' && lower.back() != 'j')) return false;
  return lower.find_first_not_of("0123456789.+-eij") == std::string_view::npos &&
         (is_digit(lower[lower.size() - 2]) || lower[lower.size() - 2] == '.');
}

Said hint_for_word(std::string_view word) {
  const std::string lower = in_lower_case(word);
  if (lower == "o" || lower == "l" || word == "I") return hint_for_character(word);
  if (lower == "e" || lower == "pi" || lower == "π" || lower.ends_with(".pi") || lower.ends_with(".e")) {
    return say({"write the constant out as a decimal number", "请把这个常数写成小数"});
  }
  if (lower == "infinity") return say({"write infinity as inf", "无穷大写作 inf"});
  if (lower == "true" || lower == "false") return say({"write 1 or 0", "请写 1 或 0"});
  if (lower == "na" || lower == "<na>" || lower == "n/a" || lower == "null" || lower == "none" ||
      word == "-" || word == "--" || word == "—") {
    return say({"a missing value; every cell needs a number", "缺失值；每个单元格都要有一个数"});
  }
  for (const std::string_view command : {"\\frac", "\\dfrac", "\\tfrac"}) {
    const std::size_t at = word.rfind(command);
    if (at != std::string_view::npos && at > 0 && (is_digit(word[at - 1]) || word[at - 1] == '}'))
      return say({"write a fraction as 3/2 or 1.5, and alone", "分数写作 3/2 或 1.5，并且单独写"});
  }
  if (is_complex(lower)) {
    return say({"a complex number; attention is over the real numbers", "这是复数；注意力只用实数"});
  }
  if (lower == "sqrt") return say({"write a root without spaces: sqrt(2)", "平方根不带空格，写作 sqrt(2)"});
  return {};
}

// The double nearest to mantissa · 10^exponent: infinity where it is too large for one, 0 where it is too
// small.
double nearest_double(std::string_view mantissa, long exponent) {
  // Not std::from_chars: libc++ has none for doubles.  Nothing here sets a locale, so the point is a point.
  return std::strtod(fmt::format("{}e{}", mantissa, exponent).c_str(), nullptr);
}

class NumberParser {
 public:
  NumberParser(std::string_view text, NumberError& error) : text_(text), error_(error) {}

  std::optional<Number> whole() {
    const std::optional<Value> value = number(0);
    if (!value) return std::nullopt;
    if (at_ < text_.size()) {
      not_a_number(at_);
      return std::nullopt;
    }
    Number result;
    result.text = text_;
    result.value = value->value == 0 ? 0.0 : value->value;  // no −0: it is the number 0
    result.is_decimal = value->is_decimal;
    result.decimals = value->is_decimal ? value->decimals : 0;
    if (value->is_infinite) {
      result.kind = Number::Kind::infinite;
      result.text = value->value < 0 ? "-inf" : "inf";
      result.is_decimal = true;
      result.decimals = 0;
    }
    return result;
  }

 private:
  struct Value {
    double value = 0;
    bool is_zero = false;  // in exact arithmetic; a tiny number may have the double 0
    bool is_infinite = false;
    bool is_decimal = false;  // digits and a point, perhaps a percent sign
    int decimals = 0;
    std::string_view mantissa = {};  // of a single decimal
    long exponent = 0;
  };

  bool is_at(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::nullopt_t fail(std::size_t at, std::size_t length, Said message, Said hint = {}) {
    error_ = {at, length, std::move(message), std::move(hint)};
    return std::nullopt;
  }

  // Points at the character when it explains the mistake, else at the whole word.
  std::nullopt_t not_a_number(std::size_t at) {
    Said message = say({"'{0}' is not a number", "“{0}”不是数字"}, quotable(text_));
    Said hint = hint_for_character(text_.substr(at));
    if (hint.empty()) return fail(0, text_.size(), std::move(message), hint_for_word(text_));
    return fail(at, first_code_point(text_.substr(at)).length, std::move(message), std::move(hint));
  }

  std::nullopt_t too_large() {
    return fail(
        0, text_.size(),
        say({"'{0}' is too large: a double ends at about 1.8e308", "“{0}”太大：双精度数最大约为 1.8e308"},
            quotable(text_)));
  }

  // number = [sign] factor { ("*" | "/") factor } [ "%" ]
  std::optional<Value> number(int depth) {
    const bool is_negative = peek() == '-';
    if (peek() == '-' || peek() == '+') ++at_;
    std::optional<Value> value = factor(depth);
    if (!value) return std::nullopt;
    bool is_expression = false;
    while (peek() == '*' || peek() == '/') {
      const std::size_t op = at_++;
      is_expression = true;
      const std::optional<Value> right = factor(depth);
      if (!right) return std::nullopt;
      if (!combine(*value, *right, op)) return std::nullopt;
    }
    if (peek() == '%') {
      ++at_;
      if (!percent(*value, is_expression)) return std::nullopt;
    }
    if (is_negative) value->value = -value->value;
    return value;
  }

  bool combine(Value& left, const Value& right, std::size_t op) {
    if (left.is_infinite || right.is_infinite) return infinity_inside();
    if (!is_in_range(left) || !is_in_range(right)) return false;
    left.is_decimal = false;
    if (text_[op] == '*') {
      left.value *= right.value;
      left.is_zero = left.is_zero || right.is_zero;
    } else {
      if (right.is_zero) {
        fail(op, at_ - op, say({"division by zero in '{0}'", "“{0}”中除数为零"}, quotable(text_)));
        return false;
      }
      left.value /= right.value;
    }
    return is_in_range(left);
  }

  bool infinity_inside() {
    fail(0, text_.size(),
         say({"infinity stands alone, not inside an expression such as '{0}'",
              "无穷大只能单独写，不能出现在“{0}”这样的式子里"},
             quotable(text_)));
    return false;
  }

  // Inside an expression a value below the normal doubles would lose its digits unseen.
  bool is_in_range(const Value& value) {
    if (!std::isfinite(value.value)) {
      too_large();
      return false;
    }
    if (!value.is_zero && std::abs(value.value) < std::numeric_limits<double>::min()) {
      fail(0, text_.size(),
           say({"a part of '{0}' is too small to calculate with", "“{0}”中有一部分太小，无法计算"},
               quotable(text_)));
      return false;
    }
    return true;
  }

  bool percent(Value& value, bool is_expression) {
    if (value.is_infinite) return infinity_inside();
    if (is_expression || value.mantissa.empty()) {
      value.value /= 100;
      value.is_decimal = false;
      return is_in_range(value);
    }
    // 12.5% is exactly 0.125, written with three decimals.
    value.decimals += 2;
    value.value = nearest_double(value.mantissa, value.exponent - 2);
    return true;
  }

  // factor = decimal [ "e" int ] | "sqrt(" number ")" | "inf"
  std::optional<Value> factor(int depth) {
    if (is_at("sqrt(")) return root(depth);
    if (in_lower_case(text_.substr(at_, 3)) == "inf") {
      at_ += 3;
      if (depth > 0) {
        infinity_inside();
        return std::nullopt;
      }
      return Value{.value = std::numeric_limits<double>::infinity(), .is_infinite = true};
    }
    return decimal();
  }

  std::optional<Value> root(int depth) {
    const std::size_t begin = at_;
    if (depth == kDeepestRoot) {
      return fail(begin, 4,
                  say({"roots are nested more than {0} deep", "根号嵌套超过 {0} 层"}, kDeepestRoot));
    }
    at_ += 5;
    const std::optional<Value> inside = number(depth + 1);
    if (!inside) return std::nullopt;
    if (peek() != ')') {
      if (at_ < text_.size()) return not_a_number(at_);
      return fail(begin, text_.size() - begin,
                  say({"the bracket of sqrt( is never closed", "sqrt( 缺少右括号"}));
    }
    ++at_;
    if (inside->value < 0) {
      return fail(begin, at_ - begin,
                  say({"the root of a negative number: '{0}'", "负数没有平方根：“{0}”"}, quotable(text_)));
    }
    Value value{.value = std::sqrt(inside->value), .is_zero = inside->is_zero};
    if (!is_in_range(value)) return std::nullopt;
    return value;
  }

  std::optional<Value> decimal() {
    const std::size_t begin = at_;
    std::size_t digits = 0;
    std::size_t decimals = 0;
    bool has_point = false;
    bool is_zero = true;
    while (is_digit(peek()) || (peek() == '.' && !has_point)) {
      if (peek() == '.') {
        has_point = true;
      } else {
        ++digits;
        if (has_point) ++decimals;
        if (peek() != '0') is_zero = false;
      }
      ++at_;
    }
    if (digits == 0) return not_a_number(at_);
    Value value{.is_zero = is_zero,
                .is_decimal = true,
                .decimals = static_cast<int>(decimals),
                .mantissa = text_.substr(begin, at_ - begin)};
    if (peek() == 'e' || peek() == 'E') {
      if (!exponent(value)) return std::nullopt;
    }
    value.value = nearest_double(value.mantissa, value.exponent);
    if (!std::isfinite(value.value)) return too_large();
    return value;
  }

  bool exponent(Value& value) {
    const std::size_t begin = at_++;
    const bool is_negative = peek() == '-';
    if (peek() == '-' || peek() == '+') ++at_;
    if (!is_digit(peek())) {
      fail(begin, 1, say({"'{0}' is not a number", "“{0}”不是数字"}, quotable(text_)),
           say({"an exponent needs digits, as in 1e-3", "指数部分要有数字，如 1e-3"}));
      return false;
    }
    long size = 0;
    for (; is_digit(peek()); ++at_) {
      if (size <= kLargestExponent) size = size * 10 + (peek() - '0');
    }
    if (size > kLargestExponent) {
      fail(begin, at_ - begin,
           say({"the exponent of '{0}' is out of range", "“{0}”的指数超出范围"}, quotable(text_)));
      return false;
    }
    value.exponent = is_negative ? -size : size;
    value.is_decimal = false;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  NumberError& error_;
};

}  // namespace

Number whole_number(long value) {
  Number number;
  number.text = std::to_string(value);
  number.value = static_cast<double>(value);
  return number;
}

NumberError not_a_number(std::string_view word) {
  if (is_nan(word)) {
    return {
        0,
        word.size(),
        say({"'{0}' (not a number) cannot be calculated with", "“{0}”（非数）不能参与计算"}, quotable(word)),
        {}};
  }
  return {0, word.size(), say({"'{0}' is not a number", "“{0}”不是数字"}, quotable(word)),
          hint_for_word(word)};
}

std::optional<Number> parse_number(std::string_view text, NumberError& error) {
  if (text.size() > kLongestNumber) {
    error = {0,
             text.size(),
             say({"a number of {0} characters; at most {1} are read", "这个数有 {0} 个字符；最多读 {1} 个"},
                 text.size(), kLongestNumber),
             {}};
    return std::nullopt;
  }
  if (text == "_") return Number{.kind = Number::Kind::blank, .text = "_"};
  if (is_nan(text)) {
    return Number{.kind = Number::Kind::nan,
                  .text = std::string(text),
                  .value = std::numeric_limits<double>::quiet_NaN()};
  }
  const std::string lower = in_lower_case(text);
  if (is_name(text) && lower != "inf") {
    if (lower == "sqrt" || text == "e" || lower == "pi") {
      error = not_a_number(text);
      return std::nullopt;
    }
    return Number{.kind = Number::Kind::symbol, .text = std::string(text)};
  }
  return NumberParser(text, error).whole();
}

}  // namespace qkv

// A little parser of what qkv writes as the arithmetic of a cell, and of numbers as written in
// a file.  It shares no code with the program, so that an explanation is proved by somebody
// else's reading of it:
//
//   sum      = product { ("+" | "-") product }
//   product  = signed { ("·" | "*" | "/") signed }
//   signed   = ["-"] power
//   power    = "e^(" sum ")" | "tanh(" sum ")" | "cos(" sum ")" | "sin(" sum ")" | "sqrt(" sum ")"
//            | "ln(" sum ")" | "√" atom | atom [ "²" ]
//   atom     = "(" sum ")" [ "^(" sum ")" ] | "|" sum "|" | ("max(" | "min(") sum { "," sum } ")"
//            | "argmax(" sum "→" sum { "," sum "→" sum } ")" | "[" sum ">" sum "]" | "∞" | "nan"
//            | decimal [ "%" ]
//
// "−" is read as "-".  argmax gives what the arrow points at, behind the largest; the first of equals.
// [a > b] is 1 where that holds, else 0.
#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace qkv::test {

class ExpressionReader {
 public:
  // Throws where the text is not an expression.
  static long double value_of(std::string text) {
    for (std::size_t at = text.find("−"); at != std::string::npos; at = text.find("−")) {
      text.replace(at, std::string_view("−").size(), "-");
    }
    ExpressionReader reader(text);
    const long double value = reader.sum();
    if (reader.at_ != text.size()) reader.fail("the end");
    return value;
  }

 private:
  explicit ExpressionReader(const std::string& text) : text_(text) {}

  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error("expected " + expected + " at \"" + text_.substr(at_) + "\" of \"" + text_ +
                             "\"");
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (!std::string_view(text_).substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail("'" + std::string(word) + "'");
  }

  long double sum() {
    long double value = product();
    while (true) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        skip_spaces();
        return value;
      }
    }
  }

  long double product() {
    long double value = signed_power();
    while (true) {
      if (take("·") || take("*")) {
        value *= signed_power();
      } else if (take("/")) {
        value /= signed_power();
      } else {
        return value;
      }
    }
  }

  long double signed_power() { return take("-") ? -power() : power(); }

  long double power() {
    if (take("e^(")) return std::exp(closed());
    if (take("tanh(")) return std::tanh(closed());
    if (take("sqrt(")) return std::sqrt(closed());
    if (take("ln(")) return std::log(closed());
    if (take("cos(")) return std::cos(closed());
    if (take("sin(")) return std::sin(closed());
    if (take("ln(")) return std::log(closed());
    if (take("√")) return std::sqrt(atom());
    const long double value = atom();
    return take("²") ? value * value : value;
  }

  long double closed() {
    const long double value = sum();
    need(")");
    return value;
  }

  long double atom() {
    if (take("(")) {
      const long double value = closed();
      return take("^(") ? std::pow(value, closed()) : value;
    }
    if (take("|")) {
      const long double value = sum();
      need("|");
      return std::abs(value);
    }
    if (take("max(")) {
      long double most = sum();
      while (take(",")) most = std::max(most, sum());
      need(")");
      return most;
    }
    if (take("min(")) {
      long double least = sum();
      while (take(",")) least = std::min(least, sum());
      need(")");
      return least;
    }
    if (take("argmax(")) return argmax();
    if (take("[")) return truth();
    if (take("∞")) return std::numeric_limits<long double>::infinity();
    if (take("nan")) return std::numeric_limits<long double>::quiet_NaN();
    return decimal();
  }

  // 1 where it holds, else 0.
  long double truth() {
    const long double left = sum();
    need(">");
    const long double right = sum();
    need("]");
    return left > right ? 1 : 0;
  }

  long double argmax() {
    long double most = 0;
    long double value = 0;
    bool is_first = true;
    do {
      const long double weight = sum();
      need("→");
      const long double candidate = sum();
      if (is_first || weight > most) {
        most = weight;
        value = candidate;
      }
      is_first = false;
    } while (take(","));
    need(")");
    return value;
  }

  // Digits, a point, an exponent.  A sign is no part of it: "2 - -3" is not what anybody writes.
  long double decimal() {
    skip_spaces();
    const std::size_t end = text_.find_first_not_of("0123456789.", at_);
    std::size_t length = std::min(end, text_.size()) - at_;
    if (length == 0) fail("a number");
    const std::size_t e = at_ + length;
    if (e + 1 < text_.size() && text_[e] == 'e' && text_[e + 1] != '^') {
      const std::size_t digits =
          text_.find_first_not_of("0123456789", e + (text_[e + 1] == '-' || text_[e + 1] == '+' ? 2 : 1));
      length = std::min(digits, text_.size()) - at_;
    }
    const long double value = std::strtold(text_.substr(at_, length).c_str(), nullptr);
    at_ += length;
    return take("%") ? value / 100 : value;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace qkv::test

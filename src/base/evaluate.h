// The value of a number as written, in any arithmetic that has decimals, * / and roots.
//
//   number = [sign] factor { ("*" | "/") factor } [ "%" ]      left to right
//   factor = decimal [ "e" int ] | "sqrt(" number ")"
//
// parse_number has checked the text; nothing here can fail.
#pragma once

#include <string>

namespace qkv {

template <class T, T (*decimal)(const std::string&)>
class Evaluator {
 public:
  explicit Evaluator(const std::string& text) : at_(text.c_str()) {}

  T number() {
    const bool is_negative = *at_ == '-';
    if (*at_ == '-' || *at_ == '+') ++at_;
    T value = factor();
    while (*at_ == '*' || *at_ == '/') {
      const char op = *at_++;
      const T right = factor();
      value = op == '*' ? T(value * right) : T(value / right);
    }
    if (*at_ == '%') {
      ++at_;
      value = value / T(100);
    }
    return is_negative ? T(-value) : value;
  }

 private:
  T factor() {
    if (*at_ == 's') {  // sqrt(
      at_ += 5;
      const T inside = number();
      ++at_;  // )
      return sqrt(inside);
    }
    const char* begin = at_;
    while ((*at_ >= '0' && *at_ <= '9') || *at_ == '.') ++at_;
    if (*at_ == 'e' || *at_ == 'E') {
      ++at_;
      if (*at_ == '-' || *at_ == '+') ++at_;
      while (*at_ >= '0' && *at_ <= '9') ++at_;
    }
    return decimal(std::string(begin, at_));
  }

  const char* at_;
};

}  // namespace qkv

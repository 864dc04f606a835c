// A number as somebody wrote it.
//
// qkv keeps the text, because 0.1 is one tenth and not the nearest double, because
// "0.40" promises two decimals where "0.4" promises one, and because 1/3 and sqrt(2)/2
// have no decimal text at all.
//
//   number = [sign] factor { ("*" | "/") factor } [ "%" ]      left to right
//   factor = decimal [ "e" int ] | "sqrt(" number ")" | "inf"
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace qkv {

struct Number {
  enum class Kind {
    finite,    // `text` is a number by the grammar above, in ASCII
    infinite,  // `text` is "inf" or "-inf"
    symbol,    // `text` is a name such as v0; `value` is 0
    blank,     // "_": left open on an answer sheet
    nan,       // "nan", "-nan": what a program prints for 0/0
  };
  Kind kind = Kind::finite;
  std::string text = "0";
  double value = 0;  // the nearest double of a decimal; of an expression, to within an ulp or two
  int decimals = 0;  // digits after the point as written; 12.5% is 0.125: 3; for 1/3, 1e-3 or sqrt(2): 0
  bool is_decimal = true;  // false for an expression or an exponent: it names its value exactly

  bool operator==(const Number&) const = default;
};

// A whole number, as if somebody had written it.
Number whole_number(long value);

struct NumberError {
  std::size_t at = 0;      // characters before the fault
  std::size_t length = 1;  // characters it spans
  Said message;
  Said hint;
};

// Reads one number, infinity, symbol or "_" that fills the whole text.
//   text  ASCII only: full-width forms and the signs − and ∞ are already folded to -, inf
// Refused, with the reason: a reserved word as a symbol, a literal beyond the doubles (1e999),
// division by zero, the root of a negative, infinity or nan inside an expression.
// Whether a symbol, an infinity, a nan or a blank is allowed here is for the caller to say.
// 5% has the text "5%" and the value 0.05: the sign is part of the text, and applied to the value.
std::optional<Number> parse_number(std::string_view text, NumberError& error);

// What to say of a word, such as the symbol O or nan, that stands where only numbers may.
NumberError not_a_number(std::string_view word);

}  // namespace qkv

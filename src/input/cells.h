// One word of a matrix as a number, by the rules of its section.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/number.h"
#include "input/faults.h"
#include "input/fold.h"
#include "input/spelling.h"
#include "input/words.h"

namespace qkv {

// Which cells besides finite numbers are legal here.
struct CellRules {
  bool symbols = false;   // v0, in V
  bool infinity = false;  // in scores, masks and biases
  bool blanks = false;    // "_", on answer sheets
  bool nan = false;       // there too: programs print it
  bool truth = false;     // True and ✓, in masks: 1 and 0
};

class CellReader {
 public:
  CellReader(const MatrixPlace& place, CellRules rules, const WordTable& table)
      : place_(place), rules_(rules), table_(table) {}

  // Which of the marks inside numbers, ',' or '.', is the decimal point, where they may hold both; before
  // this no number holds a comma.
  void set_decimal_mark(char mark, bool points_are_of_thousands) {
    decimal_mark_ = mark;
    points_are_of_thousands_ = points_are_of_thousands;
  }

  // The number; nullopt with the fault, whose place is counted in bytes of the word.
  std::optional<Number> number(const Word& word, NumberError& fault) const;

  // Would this word be read as a number, right or wrong?  A mistyped number is no label.
  bool is_meant_as_number(const Word& word) const;

  // What stands where a value is missing or a formula failed: "NA", "null", "#DIV/0!".
  bool is_no_value(const Word& word) const;

  // Longer than any number or label; not even folded.
  static bool is_too_long(const Word& word) { return word.span.end - word.span.begin > kLongest; }

  // Without quotes, full-width forms folded; of a word spelt anew, that.
  FoldedWord folded(const Word& word) const;

  std::string_view written(const Word& word) const {
    return std::string_view(place_.source->text).substr(word.span.begin, word.span.end - word.span.begin);
  }

 private:
  static constexpr std::size_t kLongest = 4000;  // bytes

  std::optional<Number> legal(std::string_view text, NumberError& fault) const;
  bool is_legal(const Number& number) const;
  NumberError illegal(const Number& number) const;

  const MatrixPlace& place_;
  CellRules rules_;
  const WordTable& table_;
  char decimal_mark_ = '\0';
  bool points_are_of_thousands_ = false;
};

}  // namespace qkv

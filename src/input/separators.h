// What separates the numbers of pasted rows, and what of a line is none of them.
//
// The same signs mean different things: "1,5" is two numbers or one with a decimal comma, "1 234" two or one
// with its thousands apart, ";" ends a row or a number, and a line break ends a row or has only wrapped it.
// All lines together tell which.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "input/forms.h"
#include "input/lines.h"

namespace qkv {

// The lines of a pasted matrix.
struct PastedLines {
  std::string_view text;  // of the whole source
  Span body;

  // Those with something of the matrix on them, while `take` says true.
  template <class Do>
  void each(Do&& take) const {
    for (std::size_t at = body.begin; at < body.end;) {
      const Line line = line_at(text, at, body.end);
      at = line.next;
      if (!line.is_blank() && !is_about_matrix(line) && !take(line)) return;
    }
  }

 private:
  bool is_about_matrix(const Line& line) const;
};

struct Separators {
  char thousands_end_at = 0;               // what ends a number with spaces in it; 0: no number has any
  bool commas_are_inner = false;           // a comma between two digits is part of a number
  bool semicolons_separate_cells = false;  // else they end a row
  Said words;                              // "';'": what separates numbers where commas are inner; else empty
};

// With a note or an error of what may be read in two ways.
Separators separators_of(const Paste& paste, const PastedLines& lines);

// Of "sep=;", with which Excel's files may begin, the sign; 0 of any other line.
char separator_of_excel(std::string_view line);

// The number with spaces that fills the beginning of `rest` up to `end_sign`; empty where there is none.
Span spaced_number_at(std::string_view text, Span rest, char end_sign);

// "[1. 2. 3." and below it " 4. 5.]": one list as NumPy prints it, without commas; says so in a note.
bool is_wrapped_list(const Paste& paste, const PastedLines& lines);

}  // namespace qkv

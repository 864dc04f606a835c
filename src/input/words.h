// The words of a matrix, row by row: what every form of writing one is brought to, before anything is read as
// a label or as a number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/matrix.h"

namespace qkv {

// More is not traced cell by cell.
inline constexpr Index kMostCells = 1'000'000;

struct Word {
  Span span;  // with the quotes
  bool is_quoted = false;
  bool is_missing = false;  // here a number should stand, which was said
  int spelling = -1;        // of WordTable::spellings: what to read instead of what is written
};

enum class Label { none, marked, before_bracket };

// What an unmarked first word may be, if no number: outside brackets any label; inside them, and in LaTeX, a
// plain name, for "math.pi" there is a cell that cannot be read; in one list that is laid out, no label.
enum class FirstWord { label, name, cell };

struct RowText {
  Span span;              // from the first character to the last
  std::size_t first = 0;  // words[first, last)
  std::size_t last = 0;
  Label label = Label::none;  // if not none, the first word is the label
  FirstWord first_word = FirstWord::label;
  bool is_broken = false;                 // an error hides how many numbers it has
  std::optional<Span> comma_at_end = {};  // outside brackets: perhaps a number is missing behind it

  std::size_t words() const { return last - first; }
  std::size_t width() const { return words() - (label == Label::none ? 0 : 1); }
};

struct WordTable {
  std::vector<Word> words;
  std::vector<RowText> rows;
  std::vector<std::string> spellings;
  bool is_stack = false;             // several matrices in one; said
  bool is_transposed = false;        // its rows are the matrix's columns
  std::vector<Span> transpositions;  // the signs ^T and .T behind brackets
  Said comma_separates =
      {};  // what separates the cells where a comma may stand inside one: "a tab"; or empty

  // A word for a number written in another way: 1/2 for \frac{1}{2}.
  Word spelt(Span span, std::string spelling) {
    spellings.push_back(std::move(spelling));
    return {.span = span, .spelling = static_cast<int>(spellings.size()) - 1};
  }
};

}  // namespace qkv

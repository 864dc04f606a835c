// The forms in which a matrix is pasted, recognised by what the text holds, never by a file's name.
//
// Each brings the text to rows of words that keep their place in the source; labels, widths and numbers are
// read in one way for all of them (matrix_text.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input/faults.h"
#include "input/words.h"

namespace qkv {

// A matrix's text before its form is known.
struct Paste {
  const MatrixPlace& place;
  Faults& faults;

  std::string_view text() const { return place.source->text; }
  std::string_view written(Span span) const { return text().substr(span.begin, span.end - span.begin); }
};

// Adds the words of `body`, a part of the source, in whichever form it is, and notes the form unless it is
// plain rows or a plain list.
void read_words(const Paste& paste, Span body, WordTable& table);

// One form.  `read` is called only where `recognises` says so, and returns the form's name for the note:
// "a LaTeX matrix"; empty where there is nothing to say, or the form said it better.
struct Form {
  bool (*recognises)(const Paste& paste, Span body);
  Said (*read)(const Paste& paste, Span body, WordTable& table);
};

extern const Form kMarkdownForm;  // | A | 1 | 0 |, and vectors in cells
extern const Form kCsvForm;       // weights,t1,t2 above t1,0.4,0.6
extern const Form kNamedForm;     // Q = …, K = …; JSON objects; the section's name chooses
extern const Form kLatexForm;     // \begin{bmatrix} 1 & \frac{1}{2} \end{bmatrix}
extern const Form kCodeForm;  // tensor([[1, 0]], dtype=…), matrix(c(…), nrow = 2), float K[2][3] = {…}
extern const Form kGroupsForm;  // t1 [1, 0] [1.0, 0.0]: several matrices side by side
extern const Form kPrintForm;   // R, Julia, Octave, MATLAB and libtorch prints

// ---- what the forms share ----

// A matrix of several in one text: what it is called, and where.
struct NamedSpan {
  std::string name;  // as it is written; empty where it has none
  Span place;
  Span body;
};

// The matrices with a name in LaTeX: "Q = \begin{bmatrix} … , K = …".
std::vector<NamedSpan> named_latex(std::string_view text);

// Of matrices side by side, in brackets behind a label or in the cells of a Markdown table, each with its
// heading; empty for any other text.  All have one body, and MatrixPlace::wanted chooses: the name, or the
// number from 1 on of one without name.
std::vector<NamedSpan> side_by_side(std::string_view text);
std::vector<NamedSpan> vector_columns(std::string_view text);

// A section's name for what people write: "K" for "Key" and "键矩阵"; any other as it is.
std::string usual_name(std::string_view written);

// Adds rows word by word.
class RowBuilder {
 public:
  explicit RowBuilder(WordTable& table) : table_(table) {}
  void label(Word word);
  void cell(Word word);
  void end_row();  // a row without words is none

 private:
  void add(Word word);
  WordTable& table_;
  RowText row_;
  bool is_open_ = false;
};

// A word where a number is missing, and the error that says so.
Word missing_word(const Paste& paste, Span here);

// Is what somebody wrote before a matrix, or above a column, the name `wanted` of a section?
// "查询矩阵 Q", "Q = K", "Key" and "\mathbf{K}" are; several names may be joined by "=".
bool is_name_of(std::string_view written, std::string_view wanted);

// Does a call that makes a matrix, "np.array(" or "rbind(", begin at `at`?
bool begins_matrix_call(std::string_view text, std::size_t at, std::size_t end);

// The text that tells what is there to choose from: "Q, K, V".
std::string listed(const std::vector<std::string>& names);

// After the bracket at `at` is closed, quotes and nested brackets skipped; `end` when it never is.
std::size_t end_of_bracket(std::string_view text, std::size_t at, std::size_t end);

// The number in LaTeX by the number grammar: "\frac{1}{\sqrt{2}}" → "1/sqrt(2)"; nullopt when it is none.
std::optional<std::string> latex_number(std::string_view latex);

}  // namespace qkv

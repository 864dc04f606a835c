// One matrix in the forms that other programs read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/matrix.h"
#include "base/number.h"
#include "base/text.h"

namespace qkv {

struct NamedMatrix {
  std::string name;  // may be empty
  Index rows = 0;
  Index cols = 0;
  std::vector<Number> cells;            // row by row
  std::vector<std::string> row_labels;  // one a row, or empty
};

struct MatrixForm {
  const char* name;
  const char* extension;
  bool has_labels;   // writes the rows' labels
  bool has_symbols;  // can hold v0 and blanks
  bool has_ratios;   // 1/3 and sqrt(2) stay what they are; elsewhere the nearest double is written
  std::string (*write)(const NamedMatrix& matrix);
};
std::span<const MatrixForm> matrix_forms();

// One number as that language writes it: 1/np.sqrt(2), math.inf, -Inf.  For numbers, infinities and nan.
std::string numpy_number(const Number& number);
std::string torch_number(const Number& number);
std::string octave_number(const Number& number);

// What this form cannot hold as it is written.  `write` must not be called where something is refused (a
// symbol, a blank); of what is lost there is a sentence for the numbers and one for the names.
struct FormFit {
  Said refused;
  std::vector<Said> loses;
};
FormFit fit_of(const MatrixForm& form, const NamedMatrix& matrix);

}  // namespace qkv

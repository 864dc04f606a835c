// Every matrix of a file, with its name, whatever the form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "input/matrix_text.h"
#include "input/pieces.h"
#include "input/sections.h"

namespace qkv {

struct NamedText {
  std::string name;  // as a section could be called; of a stack its number; "" for a matrix alone
  Span place;        // the section's header, or where the matrix is named or begins
  MatrixText text;
};

struct MatrixFile {
  SourcePtr source;
  Together together = Together::one;
  std::vector<NamedText> matrices;  // in the order of the file
  std::vector<Setting> settings;    // of a problem file
};

// Sections, as problem files and sheets of answers have them, or what input/pieces.h finds in a paste.  Cells
// may hold what is legal in the section of that name, and blanks, infinities and nan besides; in a matrix
// without a name also symbols.  Faults are added to `diagnostics`.
MatrixFile read_matrix_file(const SourcePtr& source, Diagnostics& diagnostics);

// A paste that holds several matrices with names, or a table with one.
bool names_its_matrices(std::string_view text);

// "[Q]" stands in the text, or is meant: [1, 0] is a row.
bool has_sections(std::string_view text);

}  // namespace qkv

// A report in LaTeX: for pasting into a document, or a document of its own.
#pragma once

#include <string>

#include "report/report.h"

namespace qkv {

struct LatexStyle {
  enum class Tables {
    booktabs,  // with the names of rows and columns
    bmatrix,   // as a matrix in brackets, without them
  };
  Tables tables = Tables::booktabs;
  bool is_standalone = false;  // with a preamble; otherwise a comment names the packages it needs
};

// Needs amsmath, and booktabs for tables.  Standalone, what is not ASCII (labels, Chinese) takes ctex and
// XeLaTeX.
std::string render_latex(const Report& report, const LatexStyle& style);

}  // namespace qkv

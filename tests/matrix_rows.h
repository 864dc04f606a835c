// What the tests of matrices as text share: a text, and the rows that are read from it.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "input/matrix_text.h"
#include "reading.h"

namespace qkv::test {

struct Rows {
  std::optional<MatrixText> matrix;
  std::string told;

  // "1 0 ; 0 1", with "label: " before a row that has one.
  std::string text() const {
    if (!matrix) return "refused";
    std::string text;
    for (Index i = 0; i < matrix->rows; ++i) {
      if (i > 0) text += " ; ";
      if (!matrix->row_labels.empty()) text += matrix->row_labels[static_cast<std::size_t>(i)] + ": ";
      for (Index j = 0; j < matrix->cols; ++j) {
        text += (j > 0 ? " " : "") + matrix->cells[static_cast<std::size_t>(i * matrix->cols + j)].text;
      }
    }
    return text;
  }
};

inline Rows rows(const std::string& text, CellRules rules = {}, Within within = Within::section,
                 const std::string& wanted = "", Language language = Language::en) {
  const SourcePtr file = source("m.txt", text);
  REQUIRE(file != nullptr);
  Diagnostics diagnostics;
  Rows result;
  result.matrix = read_matrix({file, {0, file->text.size()}, {0, 0}, say({"[X]", "[X]"}), within, wanted},
                              rules, diagnostics);
  result.told = render_diagnostics(diagnostics, language, false);
  return result;
}

// The matrix, which must be read without a word.
inline std::string plain(const std::string& text, CellRules rules = {}) {
  const Rows r = rows(text, rules);
  CHECK(r.told == "");
  return r.text();
}

}  // namespace qkv::test

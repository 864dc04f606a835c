// What the tests of the reader share: problems and messages from a few lines of text.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "input/source.h"
#include "methods/methods.h"
#include "problem/read_problem.h"
#include "render/diagnostics.h"

namespace qkv::test {

struct Reading {
  std::optional<Problem> problem;
  Diagnostics diagnostics;

  // Everything that was said, as it is printed.
  std::string told(Language language = Language::en) const {
    return render_diagnostics(diagnostics, language, false);
  }
  // The messages alone, one a line: "error: …".
  std::string messages() const {
    std::string text;
    for (const Diagnostic& d : diagnostics.list()) {
      text += d.severity == Severity::error     ? "error: "
              : d.severity == Severity::warning ? "warning: "
                                                : "note: ";
      text += d.message.en + "\n";
    }
    return text;
  }
};

inline Reading read(ProblemInput input) {
  Reading reading;
  if (auto planned = read_and_plan(input, reading.diagnostics)) reading.problem = std::move(planned->problem);
  return reading;
}

inline SourcePtr source(std::string name, std::string text) {
  Diagnostics diagnostics;
  return source_from_text(std::move(name), std::move(text), diagnostics);
}

inline Reading read_text(std::string text) { return read({source("t.qkv", std::move(text)), {}, {}}); }

inline std::string told(std::string text, Language language = Language::en) {
  return read_text(std::move(text)).told(language);
}
inline std::string messages(std::string text) { return read_text(std::move(text)).messages(); }

// A problem without a word of complaint.
inline Problem problem(std::string text) {
  Reading reading = read_text(std::move(text));
  CHECK(reading.told() == "");
  REQUIRE(reading.problem.has_value());
  return std::move(*reading.problem);
}

// "1 0 ; 0 1", every cell as it was written.
inline std::string cells(const Given& given) {
  std::string text;
  for (Index i = 0; i < given.rows; ++i) {
    for (Index j = 0; j < given.cols; ++j) text += (j > 0 ? " " : i > 0 ? " ; " : "") + given.at(i, j).text;
  }
  return text;
}

// "110 ; 010": which keys may be seen; "all" when nothing is forbidden.
inline std::string pattern(const std::shared_ptr<const Mask>& mask) {
  if (!mask) return "all";
  std::string text;
  for (Index i = 0; i < mask->rows(); ++i) {
    if (i > 0) text += " ; ";
    for (Index j = 0; j < mask->cols(); ++j) text += (*mask)(i, j) ? '1' : '0';
  }
  return text;
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

inline std::string settings_of(const Problem& problem) {
  std::string text;
  for (const auto& [key, value] : problem.settings) text += (text.empty() ? "" : ", ") + key + " = " + value;
  return text;
}

}  // namespace qkv::test

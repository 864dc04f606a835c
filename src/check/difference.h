// Two traces, sheets or matrices side by side: which steps are the same, and the first number that differs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "report/report.h"

namespace qkv {

// A number as it stands somewhere, and what one unit of its last digit is; 0 for an exact number.
struct ShownNumber {
  std::string text;
  double value = 0;
  double unit = 0;
  bool is_blank = false;
};

struct ShownStep {
  std::string id;                       // "" for a matrix without a name
  std::vector<std::string> rows, cols;  // labels, or numbers
  std::vector<std::vector<ShownNumber>> cells;
  std::vector<ShownNumber> sums = {};  // of the rows, where they are printed beside them
};

// Reads a trace as JSON (schema qkv/trace-1), named lists of lists as JSON ({"weights": [[0.4, 0.6]]}), the
// text that `qkv trace` prints, a sheet of answers, or one matrix, as text or as a NumPy array; by content,
// not by name.  Nothing, with errors added, when it is none of them.
std::optional<std::vector<ShownStep>> read_steps(const SourcePtr& source, Diagnostics& diagnostics);

// Is this what `qkv trace` writes, as JSON or as text?  Told by content.
enum class TraceForm { none, json, text };
TraceForm trace_form(const Source& source);

// Two numbers are the same when they are nearer than half a unit of the coarser last digit, or than
// absolute + relative · |b|, where these are given.
struct Tolerance {
  std::optional<double> absolute;
  std::optional<double> relative;
};

struct StepDifference {
  std::string id;
  std::size_t differing = 0;
  std::size_t compared = 0;
  std::size_t row = 0, col = 0;  // of the first that differs
  std::string cell;              // "scaled[t1,t3]"
  ShownNumber a, b;
};

struct SideBySide {
  std::vector<std::string> same;
  std::vector<StepDifference> different;  // in the order of A
  std::vector<std::string> only_a, only_b;
  std::vector<std::string> other_shape;
  std::vector<std::string> blank;  // wherever one has a number, the other has none
  bool is_equal() const { return different.empty() && other_shape.empty() && !same.empty(); }
};

SideBySide compare_steps(std::vector<ShownStep> a, std::vector<ShownStep> b, const Tolerance& tolerance);

Report told(const SideBySide& comparison, const std::string& a, const std::string& b, Language language);
// Schema qkv/diff-1.
std::string as_json(const SideBySide& comparison);

}  // namespace qkv

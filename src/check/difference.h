// Two traces, sheets or matrices side by side: which steps are the same, and the first number that differs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/shown_steps.h"
#include "report/report.h"

namespace qkv {

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

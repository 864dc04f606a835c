#include "check/difference.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/decimal.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// Rounding in the last bit of the comparison itself is no difference.
constexpr double kSlack = 1 + 1e-9;

bool is_same(const ShownNumber& a, const ShownNumber& b, const Tolerance& tolerance) {
  if (std::isnan(a.value) || std::isnan(b.value)) return a.text == b.text;
  if (a.value == b.value) return true;
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) return false;
  const bool is_free = !tolerance.absolute && !tolerance.relative;
  // Of the same digits, at 17 decimals for instance, one value may be of JSON and the other of the digits.
  if (is_free && a.text == b.text) return true;
  double allowed = std::max(a.unit, b.unit) / 2;
  if (!is_free) {
    allowed = tolerance.absolute.value_or(0) + tolerance.relative.value_or(0) * std::abs(b.value);
  }
  return std::abs(a.value - b.value) <= allowed * kSlack;
}

bool have_same_shape(const ShownStep& a, const ShownStep& b) {
  return a.cells.size() == b.cells.size() && (a.cells.empty() || a.cells[0].size() == b.cells[0].size());
}

bool have_same_cells(const ShownStep& a, const ShownStep& b, const Tolerance& tolerance) {
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    for (std::size_t j = 0; j < a.cells[i].size(); ++j) {
      if (!is_same(a.cells[i][j], b.cells[i][j], tolerance)) return false;
    }
  }
  return true;
}

// A matrix without a name is held against the last step that it equals, else against the last one of its
// shape: the result of most traces.  It gets the name of that.
void name_after(ShownStep& matrix, const std::vector<ShownStep>& others, const Tolerance& tolerance) {
  if (!matrix.id.empty()) return;
  bool is_equal = false;
  for (const ShownStep& other : others) {
    if (!have_same_shape(matrix, other)) continue;
    const bool is_equal_here = have_same_cells(matrix, other, tolerance);
    if (is_equal_here || !is_equal) matrix.id = other.id;
    is_equal = is_equal || is_equal_here;
  }
}

std::string name_of(const ShownStep& step) { return step.id.empty() ? "matrix" : step.id; }

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

SideBySide compare_steps(std::vector<ShownStep> a, std::vector<ShownStep> b, const Tolerance& tolerance) {
  if (a.size() == 1) name_after(a.front(), b, tolerance);
  if (b.size() == 1) name_after(b.front(), a, tolerance);
  SideBySide result;
  std::vector<const ShownStep*> used;
  for (const ShownStep& step : a) {
    const auto other = std::find_if(b.begin(), b.end(), [&](const ShownStep& o) { return o.id == step.id; });
    if (other == b.end()) {
      result.only_a.push_back(name_of(step));
      continue;
    }
    used.push_back(&*other);
    const std::string id = name_of(step);
    if (!have_same_shape(step, *other)) {
      result.other_shape.push_back(id);
      continue;
    }
    StepDifference difference;
    difference.id = id;
    const auto compare = [&](const ShownNumber& x, const ShownNumber& y, std::size_t row, std::size_t col,
                             const std::string& label) {
      if (x.is_blank || y.is_blank) return;
      ++difference.compared;
      if (is_same(x, y, tolerance)) return;
      if (difference.differing++ > 0) return;
      difference.row = row;
      difference.col = col;
      difference.cell = id + "[" + step.rows[row] + "," + label + "]";
      difference.a = x;
      difference.b = y;
    };
    const bool have_sums = !step.sums.empty() && !other->sums.empty();
    for (std::size_t i = 0; i < step.cells.size(); ++i) {
      const std::size_t cols = step.cells[i].size();
      for (std::size_t j = 0; j < cols; ++j)
        compare(step.cells[i][j], other->cells[i][j], i, j, step.cols[j]);
      if (have_sums) compare(step.sums[i], other->sums[i], i, cols, "sum");
    }
    if (difference.compared == 0) {
      result.blank.push_back(id);
    } else if (difference.differing == 0) {
      result.same.push_back(id);
    } else {
      result.different.push_back(std::move(difference));
    }
  }
  for (const ShownStep& step : b) {
    if (std::find(used.begin(), used.end(), &step) == used.end()) result.only_b.push_back(name_of(step));
  }
  return result;
}

Report told(const SideBySide& comparison, const std::string& a, const std::string& b, Language language) {
  Report report;
  const auto paragraph = [&](const Said& said, Tone tone) {
    report.blocks.emplace_back(Paragraph{said.in(language), tone});
  };
  if (!comparison.same.empty())
    paragraph(say({"The same: {0}", "相同：{0}"}, joined(comparison.same)), Tone::good);
  bool is_first = true;
  for (const StepDifference& d : comparison.different) {
    if (!is_first) {
      paragraph(say({"{0} differs too, in {1} of {2}", "{0} 也不同：{2} 个数中有 {1} 个"}, d.id, d.differing,
                    counted(d.compared, "number")),
                Tone::note);
      continue;
    }
    is_first = false;
    paragraph(say({"First difference: {0}, in {1} of {2} of the step",
                   "最先不同的是 {0}（这一步 {2} 个数中有 {1} 个不同）"},
                  d.cell, d.differing, counted(d.compared, "number")),
              Tone::note);
    paragraph(say({"  {0} in {1}", "  {0}（{1}）"}, d.a.text, a), Tone::note);
    paragraph(say({"  {0} in {1}", "  {0}（{1}）"}, d.b.text, b), Tone::note);
    const double unit = std::max(d.a.unit, d.b.unit);
    const double by = d.b.value - d.a.value;
    if (std::isfinite(by)) {
      const int decimals =
          std::clamp(static_cast<int>(std::lround(-std::log10(unit > 0 ? unit : 1e-4))) + 2, 2, 17);
      const std::string difference = fixed_text(by, decimals);
      paragraph(unit > 0 ? say({"  second − first = {0}, {1} units of the last digit",
                                "  后者 − 前者 = {0}，合末位 {1} 个单位"},
                               difference, fixed_text(by / unit, 1))
                         : say({"  second − first = {0}", "  后者 − 前者 = {0}"}, difference),
                Tone::note);
    }
  }
  if (!comparison.other_shape.empty())
    paragraph(say({"Of another shape: {0}", "形状不同：{0}"}, joined(comparison.other_shape)), Tone::note);
  if (!comparison.blank.empty())
    paragraph(say({"Blank in one of the two: {0}", "其中一份没有填：{0}"}, joined(comparison.blank)),
              Tone::faint);
  if (!comparison.only_a.empty())
    paragraph(say({"Only in {0}: {1}", "只在 {0} 中：{1}"}, a, joined(comparison.only_a)), Tone::faint);
  if (!comparison.only_b.empty())
    paragraph(say({"Only in {0}: {1}", "只在 {0} 中：{1}"}, b, joined(comparison.only_b)), Tone::faint);
  return report;
}

std::string as_json(const SideBySide& comparison) {
  Json json;
  json["schema"] = "qkv/diff-1";
  json["equal"] = comparison.is_equal();
  json["same"] = comparison.same;
  json["first"] = nullptr;
  if (!comparison.different.empty()) {
    const StepDifference& d = comparison.different.front();
    json["first"] = {{"id", d.id}, {"cell", {d.row + 1, d.col + 1}}, {"a", d.a.text}, {"b", d.b.text}};
  }
  json["different"] = Json::array();
  for (const StepDifference& d : comparison.different) json["different"].push_back(d.id);
  json["other_shape"] = comparison.other_shape;
  json["blank"] = comparison.blank;
  json["only_a"] = comparison.only_a;
  json["only_b"] = comparison.only_b;
  return json.dump() + "\n";
}

}  // namespace qkv

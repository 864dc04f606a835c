#include "problem/answers.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/display_width.h"
#include "input/matrix_text.h"
#include "input/sections.h"
#include "problem/matrices.h"
#include "problem/section_kinds.h"

namespace qkv {
namespace {

// What a worksheet itself writes on top.
constexpr std::array<std::string_view, 3> kHarmlessKeys{"title", "source", "decimals"};

constexpr CellRules kCells{.infinity = true, .blanks = true, .nan = true};

Answer answer_of(std::string step, MatrixText text, const SourcePtr& source, Span header) {
  Answer answer{std::move(step), {}, std::move(text.cell_spans)};
  answer.written.rows = text.rows;
  answer.written.cols = text.cols;
  answer.written.cells = std::move(text.cells);
  answer.written.row_labels = std::move(text.row_labels);
  answer.written.source = source;
  answer.written.span = header;
  return answer;
}

}  // namespace

AnswerFile read_answers(const SourcePtr& source, Diagnostics& diagnostics) {
  AnswerFile file{source, {}};
  if (!has_sections(source->text)) {
    if (names_its_matrices(source->text)) {
      MatrixFile pasted = read_matrix_file(source, diagnostics);
      for (NamedText& matrix : pasted.matrices)
        file.answers.push_back(answer_of(matrix.name, std::move(matrix.text), source, matrix.place));
      return file;
    }
    const Span whole{0, source->text.size()};
    const MatrixPlace place{source, whole, {0, 0}, say({"the matrix", "这个矩阵"}), Within::matrix_file};
    if (auto text = read_matrix(place, kCells, diagnostics))
      file.answers.push_back(answer_of("", std::move(*text), source, {0, 0}));
    return file;
  }
  const Outline outline = read_outline(source, diagnostics, kMostAnswers);
  bool says_how = false;
  for (const Setting& setting : outline.settings) {
    if (std::find(kHarmlessKeys.begin(), kHarmlessKeys.end(), setting.key) != kHarmlessKeys.end()) continue;
    says_how = says_how || setting.key != "tokens";
    diagnostics.warning(
        source, setting.key_span,
        say({"'{0}' has no effect on a sheet of answers", "“{0}”在答卷里不起作用"}, setting.key),
        say({"the problem file says how to calculate", "怎么算由题目文件决定"}));
  }
  const auto is_of_problem = [](const Section& section) {
    return section.name.starts_with("expect.") || find_section_kind(section.name) != nullptr;
  };
  const auto begins_problem = [](const Section& section) {
    return section.name == "Q" || section.name == "X" || section.name == "V";
  };
  const auto& sections = outline.sections;
  file.is_problem = says_how && std::all_of(sections.begin(), sections.end(), is_of_problem) &&
                    std::any_of(sections.begin(), sections.end(), begins_problem);
  std::set<std::string_view> steps;
  for (const Section& section : outline.sections) {
    if (section.name.empty()) continue;
    if (!steps.insert(section.name).second) {
      diagnostics.error(source, section.header,
                        say({"[{0}] stands twice", "[{0}] 出现了两次"}, quotable(section.name)));
      continue;
    }
    const MatrixPlace place{source,          section.body,
                            section.header,  say({"[{0}]", "[{0}]"}, quotable(section.name)),
                            Within::section, section.name};
    auto text = read_matrix(place, kCells, diagnostics);
    if (!text) continue;
    file.answers.push_back(answer_of(section.name, std::move(*text), source, section.header));
  }
  return file;
}

}  // namespace qkv

#include "problem/answers.h"

#include <algorithm>
#include <array>

#include "base/display_width.h"
#include "input/matrix_text.h"
#include "input/sections.h"

namespace qkv {
namespace {

// What a worksheet itself writes on top.
constexpr std::array<std::string_view, 3> kHarmlessKeys{"title", "source", "decimals"};

}  // namespace

AnswerFile read_answers(const SourcePtr& source, Diagnostics& diagnostics) {
  AnswerFile file{source, {}};
  const Outline outline = read_outline(source, diagnostics);
  for (const Setting& setting : outline.settings) {
    if (std::find(kHarmlessKeys.begin(), kHarmlessKeys.end(), setting.key) != kHarmlessKeys.end()) continue;
    diagnostics.warning(
        source, setting.key_span,
        say({"'{0}' has no effect on a sheet of answers", "“{0}”在答卷里不起作用"}, setting.key),
        say({"the problem file says how to calculate", "怎么算由题目文件决定"}));
  }
  for (const Section& section : outline.sections) {
    if (section.name.empty()) continue;
    const auto same = std::find_if(file.answers.begin(), file.answers.end(),
                                   [&](const Answer& a) { return a.step == section.name; });
    if (same != file.answers.end()) {
      diagnostics.error(source, section.header,
                        say({"[{0}] stands twice", "[{0}] 出现了两次"}, quotable(section.name)));
      continue;
    }
    const MatrixPlace place{source, section.body, section.header,
                            say({"[{0}]", "[{0}]"}, quotable(section.name)), Within::section};
    auto text = read_matrix(place, {.infinity = true, .blanks = true}, diagnostics);
    if (!text) continue;
    Answer answer{section.name, {}, std::move(text->cell_spans)};
    answer.written.rows = text->rows;
    answer.written.cols = text->cols;
    answer.written.cells = std::move(text->cells);
    answer.written.row_labels = std::move(text->row_labels);
    answer.written.source = source;
    answer.written.span = section.header;
    file.answers.push_back(std::move(answer));
  }
  return file;
}

}  // namespace qkv

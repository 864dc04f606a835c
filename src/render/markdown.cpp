#include "render/markdown.h"

#include <algorithm>

#include "base/escape.h"
#include "render/tex.h"
#include "render/text.h"

namespace qkv {
namespace {

class MarkdownRenderer {
 public:
  std::string render(const Report& report) {
    for (const Block& block : report.blocks) {
      if (!out_.empty()) out_ += "\n";
      std::visit([this](const auto& b) { show(b); }, block);
    }
    return std::move(out_);
  }

 private:
  void show(const Heading& heading) {
    const bool is_title = out_.empty() && heading.id.empty();
    const std::string number = heading.number > 0 ? std::to_string(heading.number) + ". " : "";
    out_ += (is_title ? "# " : "## ") + number + escape_markdown(heading.title) + "\n";
  }

  void show(const Paragraph& paragraph) {
    const std::string text = escape_markdown(paragraph.text);
    switch (paragraph.tone) {
      case Tone::warning:
        out_ += "> **warning:** " + text + "\n";
        break;
      case Tone::note:
        out_ += "> " + text + "\n";
        break;
      case Tone::plain:
      case Tone::faint:
      case Tone::good:
        out_ += text + "\n";
        break;
    }
  }

  void show(const Formula& formula) {
    if (formula.right.parts.empty()) {
      out_ += escape_markdown(formula.shapes) + "\n";
      return;
    }
    fenced("math", tex_name(formula.name) + " = " + tex_math(formula.right) + "\n");
    out_ += "\n" + escape_markdown(formula.shapes) + "\n";
  }

  // A table needs a heading line; numbers stand to the right.
  void show(const Table& table) {
    if (table.rows.empty()) return;
    const std::size_t columns = table.rows.front().size();
    const bool has_labels = !table.row_labels.empty();
    std::vector<std::string> line;
    if (has_labels) line.emplace_back();
    for (std::size_t j = 0; j < columns; ++j)
      line.push_back(table.columns.empty() ? "" : escape_markdown(table.columns[j]));
    row(line);
    out_ += has_labels ? "| :-- |" : "|";
    for (std::size_t j = 0; j < columns; ++j) out_ += " --: |";
    out_ += "\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      line.clear();
      if (has_labels) line.push_back(escape_markdown(table.row_labels[i]));
      for (const TableCell& cell : table.rows[i])
        line.push_back(cell.role == CellRole::symbolic ? escape_markdown(cell.text) : cell.text);
      row(line);
    }
  }

  void row(const std::vector<std::string>& cells) {
    out_ += "|";
    for (const std::string& cell : cells) out_ += cell.empty() ? "  |" : " " + cell + " |";
    out_ += "\n";
  }

  void show(const Working& working) { as_code(working); }
  void show(const Tree& tree) { as_code(tree); }

  // As a terminal shows it.
  void as_code(Block block) {
    Report alone;
    alone.blocks.push_back(std::move(block));
    fenced("", render_text(alone, {}));
  }

  // The fence is longer than any row of backticks inside.
  void fenced(const std::string& language, const std::string& text) {
    std::size_t longest = 0;
    std::size_t length = 0;
    for (const char c : text) {
      length = c == '`' ? length + 1 : 0;
      longest = std::max(longest, length);
    }
    const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
    out_ += fence + language + "\n" + text + fence + "\n";
  }

  std::string out_;
};

}  // namespace

std::string render_markdown(const Report& report) { return MarkdownRenderer().render(report); }

}  // namespace qkv

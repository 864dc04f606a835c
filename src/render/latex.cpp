#include "render/latex.h"

#include <algorithm>

#include "base/escape.h"
#include "render/tex.h"
#include "render/text.h"

namespace qkv {
namespace {

class LatexRenderer {
 public:
  explicit LatexRenderer(const LatexStyle& style) : style_(style) {}

  std::string render(const Report& report) {
    for (const Block& block : report.blocks) std::visit([this](const auto& b) { show(b); }, block);
    return style_.is_standalone ? document() : "% needs: \\usepackage{amsmath,booktabs}\n" + body_;
  }

 private:
  std::string document() const {
    const bool is_ascii =
        std::all_of(body_.begin(), body_.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    const std::string head =
        is_ascii ? "\\documentclass{article}\n" : "% compile with xelatex\n\\documentclass{ctexart}\n";
    return head + "\\usepackage{amsmath,booktabs}\n\\setlength{\\parindent}{0pt}\n\\begin{document}\n" +
           body_ + "\\end{document}\n";
  }

  void show(const Heading& heading) {
    const bool is_title = body_.empty() && heading.id.empty();
    const std::string number = heading.number > 0 ? std::to_string(heading.number) + ". " : "";
    body_ += std::string(is_title ? "\\section*{" : "\n\\subsection*{") + number +
             escape_latex(heading.title) + "}\n";
  }

  void show(const Paragraph& paragraph) {
    body_ += "\n";
    if (paragraph.tone == Tone::warning) body_ += "\\textbf{warning:} ";
    body_ += escape_latex(paragraph.text) + "\n";
  }

  void show(const Formula& formula) {
    body_ += "\n" + escape_latex(formula.shapes) + "\n";
    if (!formula.right.parts.empty())
      body_ += "\\[ " + tex_name(formula.name) + " = " + tex_math(formula.right) + " \\]\n";
  }

  void show(const Table& table) {
    if (table.rows.empty()) return;
    if (style_.tables == LatexStyle::Tables::bmatrix) {
      matrix(table);
    } else {
      booktabs(table);
    }
  }

  static std::string cell_in_math(const TableCell& cell) {
    return cell.text.empty() ? "" : tex_number(cell.text);
  }

  // bmatrix itself stops at ten columns.  Sums of rows are not part of the matrix.
  void matrix(const Table& table) {
    const auto is_sum = [](const TableCell& cell) { return cell.role == CellRole::sum; };
    const auto& first = table.rows.front();
    const auto columns =
        static_cast<std::size_t>(std::find_if(first.begin(), first.end(), is_sum) - first.begin());
    body_ += "\\[ ";
    if (!table.id.empty()) body_ += tex_name(table.id) + " = ";
    if (columns > 10) body_ += "\\setcounter{MaxMatrixCols}{" + std::to_string(columns) + "}";
    body_ += "\\begin{bmatrix}\n";
    for (const auto& row : table.rows) {
      for (std::size_t j = 0; j < columns; ++j) body_ += (j == 0 ? "" : " & ") + cell_in_math(row[j]);
      body_ += " \\\\\n";
    }
    body_ += "\\end{bmatrix} \\]\n";
  }

  void booktabs(const Table& table) {
    const std::size_t columns = table.rows.front().size();
    const bool has_labels = !table.row_labels.empty();
    body_ += "\n\\smallskip\n\\begin{tabular}{" + std::string(has_labels ? "l" : "") +
             std::string(columns, 'r') + "}\n\\toprule\n";
    if (!table.columns.empty()) {
      std::string line = has_labels ? " & " : "";
      for (std::size_t j = 0; j < columns; ++j)
        line += (j == 0 ? "" : " & ") + escape_latex(table.columns[j]);
      body_ += line + " \\\\\n\\midrule\n";
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (has_labels) body_ += escape_latex(table.row_labels[i]) + " & ";
      for (std::size_t j = 0; j < columns; ++j) {
        const std::string cell = cell_in_math(table.rows[i][j]);
        body_ += (j == 0 ? "" : " & ") + (cell.empty() ? "" : "$" + cell + "$");
      }
      body_ += " \\\\\n";
    }
    body_ += "\\bottomrule\n\\end{tabular}\n\n\\medskip\n";
  }

  void show(const Working& working) { as_typed(working); }
  void show(const Tree& tree) { as_typed(tree); }

  // As a terminal shows it, line by line.
  void as_typed(Block block) {
    Report alone;
    alone.blocks.push_back(std::move(block));
    const std::string text = render_text(alone, {.ascii = true});
    body_ += "\n{\\ttfamily\\footnotesize\n";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::string line = escape_latex(std::string_view(text).substr(at, end - at));
      // TeX makes one space of several, and none of those that begin a line.
      for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == ' ' && (i == 0 || line[i - 1] == '~' || line[i + 1] == ' ')) line[i] = '~';
      }
      body_ += line + "\\par\n";
      at = end + 1;
    }
    body_ += "}\n";
  }

  LatexStyle style_;
  std::string body_;
};

}  // namespace

std::string render_latex(const Report& report, const LatexStyle& style) {
  return LatexRenderer(style).render(report);
}

}  // namespace qkv

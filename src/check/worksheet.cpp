#include "check/worksheet.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/counted.h"
#include "base/display_width.h"
#include "base/escape.h"
#include "base/row_label.h"
#include "report/cell_text.h"
#include "report/formula.h"

namespace qkv {
namespace {

std::vector<NodeId> matrices_given(const Plan& plan) {
  std::vector<NodeId> found;
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    if (!plan[id].given.empty() && plan[id].op->name != std::string_view("mask")) found.push_back(id);
  }
  return found;
}

std::string cell_as_given(const Node& node, Index row, Index col) {
  if (node.is_symbolic()) {
    // The given symbolic cell is one of its names.
    const Index width = static_cast<Index>(node.basis.size());
    for (Index b = 0; b < width; ++b) {
      const Number& number = node.given[static_cast<std::size_t>(row * node.shape.cols + col * width + b)];
      if (number.value == 0) continue;
      const std::string& name = node.basis[static_cast<std::size_t>(b)];
      return name.empty() ? number.text : name;
    }
    return "0";
  }
  return node.given[static_cast<std::size_t>(row * node.shape.cols + col)].text;
}

std::string label(const std::vector<std::string>& labels, Index i) {
  return labels.empty() ? std::to_string(i + 1) : visible(labels[static_cast<std::size_t>(i)]);
}

std::string settings_line(const About& about) {
  std::string line;
  for (const auto& [key, value] : about.settings) line += (line.empty() ? "" : "; ") + key + " = " + value;
  return line;
}

std::string padded(const std::string& text, int width) {
  return text + std::string(static_cast<std::size_t>(std::max(0, width - column_width(text))), ' ');
}

std::string in(const Said& said, const Telling& telling) { return said.in(telling.language); }

std::string solved_cell(const Trace& trace, const CellAt& at, const Telling& telling) {
  return shown_cell(trace, at, telling.decimals).text;
}

Said instruction(const About& about, const Telling& telling, Cells cells) {
  const std::string file = about.file.empty() ? "PROBLEM" : visible(about.file);
  if (cells == Cells::solved)
    return say({"The key ({0}), marked all right by:  qkv check {1} THIS-FILE",
                "答案（保留 {0} 位小数），用它批改应当全对：qkv check {1} 本文件"},
               counted(telling.decimals, "decimal"), file);
  return say({"Put a number in place of every _ ({0}), then:  qkv check {1} THIS-FILE",
              "请把每个 _ 换成数字（保留 {0} 位小数），然后运行：qkv check {1} 本文件"},
             counted(telling.decimals, "decimal"), file);
}

}  // namespace

std::vector<NodeId> steps_asked(const Plan& plan, const Telling& telling) {
  std::vector<NodeId> asked;
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    if (node.role != Role::step || !node.given.empty() || node.is_symbolic()) continue;
    if (node.op->name == std::string_view("same")) continue;
    const bool is_named =
        std::any_of(telling.steps.begin(), telling.steps.end(),
                    [&](const std::string& asked) { return asked == node.id || asked == node.name(); });
    const bool is_shown = node.level == Level::main || telling.detail == Detail::full;
    if (telling.steps.empty() ? is_shown : is_named) asked.push_back(id);
  }
  return asked;
}

std::string worksheet_text(const Trace& trace, const About& about, const Telling& telling, Cells cells) {
  const Plan& plan = trace.plan();
  std::string out;
  const auto comment = [&](const std::string& line) { out += line.empty() ? "#\n" : "# " + line + "\n"; };
  if (!about.title.empty()) comment(visible(about.title));
  comment(in(instruction(about, telling, cells), telling));
  if (const std::string settings = settings_line(about); !settings.empty()) comment(settings);
  for (const NodeId id : matrices_given(plan)) {
    const Node& node = plan[id];
    comment("");
    comment(node.id + " " + shape_text(node));
    for (Index i = 0; i < node.shape.rows; ++i) {
      std::string row = "  " + padded(node.rows.empty() ? "" : label(node.rows, i), 8);
      for (Index j = 0; j < node.shown_cols(); ++j) row += "  " + cell_as_given(node, i, j);
      comment(row);
    }
  }
  for (const NodeId id : steps_asked(plan, telling)) {
    const Node& node = plan[id];
    const bool is_brief = telling.detail != Detail::full;
    out += "\n[" + node.id + "]\n";
    comment(node.id + " = " + plain_formula(plan, id, is_brief));
    if (!node.cols.empty()) {
      std::string names;
      for (Index j = 0; j < node.shape.cols; ++j) names += (j == 0 ? "" : " ") + label(node.cols, j);
      comment(in(say({"columns: {0}", "列：{0}"}, names), telling));
    }
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (!node.rows.empty()) out += row_label_text(node.rows[static_cast<std::size_t>(i)]);
      for (Index j = 0; j < node.shape.cols; ++j) {
        out += j == 0 ? "" : " ";
        out += cells == Cells::solved ? solved_cell(trace, {id, i, j}, telling) : "_";
      }
      out += "\n";
    }
  }
  return out;
}

namespace {

// What the two printed forms differ in.
struct Markup {
  std::string (*escape)(std::string_view);
  std::string (*heading)(const std::string&);
  std::string (*table)(const std::vector<std::vector<std::string>>&, bool has_heads);
};

std::string printed_sheet(const Trace& trace, const About& about, const Telling& telling, Cells cells,
                          const Markup& markup) {
  const Plan& plan = trace.plan();
  std::string out = markup.heading(markup.escape(about.title.empty() ? "qkv" : visible(about.title)));
  const std::string settings = settings_line(about);
  const Said under_title = cells == Cells::solved ? say({"{0}; {1}; the key", "{0}；保留 {1} 位小数；答案"},
                                                        settings, counted(telling.decimals, "decimal"))
                                                  : say({"{0}; {1}", "{0}；保留 {1} 位小数"}, settings,
                                                        counted(telling.decimals, "decimal"));
  out += markup.escape(in(under_title, telling)) + "\n";
  const auto add_table = [&](NodeId id, const std::function<std::string(Index, Index)>& cell) {
    const Node& node = plan[id];
    std::vector<std::vector<std::string>> rows;
    const bool has_labels = !node.rows.empty() || node.shape.rows > 1;
    std::vector<std::string> heads;
    if (has_labels) heads.emplace_back();
    for (Index j = 0; j < node.shown_cols(); ++j) heads.push_back(markup.escape(label(node.cols, j)));
    rows.push_back(std::move(heads));
    for (Index i = 0; i < node.shape.rows; ++i) {
      std::vector<std::string> row;
      if (has_labels) row.push_back(markup.escape(label(node.rows, i)));
      for (Index j = 0; j < node.shown_cols(); ++j) row.push_back(markup.escape(cell(i, j)));
      rows.push_back(std::move(row));
    }
    out += "\n" + markup.table(rows, has_labels);
  };
  for (const NodeId id : matrices_given(plan)) {
    out += "\n" + markup.escape(plan[id].id + " " + shape_text(plan[id])) + "\n";
    add_table(id, [&](Index i, Index j) { return cell_as_given(plan[id], i, j); });
  }
  for (const NodeId id : steps_asked(plan, telling)) {
    const bool is_brief = telling.detail != Detail::full;
    out += "\n" + markup.heading(markup.escape(plan[id].id + " = " + plain_formula(plan, id, is_brief)));
    add_table(id, [&](Index i, Index j) {
      return cells == Cells::solved ? solved_cell(trace, {id, i, j}, telling) : "";
    });
  }
  return out;
}

std::string markdown_table(const std::vector<std::vector<std::string>>& rows, bool) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += "|";
    for (const std::string& cell : rows[i]) out += " " + (cell.empty() ? std::string("   ") : cell) + " |";
    out += "\n";
    if (i > 0) continue;
    out += "|";
    for (std::size_t j = 0; j < rows[i].size(); ++j) out += " --- |";
    out += "\n";
  }
  return out;
}

std::string latex_table(const std::vector<std::vector<std::string>>& rows, bool has_labels) {
  std::string columns = has_labels ? "l|" : "";
  columns += std::string(rows.front().size() - (has_labels ? 1 : 0), 'c');
  std::string out = "\\begin{tabular}{" + columns + "}\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      const bool is_blank = rows[i][j].empty() && i > 0;
      out += (j == 0 ? "" : " & ") + (is_blank ? std::string("\\rule{3em}{0.3pt}") : rows[i][j]);
    }
    out += i == 0 ? " \\\\ \\hline\n" : " \\\\\n";
  }
  return out + "\\end{tabular}\n";
}

}  // namespace

std::string worksheet_markdown(const Trace& trace, const About& about, const Telling& telling, Cells cells) {
  return printed_sheet(
      trace, about, telling, cells,
      {escape_markdown, [](const std::string& s) { return "## " + s + "\n"; }, markdown_table});
}

std::string worksheet_latex(const Trace& trace, const About& about, const Telling& telling, Cells cells) {
  const std::string body = printed_sheet(
      trace, about, telling, cells,
      {escape_latex, [](const std::string& s) { return "\\section*{" + s + "}\n"; }, latex_table});
  // What is not ASCII by now is what the user wrote, and may be Chinese.
  const bool is_ascii =
      std::all_of(body.begin(), body.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return "\\documentclass{" + std::string(is_ascii ? "article" : "ctexart") + "}\n\\begin{document}\n" +
         body + "\\end{document}\n";
}

}  // namespace qkv

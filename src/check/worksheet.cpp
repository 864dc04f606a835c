#include "check/worksheet.h"

#include <algorithm>
#include <string_view>

#include "base/counted.h"
#include "base/display_width.h"
#include "base/escape.h"
#include "base/row_label.h"
#include "report/cell_text.h"
#include "report/formula.h"

namespace qkv {
namespace {

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

// A matrix as it stands on a sheet.
struct SheetTable {
  std::string name;  // with its shape
  std::vector<std::string> rows, cols;
  std::vector<std::vector<std::string>> cells;
};

SheetTable table_of(const Node& node) {
  SheetTable table{node.id + " " + shape_text(node), node.rows, node.cols, {}};
  for (Index i = 0; i < node.shape.rows; ++i) {
    std::vector<std::string> row;
    for (Index j = 0; j < node.shown_cols(); ++j) row.push_back(cell_as_given(node, i, j));
    table.cells.push_back(std::move(row));
  }
  return table;
}

// [mask], [h1.mask] …, which the plan knows only joined with the setting `mask`, as the M of a head.
void add_masks(const Problem& problem, const std::string& prefix, std::vector<SheetTable>& tables) {
  for (const auto& [name, given] : problem.given) {
    if (name != "mask" && !name.ends_with(".mask")) continue;
    SheetTable table{
        prefix + name + " (" + std::to_string(given.rows) + "×" + std::to_string(given.cols) + ")",
        problem.tokens,
        problem.kv_tokens,
        {}};
    for (Index i = 0; i < given.rows; ++i) {
      std::vector<std::string> row;
      for (Index j = 0; j < given.cols; ++j) row.push_back(given.at(i, j).text);
      table.cells.push_back(std::move(row));
    }
    tables.push_back(std::move(table));
  }
}

std::vector<SheetTable> tables_given(const Plan& plan, const Problem& problem) {
  std::vector<SheetTable> tables;
  for (const Node& node : plan.nodes) {
    if (!node.given.empty() && node.op->name != std::string_view("mask")) tables.push_back(table_of(node));
  }
  if (problem.stack.empty()) add_masks(problem, "", tables);
  for (std::size_t layer = 0; layer < problem.stack.size(); ++layer)
    add_masks(problem.stack[layer], "L" + std::to_string(layer + 1) + ".", tables);
  return tables;
}

// Whether the softmax of a step is told in one line, from the scores.
bool is_brief(const Telling& telling) { return telling.detail != Detail::full; }

std::string formula_line(const Plan& plan, NodeId id, const Telling& telling) {
  return plan[id].id + " = " + plain_formula(plan, id, is_brief(telling));
}

// What must be known beside the formulas of the steps asked for: those of steps on the way that are never
// asked for, such as the angles of rotary positions, and what a rotation does.
class Explained {
 public:
  Explained(const Plan& plan, const Telling& telling, const std::vector<NodeId>& asked)
      : plan_(plan), telling_(telling), is_told_(plan.nodes.size()) {
    for (const NodeId id : asked) is_told_[id] = true;
  }

  // Lines to stand under the formula of a step; nothing is told twice.
  std::vector<std::string> below(NodeId id) {
    lines_.clear();
    if (plan_[id].op->name == std::string_view("rotate_half") ||
        plan_[id].op->name == std::string_view("rotate_interleaved")) {
      add(plan_[id].op->why.in(telling_.language));
      add(Text{"Of each pair, a and b become a·cos − b·sin and a·sin + b·cos.",
               "每一对 a、b 变成 a·cos − b·sin 和 a·sin + b·cos。"}
              .in(telling_.language));
    }
    add_inputs_of(id);
    return lines_;
  }

 private:
  void add(const std::string& line) {
    if (std::find(told_.begin(), told_.end(), line) != told_.end()) return;
    told_.push_back(line);
    lines_.push_back(line);
  }

  void add_inputs_of(NodeId id) {
    const Node& node = plan_[id];
    const bool has_brief = node.brief.has_value() && is_brief(telling_);
    for (const NodeId input : has_brief ? node.brief->inputs : node.inputs) {
      const Node& behind = plan_[input];
      const bool may_be_asked = behind.role == Role::step && behind.level == Level::main;
      if (is_told_[input] || may_be_asked || !behind.given.empty() ||
          behind.op->name == std::string_view("same"))
        continue;
      is_told_[input] = true;
      add_inputs_of(input);
      add(formula_line(plan_, input, telling_));
      if (const std::string& why = behind.op->why.in(telling_.language); !why.empty()) add(why);
    }
  }

  const Plan& plan_;
  const Telling& telling_;
  std::vector<bool> is_told_;
  std::vector<std::string> told_, lines_;
};

std::string label(const std::vector<std::string>& labels, Index i) {
  return labels.empty() ? std::to_string(i + 1) : visible(labels[static_cast<std::size_t>(i)]);
}

std::string settings_line(const About& about) {
  std::string line;
  for (const auto& [key, value] : about.settings) line += (line.empty() ? "" : "; ") + key + " = " + value;
  return line;
}

std::string mask_line(const About& about, const Telling& telling) {
  if (about.mask_meaning.empty()) return "";
  return say({"Mask: {0}", "掩码：{0}"}, about.mask_meaning).in(telling.language);
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

std::string worksheet_text(const Trace& trace, const Problem& problem, const About& about,
                           const Telling& telling, Cells cells) {
  const Plan& plan = trace.plan();
  std::string out;
  const auto comment = [&](const std::string& line) { out += line.empty() ? "#\n" : "# " + line + "\n"; };
  if (!about.title.empty()) comment(visible(about.title));
  comment(in(instruction(about, telling, cells), telling));
  if (const std::string settings = settings_line(about); !settings.empty()) comment(settings);
  if (const std::string mask = mask_line(about, telling); !mask.empty()) comment(mask);
  for (const SheetTable& table : tables_given(plan, problem)) {
    comment("");
    comment(table.name);
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
      std::string row = "  " + padded(table.rows.empty() ? "" : label(table.rows, static_cast<Index>(i)), 8);
      for (const std::string& cell : table.cells[i]) row += "  " + cell;
      comment(row);
    }
  }
  const std::vector<NodeId> asked = steps_asked(plan, telling);
  Explained explained(plan, telling, asked);
  for (const NodeId id : asked) {
    const Node& node = plan[id];
    out += "\n[" + node.id + "]\n";
    comment(formula_line(plan, id, telling));
    for (const std::string& line : explained.below(id)) comment(line);
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

std::string printed_sheet(const Trace& trace, const Problem& problem, const About& about,
                          const Telling& telling, Cells cells, const Markup& markup) {
  const Plan& plan = trace.plan();
  std::string out = markup.heading(markup.escape(about.title.empty() ? "qkv" : visible(about.title)));
  const std::string settings = settings_line(about);
  const Said under_title = cells == Cells::solved ? say({"{0}; {1}; the key", "{0}；保留 {1} 位小数；答案"},
                                                        settings, counted(telling.decimals, "decimal"))
                                                  : say({"{0}; {1}", "{0}；保留 {1} 位小数"}, settings,
                                                        counted(telling.decimals, "decimal"));
  out += markup.escape(in(under_title, telling)) + "\n";
  if (const std::string mask = mask_line(about, telling); !mask.empty())
    out += "\n" + markup.escape(mask) + "\n";
  const auto add_table = [&](const SheetTable& table) {
    std::vector<std::vector<std::string>> rows;
    const bool has_labels = !table.rows.empty() || table.cells.size() > 1;
    std::vector<std::string> heads;
    if (has_labels) heads.emplace_back();
    for (std::size_t j = 0; j < table.cells.front().size(); ++j)
      heads.push_back(markup.escape(label(table.cols, static_cast<Index>(j))));
    rows.push_back(std::move(heads));
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
      std::vector<std::string> row;
      if (has_labels) row.push_back(markup.escape(label(table.rows, static_cast<Index>(i))));
      for (const std::string& cell : table.cells[i]) row.push_back(markup.escape(cell));
      rows.push_back(std::move(row));
    }
    out += "\n" + markup.table(rows, has_labels);
  };
  for (const SheetTable& table : tables_given(plan, problem)) {
    out += "\n" + markup.escape(table.name) + "\n";
    add_table(table);
  }
  const std::vector<NodeId> asked = steps_asked(plan, telling);
  Explained explained(plan, telling, asked);
  for (const NodeId id : asked) {
    const Node& node = plan[id];
    out += "\n" + markup.heading(markup.escape(formula_line(plan, id, telling)));
    for (const std::string& line : explained.below(id)) out += "\n" + markup.escape(line) + "\n";
    SheetTable table{node.id, node.rows, node.cols, {}};
    for (Index i = 0; i < node.shape.rows; ++i) {
      std::vector<std::string> row;
      for (Index j = 0; j < node.shown_cols(); ++j)
        row.push_back(cells == Cells::solved ? solved_cell(trace, {id, i, j}, telling) : "");
      table.cells.push_back(std::move(row));
    }
    add_table(table);
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

std::string worksheet_markdown(const Trace& trace, const Problem& problem, const About& about,
                               const Telling& telling, Cells cells) {
  return printed_sheet(
      trace, problem, about, telling, cells,
      {escape_markdown, [](const std::string& s) { return "## " + s + "\n"; }, markdown_table});
}

std::string worksheet_latex(const Trace& trace, const Problem& problem, const About& about,
                            const Telling& telling, Cells cells) {
  const std::string body = printed_sheet(
      trace, problem, about, telling, cells,
      {escape_latex, [](const std::string& s) { return "\\section*{" + s + "}\n"; }, latex_table});
  // What is not ASCII by now is what the user wrote, and may be Chinese.
  const bool is_ascii =
      std::all_of(body.begin(), body.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return "\\documentclass{" + std::string(is_ascii ? "article" : "ctexart") + "}\n\\begin{document}\n" +
         body + "\\end{document}\n";
}

}  // namespace qkv

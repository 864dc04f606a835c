// "Where does this number come from": the plan walked backwards from one cell.

#include <algorithm>
#include <set>
#include <tuple>

#include "base/suggest.h"
#include "report/narrate.h"
#include "report/step_names.h"

namespace qkv {
namespace {

class Explainer {
 public:
  Explainer(const Trace& trace, const Telling& telling)
      : trace_(trace), plan_(trace.plan()), telling_(telling) {}

  Tree tree(const CellAt& at) {
    visit(at, 0);
    return std::move(tree_);
  }

 private:
  // A cell is written out once; where it is used again, its value is enough.
  void visit(const CellAt& at, int depth) {
    const Node& node = plan_[at.node];
    const std::string shown = shown_cell(trace_, at, telling_.decimals).text;
    std::string line = cell_name(plan_, at) + " = " + shown;
    if (const std::string exact = telling_.exact ? exact_form(trace_, at) : ""; !exact.empty())
      line += (trace_.is_exactly(at.node, at.row, at.col, shown) ? " = " : " ≈ ") + exact;
    const bool is_new = seen_.emplace(at.node, at.row, at.col).second;
    if (!node.given.empty()) {
      tree_.items.push_back({depth, line + "   " + given_text(node, at), {}});
      return;
    }
    const NodeId behind = origin(plan_, at.node);
    if (behind != at.node && !plan_[behind].given.empty()) {
      const CellAt given{behind, at.row, at.col};
      tree_.items.push_back(
          {depth, line + "   = " + cell_name(plan_, given) + ", " + given_text(plan_[behind], given), {}});
      return;
    }
    const Expression expression = expression_of(plan_, at);
    if (!is_new) {
      tree_.items.push_back(
          {depth, line + "   " + say({"(see above)", "（见上）"}).in(telling_.language), {}});
      return;
    }
    Tree::Item item{depth, line, {}};
    const std::string names = expression_in_names(plan_, at);
    const std::string numbers = expression_in_numbers(trace_, at, telling_.decimals);
    if (!names.empty()) item.more.push_back("= " + names);
    if (!numbers.empty() && numbers != names) item.more.push_back("= " + numbers);
    tree_.items.push_back(std::move(item));
    std::vector<CellAt> below;
    for (const Term& term : expression) {
      if (term.input < 0) continue;
      const CellAt cell = referred(plan_, at, term);
      if (std::find(below.begin(), below.end(), cell) == below.end()) below.push_back(cell);
    }
    for (const CellAt& cell : below) visit(cell, depth + 1);
  }

  std::string given_text(const Node& node, const CellAt& at) const {
    if (node.is_symbolic()) return say({"given", "题目给定"}).in(telling_.language);
    if (std::string_view(node.op->name) == "mask") {
      return is_forbidden(plan_, at) ? say({"closed by the mask", "被掩码屏蔽"}).in(telling_.language)
                                     : say({"left open by the mask", "掩码允许"}).in(telling_.language);
    }
    const std::string& written = node.given[static_cast<std::size_t>(at.row * node.shape.cols + at.col)].text;
    return say({"given as {0}", "题目给定：{0}"}, written).in(telling_.language);
  }

  const Trace& trace_;
  const Plan& plan_;
  const Telling& telling_;
  Tree tree_;
  std::set<std::tuple<NodeId, Index, Index>> seen_;
};

std::string trimmed(std::string text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

// A label first; a number, counted from 1, where no label fits.
std::optional<Index> place(const std::vector<std::string>& labels, Index count, const std::string& text) {
  const auto at = std::find(labels.begin(), labels.end(), text);
  if (at != labels.end()) return at - labels.begin();
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const Index number = std::stol(text);
  return number >= 1 && number <= count ? std::optional(number - 1) : std::nullopt;
}

std::string listed(const std::vector<std::string>& labels, Index count) {
  if (labels.empty()) return "1 … " + std::to_string(count);
  std::string out;
  for (const std::string& label : labels) out += (out.empty() ? "" : " ") + label;
  return out;
}

// What to say of a label that several rows or columns have; empty when it names one.
//   chosen  the one that is taken, the first
Said shared_label(const std::vector<std::string>& labels, Index chosen, bool are_rows) {
  const std::string& label = labels[static_cast<std::size_t>(chosen)];
  std::string numbers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != label) continue;
    numbers += (count++ > 0 ? ", " : "") + std::to_string(i + 1);
  }
  if (count < 2) return {};
  return are_rows ? say({"'{0}' is the label of rows {1}; this is row {2}",
                         "“{0}”是第 {1} 行共同的标签；这里取第 {2} 行"},
                        label, numbers, chosen + 1)
                  : say({"'{0}' is the label of columns {1}; this is column {2}",
                         "“{0}”是第 {1} 列共同的标签；这里取第 {2} 列"},
                        label, numbers, chosen + 1);
}

// "t1,t2" for what was written instead, where both sides are the name of a row or column or near one.
std::optional<std::string> nearest_cell(const Node& node, const std::string& written) {
  const auto side = [](const std::vector<std::string>& labels, Index count, const std::string& text) {
    return place(labels, count, text) ? std::optional(text) : nearest_label(text, labels);
  };
  for (std::size_t comma = written.find(','); comma != std::string::npos;
       comma = written.find(',', comma + 1)) {
    const auto row = side(node.rows, node.shape.rows, trimmed(written.substr(0, comma)));
    const auto col = side(node.cols, node.shown_cols(), trimmed(written.substr(comma + 1)));
    if (row && col) return *row + "," + *col;
  }
  return std::nullopt;
}

// The next row or column of the same label, or the same where there is none.
Index next_of_label(const std::vector<std::string>& labels, Index chosen) {
  if (labels.empty()) return chosen;
  const auto at = labels.begin() + chosen;
  const auto next = std::find(at + 1, labels.end(), *at);
  return next == labels.end() ? chosen : next - labels.begin();
}

// Whether the text is a label, and not a number.
bool is_label(const std::vector<std::string>& labels, const std::string& text) {
  return std::find(labels.begin(), labels.end(), text) != labels.end();
}

// The cell of these names; says so where a name fits several.
CellAt named_cell(const Node& node, const CellAt& at, const std::string& row, const std::string& col,
                  Said& reason, Said& hint) {
  if (is_label(node.rows, row)) reason = shared_label(node.rows, at.row, true);
  if (is_label(node.cols, col)) {
    const Said of_columns = shared_label(node.cols, at.col, false);
    if (reason.empty() || of_columns.empty()) {
      reason = reason.empty() ? of_columns : reason;
    } else {
      reason = say({"{0}; {1}", "{0}；{1}"}, reason, of_columns);
    }
  }
  if (!reason.empty()) {
    const std::string number_of_row = std::to_string(next_of_label(node.rows, at.row) + 1);
    const std::string numbers =
        col.empty() ? number_of_row
                    : number_of_row + "," + std::to_string(next_of_label(node.cols, at.col) + 1);
    hint = say({"another one is {0}[{1}]", "另一个是 {0}[{1}]"}, node.id, numbers);
  }
  return at;
}

}  // namespace

Report explain(const Trace& trace, const CellAt& at, const Telling& telling) {
  Report report;
  report.blocks.emplace_back(Explainer(trace, telling).tree(at));
  return report;
}

std::optional<CellAt> find_cell(const Plan& plan, const std::string& text, Said& reason, Said& hint) {
  // Not that of the step [bias], or t3.[bias].
  const std::size_t bracketed = text.find("][");
  const std::size_t open = bracketed != std::string::npos ? bracketed + 1 : text.find('[', 1);
  const std::string id = trimmed(text.substr(0, open));
  const auto node_id = plan.find(id);
  if (!node_id) {
    std::vector<std::string> ids;
    for (const Node& node : plan.nodes) ids.push_back(node.id);
    reason = say({"this problem has no step '{0}'", "这道题没有名为“{0}”的步骤"}, id);
    hint = hint_for_step(plan, id, ids);
    return std::nullopt;
  }
  const Node& node = plan[*node_id];
  if (open != std::string::npos && text.find(']', open) == std::string::npos) {
    reason = say({"the bracket in '{0}' is not closed", "“{0}”的方括号没有配对"}, text);
    hint = say({"write it as {0}", "写成 {0} 这样"}, cell_name(plan, {*node_id, 0, 0}));
    return std::nullopt;
  }
  if (open == std::string::npos || !text.ends_with(']')) {
    reason = say({"'{0}' names a step, not a cell", "“{0}”是步骤名，不是单元格"}, text);
    hint = say({"write it as {0}", "写成 {0} 这样"}, cell_name(plan, {*node_id, 0, 0}));
    return std::nullopt;
  }
  const std::string inside = text.substr(open + 1, text.size() - open - 2);
  // A label may hold a comma itself: take the first split at which both sides name something.
  for (std::size_t comma = inside.find(','); comma != std::string::npos;
       comma = inside.find(',', comma + 1)) {
    const auto row = place(node.rows, node.shape.rows, trimmed(inside.substr(0, comma)));
    const auto col = place(node.cols, node.shown_cols(), trimmed(inside.substr(comma + 1)));
    if (!row || !col) continue;
    return named_cell(node, {*node_id, *row, *col}, trimmed(inside.substr(0, comma)),
                      trimmed(inside.substr(comma + 1)), reason, hint);
  }
  if (node.shown_cols() == 1) {
    if (const auto row = place(node.rows, node.shape.rows, trimmed(inside)))
      return named_cell(node, {*node_id, *row, 0}, trimmed(inside), "", reason, hint);
  }
  reason = say({"{0} has no cell [{1}]", "{0} 没有单元格 [{1}]"}, id, inside);
  if (const auto near = nearest_cell(node, inside)) {
    hint = say({"did you mean '{0}[{1}]'?", "是不是想写“{0}[{1}]”？"}, id, *near);
    return std::nullopt;
  }
  hint = say({"rows: {0}; columns: {1}", "行：{0}；列：{1}"}, listed(node.rows, node.shape.rows),
             listed(node.cols, node.shown_cols()));
  return std::nullopt;
}

}  // namespace qkv

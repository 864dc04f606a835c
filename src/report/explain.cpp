// "Where does this number come from": the plan walked backwards from one cell.

#include <algorithm>
#include <set>
#include <tuple>

#include "base/suggest.h"
#include "report/narrate.h"

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

}  // namespace

Report explain(const Trace& trace, const CellAt& at, const Telling& telling) {
  Report report;
  report.blocks.emplace_back(Explainer(trace, telling).tree(at));
  return report;
}

std::optional<CellAt> find_cell(const Plan& plan, const std::string& text, Said& reason, Said& hint) {
  const std::size_t open = text.find('[', 1);  // not that of the step [bias]
  const std::string id = trimmed(text.substr(0, open));
  const auto node_id = plan.find(id);
  if (!node_id) {
    std::vector<std::string> ids;
    for (const Node& node : plan.nodes) ids.push_back(node.id);
    reason = say({"this problem has no step '{0}'", "这道题没有名为“{0}”的步骤"}, id);
    hint = did_you_mean_or_one_of(id, ids);
    return std::nullopt;
  }
  const Node& node = plan[*node_id];
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
    if (row && col) return CellAt{*node_id, *row, *col};
  }
  if (node.shown_cols() == 1) {
    if (const auto row = place(node.rows, node.shape.rows, trimmed(inside))) return CellAt{*node_id, *row, 0};
  }
  reason = say({"{0} has no cell [{1}]", "{0} 没有单元格 [{1}]"}, id, inside);
  hint = say({"rows: {0}; columns: {1}", "行：{0}；列：{1}"}, listed(node.rows, node.shape.rows),
             listed(node.cols, node.shown_cols()));
  return std::nullopt;
}

}  // namespace qkv

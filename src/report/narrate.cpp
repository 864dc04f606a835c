#include "report/narrate.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "report/formula.h"

namespace qkv {
namespace {

// More columns than this, and the hull is told in one sentence instead of one bound a column.
constexpr Index kMostHullColumns = 4;

// Far below any digit of a weight that somebody writes down, far above rounding.
constexpr double kSumTolerance = 1e-9;

// A cell's own formula is printed in names when it refers to so few cells that it stays short.
constexpr std::ptrdiff_t kMostNamedCells = 2;

class Narrator {
 public:
  Narrator(const Trace& trace, const About& about, const Telling& telling)
      : trace_(trace), plan_(trace.plan()), about_(about), telling_(telling) {}

  Report report(const std::vector<Comparison>& comparisons) {
    if (telling_.only_output) {
      add(table(plan_.last_step()));
      return std::move(report_);
    }
    header();
    for (NodeId id = 0; id < plan_.nodes.size(); ++id) {
      if (is_shown(id)) step(id);
    }
    compared(comparisons);
    for (const Said& warning : trace_.warnings()) paragraph(warning, Tone::warning);
    return std::move(report_);
  }

 private:
  const std::string& in(const Said& said) const { return said.in(telling_.language); }
  void add(Block block) { report_.blocks.push_back(std::move(block)); }
  void paragraph(const Said& said, Tone tone = Tone::plain) { add(Paragraph{in(said), tone}); }

  // ---- the head ----

  void header() {
    if (!about_.title.empty()) add(Heading{0, about_.title, ""});
    if (!about_.source.empty()) paragraph(say({"Source: {0}", "出处：{0}"}, about_.source), Tone::faint);
    std::string settings;
    for (const auto& [key, value] : about_.settings) {
      settings += (settings.empty() ? "" : "; ") + key + " = " + value;
    }
    if (!settings.empty()) add(Paragraph{settings, Tone::faint});
    if (!about_.mask_meaning.empty())
      paragraph(say({"Mask: {0}", "掩码：{0}"}, about_.mask_meaning), Tone::faint);
    if (trace_.arithmetic() == Arithmetic::doubles) {
      paragraph(
          say({"Large problem: computed in double precision, sums from left to right; digits are not proved, "
               "and sums of huge numbers that cancel can be wrong altogether.",
               "题目较大：用双精度计算，从左到右求和；数字未经证明，很大的数相互抵消时可能完全不对。"}),
          Tone::faint);
    }
  }

  // Without --detail full the lines of the softmax are not shown singly.
  bool is_brief() const { return telling_.detail != Detail::full; }

  // ---- which steps ----

  // Only then do numbers before the headings mean something.
  bool tells_all() const { return telling_.steps.empty() && telling_.detail != Detail::summary; }

  // By --steps, or by saying nothing.
  bool is_asked_for(const std::string& id) const {
    return telling_.steps.empty() ||
           std::find(telling_.steps.begin(), telling_.steps.end(), id) != telling_.steps.end();
  }

  bool is_shown(NodeId id) const {
    const Node& node = plan_[id];
    if (!telling_.steps.empty()) return is_asked_for(node.id);
    switch (telling_.detail) {
      case Detail::summary:
        return id == plan_.last_step();
      case Detail::full:
        return true;
      case Detail::steps:
      case Detail::cells:
        break;
    }
    return node.level == Level::main;
  }

  // ---- one step ----

  void step(NodeId id) {
    const Node& node = plan_[id];
    heading(node);
    if (node.role != Role::given) add(Paragraph{why(node), Tone::plain});
    add(Formula{node.id, tex_formula(plan_, id, is_brief()), plain_formula(plan_, id, is_brief()),
                formula_with_shapes(plan_, id, is_brief())});
    if (shows_table(id)) add(table(id));
    remarks(id);
    const bool has_arithmetic = telling_.detail == Detail::cells || telling_.detail == Detail::full;
    const bool is_computed = node.given.empty() && origin(plan_, id) == id;
    if (has_arithmetic && is_computed) add(working(id));
  }

  // K = Q: the numbers have just been shown, and are shown again only to who asks.
  bool shows_table(NodeId id) const {
    return origin(plan_, id) == id || !tells_all() || telling_.detail == Detail::full || telling_.row;
  }

  // "[4] Scores", "[4] 分数（打分） scores": the id is what --steps and explain want to hear.
  void heading(const Node& node) {
    std::string title = reading_of(node, is_brief()).op.title.in(telling_.language);
    if (fold_case(title) != fold_case(node.id)) title += "  " + node.id;
    const bool is_counted = node.role == Role::step && tells_all();
    add(Heading{is_counted ? ++step_number_ : 0, title, node.id});
  }

  static std::string fold_case(std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
  }

  std::string why(const Node& node) const {
    const Reading reading = reading_of(node, is_brief());
    std::string text = reading.op.why.in(telling_.language);
    if (reading.params.numbers.empty()) return text;
    const std::string number = reading.params.numbers.front().text;
    for (std::size_t at = text.find("@1"); at != std::string::npos; at = text.find("@1"))
      text.replace(at, 2, number);
    return text;
  }

  bool rows_are_queries(const Node& node) const {
    return node.shape.rows == static_cast<Index>(about_.tokens.size()) && node.rows == about_.tokens &&
           node.id != "K" && node.id != "V" && node.id != "X_kv";
  }

  bool shows_row(const Node& node, Index row) const {
    return !telling_.row || !rows_are_queries(node) || row == *telling_.row;
  }

  Table table(NodeId id) const {
    const Node& node = plan_[id];
    Table table;
    table.id = node.id;
    if (!node.cols.empty()) {
      table.columns = node.cols;
    } else if (node.shown_cols() > 1) {
      for (Index j = 0; j < node.shown_cols(); ++j) table.columns.push_back(std::to_string(j + 1));
    }
    if (node.has_row_sums && !table.columns.empty()) table.columns.push_back(in(say({"sum", "行和"})));
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (!shows_row(node, i)) continue;
      if (!node.rows.empty()) {
        table.row_labels.push_back(node.rows[static_cast<std::size_t>(i)]);
      } else if (node.shape.rows > 1) {
        table.row_labels.push_back(std::to_string(i + 1));
      }
      std::vector<TableCell> row;
      for (Index j = 0; j < node.shown_cols(); ++j)
        row.push_back(shown_cell(trace_, {id, i, j}, telling_.decimals));
      if (node.has_row_sums) row.push_back({trace_.row_sum_text(id, i, telling_.decimals), CellRole::sum});
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  // What is worth saying about this step's numbers in particular.
  void remarks(NodeId id) {
    const Node& node = plan_[id];
    if (node.id == "scores") symmetry(id);
    if (node.id == "scaled" && std::string_view(node.op->name) == "scale") {
      paragraph(say({"d_k = {0}, √d_k = {1}", "d_k = {0}，√d_k = {1}"}, node.params.numbers[0].text,
                    fmt::format("{:.{}f}", std::sqrt(node.params.numbers[0].value), telling_.decimals)),
                Tone::faint);
    }
    if (node.id == "weights") row_sum_remark(id);
    if (node.id == "output" && std::string_view(node.op->name) == "weighted_sum" && !node.is_symbolic())
      hull(id);
  }

  bool is_one_matrix(NodeId a, NodeId b) const { return origin(plan_, a) == origin(plan_, b); }

  void symmetry(NodeId id) {
    const Node& node = plan_[id];
    if (std::string_view(node.op->name) != "dot_rows" || !is_one_matrix(node.inputs[0], node.inputs[1]))
      return;
    if (node.shape.rows < 2) return;
    const auto cell = [&](std::size_t a, std::size_t b) {
      return node.vectors->first + node.rows[a] + "·" + node.vectors->second + node.cols[b];
    };
    paragraph(say({"Q and K are the same matrix, so the table is symmetric: {0} = {1}.",
                   "Q 和 K 是同一个矩阵，所以分数表是对称的：{0} = {1}。"},
                  cell(0, 1), cell(1, 0)));
  }

  void row_sum_remark(NodeId id) {
    const Node& node = plan_[id];
    if (std::string_view(node.op->name) != "divide") return;
    const bool has_sink =
        plan_[node.inputs[1]].op->terms == nullptr && !plan_[node.inputs[1]].params.numbers.empty();
    const bool gave_some = has_sink && trace_.values(id).rowwise().sum().minCoeff() < 1 - kSumTolerance;
    if (gave_some) {
      paragraph(say({"The rows sum to less than 1: the rest went to the sink.",
                     "每行的和小于 1：剩下的权重给了汇聚（sink）。"}));
    }
  }

  // Weights that are not negative and sum to 1 can only mix: every output lies between the
  // smallest and the largest value of its column.
  void hull(NodeId id) {
    const Node& node = plan_[id];
    const NodeId weights = node.inputs[0];
    const NodeId v = node.inputs[1];
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (!shows_row(node, i)) continue;
      const std::string row = plan_[weights].rows[static_cast<std::size_t>(i)];
      if (!(std::abs(trace_.row_sum(weights, i) - 1) < kSumTolerance)) {
        paragraph(say({"Hull: not stated, because the weights of row {0} sum to {1}, not to 1.",
                       "凸包：不作断言，因为 {0} 那一行的权重之和是 {1}，不是 1。"},
                      row, trace_.row_sum_text(weights, i, telling_.decimals)),
                  Tone::faint);
        return;
      }
      if (trace_.values(weights).row(i).minCoeff() < 0) {
        paragraph(say({"Hull: not stated, because row {0} has a negative weight.",
                       "凸包：不作断言，因为 {0} 那一行有负的权重。"},
                      row),
                  Tone::faint);
        return;
      }
    }
    const std::string rows_of = about_.values_are_tokens ? "X" : "V";
    Said bounds;
    for (Index c = 0; c < node.shape.cols && node.shape.cols <= kMostHullColumns; ++c) {
      Index least = 0;
      Index most = 0;
      trace_.values(v).col(c).minCoeff(&least);
      trace_.values(v).col(c).maxCoeff(&most);
      const std::string low = trace_.text(v, least, c, telling_.decimals);
      const std::string high = trace_.text(v, most, c, telling_.decimals);
      const Said next = say({"{0} ≤ column {2} ≤ {1}", "{0} ≤ 第 {2} 列 ≤ {1}"}, low, high, c + 1);
      bounds = bounds.empty() ? next : say({"{0}, {1}", "{0}，{1}"}, bounds, next);
    }
    const Said line = say({"Hull: weights ≥ 0 and sum to 1, so the output lies in the hull of the {0} rows",
                           "凸包：权重 ≥ 0 且每行之和为 1，所以输出落在 {0} 各行的凸包之内"},
                          rows_of);
    paragraph(bounds.empty() ? say({"{0}.", "{0}。"}, line) : say({"{0}: {1}.", "{0}：{1}。"}, line, bounds),
              Tone::faint);
  }

  // ---- every cell written out ----

  Working working(NodeId id) const {
    const Node& node = plan_[id];
    Working working;
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (!shows_row(node, i)) continue;
      for (Index j = 0; j < node.shown_cols(); ++j) working.lines.push_back(working_line({id, i, j}));
    }
    return working;
  }

  Working::Line working_line(const CellAt& at) const {
    Working::Line line{cell_name(plan_, at), {}};
    const auto push = [&](std::string side) {
      if (!side.empty() && (line.sides.empty() || line.sides.back() != side))
        line.sides.push_back(std::move(side));
    };
    push(form_in_names(at));
    push(expression_in_numbers(trace_, at, telling_.decimals, is_brief()));
    push(shown_cell(trace_, at, telling_.decimals).text);
    return line;
  }

  std::string form_in_names(const CellAt& at) const {
    const Node& node = plan_[at.node];
    if (node.vectors) {
      return node.vectors->first + node.rows[static_cast<std::size_t>(at.row)] + "·" + node.vectors->second +
             node.cols[static_cast<std::size_t>(at.col)];
    }
    const Expression expression = expression_of(plan_, at, is_brief());
    const auto cells =
        std::count_if(expression.begin(), expression.end(), [](const Term& t) { return t.input >= 0; });
    return cells > 0 && cells <= kMostNamedCells ? expression_in_names(plan_, at, is_brief()) : "";
  }

  // ---- printed numbers ----

  void compared(std::vector<Comparison> comparisons) {
    std::erase_if(comparisons, [this](const Comparison& c) { return !is_asked_for(c.step); });
    if (comparisons.empty()) return;
    add(Heading{0, in(say({"Compared with the printed numbers", "与文中印出的数字比较"})), ""});
    for (const Comparison& c : comparisons) {
      switch (c.agreement) {
        case Agreement::exact:
          paragraph(say({"{0}: agrees, all {1} numbers", "{0}：{1} 个数全部一致"}, c.step, c.compared),
                    Tone::good);
          break;
        case Agreement::on_paper:
          paragraph(say({"{0}: agrees, all {1} numbers, when every step is rounded to {2} decimals before "
                         "the next (round = paper); carried exactly, {3} would differ",
                         "{0}：若每一步都先舍入到 {2} 位小数再往下算（round = paper），{1} "
                         "个数全部一致；若不舍入，则有 {3} 个不同"},
                        c.step, c.compared, c.paper_decimals, c.differences.size()),
                    Tone::good);
          break;
        case Agreement::differs:
          paragraph(say({"{0}: differs in {1} of {2} numbers", "{0}：{2} 个数中有 {1} 个不同"}, c.step,
                        c.differences.size(), c.compared),
                    Tone::note);
          for (const Difference& d : c.differences) {
            paragraph(say({"  {0}: printed {1}, calculated {2}; printed − true = {3}",
                           "  {0}：印的是 {1}，算得 {2}；印的 − 真值 = {3}"},
                          cell_name(plan_, d.at), d.printed, d.calculated, d.by),
                      Tone::note);
          }
          break;
      }
    }
  }

  const Trace& trace_;
  const Plan& plan_;
  const About& about_;
  const Telling& telling_;
  Report report_;
  int step_number_ = 0;
};

}  // namespace

Report softmax_lines(const Trace& trace, const Telling& telling) {
  Table table;
  const Plan& plan = trace.plan();
  const auto weights = plan.find("weights");
  const std::size_t width = static_cast<std::size_t>(plan[*weights].shape.cols);
  for (const char* id : {"max", "shifted", "exp", "sum", "weights"}) {
    const auto node = plan.find(id);
    std::vector<TableCell> row;
    for (Index j = 0; j < plan[*node].shape.cols; ++j)
      row.push_back(shown_cell(trace, {*node, 0, j}, telling.decimals));
    row.resize(width);  // max and sum stand below the first score
    table.row_labels.emplace_back(id);
    table.rows.push_back(std::move(row));
  }
  return {{std::move(table)}};
}

Report narrate(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
               const Telling& telling) {
  return Narrator(trace, about, telling).report(comparisons);
}

}  // namespace qkv

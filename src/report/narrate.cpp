#include "report/narrate.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/counted.h"
#include "base/threads.h"
#include "plan/training.h"
#include "report/against.h"
#include "report/checks.h"
#include "report/counts.h"
#include "report/formula.h"
#include "report/proofs.h"
#include "report/remarks.h"

namespace qkv {
namespace {

class Narrator {
 public:
  Narrator(const Trace& trace, const About& about, const Telling& telling)
      : trace_(trace), plan_(trace.plan()), about_(about), telling_(telling) {}

  Report report(const std::vector<Comparison>& comparisons) {
    if (telling_.only_output) {
      bare_tables();
      return std::move(report_);
    }
    report_.blocks.reserve(4 * plan_.nodes.size());
    header();
    for (NodeId id = 0; id < plan_.nodes.size(); ++id) {
      if (is_shown(id)) step(id);
    }
    compared(comparisons);
    add_all(proofs(telling_.proofs, telling_.language, telling_.truth != nullptr));
    if (telling_.checks) footer();
    tell_arithmetic();
    for (const Said& warning : trace_.warnings()) paragraph(warning, Tone::warning);
    return std::move(report_);
  }

 private:
  void footer() {
    std::vector<Block> lines = checks(trace_, telling_.language);
    if (lines.empty()) {
      const Said nothing =
          say({"nothing to check here: neither a whole table of weights was computed nor a gradient",
               "这里没有可核对的内容：既没有算出完整的权重表，也没有梯度"});
      lines.emplace_back(Heading{0, in(say({"Checks", "核对"})), ""});
      lines.emplace_back(Paragraph{in(nothing), Tone::note});
    }
    add_all(std::move(lines));
  }

  const std::string& in(const Said& said) const { return said.in(telling_.language); }
  template <class B>
  void add(B block) {
    report_.blocks.emplace_back(std::move(block));
  }
  void add_all(std::vector<Block> blocks) {
    for (Block& block : blocks) add(std::move(block));
  }
  void paragraph(const Said& said, Tone tone = Tone::plain) { add(Paragraph{in(said), tone}); }

  // The result, or of several chosen steps each under its name.
  void bare_tables() {
    std::vector<NodeId> chosen;
    for (NodeId id = 0; id < plan_.nodes.size() && !telling_.steps.empty(); ++id) {
      if (is_shown(id)) chosen.push_back(id);
    }
    if (chosen.empty()) chosen.push_back(plan_.last_step());
    for (const NodeId id : chosen) {
      if (chosen.size() > 1) add(Heading{0, plan_[id].id, ""});
      add(table(id));
    }
  }

  // ---- the head ----

  void header() {
    add_all(head_lines(about_, telling_.language));
    header_end_ = report_.blocks.size();
  }

  // How the digits came about stands in the head, but is known only when all are printed.
  void tell_arithmetic() {
    std::vector<Said> lines;
    switch (trace_.arithmetic()) {
      case Arithmetic::proved:
        break;
      case Arithmetic::doubles:
        lines.push_back(large_problem());
        if (telling_.exact) {
          lines.push_back(
              say({"Too large for exact forms beside the decimals.", "题目太大，不在小数旁写精确形式。"}));
        }
        break;
      case Arithmetic::plain:
        lines.push_back(say({"Plain doubles: no digit is proved.", "普通双精度：数字未经证明。"}));
        break;
      case Arithmetic::format:
        lines.push_back(say(
            {"Arithmetic: {0}; every operation is rounded to {1} binary digits, to nearest, ties to even; "
             "sums run from left to right. These are not the true digits.",
             "算术：{0}；每次运算都舍入到 {1} 位二进制有效数字（取最近的，正中取偶），求和从左到右。"
             "这里的数字不是真值。"},
            trace_.format()->name, trace_.format()->digits));
        lines.push_back(departed_ == 0
                            ? say({"All digits shown are the true ones.", "这里显示的数字都与真值一致。"})
                            : say({"{0} of the {1} numbers shown differ from the true ones; the first step "
                                   "with such a number is {2}.",
                                   "这里显示的 {1} 个数中，有 {0} 个与真值不同；最早出现不同的步骤是 {2}。"},
                                  departed_, compared_, plan_[first_departing_step()].id));
        break;
    }
    if (telling_.truth != nullptr && trace_.arithmetic() != Arithmetic::format) {
      lines.push_back(
          say({"Every step is rounded to {2} before the next one uses it; carried exactly, "
               "{0} of the {1} numbers shown would differ.",
               "每一步都先舍入到 {2} 位小数再往下算；若不舍入，这里显示的 {1} 个数中有 {0} 个不同。"},
              departed_, compared_, counted(telling_.decimals, "decimal")));
    }
    if (trace_.assumed_ties() > 0) {
      lines.push_back(say({"{0} could not be told from a tie even with {1} digits, and rounded as one.",
                           "有 {0} 个数用 {1} 位数字仍无法与恰好一半区分，按恰好一半舍入。"},
                          counted(trace_.assumed_ties(), "number"), kDigitsOfAssumedTies));
    }
    if (telling_.detail == Detail::full && trace_.arithmetic() != Arithmetic::plain) {
      lines.push_back(
          say({"Digits are rounded to the nearest; a value exactly between two goes to the even last digit, "
               "as in printf, NumPy and PyTorch: 0.125 becomes 0.12.",
               "数字按最近舍入；恰好在正中间时取末位为偶数的那个，与 printf、NumPy、PyTorch 一致：0.125 写成 "
               "0.12。"}));
    }
    std::vector<Block> blocks;
    for (const Said& line : lines) blocks.emplace_back(Paragraph{in(line), Tone::faint});
    report_.blocks.insert(report_.blocks.begin() + static_cast<std::ptrdiff_t>(header_end_), blocks.begin(),
                          blocks.end());
  }

  // Not how many: that depends on how well this machine's doubles round.
  static Said large_problem() {
    return say(
        {"Large problem: computed in double precision, each value with a bound of its error; digits that the "
         "bound leaves open are computed again, for their row alone, with more precision. All digits shown "
         "are "
         "proved.",
         "题目较大：用双精度计算，每个值都带误差界；误差界定不下来的数字，单独对那一行用更高精度重算。"
         "印出的数字全部经过证明。"});
  }

  // Without --detail full the lines of the softmax are not shown singly.
  bool is_brief() const { return telling_.detail != Detail::full; }

  // ---- which steps ----

  // Only then do numbers before the headings mean something.
  bool tells_all() const { return telling_.steps.empty() && telling_.detail != Detail::summary; }

  // By --steps, or by saying nothing.
  bool is_asked_for(std::string_view id) const {
    return telling_.steps.empty() ||
           std::find(telling_.steps.begin(), telling_.steps.end(), id) != telling_.steps.end();
  }

  // What belongs to another head, or to keys that the asked head does not read, is left out.
  bool is_of_another_head(const Node& node) const {
    if (!telling_.head) return false;
    const Index group = *telling_.head / (about_.heads / about_.kv_heads);
    const auto differs = [&](char kind, Index own) {
      const std::size_t at = ("." + node.prefix).find(std::string{'.', kind});
      return at != std::string::npos && std::atol(node.prefix.c_str() + at + 1) != own + 1;
    };
    return differs('h', *telling_.head) || differs('g', group);
  }

  bool is_shown(NodeId id) const {
    const Node& node = plan_[id];
    if (is_of_another_head(node)) return false;
    if (!telling_.steps.empty()) return is_asked_for(node.id) || is_asked_for(name_in_every_head(node));
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
    if (node.role != Role::given) explain_once(why(node));
    Math right = math_formula(plan_, id, is_brief());
    std::string shapes = formula_with_shapes(plan_, id, is_brief(), right);
    add(Formula{node.id, std::move(right), std::move(shapes)});
    if (shows_table(id)) add(table(id));
    remarks(id);
    departure_remark(id);
    const bool has_arithmetic = telling_.detail == Detail::cells || telling_.detail == Detail::full;
    const bool is_computed = node.given.empty() && origin(plan_, id) == id;
    if (has_arithmetic && is_computed) add(working(id));
  }

  // Each head does the same; one explanation will do.
  void explain_once(std::string text, Tone tone = Tone::plain) {
    if (!explained_.insert(text).second) return;
    add(Paragraph{std::move(text), tone});
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
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
      const std::size_t index = static_cast<std::size_t>(text[at + 1] - '1');
      text.replace(at, 2, reading.params.numbers[index].text);
    }
    return text;
  }

  bool rows_are_queries(const Node& node) const {
    return node.shape.rows == static_cast<Index>(about_.tokens.size()) && node.rows == about_.tokens &&
           node.name() != "K" && node.name() != "V" && node.name() != "X_kv" && node.name() != "jacobian";
  }

  bool shows_row(const Node& node, Index row) const {
    return !telling_.row || !rows_are_queries(node) || row == *telling_.row;
  }

  std::vector<Index> shown_rows(const Node& node) const {
    std::vector<Index> rows;
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (shows_row(node, i)) rows.push_back(i);
    }
    return rows;
  }

  Table table(NodeId id) const {
    const Node& node = plan_[id];
    Table table;
    table.id = node.id;
    table.node = id;
    table.holds_terms = telling_.exact;
    if (!node.cols.empty()) {
      table.columns = node.cols;
    } else if (node.shown_cols() > 1) {
      for (Index j = 0; j < node.shown_cols(); ++j) table.columns.push_back(std::to_string(j + 1));
    }
    if (node.has_row_sums && !table.columns.empty())
      table.columns.push_back(Text{"sum", "行和"}.in(telling_.language));
    const bool is_of_numbers = !telling_.exact && !node.is_symbolic() && trace_.shared_values(id) != nullptr;
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (!shows_row(node, i)) continue;
      table.node_rows.push_back(i);
      if (!node.rows.empty()) {
        table.row_labels.push_back(node.rows[static_cast<std::size_t>(i)]);
      } else if (node.shape.rows > 1) {
        table.row_labels.push_back(std::to_string(i + 1));
      }
      if (is_of_numbers) continue;
      std::vector<TableCell> row;
      row.reserve(static_cast<std::size_t>(node.shown_cols()) + 1);
      for (Index j = 0; j < node.shown_cols(); ++j) row.push_back(cell({id, i, j}));
      if (node.has_row_sums) {
        const int decimals = decimals_of(node, telling_.decimals);
        row.push_back({trace_.row_sum_text(id, i, decimals), CellRole::sum});
      }
      table.rows.push_back(std::move(row));
    }
    if (is_of_numbers) table.rows = numbers(id, table.node_rows);
    return table;
  }

  NumberTable numbers(NodeId id, const std::vector<Index>& rows) const {
    const Node& node = plan_[id];
    const auto cols = static_cast<std::size_t>(node.shape.cols);
    NumberTable table{.values = trace_.shared_values(id),
                      .rows = rows,
                      .columns = cols + (node.has_row_sums ? 1 : 0),
                      .open = !node.cols.empty() ? node.params.allowed : nullptr,
                      .decimals = FixedDecimals(telling_.decimals)};
    if (!table.open) table.open = node.given.mask();
    std::vector<std::vector<Index>> open(rows.size());
    share_rows(static_cast<Index>(rows.size()), node.shape.cols, [&](Index begin, Index end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        trace_.find_open(id, rows[i], table.decimals, open[i]);
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      table.first.push_back(table.others.size());
      for (const Index j : open[i]) {
        const auto col = static_cast<std::size_t>(j);
        if (table.is_forbidden(i, col) && std::isinf(table.value(i, col)) && table.value(i, col) < 0)
          continue;
        table.others.push_back({i, col, cell({id, rows[i], j})});
      }
      if (node.has_row_sums)
        table.others.push_back(
            {i, cols, {trace_.row_sum_text(id, rows[i], telling_.decimals), CellRole::sum}});
    }
    table.first.push_back(table.others.size());
    return table;
  }

  // "1/√2 ≈ 0.7071", "1/2 = 0.5000"; a whole number stands for itself.
  TableCell cell(const CellAt& at) const {
    TableCell shown = shown_cell(trace_, at, telling_.decimals, telling_.colours);
    if (!telling_.exact || shown.role != CellRole::number) return shown;
    const std::string exact = exact_form(trace_, at);
    // An output over exponentials would take a line; its weights have shown them.
    const bool is_output_of_e = exact.find('e') != std::string::npos && plan_[at.node].cols.empty();
    if (exact.empty() || is_output_of_e) return {"≈ " + shown.text, CellRole::symbolic, shown.value};
    if (exact.find_first_not_of("-0123456789") == std::string::npos)
      return {exact, CellRole::symbolic, shown.value};
    const bool is_equal = trace_.is_exactly(at.node, at.row, at.col, shown.text);
    return {exact + (is_equal ? " = " : " ≈ ") + shown.text, CellRole::symbolic, shown.value};
  }

  // What is worth saying about this step's numbers in particular.
  void remarks(NodeId id) {
    const Node& node = plan_[id];
    if (node.name() == "scaled" && std::string_view(node.op->name) == "scale") {
      explain_once(say_in(telling_.language, {"d_k = {0}, √d_k = {1}", "d_k = {0}，√d_k = {1}"},
                          node.params.numbers[0].text, root_text(node.params.numbers[0], telling_.decimals)),
                   Tone::faint);
    }
    add_all(qkv::remarks(trace_, id, shown_rows(node), telling_));
  }

  // Of all steps, shown or not; the number of nodes when there is none.
  NodeId first_departing_step() {
    if (!first_departing_step_) {
      NodeId id = 0;
      const auto departs = [&] {
        return plan_[id].role == Role::step &&
               departures(trace_, *telling_.truth, id, telling_.decimals).differing > 0;
      };
      while (id < plan_.nodes.size() && !departs()) ++id;
      first_departing_step_ = id;
    }
    return *first_departing_step_;
  }

  // What rounding on the way has done to the digits of this step.
  void departure_remark(NodeId id) {
    if (telling_.truth == nullptr) return;
    const Departures found = departures(trace_, *telling_.truth, id, telling_.decimals);
    const bool is_format = trace_.arithmetic() == Arithmetic::format;
    departed_ += found.differing;
    compared_ += found.compared;
    if (!found.first) return;
    if (is_format && id == first_departing_step()) {
      paragraph(say({"Here the digits leave the true ones: first at {0}, {1} instead of {2}.",
                     "从这里开始偏离真值：最先是 {0}，得到 {1}，真值是 {2}。"},
                    cell_name(plan_, found.first->at), found.first->here, found.first->truly),
                Tone::note);
    }
    const Departure& most = *found.largest;
    const Said where =
        say({"{0}: {1} here, {2}", "{0}：这里是 {1}，{2}"}, cell_name(plan_, most.at), most.here,
            is_format ? say({"truly {0}", "真值是 {0}"}, most.truly)
                      : say({"{0} exactly", "精确值是 {0}"}, most.truly));
    const Said by = most.units
                        ? say({", {0} in the last digit", "，末位相差 {0}"}, fmt::format("{:+}", *most.units))
                        : Said{"", ""};
    paragraph(is_format ? say({"Different from the true ones: {0} of {1}; most: {2}{3}.",
                               "{1} 个数中有 {0} 个与真值不同；相差最多的是 {2}{3}。"},
                              found.differing, counted(found.compared, "number"), where, by)
                        : say({"Carried exactly, {0} of {1} would differ; most: {2}{3}.",
                               "若不舍入地往下算，{1} 个数中有 {0} 个不同；相差最多的是 {2}{3}。"},
                              found.differing, counted(found.compared, "number"), where, by),
              Tone::note);
  }

  // ---- every cell written out ----

  Working working(NodeId id) const {
    const Node& node = plan_[id];
    Working working;
    for (Index i = 0; i < node.shape.rows; ++i) {
      if (!shows_row(node, i)) continue;
      for (Index j = 0; j < node.shown_cols(); ++j)
        working.lines.push_back(working_line(trace_, {id, i, j}, telling_.decimals, is_brief()));
    }
    return working;
  }

  // ---- printed numbers ----

  void compared(std::vector<Comparison> comparisons) {
    std::erase_if(comparisons, [this](const Comparison& c) { return !is_asked_for(c.step); });
    if (comparisons.empty()) return;
    add(Heading{0, in(say({"Compared with the printed numbers", "与文中印出的数字比较"})), ""});
    for (const Comparison& c : comparisons) {
      const Said all = c.compared == 1 ? say({"the one number", "唯一的数一致"})
                                       : say({"all {0} numbers", "{0} 个数全部一致"}, c.compared);
      switch (c.agreement) {
        case Agreement::exact:
          paragraph(say({"{0}: agrees, {1}", "{0}：{1}"}, c.step, all), Tone::good);
          break;
        case Agreement::on_paper:
          paragraph(say({"{0}: agrees, {1}, when every step is rounded to {2} before the next "
                         "(round = paper); carried exactly, {3} would differ",
                         "{0}：若每一步都先舍入到 {2} 位小数再往下算（round = paper），{1}；"
                         "若不舍入，则有 {3} 个不同"},
                        c.step, all, counted(c.paper_decimals, "decimal"), c.differences.size()),
                    Tone::good);
          break;
        case Agreement::differs:
          paragraph(say({"{0}: differs in {1} of {2}", "{0}：{2} 个数中有 {1} 个不同"}, c.step,
                        c.differences.size(), counted(c.compared, "number")),
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
  std::set<std::string> explained_;  // why-sentences that were said
  std::size_t header_end_ = 0;       // blocks before the first step
  Index departed_ = 0;  // of the numbers shown so far, those with other digits than the true ones
  Index compared_ = 0;
  std::optional<NodeId> first_departing_step_;  // once looked for
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
      row.push_back(shown_cell(trace, {*node, 0, j}, telling.decimals, telling.colours));
    row.resize(width);  // max and sum stand below the first score
    table.row_labels.emplace_back(id);
    table.rows.push_back(std::move(row));
  }
  return {{std::move(table)}};
}

std::vector<Block> head_lines(const About& about, Language language) {
  std::vector<Block> lines;
  const auto faint = [&](const Said& said) { lines.emplace_back(Paragraph{said.in(language), Tone::faint}); };
  if (!about.title.empty()) lines.emplace_back(Heading{0, about.title, ""});
  if (!about.source.empty()) faint(say({"Source: {0}", "出处：{0}"}, about.source));
  std::string settings;
  for (const auto& [key, value] : about.settings)
    settings += (settings.empty() ? "" : "; ") + key + " = " + value;
  if (!settings.empty()) lines.emplace_back(Paragraph{settings, Tone::faint});
  if (!about.mask_meaning.empty()) faint(say({"Mask: {0}", "掩码：{0}"}, about.mask_meaning));
  if (!about.gradient_meaning.empty()) faint(say({"Gradient: {0}", "梯度：{0}"}, about.gradient_meaning));
  return lines;
}

Report narrate(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
               const Telling& telling) {
  return Narrator(trace, about, telling).report(comparisons);
}

}  // namespace qkv

#include "check/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/decimal.h"
#include "check/mistakes.h"
#include "report/step_names.h"
#include "run/apply.h"
#include "run/proof.h"

namespace qkv {
namespace {

// Roots are tried with so many decimals: √3 as 1.7, 1.73, 1.732 …
constexpr int kMostRootDecimals = 6;

// Given by the problem, or the same as another matrix.
bool is_copied(const Node& node) { return is_given(node) || node.op->name == std::string_view("same"); }

class Judge {
 public:
  Judge(const Trace& truth, std::map<NodeId, Given> answers, int decimals)
      : sheet_(truth, std::move(answers), decimals), decimals_(decimals) {}

  Judgement judge() {
    const Plan& plan = sheet_.plan();
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      const Shape shape = plan[id].shape;
      Mask is_wrong = Mask::Constant(shape.rows, shape.cols, false);
      Mask is_untrue = is_wrong;
      if (sheet_.answer(id) != nullptr) {
        JudgedStep step = judge_step(id);
        is_wrong = step.cells.array() == Verdict::wrong;
        is_untrue = is_wrong.array() || step.cells.array() == Verdict::carried;
        result_.steps.push_back(std::move(step));
      }
      sheet_.settle(id, is_untrue, is_wrong);
    }
    find_repeats();
    count_points();
    return std::move(result_);
  }

 private:
  // What follows for a step on each chain.
  struct Images {
    IntervalMatrix mended, theirs, literal;
  };

  JudgedStep judge_step(NodeId id) {
    const PrecisionScope precision(Proof::kFirstPrecision);
    JudgedStep step;
    step.node = id;
    const Images images{sheet_.image(id, Chain::mended), sheet_.image(id, Chain::theirs),
                        sheet_.image(id, Chain::literal)};
    step.cells = verdicts(id, images);
    for (const Chain chain : kCarried) accept_carried(step, chain);
    accept_paper(step);
    if (has_wrong(step)) try_rounded_roots(step);
    if (has_wrong(step)) accept_cut_off(step, images);
    step.verdict = worst(step.cells);
    if (step.verdict == Verdict::wrong) explain(step);
    return step;
  }

  MatrixOf<Verdict> verdicts(NodeId id, const Images& images) const {
    const Given& given = *sheet_.answer(id);
    MatrixOf<Verdict> cells(given.rows, given.cols);
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) cells(i, j) = verdict({id, i, j}, given.at(i, j), images);
    }
    return cells;
  }

  Verdict verdict(const CellPlace& at, const Number& number, const Images& images) const {
    if (number.kind == Number::Kind::blank) return Verdict::blank;
    const Written written = sheet_.written(number);
    if (is_true(at, number, written)) return Verdict::right;
    if (explains(at, written, images.mended(at.row, at.col), Chain::mended)) return Verdict::rounded;
    if (explains(at, written, images.theirs(at.row, at.col), Chain::theirs)) return Verdict::carried;
    if (explains(at, written, images.literal(at.row, at.col), Chain::literal)) {
      return sheet_.has_departed_before(at.node) ? Verdict::carried : Verdict::rounded;
    }
    return Verdict::wrong;
  }

  // Whether what follows for a cell on one chain is what was written.
  bool explains(const CellPlace& at, const Written& written, const Interval& image, Chain chain) const {
    // The true numbers behind right ones are known, those behind wrong ones are anything that these can mean.
    const auto fits = chain == Chain::printed ? allows : follows;
    const Node& node = sheet_.plan()[at.node];
    if (node.op->name != std::string_view("hard_read")) return fits(written, image);
    // Which of two nearly equal weights is the largest, rounding decides; then the image spans their values,
    // and one of the values must have been read, not something between.
    const IntervalMatrix& v = sheet_.value(node.inputs[1], chain);
    for (Index j = 0; j < v.rows(); ++j) {
      if (meets(v(j, at.col), image) && fits(written, v(j, at.col))) return true;
    }
    return false;
  }

  // How what follows from an error is carried, beside with the written numbers themselves: with all the
  // digits of a calculator, from the first error on or from every written number on; or rounded as on paper
  // at steps that were not handed in.
  static constexpr std::array kCarried{Chain::continued, Chain::printed, Chain::paper};

  void accept_carried(JudgedStep& step, Chain chain) const {
    if (!has_wrong(step) || !sheet_.has_departed_before(step.node)) return;
    const IntervalMatrix image = sheet_.image(step.node, chain);
    const Given& given = *sheet_.answer(step.node);
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        Verdict& verdict = step.cells(i, j);
        if (verdict == Verdict::wrong &&
            explains({step.node, i, j}, sheet_.written(given.at(i, j)), image(i, j), chain))
          verdict = Verdict::carried;
      }
    }
  }

  // Steps that were rounded on the way and not handed in: everything as on paper, to the decimals of this
  // step.
  void accept_paper(JudgedStep& step) const {
    if (!has_wrong(step) || sheet_.has_departed_before(step.node)) return;
    const Given& given = *sheet_.answer(step.node);
    int decimals = 0;
    for (const Number& number : given.cells) decimals = std::max(decimals, number.decimals);
    if (decimals == 0) return;
    const Trace paper = run(sheet_.plan(), {.rounds_to = decimals});
    MatrixOf<Verdict> cells = step.cells;
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        if (cells(i, j) != Verdict::wrong) continue;
        const Interval on_paper = paper.proof().enclosure({step.node, i, j});
        // One cell that paper does not explain, and it was not worked on paper.
        if (!follows(sheet_.written(given.at(i, j)), on_paper)) return;
        cells(i, j) = Verdict::rounded;
      }
    }
    step.cells = std::move(cells);
  }

  // Whether the true value lies in the range; at its ends too, because both rules for ties are in use.
  bool is_true(const CellPlace& at, const Number& number, const Written& written) const {
    const double value = sheet_.truth().values(at.node)(at.row, at.col);
    if (std::isnan(value) || number.kind == Number::Kind::nan)
      return std::isnan(value) && number.kind == Number::Kind::nan;
    Proof& proof = sheet_.truth().proof();
    if (number.kind == Number::Kind::infinite) return value == number.value;
    if (!meets(proof.enclosure(at), written.range)) return false;
    const Exact exact = proof.exact(at);
    const Exact middle = exact_value(number);
    const Exact half = written.unit ? Exact(Rational(*written.unit / 2)) : Exact(0);
    const auto above = compare(exact, middle - half);
    const auto below = compare(exact, middle + half);
    return !above || !below || (*above >= 0 && *below <= 0);
  }

  // The step itself, or those behind it when the scaled scores were not handed in: one a head.
  std::vector<NodeId> steps_scaled_by(NodeId step) const {
    std::vector<NodeId> scaled;
    for (NodeId id = 0; id <= step; ++id) {
      const Node& node = sheet_.plan()[id];
      const bool is_scaled = node.name() == "scaled" && node.op->name == std::string_view("scale");
      if (is_scaled && (id == step || sheet_.answer(id) == nullptr)) scaled.push_back(id);
    }
    return scaled;
  }

  // "One rounding of √d_k explains all cells."
  void try_rounded_roots(JudgedStep& step) {
    const std::vector<NodeId> scaled = steps_scaled_by(step.node);
    if (scaled.empty()) return;
    for (int decimals = kMostRootDecimals; decimals >= 1; --decimals) {
      const std::string root = root_text(sheet_.plan()[scaled.front()].params.numbers[0], decimals);
      if (root.find_first_of("123456789") == std::string::npos) continue;  // a root of less than 0.05
      const Interval divisor = enclose_decimal(root);
      const auto image = [&](Chain chain) {
        Sheet::Changes changes;
        for (const NodeId node : scaled) {
          const NodeId before = sheet_.plan()[node].inputs[0];
          IntervalMatrix scores =
              changes.empty() ? sheet_.value(before, chain) : sheet_.image(before, chain, changes);
          for (Index i = 0; i < scores.rows(); ++i) {
            for (Index j = 0; j < scores.cols(); ++j) scores(i, j) = scores(i, j) / divisor;
          }
          changes.emplace(node, std::move(scores));
        }
        return sheet_.image(step.node, chain, changes);
      };
      const IntervalMatrix theirs = image(Chain::theirs);
      if (!explains_all(step.node, theirs)) continue;
      step.cells = verdicts(step.node, {image(Chain::mended), theirs, theirs});
      step.is_rounded_root = true;
      step.root = root;
      return;
    }
  }

  // Digits cut off where they should be rounded: forgiven when that explains every cell that is off.
  void accept_cut_off(JudgedStep& step, const Images& images) const {
    const Given& given = *sheet_.answer(step.node);
    MatrixOf<Verdict> cells = step.cells;
    std::optional<CellPlace> first;
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        if (cells(i, j) != Verdict::wrong) continue;
        const CellPlace at{step.node, i, j};
        const auto verdict = verdict_of_cut_off(at, given.at(i, j), images);
        if (!verdict) return;
        cells(i, j) = *verdict;
        if (!first) first = at;
      }
    }
    step.cells = std::move(cells);
    step.is_cut_off = true;
    point_at(step, *first, expected(*first, before_the_cut(*first)));
  }

  std::optional<Verdict> verdict_of_cut_off(const CellPlace& at, const Number& number,
                                            const Images& images) const {
    const auto cut = cut_off_range(number);
    if (!cut) return std::nullopt;
    const auto is_cut_from = [&](const IntervalMatrix& image, Chain chain) {
      return explains(at, *cut, image(at.row, at.col), chain);
    };
    if (follows(*cut, sheet_.truth().proof().enclosure(at)) || is_cut_from(images.mended, Chain::mended))
      return Verdict::rounded;
    if (is_cut_from(images.theirs, Chain::theirs) || is_cut_from(images.literal, Chain::literal) ||
        is_cut_from(sheet_.image(at.node, Chain::continued), Chain::continued))
      return sheet_.has_departed_before(at.node) ? Verdict::carried : Verdict::rounded;
    return std::nullopt;
  }

  // What the number was that was cut off.
  Interval before_the_cut(const CellPlace& at) const {
    const Written cut = *cut_off_range(sheet_.answer(at.node)->at(at.row, at.col));
    const Interval truth = sheet_.truth().proof().enclosure(at);
    if (follows(cut, truth)) return truth;
    for (const Chain chain : {Chain::literal, Chain::continued, Chain::mended}) {
      const Interval image = sheet_.image(at.node, chain)(at.row, at.col);
      if (explains(at, cut, image, chain)) return image;
    }
    return sheet_.image(at.node, Chain::theirs)(at.row, at.col);
  }

  // Also those that the true root explains: a sheet has one root.
  bool explains_all(NodeId id, const IntervalMatrix& image) const {
    const Given& given = *sheet_.answer(id);
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        const Number& number = given.at(i, j);
        if (number.kind == Number::Kind::blank) continue;
        if (!explains({id, i, j}, sheet_.written(number), image(i, j), Chain::theirs)) return false;
      }
    }
    return true;
  }

  static bool has_wrong(const JudgedStep& step) { return (step.cells.array() == Verdict::wrong).any(); }

  static Verdict worst(const MatrixOf<Verdict>& cells) {
    Verdict found = Verdict::blank;
    for (Index k = 0; k < cells.size(); ++k) {
      const Verdict v = cells(k);
      if (v == Verdict::blank) continue;
      if (found == Verdict::blank || v > found) found = v;
    }
    return found;
  }

  // A number that follows, with as many decimals as were written there, or as the problem has.
  std::string expected(const CellPlace& at, const Interval& number) const {
    const Number& written = sheet_.answer(at.node)->at(at.row, at.col);
    const int decimals = written.is_decimal && written.decimals > 0 ? written.decimals : decimals_;
    const bool is_true = allows({sheet_.truth().proof().enclosure(at), {}}, number);
    return is_true ? sheet_.truth().text(at.node, at.row, at.col, decimals)
                   : fixed_text(middle_double(number), decimals);
  }

  void point_at(JudgedStep& step, const CellPlace& at, std::string expected) const {
    step.row = at.row;
    step.col = at.col;
    step.expected = std::move(expected);
  }

  void explain(JudgedStep& step) const {
    const Given& given = *sheet_.answer(step.node);
    Index first = 0;
    while (step.cells(first / given.cols, first % given.cols) != Verdict::wrong) ++first;
    const CellPlace at{step.node, first / given.cols, first % given.cols};
    point_at(step, at, expected(at, sheet_.image(at.node, Chain::literal)(at.row, at.col)));
    step.mistakes = mistakes_behind(sheet_, step.node, step.cells);
    const double first_value = given.cells.front().value;
    step.is_trivial =
        std::all_of(given.cells.begin(), given.cells.end(),
                    [&](const Number& n) {
                      return n.value == first_value || (std::isnan(n.value) && std::isnan(first_value));
                    }) &&
        given.cells.size() > 1;
  }

  // Whoever cuts Q into heads in the wrong way cuts K and V so too.  What is said of the first of these steps
  // is what explains all of them.
  void find_repeats() {
    std::vector<JudgedStep*> first_steps;
    for (JudgedStep& step : result_.steps) {
      if (step.mistakes.empty() || step.mistakes.front()->is_slip()) continue;
      const auto first = std::find_if(first_steps.begin(), first_steps.end(), [&](const JudgedStep* earlier) {
        return !common(earlier->mistakes, step.mistakes).empty();
      });
      if (first == first_steps.end()) {
        first_steps.push_back(&step);
        continue;
      }
      (*first)->mistakes = common((*first)->mistakes, step.mistakes);
      step.repeats = (*first)->node;
    }
  }

  static std::vector<const Mistake*> common(const std::vector<const Mistake*>& a,
                                            const std::vector<const Mistake*>& b) {
    std::vector<const Mistake*> both;
    for (const Mistake* mistake : a) {
      if (std::any_of(b.begin(), b.end(),
                      [&](const Mistake* other) { return std::string_view(other->id) == mistake->id; }))
        both.push_back(mistake);
    }
    return both;
  }

  // A step earns its point when it is filled in and nothing in it is wrong; carried steps count,
  // unless they follow from a sheet of equal numbers, which asks for no work.  Nor does a copy of what the
  // problem gives.  A slip costs one point, wherever it is made again.
  void count_points() {
    bool is_after_trivial = false;
    for (JudgedStep& step : result_.steps) {
      if (is_copied(sheet_.plan()[step.node])) continue;
      ++result_.of;
      const bool is_filled = !(step.cells.array() == Verdict::blank).any();
      const bool is_empty_carry = step.verdict == Verdict::carried && is_after_trivial;
      const bool is_counted = step.verdict == Verdict::wrong && (!step.repeats || step.is_trivial);
      step.earns = is_filled && !is_counted && !is_empty_carry;
      if (step.earns) ++result_.points;
      is_after_trivial = is_after_trivial || step.is_trivial;
    }
  }

  Sheet sheet_;
  int decimals_;
  Judgement result_;
};

}  // namespace

bool Judgement::is_right() const {
  return std::none_of(steps.begin(), steps.end(),
                      [](const JudgedStep& s) { return s.verdict == Verdict::wrong; });
}

namespace {

// Rows are known by their labels where the sheet has them; a label that the step lacks is pointed out, and
// the rows then stand as they are.
Given in_order_of_labels(const Given& written, const std::vector<std::string>& labels,
                         const std::string& step, const AnswerFile& file, Diagnostics& diagnostics) {
  if (written.row_labels.empty() || labels.empty() || written.row_labels == labels) return written;
  Given ordered = written;
  std::vector<bool> is_used(labels.size(), false);
  for (std::size_t i = 0; i < written.row_labels.size(); ++i) {
    const std::string& label = written.row_labels[i];
    if (label.empty()) return written;
    const auto place = std::find(labels.begin(), labels.end(), label);
    const std::size_t to = static_cast<std::size_t>(place - labels.begin());
    if (place == labels.end() || is_used[to]) {
      diagnostics.warning(
          file.source, written.span,
          say({"[{0}] has a row '{1}', the problem has not: its rows are taken in their order",
               "[{0}] 有一行标为“{1}”，而题目没有：各行按顺序对应"},
              step, label));
      return written;
    }
    is_used[to] = true;
    for (Index j = 0; j < written.cols; ++j)
      ordered.cells[to * static_cast<std::size_t>(written.cols) + static_cast<std::size_t>(j)] =
          written.at(static_cast<Index>(i), j);
  }
  ordered.row_labels = labels;
  return ordered;
}

bool has_number(const Given& given) {
  return std::any_of(given.cells.begin(), given.cells.end(),
                     [](const Number& n) { return n.kind != Number::Kind::blank; });
}

Given transposed(const Given& given) {
  Given turned = given;
  turned.rows = given.cols;
  turned.cols = given.rows;
  turned.row_labels.clear();
  turned.cells.clear();
  for (Index i = 0; i < turned.rows; ++i) {
    for (Index j = 0; j < turned.cols; ++j) turned.cells.push_back(given.at(j, i));
  }
  return turned;
}

// Whether the answers have the shapes of the transposed steps, all of them, and not their own.
bool fits_in_columns_alone(const Plan& plan, const AnswerFile& file) {
  bool has_other_shape = false;
  for (const Answer& answer : file.answers) {
    const auto node = plan.find(answer.step);
    if (!node) return false;
    const Shape shape = plan[*node].shape;
    if (answer.written.rows != shape.cols || answer.written.cols != shape.rows) return false;
    has_other_shape = has_other_shape || shape.rows != shape.cols;
  }
  return has_other_shape;
}

// The latest step that leaves rows of a cache out, on the way to this one.
std::optional<NodeId> eviction_before(const Plan& plan, NodeId id) {
  std::vector<bool> is_behind(id + 1);
  is_behind[id] = true;
  for (NodeId at = id + 1; at-- > 0;) {
    if (!is_behind[at]) continue;
    if (plan[at].name().ends_with(".kept")) return at;
    for (const NodeId input : plan[at].inputs) is_behind[input] = true;
  }
  return std::nullopt;
}

// Who forgets to evict has all later steps too large, in every head and pass: one mistake, told once.
class ForgottenEviction {
 public:
  ForgottenEviction(const Plan& plan, const AnswerFile& file) : plan_(plan) {
    for (const Answer& answer : file.answers) count_ += kept_before(answer) ? 1 : 0;
  }

  // Whether this is why an answer of another shape has it.
  bool report(const Answer& answer, const AnswerFile& file, Diagnostics& diagnostics) {
    const auto kept = kept_before(answer);
    if (!kept) return false;
    if (std::exchange(is_told_, true)) return true;
    const Shape shape = plan_[*plan_.find(answer.step)].shape;
    const Given& written = answer.written;
    Said labels;
    for (const std::string& label : plan_[*kept].rows) {
      labels.en += (labels.en.empty() ? "" : ", ") + label;
      labels.zh += (labels.zh.empty() ? "" : "、") + label;
    }
    diagnostics.error(
        file.source, written.span,
        count_ == 1
            ? say({"[{0}] is {1}×{2}, but {0} is {3}×{4}", "[{0}] 是 {1}×{2}，而 {0} 是 {3}×{4}"},
                  answer.step, written.rows, written.cols, shape.rows, shape.cols)
            : say({"[{0}] is {1}×{2}, but {0} is {3}×{4}; {5} steps of this sheet are too large like this",
                   "[{0}] 是 {1}×{2}，而 {0} 是 {3}×{4}；答卷上共有 {5} 步这样偏大"},
                  answer.step, written.rows, written.cols, shape.rows, shape.cols, count_),
        say({"did the cache keep keys that no query sees any more? {0} keeps the rows of {1} and drops the "
             "others, and the new token is added to these",
             "缓存里是不是还留着再也看不到的键？{0} 只留下 {1} 这几行，逐出其余的，新的 token 接在它们之后"},
            plan_[*kept].id, labels));
    return true;
  }

 private:
  std::optional<NodeId> kept_before(const Answer& answer) const {
    const auto id = plan_.find(answer.step);
    if (!id || plan_[*id].role != Role::step || plan_[*id].is_symbolic()) return std::nullopt;
    const Shape shape = plan_[*id].shape;
    const Shape written = answer.written.shape();
    const bool is_larger = written.rows >= shape.rows && written.cols >= shape.cols && written != shape;
    return is_larger ? eviction_before(plan_, *id) : std::nullopt;
  }

  const Plan& plan_;
  int count_ = 0;
  bool is_told_ = false;
};

// How often each key stands in a table of queries and keys that is too wide (M57): shared keys were repeated
// along the tokens instead of the heads, neighbour by neighbour or as a whole.  1 for any other shape.
Index times_each_key_stands(const Given& written, const Node& node) {
  const Index keys = node.shape.cols;
  if (node.cols.empty() || written.rows != node.shape.rows || keys < 1 || written.cols % keys != 0) return 1;
  const Index times = written.cols / keys;
  const auto is_repeated = [&](auto original) {
    for (Index i = 0; i < written.rows; ++i) {
      for (Index j = 0; j < written.cols; ++j) {
        if (written.at(i, j).value != written.at(i, original(j)).value) return false;
      }
    }
    return true;
  };
  const bool is_told = times > 1 && (is_repeated([&](Index j) { return j / times * times; }) ||
                                     is_repeated([&](Index j) { return j % keys; }));
  return is_told ? times : 1;
}

}  // namespace

std::map<NodeId, Given> fit_answers(const Plan& plan, const AnswerFile& file, Diagnostics& diagnostics) {
  std::map<NodeId, Given> fitting;
  std::vector<std::string> ids;
  for (const Node& node : plan.nodes) {
    if (node.role == Role::step) ids.push_back(node.id);
  }
  bool has_work = false;
  bool has_copy = false;
  const bool is_in_columns = fits_in_columns_alone(plan, file);
  ForgottenEviction eviction(plan, file);
  for (const Answer& answer : file.answers) {
    const Span header = answer.written.span;
    if (answer.step.empty()) {
      diagnostics.error(file.source->name,
                        say({"the numbers stand under no step", "这些数字没有写明是哪一步"}),
                        say({"write the step above them: [weights]; qkv diff compares a matrix alone",
                             "请在上面写明步骤：[weights]；单独的矩阵可用 qkv diff 比较"}));
      continue;
    }
    if (std::find(ids.begin(), ids.end(), answer.step) == ids.end()) {
      diagnostics.error(file.source, header,
                        say({"this problem has no step '{0}'", "这道题没有名为“{0}”的步骤"}, answer.step),
                        hint_for_step(plan, answer.step, ids));
      continue;
    }
    const NodeId id = *plan.find(answer.step);
    const Node& node = plan[id];
    if (node.is_symbolic()) {
      diagnostics.error(
          file.source, header,
          say({"'{0}' is symbolic here, and cannot be marked", "“{0}”在这里是符号，不能批改"}, answer.step),
          say({"[weights] holds its coefficients", "它的系数就是 [weights]"}));
      continue;
    }
    if (answer.written.shape() != node.shape && !is_in_columns) {
      if (eviction.report(answer, file, diagnostics)) continue;
      diagnostics.error(
          file.source, header,
          say({"[{0}] is {1}×{2}, but {0} is {3}×{4}", "[{0}] 是 {1}×{2}，而 {0} 是 {3}×{4}"}, answer.step,
              answer.written.rows, answer.written.cols, node.shape.rows, node.shape.cols),
          times_each_key_stands(answer.written, node) > 1
              ? say({"every key occurs {0} times: the repeat ran along the tokens, not the heads",
                     "每个键出现了 {0} 次：重复的是 token，不是头"},
                    times_each_key_stands(answer.written, node))
              : Said());
      continue;
    }
    const Given written = is_in_columns
                              ? answer.written
                              : in_order_of_labels(answer.written, node.rows, answer.step, file, diagnostics);
    if (has_number(written)) (is_copied(node) ? has_copy : has_work) = true;
    fitting.emplace(id, written);
  }
  if (has_work || diagnostics.has_errors()) return fitting;
  if (has_copy) {
    diagnostics.error(file.source->name,
                      say({"the sheet holds nothing but what the problem gives", "答卷上只有题目给出的数"}),
                      say({"fill in a step that is to be worked out", "请填写需要计算的步骤"}));
  } else {
    diagnostics.error(file.source->name, say({"nothing is filled in", "答卷上什么都没有填"}),
                      say({"write numbers in place of _", "请在 _ 处填上数字"}));
  }
  return fitting;
}

namespace {

Index wrong_steps(const Judgement& judgement) {
  return std::count_if(judgement.steps.begin(), judgement.steps.end(),
                       [](const JudgedStep& s) { return s.verdict == Verdict::wrong; });
}

Judgement judge_in_columns(const Trace& truth, std::map<NodeId, Given> answers, int decimals) {
  for (auto& [node, given] : answers) given = transposed(given);
  Judgement judgement = Judge(truth, std::move(answers), decimals).judge();
  judgement.is_in_columns = true;
  return judgement;
}

}  // namespace

Judgement judge(const Trace& truth, std::map<NodeId, Given> answers, int decimals) {
  const auto all_have_shape = [&](const auto& shape_of) {
    return std::all_of(answers.begin(), answers.end(),
                       [&](const auto& a) { return shape_of(a.second) == truth.plan()[a.first].shape; });
  };
  const bool fits_in_rows = all_have_shape([](const Given& g) { return g.shape(); });
  const bool fits_in_columns = all_have_shape([](const Given& g) { return Shape{g.cols, g.rows}; });
  if (!fits_in_rows) return judge_in_columns(truth, std::move(answers), decimals);
  Judgement in_rows = Judge(truth, answers, decimals).judge();
  // Square tables do not show which way they are meant.  One that is transposed may be a mistake of that
  // step; two are a habit.
  if (!fits_in_columns || wrong_steps(in_rows) < 2) return in_rows;
  Judgement in_columns = judge_in_columns(truth, std::move(answers), decimals);
  return wrong_steps(in_columns) + 2 <= wrong_steps(in_rows) ? in_columns : in_rows;
}

}  // namespace qkv

#include "report/checks.h"

#include <algorithm>
#include <cmath>

#include "plan/training.h"
#include "run/checks.h"
#include "run/slope.h"

namespace qkv {
namespace {

class Footer {
 public:
  Footer(const Trace& trace, Language language) : trace_(trace), plan_(trace.plan()), language_(language) {}

  std::vector<Block> blocks() {
    blocks_.emplace_back(Heading{0, say({"Checks", "核对"}).in(language_), ""});
    for (NodeId id = 0; id < plan_.nodes.size(); ++id) {
      const Node& node = plan_[id];
      if (node.name() == "weights" && node.role == Role::step && !is_gradient(node)) softmax_and_read(id);
    }
    gradients();
    if (blocks_.size() == 1) blocks_.clear();
    return std::move(blocks_);
  }

 private:
  // Of one head.
  void softmax_and_read(NodeId weights) {
    const Node& node = plan_[weights];
    const auto output = plan_.find(node.prefix + "output");
    const auto naive_exp = plan_.find(node.prefix + "naive.exp");
    const auto naive_sum = plan_.find(node.prefix + "naive.sum");
    const bool has_sink = naive_sum && !plan_[*naive_sum].params.numbers.empty();
    if (has_sink) {
      line({"the weights of a row sum to at most 1, the sink takes the rest",
            "每行权重之和不超过 1，其余归汇聚（sink）"},
           rows_sum_to_less(trace_, weights), {"rows", "行"}, node);
    } else if (!has_eps(node)) {
      line({"the weights of a row sum to 1", "每行权重之和为 1"}, rows_sum_to_one(trace_, weights),
           {"rows", "行"}, node);
    }
    line({"the weight of a forbidden key is 0", "被屏蔽的键权重为 0"},
         forbidden_weights_are_zero(trace_, weights), {"cells", "个单元格"}, node);
    if (naive_exp && naive_sum) {
      line({"subtracting the maximum changes no weight", "减去最大值不改变任何权重"},
           shift_changes_nothing(trace_, weights, *naive_exp, *naive_sum), {"cells", "个单元格"}, node);
    }
    if (output && !has_sink && !plan_[*output].is_symbolic() &&
        plan_[*output].op->name == std::string_view("weighted_sum")) {
      line({"the output lies in the hull of the values", "输出落在各个值的凸包之内"},
           output_is_in_hull(trace_, *output), {"bounds", "个界"}, plan_[*output]);
    }
    compare(node.prefix, "scores", "cached.scores",
            {"what is cached gives the same scores, no key restored",
             "只用缓存的内容、不还原键，得到同样的分数"});
    compare(node.prefix, "output", "cached.output",
            {"what is cached gives the same output, no value restored",
             "只用缓存的内容、不还原值，得到同样的输出"});
    compare(node.prefix, "output", "quadratic.output",
            {"both orders of multiplication give the same output", "两种相乘顺序得到同样的输出"});
  }

  // A step and the same computed in another way, where both are there.
  void compare(const std::string& prefix, const char* step, const char* other_way, const Text& claim) {
    const auto a = plan_.find(prefix + step);
    const auto b = plan_.find(prefix + other_way);
    if (a && b) line(claim, values_are_equal(trace_, *a, *b), {"cells", "个单元格"}, plan_[*a]);
  }

  // Linear attention whose denominators have something added.
  bool has_eps(const Node& weights) const {
    return std::string_view(weights.op->name) == "kernel_weights" &&
           !plan_[weights.inputs[1]].params.numbers.empty();
  }

  // Of everything given that has one.
  void gradients() {
    for (NodeId id = 0; id < plan_.nodes.size(); ++id) {
      const auto gradient = plan_.find("d." + plan_[id].id);
      if (plan_[id].given.empty() || !gradient || id == plan_.last_step()) continue;
      line({"is the slope of the loss, (loss(x + h) − loss(x − h)) / 2h",
            "等于损失的差商 (loss(x + h) − loss(x − h)) / 2h"},
           gradient_is_slope(trace_, id, *gradient), {"cells", "个单元格"}, plan_[*gradient]);
    }
  }

  // The power of ten that is not below it.  A bound on doubles depends on the machine; in steps of a
  // thousand, and from 1e-9 on, all say the same.
  std::string magnitude(double by) const {
    if (!std::isfinite(by) || by <= 0) return fmt::format("{}", by);
    double exponent = std::ceil(std::log10(by));
    if (trace_.arithmetic() == Arithmetic::doubles) exponent = std::max(-9.0, 3 * std::ceil(exponent / 3));
    return fmt::format("{:.0e}", std::pow(10, exponent));
  }

  void line(const Text& claim, const Finding& finding, const Text& things, const Node& node) {
    const std::string what = (node.prefix.empty() ? "" : node.id + ": ") + claim.in(language_);
    const std::string unit = things.in(language_);
    switch (finding.outcome) {
      case Finding::Outcome::absent:
        return;
      case Finding::Outcome::exactly:
        return add(say({"{0}: exactly; {2} checked: {1}", "{0}：严格成立（核对了 {1} {2}）"}, what,
                       finding.count, unit),
                   Tone::good);
      case Finding::Outcome::within:
        return add(say({"{0}: to within {3}; {2} checked: {1}", "{0}：误差不超过 {3}（核对了 {1} {2}）"},
                       what, finding.count, unit, magnitude(finding.by)),
                   Tone::good);
      case Finding::Outcome::fails: {
        const std::string row = node.rows.empty() ? std::to_string(finding.row + 1)
                                                  : node.rows[static_cast<std::size_t>(finding.row)];
        return add(std::isfinite(finding.by) ? say({"{0}: does not hold; worst in row {1}, off by {2}",
                                                    "{0}：不成立；{1} 一行偏差最大，为 {2}"},
                                                   what, row, fmt::format("{:.2g}", finding.by))
                                             : say({"{0}: does not hold; in row {1} a number is not finite",
                                                    "{0}：不成立；{1} 一行有不是有限的数"},
                                                   what, row),
                   Tone::note);
      }
    }
  }

  void add(const Said& said, Tone tone) { blocks_.emplace_back(Paragraph{said.in(language_), tone}); }

  const Trace& trace_;
  const Plan& plan_;
  Language language_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Block> checks(const Trace& trace, Language language) { return Footer(trace, language).blocks(); }

}  // namespace qkv

#include "report/remarks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bounded.h"
#include "report/cell_text.h"
#include "report/hull_remark.h"
#include "run/proof.h"

namespace qkv {
namespace {

// More columns than this, and the hull is told in one sentence instead of one bound a column.
constexpr Index kMostHullColumns = 4;

// Far below any digit of a weight that somebody writes down, far above rounding.
constexpr double kSumTolerance = 1e-9;

// "X" or "X_kv" where these values are its rows, through heads and caches; else nothing.  In a later layer
// V = X is what the layer before has made.
std::string_view tokens_read_as(const Plan& plan, NodeId values) {
  const Node& node = plan[values];
  if (node.name().starts_with('X')) return node.name().substr(0, node.name().find('.'));
  if (!node.name().starts_with('V') || node.inputs.empty()) return {};
  const std::string_view tokens = tokens_read_as(plan, node.inputs[0]);
  // The first is not asked again: in a cache each token would double the work.
  const bool are_all = std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                   [&](NodeId input) { return tokens_read_as(plan, input) == tokens; });
  return are_all ? tokens : std::string_view();
}

class Remarks {
 public:
  Remarks(const Trace& trace, const std::vector<Index>& rows, const Telling& telling)
      : trace_(trace), plan_(trace.plan()), rows_(rows), telling_(telling) {}

  std::vector<Block> of(NodeId id) {
    const Node& node = plan_[id];
    const std::string_view op = node.op->name;
    if (node.name() == "scores") symmetry(id);
    if (node.name() == "weights") row_sum_remark(id);
    if (op == "hard_read") keys_read(id);
    if (op == "widths") bytes_of_token(id);
    // Rounded weights of a small format do not sum to 1 exactly, and the hull would be claimed wrongly.
    const bool has_hull = node.name() == "output" && op == "weighted_sum";
    if (has_hull && !node.is_symbolic() && trace_.arithmetic() != Arithmetic::format) {
      hull(id);
      if (trace_.arithmetic() != Arithmetic::plain) {
        for (Block& block : hull_remark(trace_, id, rows_, telling_)) blocks_.push_back(std::move(block));
      }
    }
    return std::move(blocks_);
  }

 private:
  void paragraph(const Said& said, Tone tone = Tone::plain) {
    blocks_.emplace_back(Paragraph{said.in(telling_.language), tone});
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

  // Whether the first of two visible weights is the larger one, or both are the same, for certain.
  bool is_not_exceeded(const CellPlace& a, const CellPlace& b) const {
    const double difference = trace_.values(a.node)(a.row, a.col) - trace_.values(b.node)(b.row, b.col);
    if (difference != 0 || trace_.arithmetic() != Arithmetic::proved) return difference >= 0;
    const auto order = compare(trace_.proof().exact(a), trace_.proof().exact(b));
    return order && *order >= 0;
  }

  // The key whose value this query takes: of equals the first.  nullopt when none is visible, or when two are
  // so near that it is not certain.
  std::optional<Index> key_read(NodeId read, Index row) const {
    const NodeId weights = plan_[read].inputs[0];
    for (Index key = 0; key < plan_[weights].shape.cols; ++key) {
      if (!is_allowed(plan_[read].params, row, key)) continue;
      bool is_largest = true;
      for (Index other = 0; other < plan_[weights].shape.cols && is_largest; ++other) {
        if (other != key && is_allowed(plan_[read].params, row, other))
          is_largest = is_not_exceeded({weights, row, key}, {weights, row, other});
      }
      if (is_largest) return key;
    }
    return std::nullopt;
  }

  // "t1 reads t3; t2 reads t1"
  void keys_read(NodeId id) {
    const Node& table = plan_[plan_[id].inputs[0]];
    Said reads;
    for (const Index i : rows_) {
      const auto key = key_read(id, i);
      if (!key) continue;
      const Said next = say({"{0} reads {1}", "{0} 读 {1}"}, table.rows[static_cast<std::size_t>(i)],
                            table.cols[static_cast<std::size_t>(*key)]);
      reads = reads.empty() ? next : say({"{0}; {1}", "{0}；{1}"}, reads, next);
    }
    if (!reads.empty()) paragraph(say({"{0}.", "{0}。"}, reads));
  }

  // Every row costs the same.
  void bytes_of_token(NodeId id) {
    const auto numbers = static_cast<long>(trace_.row_sum(id, 0));
    paragraph(say({"Bytes of a token: {0} in fp16 or bf16, {1} in fp32.",
                   "每个 token 的字节数：fp16、bf16 下是 {0}，fp32 下是 {1}。"},
                  2 * numbers, 4 * numbers));
  }

  // What follows asks for the values themselves only where their bounds leave it open.

  // Else the values are at hand, and all there is.
  bool knows_bounds() const { return trace_.arithmetic() == Arithmetic::proved; }

  bool sums_to_one(NodeId weights, Index row) const {
    const Bounded sum = trace_.computed_row_sum(weights, row);
    const double off = std::abs(sum.value - 1);
    if (off + 2 * sum.error < kSumTolerance) return true;
    return std::abs(trace_.row_sum(weights, row) - 1) < kSumTolerance;
  }

  bool has_negative(NodeId weights, Index row) const {
    bool is_open = !knows_bounds();
    for (Index j = 0; j < plan_[weights].shape.cols && !is_open; ++j) {
      const Bounded weight = trace_.computed(weights, row, j);
      is_open = !(weight.value >= weight.error);
    }
    return is_open && trace_.values(weights).row(row).minCoeff() < 0;
  }

  // Where the smallest and the largest stand; of equals the first.
  std::pair<Index, Index> range_of_column(NodeId v, Index col) const {
    const Matrix* const values = knows_bounds() ? nullptr : &trace_.values(v);
    const auto at = [&](Index row) {
      return values != nullptr ? Bounded((*values)(row, col)) : trace_.computed(v, row, col);
    };
    const Index rows = plan_[v].shape.rows;
    Index least = 0;
    Index most = 0;
    for (Index i = 1; i < rows; ++i) {
      if (at(i).value < at(least).value) least = i;
      if (at(i).value > at(most).value) most = i;
    }
    const auto is_equal = [&](Index a, Index b) {
      return at(a).value == at(b).value && at(a).error == 0 && at(b).error == 0;
    };
    bool is_open = false;
    for (Index i = 0; i < rows; ++i) {
      const bool is_above = certainly_exceeds(at(i), at(least)) || is_equal(i, least);
      const bool is_below = certainly_exceeds(at(most), at(i)) || is_equal(i, most);
      is_open = is_open || !((i == least || is_above) && (i == most || is_below));
    }
    if (is_open) {
      trace_.values(v).col(col).minCoeff(&least);
      trace_.values(v).col(col).maxCoeff(&most);
    }
    return {least, most};
  }

  // Weights that are not negative and sum to 1 can only mix: every output lies between the
  // smallest and the largest value of its column.
  void hull(NodeId id) {
    const Node& node = plan_[id];
    const NodeId weights = node.inputs[0];
    const NodeId v = node.inputs[1];
    for (const Index i : rows_) {
      const std::string row = plan_[weights].rows[static_cast<std::size_t>(i)];
      if (!sums_to_one(weights, i)) {
        paragraph(say({"Hull: not stated, because the weights of row {0} sum to {1}, not to 1.",
                       "凸包：不作断言，因为 {0} 那一行的权重之和是 {1}，不是 1。"},
                      row, trace_.row_sum_text(weights, i, telling_.decimals)),
                  Tone::faint);
        return;
      }
      if (has_negative(weights, i)) {
        paragraph(say({"Hull: not stated, because row {0} has a negative weight.",
                       "凸包：不作断言，因为 {0} 那一行有负的权重。"},
                      row),
                  Tone::faint);
        return;
      }
    }
    const std::string_view tokens = tokens_read_as(plan_, v);
    const std::string rows_of = tokens.empty() ? plan_[v].id : std::string(tokens);
    Said bounds;
    for (Index c = 0; c < node.shape.cols && node.shape.cols <= kMostHullColumns; ++c) {
      const auto [least, most] = range_of_column(v, c);
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

  const Trace& trace_;
  const Plan& plan_;
  const std::vector<Index>& rows_;
  const Telling& telling_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Block> remarks(const Trace& trace, NodeId id, const std::vector<Index>& rows,
                           const Telling& telling) {
  return Remarks(trace, rows, telling).of(id);
}

}  // namespace qkv

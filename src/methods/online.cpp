// The softmax tile by tile, as FlashAttention has it: a running maximum, a running sum and an
// accumulator that are rescaled whenever the maximum grows.  The table of all scores never exists.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "methods/pass.h"
#include "ops/rows.h"

namespace qkv {
namespace {

std::vector<Index> counted(Index first, Index count) {
  std::vector<Index> list;
  for (Index i = 0; i < count; ++i) list.push_back(first + i);
  return list;
}

std::vector<Number> as_numbers(const std::vector<Index>& rows) {
  std::vector<Number> numbers;
  for (const Index row : rows) numbers.push_back(whole_number(static_cast<long>(row + 1)));
  return numbers;
}

class OnlineSoftmax {
 public:
  OnlineSoftmax(const Problem& problem, Builder& builder, Parameters& parameters, const Head& head)
      : problem_(problem),
        builder_(builder),
        parameters_(parameters),
        head_(head),
        prefix_(builder.prefix()),
        queries_(static_cast<Index>(problem.tokens.size())),
        keys_(static_cast<Index>(problem.kv_tokens.size())),
        tile_{std::min(problem.tile->rows, queries_), std::min(problem.tile->cols, keys_)} {}

  NodeId run() {
    std::vector<NodeId> outputs;
    for (Index row = 0; row < queries_; row += tile_.rows) outputs.push_back(rows_from(row));
    builder_.name_under(prefix_);
    const std::vector<std::string> basis = builder_[*head_.v].basis;
    const Index d = builder_[head_.q].shape.cols;
    const Index d_v = builder_[*head_.v].shape.cols;
    // A tile of Q, K and V, its scores, and three running numbers a query.
    const Index held = tile_.rows * (d + d_v + 2) + tile_.cols * (d + d_v) + tile_.rows * tile_.cols;
    return builder_.step(
        "output", ops::tiled, std::move(outputs),
        {.numbers = {whole_number(held), whole_number(queries_ * keys_), whole_number(skipped_)}},
        {.rows = problem_.tokens, .basis = basis});
  }

 private:
  struct Running {
    NodeId max = 0;
    NodeId sum = 0;
    NodeId acc = 0;
  };

  // The output of the queries of one row of tiles.
  NodeId rows_from(Index row) {
    const Index count = std::min(tile_.rows, queries_ - row);
    std::optional<Running> running;
    for (Index col = 0; col < keys_; col += tile_.cols) {
      const Index width = std::min(tile_.cols, keys_ - col);
      const Problem part = part_of(problem_, row, count, counted(col, width));
      const bool is_last = col + tile_.cols >= keys_;
      // One tile at least, for rows that see nothing at all.
      const auto& allowed = part.allowed_to(head_.index);
      const bool is_hidden = allowed && !allowed->any() && !(is_last && !running);
      if (is_hidden) {
        ++skipped_;
        continue;
      }
      builder_.name_under(prefix_ + "b" + std::to_string(++tiles_) + ".");
      running = tile(part, row, count, col, width, running);
    }
    const Problem whole = part_of(problem_, row, count, counted(0, keys_));
    const Params params{.allowed = whole.allowed_to(head_.index),
                        .empty_row_is_nan = problem_.empty_row == EmptyRow::nan};
    return builder_.step("output", ops::finish_read, {running->acc, running->sum}, params,
                         {.rows = whole.tokens, .basis = builder_[running->acc].basis});
  }

  Running tile(const Problem& part, Index row, Index count, Index col, Index width,
               const std::optional<Running>& before) {
    const auto rows = [&](const char* name, const Op& op, NodeId of, const std::vector<Index>& which,
                          const std::vector<std::string>& labels) {
      return builder_.step(name, op, {of}, {.numbers = as_numbers(which)},
                           {.rows = labels, .basis = builder_[of].basis});
    };
    Head head = head_;
    head.q = rows("Q", ops::tile_q, head_.q, counted(row, count), part.tokens);
    head.k = rows("K", ops::tile_k, head_.k, counted(col, width), part.kv_tokens);
    const NodeId v = rows("V", ops::tile_v, *head_.v, counted(col, width), part.kv_tokens);
    const NodeId scores = masked_scores(part, builder_, parameters_, head);

    const Params params{.allowed = part.allowed_to(head_.index)};
    const NodeTraits column{.rows = part.tokens};
    const NodeTraits table{.rows = part.tokens, .cols = part.kv_tokens};
    const NodeTraits read{.rows = part.tokens, .basis = builder_[v].basis};
    const bool has_sink = !problem_.sink_logits.empty();
    Params with_sink = params;
    if (has_sink) with_sink.numbers.push_back(problem_.sink_logits[head_.index]);

    Running now;
    if (before) {
      now.max = builder_.step("max", ops::running_max, {scores, before->max}, params, column);
    } else {
      now.max =
          builder_.step("max", has_sink ? ops::row_max_sink : ops::row_max, {scores}, with_sink, column);
    }
    const NodeId shifted = builder_.step("shifted", ops::shift_by_max, {scores, now.max}, params, table);
    const NodeId e = builder_.step("exp", ops::exponential, {shifted}, params, table);
    if (before) {
      const NodeId rescale = builder_.step("rescale", ops::rescale, {before->max, now.max}, {}, column);
      now.sum = builder_.step("sum", ops::running_sum, {before->sum, rescale, e}, {}, column);
      now.acc = builder_.step("acc", ops::running_read, {before->acc, rescale, e, v}, params, read);
    } else {
      std::vector<NodeId> summed{e};
      if (has_sink) summed.push_back(now.max);
      now.sum = builder_.step("sum", has_sink ? ops::row_sum_sink : ops::row_sum, std::move(summed),
                              with_sink, column);
      now.acc = builder_.step("acc", ops::tile_read, {e, v}, params, read);
    }
    return now;
  }

  const Problem& problem_;
  Builder& builder_;
  Parameters& parameters_;
  Head head_;
  std::string prefix_;
  Index queries_;
  Index keys_;
  Tile tile_;
  long tiles_ = 0;
  long skipped_ = 0;
};

}  // namespace

NodeId online_softmax(const Problem& problem, Builder& builder, Parameters& parameters, const Head& head) {
  return OnlineSoftmax(problem, builder, parameters, head).run();
}

}  // namespace qkv

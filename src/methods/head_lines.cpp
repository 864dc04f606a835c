// Scaled dot-product attention of one head, line by line:
//
//   scores  = Q·Kᵀ
//   scaled  = scores / √d_k
//   masked  = scaled + M
//   weights = softmax(masked), row by row
//   output  = weights·V
//
// The other scores, the cap, biases and the temperature have their places between; a line that the
// problem does not have is absent.

#include "methods/head_lines.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/rows.h"

namespace qkv {
namespace {

class HeadLines {
 public:
  HeadLines(const PassParts& pass, const Head& head)
      : problem_(pass.problem),
        builder_(pass.builder),
        parameters_(pass.parameters),
        tables_(pass.tables),
        head_(head) {
    visible_.allowed = problem_.allowed_to(head.index);
  }

  // scores … masked, tempered.
  NodeId scores() {
    note_given_infinities();
    switch (problem_.entry) {
      case Entry::masked:
        return tempered(given_table("masked", ops::given_masked));
      case Entry::scaled:
        return tempered(masked(capped(given_table("scaled", ops::given_scaled))));
      case Entry::scores:
        return tempered(masked(capped(scaled(given_table("scores", ops::given_scores)))));
      default:
        return tempered(masked(capped(scaled(raw_scores()))));
    }
  }

  NodeId weights() {
    if (problem_.entry == Entry::weights) return given_table("weights", ops::given_weights, true);
    return softmax(scores());
  }

  NodeId read(NodeId weights, NodeId v) {
    Params params = visible_;
    params.empty_row_is_nan = problem_.empty_row == EmptyRow::nan;
    const std::vector<std::string> basis = builder_[v].basis;
    const NodeTraits traits{.rows = problem_.tokens, .basis = basis};
    const bool is_hard = problem_.read == ReadKind::hard;
    const NodeId read =
        builder_.step("output", is_hard ? ops::hard_read : ops::weighted_sum, {weights, v}, params, traits);
    if (is_hard) {
      NodeTraits beside = traits;
      beside.role = Role::aside;
      builder_.step("soft.output", ops::soft_read_beside, {weights, v}, params, std::move(beside));
    }
    return read;
  }

 private:
  NodeId parameter(const std::string& name) { return parameters_.node(builder_, problem_, name); }

  // What all heads of a pass share is made once, whoever needs it first.
  template <class Make>
  NodeId shared(const std::string& name, Make make) {
    return tables_.node(builder_, name, make);
  }

  NodeTraits queries_by_keys(Level level = Level::main) const {
    return {.level = level, .rows = problem_.tokens, .cols = problem_.kv_tokens};
  }

  NodeId given_table(const std::string& name, const Op& op, bool has_row_sums = false) {
    NodeTraits traits = queries_by_keys();
    traits.has_row_sums = has_row_sums;
    const Given& given = problem_[name];
    return builder_.given(name, op, given.shape(), given.cells, std::move(traits));
  }

  // A −∞ in a given table of scores stays −∞ when it is scaled and capped.
  void note_given_infinities() {
    const char* table = problem_.entry == Entry::scores   ? "scores"
                        : problem_.entry == Entry::scaled ? "scaled"
                                                          : nullptr;
    if (table == nullptr) return;
    const Given& given = problem_[table];
    Mask open(given.rows, given.cols);
    for (Index i = 0; i < open.rows(); ++i) {
      for (Index j = 0; j < open.cols(); ++j)
        open(i, j) = given.at(i, j).value != -std::numeric_limits<double>::infinity();
    }
    if (!open.all()) open_in_table_ = std::make_shared<const Mask>(std::move(open));
  }

  NodeId raw_scores() {
    const NodeId q = head_.q;
    const NodeId k = head_.k;
    NodeTraits traits = queries_by_keys();
    switch (problem_.score) {
      case ScoreKind::dot: {
        const bool are_tokens = is_same_as("Q", "X") && (is_same_as("K", "X") || is_same_as("K", "Q"));
        traits.vectors = are_tokens ? std::pair<std::string, std::string>{"", ""}
                                    : std::pair<std::string, std::string>{"q_", "k_"};
        return builder_.step("scores", ops::dot_rows, {q, k}, {}, std::move(traits));
      }
      case ScoreKind::general:
        inner_projection("queries", ops::inner_queries, q, "W_a");
        return builder_.step("scores", ops::general_scores, {q, k, parameter("W_a")}, {}, std::move(traits));
      case ScoreKind::concat:
        hidden_layer(ops::hidden_layer_concat, {q, k, parameter("W_a")});
        return builder_.step("scores", ops::concat_scores, {q, k, parameter("W_a"), parameter("v_a")}, {},
                             std::move(traits));
      case ScoreKind::additive:
        break;
    }
    std::vector<NodeId> inner{inner_projection("queries", ops::inner_queries, q, "W_a"),
                              inner_projection("keys", ops::inner_keys, k, "U_a")};
    if (problem_.has("b_a")) inner.push_back(parameter("b_a"));
    hidden_layer(inner.size() > 2 ? ops::hidden_layer_biased : ops::hidden_layer, inner);
    std::vector<NodeId> inputs{q, k, parameter("W_a"), parameter("U_a"), parameter("v_a")};
    if (!problem_.has("b_a")) {
      return builder_.step("scores", ops::additive_scores, std::move(inputs), {}, std::move(traits));
    }
    inputs.push_back(parameter("b_a"));
    return builder_.step("scores", ops::additive_scores_biased, std::move(inputs), {}, std::move(traits));
  }

  // The inner steps of a score stand beside it, for who asks for everything.
  NodeId inner_projection(const char* of, const Op& op, NodeId x, const char* w_name) {
    return builder_.step(std::string("scores.") + of, op, {x, parameter(w_name)}, {},
                         {.level = Level::full, .role = Role::aside, .rows = builder_[x].rows});
  }

  void hidden_layer(const Op& op, std::vector<NodeId> inputs) {
    std::vector<std::string> pairs;
    for (const std::string& query : problem_.tokens) {
      for (const std::string& key : problem_.kv_tokens) pairs.push_back(query + "/" + key);
    }
    builder_.step("scores.hidden", op, std::move(inputs), {},
                  {.level = Level::full, .role = Role::aside, .rows = std::move(pairs)});
  }

  bool is_same_as(const std::string& name, const std::string& other) const {
    const auto found = problem_.same_as.find(name);
    return found != problem_.same_as.end() && found->second == other;
  }

  NodeId scaled(NodeId scores) {
    switch (problem_.scale.kind) {
      case ScaleKind::none:
        return scores;
      case ScaleKind::root:
        return builder_.step("scaled", ops::scale_by_root, {scores},
                             {.numbers = {problem_.scale.d_k}, .allowed = open_in_table_}, queries_by_keys());
      case ScaleKind::factor:
        break;
    }
    return builder_.step("scaled", ops::scale_by_factor, {scores},
                         {.numbers = {problem_.scale.factor}, .allowed = open_in_table_}, queries_by_keys());
  }

  // Before the mask: tanh would turn -inf into -cap and let forbidden keys back in.
  NodeId capped(NodeId scores) {
    if (!problem_.softcap) return scores;
    return builder_.step("capped", ops::soft_cap, {scores},
                         {.numbers = {*problem_.softcap}, .allowed = open_in_table_}, queries_by_keys());
  }

  NodeId masked(NodeId scores) {
    std::vector<NodeId> terms{scores};
    const std::optional<NodeId> added = bias();
    if (added) terms.push_back(*added);
    const auto& mask = problem_.mask_of(head_.index);
    const bool is_shared = mask == problem_.mask;
    if (mask) terms.push_back(is_shared ? shared("M", [&] { return mask_matrix(mask); }) : mask_matrix(mask));
    if (terms.size() == 1) return scores;
    const Op& op = !added ? ops::add_mask : (mask ? ops::add_bias_and_mask : ops::add_bias);
    return builder_.step("masked", op, std::move(terms), visible_, queries_by_keys());
  }

  // What is added to the scores of this head: [bias], which all heads have, its own [h1.bias], ALiBi.
  std::optional<NodeId> bias() {
    const std::string own = table_of_head("bias", static_cast<Index>(head_.index));
    const bool has_alibi = !problem_.slopes.empty();
    const bool has_common = problem_.has("bias");
    const bool has_own = problem_.has(own);
    if (!has_alibi && !has_common && !has_own) return std::nullopt;
    if (!has_alibi && !has_common) return given_bias("bias", own);
    std::vector<NodeId> given;
    // A step of its own unless ALiBi makes it a part of one.
    const std::string common = has_alibi ? "[bias]" : "bias";
    if (has_common) given.push_back(shared(common, [&] { return given_bias(common, "bias"); }));
    if (has_own) given.push_back(shared(own, [&] { return given_bias("[" + own + "]", own); }));
    if (!has_alibi) {
      return has_own ? builder_.step("bias", ops::sum_of_biases, std::move(given), {}, queries_by_keys())
                     : given[0];
    }
    const Params params{
        .numbers = {problem_.slopes[head_.index]},
        .align = problem_.align,
        .shape = {static_cast<Index>(problem_.tokens.size()), static_cast<Index>(problem_.kv_tokens.size())}};
    const Op& op =
        given.empty() ? ops::alibi : (given.size() == 1 ? ops::alibi_and_bias : ops::alibi_and_biases);
    return builder_.step("bias", op, std::move(given), params, queries_by_keys());
  }

  // name: that of a step, or the section's in brackets
  NodeId given_bias(const std::string& name, const std::string& section) {
    const bool is_step = name[0] != '[';
    NodeTraits traits = queries_by_keys();
    if (!is_step) traits.role = Role::given;
    const Given& given = problem_[section];
    return builder_.given(name, is_step ? ops::given_bias : ops::parameter, given.shape(), given.cells,
                          std::move(traits));
  }

  NodeId mask_matrix(const std::shared_ptr<const Mask>& mask) {
    Number hidden{Number::Kind::infinite, "-inf", -std::numeric_limits<double>::infinity(), 0, true};
    return builder_.given("M", ops::mask_matrix, {mask->rows(), mask->cols()},
                          {mask, whole_number(0), std::move(hidden)}, queries_by_keys());
  }

  NodeId tempered(NodeId scores) {
    if (!problem_.temperature) return scores;
    return builder_.step("tempered", ops::temper, {scores},
                         {.numbers = {*problem_.temperature}, .allowed = visible_.allowed},
                         queries_by_keys());
  }

  // ---- softmax and read ----

  NodeId softmax(NodeId scores) {
    Params params = visible_;
    params.empty_row_is_nan = problem_.empty_row == EmptyRow::nan;
    const bool has_sink = !problem_.sink_logits.empty();
    Params with_sink = params;
    if (has_sink) with_sink.numbers.push_back(problem_.sink_logits[head_.index]);
    const NodeTraits table = queries_by_keys(Level::full);
    const NodeTraits column{.level = Level::full, .rows = problem_.tokens};

    const NodeId max =
        builder_.step("max", has_sink ? ops::row_max_sink : ops::row_max, {scores}, with_sink, column);
    const NodeId shifted = builder_.step("shifted", ops::shift_by_max, {scores, max}, with_sink, table);
    const NodeId exp = builder_.step("exp", ops::exponential, {shifted}, params, table);
    std::vector<NodeId> summed{exp};
    if (has_sink) summed.push_back(max);
    const NodeId sum =
        builder_.step("sum", has_sink ? ops::row_sum_sink : ops::row_sum, summed, with_sink, column);

    NodeTraits beside = table;
    beside.role = Role::aside;
    const NodeId naive = builder_.step("naive.exp", ops::naive_exponential, {scores}, params, beside);
    beside.cols.clear();
    builder_.step("naive.sum", has_sink ? ops::naive_sum_sink : ops::naive_sum, {naive}, with_sink, beside);

    NodeTraits weights = queries_by_keys();
    weights.has_row_sums = true;
    const NodeId result = builder_.step("weights", ops::normalise, {exp, sum}, params, std::move(weights));
    builder_.tell_briefly(result, {has_sink ? &ops::softmax_sink : &ops::softmax, {scores}, with_sink});
    compare_without_sinks(result, std::move(params));
    return result;
  }

  // Where the weight of the first tokens would go if the window did not keep them (StreamingLLM).
  void compare_without_sinks(NodeId weights, Params params) {
    if (!problem_.seen_by_sinks || !problem_.seen_by_sinks->any()) return;
    params.allowed =
        std::make_shared<const Mask>(params.allowed->array() && !problem_.seen_by_sinks->array());
    NodeTraits beside = queries_by_keys();
    beside.role = Role::aside;
    beside.has_row_sums = true;
    builder_.step("nosinks.weights", ops::weights_without_sinks, {weights}, std::move(params),
                  std::move(beside));
  }

  const Problem& problem_;
  Builder& builder_;
  Parameters& parameters_;
  MadeOnce& tables_;
  const Head& head_;
  std::shared_ptr<const Mask> open_in_table_;  // null: no −∞ in a given table of scores
  Params visible_;                             // which keys each query may look at
};

}  // namespace

NodeId scores_of_head(const PassParts& pass, const Head& head) { return HeadLines(pass, head).scores(); }

NodeId weights_of_head(const PassParts& pass, const Head& head) { return HeadLines(pass, head).weights(); }

NodeId read_with(const PassParts& pass, const Head& head, NodeId weights, NodeId v) {
  return HeadLines(pass, head).read(weights, v);
}

}  // namespace qkv

// The backward pass: the plan read from its end to its beginning.
//
// A step y = f(a, b) that has received its gradient d.y hands one on to each of its inputs; the rule
// for that belongs to the formula of the step, and stands in a table below.  What is used in several
// places receives several, and they add up: d.X = d.X.Q + d.X.K + d.X.V.
//
// The softmax is one step here, from the weights straight to what they are the softmax of.  A score that is
// a small network is several: it goes back through the hidden layer that stands beside it.  What linear
// attention has read from its state goes back through the table of weights, which gives the same.

#include "methods/gradient.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ops/rows.h"

namespace qkv {
namespace {

// A wider Jacobian fills the page and shows nothing new.
constexpr Index kWidestJacobian = 16;

// What a step is made of, as the backward pass sees it.
struct Made {
  const Op& op;
  std::vector<NodeId> inputs;
};

bool is_network(const Op& op) {
  constexpr std::array<std::string_view, 3> kNetworks{"additive_scores", "additive_scores_biased",
                                                      "concat_scores"};
  return std::find(kNetworks.begin(), kNetworks.end(), op.name) != kNetworks.end();
}

Made made_of(const Plan& plan, NodeId step) {
  const Node& node = plan[step];
  if (node.brief) return {*node.brief->op, node.brief->inputs};
  if (is_network(*node.op)) {
    const NodeId v_a = node.inputs[node.op == &ops::concat_scores ? 3 : 4];
    return {*node.op, {*plan.find(node.prefix + "scores.hidden"), v_a}};
  }
  if (node.name() == "output") {
    if (const auto same = plan.find(node.prefix + "quadratic.output"))
      return {*plan[*same].op, plan[*same].inputs};
  }
  return {*node.op, node.inputs};
}

// A step as the backward pass sees it, and the gradient that has arrived at its result.
struct Flow {
  const Plan& plan;
  NodeId step;
  Made made;
  NodeId gradient;

  const Node& node() const { return plan[step]; }
  const Op& op() const { return made.op; }
  const std::vector<NodeId>& inputs() const { return made.inputs; }
  const Params& params() const { return node().params; }
  // Cells that the mask has closed stay closed on the way back.
  Params with_mask(Params params = {}) const {
    params.allowed = plan[gradient].params.allowed;
    return params;
  }
};

// How the gradient of one input is made.
struct Share {
  const Op* op;
  std::vector<NodeId> inputs;
  Params params = {};
};

// nullopt: nothing flows back to this input.
using Rule = std::optional<Share> (*)(const Flow& flow, std::size_t input);

std::optional<Share> unchanged(const Flow& f, std::size_t) {
  return Share{&ops::d_unchanged, {f.gradient}, f.with_mask()};
}

// y = x·W + b
std::optional<Share> projection(const Flow& f, std::size_t input) {
  switch (input) {
    case 0:
      return Share{&ops::d_projected, {f.gradient, f.inputs()[1]}};
    case 1:
      return Share{&ops::d_parameter, {f.inputs()[0], f.gradient}};
    default:
      return Share{&ops::d_bias, {f.gradient}};
  }
}

// y = x·Wᵀ + b
std::optional<Share> linear(const Flow& f, std::size_t input) {
  switch (input) {
    case 0:
      return Share{&ops::d_linear, {f.gradient, f.inputs()[1]}};
    case 1:
      return Share{&ops::d_parameter, {f.gradient, f.inputs()[0]}};
    default:
      return Share{&ops::d_bias, {f.gradient}};
  }
}

// output = weights·V
std::optional<Share> read(const Flow& f, std::size_t input) {
  if (input == 0) return Share{&ops::d_weights, {f.gradient, f.inputs()[1]}};
  return Share{&ops::d_values, {f.inputs()[0], f.gradient}, {.allowed = f.params().allowed}};
}

// output = weights·V, where it was read from the state of linear attention
std::optional<Share> table_read(const Flow& f, std::size_t input) {
  if (input == 0) return Share{&ops::d_table_weights, {f.gradient, f.inputs()[1]}};
  return Share{&ops::d_values, {f.inputs()[0], f.gradient}};
}

// weights = kernel / denominator
std::optional<Share> kernel_weights(const Flow& f, std::size_t input) {
  const NodeId denominator = f.inputs()[1];
  const Params visible{.allowed = f.params().allowed};
  if (input == 0) return Share{&ops::d_divided, {f.gradient, denominator}, visible};
  return Share{&ops::d_denominator, {f.gradient, f.step, denominator}, visible};
}

// denominator = Σ_j kernel
std::optional<Share> kernel_sum(const Flow& f, std::size_t) {
  const Node& kernel = f.plan[f.inputs()[0]];
  return Share{&ops::d_summed,
               {f.gradient},
               {.numbers = {whole_number(kernel.shape.cols)}, .allowed = kernel.params.allowed}};
}

// kernel = φ(Q)·φ(K)ᵀ
std::optional<Share> kernel_scores(const Flow& f, std::size_t input) {
  if (input == 0) return Share{&ops::d_query_features, {f.gradient, f.inputs()[1]}};
  return Share{&ops::d_key_features, {f.gradient, f.inputs()[0]}};
}

// φ, whose slope is known from φ(x) itself, …
template <const Op& op>
std::optional<Share> feature_map(const Flow& f, std::size_t) {
  return Share{&op, {f.gradient, f.step}};
}
// … from x, …
std::optional<Share> positive_part(const Flow& f, std::size_t) {
  return Share{&ops::d_phi_relu, {f.gradient, f.inputs()[0]}};
}
// … or always 1.
std::optional<Share> identity_map(const Flow& f, std::size_t) {
  return Share{&ops::d_phi_identity, {f.gradient}};
}

std::optional<Share> softmax(const Flow& f, std::size_t) {
  return Share{&ops::d_softmax, {f.step, f.gradient}, {.allowed = f.params().allowed}};
}

std::optional<Share> temper(const Flow& f, std::size_t) {
  return Share{&ops::d_temper, {f.gradient}, f.with_mask({.numbers = f.params().numbers})};
}

std::optional<Share> soft_cap(const Flow& f, std::size_t) {
  return Share{&ops::d_soft_cap, {f.gradient, f.step}, f.with_mask({.numbers = f.params().numbers})};
}

std::optional<Share> scale_by_root(const Flow& f, std::size_t) {
  return Share{&ops::d_scale_by_root, {f.gradient}, f.with_mask({.numbers = f.params().numbers})};
}

std::optional<Share> scale_by_factor(const Flow& f, std::size_t) {
  return Share{&ops::d_scale_by_factor, {f.gradient}, f.with_mask({.numbers = f.params().numbers})};
}

// scores = Q·Kᵀ
std::optional<Share> dot_rows(const Flow& f, std::size_t input) {
  if (input == 0) return Share{&ops::d_queries, {f.gradient, f.inputs()[1]}};
  return Share{&ops::d_keys, {f.gradient, f.inputs()[0]}};
}

// scores = Q·W_a·Kᵀ
std::optional<Share> general_scores(const Flow& f, std::size_t input) {
  const NodeId q = f.inputs()[0];
  const NodeId k = f.inputs()[1];
  const NodeId w = f.inputs()[2];
  switch (input) {
    case 0:
      return Share{&ops::d_general_queries, {f.gradient, k, w}};
    case 1:
      return Share{&ops::d_general_keys, {f.gradient, q, w}};
    default:
      return Share{&ops::d_general_matrix, {q, f.gradient, k}};
  }
}

// scores = v_a·hidden
std::optional<Share> network_scores(const Flow& f, std::size_t input) {
  if (input == 0) return Share{&ops::d_hidden, {f.gradient, f.inputs()[1]}};
  return Share{&ops::d_hidden_vector, {f.gradient, f.inputs()[0]}};
}

// hidden = tanh(queries + keys + b_a), a row a pair; what has arrived has passed tanh already.
std::optional<Share> hidden_layer(const Flow& f, std::size_t input) {
  const Params keys{.numbers = {whole_number(f.plan[f.inputs()[1]].shape.rows)}};
  switch (input) {
    case 0:
      return Share{&ops::d_pair_queries, {f.gradient}, keys};
    case 1:
      return Share{&ops::d_pair_keys, {f.gradient}, keys};
    default:
      return Share{&ops::d_bias, {f.gradient}};
  }
}

template <const Op& op>
std::optional<Share> rotation(const Flow& f, std::size_t) {
  return Share{&op, {f.gradient, f.inputs()[1]}, {.numbers = f.params().numbers}};
}

// Columns of one input and behind them columns of the other: the content and the position part of a head.
std::optional<Share> join_parts(const Flow& f, std::size_t input) {
  const std::vector<Number>& columns = f.params().numbers;
  const auto width = static_cast<Index>(columns[1].value - columns[0].value) + 1;
  const Index first = input == 0 ? 1 : width + 1;
  const Index last = input == 0 ? width : f.node().shape.cols;
  return Share{&ops::d_joined_part, {f.gradient}, {.numbers = {whole_number(first), whole_number(last)}}};
}

// [h1.output, h2.output, …]
std::optional<Share> concat(const Flow& f, std::size_t input) {
  const Index width = f.plan[f.inputs()[input]].shape.cols;
  const Index first = static_cast<Index>(input) * width;
  return Share{
      &ops::d_head_part, {f.gradient}, {.numbers = {whole_number(first + 1), whole_number(first + width)}}};
}

std::optional<Share> drop_head(const Flow& f, std::size_t) { return Share{&ops::d_dropped, {f.gradient}}; }

// Cached rows come from earlier passes, which nothing flows back to.
std::optional<Share> append(const Flow& f, std::size_t input) {
  if (input == 0) return std::nullopt;
  const Index cached = f.plan[f.inputs()[0]].shape.rows;
  return Share{&ops::d_new_rows,
               {f.gradient},
               {.numbers = {whole_number(cached + 1), whole_number(f.node().shape.rows)}}};
}

// By the name of an op: ops of one name have one formula, so one derivative.
struct NamedRule {
  std::string_view op;
  Rule rule;
};
constexpr std::array kRules{
    NamedRule{"same", unchanged},
    NamedRule{"add", unchanged},
    NamedRule{"add_mask", unchanged},
    NamedRule{"add_bias", unchanged},
    NamedRule{"add_bias_and_mask", unchanged},
    NamedRule{"sum_of_biases", unchanged},
    NamedRule{"alibi_and_bias", unchanged},
    NamedRule{"alibi_and_biases", unchanged},
    NamedRule{"project", projection},
    NamedRule{"project_biased", projection},
    NamedRule{"linear", linear},
    NamedRule{"linear_biased", linear},
    NamedRule{"weighted_sum", read},
    NamedRule{"other_order", table_read},
    NamedRule{"kernel_weights", kernel_weights},
    NamedRule{"kernel_sum", kernel_sum},
    NamedRule{"kernel_sum_eps", kernel_sum},
    NamedRule{"kernel_scores", kernel_scores},
    NamedRule{"phi_elu", feature_map<ops::d_phi_elu>},
    NamedRule{"phi_exp", feature_map<ops::d_phi_exp>},
    NamedRule{"phi_relu", positive_part},
    NamedRule{"phi_identity", identity_map},
    NamedRule{"softmax", softmax},
    NamedRule{"softmax_sink", softmax},
    NamedRule{"temper", temper},
    NamedRule{"soft_cap", soft_cap},
    NamedRule{"scale", scale_by_root},
    NamedRule{"scale_by_factor", scale_by_factor},
    NamedRule{"dot_rows", dot_rows},
    NamedRule{"general_scores", general_scores},
    NamedRule{"additive_scores", network_scores},
    NamedRule{"additive_scores_biased", network_scores},
    NamedRule{"concat_scores", network_scores},
    NamedRule{"hidden_layer", hidden_layer},
    NamedRule{"hidden_layer_biased", hidden_layer},
    NamedRule{"rotate_half", rotation<ops::d_rotate_half>},
    NamedRule{"rotate_interleaved", rotation<ops::d_rotate_interleaved>},
    NamedRule{"head", unchanged},
    NamedRule{"join_parts", join_parts},
    NamedRule{"concat", concat},
    NamedRule{"drop_head", drop_head},
    NamedRule{"append", append},
};

// Whether a step takes of this input only some columns: one head's, cut out of those of all heads.
bool cuts_out(const Plan& plan, NodeId step, const Made& made, std::size_t input) {
  const std::string_view name = made.op.name;
  if (name != "head" && name != "join_parts") return false;
  const std::vector<Number>& columns = plan[step].params.numbers;
  const double taken = columns[2 * input + 1].value - columns[2 * input].value + 1;
  return taken < static_cast<double>(plan[made.inputs[input]].shape.cols);
}

// Fixed by where a token stands, not learned.
bool is_constant(const Op& op) {
  constexpr std::array<std::string_view, 6> kFixed{"mask",   "alibi",     "positions",
                                                   "angles", "sinusoids", "past"};
  return std::find(kFixed.begin(), kFixed.end(), op.name) != kFixed.end();
}

class Backward {
 public:
  Backward(const Problem& problem, Builder& builder) : problem_(problem), builder_(builder) {}

  void append() {
    const NodeId result = plan().last_step();
    find_uses(result);
    arrive_at(result);
    for (NodeId step = result + 1; step-- > 0;) {
      if (step != result && shares_of_.contains(step)) settle(step);
      if (gradient_of_.contains(step)) hand_on(step);
    }
    fuse();
    builder_.name_under("");
  }

 private:
  const Plan& plan() const { return builder_.plan(); }

  // ---- who uses what ----

  void find_uses(NodeId result) {
    std::vector<bool> is_part(result + 1, false);
    is_part[result] = true;
    for (NodeId by = result + 1; by-- > 0;) {
      if (!is_part[by]) continue;
      const Made made = made_of(plan(), by);
      for (std::size_t k = 0; k < made.inputs.size(); ++k) {
        const NodeId input = made.inputs[k];
        if (is_constant(*plan()[input].op)) continue;
        is_part[input] = true;
        // All parts that are cut out of one matrix come back as one.
        const bool is_further_cut = cuts_out(plan(), by, made, k) && !is_cut_up_.insert(input).second;
        if (!is_further_cut) ++uses_[input];
      }
    }
  }

  // ---- where it starts ----

  void arrive_at(NodeId result) {
    const Node& node = plan()[result];
    const std::string id = node.id;
    const NodeTraits traits = traits_of(node);
    const Shape shape = node.shape;
    if (problem_.has("target")) {
      gradient_of_[result] = cross_entropy(result, traits);
      return;
    }
    builder_.name_under("d." + node.prefix);
    const std::string name(node.name());
    if (problem_.has("d." + id)) {
      gradient_of_[result] =
          builder_.given(name, ops::given_gradient, shape, problem_["d." + id].cells, traits);
    } else {
      std::vector<Number> ones(static_cast<std::size_t>(shape.rows * shape.cols), whole_number(1));
      gradient_of_[result] = builder_.given(name, ops::gradient_of_ones, shape, std::move(ones), traits);
    }
  }

  NodeId cross_entropy(NodeId logits, const NodeTraits& traits) {
    const Shape shape = plan()[logits].shape;
    std::vector<Number> right;
    for (const Number& target : problem_["target"].cells) {
      const Index column = static_cast<Index>(target.value) - problem_.first_index;
      for (Index j = 0; j < shape.cols; ++j) right.push_back(whole_number(j == column ? 1 : 0));
    }
    NodeTraits beside = traits;
    beside.role = Role::given;
    const Params count{.numbers = {whole_number(shape.rows)}};
    builder_.name_under("");
    const NodeId q = builder_.step("q", ops::class_probabilities, {logits}, {}, traits);
    const NodeId p = builder_.given("p", ops::given_targets, shape, std::move(right), beside);
    const NodeId losses = builder_.step("losses", ops::cross_entropy, {q, p}, {}, {.rows = traits.rows});
    builder_.step("loss", ops::mean_of_rows, {losses}, count, {});
    builder_.name_under("d." + plan()[logits].prefix);
    return builder_.step(std::string(plan()[logits].name()), ops::d_cross_entropy, {q, p}, count, traits);
  }

  // ---- from step to step ----

  static NodeTraits traits_of(const Node& node) { return {.rows = node.rows, .cols = node.cols}; }

  NodeId add(const std::string& prefix, const std::string& name, Share share, const NodeTraits& traits) {
    builder_.name_under("d." + prefix);
    return builder_.step(name, *share.op, std::move(share.inputs), std::move(share.params), traits);
  }

  // The gradient of a step is the sum of what its uses have handed back.
  void settle(NodeId step) {
    const Node& node = plan()[step];
    const std::string prefix = node.prefix;
    const std::string name(node.name());
    const NodeTraits traits = traits_of(node);
    std::vector<NodeId> shares = std::move(shares_of_[step]);
    if (const auto found = parts_of_.find(step); found != parts_of_.end()) {
      std::vector<NodeId> parts(found->second.rbegin(), found->second.rend());
      const bool is_only_use = uses_.at(step) == 1;
      shares.push_back(
          add(prefix, is_only_use ? name : name + ".heads", {&ops::d_heads, std::move(parts)}, traits));
    }
    // As the uses stand in the plan, the first one first.
    std::reverse(shares.begin(), shares.end());
    Params params;
    params.allowed = plan()[shares.front()].params.allowed;
    gradient_of_[step] = shares.size() == 1
                             ? shares.front()
                             : add(prefix, name, {&ops::d_sum_of_uses, shares, params}, traits);
  }

  void hand_on(NodeId step) {
    const Made made = made_of(plan(), step);
    if (&made.op == &ops::hidden_layer_concat) return through_pairs(step, made.inputs);
    const NodeId gradient = is_hidden_layer(made.op) ? through_tanh(step) : gradient_of_.at(step);
    const auto rule =
        std::find_if(kRules.begin(), kRules.end(), [&](const NamedRule& r) { return r.op == made.op.name; });
    assert(made.inputs.empty() || rule != kRules.end());
    for (std::size_t k = 0; k < made.inputs.size(); ++k) {
      if (is_constant(*plan()[made.inputs[k]].op)) continue;
      if (cuts_out(plan(), step, made, k)) {
        keep_part(step, made, k);
        continue;
      }
      if (std::optional<Share> share = rule->rule({plan(), step, made, gradient}, k))
        hand_to(made.inputs[k], step, std::move(*share));
    }
    if (is_softmax(step)) jacobian(step);
  }

  // Parts are joined when all have come.
  void keep_part(NodeId step, const Made& made, std::size_t k) {
    const NodeId matrix = made.inputs[k];
    const NodeId gradient = gradient_of_.at(step);
    shares_of_[matrix];
    if (made.inputs.size() == 1) return parts_of_[matrix].push_back(gradient);
    const Node& node = plan()[matrix];
    parts_of_[matrix].push_back(add(plan()[step].prefix, std::string(node.name()),
                                    *join_parts({plan(), step, made, gradient}, k), traits_of(node)));
  }

  // ---- scores that are small networks ----

  static bool is_hidden_layer(const Op& op) {
    return &op == &ops::hidden_layer || &op == &ops::hidden_layer_biased || &op == &ops::hidden_layer_concat;
  }

  // What arrives inside the tanh of a hidden layer.
  NodeId through_tanh(NodeId hidden) {
    const Node& node = plan()[hidden];
    return add(node.prefix, "scores.inside", {&ops::d_tanh, {gradient_of_.at(hidden), hidden}},
               traits_of(node));
  }

  // hidden = tanh([q; k]·W_a) for every pair of a query and a key.
  void through_pairs(NodeId hidden, const std::vector<NodeId>& inputs) {
    const NodeId q = inputs[0];
    const NodeId k = inputs[1];
    const NodeId w_a = inputs[2];
    const std::string prefix = plan()[hidden].prefix;
    const Params keys{.numbers = {whole_number(plan()[k].shape.rows)}};
    const NodeId inside = through_tanh(hidden);
    const NodeId of_queries =
        add(prefix, "scores.queries", {&ops::d_pair_queries, {inside}, keys}, {.rows = plan()[q].rows});
    const NodeId of_keys =
        add(prefix, "scores.keys", {&ops::d_pair_keys, {inside}, keys}, {.rows = plan()[k].rows});
    const Index d_q = plan()[q].shape.cols;
    const auto rows = [](Index first, Index last) {
      return Params{.numbers = {whole_number(first), whole_number(last)}};
    };
    hand_to(q, hidden, {&ops::d_concat_part, {of_queries, w_a}, rows(1, d_q)});
    hand_to(k, hidden, {&ops::d_concat_part, {of_keys, w_a}, rows(d_q + 1, plan()[w_a].shape.rows)});
    hand_to(w_a, hidden, {&ops::d_concat_matrix, {q, of_queries, k, of_keys}});
  }

  // "L2." of "L2.h1.".
  static std::string layer_of(const std::string& prefix) {
    return prefix.starts_with("L") ? prefix.substr(0, prefix.find('.') + 1) : "";
  }

  void hand_to(NodeId input, NodeId from, Share share) {
    const Node& node = plan()[input];
    const Node& user = plan()[from];
    const NodeTraits traits = traits_of(node);
    std::vector<NodeId>& shares = shares_of_[input];
    const bool is_only_use = uses_.at(input) == 1;
    if (is_only_use) {
      shares.push_back(add(node.prefix, std::string(node.name()), std::move(share), traits));
    } else if (share.op == &ops::d_unchanged) {
      shares.push_back(share.inputs[0]);
    } else if (const std::string layer = layer_of(user.prefix); layer != layer_of(node.prefix)) {
      // What one layer has made is the X of the next.
      shares.push_back(add(layer, "X." + std::string(user.name()), std::move(share), traits));
    } else if (user.prefix != node.prefix) {
      shares.push_back(add(user.prefix, std::string(node.name()), std::move(share), traits));
    } else {
      const std::string name = std::string(node.name()) + "." + std::string(user.name());
      shares.push_back(add(node.prefix, name, std::move(share), traits));
    }
  }

  // ---- parameters that were given as one ----

  // The gradient of [W_QKV], its three parts as they lie in it.
  void fuse() {
    if (!problem_.has("W_QKV")) return;
    std::vector<NodeId> parts;
    for (const char* part : {"d.W_Q", "d.W_K", "d.W_V"}) {
      const auto gradient = plan().find(part);
      if (!gradient) return;
      parts.push_back(*gradient);
    }
    add("", "W_QKV",
        {problem_.layout == Layout::linear ? &ops::d_fused_rows : &ops::d_fused, std::move(parts)}, {});
  }

  // ---- beside the softmax ----

  bool is_softmax(NodeId step) const { return plan()[step].brief.has_value(); }

  // Of the last row: with a causal mask it sees most.
  void jacobian(NodeId weights) {
    const Node& node = plan()[weights];
    if (node.shape.cols > kWidestJacobian) return;
    const NodeTraits traits{.level = Level::full, .role = Role::aside, .rows = node.cols, .cols = node.cols};
    Number last = whole_number(node.shape.rows);
    last.text = node.rows.back();
    add(node.prefix, "jacobian", {&ops::softmax_jacobian, {weights}, {.numbers = {last}}}, traits);
  }

  const Problem& problem_;
  Builder& builder_;
  std::map<NodeId, std::size_t> uses_;               // how many, of what the result is made of
  std::set<NodeId> is_cut_up_;                       // matrices that heads take their parts from
  std::map<NodeId, std::vector<NodeId>> parts_of_;   // gradients of these parts, the last one first
  std::map<NodeId, std::vector<NodeId>> shares_of_;  // gradients that have come back so far
  std::map<NodeId, NodeId> gradient_of_;
};

}  // namespace

void append_gradient(const Problem& problem, Builder& builder) { Backward(problem, builder).append(); }

}  // namespace qkv

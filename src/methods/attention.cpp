// Scaled dot-product attention, line by line, as the textbook has it:
//
//   Q = X·W_Q   K = X·W_K   V = X·W_V
//   scores  = Q·Kᵀ
//   scaled  = scores / √d_k
//   masked  = scaled + M
//   weights = softmax(masked), row by row
//   output  = weights·V
//
// The calculation may be entered at any of these lines.  A line that the problem does not
// have is absent: no mask, no `M` and no `masked`.
//
// With several heads Q, K and V are cut into heads, the lines from scores to output run once a
// head, under the prefix h1. h2. …, and the outputs are joined side by side before W_O.  Latent
// attention (methods/mla.h) restores the heads instead.

#include "methods/pass.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "methods/linear.h"
#include "methods/mla.h"
#include "ops/rows.h"

namespace qkv {
namespace {

constexpr long kSinusoidBase = 10000;  // Vaswani et al. 2017, section 3.5

struct ProjectionOps {
  const Op& plain;
  const Op& biased;
  const Op& linear;
  const Op& linear_biased;
};

struct RoleOps {
  const Op& given;
  const Op& same;
  ProjectionOps projection;
};

// Names V's symbols and writes each cell as its coefficients; see Node::basis.
struct SymbolicMatrix {
  std::vector<std::string> basis;  // empty: all cells are numbers
  std::vector<Number> values;
};

SymbolicMatrix with_named_columns(const Given& v, bool needs_constant) {
  SymbolicMatrix result;
  bool has_symbols = false;
  bool has_numbers = needs_constant;
  std::vector<std::string> names;
  for (const Number& cell : v.cells) {
    if (cell.kind != Number::Kind::symbol) {
      has_numbers = true;
    } else {
      has_symbols = true;
      if (std::find(names.begin(), names.end(), cell.text) == names.end()) names.push_back(cell.text);
    }
  }
  if (!has_symbols) {
    result.values = v.cells;
    return result;
  }
  if (has_numbers) result.basis.emplace_back();
  result.basis.insert(result.basis.end(), names.begin(), names.end());
  for (const Number& cell : v.cells) {
    for (const std::string& name : result.basis) {
      if (cell.kind == Number::Kind::symbol) {
        result.values.push_back(whole_number(name == cell.text ? 1 : 0));
      } else {
        result.values.push_back(name.empty() ? cell : whole_number(0));
      }
    }
  }
  return result;
}

class Pass {
 public:
  Pass(const Problem& problem, Builder& builder, Parameters& parameters, Sources sources)
      : problem_(problem),
        builder_(builder),
        parameters_(parameters),
        sources_(std::move(sources)),
        prefix_(builder.prefix()) {
    visible_.allowed = problem.allowed;
  }

  Read run() {
    Read result;
    Head head;
    if (problem_.has("W_DKV")) {
      latents_ = latents();
    } else if (computes_scores()) {
      head.q = queries();
      head.k = keys();
      values();
    }
    if (problem_.heads > 1) {
      result.last = several_heads(result);
    } else {
      if (latents_) {
        head = restored_head(0);
      } else if (computes_scores()) {
        head.q = rotated_queries(head.q);
        head.k = after_past("K", rotated_keys(head.k), 0, 1);
        head.v = after_past("V", values(), 0, 1);
        result.keys = {head.k};
        result.values = {*head.v};
      }
      result.last = project_output(output_of(head), "Y");
    }
    return result;
  }

  // scores … masked, tempered.
  NodeId scores(const Head& head) {
    note_given_infinities();
    switch (problem_.entry) {
      case Entry::masked:
        return tempered(given_table("masked", ops::given_masked));
      case Entry::scaled:
        return tempered(masked(head, capped(given_table("scaled", ops::given_scaled))));
      case Entry::scores:
        return tempered(masked(head, capped(scaled(given_table("scores", ops::given_scores)))));
      default:
        return tempered(masked(head, capped(scaled(raw_scores(head)))));
    }
  }

 private:
  bool computes_scores() const { return problem_.entry == Entry::x || problem_.entry == Entry::qkv; }

  // ---- Q, K, V ----

  // Made before, by whoever put this pass together.
  std::optional<NodeId> source(const std::string& name) const {
    const auto at = sources_.nodes.find(name);
    return at == sources_.nodes.end() ? std::nullopt : std::optional(at->second);
  }

  NodeId given_matrix(const std::string& name, const Op& op, const std::vector<std::string>& rows) {
    if (const auto made = source(name)) return *made;
    const Given& given = problem_[name];
    return builder_.given(name, op, given.shape(), given.cells, {.rows = rows});
  }

  // What all heads of a pass share is made once, whoever needs it first.
  template <class Make>
  NodeId shared(const std::string& name, Make make) {
    if (const auto made = find(name)) return *made;
    const std::string prefix = builder_.prefix();
    builder_.name_under(prefix_);
    const NodeId made = make();
    builder_.name_under(prefix);
    return made_[name] = made;
  }

  NodeId parameter(const std::string& name) { return parameters_.node(builder_, problem_, name); }

  // X or X_kv with its positions, added to the plan where it is first needed.
  NodeId tokens_matrix(const std::string& name) {
    if (const auto found = find(name)) return *found;
    if (const auto made = source(name)) return *made;
    const bool is_x = name == "X";
    const NodeId x = given_matrix(name, ops::given_tokens, is_x ? problem_.tokens : new_keys());
    const NodeTraits traits{.rows = builder_[x].rows};
    if (is_x && problem_.has("P")) {
      const Given& given = problem_["P"];
      const NodeId p = builder_.given("P", ops::learned_positions, given.shape(), given.cells,
                                      {.role = Role::given, .rows = traits.rows});
      return builder_.step("X.positioned", ops::add_positions, {x, p}, {}, traits);
    }
    if (!problem_.adds_sinusoids) return x;
    const Index width = builder_[x].shape.cols;
    NodeTraits table{.role = Role::given, .rows = traits.rows};
    const Params params{.numbers = {whole_number(kSinusoidBase), whole_number(width)}};
    const NodeId angles =
        angles_of(name + ".", is_x ? problem_.positions : problem_.kv_positions, params, table);
    const NodeId p = builder_.step(name + ".P", ops::sinusoids, {angles}, params, table);
    return builder_.step(name + ".positioned", ops::add_positions, {x, p}, {}, traits);
  }

  // The labels of the keys that are not cached.
  std::vector<std::string> new_keys() const {
    const std::vector<std::string>& all = problem_.kv_tokens;
    return {all.begin() + cached_rows(), all.end()};
  }

  Index cached_rows() const {
    if (sources_.is_continued) return sources_.cached;
    return problem_.has("past_K") ? problem_["past_K"].rows : 0;
  }

  NodeId angles_of(const std::string& name, const std::vector<long>& positions, const Params& params,
                   NodeTraits traits) {
    std::vector<Number> places;
    for (const long position : positions) places.push_back(whole_number(position));
    traits.role = Role::given;
    const Shape column{static_cast<Index>(places.size()), 1};
    const NodeId place =
        builder_.given(name + "positions", ops::positions, column, std::move(places), traits);
    return builder_.step(name + "angles", ops::turning_angles, {place}, params, traits);
  }

  std::optional<NodeId> find(const std::string& name) const {
    const auto at = made_.find(name);
    return at == made_.end() ? std::nullopt : std::optional(at->second);
  }

  // Q, K or V: the same as another matrix, given, or projected from `from`.
  NodeId role_matrix(const std::string& name, const std::string& from, const std::vector<std::string>& rows,
                     const RoleOps& ops) {
    if (const auto made = find(name)) return *made;
    if (const auto made = source(name)) return made_[name] = *made;
    return made_[name] = make_role_matrix(name, from, rows, ops);
  }

  NodeId make_role_matrix(const std::string& name, const std::string& from,
                          const std::vector<std::string>& rows, const RoleOps& ops) {
    if (const auto same = problem_.same_as.find(name); same != problem_.same_as.end()) {
      return builder_.step(name, ops.same, {matrix_named(same->second)}, {}, {.rows = rows});
    }
    if (problem_.has(name)) return given_matrix(name, ops.given, rows);
    const NodeId x = made_[from] = tokens_matrix(from);
    return project(name, x, "W_" + name, "b_" + name, {}, {.rows = rows}, ops.projection);
  }

  NodeId project(const std::string& id, NodeId x, const std::string& w_name, const std::string& b_name,
                 Params params, NodeTraits traits, const ProjectionOps& ops) {
    std::vector<NodeId> inputs{x, parameter(w_name)};
    const bool is_biased = problem_.has(b_name);
    if (is_biased) inputs.push_back(parameter(b_name));
    const bool is_linear = problem_.layout == Layout::linear;
    const Op& op =
        is_linear ? (is_biased ? ops.linear_biased : ops.linear) : (is_biased ? ops.biased : ops.plain);
    return builder_.step(id, op, std::move(inputs), std::move(params), std::move(traits));
  }

  NodeId matrix_named(const std::string& name) {
    if (name == "Q") return queries();
    if (name == "K") return keys();
    if (name == "V") return values();
    return made_[name] = tokens_matrix(name);
  }

  std::string keys_come_from() const { return problem_.has("X_kv") ? "X_kv" : "X"; }

  NodeId queries() {
    return role_matrix("Q", "X", problem_.tokens,
                       {ops::given_q,
                        ops::same_q,
                        {ops::project_q, ops::project_q_biased, ops::linear_q, ops::linear_q_biased}});
  }
  NodeId keys() {
    return role_matrix("K", keys_come_from(), new_keys(),
                       {ops::given_k,
                        ops::same_k,
                        {ops::project_k, ops::project_k_biased, ops::linear_k, ops::linear_k_biased}});
  }

  NodeId values() {
    if (const auto made = find("V")) return *made;
    if (const auto made = source("V")) return *made;
    if (problem_.same_as.contains("V") || !problem_.has("V")) {
      return role_matrix("V", keys_come_from(), new_keys(),
                         {ops::given_v,
                          ops::same_v,
                          {ops::project_v, ops::project_v_biased, ops::linear_v, ops::linear_v_biased}});
    }
    const Given& given = problem_["V"];
    SymbolicMatrix v = with_named_columns(given, problem_.has("b_O"));
    const Index width = v.basis.empty() ? 1 : static_cast<Index>(v.basis.size());
    return made_["V"] =
               builder_.given("V", ops::given_v, {given.rows, given.cols * width}, std::move(v.values),
                              {.rows = new_keys(), .basis = std::move(v.basis)});
  }

  // ---- positions and the cache ----

  // Queries and keys turned by where they stand.
  NodeId rotated_queries(NodeId q) {
    if (problem_.rope.pairs == Rope::Pairs::none) return q;
    return rotated("Q", q, are_equally_placed() ? "" : "Q.", problem_.positions,
                   is_interleaved() ? ops::rotate_interleaved_q : ops::rotate_half_q);
  }
  NodeId rotated_keys(NodeId k) {
    if (problem_.rope.pairs == Rope::Pairs::none) return k;
    return rotated("K", k, are_equally_placed() ? "" : "K.", problem_.kv_positions,
                   is_interleaved() ? ops::rotate_interleaved_k : ops::rotate_half_k);
  }

  bool is_interleaved() const { return problem_.rope.pairs == Rope::Pairs::interleaved; }
  bool are_equally_placed() const { return problem_.positions == problem_.kv_positions; }

  NodeId rotated(const std::string& name, NodeId x, const std::string& table,
                 const std::vector<long>& positions, const Op& op) {
    return builder_.step(name + ".rotated", op, {x, turning_angles(x, table, positions)}, {},
                         {.rows = builder_[x].rows});
  }

  NodeId turning_angles(NodeId x, const std::string& table, const std::vector<long>& positions) {
    return shared(table + "angles", [&] {
      return angles_of(table, positions, {.numbers = {problem_.rope.base, whole_number(problem_.rope.dims)}},
                       {.rows = builder_[x].rows});
    });
  }

  // The cached rows above the new ones, of one head of `heads`.  Cached keys are rotated already.
  NodeId after_past(const std::string& name, NodeId fresh, Index head, Index heads) {
    const std::string past_name = "past_" + name;
    const bool are_keys = name == "K";
    const auto append = [&](NodeId past) {
      return builder_.step(name + ".cache", are_keys ? ops::append_keys : ops::append_values, {past, fresh},
                           {}, {.rows = problem_.kv_tokens, .basis = builder_[fresh].basis});
    };
    if (sources_.is_continued && sources_.cached == 0) return fresh;
    if (sources_.is_continued) {
      const auto& cache = are_keys ? sources_.past_keys : sources_.past_values;
      return append(cache[static_cast<std::size_t>(head)]);
    }
    return problem_.has(past_name) ? append(past(name, head, heads)) : fresh;
  }

 public:
  // [past_K] or [past_V] of one head.
  NodeId past(const std::string& name, Index head, Index heads) {
    const std::string past_name = "past_" + name;
    const bool are_keys = name == "K";
    const std::vector<std::string> rows(problem_.kv_tokens.begin(),
                                        problem_.kv_tokens.begin() + problem_[past_name].rows);
    const NodeId past = shared(past_name, [&] {
      const Given& given = problem_[past_name];
      return builder_.given(past_name, are_keys ? ops::past_keys : ops::past_values, given.shape(),
                            given.cells, {.role = Role::given, .rows = rows});
    });
    if (heads == 1) return past;
    return part_of(past_name, past, are_keys ? ops::head_k : ops::head_v, head, heads, Role::given);
  }

  NodeId rows_given(const std::string& name) {
    if (name == "X") return tokens_matrix(name);
    return name == "Q" ? queries() : name == "K" ? keys() : values();
  }

 private:
  // ---- latent attention ----

  Latents latents() {
    const LatentSources sources{
        .tokens = [this](Side side) { return matrix_named(side == Side::queries ? "X" : keys_come_from()); },
        .parameter = [this](const std::string& name) { return parameter(name); },
        .angles =
            [this](Side side, NodeId turned) {
              const std::string own = side == Side::queries ? "Q." : "K.";
              return turning_angles(turned, are_equally_placed() ? "" : own,
                                    side == Side::queries ? problem_.positions : problem_.kv_positions);
            }};
    return add_latents(builder_, problem_, sources);
  }

  Head restored_head(Index h) {
    const LatentHead made = add_latent_head(builder_, problem_, *latents_, h);
    return {.index = static_cast<std::size_t>(h), .q = made.q, .k = made.k, .v = made.v};
  }

  // ---- scores … masked ----

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

  NodeId raw_scores(const Head& head) {
    const NodeId q = head.q;
    const NodeId k = head.k;
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

  NodeId masked(const Head& head, NodeId scores) {
    std::vector<NodeId> terms{scores};
    const bool has_bias = problem_.has("bias") || !problem_.slopes.empty();
    if (has_bias) terms.push_back(bias(head));
    if (problem_.mask) terms.push_back(shared("M", [&] { return mask_matrix(); }));
    if (terms.size() == 1) return scores;
    const Op& op = !has_bias ? ops::add_mask : (problem_.mask ? ops::add_bias_and_mask : ops::add_bias);
    return builder_.step("masked", op, std::move(terms), visible_, queries_by_keys());
  }

  NodeId bias(const Head& head) {
    if (problem_.slopes.empty()) {
      return shared("bias", [&] {
        return builder_.given("bias", ops::given_bias, problem_["bias"].shape(), problem_["bias"].cells,
                              queries_by_keys());
      });
    }
    const Params params{
        .numbers = {problem_.slopes[head.index]},
        .align = problem_.align,
        .shape = {static_cast<Index>(problem_.tokens.size()), static_cast<Index>(problem_.kv_tokens.size())}};
    if (!problem_.has("bias")) return builder_.step("bias", ops::alibi, {}, params, queries_by_keys());
    NodeTraits traits = queries_by_keys();
    traits.role = Role::given;
    const NodeId given = shared("[bias]", [&] {
      return builder_.given("[bias]", ops::parameter, problem_["bias"].shape(), problem_["bias"].cells,
                            std::move(traits));
    });
    return builder_.step("bias", ops::alibi_and_bias, {given}, params, queries_by_keys());
  }

  NodeId mask_matrix() {
    const Mask& mask = *problem_.mask;
    const Number hidden{Number::Kind::infinite, "-inf", -std::numeric_limits<double>::infinity(), 0, true};
    std::vector<Number> cells;
    for (Index i = 0; i < mask.rows(); ++i) {
      for (Index j = 0; j < mask.cols(); ++j) cells.push_back(mask(i, j) ? whole_number(0) : hidden);
    }
    return builder_.given("M", ops::mask_matrix, {mask.rows(), mask.cols()}, std::move(cells),
                          queries_by_keys());
  }

  NodeId tempered(NodeId scores) {
    if (!problem_.temperature) return scores;
    return builder_.step("tempered", ops::temper, {scores},
                         {.numbers = {*problem_.temperature}, .allowed = visible_.allowed},
                         queries_by_keys());
  }

  // ---- softmax and read ----

  // What one head reads: linearly, tile by tile, or with the softmax at once.
  NodeId output_of(const Head& head) {
    if (problem_.tile) return online_softmax(problem_, builder_, parameters_, head);
    if (problem_.method == MethodKind::linear)
      return read_linearly(builder_, problem_, head.q, head.k, *head.v);
    const NodeId weights = weights_of(head);
    const NodeId output = read(weights, head.v ? *head.v : values());
    if (latents_) compare_with_cache(builder_, problem_, *latents_, static_cast<Index>(head.index), weights);
    return output;
  }

  NodeId weights_of(const Head& head) {
    if (problem_.entry == Entry::weights) return given_table("weights", ops::given_weights, true);
    return softmax(head, scores(head));
  }

  NodeId softmax(const Head& head, NodeId scores) {
    Params params = visible_;
    params.empty_row_is_nan = problem_.empty_row == EmptyRow::nan;
    const bool has_sink = !problem_.sink_logits.empty();
    Params with_sink = params;
    if (has_sink) with_sink.numbers.push_back(problem_.sink_logits[head.index]);
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
    return result;
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

  // The last line, where the problem has it; else what was read.
  NodeId project_output(NodeId read, const std::string& name, Role role = Role::step) {
    if (!problem_.has("W_O")) return read;
    const std::vector<std::string> basis = builder_[read].basis;
    return project(
        name, read, "W_O", "b_O", symbols_in(read), {.role = role, .rows = problem_.tokens, .basis = basis},
        {ops::project_output, ops::project_output_biased, ops::linear_output, ops::linear_output_biased});
  }

  // ---- several heads ----

  Params symbols_in(NodeId matrix) const {
    const std::vector<std::string>& basis = builder_[matrix].basis;
    return {.basis = basis.empty() ? 1 : static_cast<Index>(basis.size())};
  }

  // Part `index` of `count` equal parts of the columns.
  NodeId part_of(const std::string& name, NodeId wide, const Op& op, Index index, Index count,
                 Role role = Role::step) {
    const Node& node = builder_[wide];
    const Index width = node.shown_cols() / count;
    Params params = symbols_in(wide);
    params.numbers = {whole_number(index * width + 1), whole_number((index + 1) * width)};
    return builder_.step(name, op, {wide}, std::move(params),
                         {.role = role, .rows = node.rows, .basis = node.basis});
  }

  NodeId several_heads(Read& result) {
    if (problem_.heads > problem_.kv_heads) parameters_.shared(builder_, "kv_map", [&] { return kv_map(); });
    std::vector<NodeId> outputs;  // as they are joined
    std::vector<NodeId> all;      // with the dropped ones
    Head head;
    for (Index h = 0; h < problem_.heads; ++h) {
      builder_.name_under(prefix_ + "h" + std::to_string(h + 1) + ".");
      head = latents_ ? restored_head(h) : cut_head(h, head, result);
      const NodeId output = output_of(head);
      all.push_back(output);
      outputs.push_back(is_dropped(head)
                            ? builder_.step("dropped", ops::drop_head, {output}, {},
                                            {.rows = problem_.tokens, .basis = builder_[output].basis})
                            : output);
    }
    builder_.name_under(prefix_);
    return join_heads(outputs, all);
  }

  // The head's columns of Q, K and V; within a group K and V are those of the head before.
  Head cut_head(Index h, const Head& before, Read& result) {
    const Index group = problem_.heads / problem_.kv_heads;
    const std::string prefix = builder_.prefix();
    Head head{.index = static_cast<std::size_t>(h), .q = 0, .k = before.k, .v = before.v};
    head.q = part_of("Q", queries(), ops::head_q, h, problem_.heads);
    builder_.step("Q.view", ops::head_view, {queries()},
                  {.numbers = {whole_number(h + 1), whole_number(problem_.heads)}},
                  {.level = Level::full, .role = Role::aside});
    if (h % group == 0) {
      // Shared keys belong to their group, not to its first head.
      if (group > 1) builder_.name_under(prefix_ + "g" + std::to_string(h / group + 1) + ".");
      const Index g = h / group;
      head.k = part_of("K", keys(), ops::head_k, g, problem_.kv_heads);
      head.v = part_of("V", values(), ops::head_v, g, problem_.kv_heads);
      head.k = after_past("K", rotated_keys(head.k), g, problem_.kv_heads);
      head.v = after_past("V", *head.v, g, problem_.kv_heads);
      result.keys.push_back(head.k);
      result.values.push_back(*head.v);
      builder_.name_under(prefix);
    }
    head.q = rotated_queries(head.q);
    return head;
  }

  bool is_dropped(const Head& head) const {
    return !problem_.is_dropped.empty() && problem_.is_dropped[head.index];
  }

  NodeId kv_map() {
    std::vector<Number> map;
    std::vector<std::string> heads;
    for (Index h = 0; h < problem_.heads; ++h) {
      map.push_back(whole_number(h / (problem_.heads / problem_.kv_heads) + 1));
      heads.push_back("h" + std::to_string(h + 1));
    }
    return builder_.given("kv_map", ops::kv_map, {1, problem_.heads}, std::move(map),
                          {.role = Role::given, .cols = std::move(heads)});
  }

  NodeId join_heads(const std::vector<NodeId>& outputs, const std::vector<NodeId>& all) {
    const NodeTraits traits{.rows = problem_.tokens, .basis = builder_[outputs[0]].basis};
    NodeTraits beside = traits;
    beside.role = Role::aside;
    const NodeId concat = builder_.step("concat", ops::concat, outputs, {}, traits);
    NodeTraits unlabelled = beside;
    unlabelled.level = Level::full;
    unlabelled.rows.clear();
    builder_.step("concat.view", ops::concat_view, outputs, symbols_in(outputs[0]), std::move(unlabelled));
    const NodeId y = project_output(concat, "Y");
    if (outputs == all) return y;
    builder_.name_under(prefix_ + "whole.");
    NodeId whole = builder_.step("concat", ops::concat, all, {}, beside);
    whole = project_output(whole, "Y", Role::aside);
    builder_.name_under(prefix_);
    if (builder_[y].is_symbolic()) return y;
    builder_.step("distance", ops::row_distance, {y, whole}, {},
                  {.role = Role::aside, .rows = problem_.tokens});
    return y;
  }

  const Problem& problem_;
  Builder& builder_;
  Parameters& parameters_;
  Sources sources_;
  std::string prefix_;                         // of the pass
  std::shared_ptr<const Mask> open_in_table_;  // null: no −∞ in a given table of scores
  Params visible_;                             // which keys each query may look at
  std::optional<Latents> latents_;
  std::map<std::string, NodeId> made_;  // matrices that already stand in the plan, of all heads together
};

}  // namespace

NodeId Parameters::node(Builder& builder, const Problem& problem, const std::string& name) {
  return shared(builder, name, [&] {
    const Given& given = problem[name];
    const bool is_cut_out = problem.has("W_QKV") && (name == "W_Q" || name == "W_K" || name == "W_V");
    return builder.given(name, is_cut_out ? ops::fused_part : ops::parameter, given.shape(), given.cells,
                         {.role = Role::given});
  });
}

Read attend(const Problem& problem, Builder& builder, Parameters& parameters, Sources sources) {
  return Pass(problem, builder, parameters, std::move(sources)).run();
}

NodeId given_rows(const Problem& problem, Builder& builder, Parameters& parameters, const std::string& name) {
  return Pass(problem, builder, parameters, {}).rows_given(name);
}

std::vector<NodeId> given_past(const Problem& problem, Builder& builder, Parameters& parameters,
                               const std::string& name) {
  Pass pass(problem, builder, parameters, {});
  std::vector<NodeId> nodes;
  const std::string prefix = builder.prefix();
  for (Index g = 0; g < problem.kv_heads; ++g) {
    const char* letter = problem.heads > problem.kv_heads ? "g" : "h";
    if (problem.heads > 1) builder.name_under(prefix + letter + std::to_string(g + 1) + ".");
    nodes.push_back(pass.past(name, g, problem.kv_heads));
  }
  builder.name_under(prefix);
  return nodes;
}

NodeId masked_scores(const Problem& problem, Builder& builder, Parameters& parameters, const Head& head) {
  return Pass(problem, builder, parameters, {}).scores(head);
}

}  // namespace qkv

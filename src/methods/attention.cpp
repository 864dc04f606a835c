// One pass: where Q, K and V come from, which heads they are cut into, and how these are joined.
//
//   Q = X·W_Q   K = X·W_K   V = X·W_V
//   … the lines of each head (methods/head_lines.h): scores, scaled, masked, weights, output …
//   concat = the heads' outputs side by side
//   Y = concat·W_O
//
// The calculation may be entered at any of these lines.  With several heads their lines stand under the
// prefix h1. h2. …; latent attention (methods/mla.h) restores the heads instead of cutting them out.

#include "methods/pass.h"

#include <algorithm>
#include <utility>

#include "methods/head_lines.h"
#include "methods/linear.h"
#include "methods/mla.h"
#include "ops/position_kernels.h"
#include "ops/rows.h"

namespace qkv {
namespace {

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
        prefix_(builder.prefix()),
        tables_(prefix_) {}

  Read run() {
    Read result;
    Head head;
    if (problem_.has("W_DKV")) {
      latents_ = latents();
      result.cache.latents = {latents_->c_kv};
      if (latents_->k_r) result.cache.latents.push_back(*latents_->k_r);
    } else if (computes_scores()) {
      head.q = queries();
      head.k = keys();
      values();
    }
    if (problem_.heads > 1) {
      result.last = several_heads(result);
    } else {
      if (latents_) {
        head = restored_head(0, result);
      } else if (computes_scores()) {
        head.q = rotated_queries(head.q);
        head.k = after_past("K", rotated_keys(head.k), 0, 1);
        head.v = after_past("V", values(), 0, 1);
        cache(head, 0, result);
      }
      result.last = project_output(output_of(head), "Y");
    }
    return result;
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

  template <class Make>
  NodeId shared(const std::string& name, Make make) {
    return tables_.node(builder_, name, make);
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
    const Params params{.numbers = {whole_number(kernels::kSinusoidBase), whole_number(width)}};
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
      const auto& cache = are_keys ? sources_.past.keys : sources_.past.values;
      return append(cache[static_cast<std::size_t>(head)]);
    }
    return problem_.has(past_name) ? append(past(name, head, heads)) : fresh;
  }

  // What the next pass will know of this group of heads, or of all: the latents are cached already.
  void cache(Head& head, Index group, Read& result) {
    if (problem_.method == MethodKind::linear && problem_.is_decoded) {
      const auto& past = sources_.past.states;
      head.state =
          add_to_state(builder_, problem_, head.k, *head.v,
                       past.empty() ? std::nullopt : std::optional(past[static_cast<std::size_t>(group)]));
      result.cache.states.push_back(*head.state);
    } else if (!latents_) {
      result.cache.keys.push_back(head.k);
      result.cache.values.push_back(*head.v);
    }
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
            },
        .once = [this](const std::string& name,
                       const std::function<NodeId()>& make) { parameters_.shared(builder_, name, make); },
        .past = sources_.cached > 0 ? sources_.past.latents : std::vector<NodeId>{}};
    return add_latents(builder_, problem_, sources);
  }

  Head restored_head(Index h, Read& result) {
    const LatentHead made = add_latent_head(builder_, problem_, *latents_, h);
    Head head{.index = static_cast<std::size_t>(h), .q = made.q, .k = made.k, .v = made.v};
    cache(head, h, result);
    return head;
  }

  // ---- one head ----

  PassParts parts() { return {problem_, builder_, parameters_, tables_}; }

  // What one head reads: linearly, tile by tile, or with the softmax at once.
  NodeId output_of(const Head& head) {
    if (problem_.tile) return online_softmax(problem_, builder_, parameters_, head);
    if (head.state) return read_in_pass(builder_, problem_, head.q, *head.v, *head.state);
    if (problem_.method == MethodKind::linear)
      return read_linearly(builder_, problem_, head.q, head.k, *head.v);
    const NodeId weights = weights_of_head(parts(), head);
    const NodeId output = read_with(parts(), head, weights, head.v ? *head.v : values());
    if (latents_) compare_with_cache(builder_, problem_, *latents_, static_cast<Index>(head.index), weights);
    return output;
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
      head = latents_ ? restored_head(h, result) : cut_head(h, head, result);
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
    Head head = before;
    head.index = static_cast<std::size_t>(h);
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
      cache(head, g, result);
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
  std::string prefix_;  // of the pass
  MadeOnce tables_;     // what the heads of the pass share
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

std::string kv_head_prefix(const Problem& problem, Index index) {
  if (problem.heads == 1) return "";
  return (problem.heads > problem.kv_heads ? "g" : "h") + std::to_string(index + 1) + ".";
}

std::vector<NodeId> given_past(const Problem& problem, Builder& builder, Parameters& parameters,
                               const std::string& name) {
  Pass pass(problem, builder, parameters, {});
  std::vector<NodeId> nodes;
  const std::string prefix = builder.prefix();
  for (Index g = 0; g < problem.kv_heads; ++g) {
    builder.name_under(prefix + kv_head_prefix(problem, g));
    nodes.push_back(pass.past(name, g, problem.kv_heads));
  }
  builder.name_under(prefix);
  return nodes;
}

NodeId masked_scores(const Problem& problem, Builder& builder, Parameters& parameters, const Head& head) {
  MadeOnce tables(builder.prefix());
  return scores_of_head({problem, builder, parameters, tables}, head);
}

}  // namespace qkv

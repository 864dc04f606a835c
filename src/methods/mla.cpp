// Multi-head latent attention, as DeepSeek-V2 has it, without the norms of the latents:
//
//   c_KV = X·W_DKV     K_C = c_KV·W_UK   V_C = c_KV·W_UV
//   c_Q  = X·W_DQ      Q_C = c_Q·W_UQ                          (without W_DQ: Q_C = X·W_UQ)
//   K_R  = rope(X·W_KR)    Q_R = rope(c_Q·W_QR)
//
// Each head attends with [its part of Q_C, its part of Q_R], [its part of K_C, K_R] and its part of V_C.
// Of a token only c_KV and K_R need be kept.

#include "methods/mla.h"

#include <utility>
#include <vector>

#include "ops/rows.h"

namespace qkv {
namespace {

struct ProjectionPair {
  const Op& plain;
  const Op& linear;
};

struct RotationPair {
  const Op& half;
  const Op& interleaved;
};

class LatentPlanner {
 public:
  LatentPlanner(Builder& builder, const Problem& problem, const LatentSources& sources)
      : builder_(builder), problem_(problem), sources_(sources) {}

  Latents add() {
    const bool has_position = problem_.has("W_KR");
    const NodeId x_kv = sources_.tokens(Side::keys);
    const NodeId c_kv = project("c_KV", x_kv, "W_DKV", {ops::latent, ops::latent_linear});
    Latents all;
    all.k_c = project("K_C", c_kv, "W_UK", {ops::restored_keys, ops::restored_keys_linear});
    all.v_c = project("V_C", c_kv, "W_UV", {ops::restored_values, ops::restored_values_linear});
    if (has_position) {
      all.k_r = position_part("K_R", x_kv, "W_KR", Side::keys, {ops::key_position, ops::key_position_linear},
                              {ops::rotate_half_k_part, ops::rotate_interleaved_k_part});
    }
    const NodeId x = sources_.tokens(Side::queries);
    const NodeId c_q =
        problem_.has("W_DQ") ? project("c_Q", x, "W_DQ", {ops::query_latent, ops::query_latent_linear}) : x;
    all.q_c = project("Q_C", c_q, "W_UQ", {ops::restored_queries, ops::restored_queries_linear});
    if (has_position) {
      all.q_r =
          position_part("Q_R", c_q, "W_QR", Side::queries, {ops::query_position, ops::query_position_linear},
                        {ops::rotate_half_q_part, ops::rotate_interleaved_q_part});
    }
    count_cached(c_kv, all);
    return all;
  }

 private:
  NodeId project(const std::string& id, NodeId x, const std::string& w_name, const ProjectionPair& ops) {
    const bool is_linear = problem_.layout == Layout::linear;
    return builder_.step(id, is_linear ? ops.linear : ops.plain, {x, sources_.parameter(w_name)}, {},
                         {.rows = builder_[x].rows});
  }

  NodeId position_part(const std::string& id, NodeId x, const std::string& w_name, Side side,
                       const ProjectionPair& ops, const RotationPair& rotations) {
    if (problem_.rope.pairs == Rope::Pairs::none) return project(id, x, w_name, ops);
    const NodeId unrotated = project(id + ".unrotated", x, w_name, ops);
    const Index width = builder_[unrotated].shape.cols / (side == Side::keys ? 1 : problem_.heads);
    const Op& op = problem_.rope.pairs == Rope::Pairs::interleaved ? rotations.interleaved : rotations.half;
    return builder_.step(id, op, {unrotated, sources_.angles(side, unrotated)},
                         {.numbers = {whole_number(width)}}, {.rows = builder_[x].rows});
  }

  void count_cached(NodeId c_kv, const Latents& all) {
    std::vector<NodeId> kept{c_kv};
    if (all.k_r) kept.push_back(*all.k_r);
    add_widths("cache", ops::cached_latent, std::move(kept));
    add_widths("plain.cache", ops::cached_plain, {all.k_c, all.v_c});
  }

  void add_widths(const std::string& id, const Op& op, std::vector<NodeId> kept) {
    NodeTraits traits{.role = Role::aside, .has_row_sums = true};
    for (const NodeId each : kept) traits.cols.push_back(builder_[each].id);
    builder_.step(id, op, std::move(kept), {}, std::move(traits));
  }

  Builder& builder_;
  const Problem& problem_;
  const LatentSources& sources_;
};

// Columns of part `index` of `count` equal parts, counted from 1: the first, the last.
std::vector<Number> columns_of(const Node& wide, Index index, Index count) {
  const Index width = wide.shape.cols / count;
  return {whole_number(index * width + 1), whole_number((index + 1) * width)};
}

}  // namespace

Latents add_latents(Builder& builder, const Problem& problem, const LatentSources& sources) {
  return LatentPlanner(builder, problem, sources).add();
}

LatentHead add_latent_head(Builder& builder, const Problem& problem, const Latents& latents, Index head) {
  const auto part = [&](const std::string& name, const Op& op, NodeId wide) {
    return builder.step(name, op, {wide}, {.numbers = columns_of(builder[wide], head, problem.heads)},
                        {.rows = builder[wide].rows});
  };
  const auto with_position = [&](const std::string& name, const Op& op, NodeId content, NodeId position,
                                 std::vector<Number> position_columns) {
    Params params{.numbers = columns_of(builder[content], head, problem.heads)};
    params.numbers.insert(params.numbers.end(), position_columns.begin(), position_columns.end());
    return builder.step(name, op, {content, position}, std::move(params), {.rows = builder[content].rows});
  };
  LatentHead made;
  if (latents.q_r) {
    made.q = with_position("Q", ops::latent_head_q, latents.q_c, *latents.q_r,
                           columns_of(builder[*latents.q_r], head, problem.heads));
    made.k = with_position("K", ops::latent_head_k, latents.k_c, *latents.k_r,
                           columns_of(builder[*latents.k_r], 0, 1));
  } else {
    made.q = part("Q", ops::head_q, latents.q_c);
    made.k = part("K", ops::head_k, latents.k_c);
  }
  made.v = part("V", ops::head_v, latents.v_c);
  return made;
}

}  // namespace qkv

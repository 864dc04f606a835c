// Multi-head latent attention, as DeepSeek-V2 has it, without the norms of the latents:
//
//   c_KV = X·W_DKV     K_C = c_KV·W_UK   V_C = c_KV·W_UV
//   c_Q  = X·W_DQ      Q_C = c_Q·W_UQ                          (without W_DQ: Q_C = X·W_UQ)
//   K_R  = rope(X·W_KR)    Q_R = rope(c_Q·W_QR)
//
// Each head attends with [its part of Q_C, its part of Q_R], [its part of K_C, K_R] and its part of V_C.
// Of a token only c_KV and K_R need be kept: a pass that continues others appends its own to theirs, and
// restores K_C and V_C of all tokens from the longer c_KV.  That scores and output can be had from them
// without restoring keys and values, by multiplying in another order, stands beside at --detail full.

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

// Columns of part `index` of `count` equal parts of `cols`, counted from 1: the first, the last.
std::vector<Number> columns_of(Index cols, Index index, Index count) {
  const Index width = cols / count;
  return {whole_number(index * width + 1), whole_number((index + 1) * width)};
}

class LatentPlanner {
 public:
  LatentPlanner(Builder& builder, const Problem& problem, const LatentSources& sources)
      : builder_(builder), problem_(problem), sources_(sources) {}

  Latents add() {
    const bool has_position = problem_.has("W_KR");
    const NodeId x_kv = sources_.tokens(Side::keys);
    const NodeId c_kv =
        after_past(0, project("c_KV", x_kv, "W_DKV", {ops::latent, ops::latent_linear}), ops::append_latents);
    Latents all;
    all.c_kv = c_kv;
    all.k_c = project("K_C", c_kv, "W_UK",
                      is_continued() ? ProjectionPair{ops::keys_from_cache, ops::keys_from_cache_linear}
                                     : ProjectionPair{ops::restored_keys, ops::restored_keys_linear});
    all.v_c = project("V_C", c_kv, "W_UV",
                      is_continued() ? ProjectionPair{ops::values_from_cache, ops::values_from_cache_linear}
                                     : ProjectionPair{ops::restored_values, ops::restored_values_linear});
    if (has_position) {
      const NodeId k_r =
          position_part("K_R", x_kv, "W_KR", Side::keys, {ops::key_position, ops::key_position_linear},
                        {ops::rotate_half_k_part, ops::rotate_interleaved_k_part});
      all.k_r = after_past(1, k_r, ops::append_key_positions);
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
    all.w_uk = sources_.parameter("W_UK");
    all.w_uv = sources_.parameter("W_UV");
    all.cached_k = all.k_r ? joined_key(c_kv, *all.k_r) : c_kv;
    count_cached(all);
    return all;
  }

 private:
  bool is_continued() const { return !sources_.past.empty(); }

  // The cached rows of c_KV or of K_R above the new ones.
  NodeId after_past(std::size_t which, NodeId fresh, const Op& append) {
    if (!is_continued()) return fresh;
    return builder_.step(std::string(builder_[fresh].name()) + ".cache", append,
                         {sources_.past[which], fresh}, {}, {.rows = problem_.kv_tokens});
  }

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

  NodeId joined_key(NodeId content, NodeId position) {
    std::vector<Number> columns = columns_of(builder_[content].shape.cols, 0, 1);
    const std::vector<Number> more = columns_of(builder_[position].shape.cols, 0, 1);
    columns.insert(columns.end(), more.begin(), more.end());
    return builder_.step("cached.K", ops::cached_key, {content, position}, {.numbers = std::move(columns)},
                         {.level = Level::full, .role = Role::aside, .rows = builder_[content].rows});
  }

  void count_cached(const Latents& all) {
    std::vector<NodeId> kept{all.c_kv};
    if (all.k_r) kept.push_back(*all.k_r);
    add_widths("cache", ops::cached_latent, kept);
    add_widths("plain.cache", ops::cached_plain, {all.k_c, all.v_c});
  }

  void add_widths(const std::string& id, const Op& op, const std::vector<NodeId>& kept) {
    NodeTraits traits{.role = Role::aside, .has_row_sums = true};
    for (const NodeId each : kept) traits.cols.emplace_back(builder_[each].name());
    sources_.once(id, [&] { return builder_.step(id, op, kept, {}, traits); });
  }

  Builder& builder_;
  const Problem& problem_;
  const LatentSources& sources_;
};

class HeadPlanner {
 public:
  HeadPlanner(Builder& builder, const Problem& problem, const Latents& latents, Index head)
      : builder_(builder), problem_(problem), latents_(latents), head_(head) {}

  LatentHead add() {
    LatentHead made;
    if (latents_.q_r) {
      made.q = with_position("Q", ops::latent_head_q, latents_.q_c, own(latents_.q_c), *latents_.q_r,
                             own(*latents_.q_r));
      made.k = with_position("K", ops::latent_head_k, latents_.k_c, own(latents_.k_c), *latents_.k_r,
                             all(*latents_.k_r));
    } else {
      made.q = part("Q", ops::head_q, latents_.q_c);
      made.k = part("K", ops::head_k, latents_.k_c);
    }
    made.v = part("V", ops::head_v, latents_.v_c);
    return made;
  }

  void add_from_cache(NodeId weights) {
    traits_ = {.level = Level::full, .role = Role::aside};
    const bool is_linear = problem_.layout == Layout::linear;
    NodeId q = step("absorbed.Q_C", is_linear ? ops::absorbed_query_linear : ops::absorbed_query,
                    {latents_.q_c, latents_.w_uk}, own(latents_.q_c));
    if (latents_.q_r) {
      q = with_position("absorbed.Q", ops::absorbed_head_q, q, all(q), *latents_.q_r, own(*latents_.q_r));
    }
    if (problem_.score == ScoreKind::dot) {
      traits_.cols = problem_.kv_tokens;
      step("cached.scores", ops::cached_scores, {q, latents_.cached_k}, {});
      traits_.cols.clear();
    }
    if (problem_.read == ReadKind::soft) {
      step("cached.output", is_linear ? ops::cached_output_linear : ops::cached_output,
           {weights, latents_.c_kv, latents_.w_uv}, own(latents_.v_c));
    }
  }

 private:
  std::vector<Number> own(NodeId wide) const {
    return columns_of(builder_[wide].shape.cols, head_, problem_.heads);
  }
  std::vector<Number> all(NodeId matrix) const { return columns_of(builder_[matrix].shape.cols, 0, 1); }

  NodeId step(const std::string& name, const Op& op, std::vector<NodeId> inputs,
              std::vector<Number> numbers) {
    NodeTraits traits = traits_;
    traits.rows = builder_[inputs[0]].rows;
    return builder_.step(name, op, std::move(inputs), {.numbers = std::move(numbers)}, std::move(traits));
  }

  NodeId part(const std::string& name, const Op& op, NodeId wide) {
    return step(name, op, {wide}, own(wide));
  }

  NodeId with_position(const std::string& name, const Op& op, NodeId content, std::vector<Number> columns,
                       NodeId position, const std::vector<Number>& position_columns) {
    columns.insert(columns.end(), position_columns.begin(), position_columns.end());
    return step(name, op, {content, position}, std::move(columns));
  }

  Builder& builder_;
  const Problem& problem_;
  const Latents& latents_;
  Index head_;
  NodeTraits traits_;  // of the steps that are being added
};

}  // namespace

Latents add_latents(Builder& builder, const Problem& problem, const LatentSources& sources) {
  return LatentPlanner(builder, problem, sources).add();
}

LatentHead add_latent_head(Builder& builder, const Problem& problem, const Latents& latents, Index head) {
  return HeadPlanner(builder, problem, latents, head).add();
}

void compare_with_cache(Builder& builder, const Problem& problem, const Latents& latents, Index head,
                        NodeId weights) {
  HeadPlanner(builder, problem, latents, head).add_from_cache(weights);
}

}  // namespace qkv

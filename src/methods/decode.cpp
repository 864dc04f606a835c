// Token by token with a KV cache.
//
// Each pass computes the query, the key and the value of its own tokens only, appends key and value
// to the cache, and reads from the cache.  Keys that no later query may see leave the cache: with a
// window and a few first tokens kept, the cache stops growing (StreamingLLM, Xiao et al. 2023).
// Latent attention caches c_KV and K_R in their place, linear attention its state: no rows at all.
//
// In a stack each layer has a cache of its own, and a token goes through all layers before the next one
// enters.  That is possible because every layer looks back only.

#include <string>
#include <utility>

#include "methods/pass.h"
#include "ops/rows.h"

namespace qkv {
namespace {

// The tokens [first, first + count) that go through together, and the prefix of their steps.
struct Batch {
  std::string prefix;  // "prefill.", "t3."
  Index first;
  Index count;
};

std::vector<Batch> batches_of(const Problem& problem) {
  std::vector<Batch> batches;
  if (problem.prefill > 0) batches.push_back({"prefill.", 0, problem.prefill});
  for (Index t = problem.prefill; t < static_cast<Index>(problem.tokens.size()); ++t)
    batches.push_back({"t" + std::to_string(t + problem.first_index) + ".", t, 1});
  return batches;
}

// One attention and what it remembers from pass to pass.  The prefix of its steps is the builder's.
class CachedAttention {
 public:
  CachedAttention(const Problem& problem, Builder& builder, Parameters& parameters)
      : problem_(problem),
        builder_(builder),
        parameters_(parameters),
        past_(problem.has("past_K") ? problem["past_K"].rows : 0) {
    for (Index key = 0; key < past_; ++key) held_.push_back(key);
  }

  // What belongs to keys that no query from `first` on may see is dropped from the cache.
  void evict_before(Index first) {
    if (problem_.method == MethodKind::linear) {
      held_.clear();  // every key that was read is in the state, and none can leave it
      return;
    }
    if (held_.empty()) return;
    if (cache_.keys.empty() && cache_.latents.empty()) {
      // The cache that the problem gives.
      cache_.keys = given_past(problem_, builder_, parameters_, "K");
      cache_.values = given_past(problem_, builder_, parameters_, "V");
    }
    std::vector<Index> kept;
    Params rows;
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const Index key = held_[i];
      if (!is_seen_from(first, key)) continue;
      kept.push_back(key);
      rows.numbers.push_back(whole_number(static_cast<long>(i + 1)));
      labels.push_back(problem_.kv_tokens[static_cast<std::size_t>(key)]);
    }
    if (kept.size() == held_.size()) return;
    held_ = std::move(kept);
    if (!held_.empty()) keep(rows, labels);
  }

  // The lines of a batch, whose X, or Q, K and V, stand in `nodes`.
  NodeId read(const Batch& batch, std::map<std::string, NodeId> nodes) {
    Sources sources{.nodes = std::move(nodes),
                    .is_continued = true,
                    .cached = static_cast<Index>(held_.size()),
                    .past = std::move(cache_)};
    for (Index i = 0; i < batch.count; ++i) held_.push_back(past_ + batch.first + i);
    Read read =
        attend(part_of(problem_, batch.first, batch.count, held_), builder_, parameters_, std::move(sources));
    cache_ = std::move(read.cache);
    return read.last;
  }

 private:
  void keep(const Params& rows, const std::vector<std::string>& labels) {
    const auto take = [&](NodeId& node, const char* name, const Op& op) {
      node = builder_.step(name, op, {node}, rows, {.rows = labels, .basis = builder_[node].basis});
    };
    const std::string prefix = builder_.prefix();
    for (std::size_t g = 0; g < cache_.keys.size(); ++g) {
      builder_.name_under(prefix + kv_head_prefix(problem_, static_cast<Index>(g)));
      take(cache_.keys[g], "K.kept", ops::kept_keys);
      take(cache_.values[g], "V.kept", ops::kept_values);
    }
    builder_.name_under(prefix);
    if (!cache_.latents.empty()) take(cache_.latents[0], "c_KV.kept", ops::kept_latents);
    if (cache_.latents.size() > 1) take(cache_.latents[1], "K_R.kept", ops::kept_key_positions);
  }

  // With a bias by distance every key stays: its place in the cache is its position.
  bool is_seen_from(Index first, Index key) const {
    if (!problem_.allowed || !problem_.slopes.empty()) return true;
    const Index rest = problem_.allowed->rows() - first;
    return problem_.allowed->col(key).tail(rest).any();
  }

  const Problem& problem_;
  Builder& builder_;
  Parameters& parameters_;
  Index past_;               // keys of [past_K]
  std::vector<Index> held_;  // the keys in the cache, by their number in the problem
  Cache cache_;              // after the latest pass
};

// X, or Q, K and V, of all tokens: what the passes take their rows from.
std::vector<std::pair<std::string, NodeId>> whole_matrices(const Problem& problem, Builder& builder,
                                                           Parameters& parameters) {
  std::vector<std::pair<std::string, NodeId>> whole;
  const auto add = [&](const char* name) {
    whole.emplace_back(name, given_rows(problem, builder, parameters, name));
  };
  if (problem.entry == Entry::x) add("X");
  for (const char* name : {"Q", "K", "V"}) {
    if (!problem.same_as.contains(name) && problem.has(name)) add(name);
  }
  return whole;
}

const Op& new_rows_op(const std::string& name, MethodKind method) {
  const bool is_linear = method == MethodKind::linear;
  if (name == "X") return ops::new_x;
  if (name == "Q") return ops::new_q;
  if (name == "K") return is_linear ? ops::new_k_for_state : ops::new_k;
  return is_linear ? ops::new_v_for_state : ops::new_v;
}

// The batch's rows of a matrix of all tokens.
NodeId new_rows(const Problem& problem, Builder& builder, const Batch& batch, const std::string& name,
                NodeId whole) {
  Params rows;
  NodeTraits traits{.basis = builder[whole].basis};
  for (Index t = batch.first; t < batch.first + batch.count; ++t) {
    rows.numbers.push_back(whole_number(t + 1));
    traits.rows.push_back(problem.tokens[static_cast<std::size_t>(t)]);
  }
  return builder.step(name, new_rows_op(name, problem.method), {whole}, std::move(rows), std::move(traits));
}

// What the passes have read, one below the other.
NodeId all_rows(const Problem& problem, Builder& builder, const std::string& prefix,
                std::vector<NodeId> results) {
  builder.name_under(prefix);
  const Node& last = builder[results.back()];
  return builder.step(std::string(last.name()), ops::decoded, std::move(results), {},
                      {.rows = problem.tokens, .basis = last.basis});
}

}  // namespace

NodeId decode(const Problem& problem, Builder& builder, Parameters& parameters) {
  const auto whole = whole_matrices(problem, builder, parameters);
  CachedAttention attention(problem, builder, parameters);
  std::vector<NodeId> results;
  for (const Batch& batch : batches_of(problem)) {
    builder.name_under(batch.prefix);
    attention.evict_before(batch.first);
    std::map<std::string, NodeId> nodes;
    for (const auto& [name, node] : whole) nodes[name] = new_rows(problem, builder, batch, name, node);
    results.push_back(attention.read(batch, std::move(nodes)));
  }
  return all_rows(problem, builder, "", std::move(results));
}

NodeId decode_stack(const Problem& problem, Builder& builder, Parameters& parameters) {
  const NodeId whole = given_rows(problem, builder, parameters, "X");
  const std::size_t count = problem.stack.size();
  std::vector<Parameters> own(count);  // not to be moved once the layers refer to them
  std::vector<CachedAttention> layers;
  for (std::size_t layer = 0; layer < count; ++layer) {
    own[layer].enter_layer(layer_prefix(layer));
    layers.emplace_back(problem.stack[layer], builder, own[layer]);
  }
  std::vector<NodeId> results;
  for (const Batch& batch : batches_of(problem)) {
    builder.name_under(batch.prefix);
    NodeId x = new_rows(problem, builder, batch, "X", whole);
    for (std::size_t layer = 0; layer < count; ++layer) {
      builder.name_under(batch.prefix + layer_prefix(layer));
      layers[layer].evict_before(batch.first);
      const NodeId read = layers[layer].read(batch, {{"X", x}});
      x = out_of_layer(problem.stack[layer], builder, x, read);
    }
    results.push_back(x);
  }
  return all_rows(problem, builder, layer_prefix(count - 1), std::move(results));
}

}  // namespace qkv

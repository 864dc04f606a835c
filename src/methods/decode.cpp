// Token by token with a KV cache.
//
// Each pass computes the query, the key and the value of its own tokens only, appends key and value
// to the cache, and reads from the cache.  Keys that no later query may see leave the cache: with a
// window and a few first tokens kept, the cache stops growing (StreamingLLM, Xiao et al. 2023).
// Latent attention caches c_KV and K_R in their place, linear attention its state: no rows at all.

#include <string>
#include <utility>

#include "methods/pass.h"
#include "ops/rows.h"

namespace qkv {
namespace {

class Decoding {
 public:
  Decoding(const Problem& problem, Builder& builder, Parameters& parameters)
      : problem_(problem), builder_(builder), parameters_(parameters) {}

  NodeId run() {
    whole_ = whole_matrices();
    const Index past = problem_.has("past_K") ? problem_["past_K"].rows : 0;
    for (Index key = 0; key < past; ++key) held_.push_back(key);
    const Index n = static_cast<Index>(problem_.tokens.size());
    std::vector<NodeId> results;
    if (problem_.prefill > 0) results.push_back(pass("prefill.", 0, problem_.prefill, past));
    for (Index t = problem_.prefill; t < n; ++t) {
      results.push_back(pass("t" + std::to_string(t + problem_.first_index) + ".", t, 1, past));
    }
    builder_.name_under("");
    const Node& last = builder_[results.back()];
    return builder_.step(std::string(last.name()), ops::decoded, std::move(results), {},
                         {.rows = problem_.tokens, .basis = last.basis});
  }

 private:
  // X, or Q, K and V, of all tokens: what the passes take their rows from.
  std::vector<std::pair<std::string, NodeId>> whole_matrices() {
    std::vector<std::pair<std::string, NodeId>> whole;
    const auto add = [&](const char* name) {
      whole.emplace_back(name, given_rows(problem_, builder_, parameters_, name));
    };
    if (problem_.entry == Entry::x) add("X");
    for (const char* name : {"Q", "K", "V"}) {
      if (!problem_.same_as.contains(name) && problem_.has(name)) add(name);
    }
    return whole;
  }

  NodeId pass(const std::string& prefix, Index first, Index count, Index past) {
    builder_.name_under(prefix);
    Sources sources;
    evict(first, sources);
    sources.is_continued = true;
    sources.cached = static_cast<Index>(held_.size());
    for (Index i = 0; i < count; ++i) held_.push_back(past + first + i);
    const Problem part = part_of(problem_, first, count, held_);
    Params rows;
    for (Index i = 0; i < count; ++i) rows.numbers.push_back(whole_number(first + i + 1));
    for (const auto& [name, node] : whole_) {
      const Op& op = name == "X"   ? ops::new_x
                     : name == "Q" ? ops::new_q
                     : name == "K" ? (is_linear() ? ops::new_k_for_state : ops::new_k)
                                   : (is_linear() ? ops::new_v_for_state : ops::new_v);
      sources.nodes[name] =
          builder_.step(name, op, {node}, rows, {.rows = part.tokens, .basis = builder_[node].basis});
    }
    Read read = attend(part, builder_, parameters_, std::move(sources));
    cache_ = std::move(read.cache);
    return read.last;
  }

  // What belongs to keys that no query from `first` on may see is dropped from the cache.
  void evict(Index first, Sources& sources) {
    if (is_linear()) {
      held_.clear();  // every key that was read is in the state, and none can leave it
      sources.past = cache_;
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
    if (kept.size() != held_.size()) {
      held_ = std::move(kept);
      if (held_.empty()) return;
      keep(rows, labels);
    }
    sources.past = cache_;
  }

  void keep(const Params& rows, const std::vector<std::string>& labels) {
    const auto take = [&](NodeId& node, const char* name, const Op& op) {
      node = builder_.step(name, op, {node}, rows, {.rows = labels, .basis = builder_[node].basis});
    };
    const std::string prefix = builder_.prefix();
    for (std::size_t g = 0; g < cache_.keys.size(); ++g) {
      if (problem_.heads > 1) builder_.name_under(prefix + group_prefix(cache_.keys[g]));
      take(cache_.keys[g], "K.kept", ops::kept_keys);
      take(cache_.values[g], "V.kept", ops::kept_values);
    }
    builder_.name_under(prefix);
    if (!cache_.latents.empty()) take(cache_.latents[0], "c_KV.kept", ops::kept_latents);
    if (cache_.latents.size() > 1) take(cache_.latents[1], "K_R.kept", ops::kept_key_positions);
  }

  bool is_linear() const { return problem_.method == MethodKind::linear; }

  // "t2.g1." is "g1." of whatever pass.
  std::string group_prefix(NodeId node) const {
    const std::string& prefix = builder_[node].prefix;
    return prefix.substr(prefix.find('.') + 1);
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
  std::vector<std::pair<std::string, NodeId>> whole_;
  std::vector<Index> held_;  // the keys in the cache, by their number in the problem
  Cache cache_;              // after the latest pass
};

}  // namespace

NodeId decode(const Problem& problem, Builder& builder, Parameters& parameters) {
  return Decoding(problem, builder, parameters).run();
}

}  // namespace qkv

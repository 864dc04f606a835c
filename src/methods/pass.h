// One pass of attention over some queries and keys: what the methods put together.
//
// Decoding is a pass per token, a stack a pass per layer, reading a memory a pass per hop.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "methods/linear.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

// What one head looks for, and in what.
struct Head {
  std::size_t index = 0;
  NodeId q = 0;
  NodeId k = 0;
  std::optional<NodeId> v = std::nullopt;           // of a table of scores it is given later
  std::optional<LinearState> state = std::nullopt;  // of linear attention that is decoded
};

// Nodes that are made where they are first needed, all under one prefix, whoever needs them.
class MadeOnce {
 public:
  explicit MadeOnce(std::string prefix = "") : prefix_(std::move(prefix)) {}

  template <class Make>
  NodeId node(Builder& builder, const std::string& name, Make make) {
    if (const auto at = made_.find(name); at != made_.end()) return at->second;
    const std::string prefix = builder.prefix();
    builder.name_under(prefix_);
    const NodeId made = make();
    builder.name_under(prefix);
    return made_[name] = made;
  }

 private:
  std::string prefix_;
  std::map<std::string, NodeId> made_;
};

// W_Q, b_O, v_a …: made where they are first needed, and used by every pass that names them.
class Parameters {
 public:
  NodeId node(Builder& builder, const Problem& problem, const std::string& name);

  // Anything else that all passes share.
  template <class Make>
  NodeId shared(Builder& builder, const std::string& name, Make make) {
    return made_.node(builder, name, make);
  }

  // From now on parameters belong to this layer alone: "L2."
  void enter_layer(std::string prefix) { made_ = MadeOnce(std::move(prefix)); }

 private:
  MadeOnce made_;
};

// What a pass leaves to the next one: all that is known there of earlier tokens.
struct Cache {
  std::vector<NodeId> keys = {};  // rotated already, one an KV head
  std::vector<NodeId> values = {};
  std::vector<NodeId> latents = {};      // of MLA, in place of both: c_KV, and K_R where there is one
  std::vector<LinearState> states = {};  // of linear attention, in place of both, one an KV head
};

// Matrices of a pass that stand in the plan already, in place of those that the problem gives.
struct Sources {
  std::map<std::string, NodeId> nodes = {};  // "X", "Q", "K", "V"
  bool is_continued = false;                 // what is cached is said here, not by [past_K]
  Index cached = 0;                          // rows of what is cached
  Cache past = {};
};

struct Read {
  NodeId last = 0;  // Y, concat or output
  Cache cache;      // all that may be looked at
};

// The lines from Q, K and V to the last one, under the builder's prefix.
Read attend(const Problem& problem, Builder& builder, Parameters& parameters, Sources sources = {});

// X with its positions, or Q, K or V as given: of all tokens together.
NodeId given_rows(const Problem& problem, Builder& builder, Parameters& parameters, const std::string& name);

// [past_K] or [past_V], one an KV head.
std::vector<NodeId> given_past(const Problem& problem, Builder& builder, Parameters& parameters,
                               const std::string& name);

// scores … masked of one head.
NodeId masked_scores(const Problem& problem, Builder& builder, Parameters& parameters, const Head& head);

// The softmax and the read of one head, tile by tile; see methods/online.cpp.
NodeId online_softmax(const Problem& problem, Builder& builder, Parameters& parameters, const Head& head);

// "g2." or "h2.", where keys and values of the KV head `index` stand; "" when there is one head.
std::string kv_head_prefix(const Problem& problem, Index index);

// Token by token with a KV cache, through one layer or several; see methods/decode.cpp.
NodeId decode(const Problem& problem, Builder& builder, Parameters& parameters);
NodeId decode_stack(const Problem& problem, Builder& builder, Parameters& parameters);

// What came in, X with its positions, plus what was read.
NodeId add_residual(const Problem& problem, Builder& builder, NodeId read);

// "L2." of the layer `index`, and what that layer hands on: what it has read, added to its X with a residual.
// Stands under the builder's prefix.
std::string layer_prefix(std::size_t index);
NodeId out_of_layer(const Problem& layer, Builder& builder, NodeId x, NodeId read);

// Layer after layer, and hop after hop; see methods/stack.cpp.
NodeId stack(const Problem& problem, Builder& builder, Parameters& parameters);
NodeId hops(const Problem& problem, Builder& builder, Parameters& parameters);

// The queries [first, first + count) of a problem against some of its keys, as a problem of its own: its
// tokens, masks, biases and positions.  X, Q, K and V are those of the whole.
Problem part_of(const Problem& problem, Index first, Index count, const std::vector<Index>& keys);

}  // namespace qkv

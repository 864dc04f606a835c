// Multi-head latent attention: where Q, K and V of each head come from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

enum class Side { queries, keys };

// What is made elsewhere in the plan, when it is first needed.
struct LatentSources {
  std::function<NodeId(Side)> tokens;  // X, or X_kv for the keys
  std::function<NodeId(const std::string& name)> parameter;
  std::function<NodeId(Side, NodeId turned)> angles;  // by which the rows of `turned` turn
  // Adds what one of all passes is enough for.
  std::function<void(const std::string& name, const std::function<NodeId()>& make)> once;
  std::vector<NodeId> past;  // of earlier passes: c_KV, and K_R where there is one
};

// Of all heads side by side.
struct Latents {
  NodeId q_c, k_c, v_c;
  std::optional<NodeId> q_r, k_r;  // the position parts; k_r is one for all heads
  NodeId c_kv, w_uk, w_uv;         // what k_c and v_c are made of; c_kv and k_r begin with the past
  NodeId cached_k;                 // what is cached of a token, as one key for all heads
};
Latents add_latents(Builder& builder, const Problem& problem, const LatentSources& sources);

struct LatentHead {
  NodeId q, k, v;
};
LatentHead add_latent_head(Builder& builder, const Problem& problem, const Latents& latents, Index head);

// Beside a head that has attended with `weights`: its scores and output from c_KV and K_R alone.
void compare_with_cache(Builder& builder, const Problem& problem, const Latents& latents, Index head,
                        NodeId weights);

}  // namespace qkv

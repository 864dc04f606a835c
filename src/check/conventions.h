// The conventions that an implementation of attention can follow, as a lattice: what the problem says, and in
// each dimension what it could say instead.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "problem/problem.h"

namespace qkv {

struct Scaling {
  enum class Kind { none, by_root, divide, multiply };
  Kind kind = Kind::none;
  Number number = {};
};
// Along which the softmax sums to one.
enum class Axis { rows, columns, all };
// What is done to a key that the mask hides.
enum class Hiding { minus_infinity, zero_score, zero_weight, zero_weight_renormalised };
enum class Cap { before_mask, after_mask, none };

struct Choice {
  Scaling scaling;
  Axis axis = Axis::rows;
  std::shared_ptr<const Mask> open;  // [n, m]: which keys a query may look at; null: as each head's own mask
  Hiding hiding = Hiding::minus_infinity;
  bool is_other_layout = false;
  bool are_q_and_k_exchanged = false;
  std::string values = "V";
  bool are_weights_transposed = false;  // the output is weightsᵀ · V
  Cap cap = Cap::before_mask;
  // Of several heads: there is only one; the flat list is cut, or joined, without the transpose; head i reads
  // group i mod g.
  bool is_one_head = false;  // as wide as all of them together; its scale is a choice of `scaling`
  bool is_split_flat = false;
  bool is_joined_flat = false;
  bool are_groups_tiled = false;
  bool are_dropped_kept = false;
  // Of rotary positions: neighbours in place of halves or the reverse; queries that stand one further on;
  // no turn at all.
  bool is_other_pairing = false;
  long query_shift = 0;
  bool is_not_turned = false;
  bool is_not_positioned = false;  // the positions that are added to X are left out
};

// By dimension: {"scale", "none"}, {"axis", "columns"}; only what differs from the problem.
using Conventions = std::vector<std::pair<std::string, std::string>>;

struct Combination {
  Conventions changes;
  Choice choice;
};

// Every choice in every dimension with every other, of systems (heads, rotary positions) no more than three
// at a time; those with fewest changes first.
std::vector<Combination> combinations(const Problem& problem);

}  // namespace qkv

#include "methods/claims.h"

#include <algorithm>
#include <utility>

#include "methods/methods.h"
#include "methods/pass.h"

namespace qkv {
namespace {

// Every row of the result against the row of the same number.
Claim::Part same_rows(const Plan& plan, Plan other) {
  Claim::Part part{std::move(other), {}};
  const NodeId here = plan.last_step();
  const NodeId there = part.other.last_step();
  for (Index i = 0; i < plan[here].shape.rows; ++i) part.rows.push_back({here, i, there, i});
  return part;
}

bool computes_scores(const Problem& p) { return p.entry == Entry::x || p.entry == Entry::qkv; }

Given rows_of(const Given& given, const std::vector<Index>& rows) {
  Given part = given;
  part.cells.clear();
  part.row_labels.clear();
  part.rows = static_cast<Index>(rows.size());
  for (const Index row : rows) {
    for (Index col = 0; col < given.cols; ++col) part.cells.push_back(given.at(row, col));
  }
  return part;
}

// The heads of `width` columns in a new order, some of them several times.
Given heads_of(const Given& given, const std::vector<Index>& heads, Index width, bool are_rows) {
  Given result = given;
  result.cells.clear();
  result.row_labels.clear();
  const Index count = static_cast<Index>(heads.size()) * width;
  (are_rows ? result.rows : result.cols) = count;
  const auto place = [&](Index at) {
    return heads[static_cast<std::size_t>(at / width)] * width + at % width;
  };
  for (Index i = 0; i < result.rows; ++i) {
    for (Index j = 0; j < result.cols; ++j)
      result.cells.push_back(are_rows ? given.at(place(i), j) : given.at(i, place(j)));
  }
  return result;
}

// Every query head with keys and values of its own: the shared ones repeated.
Problem with_repeated_heads(const Problem& problem) {
  Problem p = problem;
  std::vector<Index> heads;
  for (Index h = 0; h < p.heads; ++h) heads.push_back(h / (p.heads / p.kv_heads));
  const bool is_linear = p.layout == Layout::linear;
  for (const char* name : {"K", "V", "W_K", "W_V", "b_K", "b_V", "past_K", "past_V"}) {
    if (!p.has(name)) continue;
    const bool are_rows = is_linear && name[0] == 'W';
    Given& given = p.given.find(name)->second;
    given = heads_of(given, heads, (are_rows ? given.rows : given.cols) / p.kv_heads, are_rows);
  }
  p.kv_heads = p.heads;
  return p;
}

// The first `count` tokens alone.
Problem prefix_of(const Problem& problem, Index count) {
  std::vector<Index> rows;
  for (Index i = 0; i < count; ++i) rows.push_back(i);
  Problem p = part_of(problem, 0, count, rows);
  for (const char* name : {"X", "P", "Q", "K", "V"}) {
    if (p.has(name)) p.given[name] = rows_of(problem[name], rows);
  }
  for (Problem& layer : p.stack) layer = prefix_of(layer, count);
  return p;
}

bool looks_back_only(const Problem& p) {
  if (!p.allowed || p.tokens.size() != p.kv_tokens.size()) return false;
  for (Index i = 0; i < p.allowed->rows(); ++i) {
    if (p.allowed->row(i).tail(p.allowed->cols() - i - 1).any()) return false;
  }
  return true;
}

bool is_self_attention(const Problem& p) {
  return computes_scores(p) && p.tokens.size() == p.kv_tokens.size() && !p.has("X_kv") && !p.has("past_K");
}

Problem with_reversed_tokens(const Problem& problem) {
  Problem p = problem;
  std::vector<Index> rows;
  for (Index i = static_cast<Index>(p.tokens.size()); i > 0; --i) rows.push_back(i - 1);
  for (const char* name : {"X", "Q", "K", "V"}) {
    if (p.has(name)) p.given[name] = rows_of(problem[name], rows);
  }
  std::reverse(p.tokens.begin(), p.tokens.end());
  std::reverse(p.kv_tokens.begin(), p.kv_tokens.end());
  for (Problem& layer : p.stack) layer = with_reversed_tokens(layer);
  return p;
}

// Why a shuffle need not take the rows along: what goes by places in the sequence rather than by tokens.
Said what_looks_at_places(const Problem& p) {
  Said reason;
  const auto add = [&](bool acts, Said what) {
    if (acts) reason = reason.empty() ? what : say({"{0}, {1}", "{0}、{1}"}, reason, what);
  };
  const auto mask = std::find_if(p.settings.begin(), p.settings.end(),
                                 [](const auto& s) { return s.first == "mask" && s.second != "none"; });
  add(mask != p.settings.end() || p.mask, say({"the mask", "掩码"}));
  add(p.rope.pairs != Rope::Pairs::none, say({"the rotary positions", "旋转位置编码"}));
  add(p.adds_sinusoids || p.has("P"), say({"the positions added to X", "加到 X 上的位置"}));
  add(!p.slopes.empty() || p.has("bias"), say({"the bias", "偏置"}));
  if (reason.empty()) return reason;
  return say(
      {" (unless something goes by places, as does here: {0})", "（除非有东西看的是位置，如这里的{0}）"},
      reason);
}

bool was_shuffled(const Problem& p) {
  return std::any_of(p.settings.begin(), p.settings.end(), [](const auto& s) { return s.first == "order"; });
}

}  // namespace

// What a plan computes in another way too, beside its steps: every node `name` against `beside` of the same
// head or token.
Claim::Part against_asides(const Problem& problem, const Plan& plan, std::string_view name,
                           const std::string& beside) {
  Claim::Part part{plan_of(problem), {}};
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    if (node.name() != name) continue;
    const auto other = part.other.find(node.prefix + beside);
    if (!other || part.other[*other].shape != node.shape) continue;
    for (Index i = 0; i < node.shape.rows; ++i) part.rows.push_back({id, i, *other, i});
  }
  return part;
}

std::vector<Claim> claims_of(const Problem& problem, const Plan& plan) {
  std::vector<Claim> claims;
  const auto claim_beside = [&](Said sentence, std::string_view name, const std::string& beside) {
    Claim::Part part = against_asides(problem, plan, name, beside);
    if (part.rows.empty()) return;
    claims.push_back({std::move(sentence), {}});
    claims.back().parts.push_back(std::move(part));
  };
  if (problem.method == MethodKind::linear) {
    claim_beside(
        say({"φ(Q)·(φ(K)ᵀ·V) gives what (φ(Q)·φ(K)ᵀ)·V gives: the order of multiplication does not matter",
             "φ(Q)·(φ(K)ᵀ·V) 与 (φ(Q)·φ(K)ᵀ)·V 相同：乘的先后顺序不影响结果"}),
        "output", "quadratic.output");
  }
  if (problem.has("W_DKV")) {
    claim_beside(say({"from what is cached alone, restoring no key and no value, the output is the same",
                      "只用缓存的内容、不还原键和值，得到同样的输出"}),
                 "output", "cached.output");
  }
  const auto claim_same = [&](Said sentence, const Problem& other) {
    claims.push_back({std::move(sentence), {}});
    claims.back().parts.push_back(same_rows(plan, plan_of(other)));
  };
  if (problem.is_decoded) {
    Problem whole = problem;
    whole.is_decoded = false;
    for (Problem& layer : whole.stack) layer.is_decoded = false;
    claim_same(say({"decoding with a cache gives the rows of one full causal pass",
                    "借助缓存逐个解码，与一次完整的因果计算得到同样的各行"}),
               whole);
    // "t3.S" stands in both: there after a pass, here after a token of the one pass.
    Claim::Part states{plan_of(whole), {}};
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      if (plan[id].name() != "S" && plan[id].name() != "z") continue;
      const auto there = states.other.find(plan[id].id);
      if (!there) continue;
      for (Index i = 0; i < plan[id].shape.rows; ++i) states.rows.push_back({id, i, *there, i});
    }
    if (!states.rows.empty()) {
      claims.push_back(
          {say({"the state that a pass leaves is the one of the full causal pass after the same token",
                "每一遍留下的状态，等于完整的因果计算在同一个 token 之后的状态"}),
           {}});
      claims.back().parts.push_back(std::move(states));
    }
  }
  if (problem.tile && problem.stack.empty()) {
    Problem whole = problem;
    whole.tile.reset();
    claim_same(say({"the softmax tile by tile gives what the plain softmax gives",
                    "分块计算的 softmax 与普通 softmax 结果相同"}),
               whole);
  }
  if (problem.kv_heads < problem.heads && !problem.has("W_DKV") && problem.stack.empty()) {
    claim_same(say({"sharing keys and values is the same as repeating them for every query head",
                    "共用键和值，与给每个查询头各复制一份结果相同"}),
               with_repeated_heads(problem));
  }
  const bool score_is_of_distance = problem.score == ScoreKind::dot;  // W_a, and tanh, mix what was turned
  if (problem.rope.pairs != Rope::Pairs::none && score_is_of_distance && !problem.has("past_K") &&
      !problem.adds_sinusoids) {
    constexpr long kShift = 10;
    Problem shifted = problem;
    for (long& position : shifted.positions) position += kShift;
    for (long& position : shifted.kv_positions) position += kShift;
    for (Problem& layer : shifted.stack) {
      for (long& position : layer.positions) position += kShift;
      for (long& position : layer.kv_positions) position += kShift;
    }
    claim_same(say({"with rotary positions only distances count: all positions shifted by {0} change nothing",
                    "旋转位置编码只看相对距离：所有位置都加 {0}，结果不变"},
                   kShift),
               shifted);
  }
  const bool all_look_back =
      looks_back_only(problem) && std::all_of(problem.stack.begin(), problem.stack.end(), looks_back_only);
  if (all_look_back && is_self_attention(problem) && !problem.is_decoded) {
    Claim claim{say({"one causal pass gives what every prefix alone gives for its last token",
                     "一次因果计算的每一行，等于单独用前若干个 token 计算时最后一个 token 的结果"}),
                {}};
    const NodeId here = plan.last_step();
    for (Index count = 1; count <= static_cast<Index>(problem.tokens.size()); ++count) {
      Claim::Part part{plan_of(prefix_of(problem, count)), {}};
      part.rows.push_back({here, count - 1, part.other.last_step(), count - 1});
      claim.parts.push_back(std::move(part));
    }
    claims.push_back(std::move(claim));
  }
  if (was_shuffled(problem) && is_self_attention(problem)) {
    Claim claim{say({"tokens in another order (here: reversed) take their rows of the output along{0}",
                     "换一个 token 顺序（这里是倒序），输出的各行跟着 token 走{0}"},
                    what_looks_at_places(problem)),
                {}};
    Claim::Part part{plan_of(with_reversed_tokens(problem)), {}};
    const NodeId here = plan.last_step();
    const Index n = plan[here].shape.rows;
    for (Index i = 0; i < n; ++i) part.rows.push_back({here, i, part.other.last_step(), n - 1 - i});
    claim.parts.push_back(std::move(part));
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace qkv

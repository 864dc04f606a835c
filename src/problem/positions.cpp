#include "problem/positions.h"
#include "base/counted.h"
#include "problem/given_part.h"
#include "problem/shapes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace qkv {
namespace {

void error_at(const Settings& settings, const char* key, Said message, Said hint, Diagnostics& diagnostics) {
  report(Severity::error, settings.find(key)->value_place, std::move(message), std::move(hint), diagnostics);
}

Given in_order(const Given& given, const std::vector<Index>& rows) {
  Given result = given_part(given, static_cast<Index>(rows.size()), given.cols, [&](Index i, Index j) {
    return std::pair(rows[static_cast<std::size_t>(i)], j);
  });
  for (const Index row : rows) {
    if (!given.row_labels.empty())
      result.row_labels.push_back(given.row_labels[static_cast<std::size_t>(row)]);
  }
  return result;
}

class PositionSettler {
 public:
  PositionSettler(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics)
      : draft_(draft),
        settings_(draft.settings),
        roles_(roles),
        problem_(problem),
        diagnostics_(diagnostics) {}

  void settle() {
    rope();
    const Index past = draft_.has("past_K") ? draft_.find("past_K")->given.rows : 0;
    const Index new_keys = *roles_.keys - past;
    problem_.positions = given_or_counted("positions", settings_.positions, *roles_.queries, past);
    // In self-attention the new keys stand where the queries stand.
    const bool are_queries =
        settings_.kv_positions.empty() && !draft_.has("X_kv") && new_keys == *roles_.queries;
    problem_.kv_positions = are_queries
                                ? problem_.positions
                                : given_or_counted("kv_positions", settings_.kv_positions, new_keys, past);
    needs_x();
    if (past == 0) compare_with_mask();
  }

 private:
  void error(const char* key, Said message, Said hint = {}) {
    error_at(settings_, key, std::move(message), std::move(hint), diagnostics_);
  }

  void rope() {
    const bool is_off = settings_.rope == Rope::Pairs::none;
    for (const char* key : {"rope_base", "rope_dims"}) {
      if (!is_off || !settings_.find(key)) continue;
      report(Severity::warning, settings_.find(key)->place,
             say({"'{0}' has no effect: rope is none", "rope 为 none，“{0}”不起作用"}, key), {},
             diagnostics_);
    }
    if (is_off) return warn_of_unturned_parts();
    if (!roles_.computes_scores()) {
      return error("rope", say({"rope turns Q and K, but the calculation starts at a later step",
                                "rope 旋转 Q 和 K，而计算从更后面的步骤开始"}));
    }
    problem_.rope = {settings_.rope, settings_.rope_base, 0};
    if (!roles_.q.shape) return;
    if (roles_.q.from == Role::From::latent && !draft_.has("W_KR")) {
      return error(
          "rope",
          say({"rope turns K_R and Q_R, which [W_KR] and [W_QR] make",
               "rope 旋转的是 K_R 和 Q_R，它们由 [W_KR] 和 [W_QR] 得到"}),
          say({"a key that MLA restores from the latent is not turned", "MLA 由隐向量还原的键不旋转"}));
    }
    const Index width = turning_width();
    problem_.rope.dims = settings_.rope_dims.value_or(width);
    const char* key = settings_.rope_dims ? "rope_dims" : "rope";
    if (problem_.rope.dims % 2 != 0) {
      error(
          key,
          say({"{0} cannot turn in pairs", "{0} 列不能两两配对旋转"}, counted(problem_.rope.dims, "column")),
          say({"rope_dims takes an even number up to {1} = {0}", "rope_dims 应为不超过 {1} = {0} 的偶数"},
              width, roles_.q.from == Role::From::latent ? "d_rope" : "d_k"));
    } else if (problem_.rope.dims > width) {
      const Said part = roles_.q.from == Role::From::latent ? Said{"the position part", "位置部分"}
                                                            : Said{"a head", "一个头"};
      error(key, say({"rope_dims = {0}, but {2} is {1} wide", "rope_dims = {0}，而{2}只有 {1} 列"},
                     problem_.rope.dims, width, part));
    }
  }

  // Of a head: all its columns or, with MLA, those of its position part.
  Index turning_width() const {
    if (roles_.q.from != Role::From::latent) return roles_.q.shape->cols / problem_.heads;
    return as_columns(settings_, draft_.find("W_KR")->given.shape()).cols;
  }

  void warn_of_unturned_parts() {
    const DraftMatrix* w_kr = draft_.find("W_KR");
    if (!w_kr) return;
    report(Severity::warning, w_kr->place(),
           say({"rope is none, so the position parts K_R and Q_R are not turned",
                "rope 为 none，所以位置部分 K_R 和 Q_R 不旋转"}),
           say({"write rope = interleaved, as DeepSeek has it, or half",
                "请写 rope = interleaved（DeepSeek 的做法）或 half"}),
           diagnostics_);
  }

  std::vector<long> given_or_counted(const char* key, const std::vector<long>& given, Index count,
                                     Index first) {
    if (!settings_.find(key)) {
      std::vector<long> counted(static_cast<std::size_t>(count));
      std::iota(counted.begin(), counted.end(), static_cast<long>(first));
      return counted;
    }
    if (static_cast<Index>(given.size()) != count) {
      error(key, say({"'{0}' has {1} for {2}", "“{0}”有 {1} 个数，而 token 有 {2} 个"}, key,
                     counted(given.size(), "number"), counted(count, "token")));
    }
    const bool is_used = settings_.rope != Rope::Pairs::none || settings_.adds_sinusoids;
    if (!is_used) {
      report(Severity::warning, settings_.find(key)->place,
             say({"'{0}' has no effect without rope or pos", "没有 rope 和 pos 时，“{0}”不起作用"}, key), {},
             diagnostics_);
    }
    return given;
  }

  // "The last query stands at the last key" is what a mask says, and RoPE is not asked.
  void compare_with_mask() {
    const bool is_turned = settings_.rope != Rope::Pairs::none;
    const bool is_placed = settings_.mask.uses_align() || settings_.find("alibi");
    if (!is_turned || !is_placed || problem_.align == 0 || settings_.find("positions")) return;
    report(
        Severity::warning, settings_.find("rope")->place,
        say({"the first query stands at position {0} of the keys, but is turned as position 0",
             "第一个查询对应键的位置 {0}，却按位置 0 旋转"},
            problem_.align),
        say({"if it continues the keys, write positions = {0}", "如果它接在键的后面，请写 positions = {0}"},
            counted_from(problem_.align)),
        diagnostics_);
  }

  // "2 3 4"
  std::string counted_from(long first) const {
    std::string numbers;
    for (std::size_t i = 0; i < problem_.positions.size(); ++i)
      numbers += (i == 0 ? "" : " ") + std::to_string(first + static_cast<long>(i));
    return numbers;
  }

  // What is added to X needs an X that is used.
  void needs_x() {
    const DraftMatrix* x = draft_.find("X");
    if (settings_.adds_sinusoids && !x) {
      error("pos", say({"pos = sinusoidal is added to [X], which is not given",
                        "pos = sinusoidal 要加到 [X] 上，但没有给出 [X]"}));
    }
    const DraftMatrix* p = draft_.find("P");
    if (!p || !p->has_shape) return;
    if (!x) {
      report(Severity::error, p->place(),
             say({"[P] is added to [X], which is not given", "[P] 要加到 [X] 上，但没有给出 [X]"}), {},
             diagnostics_);
    } else if (x->has_shape && x->given.shape() != p->given.shape()) {
      report(Severity::error, p->place(),
             say({"[P] is {0}, but [X] is {1}: one learned vector per token",
                  "[P] 是 {0}，而 [X] 是 {1}：每个 token 对应一行"},
                 size_text(p->given.shape()), size_text(x->given.shape())),
             {}, diagnostics_);
    }
    if (settings_.adds_sinusoids) {
      report(Severity::error, p->place(),
             say({"[P] and pos = sinusoidal are two kinds of positions",
                  "[P] 与 pos = sinusoidal 是两种位置编码"}),
             say({"keep one of them", "请只保留一种"}), diagnostics_);
    }
  }

  const Draft& draft_;
  const Settings& settings_;
  const Roles& roles_;
  Problem& problem_;
  Diagnostics& diagnostics_;
};

}  // namespace

void shuffle_tokens(Draft& draft, Roles& roles, Diagnostics& diagnostics) {
  Settings& settings = draft.settings;
  if (!settings.find("order") || !roles.queries || !roles.keys) return;
  const Index n = *roles.queries;
  if (!roles.computes_scores() || draft.has("X_kv") || draft.has("past_K") || n != *roles.keys) {
    return error_at(
        settings, "order",
        say({"order shuffles the tokens of self-attention that starts at [X] or at [Q], [K] and [V]",
             "order 用于从 [X] 或 [Q]、[K]、[V] 开始的自注意力，打乱其中的 token"}),
        {}, diagnostics);
  }
  std::vector<Index> rows;
  std::vector<bool> is_taken(static_cast<std::size_t>(n), false);
  for (const long written : settings.order) {
    const Index row = written - settings.first_index;
    if (row < 0 || row >= n || is_taken[static_cast<std::size_t>(row)]) continue;
    is_taken[static_cast<std::size_t>(row)] = true;
    rows.push_back(row);
  }
  if (static_cast<Index>(rows.size()) != n || static_cast<Index>(settings.order.size()) != n) {
    return error_at(settings, "order",
                    say({"order names each of the {0} tokens once, by the numbers {1} to {2}",
                         "order 要把 {0} 个 token 各写一次，编号从 {1} 到 {2}"},
                        n, settings.first_index, n - 1 + settings.first_index),
                    {}, diagnostics);
  }
  for (const char* name : {"X", "Q", "K", "V"}) {
    const auto matrix = draft.matrices.find(name);
    if (matrix != draft.matrices.end() && matrix->second.has_shape && matrix->second.given.rows == n)
      matrix->second.given = in_order(matrix->second.given, rows);
  }
  const auto shuffle = [&](auto& of_tokens) {
    if (static_cast<Index>(of_tokens.size()) != n) return;
    std::remove_reference_t<decltype(of_tokens)> shuffled;
    for (const Index row : rows) shuffled.push_back(of_tokens[static_cast<std::size_t>(row)]);
    of_tokens = std::move(shuffled);
  };
  const DraftMatrix* named = draft.find(draft.has("X") ? "X" : "Q");
  if (!settings.tokens && (!named || named->given.row_labels.empty())) {
    // The usual names stay with their tokens too.
    settings.tokens.emplace();
    for (Index i = 0; i < n; ++i) settings.tokens->push_back("t" + std::to_string(i + settings.first_index));
  }
  if (settings.tokens) shuffle(*settings.tokens);
  if (settings.kv_tokens) shuffle(*settings.kv_tokens);
  // Padding and segments say something of tokens, not of places.
  shuffle(settings.mask.padding);
  shuffle(settings.mask.segments);
}

void settle_positions(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics) {
  PositionSettler(draft, roles, problem, diagnostics).settle();
}

}  // namespace qkv

#include "problem/passes.h"

#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "problem/shapes.h"
#include "problem/steps.h"

namespace qkv {

void imply_causal(Draft& draft) {
  MaskSetting& mask = draft.settings.mask;
  if (!draft.settings.is_decoded || mask.is_causal) return;
  std::vector<ValueFault> never;
  mask = *parse_mask(mask.is_none() ? "causal" : "causal " + mask.text, never);
  // Whoever asks where the mask was given finds what implied it.
  Settings::Given given = *draft.settings.find("decode");
  given.text = mask.text;
  draft.settings.given.emplace("mask", std::move(given));
}

namespace {

void check_residual(const Draft& draft, const Roles& roles, Diagnostics& diagnostics) {
  const Settings& settings = draft.settings;
  if (!settings.has_residual) return;
  const auto error = [&](Said message) {
    report(Severity::error, settings.find("residual")->value_place, std::move(message), {}, diagnostics);
  };
  const DraftMatrix* x = draft.find("X");
  if (!x || !roles.computes_scores())
    return error(say({"the residual adds [X], which is not given", "残差要加上 [X]，但没有给出 [X]"}));
  const auto width = width_of_result(draft, roles);
  if (!width && roles.is_settled) return error(say({"the residual needs numbers in V", "残差要求 V 是数"}));
  if (!width || !x->has_shape || *width == x->given.cols) return;
  error(say({"X is {0} wide, but what is read is {1}: the residual adds one to the other",
             "X 有 {0} 列，而读到的内容有 {1} 列：残差要把两者相加"},
            x->given.cols, *width));
}

// What is read is added to the query, so both are equally wide.
void check_hops(const Draft& draft, const Roles& roles, Diagnostics& diagnostics) {
  const Settings& settings = draft.settings;
  if (settings.hops == 1) return;
  const auto error = [&](Said message) {
    report(Severity::error, settings.find("hops")->value_place, std::move(message), {}, diagnostics);
  };
  if (!roles.computes_scores() || settings.is_decoded || draft.has("past_K")) {
    return error(say(
        {"several hops read one memory from Q, K and V, in one pass", "多次读取要有 Q、K、V，并且一次完成"}));
  }
  const auto width = width_of_result(draft, roles);
  if (!width && roles.is_settled)
    return error(say({"several hops need numbers in V", "多次读取要求 V 是数"}));
  if (!width || !roles.q.shape || *width == roles.q.shape->cols) return;
  error(say({"what a hop reads is {0} wide, but Q is {1}: it is added to the query of the next hop",
             "每次读到的内容有 {0} 列，而 Q 有 {1} 列：它要加到下一次的查询上"},
            *width, roles.q.shape->cols));
}

}  // namespace

void check_passes(const Draft& draft, const Roles& roles, Diagnostics& diagnostics) {
  const Settings& settings = draft.settings;
  const auto error = [&](const char* key, Said message, Said hint = {}) {
    report(Severity::error, settings.find(key)->value_place, std::move(message), std::move(hint),
           diagnostics);
  };
  const Said starts_later =
      say({"the calculation starts at [{0}]", "计算从 [{0}] 开始"}, entry_name(roles.entry));
  if (settings.tile && !roles.computes_scores()) {
    error("tile", say({"tiles need Q, K and V, but {0}", "分块计算需要 Q、K 和 V，但{0}"}, starts_later));
  }
  if (settings.tile && settings.read == ReadKind::hard) {
    error("tile", say({"read = hard takes one value, and has no running sum",
                       "read = hard 只取一个值，没有累加的和"}));
  }
  if (settings.method == MethodKind::linear && settings.hops > 1) {
    error("hops", say({"'hops' goes with the softmax; linear attention keeps a state in its place",
                       "“hops”用于 softmax；线性注意力用状态代替它"}));
  }
  if (settings.prefill > 0 && !settings.is_decoded) {
    report(Severity::warning, settings.find("prefill")->place,
           say({"'prefill' has no effect without decode", "没有 decode 时，“prefill”不起作用"}), {},
           diagnostics);
  }
  check_hops(draft, roles, diagnostics);
  check_residual(draft, roles, diagnostics);
  if (!settings.is_decoded) return;
  if (!roles.computes_scores()) {
    error("decode",
          say({"decoding needs Q, K and V, but {0}", "逐个解码需要 Q、K 和 V，但{0}"}, starts_later));
    return;
  }
  if (const auto& prefix = settings.mask.prefix; prefix && *prefix > 1 && settings.prefill < *prefix) {
    error("decode",
          say({"prefix:{0} lets the first {0} tokens see one another, so they must come in one pass",
               "prefix:{0} 让前 {0} 个 token 互相看见，所以它们要一次处理完"},
              *prefix),
          say({"write prefill = {0}, or more", "请写 prefill = {0} 或更多"}, *prefix));
  }
  if (!roles.queries || !roles.k.shape) return;
  if (draft.has("X_kv") || roles.k.shape->rows != *roles.queries) {
    error("decode",
          say({"decoding is self-attention: one key per query", "逐个解码是自注意力：每个查询对应一个键"}));
  } else if (settings.prefill > *roles.queries) {
    error("prefill", say({"prefill = {0}, but the problem has {1}", "prefill = {0}，而只有 {1} 个 token"},
                         settings.prefill, counted(*roles.queries, "token")));
  }
}

}  // namespace qkv

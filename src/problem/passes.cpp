#include "problem/passes.h"

#include <string>
#include <utility>
#include <vector>

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
  if (settings.prefill > 0 && !settings.is_decoded) {
    report(Severity::warning, settings.find("prefill")->place,
           say({"'prefill' has no effect without decode", "没有 decode 时，“prefill”不起作用"}), {},
           diagnostics);
  }
  if (!settings.is_decoded) return;
  if (!roles.computes_scores()) {
    error("decode",
          say({"decoding needs Q, K and V, but {0}", "逐个解码需要 Q、K 和 V，但{0}"}, starts_later));
    return;
  }
  if (!roles.queries || !roles.k.shape) return;
  if (draft.has("X_kv") || roles.k.shape->rows != *roles.queries) {
    error("decode",
          say({"decoding is self-attention: one key per query", "逐个解码是自注意力：每个查询对应一个键"}));
  } else if (settings.prefill > *roles.queries) {
    error("prefill", say({"prefill = {0}, but there are {1} tokens", "prefill = {0}，而只有 {1} 个 token"},
                         settings.prefill, *roles.queries));
  }
}

}  // namespace qkv

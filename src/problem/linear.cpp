#include "problem/linear.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "problem/keys.h"
#include "problem/origin.h"
#include "problem/parts.h"
#include "problem/steps.h"

namespace qkv {
namespace {

// A setting that acts on scores, and the value with which it does nothing.
struct Idle {
  const char* key;
  std::string_view value;
};
constexpr std::array<Idle, 9> kOfScores{{{"score", "dot"},
                                         {"scale", "none"},
                                         {"softcap", "none"},
                                         {"alibi", "off"},
                                         {"temperature", "none"},
                                         {"sink_logit", "none"},
                                         {"read", "soft"},
                                         {"rope", "none"},
                                         {"tile", "off"}}};

class LinearChecker {
 public:
  LinearChecker(const Draft& draft, const Roles& roles, const Problem& problem, Diagnostics& diagnostics)
      : draft_(draft),
        settings_(draft.settings),
        roles_(roles),
        problem_(problem),
        diagnostics_(diagnostics) {}

  void check() {
    if (settings_.method != MethodKind::linear) return warn_of_idle_settings();
    if (!roles_.computes_scores()) {
      return error(settings_.find("method")->value_place,
                   say({"method = linear starts at [X] or at [Q], [K] and [V], not at [{0}]",
                        "method = linear 要从 [X] 或 [Q]、[K]、[V] 开始，不能从 [{0}] 开始"},
                       entry_name(roles_.entry)));
    }
    for (const Idle& idle : kOfScores) refuse_setting(idle);
    for (const char* table : {"bias", "mask"}) {
      for (const std::string& name : tables_given(draft_, table)) refuse_section(name, no_scores());
    }
    for (const char* name : {"past_K", "past_V"}) {
      refuse_section(name, say({"linear attention keeps a state, not the keys and values",
                                "线性注意力保存的是状态，而不是键和值"}));
    }
    check_mask();
  }

 private:
  void error(const Place& place, Said message, Said hint = {}) {
    report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
  }

  static Said no_scores() {
    return say({"linear attention has no scores for it to act on: φ(q)·φ(k) takes the place of the softmax",
                "线性注意力没有分数可供它作用：φ(q)·φ(k) 取代了 softmax"});
  }

  // Su et al. 2021 (RoFormer), section 3.3.
  static Said not_turned() {
    return say(
        {"turned features can be negative; RoFormer turns them above the fraction bar only, and then the "
         "weights no longer sum to 1",
         "旋转后的特征可能为负；RoFormer 只在分子里旋转，这样权重之和就不再是 1"});
  }

  void refuse_setting(const Idle& idle) {
    const Settings::Given* given = settings_.find(idle.key);
    if (!given || given->text == idle.value) return;
    error(given->value_place,
          say({"`{0} = {1}` does not go with method = linear", "`{0} = {1}` 不能与 method = linear 同用"},
              idle.key, given->text),
          std::string_view(idle.key) == "rope" ? not_turned() : no_scores());
  }

  void refuse_section(std::string_view name, Said hint) {
    const auto section = section_of(draft_, name);
    if (!section) return;
    error(section->place,
          say({"{0} does not go with method = linear", "{0} 不能与 method = linear 同用"}, section->called),
          std::move(hint));
  }

  // The state grows by one token at a time, so each query stands at a key of its own.
  void check_mask() {
    const MaskSetting& mask = settings_.mask;
    if (mask.is_none()) return;
    const Place& place = settings_.find("mask")->value_place;
    if (mask.text != "causal") {
      error(place,
            say({"`mask = {0}` does not go with method = linear", "`mask = {0}` 不能与 method = linear 同用"},
                mask.text),
            say({"a state cannot leave out single keys: only mask = causal or none",
                 "状态无法略去个别的键：只能用 mask = causal 或 none"}));
    } else if (roles_.queries && roles_.keys && (*roles_.queries != *roles_.keys || problem_.align != 0)) {
      error(place,
            say({"causal linear attention goes token by token: query i stands at key i",
                 "因果的线性注意力逐个 token 进行：第 i 个查询对应第 i 个键"}),
            say({"here are {0} and {1}, and the first query stands at position {2}",
                 "这里有 {0} 个查询、{1} 个键，第一个查询位于位置 {2}"},
                counted(*roles_.queries, "query"), counted(*roles_.keys, "key"), problem_.align));
    }
  }

  void warn_of_idle_settings() {
    for (const char* key : {"phi", "eps"}) {
      const Settings::Given* given = settings_.find(key);
      if (!given || given->text == find_key(key)->by_default) continue;
      report(Severity::warning, given->place,
             say({"'{0}' has no effect: method is softmax", "method 为 softmax，“{0}”不起作用"}, key),
             say({"write method = linear", "请写 method = linear"}), diagnostics_);
    }
  }

  const Draft& draft_;
  const Settings& settings_;
  const Roles& roles_;
  const Problem& problem_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_linear(const Draft& draft, const Roles& roles, const Problem& problem, Diagnostics& diagnostics) {
  LinearChecker(draft, roles, problem, diagnostics).check();
}

}  // namespace qkv

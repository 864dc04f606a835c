#include "problem/steps.h"

#include <algorithm>
#include <array>

#include "problem/section_kinds.h"

namespace qkv {
namespace {

constexpr std::string_view kPrefill = "prefill.";
constexpr std::string_view kHop = "hop";
constexpr std::string_view kPrefixes = "Lhgtb";  // layer, head, group of heads, decode step, tile

constexpr Text kNotLatent{"[W_DKV] is not given", "没有给出 [W_DKV]"};
constexpr Text kNoLatentCache{"decode is no, or [W_DKV] is not given", "decode 为 no，或没有给出 [W_DKV]"};
constexpr Text kNotLinear{"method is softmax", "method 为 softmax"};

const std::array kSteps{
    StepName{"X", Text{"[X] is not given", "没有给出 [X]"}},
    StepName{"X.positioned", Text{"there are no positions to add", "没有要加的位置编码"}},
    StepName{"Q", {}},
    StepName{"K", {}},
    StepName{"V", {}},
    StepName{"Q.rotated", Text{"rope is none", "rope 为 none"}},
    StepName{"K.rotated", Text{"rope is none", "rope 为 none"}},
    StepName{"K.cache", Text{"there is no [past_K]", "没有 [past_K]"}},
    StepName{"V.cache", Text{"there is no [past_V]", "没有 [past_V]"}},
    StepName{"c_KV", kNotLatent},
    StepName{"c_KV.cache", kNoLatentCache},
    StepName{"K_C", kNotLatent},
    StepName{"V_C", kNotLatent},
    StepName{"K_R", Text{"[W_KR] is not given", "没有给出 [W_KR]"}},
    StepName{"K_R.cache", kNoLatentCache},
    StepName{"K_R.unrotated", Text{"rope is none, or there is no [W_KR]", "rope 为 none，或没有 [W_KR]"}},
    StepName{"c_Q", Text{"[W_DQ] is not given", "没有给出 [W_DQ]"}},
    StepName{"Q_C", kNotLatent},
    StepName{"Q_R", Text{"[W_QR] is not given", "没有给出 [W_QR]"}},
    StepName{"Q_R.unrotated", Text{"rope is none, or there is no [W_QR]", "rope 为 none，或没有 [W_QR]"}},
    StepName{"phi.Q", kNotLinear},
    StepName{"phi.K", kNotLinear},
    StepName{"kernel", kNotLinear},
    StepName{"denominator", kNotLinear},
    StepName{"S", kNotLinear},
    StepName{"z", kNotLinear},
    StepName{"scores", {}},
    StepName{"scaled", Text{"scale is none", "scale 为 none"}},
    StepName{"capped", Text{"softcap is not set", "没有设置 softcap"}},
    StepName{"bias", Text{"there is no [bias] and no alibi", "没有 [bias]，也没有 alibi"}},
    StepName{"M", Text{"there is no mask", "没有掩码"}},
    StepName{"masked", Text{"there is no mask and no bias", "没有掩码，也没有偏置"}},
    StepName{"tempered", Text{"temperature is not set", "没有设置 temperature"}},
    StepName{"max", {}},
    StepName{"shifted", {}},
    StepName{"exp", {}},
    StepName{"sum", {}},
    StepName{"rescale", Text{"tile is off", "没有设置 tile"}},
    StepName{"acc", Text{"tile is off", "没有设置 tile"}},
    StepName{"weights", {}},
    StepName{"output", {}},
    StepName{"dropped", Text{"drop_heads does not name this head", "drop_heads 没有提到这个头"}},
    StepName{"concat", Text{"there is one head", "只有一个头"}},
    StepName{"residual", Text{"residual is no", "residual 为 no"}},
    StepName{"Y", Text{"[W_O] is not given", "没有给出 [W_O]"}},
    StepName{"q", Text{"there is no [target], or gradient is no", "没有 [target]，或 gradient 为 no"}},
    StepName{"losses", Text{"there is no [target], or gradient is no", "没有 [target]，或 gradient 为 no"}},
    StepName{"loss", Text{"there is no [target], or gradient is no", "没有 [target]，或 gradient 为 no"}},
};

// "d.Q", "d.W_Q", "d.h1.scores", "d.X.Q".
const StepName kGradient{
    "d.", Text{"gradient is no, or nothing flows back to it", "gradient 为 no，或者没有梯度流到这里"}};

bool is_gradient_of_something(std::string_view name) {
  if (!name.starts_with(kGradient.name)) return false;
  const std::string_view of = behind_prefixes(name.substr(2));
  return find_step_name(of) != nullptr || find_section_kind(of.substr(0, of.find('.'))) != nullptr;
}

}  // namespace

std::vector<std::string_view> step_names() {
  std::vector<std::string_view> names;
  for (const StepName& step : kSteps) names.emplace_back(step.name);
  return names;
}

const StepName* find_step_name(std::string_view name) {
  const auto found =
      std::find_if(kSteps.begin(), kSteps.end(), [&](const StepName& s) { return s.name == name; });
  if (found != kSteps.end()) return &*found;
  return is_gradient_of_something(name) ? &kGradient : nullptr;
}

std::string_view entry_name(Entry entry) {
  switch (entry) {
    case Entry::x:
      return "X";
    case Entry::qkv:
      return "Q";
    case Entry::scores:
      return "scores";
    case Entry::scaled:
      return "scaled";
    case Entry::masked:
      return "masked";
    case Entry::weights:
      break;
  }
  return "weights";
}

std::string_view behind_prefixes(std::string_view id) {
  if (id.starts_with(kPrefill)) id.remove_prefix(kPrefill.size());
  if (id.starts_with(kHop) && id.find('.') != std::string_view::npos) id.remove_prefix(id.find('.') + 1);
  while (true) {
    const std::size_t point = id.find('.');
    if (point == std::string_view::npos || point < 2 || kPrefixes.find(id[0]) == std::string_view::npos ||
        id.substr(1, point - 1).find_first_not_of("0123456789") != std::string_view::npos) {
      return id;
    }
    id.remove_prefix(point + 1);
  }
}

}  // namespace qkv

#include "report/step_names.h"

#include <algorithm>
#include <string_view>

#include "base/suggest.h"

namespace qkv {
namespace {

bool is_chinese(std::string_view word) { return static_cast<unsigned char>(word[0]) >= 0xe3; }

// "Weights", and 权重 of 注意力权重.
bool is_title(const Node& node, std::string_view word) {
  std::string_view chinese = node.op->title.zh;
  chinese = chinese.substr(0, chinese.find("（"));
  return word == node.op->title.en || (is_chinese(word) && chinese.ends_with(word));
}

}  // namespace

Said hint_for_step(const Plan& plan, const std::string& word, const std::vector<std::string>& ids) {
  constexpr std::size_t kMostNamed = 8;
  std::string meant;
  std::size_t count = 0;
  for (const Node& node : plan.nodes) {
    const bool may_be_named = std::find(ids.begin(), ids.end(), node.id) != ids.end();
    if (!may_be_named || word.empty() || !(node.id.ends_with("." + word) || is_title(node, word))) continue;
    if (++count <= kMostNamed) meant += (count == 1 ? "" : " | ") + node.id;
  }
  if (count == 0) return did_you_mean_or_one_of(word, ids);
  if (count == 1) return say({"did you mean '{0}'?", "是不是想写“{0}”？"}, meant);
  if (count > kMostNamed) meant += " | …";
  return say({"did you mean one of: {0}", "是不是想写其中之一：{0}"}, meant);
}

}  // namespace qkv

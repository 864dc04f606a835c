#include "problem/heads.h"
#include "base/counted.h"
#include "problem/steps.h"

#include <algorithm>
#include <string>
#include <utility>

namespace qkv {
namespace {

class HeadSettler {
 public:
  HeadSettler(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics)
      : settings_(draft.settings), roles_(roles), problem_(problem), diagnostics_(diagnostics) {}

  void settle() {
    problem_.heads = settings_.heads;
    problem_.kv_heads = settings_.kv_heads.value_or(settings_.heads);
    if (problem_.heads % problem_.kv_heads != 0) {
      error("kv_heads",
            say({"{0} cannot share {1} of keys and values evenly", "{0} 个头不能平分 {1} 组键和值"},
                counted(problem_.heads, "head"), counted(problem_.kv_heads, "head")),
            say({"kv_heads must divide heads", "kv_heads 必须整除 heads"}));
    }
    needs_one_head();
    drop_heads();
    slopes();
    if (settings_.find("sink_logit") && settings_.find("sink_logit")->text != "none") {
      problem_.sink_logits = settings_.sink_logits;
      one_per_head("sink_logit", problem_.sink_logits.size());
    }
  }

 private:
  void error(const char* key, Said message, Said hint = {}) {
    report(Severity::error, settings_.find(key)->value_place, std::move(message), std::move(hint),
           diagnostics_);
  }

  void one_per_head(const char* key, std::size_t count) {
    if (count == static_cast<std::size_t>(problem_.heads)) return;
    error(key, problem_.heads == 1
                   ? say({"'{0}' has {1} for one head", "一个头只要一个 {0}，这里有 {1} 个"}, key,
                         counted(count, "number"))
                   : say({"'{0}' has {1} for {2} heads", "{2} 个头要 {2} 个 {0}，这里有 {1} 个"}, key,
                         counted(count, "number"), problem_.heads));
  }

  // A table of scores or weights belongs to one head; the other scores are defined for one.
  void needs_one_head() {
    if (problem_.heads == 1) return;
    if (!roles_.computes_scores()) {
      error(
          "heads",
          say({"heads = {0}, but the calculation starts at [{1}], which is the table of one head",
               "heads = {0}，但计算从 [{1}] 开始，那是一个头的表格"},
              problem_.heads, entry_name(roles_.entry)),
          say({"several heads start at [X] or at [Q], [K] and [V]", "多个头要从 [X] 或 [Q]、[K]、[V] 开始"}));
    }
    if (settings_.score != ScoreKind::dot) {
      error("score", say({"score = {0} is for one head; heads = {1} takes dot products",
                          "score = {0} 只用于一个头；heads = {1} 时用点积打分"},
                         settings_.find("score")->text, problem_.heads));
    }
  }

  void drop_heads() {
    if (settings_.drop_heads.empty()) return;
    if (problem_.heads == 1) {
      return error("drop_heads",
                   say({"there is one head only; without it nothing is left to calculate",
                        "只有一个头；去掉它就没有可算的了"}),
                   say({"drop_heads needs heads = 2 or more", "drop_heads 要求 heads 至少为 2"}));
    }
    problem_.is_dropped.assign(static_cast<std::size_t>(problem_.heads), false);
    for (const long written : settings_.drop_heads) {
      const long head = written - settings_.first_index;
      if (head < 0 || head >= problem_.heads) {
        error("drop_heads", say({"there is no head {0}: the heads are {1} to {2}",
                                 "没有第 {0} 个头：头的编号从 {1} 到 {2}"},
                                written, settings_.first_index, problem_.heads - 1 + settings_.first_index));
      } else {
        problem_.is_dropped[static_cast<std::size_t>(head)] = true;
      }
    }
  }

  // 2^(−8h/heads), h = 1 … heads.   Press et al. 2022, section 3.
  // Exact for powers of two up to 8: every exponent is whole; 16 brings in √2.
  void slopes() {
    if (!settings_.alibi_is_on) {
      problem_.slopes = settings_.slopes;
      const Settings::Given* given = settings_.find("alibi");
      if (given && given->text != "off") one_per_head("alibi", problem_.slopes.size());
      return;
    }
    if (16 % problem_.heads != 0) {
      return error("alibi",
                   say({"the slopes 2^(-8h/{0}) are usual for 1, 2, 4, 8 and 16 heads only",
                        "2^(-8h/{0}) 这样的斜率只用于 1、2、4、8、16 个头"},
                       problem_.heads),
                   say({"write one slope per head", "请给每个头写一个斜率"}));
    }
    for (long h = 1; h <= problem_.heads; ++h) {
      const long halves = 16 * h / problem_.heads;  // the slope is 2^(−halves/2)
      problem_.slopes.push_back(halves % 2 == 0 ? power_of_two("1", halves / 2)
                                                : power_of_two("sqrt(2)", (halves + 1) / 2));
    }
  }

  // numerator / 2^exponent
  static Number power_of_two(const std::string& numerator, long exponent) {
    NumberError never;
    return *parse_number(numerator + "/" + std::to_string(1L << exponent), never);
  }

  const Settings& settings_;
  const Roles& roles_;
  Problem& problem_;
  Diagnostics& diagnostics_;
};

}  // namespace

void settle_heads(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics) {
  HeadSettler(draft, roles, problem, diagnostics).settle();
}

}  // namespace qkv

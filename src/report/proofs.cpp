#include "report/proofs.h"

#include <algorithm>
#include <cmath>

namespace qkv {

std::string magnitude_text(double by) {
  if (!std::isfinite(by) || by <= 0) return fmt::format("{}", by);
  return fmt::format("{:.0e}", std::pow(10, std::ceil(std::log10(by))));
}

bool is_shown(const Equality& found) { return !found.differs && found.undefined == 0; }

std::vector<Block> proofs(const std::vector<Proved>& proofs, Language language, bool are_rounded) {
  std::vector<Block> blocks;
  if (proofs.empty()) return blocks;
  blocks.emplace_back(Heading{0, say({"Proof", "证明"}).in(language), ""});
  if (are_rounded) {
    const Said of_what = say({"Of the values carried exactly, not of those rounded at every step:",
                              "针对不舍入的值，而不是每一步都舍入的值："});
    blocks.emplace_back(Paragraph{of_what.in(language), Tone::faint});
  }
  for (const auto& [claim, found] : proofs) {
    Said line;
    if (found.differs) {
      line =
          say({"{0}: does not hold here; the largest difference is {1}", "{0}：在这里不成立；相差最大为 {1}"},
              claim, fmt::format("{:.2g}", found.largest));
    } else if (found.undefined > 0) {
      line = say({"{0}: nothing can be said; not defined (0/0): {2} of {1} numbers",
                  "{0}：无法断言；{1} 个数中有 {2} 个没有定义（0/0）"},
                 claim, found.compared, found.undefined);
    } else if (found.exactly == found.compared && found.compared == 1) {
      line = say({"{0}: the one number is exactly equal", "{0}：唯一的数严格相等"}, claim);
    } else if (found.exactly == found.compared) {
      line = say({"{0}: largest difference 0; all {1} numbers are exactly equal",
                  "{0}：最大差为 0；{1} 个数全部严格相等"},
                 claim, found.compared);
    } else {
      line = say({"{0}: no difference is larger than {1}; numbers compared: {2}, exactly equal: {3}",
                  "{0}：任何差都不超过 {1}；比较了 {2} 个数，其中 {3} 个严格相等"},
                 claim, magnitude_text(found.largest), found.compared, found.exactly);
    }
    blocks.emplace_back(Paragraph{line.in(language), is_shown(found) ? Tone::good : Tone::note});
  }
  return blocks;
}

}  // namespace qkv

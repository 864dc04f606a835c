#include "problem/roles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "problem/latent.h"
#include "problem/origin.h"
#include "problem/steps.h"

namespace qkv {
namespace {

constexpr std::array<Entry, 4> kTables{Entry::scores, Entry::scaled, Entry::masked, Entry::weights};

bool has_symbols(const Given& given) {
  return std::any_of(given.cells.begin(), given.cells.end(),
                     [](const Number& n) { return n.kind == Number::Kind::symbol; });
}

class RoleAssigner {
 public:
  RoleAssigner(Draft& draft, Diagnostics& diagnostics) : draft_(draft), diagnostics_(diagnostics) {}

  Roles assign() {
    roles_.is_settled = draft_.is_complete;
    find_entry();
    reject_double_sources();
    copy_other_sequence();
    for (const std::string_view name : kRoles) roles_[name] = source_of(name);
    reject_circles();
    reject_symbols_in_qk();
    projections_need_x();
    biases_need_weights();
    reject_missing();
    reject_unused();
    return std::move(roles_);
  }

 private:
  void error(const Place& place, Said message, Said hint = {}) {
    report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
  }
  void error(Said message, Said hint = {}) {
    diagnostics_.error(draft_.file, std::move(message), std::move(hint));
  }

  std::optional<GivenAs> section(std::string_view name) const { return section_of(draft_, name); }
  std::optional<GivenAs> alias(std::string_view name) const { return alias_of(draft_, name); }

  // ---- contradictions ----

  // The later of the two is pointed at; both lines are named.
  void contradiction(GivenAs a, GivenAs b, const Said& why) {
    const bool is_later =
        a.place.source && a.place.source == b.place.source && a.place.span.begin > b.place.span.begin;
    if (is_later) std::swap(a, b);
    error(b.place, say({"{0} contradicts {1}: {2}", "{0} 与 {1} 矛盾：{2}"}, b.called, a.called, why),
          lines_of(a, b));
    roles_.is_settled = false;
  }

  void find_entry() {
    std::vector<std::string_view> given;
    for (const Entry table : kTables) {
      if (!draft_.has(entry_name(table))) continue;
      given.push_back(entry_name(table));
      roles_.entry = table;
    }
    if (given.empty()) {
      roles_.entry = draft_.has("X") || draft_.has("X_kv") ? Entry::x : Entry::qkv;
      return;
    }
    if (given.size() > 1) {
      contradiction(*section(given[0]), *section(given[1]),
                    say({"the calculation starts at one of them", "计算只能从其中一步开始"}));
      return;
    }
    if (!contradict_table(
            {"Q", "K", "W_Q", "W_K", "W_QKV", "b_Q", "b_K", "W_a", "U_a", "v_a", "b_a", "W_DKV", "W_UK",
             "W_UV", "W_DQ", "W_UQ", "W_QR", "W_KR"},
            say({"the calculation starts at {0}, so Q and K are not used", "计算从 {0} 开始，用不到 Q 和 K"},
                given[0]))) {
      return;
    }
    if (roles_.starts_by(Entry::scaled)) return;
    contradict_table({"mask", "bias"},
                     say({"the calculation starts after the mask and the bias", "计算从掩码和偏置之后开始"}));
  }

  // None of these matrices may stand beside the table at which the calculation starts.
  bool contradict_table(std::initializer_list<std::string_view> names, const Said& why) {
    for (const std::string_view name : names) {
      auto other = section(name);
      if (!other && (name == "Q" || name == "K")) other = alias(name);
      if (!other) continue;
      contradiction(*section(entry_name(roles_.entry)), *other, why);
      return false;
    }
    return true;
  }

  void reject_double_sources() {
    const auto reject = [&](std::string_view name, std::vector<std::optional<GivenAs>> ways) {
      std::erase(ways, std::nullopt);
      if (ways.size() < 2) return;
      contradiction(*ways[0], *ways[1],
                    say({"{0} is given in one way only", "{0} 只能用一种方式给出"}, name));
    };
    for (const std::string_view name : kRoles) {
      reject(name, {alias(name), section(name), section("W_" + std::string(name)), section("W_QKV"),
                    section(first_latent_section(draft_))});
    }
    reject("X_kv", {alias("X_kv"), section("X_kv")});
  }

  // ---- sources ----

  void copy_other_sequence() {
    const auto same = draft_.settings.same_as.find("X_kv");
    if (same == draft_.settings.same_as.end() || draft_.has("X_kv")) return;
    const DraftMatrix* other = draft_.find(same->second);
    if (!other) {
      roles_.is_settled = false;
      error(alias("X_kv")->place,
            say({"X_kv = {0}, but there is no [{0}]", "X_kv = {0}，但没有给出 [{0}]"}, same->second));
      return;
    }
    if (has_symbols(other->given)) {
      error(alias("X_kv")->place,
            say({"X_kv = {0}, but {0} holds symbols", "X_kv = {0}，但 {0} 含有符号"}, same->second));
    }
    DraftMatrix copy = *other;
    draft_.matrices.emplace("X_kv", std::move(copy));
  }

  bool has_weights(std::string_view name) const {
    return draft_.has("W_" + std::string(name)) || (name != "O" && draft_.has("W_QKV"));
  }

  Role source_of(std::string_view name) const {
    if (const auto same = draft_.settings.same_as.find(name); same != draft_.settings.same_as.end()) {
      return {Role::From::same, same->second, std::nullopt};
    }
    if (draft_.has(name)) return {Role::From::given, std::string(name), std::nullopt};
    if (is_latent(draft_)) {
      return {Role::From::latent, name != "Q" && draft_.has("X_kv") ? "X_kv" : "X", std::nullopt};
    }
    if (has_weights(name)) {
      return {Role::From::projection, name != "Q" && draft_.has("X_kv") ? "X_kv" : "X", std::nullopt};
    }
    return {};
  }

  // Q = K and K = Q.
  void reject_circles() {
    for (const std::string_view name : kRoles) {
      std::string_view at = name;
      for (std::size_t step = 0; step < kRoles.size(); ++step) {
        const Role* role = roles_.find(at);
        if (!role || role->from != Role::From::same) break;
        at = role->matrix;
        if (at != name) continue;
        error(alias(name)->place,
              say({"{0} goes round in a circle: no matrix is ever given", "{0} 形成循环：始终没有给出矩阵"},
                  alias(name)->called));
        roles_.is_settled = false;
        for (const std::string_view each : kRoles) {
          if (roles_[each].from == Role::From::same) roles_[each] = {};
        }
        return;
      }
    }
  }

  // K = V asks for numbers in V.
  void reject_symbols_in_qk() {
    for (const std::string_view name : {"Q", "K"}) {
      if (roles_[name].from != Role::From::same || roles_[name].matrix != "V") continue;
      const bool is_left_out = roles_.v.from == Role::From::nothing;
      if (is_left_out && !roles_.is_settled) continue;
      const bool is_symbolic = roles_.v.from == Role::From::given && has_symbols(draft_.find("V")->given);
      if (!is_left_out && !is_symbolic) continue;
      error(alias(name)->place,
            is_left_out ? say({"{0}, but V is not given", "{0}，但没有给出 V"}, alias(name)->called)
                        : say({"{0}, but V holds symbols", "{0}，但 V 含有符号"}, alias(name)->called));
    }
  }

  void projections_need_x() {
    for (const std::string_view name : kRoles) {
      const Role& role = roles_[name];
      const bool needs = role.from == Role::From::projection || role.from == Role::From::latent ||
                         (role.from == Role::From::same && !roles_.find(role.matrix));
      if (!needs || draft_.has(role.matrix) || !roles_.is_settled) continue;
      const auto source = role.from == Role::From::same     ? alias(name)
                          : role.from == Role::From::latent ? section(first_latent_section(draft_))
                          : draft_.has("W_QKV")             ? section("W_QKV")
                                                            : section("W_" + std::string(name));
      error(source->place, say({"{0} needs [{1}], which is not given", "{0} 需要 [{1}]，但没有给出"},
                               source->called, role.matrix));
      roles_.is_settled = false;  // once for all three
    }
  }

  void biases_need_weights() {
    for (const std::string_view name : {"Q", "K", "V", "O"}) {
      const auto bias = section("b_" + std::string(name));
      if (!bias || has_weights(name) || !roles_.is_settled) continue;
      error(bias->place, say({"{0} needs [W_{1}], which is not given", "{0} 需要 [W_{1}]，但没有给出"},
                             bias->called, name));
    }
  }

  // ---- what is missing, what is too much ----

  void reject_missing() {
    const bool no_q = roles_.q.from == Role::From::nothing;
    const bool no_k = roles_.k.from == Role::From::nothing;
    if (!roles_.computes_scores() || !roles_.is_settled || (!no_q && !no_k)) return;
    roles_.is_settled = false;
    const auto x = section("X");
    if (no_q && no_k && x) {
      error(x->place, say({"[X] alone does not say what Q and K are", "只有 [X] 还不能确定 Q 和 K"}),
            say({"add [W_Q] and [W_K], or write 'Q = X' and 'K = X' above the sections",
                 "请加上 [W_Q] 和 [W_K]，或在小节之前写“Q = X”和“K = X”"}));
    } else if (no_q && no_k) {
      error(draft_.matrices.empty() ? say({"there is no matrix to calculate with", "没有可以计算的矩阵"})
                                    : say({"neither Q nor K is given", "没有给出 Q 和 K"}),
            say({"give [Q] and [K], or [X] with [W_Q] and [W_K], or [scores]",
                 "请给出 [Q] 和 [K]，或 [X] 与 [W_Q]、[W_K]，或 [scores]"}));
    } else {
      one_is_missing(no_q ? "Q" : "K");
    }
  }

  void one_is_missing(std::string_view name) {
    if (const auto x = section(name == "K" && draft_.has("X_kv") ? "X_kv" : "X")) {
      error(x->place,
            say({"{0} is given, but neither [W_{1}] nor '{1} = X' says what {1} is",
                 "给出了 {0}，但没有 [W_{1}]，也没有“{1} = X”，不能确定 {1}"},
                x->called, name),
            say({"add [W_{0}], or write '{0} = X' above the sections",
                 "请加上 [W_{0}]，或在小节之前写“{0} = X”"},
                name));
      return;
    }
    error(say({"{0} is not given", "没有给出 {0}"}, name),
          say({"add a section [{0}], or the setting '{0} = {1}'", "请加上小节 [{0}]，或设置“{0} = {1}”"},
              name, name == "Q" ? "K" : "Q"));
  }

  void reject_unused() {
    if (!roles_.is_settled) return;
    for (const std::string_view name : {"X", "X_kv"}) {
      const bool is_used = std::any_of(kRoles.begin(), kRoles.end(), [&](std::string_view role) {
        return roles_[role].matrix == name && roles_[role].from != Role::From::given;
      });
      const auto other = draft_.settings.same_as.find("X_kv");
      const bool is_copied = other != draft_.settings.same_as.end() && other->second == name;
      const auto source = section(name);
      if (!source || is_used || is_copied) continue;
      error(source->place,
            say({"{0} is not used: Q, K and V are given without it", "用不到 {0}：Q、K、V 的给出与它无关"},
                source->called),
            say({"remove it, or make one of them from it, as in 'V = {0}'",
                 "请删去它，或由它得到其中之一，如“V = {0}”"},
                name));
    }
  }

  Draft& draft_;
  Diagnostics& diagnostics_;
  Roles roles_;
};

}  // namespace

Roles assign_roles(Draft& draft, Diagnostics& diagnostics) {
  return RoleAssigner(draft, diagnostics).assign();
}

}  // namespace qkv

#include "problem/origin.h"

#include "base/position.h"

namespace qkv {
namespace {

std::size_t line_at(const Place& place) { return line_of(place.source->text, place.span.begin); }

Said origin_within(const Draft& draft, const Roles& roles, const std::string& name, int depth) {
  const Role* role = roles.find(name);
  if (role && role->from == Role::From::projection) {
    const std::string w_name = draft.has("W_QKV") ? "W_QKV" : "W_" + name;
    const DraftMatrix* x = draft.find(role->matrix);
    const DraftMatrix* w = draft.find(w_name);
    if (!x || !w) return {};
    return say({"{0} and {1}", "{0} 和{1}"}, where(role->matrix, *x), where(w_name, *w));
  }
  if (role && role->from == Role::From::latent) {
    const std::string w_name = "W_U" + name;
    const DraftMatrix* w = draft.find(w_name);
    return w ? where(w_name, *w) : Said{};
  }
  constexpr int kLongestChain = 3;  // Q = K, K = V, V = X
  if (role && role->from == Role::From::same && depth < kLongestChain) {
    return origin_within(draft, roles, role->matrix, depth + 1);
  }
  const bool is_part = draft.has("W_QKV") && (name == "W_Q" || name == "W_K" || name == "W_V");
  const std::string source = is_part ? "W_QKV" : name;
  const DraftMatrix* matrix = draft.find(source);
  return matrix ? where(source, *matrix) : Said{};
}

}  // namespace

std::optional<GivenAs> section_of(const Draft& draft, std::string_view name) {
  const DraftMatrix* matrix = draft.find(name);
  if (!matrix) return std::nullopt;
  if (!matrix->is_from_option) return GivenAs{say({"[{0}]", "[{0}]"}, name), matrix->place()};
  return GivenAs{say({"{0} (from {1})", "{0}（来自 {1}）"}, name, matrix->given.source->name),
                 matrix->place()};
}

std::optional<GivenAs> alias_of(const Draft& draft, std::string_view name) {
  const auto same = draft.settings.same_as.find(name);
  if (same == draft.settings.same_as.end()) return std::nullopt;
  return GivenAs{say({"`{0} = {1}`", "`{0} = {1}`"}, name, same->second), draft.settings.find(name)->place};
}

Said lines_of(const GivenAs& a, const GivenAs& b) {
  if (!a.place.source || a.place.source != b.place.source) return {};
  return say({"{0} is on line {1}, {2} on line {3}", "{0} 在第 {1} 行，{2} 在第 {3} 行"}, a.called,
             line_at(a.place), b.called, line_at(b.place));
}

Said where(const std::string& name, const DraftMatrix& matrix) {
  if (matrix.is_from_option) return say({"{0}", " {0}"}, matrix.given.source->name);
  return say({"[{0}], line {1}", "第 {1} 行的 [{0}]"}, name, line_at(matrix.place()));
}

Said origin(const Draft& draft, const Roles& roles, const std::string& name) {
  return origin_within(draft, roles, name, 0);
}

Said origins(const Draft& draft, const Roles& roles, const std::string& a, const std::string& b) {
  return say({"{0} comes from {1}; {2} from {3}", "{0} 来自{1}；{2} 来自{3}"}, a, origin(draft, roles, a), b,
             origin(draft, roles, b));
}

}  // namespace qkv

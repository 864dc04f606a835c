#include "problem/labels.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "problem/origin.h"
#include "problem/steps.h"

namespace qkv {
namespace {

using Names = std::vector<std::string>;

// Labelled rows, and where they stand.
struct LabelledRows {
  std::string name;
  const DraftMatrix* matrix;
  const Names& labels() const { return matrix->given.row_labels; }
};

class Labeller {
 public:
  Labeller(const Draft& draft, const Roles& roles, Diagnostics& diagnostics)
      : draft_(draft), settings_(draft.settings), roles_(roles), diagnostics_(diagnostics) {}

  Labels label() {
    const Index n = *roles_.queries;
    const Index m = *roles_.keys;
    const DraftMatrix* past = draft_.find("past_K");
    const Index past_rows = past && past->has_shape ? past->given.rows : 0;
    const bool is_self_attention = n == m - past_rows && !draft_.has("X_kv");
    const auto query_rows =
        roles_.computes_scores() ? rows_of("Q") : labelled(std::string(entry_name(roles_.entry)), n);
    auto key_rows = roles_.computes_scores() ? rows_of("K") : std::nullopt;
    if (!key_rows) key_rows = rows_of("V");
    if (key_rows && key_rows->matrix->given.rows != m - past_rows) key_rows.reset();

    Labels result;
    const bool has_tokens = settings_.tokens && fits("tokens", *settings_.tokens, n);
    if (has_tokens) {
      result.tokens = *settings_.tokens;
      warn_if_overruled("tokens", result.tokens, query_rows);
    } else {
      result.tokens = filled(query_rows, n);
    }
    if (settings_.kv_tokens && fits("kv_tokens", *settings_.kv_tokens, m)) {
      result.kv_tokens = *settings_.kv_tokens;
      warn_if_overruled("kv_tokens", result.kv_tokens, key_rows);
    } else {
      result.kv_tokens = past_names(past_rows);
      const Names fresh =
          is_self_attention && (has_tokens || !key_rows) ? result.tokens : filled(key_rows, m - past_rows);
      result.kv_tokens.insert(result.kv_tokens.end(), fresh.begin(), fresh.end());
    }
    return result;
  }

 private:
  std::optional<LabelledRows> labelled(const std::string& name, Index rows) const {
    const DraftMatrix* matrix = draft_.find(name);
    if (!matrix || !matrix->has_shape || matrix->given.row_labels.empty() || matrix->given.rows != rows) {
      return std::nullopt;
    }
    return LabelledRows{name, matrix};
  }

  // The matrix whose rows are the rows of Q, K or V: itself, what it is the same as, or what
  // it is projected from.
  std::optional<LabelledRows> rows_of(const std::string& name, int depth = 0) const {
    constexpr int kLongestChain = 3;  // Q = K, K = V, V = X
    const Role* role = roles_.find(name);
    if (role && role->from == Role::From::same && depth < kLongestChain)
      return rows_of(role->matrix, depth + 1);
    const DraftMatrix* matrix = draft_.find(role ? role->matrix : name);
    return matrix ? labelled(role ? role->matrix : name, matrix->given.rows) : std::nullopt;
  }

  // The rows of [past_K] by their labels, else past1 past2 …
  Names past_names(Index count) const {
    Names names;
    for (Index i = 0; i < count; ++i) {
      const Names& labels = draft_.find("past_K")->given.row_labels;
      const bool has_label = !labels.empty() && !labels[static_cast<std::size_t>(i)].empty();
      names.push_back(has_label ? labels[static_cast<std::size_t>(i)]
                                : "past" + std::to_string(i + settings_.first_index));
    }
    return names;
  }

  // Row labels, with the usual name for a row that has none.
  Names filled(const std::optional<LabelledRows>& rows, Index count) const {
    Names names;
    for (Index i = 0; i < count; ++i) {
      const bool has_label = rows && !rows->labels()[static_cast<std::size_t>(i)].empty();
      names.push_back(has_label ? rows->labels()[static_cast<std::size_t>(i)]
                                : "t" + std::to_string(i + settings_.first_index));
    }
    return names;
  }

  bool fits(const char* key, const Names& names, Index wanted) {
    const auto count = static_cast<Index>(names.size());
    if (count == wanted) return true;
    const bool are_queries = std::string_view(key) == "tokens";
    Said hint;
    if (are_queries && count == *roles_.keys) {
      hint = say({"to name the keys write kv_tokens = …", "给键命名请写 kv_tokens = …"});
    } else if (count == 1 && names[0].find_first_of(",;") != std::string::npos) {
      hint = say({"labels are separated by spaces", "标签之间用空格隔开"});
    }
    report(Severity::error, settings_.find(key)->value_place,
           say({"{0} names {1}, but the number of {2} is {3}", "{0} 给出 {1} 个标签，而{2}有 {3} 个"}, key,
               count, are_queries ? Said{"queries", "查询"} : Said{"keys", "键"}, wanted),
           std::move(hint), diagnostics_);
    return false;
  }

  // Rows that are called something else than the setting says.
  void warn_if_overruled(const char* key, const Names& names, const std::optional<LabelledRows>& rows) {
    if (!rows) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string& label = rows->labels()[i];
      if (label.empty() || label == names[i]) continue;
      report(Severity::warning, settings_.find(key)->place,
             say({"{0} says '{1}' where {2} says '{3}'; {0} is used",
                  "{0} 写的是“{1}”，而{2} 写的是“{3}”；以 {0} 为准"},
                 key, quotable(names[i]), where(rows->name, *rows->matrix), quotable(label)),
             {}, diagnostics_);
      return;
    }
  }

  const Draft& draft_;
  const Settings& settings_;
  const Roles& roles_;
  Diagnostics& diagnostics_;
};

}  // namespace

Labels label_tokens(const Draft& draft, const Roles& roles, Diagnostics& diagnostics) {
  return Labeller(draft, roles, diagnostics).label();
}

}  // namespace qkv

#include "check/conventions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "base/decimal.h"
#include "problem/mask.h"

namespace qkv {
namespace {

struct Alternative {
  std::string name;
  std::function<void(Choice&)> choose;
  // Whether it is another calculation after the choices made before; where empty, it always is.
  std::function<bool(const Choice&)> may_follow = {};
};
struct Dimension {
  const char* name;
  std::vector<Alternative> alternatives;  // what the problem says is not among them
};

Number decimal(const std::string& text) {
  NumberError none;
  return *parse_number(text, none);
}

Scaling scaling_of(const Problem& problem) {
  switch (problem.scale.kind) {
    case ScaleKind::root:
      return {Scaling::Kind::by_root, problem.scale.d_k};
    case ScaleKind::factor:
      return {Scaling::Kind::multiply, problem.scale.factor};
    case ScaleKind::none:
      break;
  }
  return {};
}

// The width of the queries of all heads; nullopt where a table of scores hides it.
std::optional<Index> width_of_queries(const Problem& problem) {
  if (problem.has("Q")) return problem["Q"].cols;
  if (const auto same = problem.same_as.find("Q"); same != problem.same_as.end() && problem.has(same->second))
    return problem[same->second].cols;
  if (!problem.has("W_Q")) return std::nullopt;
  return problem.layout == Layout::linear ? problem["W_Q"].rows : problem["W_Q"].cols;
}

std::optional<Index> width_of_query(const Problem& problem) {
  if (problem.scale.kind == ScaleKind::root) return std::lround(problem.scale.d_k.value);
  const auto all = width_of_queries(problem);
  return all ? std::optional(*all / problem.heads) : std::nullopt;
}

Dimension scales(const Problem& problem) {
  Dimension dimension{"scale", {}};
  const auto add = [&](std::string name, const Scaling& scaling) {
    dimension.alternatives.push_back({std::move(name), [scaling](Choice& c) { c.scaling = scaling; }});
  };
  if (problem.scale.kind != ScaleKind::none) add("none", {});
  if (const auto d_k = width_of_query(problem)) {
    const Number width = whole_number(*d_k);
    if (problem.scale.kind != ScaleKind::root) add("1/sqrt(d_k)", {Scaling::Kind::by_root, width});
    add("1/d_k", {Scaling::Kind::divide, width});
    add("sqrt(d_k)", {Scaling::Kind::multiply, decimal("sqrt(" + width.text + ")")});
    // As on paper: 1.4, 1.41 or 1.414 for √2.
    for (const int decimals : {1, 2, 3}) {
      const std::string root = fixed_text(std::sqrt(static_cast<double>(*d_k)), decimals);
      if (decimal(root).value * decimal(root).value != static_cast<double>(*d_k))
        add("1/" + root, {Scaling::Kind::divide, decimal(root)});
    }
  }
  const auto keys = static_cast<long>(problem.kv_tokens.size());
  add("1/sqrt(keys)", {Scaling::Kind::by_root, whole_number(keys)});
  const auto all_heads = problem.heads > 1 ? width_of_queries(problem) : std::nullopt;
  if (problem.has("X") || all_heads) {
    const Index d_model = problem.has("X") ? problem["X"].cols : *all_heads;
    add("1/sqrt(d_model)", {Scaling::Kind::by_root, whole_number(d_model)});
  }
  return dimension;
}

Dimension axes(const Problem&) {
  return {"axis", {{"columns", [](Choice& c) { c.axis = Axis::columns; }}, {"all", [](Choice& c) {
                                                                              c.axis = Axis::all;
                                                                            }}}};
}

// Key j is open for query i up to j = i + align.
Mask causal(Index n, Index m, Index align) {
  Mask open(n, m);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) open(i, j) = j <= i + align;
  }
  return open;
}

Mask mask_of(const Problem& problem) {
  if (problem.allowed) return *problem.allowed;
  return Mask::Constant(static_cast<Index>(problem.tokens.size()),
                        static_cast<Index>(problem.kv_tokens.size()), true);
}

// The setting `mask` with a window that reaches so many keys further to either side; nullopt without a
// window.
std::optional<Mask> with_other_window(const Problem& problem, long further) {
  const auto written = std::find_if(problem.settings.begin(), problem.settings.end(),
                                    [](const auto& setting) { return setting.first == "mask"; });
  if (written == problem.settings.end()) return std::nullopt;
  std::vector<ValueFault> none;
  const std::optional<MaskSetting> setting = parse_mask(written->second, none);
  if (!setting || !setting->window) return std::nullopt;
  MaskSetting other = *setting;
  Window& window = *other.window;
  if (window.before) window.before = std::max(0L, *window.before + further);
  if (window.after && *window.after > 0) *window.after += further;
  Mask open = mask_of(problem);
  for (Index i = 0; i < open.rows(); ++i) {
    for (Index j = 0; j < open.cols(); ++j) {
      const auto is_open_in = [&](const MaskSetting& mask) {
        return is_visible(mask, problem.align, problem.first_index, i, j);
      };
      open(i, j) = (open(i, j) || !is_open_in(*setting)) && is_open_in(other);
    }
  }
  return open;
}

Dimension masks(const Problem& problem) {
  const Mask own = mask_of(problem);
  const bool differ_by_head = !problem.head_masks.empty();
  const Index n = own.rows();
  const Index m = own.cols();
  Dimension dimension{"mask", {}};
  const auto add = [&](std::string name, Mask mask) {
    if (!differ_by_head && mask == own) return;
    const auto open = std::make_shared<const Mask>(std::move(mask));
    dimension.alternatives.push_back({std::move(name), [open](Choice& c) { c.open = open; }});
  };
  add("none", Mask::Constant(n, m, true));
  add(n == m ? "causal" : "causal, top-left", causal(n, m, 0));
  if (n != m) add("causal, bottom-right", causal(n, m, m - n));
  add("causal without the diagonal", causal(n, m, m - n - 1));
  if (differ_by_head) return dimension;
  if (auto wider = with_other_window(problem, 1)) add("window one key wider", *std::move(wider));
  if (auto narrower = with_other_window(problem, -1)) add("window one key narrower", *std::move(narrower));
  add("inverted", !own.array());
  if (n == m) add("transposed", own.transpose());
  return dimension;
}

Dimension hidings(const Problem&) {
  return {
      "masking",
      {{"0 in place of -inf", [](Choice& c) { c.hiding = Hiding::zero_score; }},
       {"after the softmax", [](Choice& c) { c.hiding = Hiding::zero_weight; }},
       // The same numbers as -inf before it, unless a sink or another axis takes part.
       {"after the softmax, renormalised", [](Choice& c) { c.hiding = Hiding::zero_weight_renormalised; }}}};
}

Dimension layouts(const Problem& problem) {
  const bool has_weights =
      problem.has("W_Q") || problem.has("W_K") || problem.has("W_V") || problem.has("W_O");
  if (!has_weights) return {"layout", {}};
  return {"layout", {{"transposed", [](Choice& c) { c.is_other_layout = true; }}}};
}

Dimension roles(const Problem& problem) {
  if (problem.entry == Entry::scores) return {"roles", {}};
  return {"roles", {{"Q and K exchanged", [](Choice& c) { c.are_q_and_k_exchanged = true; }}}};
}

Dimension values_read(const Problem& problem) {
  Dimension dimension{"values", {}};
  if (problem.entry != Entry::scores)
    dimension.alternatives.push_back({"K", [](Choice& c) { c.values = "K"; }});
  if (problem.has("X")) dimension.alternatives.push_back({"X", [](Choice& c) { c.values = "X"; }});
  return dimension;
}

Dimension readings(const Problem& problem) {
  if (problem.tokens.size() != problem.kv_tokens.size()) return {"weights", {}};
  return {"weights", {{"transposed", [](Choice& c) { c.are_weights_transposed = true; }}}};
}

Dimension caps(const Problem& problem) {
  if (!problem.softcap) return {"softcap", {}};
  return {"softcap", {{"none", [](Choice& c) { c.cap = Cap::none; }}, {"after the mask", [](Choice& c) {
                                                                         c.cap = Cap::after_mask;
                                                                       }}}};
}

// One head of the whole width, with the root of its own width or of a single head's; not where heads differ
// in more than their columns.
Dimension head_counts(const Problem& problem) {
  const bool are_alike = problem.kv_heads == problem.heads && problem.head_masks.empty() &&
                         problem.slopes.empty() && problem.sink_logits.empty() &&
                         problem.is_dropped.empty() && problem.rope.pairs == Rope::Pairs::none;
  const auto width = width_of_queries(problem);
  if (problem.heads == 1 || !are_alike || !width) return {"heads", {}};
  Dimension dimension{"heads", {{"one wide head", [](Choice& c) { c.is_one_head = true; }}}};
  if (problem.scale.kind != ScaleKind::root) return dimension;
  const auto is_own_root = [own = problem.scale.d_k.text](const Choice& c) {
    return c.scaling.kind == Scaling::Kind::by_root && c.scaling.number.text == own;
  };
  dimension.alternatives[0].choose = [is_own_root, width = whole_number(*width)](Choice& c) {
    c.is_one_head = true;
    if (is_own_root(c)) c.scaling.number = width;
  };
  dimension.alternatives.push_back({.name = "one wide head, scaled as one of several",
                                    .choose = [](Choice& c) { c.is_one_head = true; },
                                    .may_follow = is_own_root});
  return dimension;
}

Dimension splits(const Problem& problem) {
  if (problem.heads == 1) return {"split", {}};
  return {"split", {{"without transpose", [](Choice& c) { c.is_split_flat = true; }}}};
}

Dimension joins(const Problem& problem) {
  if (problem.heads == 1) return {"join", {}};
  return {"join", {{"without transpose", [](Choice& c) { c.is_joined_flat = true; }}}};
}

Dimension groups(const Problem& problem) {
  if (problem.kv_heads == 1 || problem.kv_heads == problem.heads) return {"groups", {}};
  return {"groups", {{"tiled", [](Choice& c) { c.are_groups_tiled = true; }}}};
}

Dimension pairings(const Problem& problem) {
  if (problem.rope.pairs == Rope::Pairs::none) return {"rope", {}};
  const bool is_half = problem.rope.pairs == Rope::Pairs::half;
  return {"rope",
          {{is_half ? "interleaved" : "half", [](Choice& c) { c.is_other_pairing = true; }},
           {"none", [](Choice& c) { c.is_not_turned = true; }}}};
}

Dimension query_positions(const Problem& problem) {
  if (problem.rope.pairs == Rope::Pairs::none) return {"query position", {}};
  return {"query position", {{"one late", [](Choice& c) { c.query_shift = 1; }}}};
}

Dimension added_positions(const Problem& problem) {
  if (!problem.adds_sinusoids && !problem.has("P")) return {"positions", {}};
  return {"positions", {{"none", [](Choice& c) { c.is_not_positioned = true; }}}};
}

Dimension dropped_heads(const Problem& problem) {
  if (problem.is_dropped.empty()) return {"drop_heads", {}};
  return {"drop_heads", {{"none", [](Choice& c) { c.are_dropped_kept = true; }}}};
}

bool is_system(const Problem& problem) {
  return problem.heads > 1 || problem.rope.pairs != Rope::Pairs::none;
}

// With so many dimensions nobody differs in more than three of them, and all would take too long.
constexpr std::size_t kMostChangesOfSystem = 3;

// A dimension is a row here, a field of Choice, and the place in check/detect.cpp where that field counts.
constexpr std::array<Dimension (*)(const Problem&), 17> kDimensions{
    scales,      axes,   masks, hidings, layouts,  roles,           values_read,     readings,     caps,
    head_counts, splits, joins, groups,  pairings, query_positions, added_positions, dropped_heads};

}  // namespace

std::vector<Combination> combinations(const Problem& problem) {
  std::vector<Combination> all{{{}, {.scaling = scaling_of(problem), .open = nullptr}}};
  if (problem.head_masks.empty()) all[0].choice.open = std::make_shared<const Mask>(mask_of(problem));
  for (const auto dimension_of : kDimensions) {
    const Dimension dimension = dimension_of(problem);
    const std::size_t before = all.size();
    for (const Alternative& alternative : dimension.alternatives) {
      for (std::size_t i = 0; i < before; ++i) {
        if (is_system(problem) && all[i].changes.size() == kMostChangesOfSystem) continue;
        if (alternative.may_follow && !alternative.may_follow(all[i].choice)) continue;
        Combination changed = all[i];
        changed.changes.emplace_back(dimension.name, alternative.name);
        alternative.choose(changed.choice);
        all.push_back(std::move(changed));
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Combination& a, const Combination& b) {
    return a.changes.size() < b.changes.size();
  });
  return all;
}

}  // namespace qkv

// Mistakes of whole systems: heads, shared keys and values, positions, tiles.

#include "check/spoil_parts.h"
#include "ops/pass_kernels.h"
#include "ops/position_kernels.h"
#include "run/apply.h"
#include "run/proof.h"

namespace qkv::spoil {
namespace {

const Plan& plan_of(const Spoil& s) { return s.sheet.plan(); }

bool is_op(const Spoil& s, std::string_view name) { return s.at().op->name == name; }

// "t2." of "t2.h1.": the pass that a head belongs to.
std::string pass_prefix(const Node& node) {
  const std::size_t point =
      node.prefix.size() < 2 ? std::string::npos : node.prefix.find_last_of('.', node.prefix.size() - 2);
  return node.prefix.substr(0, point == std::string::npos ? 0 : point + 1);
}

// The steps of that name of all heads ("h") or groups ("g") of one pass, in order.
std::vector<NodeId> parts_named(const Plan& plan, const std::string& pass, char kind, std::string_view name) {
  std::vector<NodeId> parts;
  while (true) {
    const std::string prefix = pass + kind + std::to_string(parts.size() + 1) + ".";
    const auto found = plan.find(prefix + std::string(name));
    if (!found) return parts;
    parts.push_back(*found);
  }
}

// Of a step that comes later: its true value, for want of the sheet's own.
M value_anywhere(const Spoil& s, NodeId id) {
  if (id < s.node) return s.sheet.value(id, s.chain);
  const Shape shape = plan_of(s)[id].shape;
  M result(shape.rows, shape.cols);
  for (Index i = 0; i < shape.rows; ++i) {
    for (Index j = 0; j < shape.cols; ++j) result(i, j) = s.sheet.truth().proof().enclosure({id, i, j});
  }
  return result;
}

// What should stand at an earlier step, going by what stands before that; later steps as they are in truth.
M right_anywhere(const Spoil& s, NodeId id) {
  return id <= s.node ? M(s.sheet.image(id, s.chain)) : value_anywhere(s, id);
}

M joined(const std::vector<M>& heads) {
  return kernels::join_columns<Interval>({heads.begin(), heads.end()});
}

}  // namespace

// ---- Heads -----------------------------------------------------------------------------------

Results split_flat(const Spoil& s) {
  if (!is_head(s.at()) || s.at().is_symbolic()) return {};
  const M& wide = s.input(0);
  const Index width = s.at().shape.cols;
  const Index first_column = static_cast<Index>(s.at().params.numbers[0].value) - 1;
  const Index head = first_column / width;
  return {kernels::cut_flat<Interval>(wide, head, wide.cols() / width)};
}

Results joined_flat(const Spoil& s) {
  if (!is_op(s, "concat")) return {};
  InputsOf<M> heads;
  for (std::size_t h = 0; h < s.at().inputs.size(); ++h) heads.emplace_back(s.input(h));
  return {kernels::join_flat<Interval>(heads, 1)};
}

namespace {

// The dot products of Q and K before they are cut into heads; none where keys are shared or turned.
M wide_scores(const Spoil& s, const std::string& pass) {
  const auto q = plan_of(s).find(pass + "Q");
  const auto k = plan_of(s).find(pass + "K");
  if (!q || !k || *q > s.node || *k > s.node) return M(0, 0);
  return dots(s.sheet.value(*q, s.chain), s.sheet.value(*k, s.chain));
}

M over_root(const M& scores, Index width) { return times(scores, Interval(1 / sqrt(whole(width)))); }

}  // namespace

Results one_wide_head(const Spoil& s) {
  const bool is_joined = is_op(s, "concat");
  const std::string pass = is_joined ? s.at().prefix : pass_prefix(s.at());
  const std::vector<NodeId> queries = parts_named(plan_of(s), pass, 'h', "Q");
  if (queries.size() < 2 || plan_of(s).find(pass + "h1.Q.rotated")) return {};
  const M scores = wide_scores(s, pass);
  if (scores.size() == 0 || s.at().name() == "scores") return {scores};
  const M scaled = over_root(scores, plan_of(s)[plan_of(s)[queries[0]].inputs[0]].shape.cols);
  if (!is_joined) return {weights_after_mask(s, scaled)};
  const auto weights = plan_of(s).find(pass + "h1.weights");
  const auto v = plan_of(s).find(pass + "V");
  if (!weights || !v) return {};
  return {product(weights_after_mask({s.sheet, *weights, s.chain}, scaled), s.sheet.value(*v, s.chain))};
}

Results mean_of_heads(const Spoil& s) {
  const std::vector<NodeId> heads = parts_named(plan_of(s), pass_prefix(s.at()), 'h', "weights");
  if (heads.size() < 2) return {};
  M sum = right_anywhere(s, heads[0]);
  for (std::size_t h = 1; h < heads.size(); ++h) sum += right_anywhere(s, heads[h]);
  return {times(sum, Interval(1 / whole(static_cast<Index>(heads.size()))))};
}

namespace {

// The group's step in place of this one: "g2.K.rotated" for "g1.K.rotated".
std::optional<NodeId> of_tiled_group(const Spoil& s, NodeId keys_or_values, std::size_t head) {
  const Node& own = plan_of(s)[keys_or_values];
  const std::vector<NodeId> groups = parts_named(plan_of(s), pass_prefix(own), 'g', own.name());
  return groups.empty() ? std::nullopt : std::optional(groups[head % groups.size()]);
}

std::size_t head_number(const Node& node) {
  const std::string number = node.prefix.substr(pass_prefix(node).size() + 1);  // behind the h
  return static_cast<std::size_t>(std::stoul(number)) - 1;
}

// What a head reads from the tiled group, its weights from the tiled group's keys too.
std::optional<M> read_of_tiled_group(const Spoil& s, NodeId output, std::size_t head) {
  const Node& read = plan_of(s)[output];
  const auto scores = plan_of(s).find_beside(read, "scores");
  if (read.inputs.size() != 2 || !scores || plan_of(s)[*scores].inputs.size() < 2) return std::nullopt;
  const auto k = of_tiled_group(s, plan_of(s)[*scores].inputs[1], head);
  const auto v = of_tiled_group(s, read.inputs[1], head);
  if (!k || !v) return std::nullopt;
  const M of_k = dots(s.sheet.value(plan_of(s)[*scores].inputs[0], s.chain), value_anywhere(s, *k));
  const M weights = s.sheet.image(read.inputs[0], s.chain, {{*scores, IntervalMatrix(of_k)}});
  return product(weights, value_anywhere(s, *v));
}

}  // namespace

Results groups_tiled(const Spoil& s) {
  if (is_op(s, "concat")) {
    std::vector<M> heads;
    for (std::size_t h = 0; h < s.at().inputs.size(); ++h) {
      const auto head = read_of_tiled_group(s, s.at().inputs[h], h);
      if (!head) return {};
      heads.push_back(*head);
    }
    return {joined(heads)};
  }
  if (!is_op(s, "dot_rows") && !is_op(s, "weighted_sum")) return {};
  const auto other = of_tiled_group(s, s.at().inputs[1], 0);
  if (!other) return {};
  const std::size_t head = head_number(s.at());
  const M in_place = value_anywhere(s, *of_tiled_group(s, s.at().inputs[1], head));
  return {is_op(s, "dot_rows") ? dots(s.input(0), in_place) : product(s.input(0), in_place)};
}

// ---- Positions -------------------------------------------------------------------------------

namespace {

bool is_interleaved(const Spoil& s) { return is_op(s, "rotate_interleaved"); }
bool is_rotation(const Spoil& s) { return is_interleaved(s) || is_op(s, "rotate_half"); }

// The columns that turn by one set of angles: all, or those of one head where several stand side by side.
Index width_of_head(const Spoil& s) {
  const std::vector<Number>& numbers = s.at().params.numbers;
  return numbers.empty() ? s.input(0).cols() : static_cast<Index>(numbers[0].value);
}

M turned(const Spoil& s, const M& angles) {
  return kernels::rotate<Interval>(s.input(0), angles, is_interleaved(s), width_of_head(s));
}

// The step that made the angles of a rotation: its positions, its base, its width.
struct Angles {
  M positions;
  Number base;
  Index dims;
};
Angles angles_of(const Spoil& s) {
  const Node& node = plan_of(s)[s.at().inputs[1]];
  return {s.sheet.value(node.inputs[0], s.chain), node.params.numbers[0],
          static_cast<Index>(node.params.numbers[1].value)};
}

}  // namespace

Results other_pairing(const Spoil& s) {
  if (!is_rotation(s)) return {};
  return {kernels::rotate<Interval>(s.input(0), s.input(1), !is_interleaved(s), width_of_head(s))};
}

Results position_off_by_one(const Spoil& s) {
  if (!is_rotation(s)) return {};
  const Angles right = angles_of(s);
  Results results;
  for (const int step : {1, -1}) {
    const M shifted =
        each(right.positions, [&](Index, Index, const Interval& p) { return Interval(p + step); });
    results.emplace_back(turned(s, kernels::angles<Interval>(shifted, right.base, right.dims)));
  }
  return results;
}

// Exponents i/d, −2(i − 1)/d, +2i/d, and 2i/d of whole numbers divided without a rest.
Results other_frequencies(const Spoil& s) {
  if (!is_rotation(s)) return {};
  const Angles right = angles_of(s);
  const auto to_the = [&](Index p) { return kernels::power<Interval>(right.base, p, right.dims); };
  const auto with_angles = [&](const auto& factor) {
    return turned(s, each(s.input(1), [&](Index t, Index i, const Interval&) {
                    return Interval(right.positions(t, 0) * factor(i));
                  }));
  };
  return {with_angles([&](Index i) { return Interval(1 / to_the(i)); }),
          with_angles([&](Index i) { return Interval(to_the(2) / to_the(2 * i)); }),
          with_angles([&](Index i) { return to_the(2 * i); }),
          with_angles([](Index) { return Interval(1); })};
}

Results turned_back_or_not(const Spoil& s) {
  if (!is_rotation(s)) return {};
  return {turned(s, times(s.input(1), Interval(-1))), s.input(0)};
}

// ALiBi with the wrong sign, or with the slopes 2^(−8h/n) from h = 0.
Results other_slope(const Spoil& s) {
  if (!is_op(s, "alibi") && !is_op(s, "alibi_and_bias") && !is_op(s, "alibi_and_biases")) return {};
  const std::size_t heads = parts_named(plan_of(s), pass_prefix(s.at()), 'h', "bias").size();
  const Params& params = s.at().params;
  const M distance = kernels::distance_bias<Interval>(params.shape, params.numbers[0], params.align);
  const M right = right_here(s);
  const Interval step =
      exp(Interval(log(Interval(2)) * 8 / whole(static_cast<Index>(std::max<std::size_t>(heads, 1)))));
  return {IntervalMatrix(right - times(distance, Interval(2))),
          IntervalMatrix(right + times(distance, Interval(step - 1)))};
}

// ---- Tiles -----------------------------------------------------------------------------------

namespace {

// Σ_j of the tile's exponentials on top of the sum so far as it is.
M sum_on_top(const Spoil& s, const M& before) {
  const M ones = M::Constant(before.rows(), 1, Interval(1));
  return kernels::running_sum<Interval>(before, ones, s.input(2));
}

M read_on_top(const Spoil& s, const M& before) {
  const M ones = M::Constant(before.rows(), 1, Interval(1));
  return kernels::running_read<Interval>(before, ones, s.input(2), s.input(3), s.at().params);
}

// In this tile alone, or also in those before it that were not handed in.
Results not_rescaled(const Spoil& s, std::string_view op, M (*on_top)(const Spoil&, const M&)) {
  if (!is_op(s, op)) return {};
  Results results{IntervalMatrix(on_top(s, s.input(0)))};
  const Spoil before{s.sheet, s.at().inputs[0], s.chain};
  if (before.written() != nullptr) return results;
  for (const IntervalMatrix& earlier : not_rescaled(before, op, on_top))
    results.emplace_back(on_top(s, earlier));
  return results;
}

}  // namespace

Results accumulator_not_rescaled(const Spoil& s) { return not_rescaled(s, "running_read", read_on_top); }

Results sum_not_rescaled(const Spoil& s) {
  const auto sum = plan_of(s).find_beside(s.at(), "sum");
  const bool is_accumulator = s.at().name() == "acc" && sum && s.sheet.answer(*sum) == nullptr;
  // Who leaves it out for the sum may leave it out for the accumulator too: in every other place.
  Results results;
  for (const IntervalMatrix& result :
       is_accumulator ? accumulator_not_rescaled(s) : not_rescaled(s, "running_sum", sum_on_top)) {
    results.push_back(result);
    results.push_back(is_accumulator ? IntervalMatrix(M(0, 0)) : result);
  }
  return results;
}

Results division_left_out(const Spoil& s) { return is_op(s, "finish") ? Results{s.input(0)} : Results{}; }

namespace {

// The row maxima of the first tile that a running step has gone through.
std::optional<NodeId> first_maximum(const Spoil& s) {
  NodeId at = is_op(s, "finish") ? s.at().inputs[0] : s.node;
  while (plan_of(s)[at].op->name == std::string_view("running_sum") ||
         plan_of(s)[at].op->name == std::string_view("running_read"))
    at = plan_of(s)[at].inputs[0];
  const auto max = plan_of(s).find_beside(plan_of(s)[at], "max");
  return max && *max < s.node ? max : std::nullopt;
}

}  // namespace

// −∞ − (−∞) in a row that sees no key of the first tile; it spoils all that follows in that row.
Results empty_tile(const Spoil& s) {
  const bool is_tiled = plan_of(s).find_beside(s.at(), "acc").has_value();
  const auto max = first_maximum(s);
  if (!is_tiled || !max) return {};
  const M& maxima = s.sheet.value(*max, s.chain);
  M result = right_here(s);
  bool is_spoiled = false;
  for (Index i = 0; i < std::min(result.rows(), maxima.rows()); ++i) {
    if (!is_minus_infinity(maxima(i, 0))) continue;
    is_spoiled = true;
    for (Index j = 0; j < result.cols(); ++j) result(i, j) = not_a_number<Interval>();
  }
  return is_spoiled ? Results{IntervalMatrix(std::move(result))} : Results{};
}

}  // namespace qkv::spoil

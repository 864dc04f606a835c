#include "check/spoils.h"

#include <algorithm>

#include "check/spoil_parts.h"
#include "ops/kernels.h"
#include "run/apply.h"

namespace qkv {

// Of the same head, layer or pass; else the nearest of that name that this one is computed from: a head of
// queries reads keys of a group.
std::optional<NodeId> Spoil::node_named(std::string_view name) const {
  const Plan& plan = sheet.plan();
  std::optional<NodeId> found = plan.find(at().prefix + std::string(name));
  if (!found) {
    std::vector<NodeId> open = at().inputs;
    while (!open.empty() && !found) {
      const NodeId latest = *std::max_element(open.begin(), open.end());
      std::erase(open, latest);
      if (plan[latest].name() == name) found = latest;
      open.insert(open.end(), plan[latest].inputs.begin(), plan[latest].inputs.end());
    }
  }
  if (!found) found = plan.find_beside(at(), name);
  return found && *found < node ? found : std::nullopt;
}

const IntervalMatrix* Spoil::value(std::string_view id) const {
  const auto found = node_named(id);
  return found ? &sheet.value(*found, Chain::theirs) : nullptr;
}

namespace spoil {
namespace {

// ---- Parts ---------------------------------------------------------------------------------

template <class F>
M both(const M& a, const M& b, F f) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return M(0, 0);
  return each(a, [&](Index i, Index j, const Interval& x) { return Interval(f(x, b(i, j))); });
}

M transposed(const M& a) { return a.transpose(); }

M exponentials(const M& a) {
  return each(a, [](Index, Index, const Interval& x) {
    return is_minus_infinity(x) ? Interval(0) : Interval(exp(x));
  });
}

M divide_rows_by(const M& e, const M& sums) {
  return each(e, [&](Index i, Index, const Interval& x) {
    return is_point_zero(x) ? x : Interval(x / sums(i, 0));  // 0 of nothing is 0
  });
}

M row_sums(const M& e) {
  M sums(e.rows(), 1);
  for (Index i = 0; i < e.rows(); ++i) sums(i, 0) = sum_of_row(e, i);
  return sums;
}

M normalised(const M& e) { return divide_rows_by(e, row_sums(e)); }

M softmax(const M& scores) { return softmax_of_ranges(IntervalMatrix(scores), Params{}); }

// Keys outside `open` get −∞.
M hidden(const M& scores, const Mask& open) {
  return each(scores,
              [&](Index i, Index j, const Interval& x) { return open(i, j) ? x : infinity<Interval>(-1); });
}

Mask all_open(const M& like) { return Mask::Constant(like.rows(), like.cols(), true); }

Mask triangle(Index rows, Index cols, long align) {
  Mask open(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) open(i, j) = j <= i + align;
  }
  return open;
}

Interval root(const Interval& x) { return sqrt(x); }

// ---- What the problem says ---------------------------------------------------------------------

// Of the same head, pass or tile, before or after this step.
const Node* node_named(const Spoil& s, std::string_view name) {
  const auto found = s.sheet.plan().find_beside(s.at(), name);
  return found ? &s.sheet.plan()[*found] : nullptr;
}

std::optional<Interval> d_k(const Spoil& s) {
  const Node* scaled = node_named(s, "scaled");
  if (scaled == nullptr || scaled->op->name != std::string_view("scale")) return std::nullopt;
  return enclose(scaled->params.numbers[0]);
}

// The scores as they enter the softmax.
const M* entering(const Spoil& s) {
  for (const char* id : {"tempered", "masked", "capped", "scaled", "scores"}) {
    if (const IntervalMatrix* found = s.value(id)) return found;
  }
  return nullptr;
}

// Null where the problem has no mask.  Tiles have no weights.
const Mask* mask_of(const Spoil& s) {
  for (const char* name : {"weights", "masked"}) {
    const Node* node = node_named(s, name);
    if (node != nullptr && node->params.allowed) return node->params.allowed.get();
  }
  return nullptr;
}
Mask open_keys(const Spoil& s, const M& like) {
  const Mask* mask = mask_of(s);
  return mask != nullptr ? *mask : all_open(like);
}

// The softmax the problem asks for, of other scores.
M weights_from(const Spoil& s, const M& scores) {
  const Node* weights = node_named(s, "weights");
  return softmax_of_ranges(IntervalMatrix(scores), weights->brief ? weights->brief->params : weights->params);
}

// The same with no key hidden.
M weights_from_open(const Spoil& s, const M& scores) {
  const Node* weights = node_named(s, "weights");
  Params params = weights->brief ? weights->brief->params : weights->params;
  params.allowed = nullptr;
  return softmax_of_ranges(IntervalMatrix(scores), params);
}

M with_bias(const Spoil& s, const M& scores) {
  const IntervalMatrix* bias = s.value("bias");
  if (bias == nullptr) return scores;
  return both(scores, *bias, [](const Interval& a, const Interval& b) { return a + b; });
}

// What the mask is added to.
std::optional<M> unmasked(const Spoil& s) {
  for (const char* id : {"capped", "scaled", "scores"}) {
    if (const IntervalMatrix* found = s.value(id)) return with_bias(s, *found);
  }
  return std::nullopt;
}

// Whether this step is weights · V; the output of tiles, or of all passes together, is another step.
bool is_read(const Spoil& s) {
  return s.at().inputs.size() == 2 && s.sheet.plan()[s.at().inputs[0]].name() == "weights";
}

}  // namespace

M times(const M& a, const Interval& c) {
  return each(a, [&](Index, Index, const Interval& x) { return is_minus_infinity(x) ? x : Interval(x * c); });
}

M weights_after_mask(const Spoil& s, const M& scores) {
  const M sum = with_bias(s, scores);
  return weights_from(s, hidden(sum, open_keys(s, sum)));
}

// ---- Projections -----------------------------------------------------------------------------

Results other_layout(const Spoil& s) {
  if (s.at().inputs.size() < 2) return {};
  const M& x = s.input(0);
  const M& w = s.input(1);
  const bool is_linear = std::string_view(s.at().op->name).starts_with("linear");
  M result = is_linear ? product(x, w) : dots(x, w);
  if (result.size() > 0 && s.at().inputs.size() > 2 && s.input(2).cols() == result.cols())
    result = kernels::add_row<Interval>(std::move(result), s.input(2));
  return {std::move(result)};
}

Results bias_forgotten_or_twice(const Spoil& s) {
  if (s.at().inputs.size() < 3) return {};
  const M right = right_here(s);
  const M& b = s.input(2);
  return {each(right, [&](Index, Index j, const Interval& x) { return Interval(x - b(0, j)); }),
          each(right, [&](Index, Index j, const Interval& x) { return Interval(x + b(0, j)); })};
}

Results projection_left_out(const Spoil& s) { return {s.input(0)}; }

// ---- Scores ----------------------------------------------------------------------------------

bool is_dot(const Spoil& s) { return s.at().op->name == std::string_view("dot_rows"); }

Results swapped_q_and_k(const Spoil& s) {
  if (!is_dot(s)) return {};
  return {dots(s.input(1), s.input(0))};
}
Results k_not_transposed(const Spoil& s) {
  if (!is_dot(s)) return {};
  return {product(s.input(0), s.input(1))};
}
Results element_wise(const Spoil& s) {
  if (!is_dot(s)) return {};
  return {both(s.input(0), s.input(1), [](const Interval& a, const Interval& b) { return a * b; })};
}

// Beyond the largest number of half precision stands infinity.
Results half_overflow(const Spoil& s) {
  constexpr double kRoundsToInfinity = 65520;
  bool has_overflow = false;
  M result = each(right_here(s), [&](Index, Index, const Interval& x) {
    const bool is_over = certainly_exceeds(abs(x), Interval(kRoundsToInfinity));
    has_overflow = has_overflow || is_over;
    return is_over ? infinity<Interval>(certainly_exceeds(x, Interval(0)) ? 1 : -1) : x;
  });
  return has_overflow ? Results{IntervalMatrix(std::move(result))} : Results{};
}

// ---- Scaling ---------------------------------------------------------------------------------

namespace {

// The scores times a factor, as the step `scaled` or as what the weights were computed from.
Results scores_times(const Spoil& s, const std::optional<Interval>& factor) {
  const IntervalMatrix* scores = s.value("scores");
  if (scores == nullptr || !factor || !d_k(s)) return {};
  const M scaled = times(*scores, *factor);
  if (s.at().name() == "scaled") return {scaled};
  return {weights_after_mask(s, scaled)};
}

}  // namespace

Results not_scaled(const Spoil& s) { return scores_times(s, Interval(1)); }
Results by_d_k(const Spoil& s) {
  const auto d = d_k(s);
  return d ? scores_times(s, Interval(1 / *d)) : Results{};
}
Results times_root(const Spoil& s) {
  const auto d = d_k(s);
  return d ? scores_times(s, root(*d)) : Results{};
}
Results by_root_of_keys(const Spoil& s) {
  const IntervalMatrix* scores = s.value("scores");
  return scores != nullptr ? scores_times(s, Interval(1 / root(whole(scores->cols())))) : Results{};
}
// The width of X, or of the queries of all heads together.
Results by_root_of_model(const Spoil& s) {
  std::vector<Index> widths;
  if (const IntervalMatrix* x = s.value("X")) widths.push_back(x->cols());
  if (const auto q = s.node_named("Q"); q && is_head(s.sheet.plan()[*q]))
    widths.push_back(s.sheet.value(s.sheet.plan()[*q].inputs[0], Chain::theirs).cols());
  Results results;
  for (const Index width : widths) {
    if (!d_k(s) || certainly_equals(*d_k(s), whole(width))) continue;
    for (IntervalMatrix& result : scores_times(s, Interval(1 / root(whole(width)))))
      results.push_back(std::move(result));
  }
  return results;
}
Results scale_after_softmax(const Spoil& s) {
  const IntervalMatrix* scores = s.value("scores");
  const auto d = d_k(s);
  if (scores == nullptr || !d) return {};
  return {times(weights_after_mask(s, *scores), Interval(1 / root(*d)))};
}
Results bias_scaled(const Spoil& s) {
  const IntervalMatrix* scores = s.value("scores");
  const IntervalMatrix* bias = s.value("bias");
  const auto d = d_k(s);
  if (scores == nullptr || bias == nullptr || !d) return {};
  const M sum = both(*scores, *bias, [](const Interval& a, const Interval& b) { return a + b; });
  const M masked = hidden(times(sum, Interval(1 / root(*d))), open_keys(s, sum));
  return {s.at().name() == "masked" ? masked : weights_from(s, masked)};
}

// ---- Masks -----------------------------------------------------------------------------------

namespace {

bool has_empty_row(const Mask& open) { return !open.rowwise().any().all(); }

// The weights, but in rows without a key those of `filled`.
template <class F>
M where_empty(const M& weights, const Mask& open, F filled) {
  return each(weights, [&](Index i, Index j, const Interval& x) {
    return open.row(i).any() ? x : Interval(filled(i, j));
  });
}

// What programs make of a row without a key: with a finite number in place of −∞ all its keys are equal, or
// where that number is added, as they were without a mask.
Results filled_rows(const M& scores, const M& weights, const Mask& open) {
  const M plain = softmax(scores);
  const Interval share = 1 / whole(open.cols());
  return {where_empty(weights, open, [&](Index, Index) { return share; }),
          where_empty(weights, open, [&](Index i, Index j) { return plain(i, j); })};
}
M nan_rows(const M& weights, const Mask& open) {
  return where_empty(weights, open, [](Index, Index) { return not_a_number<Interval>(); });
}

// The scores under another mask, as the step `masked` or as what the weights were computed from.
Results under_mask(const Spoil& s, const std::vector<Mask>& masks) {
  const std::optional<M> scores = unmasked(s);
  if (!scores || mask_of(s) == nullptr) return {};
  Results results;
  for (const Mask& open : masks) {
    if (open.rows() != scores->rows() || open.cols() != scores->cols() || open == *mask_of(s)) continue;
    const M masked = hidden(*scores, open);
    if (s.at().name() == "masked") {
      results.emplace_back(masked);
      continue;
    }
    const M weights = softmax(masked);
    results.emplace_back(weights);
    if (!has_empty_row(open)) continue;
    for (IntervalMatrix& filled : filled_rows(*scores, weights, open)) results.push_back(std::move(filled));
    results.emplace_back(nan_rows(weights, open));
  }
  return results;
}

}  // namespace

Results polarity(const Spoil& s) {
  const Mask* mask = mask_of(s);
  return mask != nullptr ? under_mask(s, {Mask(!mask->array())}) : Results{};
}
namespace {

bool is_triangle(const Spoil& s) {
  const Mask* mask = mask_of(s);
  return mask != nullptr && *mask == triangle(mask->rows(), mask->cols(), mask->cols() - mask->rows());
}

}  // namespace

Results diagonal_hidden(const Spoil& s) {
  if (!is_triangle(s)) return {};
  const Mask& mask = *mask_of(s);
  return under_mask(s, {triangle(mask.rows(), mask.cols(), mask.cols() - mask.rows() - 1)});
}
Results upside_down(const Spoil& s) {
  if (!is_triangle(s)) return {};
  const Mask& mask = *mask_of(s);
  Mask open(mask.rows(), mask.cols());
  for (Index i = 0; i < open.rows(); ++i) {
    for (Index j = 0; j < open.cols(); ++j) open(i, j) = j >= i + mask.cols() - mask.rows();
  }
  return under_mask(s, {open});
}
Results wrong_corner(const Spoil& s) {
  const Mask* mask = mask_of(s);
  if (mask == nullptr || mask->rows() == mask->cols()) return {};
  const Mask top_left = triangle(mask->rows(), mask->cols(), 0);
  const Mask bottom_right = triangle(mask->rows(), mask->cols(), mask->cols() - mask->rows());
  if (*mask == bottom_right) return under_mask(s, {top_left});
  return *mask == top_left ? under_mask(s, {bottom_right}) : Results{};
}
// The left edge of a window goes along with the query: one key further, or one less far.
Results window_off_by_one(const Spoil& s) {
  const Mask* mask = mask_of(s);
  if (mask == nullptr) return {};
  std::optional<Index> edge;  // of the window, from the query
  for (Index i = 0; i < mask->rows(); ++i) {
    Index first = 0;
    while (first < mask->cols() && !(*mask)(i, first)) ++first;
    if (first == 0) continue;
    if (first == mask->cols() || (edge && *edge != first - i)) return {};
    edge = first - i;
  }
  if (!edge) return {};
  Mask wider = *mask;
  Mask narrower = *mask;
  for (Index i = 0; i < mask->rows(); ++i) {
    const Index first = i + *edge;
    if (first > 0) wider(i, first - 1) = true;
    if (first >= 0) narrower(i, first) = false;
  }
  return under_mask(s, {wider, narrower});
}
Results mask_transposed(const Spoil& s) {
  if (is_triangle(s)) return {};  // that is the triangle upside down
  const Mask* mask = mask_of(s);
  return mask != nullptr ? under_mask(s, {Mask(mask->transpose())}) : Results{};
}
Results mask_ignored(const Spoil& s) {
  const Mask* mask = mask_of(s);
  return mask != nullptr ? under_mask(s, {Mask::Constant(mask->rows(), mask->cols(), true)}) : Results{};
}
Results mask_after_softmax(const Spoil& s) {
  const std::optional<M> scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (!scores || mask == nullptr) return {};
  return {each(softmax(*scores),
               [&](Index i, Index j, const Interval& x) { return (*mask)(i, j) ? x : Interval(0); })};
}
Results zero_for_infinity(const Spoil& s) {
  const std::optional<M> scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (!scores || mask == nullptr) return {};
  const M masked =
      each(*scores, [&](Index i, Index j, const Interval& x) { return (*mask)(i, j) ? x : Interval(0); });
  return {s.at().name() == "masked" ? masked : softmax(masked)};
}
Results ones_added(const Spoil& s) {
  const std::optional<M> scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (!scores || mask == nullptr) return {};
  const M masked =
      each(*scores, [&](Index i, Index j, const Interval& x) { return (*mask)(i, j) ? Interval(x + 1) : x; });
  return {s.at().name() == "masked" ? masked : softmax(masked)};
}
Results mask_unscaled(const Spoil& s) {
  const IntervalMatrix* scores = s.value("scores");
  if (scores == nullptr || mask_of(s) == nullptr || !d_k(s)) return {};
  const M masked = hidden(*scores, *mask_of(s));
  return {s.at().name() == "masked" ? masked : softmax(masked)};
}

// Rows without a key under the problem's own mask.
Results empty_row_filled(const Spoil& s) {
  const std::optional<M> scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (!scores || mask == nullptr || !has_empty_row(*mask)) return {};
  return filled_rows(*scores, right_here(s), *mask);
}
Results empty_row_nan(const Spoil& s) {
  const Mask* mask = mask_of(s);
  if (mask == nullptr || !has_empty_row(*mask)) return {};
  return {nan_rows(right_here(s), *mask)};
}

namespace {

// Nobody's score; what programs put in place of −∞ is further down.
constexpr double kLeastFill = -1000;

// The masked step with the fill that stands on the sheet.
Results masked_with_fill(const Spoil& s) {
  const Given* written = s.written();
  if (written == nullptr) return {};
  bool is_filled = false;
  bool is_fill = true;
  IntervalMatrix masked = each(right_here(s), [&](Index i, Index j, const Interval& x) {
    const Number& number = written->at(i, j);
    if (!is_minus_infinity(x) || number.kind != Number::Kind::finite) return x;
    is_filled = true;
    is_fill = is_fill && number.value <= kLeastFill;
    return s.sheet.written(number).range;
  });
  return is_filled && is_fill ? Results{std::move(masked)} : Results{};
}

}  // namespace

// −10000, the least of half precision, −10^9: added, they leave large scores in play.
Results finite_fill(const Spoil& s) {
  const std::optional<M> scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (!scores || mask == nullptr) return {};
  if (s.at().name() == "masked") return masked_with_fill(s);
  Results results;
  for (const double fill : {-1e4, -65504.0, -1e9}) {
    const M weights = softmax(each(*scores, [&](Index i, Index j, const Interval& x) {
      return (*mask)(i, j) ? x : Interval(x + fill);
    }));
    results.emplace_back(where_empty(weights, *mask, [](Index, Index) { return Interval(0); }));
  }
  return results;
}

// Of two finite masks, in a row that they close between them, the keys closed once win: those that have a
// weight on the sheet.
Results masks_added(const Spoil& s) {
  const std::optional<M> scores = unmasked(s);
  const Mask* mask = mask_of(s);
  const Given* written = s.written();
  if (!scores || mask == nullptr || written == nullptr || !has_empty_row(*mask)) return {};
  Mask closed_once = *mask;
  for (Index i = 0; i < mask->rows(); ++i) {
    if (mask->row(i).any()) continue;
    for (Index j = 0; j < mask->cols(); ++j) closed_once(i, j) = written->at(i, j).value > 0;
    if (closed_once.row(i).all()) return {};  // one mask closes them all
  }
  const M weights = softmax(hidden(*scores, closed_once));
  return {where_empty(right_here(s), *mask, [&](Index i, Index j) { return weights(i, j); })};
}

// tanh turns −∞ into −1.
Results capped_after_mask(const Spoil& s) {
  const Node* capped = node_named(s, "capped");
  const Mask* mask = mask_of(s);
  const IntervalMatrix* scores = s.value("scaled") != nullptr ? s.value("scaled") : s.value("scores");
  if (capped == nullptr || mask == nullptr || scores == nullptr) return {};
  const Interval cap = enclose(capped->params.numbers[0]);
  const M sum = with_bias(s, *scores);
  const M result = each(sum, [&](Index i, Index j, const Interval& x) {
    return (*mask)(i, j) ? Interval(cap * tanh(Interval(x / cap))) : Interval(-cap);
  });
  return {s.at().name() == "masked" ? result : weights_from_open(s, result)};
}

// ---- Softmax ---------------------------------------------------------------------------------

namespace {

template <class F>
Results from_entering(const Spoil& s, F f) {
  const M* scores = entering(s);
  return scores != nullptr ? Results{IntervalMatrix(f(*scores))} : Results{};
}

}  // namespace

Results by_column(const Spoil& s) {
  return from_entering(s, [](const M& z) { return transposed(normalised(exponentials(transposed(z)))); });
}
Results over_all(const Spoil& s) {
  return from_entering(s, [](const M& z) {
    const M e = exponentials(z);
    const M sums = row_sums(e);
    Interval total = 0;
    for (Index i = 0; i < sums.rows(); ++i) total += sums(i, 0);
    return times(e, Interval(1 / total));
  });
}
Results all_ones(const Spoil& s) {
  return from_entering(
      s, [](const M& z) { return each(z, [](Index, Index, const Interval&) { return Interval(1); }); });
}
Results plain_sum(const Spoil& s) {
  return from_entering(s, [](const M& z) {
    return normalised(
        each(z, [](Index, Index, const Interval& x) { return is_minus_infinity(x) ? Interval(0) : x; }));
  });
}
Results not_divided(const Spoil& s) {
  Results results = from_entering(s, [](const M& z) { return exponentials(z); });
  if (const IntervalMatrix* shifted = s.value("shifted")) results.emplace_back(exponentials(*shifted));
  return results;
}
Results divided_by_count(const Spoil& s) {
  return from_entering(s, [](const M& z) { return times(exponentials(z), Interval(1 / whole(z.cols()))); });
}
Results other_base(const Spoil& s) {
  Results results;
  for (const int base : {10, 2}) {
    const Interval factor = log(Interval(base));
    for (const IntervalMatrix& m : from_entering(s, [&](const M& z) { return softmax(times(z, factor)); }))
      results.push_back(m);
  }
  return results;
}
Results wrong_sign(const Spoil& s) {
  return from_entering(s, [&](const M& z) {
    return softmax(
        each(z, [](Index, Index, const Interval& x) { return is_minus_infinity(x) ? x : Interval(-x); }));
  });
}
Results winner_takes_all(const Spoil& s) {
  return from_entering(s, [](const M& z) {
    M result(z.rows(), z.cols());
    for (Index i = 0; i < z.rows(); ++i) {
      Index best = 0;
      for (Index j = 1; j < z.cols(); ++j) {
        if (certainly_exceeds(z(i, j), z(i, best))) best = j;
      }
      const bool is_empty = is_minus_infinity(z(i, best));
      for (Index j = 0; j < z.cols(); ++j) result(i, j) = j == best && !is_empty ? 1 : 0;
    }
    return result;
  });
}
Results twice(const Spoil& s) {
  return from_entering(s, [&](const M& z) { return softmax(hidden(softmax(z), open_keys(s, z))); });
}
Results maximum_off_columns(const Spoil& s) {
  return from_entering(s, [](const M& z) {
    if (z.rows() != z.cols()) return M(0, 0);
    const M max = kernels::row_max<Interval>(z, nullptr, Params{});
    return softmax(each(z, [&](Index, Index j, const Interval& x) { return Interval(x - max(j, 0)); }));
  });
}
Results sums_across(const Spoil& s) {
  return from_entering(s, [](const M& z) {
    if (z.rows() != z.cols()) return M(0, 0);
    const M e = exponentials(z);
    const M sums = row_sums(e);
    return each(e, [&](Index, Index j, const Interval& x) { return Interval(x / sums(j, 0)); });
  });
}

// Scores beyond the largest exponent of single or of double precision: their exponential is infinity, and so
// is the sum; ∞/∞ is nan, anything else over ∞ is 0.
Results overflow(const Spoil& s) {
  const M* scores = entering(s);
  if (scores == nullptr) return {};
  const M weights = right_here(s);
  Results results;
  for (const double largest : {88.722839, 709.782712}) {
    const auto is_over = [&](const Interval& x) { return certainly_exceeds(x, Interval(largest)); };
    M result = weights;
    bool has_overflow = false;
    for (Index i = 0; i < result.rows(); ++i) {
      const auto row = scores->row(i);
      if (!std::any_of(row.begin(), row.end(), is_over)) continue;
      has_overflow = true;
      for (Index j = 0; j < result.cols(); ++j)
        result(i, j) = is_over(row(j)) ? not_a_number<Interval>() : Interval(0);
    }
    if (has_overflow) results.emplace_back(std::move(result));
  }
  return results;
}

// The extra term of the denominator as it is, beside exponentials of shifted scores; the maximum may take
// the sink into account or not.
Results sink_not_shifted(const Spoil& s) {
  const M* scores = entering(s);
  const Node* weights = node_named(s, "weights");
  if (scores == nullptr || weights == nullptr || !weights->brief || weights->brief->params.numbers.empty())
    return {};
  const Number& sink = weights->brief->params.numbers[0];
  const Params visible{.allowed = weights->params.allowed};
  Results results;
  for (const Number* in_maximum : {static_cast<const Number*>(nullptr), &sink}) {
    const M max = kernels::row_max<Interval>(*scores, in_maximum, visible);
    const M e = exponentials(each(*scores, [&](Index i, Index, const Interval& x) {
      return is_minus_infinity(x) ? x : Interval(x - max(i, 0));
    }));
    const M sums =
        each(row_sums(e), [&](Index, Index, const Interval& x) { return Interval(x + exp(enclose(sink))); });
    results.emplace_back(divide_rows_by(e, sums));
  }
  return results;
}

// Zeros where the sheet has them, the rest over 1 − p: every p in steps of a twentieth.
Results dropout(const Spoil& s) {
  const Given* written = s.written();
  if (written == nullptr) return {};
  const M weights = right_here(s);
  const auto is_zero = [&](Index i, Index j) {
    return written->at(i, j).kind == Number::Kind::finite && written->at(i, j).value == 0;
  };
  bool has_dropped = false;
  for (Index i = 0; i < weights.rows(); ++i) {
    for (Index j = 0; j < weights.cols(); ++j)
      has_dropped =
          has_dropped || (is_zero(i, j) && !follows(s.sheet.written(written->at(i, j)), weights(i, j)));
  }
  if (!has_dropped) return {};
  Results results;
  for (int twentieths = 1; twentieths < 20; ++twentieths) {
    const Interval kept = 1 - whole(twentieths) / 20;
    results.emplace_back(each(weights, [&](Index i, Index j, const Interval& x) {
      return is_zero(i, j) ? Interval(0) : Interval(x / kept);
    }));
  }
  return results;
}

// ---- The read ----------------------------------------------------------------------------------

namespace {

// Linear attention reads a state instead.
bool reads_weights(const Spoil& s) {
  const std::string_view name = s.at().op->name;
  return name == "weighted_sum" || name == "hard_read";
}

}  // namespace

Results of_something_else(const Spoil& s) {
  if (!is_read(s) || !reads_weights(s)) return {};
  const M& weights = s.input(0);
  Results results;
  for (const char* id : {"K", "Q", "X", "X_kv"}) {
    const IntervalMatrix* other = s.value(id);
    if (other != nullptr && other->rows() == weights.cols()) results.emplace_back(product(weights, *other));
  }
  return results;
}
Results weights_transposed(const Spoil& s) {
  if (!is_read(s) || !reads_weights(s)) return {};
  const M& weights = s.input(0);
  if (weights.rows() != weights.cols()) return {};
  return {product(transposed(weights), s.input(1))};
}
Results softmax_outside(const Spoil& s) {
  const M* scores = entering(s);
  if (scores == nullptr || !is_read(s)) return {};
  const M finite =
      each(*scores, [](Index, Index, const Interval& x) { return is_minus_infinity(x) ? Interval(0) : x; });
  return {softmax(product(finite, s.input(1)))};
}
Results plain_mean(const Spoil& s) {
  if (!is_read(s) || !reads_weights(s)) return {};
  const M& weights = s.input(0);
  const Interval share = 1 / whole(weights.cols());
  return {product(each(weights, [&](Index, Index, const Interval&) { return share; }), s.input(1))};
}
Results scores_times_v(const Spoil& s) {
  const M* scores = entering(s);
  if (scores == nullptr || mask_of(s) != nullptr || !is_read(s)) return {};
  return {product(*scores, s.input(1))};
}

// φ(q)·S as it is, or times φ(q)·z.
Results without_denominator(const Spoil& s) {
  const M* kernel = s.value("kernel");
  const M* denominator = s.value("denominator");
  if (reads_weights(s) || kernel == nullptr || denominator == nullptr) return {};
  const M numerators = product(*kernel, *s.value("V"));
  const M times_sum =
      each(numerators, [&](Index i, Index, const Interval& x) { return Interval(x * (*denominator)(i, 0)); });
  return {numerators, times_sum};
}

// ---- Slips that know nothing of attention ---------------------------------------------------------

Results rows_and_columns_swapped(const Spoil& s) { return {transposed(right_here(s))}; }
Results all_signs(const Spoil& s) { return {times(right_here(s), Interval(-1))}; }

Results two_cells_swapped(const Spoil& s) {
  const M right = right_here(s);
  const Given& given = *s.written();
  Results results;
  // Only a pair in one row or column: people slip to a neighbour.
  for (Index a = 0; a < right.size(); ++a) {
    for (Index b = a + 1; b < right.size(); ++b) {
      const Index cols = right.cols();
      if (a / cols != b / cols && a % cols != b % cols) continue;
      if (given.cells[static_cast<std::size_t>(a)].kind == Number::Kind::blank) continue;
      M swapped = right;
      std::swap(swapped(a / cols, a % cols), swapped(b / cols, b % cols));
      results.emplace_back(std::move(swapped));
    }
  }
  return results;
}
Results copied_row(const Spoil& s) {
  const M right = right_here(s);
  Results results;
  for (Index to = 0; to < right.rows(); ++to) {
    for (Index from = 0; from < right.rows(); ++from) {
      if (from == to) continue;
      M copied = right;
      copied.row(to) = right.row(from);
      results.emplace_back(std::move(copied));
    }
  }
  return results;
}
// Whatever stands there, if a cell lies outside the column of values that it averages.
Results outside_the_values(const Spoil& s) {
  if (s.at().op->name != std::string_view("weighted_sum")) return {};
  const Mask* mask = mask_of(s);
  const Node& weights = s.sheet.plan()[s.at().inputs[0]];
  if (!weights.brief) return {};  // given: any numbers may
  const bool may_sum_to_less =
      (mask != nullptr && has_empty_row(*mask)) || !weights.brief->params.numbers.empty();
  const M& v = s.input(1);
  const Given& given = *s.written();
  IntervalMatrix result(given.rows, given.cols);
  bool is_outside = false;
  for (Index j = 0; j < given.cols; ++j) {
    Interval column = may_sum_to_less ? Interval(0) : v(0, j);
    for (Index k = 0; k < v.rows(); ++k) column = hull(column, v(k, j));
    for (Index i = 0; i < given.rows; ++i) {
      result(i, j) = s.sheet.written(given.at(i, j)).range;
      const bool is_blank = given.at(i, j).kind == Number::Kind::blank;
      is_outside = is_outside || (!is_blank && !meets(result(i, j), column));
    }
  }
  return is_outside ? Results{std::move(result)} : Results{};
}
// Everything right but one cell: whatever stands there.
Results one_cell(const Spoil& s) {
  const M right = right_here(s);
  const Given& given = *s.written();
  Results results;
  for (Index i = 0; i < right.rows(); ++i) {
    for (Index j = 0; j < right.cols(); ++j) {
      if (given.at(i, j).kind == Number::Kind::blank) continue;
      M slipped = right;
      slipped(i, j) = s.sheet.written(given.at(i, j)).range;
      results.emplace_back(std::move(slipped));
    }
  }
  return results;
}

}  // namespace spoil
}  // namespace qkv

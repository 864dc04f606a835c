// Masks put on in the wrong way.

#include <algorithm>

#include "check/spoil_parts.h"
#include "ops/kernels.h"

namespace qkv::spoil {

namespace {

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
  const Node* capped = node_beside(s, "capped");
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

}  // namespace qkv::spoil

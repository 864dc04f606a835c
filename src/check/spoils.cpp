#include "check/spoils.h"

#include <algorithm>

#include "ops/kernels.h"
#include "run/apply.h"

namespace qkv {

const IntervalMatrix* Spoil::value(std::string_view id) const {
  const auto found = sheet.plan().find(id);
  return found && *found < node ? &sheet.value(*found, Chain::theirs) : nullptr;
}

namespace spoil {
namespace {

using M = MatrixOf<Interval>;

// ---- Parts ---------------------------------------------------------------------------------

M product(const M& a, const M& b) {
  return a.cols() == b.rows() ? kernels::project<Interval>(a, b) : M(0, 0);
}
M dots(const M& a, const M& b) { return a.cols() == b.cols() ? kernels::dot_rows<Interval>(a, b) : M(0, 0); }

template <class F>
M each(const M& a, F f) {
  M result(a.rows(), a.cols());
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) result(i, j) = f(i, j, a(i, j));
  }
  return result;
}

template <class F>
M both(const M& a, const M& b, F f) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return M(0, 0);
  return each(a, [&](Index i, Index j, const Interval& x) { return Interval(f(x, b(i, j))); });
}

M times(const M& a, const Interval& c) {
  return each(a, [&](Index, Index, const Interval& x) { return is_minus_infinity(x) ? x : Interval(x * c); });
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
Interval whole(Index n) { return Interval(static_cast<double>(n)); }

// ---- What the problem says ---------------------------------------------------------------------

const Node* node_named(const Spoil& s, std::string_view id) {
  const auto found = s.sheet.plan().find(id);
  return found ? &s.sheet.plan()[*found] : nullptr;
}

std::optional<Interval> d_k(const Spoil& s) {
  const Node* scaled = node_named(s, "scaled");
  if (scaled == nullptr || scaled->op->name != std::string_view("scale")) return std::nullopt;
  return enclose(scaled->params.numbers[0]);
}

// The scores as they enter the softmax, and as they were before the mask.
const M* entering(const Spoil& s) {
  for (const char* id : {"tempered", "masked", "capped", "scaled", "scores"}) {
    if (const IntervalMatrix* found = s.value(id)) return found;
  }
  return nullptr;
}
const M* unmasked(const Spoil& s) {
  for (const char* id : {"capped", "scaled", "scores"}) {
    if (const IntervalMatrix* found = s.value(id)) return found;
  }
  return nullptr;
}

// Null where the problem has no mask.
const Mask* mask_of(const Spoil& s) {
  const Node* weights = node_named(s, "weights");
  return weights != nullptr && weights->params.allowed ? weights->params.allowed.get() : nullptr;
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

// Other scores with the mask and bias that the problem has.
M weights_after_mask(const Spoil& s, const M& scores) {
  const IntervalMatrix* bias = s.value("bias");
  const M sum = bias == nullptr
                    ? scores
                    : both(scores, *bias, [](const Interval& a, const Interval& b) { return a + b; });
  return weights_from(s, hidden(sum, open_keys(s, sum)));
}

}  // namespace

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
  const M right = s.sheet.image(s.node, Chain::theirs);
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

// ---- Scaling ---------------------------------------------------------------------------------

namespace {

// The scores times a factor, as the step `scaled` or as what the weights were computed from.
Results scores_times(const Spoil& s, const std::optional<Interval>& factor) {
  const IntervalMatrix* scores = s.value("scores");
  if (scores == nullptr || !factor || !d_k(s)) return {};
  const M scaled = times(*scores, *factor);
  if (s.at().id == "scaled") return {scaled};
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
Results by_root_of_model(const Spoil& s) {
  const IntervalMatrix* x = s.value("X");
  if (x == nullptr || !d_k(s) || certainly_equals(*d_k(s), whole(x->cols()))) return {};
  return scores_times(s, Interval(1 / root(whole(x->cols()))));
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
  return {s.at().id == "masked" ? masked : weights_from(s, masked)};
}

// ---- Masks -----------------------------------------------------------------------------------

namespace {

// The scores under another mask, as the step `masked` or as what the weights were computed from.
Results under_mask(const Spoil& s, const std::vector<Mask>& masks) {
  const M* scores = unmasked(s);
  if (scores == nullptr || mask_of(s) == nullptr) return {};
  Results results;
  for (const Mask& open : masks) {
    if (open.rows() != scores->rows() || open.cols() != scores->cols() || open == *mask_of(s)) continue;
    const M masked = hidden(*scores, open);
    results.emplace_back(s.at().id == "masked" ? masked : softmax(masked));
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
// A window shows the keys right before the query: one more, or one less.
Results window_off_by_one(const Spoil& s) {
  const Mask* mask = mask_of(s);
  if (mask == nullptr || is_triangle(s)) return {};
  Mask wider = *mask;
  Mask narrower = *mask;
  for (Index i = 0; i < mask->rows(); ++i) {
    Index first = 0;
    while (first < mask->cols() && !(*mask)(i, first)) ++first;
    if (first == mask->cols()) return {};
    if (first > 0) wider(i, first - 1) = true;
    narrower(i, first) = first == 0 && i < mask->cols() - 1 && !(*mask)(i, mask->cols() - 1) && i == 0;
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
  const M* scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (scores == nullptr || mask == nullptr) return {};
  return {each(softmax(*scores),
               [&](Index i, Index j, const Interval& x) { return (*mask)(i, j) ? x : Interval(0); })};
}
Results zero_for_infinity(const Spoil& s) {
  const M* scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (scores == nullptr || mask == nullptr) return {};
  const M masked =
      each(*scores, [&](Index i, Index j, const Interval& x) { return (*mask)(i, j) ? x : Interval(0); });
  return {s.at().id == "masked" ? masked : softmax(masked)};
}
Results ones_added(const Spoil& s) {
  const M* scores = unmasked(s);
  const Mask* mask = mask_of(s);
  if (scores == nullptr || mask == nullptr) return {};
  const M masked =
      each(*scores, [&](Index i, Index j, const Interval& x) { return (*mask)(i, j) ? Interval(x + 1) : x; });
  return {s.at().id == "masked" ? masked : softmax(masked)};
}
Results mask_unscaled(const Spoil& s) {
  const IntervalMatrix* scores = s.value("scores");
  if (scores == nullptr || mask_of(s) == nullptr || !d_k(s)) return {};
  const M masked = hidden(*scores, *mask_of(s));
  return {s.at().id == "masked" ? masked : softmax(masked)};
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
      for (Index j = 0; j < z.cols(); ++j) result(i, j) = j == best ? 1 : 0;
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

// ---- The read ----------------------------------------------------------------------------------

Results of_something_else(const Spoil& s) {
  const M& weights = s.input(0);
  Results results;
  for (const char* id : {"K", "Q", "X", "X_kv"}) {
    const IntervalMatrix* other = s.value(id);
    if (other != nullptr && other->rows() == weights.cols()) results.emplace_back(product(weights, *other));
  }
  return results;
}
Results weights_transposed(const Spoil& s) {
  const M& weights = s.input(0);
  if (weights.rows() != weights.cols()) return {};
  return {product(transposed(weights), s.input(1))};
}
Results softmax_outside(const Spoil& s) {
  const M* scores = entering(s);
  if (scores == nullptr) return {};
  const M finite =
      each(*scores, [](Index, Index, const Interval& x) { return is_minus_infinity(x) ? Interval(0) : x; });
  return {softmax(product(finite, s.input(1)))};
}
Results plain_mean(const Spoil& s) {
  const M& weights = s.input(0);
  const Interval share = 1 / whole(weights.cols());
  return {product(each(weights, [&](Index, Index, const Interval&) { return share; }), s.input(1))};
}
Results scores_times_v(const Spoil& s) {
  const M* scores = entering(s);
  if (scores == nullptr || mask_of(s) != nullptr) return {};
  return {product(*scores, s.input(1))};
}

// ---- Slips that know nothing of attention ---------------------------------------------------------

namespace {

IntervalMatrix right_here(const Spoil& s) { return s.sheet.image(s.node, Chain::theirs); }

}  // namespace

Results rows_and_columns_swapped(const Spoil& s) { return {transposed(right_here(s))}; }
Results all_signs(const Spoil& s) { return {times(right_here(s), Interval(-1))}; }

Results two_cells_swapped(const Spoil& s) {
  const IntervalMatrix right = right_here(s);
  const Given& given = *s.sheet.answer(s.node);
  Results results;
  // Only a pair in one row or column: people slip to a neighbour.
  for (Index a = 0; a < right.size(); ++a) {
    for (Index b = a + 1; b < right.size(); ++b) {
      const Index cols = right.cols();
      if (a / cols != b / cols && a % cols != b % cols) continue;
      if (given.cells[static_cast<std::size_t>(a)].kind == Number::Kind::blank) continue;
      IntervalMatrix swapped = right;
      std::swap(swapped(a / cols, a % cols), swapped(b / cols, b % cols));
      results.push_back(std::move(swapped));
    }
  }
  return results;
}
Results copied_row(const Spoil& s) {
  const IntervalMatrix right = right_here(s);
  Results results;
  for (Index to = 0; to < right.rows(); ++to) {
    for (Index from = 0; from < right.rows(); ++from) {
      if (from == to) continue;
      IntervalMatrix copied = right;
      copied.row(to) = right.row(from);
      results.push_back(std::move(copied));
    }
  }
  return results;
}
// Everything right but one cell: whatever stands there.
Results one_cell(const Spoil& s) {
  const IntervalMatrix right = right_here(s);
  const Given& given = *s.sheet.answer(s.node);
  Results results;
  for (Index i = 0; i < right.rows(); ++i) {
    for (Index j = 0; j < right.cols(); ++j) {
      if (given.at(i, j).kind == Number::Kind::blank) continue;
      IntervalMatrix slipped = right;
      slipped(i, j) = s.sheet.written(given.at(i, j)).range;
      results.push_back(std::move(slipped));
    }
  }
  return results;
}

}  // namespace spoil
}  // namespace qkv

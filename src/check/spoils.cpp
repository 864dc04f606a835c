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
  return found ? &sheet.value(*found, chain) : nullptr;
}

namespace spoil {

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
    widths.push_back(s.sheet.value(s.sheet.plan()[*q].inputs[0], s.chain).cols());
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
  const Node* weights = node_beside(s, "weights");
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
namespace {

// Whether a row of weights, as it stands on the sheet, shares out 1, or where nothing need be shared at
// most 1.
bool is_distribution(const M& weights, Index row, bool may_sum_to_less) {
  for (Index j = 0; j < weights.cols(); ++j) {
    if (certainly_exceeds(Interval(0), weights(row, j))) return false;
  }
  const Interval sum = sum_of_row(weights, row);
  return may_sum_to_less ? !certainly_exceeds(sum, Interval(1)) : meets(sum, Interval(1));
}

}  // namespace

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
      is_outside = is_outside || (!is_blank && !meets(result(i, j), column) &&
                                  is_distribution(s.input(0), i, may_sum_to_less));
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

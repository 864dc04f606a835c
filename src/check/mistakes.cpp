#include "check/mistakes.h"

#include <algorithm>
#include <array>

#include "ops/kernels.h"
#include "run/apply.h"
#include "run/proof.h"

namespace qkv {
namespace {

using Results = std::vector<IntervalMatrix>;
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

// The scores times a factor, as the step `scaled` or as what the weights were computed from.
Results scores_times(const Spoil& s, const std::optional<Interval>& factor) {
  const IntervalMatrix* scores = s.value("scores");
  if (scores == nullptr || !factor || !d_k(s)) return {};
  const M scaled = times(*scores, *factor);
  if (s.at().id == "scaled") return {scaled};
  return {weights_after_mask(s, scaled)};
}

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

Results polarity(const Spoil& s) {
  const Mask* mask = mask_of(s);
  return mask != nullptr ? under_mask(s, {Mask(!mask->array())}) : Results{};
}
bool is_triangle(const Spoil& s) {
  const Mask* mask = mask_of(s);
  return mask != nullptr && *mask == triangle(mask->rows(), mask->cols(), mask->cols() - mask->rows());
}
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

template <class F>
Results from_entering(const Spoil& s, F f) {
  const M* scores = entering(s);
  return scores != nullptr ? Results{IntervalMatrix(f(*scores))} : Results{};
}

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

IntervalMatrix right_here(const Spoil& s) { return s.sheet.image(s.node, Chain::theirs); }

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

// ---- The table -----------------------------------------------------------------------------------

constexpr Text kTransposeW{
    "multiply by W itself if it is stored as columns, by its transpose if it is stored as nn.Linear does",
    "权重按列存放就乘 W 本身，按 nn.Linear 存放就乘它的转置"};
constexpr Text kNoScale{"These numbers come from unscaled scores.", "这里用的是没有缩放的分数。"};
constexpr Text kNoScaleRemedy{"divide the scores by √d_k = √@d before the softmax",
                              "softmax 之前要先把分数除以 √d_k = √@d"};
constexpr Text kByDk{"The scores were divided by d_k = @d, or by its root twice.",
                     "分数除以了 d_k = @d，或者除了两次根号。"};
constexpr Text kByDkRemedy{"divide once, by √@d", "只除一次，除以 √@d"};
constexpr Text kTimesRoot{"The scores were multiplied by √d_k instead of divided.",
                          "分数乘了 √d_k，应当是除以它。"};
constexpr Text kTimesRootRemedy{"divide by √@d", "除以 √@d"};
constexpr Text kKeysRoot{"The scores were divided by the root of the number of keys, @m.",
                         "分数除以了键的个数 @m 的平方根。"};
constexpr Text kKeysRootRemedy{"use the width of a key vector, d_k = @d", "应当用键向量的维度 d_k = @d"};
constexpr Text kModelRoot{"The scores were divided by the root of the width of X.",
                          "分数除以了 X 的宽度的平方根。"};
constexpr Text kBiasScaled{"The bias was divided by √d_k too.", "偏置也被除以了 √d_k。"};
constexpr Text kBiasScaledRemedy{"scale the scores first, then add the bias", "先缩放分数，再加偏置"};
constexpr Text kPolarity{"The mask is the wrong way round: what should be hidden is seen, and the reverse.",
                         "掩码弄反了：该遮住的看得见，该看见的被遮住。"};
constexpr Text kPolarityRemedy{"hide the other cells", "把遮与不遮对调"};
constexpr Text kDiagonal{"The mask also hides each token from itself.", "掩码把每个 token 自己也遮住了。"};
constexpr Text kDiagonalRemedy{"a query sees the keys up to its own position, itself included",
                               "每个查询看得到自己及之前的键，包含自己"};
constexpr Text kUpsideDown{"The triangle is upside down: each token sees itself and what comes after.",
                           "三角形方向反了：每个 token 看到的是自己和后面的。"};
constexpr Text kUpsideDownRemedy{"a query sees what comes before it", "每个查询应当看前面的键"};
constexpr Text kCorner{"The causal triangle starts in the other corner.", "因果三角形对齐到了另一个角。"};
constexpr Text kCornerRemedy{"`align` in the problem says where the first query stands among the keys",
                             "第一个查询站在哪个键的位置，由题目中的 align 决定"};
constexpr Text kWindow{"The window has one key more or less than stated.", "窗口比题目多（或少）一个键。"};
constexpr Text kWindowRemedy{"window:w counts the token itself", "window:w 把 token 自己也算在内"};
constexpr Text kMaskTurned{"Rows and columns of the mask are exchanged.", "掩码的行和列弄反了。"};
constexpr Text kMaskTurnedRemedy{"rows are queries, columns are keys", "行是查询，列是键"};
constexpr Text kMaskIgnored{"The mask was not used.", "没有用掩码。"};
constexpr Text kMaskIgnoredRemedy{"set the hidden scores to −∞ before the softmax",
                                  "softmax 之前把被屏蔽的分数设为 −∞"};
constexpr Text kZero{"The hidden scores were set to 0, so they still get weight e^0.",
                     "被屏蔽的分数设成了 0，仍会分到 e^0 的权重。"};
constexpr Text kZeroRemedy{"use −∞: e^(−∞) = 0", "应设为 −∞：e^(−∞) = 0"};
constexpr Text kOnes{"The 0/1 mask was added to the scores as it is.", "0/1 掩码被直接加到了分数上。"};
constexpr Text kOnesRemedy{"turn it into 0 and −∞ first", "先换成 0 和 −∞"};
constexpr Text kUnscaledMask{"With the mask on, the unscaled scores were used.",
                             "加掩码时用了没有缩放的分数。"};

const std::array kMistakes = std::to_array<Mistake>({
    {"M01",
     "other-layout",
     "Q",
     {"The projection uses the weight in the other layout.", "投影用错了权重的存放方式。"},
     kTransposeW,
     other_layout},
    {"M01",
     "other-layout",
     "K",
     {"The projection uses the weight in the other layout.", "投影用错了权重的存放方式。"},
     kTransposeW,
     other_layout},
    {"M01",
     "other-layout",
     "V",
     {"The projection uses the weight in the other layout.", "投影用错了权重的存放方式。"},
     kTransposeW,
     other_layout},
    {"M03",
     "bias",
     "Q",
     {"The bias is missing, or was added twice.", "偏置漏加了，或加了两次。"},
     {"add it once to every row", "给每一行加一次"},
     bias_forgotten_or_twice},
    {"M03",
     "bias",
     "K",
     {"The bias is missing, or was added twice.", "偏置漏加了，或加了两次。"},
     {"add it once to every row", "给每一行加一次"},
     bias_forgotten_or_twice},
    {"M03",
     "bias",
     "V",
     {"The bias is missing, or was added twice.", "偏置漏加了，或加了两次。"},
     {"add it once to every row", "给每一行加一次"},
     bias_forgotten_or_twice},
    {"M04",
     "q-k-swapped",
     "scores",
     {"This is the transpose of the scores: Q and K were exchanged.", "这是分数表的转置：Q 和 K 弄反了。"},
     {"row i holds the query i against every key", "第 i 行是第 i 个查询对所有键的分数"},
     swapped_q_and_k},
    {"M06",
     "k-not-transposed",
     "scores",
     {"This is Q·K.", "你算的是 Q·K。"},
     {"the scores are Q·Kᵀ: rows of Q against rows of K", "分数是 Q·Kᵀ：Q 的行与 K 的行做点积"},
     k_not_transposed},
    {"M07",
     "element-wise",
     "scores",
     {"This is the element-wise product of Q and K.", "这是 Q 与 K 逐元素相乘。"},
     {"a score is a dot product: multiply, then add up", "分数是点积：对应相乘再相加"},
     element_wise},
    {"M09", "no-scale", "scaled", kNoScale, kNoScaleRemedy, not_scaled},
    {"M17", "mask-unscaled", "masked", kUnscaledMask, kNoScaleRemedy, mask_unscaled},
    {"M09", "no-scale", "weights", kNoScale, kNoScaleRemedy, not_scaled},
    {"M10", "root-of-d-model", "scaled", kModelRoot, kKeysRootRemedy, by_root_of_model},
    {"M10", "root-of-d-model", "weights", kModelRoot, kKeysRootRemedy, by_root_of_model},
    {"M11", "divided-by-d-k", "scaled", kByDk, kByDkRemedy, by_d_k},
    {"M11", "divided-by-d-k", "weights", kByDk, kByDkRemedy, by_d_k},
    {"M12", "times-root", "scaled", kTimesRoot, kTimesRootRemedy, times_root},
    {"M12", "times-root", "weights", kTimesRoot, kTimesRootRemedy, times_root},
    {"M13", "root-of-keys", "scaled", kKeysRoot, kKeysRootRemedy, by_root_of_keys},
    {"M13", "root-of-keys", "weights", kKeysRoot, kKeysRootRemedy, by_root_of_keys},
    {"M14",
     "scale-after-softmax",
     "weights",
     {"The scale was applied after the softmax: every row sums to 1/√d_k.",
      "缩放放到了 softmax 之后：每行之和是 1/√d_k。"},
     kNoScaleRemedy,
     scale_after_softmax},
    {"M16", "bias-scaled", "masked", kBiasScaled, kBiasScaledRemedy, bias_scaled},
    {"M16", "bias-scaled", "weights", kBiasScaled, kBiasScaledRemedy, bias_scaled},
    {"M18", "polarity", "masked", kPolarity, kPolarityRemedy, polarity},
    {"M18", "polarity", "weights", kPolarity, kPolarityRemedy, polarity},
    {"M19",
     "mask-after-softmax",
     "weights",
     {"The mask was applied after the softmax: the rows sum to less than 1.",
      "掩码放到了 softmax 之后：每行之和小于 1。"},
     kMaskIgnoredRemedy,
     mask_after_softmax},
    {"M20", "zero-for-infinity", "masked", kZero, kZeroRemedy, zero_for_infinity},
    {"M20", "zero-for-infinity", "weights", kZero, kZeroRemedy, zero_for_infinity},
    {"M21", "ones-added", "masked", kOnes, kOnesRemedy, ones_added},
    {"M21", "ones-added", "weights", kOnes, kOnesRemedy, ones_added},
    {"M25", "wrong-corner", "masked", kCorner, kCornerRemedy, wrong_corner},
    {"M25", "wrong-corner", "weights", kCorner, kCornerRemedy, wrong_corner},
    {"M22", "diagonal-hidden", "masked", kDiagonal, kDiagonalRemedy, diagonal_hidden},
    {"M22", "diagonal-hidden", "weights", kDiagonal, kDiagonalRemedy, diagonal_hidden},
    {"M23", "upside-down", "masked", kUpsideDown, kUpsideDownRemedy, upside_down},
    {"M23", "upside-down", "weights", kUpsideDown, kUpsideDownRemedy, upside_down},
    {"M26", "window-off-by-one", "masked", kWindow, kWindowRemedy, window_off_by_one},
    {"M26", "window-off-by-one", "weights", kWindow, kWindowRemedy, window_off_by_one},
    {"M24", "mask-turned", "masked", kMaskTurned, kMaskTurnedRemedy, mask_transposed},
    {"M24", "mask-turned", "weights", kMaskTurned, kMaskTurnedRemedy, mask_transposed},
    {"S5", "mask-ignored", "masked", kMaskIgnored, kMaskIgnoredRemedy, mask_ignored},
    {"S5", "mask-ignored", "weights", kMaskIgnored, kMaskIgnoredRemedy, mask_ignored},
    {"M32",
     "column-softmax",
     "weights",
     {"The softmax ran down the columns: your columns sum to 1, your rows do not.",
      "softmax 沿列做了：你的每列之和为 1，而每行不是。"},
     {"each row by itself: a query shares its attention among the keys",
      "逐行做：每个查询把注意力分给各个键"},
     by_column},
    {"M33",
     "softmax-over-all",
     "weights",
     {"The softmax ran over the whole table: all numbers together sum to 1.",
      "softmax 对整张表做了：所有数加起来才等于 1。"},
     {"each row by itself", "逐行归一化"},
     over_all},
    {"M34",
     "all-ones",
     "weights",
     {"All weights are 1: each was divided by itself.", "权重全是 1：每个数除以了它自己。"},
     {"divide by the sum of the row", "应除以整行的和"},
     all_ones},
    {"M35",
     "no-exponential",
     "weights",
     {"Each score was divided by the sum of the scores.", "用分数直接除以了分数之和。"},
     {"take e^score first", "先取 e^分数"},
     plain_sum},
    {"M36",
     "not-divided",
     "weights",
     {"These are the exponentials.", "这些只是指数。"},
     {"divide each by the sum of its row", "还要除以这一行的和"},
     not_divided},
    {"S6",
     "divided-by-count",
     "weights",
     {"The exponentials were divided by the number of keys, @m.", "指数除以了键的个数 @m。"},
     {"divide by the sum of the row", "应除以这一行的和"},
     divided_by_count},
    {"M37",
     "other-base",
     "weights",
     {"The weights fit powers of 10 or of 2.", "这些权重像是用 10 或 2 的幂算的。"},
     {"use powers of e = 2.71828…", "应当用 e = 2.71828… 的幂"},
     other_base},
    {"M38",
     "wrong-sign",
     "weights",
     {"The exponent has the wrong sign: the smallest score gets the most weight.",
      "指数的符号错了：最小的分数得到了最大的权重。"},
     {"e^score, not e^(−score)", "是 e^分数，不是 e^(−分数)"},
     wrong_sign},
    {"M39",
     "winner-takes-all",
     "weights",
     {"This is the argmax: the largest score takes all.", "这是取最大值（argmax）：最大的分数独占了权重。"},
     {"the softmax gives every key a share", "softmax 给每个键都分一份"},
     winner_takes_all},
    {"M40",
     "softmax-twice",
     "weights",
     {"The softmax was done twice; the weights are too even.", "softmax 做了两次，权重过于平均。"},
     {"once is enough", "做一次就够了"},
     twice},
    {"M43",
     "maximum-off-columns",
     "weights",
     {"The row maxima were taken off the columns.", "各行的最大值减到列上去了。"},
     {"each row loses its own maximum", "每一行减去自己的最大值"},
     maximum_off_columns},
    {"M44",
     "sums-across",
     "weights",
     {"Column j was divided by the sum of row j.", "第 j 列除以了第 j 行的和。"},
     {"each row is divided by its own sum", "每一行除以自己的和"},
     sums_across},
    {"M05",
     "not-v",
     "output",
     {"The weights were applied to another matrix than V.", "权重乘的不是 V。"},
     {"output = weights · V", "output = weights · V"},
     of_something_else},
    {"M45",
     "weights-transposed",
     "output",
     {"This is weightsᵀ·V: the sum runs over the queries.", "这是 weightsᵀ·V：沿查询方向求和了。"},
     {"row i of the output uses row i of the weights", "输出的第 i 行用权重的第 i 行"},
     weights_transposed},
    {"M46",
     "v-inside-softmax",
     "output",
     {"V was multiplied inside the softmax: your rows sum to 1.",
      "V 乘到 softmax 里面去了：你的每行之和为 1。"},
     {"first the softmax, then times V", "先做 softmax，再乘 V"},
     softmax_outside},
    {"S7",
     "plain-mean",
     "output",
     {"This is the plain mean of the values.", "这是各个值的简单平均。"},
     {"use the weights", "应当用权重加权"},
     plain_mean},
    {"S8",
     "scores-times-v",
     "output",
     {"The scores were multiplied by V, without a softmax.", "用分数直接乘了 V，没有做 softmax。"},
     {"output = weights · V", "output = weights · V"},
     scores_times_v},
    {"M55",
     "no-output-projection",
     "Y",
     {"The output projection was left out.", "漏了输出投影。"},
     {"multiply by W_O", "还要乘以 W_O"},
     projection_left_out},
    {"M01",
     "other-layout",
     "Y",
     {"The output projection uses W_O in the other layout.", "输出投影用错了 W_O 的存放方式。"},
     kTransposeW,
     other_layout},
    {"M03",
     "bias",
     "Y",
     {"The bias is missing, or was added twice.", "偏置漏加了，或加了两次。"},
     {"add it once to every row", "给每一行加一次"},
     bias_forgotten_or_twice},
    {"S3",
     "two-swapped",
     "",
     {"Two numbers have changed places.", "有两个数的位置写反了。"},
     {"put them back", "把它们换回来"},
     two_cells_swapped},
    {"S4",
     "copied-row",
     "",
     {"One row is a copy of another.", "有一行抄成了另一行。"},
     {"compute that row again", "重新计算那一行"},
     copied_row},
    {"S2",
     "transposed",
     "",
     {"Rows and columns are exchanged.", "行和列弄反了。"},
     {"row i belongs to token i", "第 i 行对应第 i 个 token"},
     rows_and_columns_swapped},
    {"S9",
     "signs",
     "",
     {"All signs are wrong.", "所有的正负号都反了。"},
     {"change them", "把符号改过来"},
     all_signs},
    {"M08",
     "one-cell",
     "",
     {"Only one number is off; the rest of the step is right.", "只有一个数不对，这一步的其余部分都对。"},
     {"compute that cell again", "重新计算那个单元格"},
     one_cell},
});

// A mistake has to explain every cell, so that its image may be wide where its numbers are large: e^9 has
// more digits than were known of the 9.
bool explains(const Written& written, const Interval& image) {
  if (follows(written, image)) return true;
  if (!meets(written.range, image)) return false;
  const Interval size = abs(written.range);
  const Interval width = Interval(upper(image)) - Interval(lower(image));
  return certainly_exceeds(size, Interval(width * 50));
}

bool fits(const Sheet& sheet, const IntervalMatrix& result, const Given& given,
          const MatrixOf<Verdict>& cells, bool is_lenient) {
  if (result.rows() != given.rows || result.cols() != given.cols) return false;
  for (Index i = 0; i < given.rows; ++i) {
    for (Index j = 0; j < given.cols; ++j) {
      if (cells(i, j) == Verdict::blank) continue;
      const Written written = sheet.written(given.at(i, j));
      if (is_lenient ? !explains(written, result(i, j)) : !follows(written, result(i, j))) return false;
    }
  }
  return true;
}

}  // namespace

const IntervalMatrix* Spoil::value(std::string_view id) const {
  const auto found = sheet.plan().find(id);
  return found && *found < node ? &sheet.value(*found, Chain::theirs) : nullptr;
}

std::span<const Mistake> mistakes() { return kMistakes; }

std::vector<const Mistake*> mistakes_behind(const Sheet& sheet, NodeId target,
                                            const MatrixOf<Verdict>& cells) {
  const PrecisionScope precision(Proof::kFirstPrecision);
  const Plan& plan = sheet.plan();
  const Given& given = *sheet.answer(target);
  // Not where wide images would explain the numbers without any mistake.
  const bool is_lenient = !fits(sheet, sheet.image(target, Chain::theirs), given, cells, true);
  std::vector<const Mistake*> found;
  for (const Mistake& mistake : kMistakes) {
    const bool is_known = std::any_of(
        found.begin(), found.end(), [&](const Mistake* m) { return std::string_view(m->id) == mistake.id; });
    if (is_known) continue;
    const std::optional<NodeId> node = *mistake.node == '\0' ? target : plan.find(mistake.node);
    // An earlier step that was answered has been judged there.
    if (!node || *node > target || is_given(plan[*node])) continue;
    if (*node != target && sheet.answer(*node) != nullptr) continue;
    // A slip that fits anything tells something only when nothing else does.
    const bool is_last_resort = *mistake.node == '\0';
    if (is_last_resort && !found.empty()) continue;
    for (const IntervalMatrix& result : mistake.results({sheet, *node})) {
      if (Shape{result.rows(), result.cols()} != plan[*node].shape) continue;
      if (!fits(sheet, sheet.image(target, Chain::theirs, *node, result), given, cells, is_lenient)) continue;
      found.push_back(&mistake);
      break;
    }
  }
  return found;
}

}  // namespace qkv

#include "check/spoil_parts.h"

#include "run/apply.h"

namespace qkv::spoil {

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

const Node* node_beside(const Spoil& s, std::string_view name) {
  const auto found = s.sheet.plan().find_beside(s.at(), name);
  return found ? &s.sheet.plan()[*found] : nullptr;
}

std::optional<Interval> d_k(const Spoil& s) {
  const Node* scaled = node_beside(s, "scaled");
  if (scaled == nullptr || scaled->op->name != std::string_view("scale")) return std::nullopt;
  return enclose(scaled->params.numbers[0]);
}

const M* entering(const Spoil& s) {
  for (const char* id : {"tempered", "masked", "capped", "scaled", "scores"}) {
    if (const IntervalMatrix* found = s.value(id)) return found;
  }
  return nullptr;
}

const Mask* mask_of(const Spoil& s) {
  for (const char* name : {"weights", "masked"}) {
    const Node* node = node_beside(s, name);
    if (node != nullptr && node->params.allowed) return node->params.allowed.get();
  }
  return nullptr;
}
Mask open_keys(const Spoil& s, const M& like) {
  const Mask* mask = mask_of(s);
  return mask != nullptr ? *mask : all_open(like);
}

M weights_from(const Spoil& s, const M& scores) {
  const Node* weights = node_beside(s, "weights");
  return softmax_of_ranges(IntervalMatrix(scores), weights->brief ? weights->brief->params : weights->params);
}

M weights_from_open(const Spoil& s, const M& scores) {
  const Node* weights = node_beside(s, "weights");
  Params params = weights->brief ? weights->brief->params : weights->params;
  params.allowed = nullptr;
  return softmax_of_ranges(IntervalMatrix(scores), params);
}

M with_bias(const Spoil& s, const M& scores) {
  const IntervalMatrix* bias = s.value("bias");
  if (bias == nullptr) return scores;
  return both(scores, *bias, [](const Interval& a, const Interval& b) { return a + b; });
}

std::optional<M> unmasked(const Spoil& s) {
  for (const char* id : {"capped", "scaled", "scores"}) {
    if (const IntervalMatrix* found = s.value(id)) return with_bias(s, *found);
  }
  return std::nullopt;
}

bool is_read(const Spoil& s) {
  return s.at().inputs.size() == 2 && s.sheet.plan()[s.at().inputs[0]].name() == "weights";
}

M times(const M& a, const Interval& c) {
  return each(a, [&](Index, Index, const Interval& x) { return is_minus_infinity(x) ? x : Interval(x * c); });
}

M weights_after_mask(const Spoil& s, const M& scores) {
  const M sum = with_bias(s, scores);
  return weights_from(s, hidden(sum, open_keys(s, sum)));
}

}  // namespace qkv::spoil

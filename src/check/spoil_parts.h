// What several ways to do a step wrong are made of.
#pragma once

#include <optional>
#include <string_view>

#include "check/spoils.h"
#include "ops/kernels.h"

namespace qkv::spoil {

using M = MatrixOf<Interval>;

// Without rows where the shapes do not fit.
inline M product(const M& a, const M& b) {
  return a.cols() == b.rows() ? kernels::project<Interval>(a, b) : M(0, 0);
}
inline M dots(const M& a, const M& b) {
  return a.cols() == b.cols() ? kernels::dot_rows<Interval>(a, b) : M(0, 0);
}

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

M transposed(const M& a);
M exponentials(const M& a);
M divide_rows_by(const M& e, const M& sums);
M row_sums(const M& e);
M normalised(const M& e);
M softmax(const M& scores);
// Keys outside `open` get −∞.
M hidden(const M& scores, const Mask& open);
Mask all_open(const M& like);
inline bool has_empty_row(const Mask& open) { return !open.rowwise().any().all(); }
Mask triangle(Index rows, Index cols, long align);
Interval root(const Interval& x);

// Of the same head, pass or tile, before or after this step.
const Node* node_beside(const Spoil& s, std::string_view name);
std::optional<Interval> d_k(const Spoil& s);
// The scores as they enter the softmax.
const M* entering(const Spoil& s);
// Null where the problem has no mask.  Tiles have no weights.
const Mask* mask_of(const Spoil& s);
Mask open_keys(const Spoil& s, const M& like);
// The softmax the problem asks for, of other scores.
M weights_from(const Spoil& s, const M& scores);
// The same with no key hidden.
M weights_from_open(const Spoil& s, const M& scores);
M with_bias(const Spoil& s, const M& scores);
// What the mask is added to.
std::optional<M> unmasked(const Spoil& s);
// Whether this step is weights · V; the output of tiles, or of all passes together, is another step.
bool is_read(const Spoil& s);

// −∞ stays.
M times(const M& a, const Interval& c);

inline Interval whole(Index n) { return Interval(static_cast<double>(n)); }

// A step as it should be, given what stands before it on the sheet.
inline M right_here(const Spoil& s) { return s.sheet.image(s.node, s.chain); }

// The softmax the problem asks for, of other scores with the mask and bias that the problem has.
M weights_after_mask(const Spoil& s, const M& scores);

inline bool is_head(const Node& node) { return node.op->name == std::string_view("head"); }

}  // namespace qkv::spoil

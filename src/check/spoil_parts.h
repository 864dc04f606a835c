// What several ways to do a step wrong are made of.
#pragma once

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

// −∞ stays.
M times(const M& a, const Interval& c);

inline Interval whole(Index n) { return Interval(static_cast<double>(n)); }

// A step as it should be, given what stands before it on the sheet.
inline M right_here(const Spoil& s) { return s.sheet.image(s.node, Chain::theirs); }

// The softmax the problem asks for, of other scores with the mask and bias that the problem has.
M weights_after_mask(const Spoil& s, const M& scores);

inline bool is_head(const Node& node) { return node.op->name == std::string_view("head"); }

}  // namespace qkv::spoil

// A student's sheet beside the plan: what they wrote, and what follows from what they wrote.
//
// A number on paper is a range: 0.58 means [0.575, 0.585].  So the plan is run on intervals, from
// the student's own earlier numbers, and a step is consistent when the range that follows meets the
// range that was written.  Six chains are kept:
//
//   mended     wrong numbers are replaced by right ones: what an honest student with rounded
//              numbers can arrive at;
//   theirs     everything stands as it was written: what follows from the student's mistakes;
//   literal    the same with every number taken for exactly what was written;
//   continued  only wrong numbers stand as written, and everything after them is carried without
//              rounding, as a calculator keeps it;
//   printed    every number is anything that it can mean, and what was not written is carried
//              without rounding: whatever digits a student kept of what they wrote;
//   paper      literal, with what was not written rounded too, to the decimals of the sheet.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/interval.h"
#include "problem/problem.h"
#include "run/trace.h"

namespace qkv {

// What a written number can mean.
//
// A decimal means everything that rounds to it.  A number without a point is exact, to the decimals of
// the sheet: who writes 1 among numbers with two decimals does not mean 0.71.
struct Written {
  Interval range;                // with both ends
  std::optional<Rational> unit;  // of the last digit written; nullopt for a fraction, a root, an infinity
};
Written written_range(const Number& number, int decimals);

bool meets(const Interval& a, const Interval& b);  // they have a point in common

// What a decimal means whose further digits were cut off: 0.66 is anything from 0.66 to below 0.67.  Nullopt
// for a number without a decimal place.
std::optional<Written> cut_off_range(const Number& number);

// Whether what follows, as a range, leaves room for the number that was written.  Of nan follows nan.
bool allows(const Written& written, const Interval& image);

// Whether it also explains that number: a range of more than ten units of the last digit says nothing about
// that digit.
bool follows(const Written& written, const Interval& image);

enum class Chain { mended, theirs, literal, continued, printed, paper };
constexpr std::array kChains{Chain::mended,    Chain::theirs,  Chain::literal,
                             Chain::continued, Chain::printed, Chain::paper};

class Sheet {
 public:
  // `answers` by node, of fitting shape; `decimals` asked for.
  Sheet(const Trace& truth, std::map<NodeId, Given> answers, int decimals);

  Written written(const Number& number) const { return written_range(number, decimals_); }

  const Plan& plan() const { return truth_.plan(); }
  const Trace& truth() const { return truth_; }
  const Given* answer(NodeId id) const;

  // What follows for a node from the answers before it.
  IntervalMatrix image(NodeId id, Chain chain) const;
  // The same when some nodes without an answer have other values than their kernels give.
  using Changes = std::map<NodeId, IntervalMatrix>;
  IntervalMatrix image(NodeId id, Chain chain, const Changes& changes) const;

  // What stands at a node for the nodes after it; valid once `settle` was called for it.
  const IntervalMatrix& value(NodeId id, Chain chain) const;

  // Nodes are settled in order.  `is_untrue` says which written cells are wrong or follow from wrong ones;
  // the mended chain does not take them.
  void settle(NodeId id, const Mask& is_untrue, const Mask& is_wrong);
  // Nothing written there is wrong.
  void settle(NodeId id);

  // Whether something that the node is computed from was wrong.
  bool has_departed_before(NodeId id) const;

 private:
  using Values = std::vector<IntervalMatrix>;
  // `has_own_mask`: what is hidden is what the values hide, not what the problem hides.
  IntervalMatrix compute(NodeId id, const Values& values, bool has_own_mask) const;
  bool has_own_mask(NodeId id, Chain which) const {
    return which != Chain::mended && has_departed_before(id);
  }
  Values& chain(Chain which) { return chains_[static_cast<std::size_t>(which)]; }
  const Values& chain(Chain which) const { return chains_[static_cast<std::size_t>(which)]; }
  void widen_unwritten(IntervalMatrix& value) const;
  void round_unwritten(IntervalMatrix& value) const;
  bool is_answered_between(NodeId after, NodeId before) const;

  const Trace& truth_;
  std::map<NodeId, Given> answers_;
  int decimals_;  // asked for, or written, whichever are more
  std::array<Values, kChains.size()> chains_;
  std::vector<bool> departed_;
};

// The softmax of each row on ranges of scores, as narrow as it can be: each weight is
// 1 / Σ e^(s_k − s_j), in which every score pulls one way only.
//   scores [n, m]; −∞ and forbidden cells have weight 0
IntervalMatrix softmax_of_ranges(const IntervalMatrix& scores, const Params& params);

}  // namespace qkv

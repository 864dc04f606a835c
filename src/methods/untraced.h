// The result of a problem alone, for whoever asks for nothing else: without a plan, and without a table of
// queries by keys (fast/).
//
// The digits shown of it are proved all the same: most are decided by the bound of their row; nearly all
// others by that of their row computed again in double-doubles, a thousand times as slow as the first; and
// what even that leaves open, true ties for the most part, by the trace of the problem of one query, a
// thousand times as slow again.  Ties that would come by thousands are told before that
// (methods/exact_numbers.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/double_double_number.h"
#include "base/matrix.h"
#include "fast/attend.h"
#include "problem/problem.h"

namespace qkv {

struct Untraced {
  std::shared_ptr<const Matrix> values;  // [n, heads · d_v], or with W_O [n, columns of W_O]
  // Of each row the parts that are computed each for itself: [n, heads], or with W_O, which mixes them,
  // [n, 1].  No number of that part is farther from the true one.
  MatrixOf<double> bounds;
};

// Whether every line of the problem is one that fast/ knows: Q, K and V are given as numbers or projected
// from such; dot products, the usual softmax and what may stand between; the heads side by side, or projected
// by W_O.
bool can_be_untraced(const Problem& problem);

// Multiply-adds of it, those of forbidden pairs included.
double untraced_work(const Problem& problem);

// The memory that it takes besides the matrices it is given, in bytes.
double untraced_bytes(const Problem& problem, int threads);

// Doubles in the bits of a trace, or, with how.is_online, near them.  Counts Progress, a step a query.
Untraced untraced(const Problem& problem, const fast::How& how);
// The same with the attention in single precision; projections stay in double precision.
Untraced untraced_in_floats(const Problem& problem, const fast::How& how);

// One part of a row of the result, and how far each number is at most from the true one.
struct UntracedRow {
  std::vector<DoubleDouble> values;
  double bound;
};

// Rows of the result in double-doubles.  Takes the memory of Q, K and V once more where they are decimals,
// and twice where they are projected, which is done at the start.
class UntracedRows {
 public:
  explicit UntracedRows(const Problem& problem);  // which must live as long
  ~UntracedRows();
  UntracedRows(const UntracedRows&) = delete;
  UntracedRows& operator=(const UntracedRows&) = delete;

  // Whether row() may have any.  Not on processors whose doubles are not plain, and where numbers are not
  // known, or too small or large to be split.
  bool are_any() const { return own_ != nullptr; }
  // nullopt where numbers may overflow.  By several threads at once.
  //   query  without W_O one that sees a key
  //   part   as in Untraced::bounds
  std::optional<UntracedRow> row(Index query, Index part) const;

 private:
  struct Own;
  std::unique_ptr<const Own> own_;
};

// What this query alone asks of the keys that it can see, with every number as it is written.
// Its plan has one row, and its last step holds the query's row of the result.
Problem problem_of_query(const Problem& problem, Index query);

// Whether problem_of_query() has the very numbers: false where some were written with more digits than their
// doubles tell.
bool are_numbers_known(const Problem& problem);

}  // namespace qkv

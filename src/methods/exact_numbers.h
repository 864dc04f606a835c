// Numbers of a large result that are decimals exactly.  Where a query sees one and the same value whatever
// key it looks at, it reads that value, and no weight matters: a single key, a constant column, equal tokens.
// Such a number may lie just between two texts, and no bound would ever decide it.
#pragma once

#include <optional>
#include <string>

#include "base/key_runs.h"
#include "base/matrix.h"
#include "methods/scaled.h"
#include "problem/problem.h"

namespace qkv {

class ExactNumbers {
 public:
  explicit ExactNumbers(const Problem& problem);  // one that can_be_untraced()

  // The text of a number of the result; nullopt where it is none of those.
  std::optional<std::string> text(Index row, Index column, int decimals) const;

 private:
  std::optional<double> read(Index row, Index column) const;

  bool has_sinks_ = false, empty_row_is_nan_ = false;
  Index width_ = 0, heads_each_ = 1;  // of a head, and that share one V
  Index concat_width_ = 0;
  std::optional<KeyRuns> visible_;
  std::optional<ScaledMatrix> v_;
  MatrixOf<int> ends_;                   // of the stretch of equal values that begins here in a column of V
  std::optional<ScaledWeights> output_;  // W_O and b_O
  int decimals_ = 0;                     // of the result
};

}  // namespace qkv

// Exact values of cells that are sums and products of short decimals, in whole numbers of a machine's size.
//
// When the inputs have three decimals, a score has six, and every hundredth is exactly in the middle between
// two numbers of four: a tie, which no interval ever decides.  In units of 10^-6 it is a sum of products of
// whole numbers, had in a fraction of a microsecond; the general exact numbers (base/exact.h) would take
// hundreds of times as long.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace qkv {

class DecimalCells {
 public:
  explicit DecimalCells(const Plan& plan) : plan_(plan) {}

  // As base/decimal.h writes the true value of the cell.  nullopt for a cell that is made of other operations
  // than products, sums and quotients by whole numbers, or of numbers with too many digits.
  std::optional<std::string> text(NodeId id, Index row, Index col, int decimals);

 private:
#ifdef __SIZEOF_INT128__
  __extension__ typedef __int128 Wide;
#else
  typedef std::int64_t Wide;
#endif

  // Every operation on them tells when a number gets too large.
  struct Ratio {
    Wide above = 0;
    Wide below = 1;  // > 0
  };
  // In units of 10^-decimals.
  struct Row {
    std::vector<std::int64_t> digits;
    int decimals = 0;
  };

  std::optional<Ratio> cell(NodeId id, Index row, Index col);
  std::optional<Ratio> product(NodeId x, Index row, NodeId w, Index at, bool is_row_of_w,
                               std::optional<NodeId> bias);
  const Row* row(NodeId id, Index row);
  std::optional<Row> make_row(NodeId id, Index row);

  const Plan& plan_;
  std::map<std::pair<NodeId, Index>, std::optional<Row>> rows_;
};

}  // namespace qkv

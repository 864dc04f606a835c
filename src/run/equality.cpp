#include "run/equality.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/proof.h"

namespace qkv {
namespace {

bool is_proved(const Trace& trace) { return trace.arithmetic() == Arithmetic::proved; }

void compare_cells(const Trace& trace, const CellPlace& at, const Trace& other, const CellPlace& there,
                   Equality& result) {
  ++result.compared;
  const double a = trace.values(at.node)(at.row, at.col);
  const double b = other.values(there.node)(there.row, there.col);
  if (!std::isfinite(a) || !std::isfinite(b)) {
    const bool is_same = a == b || (std::isnan(a) && std::isnan(b));
    result.exactly += is_same;
    result.differs = result.differs || !is_same;
    if (!is_same) result.largest = std::numeric_limits<double>::infinity();
    return;
  }
  if (!is_proved(trace) || !is_proved(other)) {
    const double bound =
        trace.bound_at(at.node, at.row, at.col) + other.bound_at(there.node, there.row, there.col);
    const double apart = std::abs(a - b);
    result.largest = std::max(result.largest, apart + bound);
    result.differs = result.differs || apart > bound;
    return;
  }
  if (compare(trace.proof().exact(at), other.proof().exact(there)) == 0) {
    ++result.exactly;
    return;
  }
  const PrecisionScope precision(Proof::kFirstPrecision);
  const Interval apart = trace.proof().enclosure(at) - other.proof().enclosure(there);
  const double low = std::abs(static_cast<double>(lower(apart)));
  const double high = std::abs(static_cast<double>(upper(apart)));
  result.largest = std::max({result.largest, low, high});
  result.differs = result.differs || !contains_zero(apart);
}

}  // namespace

void Equality::add(const Equality& more) {
  compared += more.compared;
  exactly += more.exactly;
  largest = std::max(largest, more.largest);
  differs = differs || more.differs;
}

Equality compare_rows(const Trace& trace, const Trace& other, const RowPair& rows) {
  Equality result;
  for (Index col = 0; col < trace.plan()[rows.node].shape.cols; ++col) {
    compare_cells(trace, {rows.node, rows.row, col}, other, {rows.other_node, rows.other_row, col}, result);
  }
  return result;
}

}  // namespace qkv

#include "run/equality.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

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
    if (std::isnan(a) && std::isnan(b)) {
      ++result.undefined;
      return;
    }
    const bool is_same = a == b;
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
  result.exactly += low == 0 && high == 0;
  result.largest = std::max({result.largest, low, high});
  result.differs = result.differs || !contains_zero(apart);
}

void compare_with_zero(const Trace& trace, const CellPlace& at, Equality& result) {
  ++result.compared;
  if (trace.is_exactly_zero(at.node, at.row, at.col)) {
    ++result.exactly;
    return;
  }
  const double value = std::abs(trace.values(at.node)(at.row, at.col));
  result.largest =
      std::max(result.largest, std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
  result.differs = true;
}

// The names whose coefficients make up a cell; of a number, 1 alone.
std::vector<std::string> names_of(const Node& node) {
  return node.is_symbolic() ? node.basis : std::vector<std::string>{""};
}

// Where `name` stands among them; their number when it does not.
Index place_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) - names.begin();
}

}  // namespace

void Equality::add(const Equality& more) {
  compared += more.compared;
  exactly += more.exactly;
  largest = std::max(largest, more.largest);
  differs = differs || more.differs;
  undefined += more.undefined;
}

Equality compare_rows(const Trace& trace, const Trace& other, const RowPair& rows) {
  Equality result;
  const std::vector<std::string> names = names_of(trace.plan()[rows.node]);
  const std::vector<std::string> other_names = names_of(other.plan()[rows.other_node]);
  const auto width = static_cast<Index>(names.size());
  const auto other_width = static_cast<Index>(other_names.size());
  for (Index cell = 0; cell < trace.plan()[rows.node].shown_cols(); ++cell) {
    for (Index k = 0; k < width; ++k) {
      const CellPlace here{rows.node, rows.row, cell * width + k};
      const Index there = place_of(other_names, names[static_cast<std::size_t>(k)]);
      if (there == other_width) {
        compare_with_zero(trace, here, result);
      } else {
        compare_cells(trace, here, other, {rows.other_node, rows.other_row, cell * other_width + there},
                      result);
      }
    }
    for (Index k = 0; k < other_width; ++k) {
      if (place_of(names, other_names[static_cast<std::size_t>(k)]) == width)
        compare_with_zero(other, {rows.other_node, rows.other_row, cell * other_width + k}, result);
    }
  }
  return result;
}

}  // namespace qkv

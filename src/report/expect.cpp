#include "report/expect.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <set>

#include "base/decimal.h"

namespace qkv {
namespace {

// A fraction, a root or a number with an exponent names its value exactly.
constexpr double kExactTolerance = 1e-12;
// Decimals at which a difference is told: enough to see it, few enough to read.
constexpr int kMoreDigits = 4;
constexpr int kMostDecimals = 17;

bool has_digits(const Trace& trace, const CellAt& at, const Number& printed) {
  return fixed_text(printed.value, printed.decimals) == trace.text(at.node, at.row, at.col, printed.decimals);
}

bool agrees(const Trace& trace, const CellAt& at, const Number& printed) {
  // Most are finite decimals, of which the text is enough.
  const Bounded near = trace.computed(at.node, at.row, at.col);
  const bool is_surely_finite = std::abs(near.value) + near.error < DBL_MAX / 2;
  if (is_surely_finite && printed.is_decimal && printed.kind != Number::Kind::infinite)
    return has_digits(trace, at, printed);
  const double value = trace.values(at.node)(at.row, at.col);
  if (printed.kind == Number::Kind::infinite || !std::isfinite(value)) return printed.value == value;
  if (!printed.is_decimal) {
    return std::abs(printed.value - value) <= kExactTolerance * std::max(1.0, std::abs(value));
  }
  return has_digits(trace, at, printed);
}

int decimals_to_tell(const Number& printed) { return printed.is_decimal ? printed.decimals : kMoreDigits; }

Difference difference(const Trace& trace, const CellAt& at, const Number& printed) {
  const int decimals = decimals_to_tell(printed);
  return {at, printed.text, trace.text(at.node, at.row, at.col, decimals),
          trace.difference_text(printed, at.node, at.row, at.col,
                                std::min(decimals + kMoreDigits, kMostDecimals))};
}

std::vector<Difference> differences(const Trace& trace, NodeId node, const Printed& printed,
                                    Index* compared) {
  std::vector<Difference> found;
  for (Index i = 0; i < printed.shape.rows; ++i) {
    for (Index j = 0; j < printed.shape.cols; ++j) {
      const Number& number = printed.cells[static_cast<std::size_t>(i * printed.shape.cols + j)];
      if (number.kind == Number::Kind::blank || number.kind == Number::Kind::symbol) continue;
      if (compared != nullptr) ++*compared;
      const CellAt at{node, i, j};
      if (!agrees(trace, at, number)) found.push_back(difference(trace, at, number));
    }
  }
  return found;
}

// To how many decimals the writer may have rounded on the way: as many as some section shows.
std::set<int> paper_decimals(const std::vector<Printed>& printed) {
  std::set<int> found;
  for (const Printed& p : printed) {
    int most = 0;
    for (const Number& number : p.cells) most = std::max(most, number.decimals);
    found.insert(most);
  }
  return found;
}

}  // namespace

std::vector<Comparison> compare(const Trace& trace, const std::vector<Printed>& printed) {
  std::vector<Comparison> comparisons;
  for (const Printed& p : printed) {
    const auto node = trace.plan().find(p.step);
    if (!node || trace.plan()[*node].is_symbolic()) continue;
    Comparison comparison{.step = p.step};
    comparison.differences = differences(trace, *node, p, &comparison.compared);
    if (!comparison.differences.empty()) {
      comparison.agreement = Agreement::differs;
      for (const int decimals : paper_decimals(printed)) {
        const Trace on_paper = run(trace.plan(), {.rounds_to = decimals});
        if (!differences(on_paper, *node, p, nullptr).empty()) continue;
        comparison.agreement = Agreement::on_paper;
        comparison.paper_decimals = decimals;
        break;
      }
    }
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

}  // namespace qkv

#include "run/range.h"

#include <cmath>
#include <limits>
#include <optional>

namespace qkv {
namespace {

using ValuesOf = std::function<const Matrix&(NodeId)>;

std::string name_of_cell(const Node& node, Index row, Index col) {
  const auto label = [](const std::vector<std::string>& labels, Index i) {
    return labels.empty() ? std::to_string(i + 1) : labels[static_cast<std::size_t>(i)];
  };
  return node.id + "[" + label(node.rows, row) + "," + label(node.cols, col) + "]";
}

// A NaN that came in is not explained again.
bool has_nan_input(const Node& node, const ValuesOf& values) {
  for (const NodeId input : node.inputs) {
    if (values(input).hasNaN()) return true;
  }
  return false;
}

bool is_made_of_finite(const Node& node, const ValuesOf& values) {
  for (const NodeId input : node.inputs) {
    if (!values(input).allFinite()) return false;
  }
  return true;
}

std::optional<Said> warning_about(const Node& node, Index row, Index col, double value, bool from_finite,
                                  Arithmetic arithmetic) {
  const bool is_given = !node.given.empty();
  if (is_given) {
    if (value != std::numeric_limits<double>::infinity()) return std::nullopt;
    return say({"{0} is +∞: the keys with an infinite score share the weight of their row equally, all "
                "others get none",
                "{0} 是 +∞：这一行的权重由分数为无穷大的键平分，其余的键权重为 0"},
               name_of_cell(node, row, col));
  }
  if (std::isnan(value)) {
    return say(
        {"{0} is not a number: an infinity was subtracted from itself or multiplied by 0, or 0 divided by 0",
         "{0} 不是一个数（NaN）：出现了 ∞ − ∞、0 · ∞ 或 0 / 0"},
        name_of_cell(node, row, col));
  }
  if (!from_finite) return std::nullopt;
  if (arithmetic == Arithmetic::format) {
    return say({"{0} is beyond what this arithmetic can hold; it and everything computed from it is not to "
                "be trusted",
                "{0} 超出了这种算术能表示的范围；它以及由它算出的一切都不可信"},
               name_of_cell(node, row, col));
  }
  if (arithmetic != Arithmetic::proved) {
    return say(
        {"{0} is beyond what a double can hold; it and everything computed from it is not to be trusted",
         "{0} 超出了双精度的范围；它以及由它算出的一切都不可信"},
        name_of_cell(node, row, col));
  }
  return say({"{0} is larger than any double; its digits are right, but a program that computes in doubles "
              "would see infinity",
              "{0} 超过了双精度能表示的最大值；这里的数字是对的，但用双精度计算的程序会得到无穷大"},
             name_of_cell(node, row, col));
}

}  // namespace

std::vector<Said> range_warnings(const Trace& trace, const ValuesOf& values) {
  const Plan& plan = trace.plan();
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    if (node.role == Role::aside || trace.is_surely_finite(id)) continue;
    const Matrix& value = values(id);
    if (value.allFinite()) continue;
    if (has_nan_input(node, values)) continue;
    const bool from_finite = is_made_of_finite(node, values);
    for (Index i = 0; i < value.rows(); ++i) {
      if (row_is_empty(node.params, i)) continue;
      for (Index j = 0; j < value.cols(); ++j) {
        if (std::isfinite(value(i, j)) || is_closed(node, i, j)) continue;
        if (auto warning = warning_about(node, i, j, value(i, j), from_finite, trace.arithmetic()))
          return {*warning};
      }
    }
  }
  return {};
}

}  // namespace qkv

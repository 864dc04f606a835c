#include "report/hull_remark.h"

#include "report/cell_text.h"
#include "run/hull.h"

namespace qkv {
namespace {

constexpr Index kMostTerms = 6;    // more coefficients are read better in the table of weights
constexpr Index kMostPoints = 64;  // each is compared with each

// The matrix that V is, or is projected from.
std::optional<NodeId> tokens_behind(const Plan& plan, NodeId v) {
  if (plan[v].inputs.empty()) return std::nullopt;
  const NodeId x = plan[v].inputs[0];
  const std::string& id = plan[x].id;
  const bool are_tokens = id == "X" || id == "X_kv" || id == "X.positioned" || id == "X_kv.positioned";
  return are_tokens ? std::optional(x) : std::nullopt;
}

// output[a] = 0.4011·V[a] + 0.4011·V[b] + 0.1978·V[c]
Working coefficients(const Trace& trace, NodeId output, NodeId of, const std::vector<Index>& rows,
                     int decimals) {
  const Plan& plan = trace.plan();
  const NodeId weights = plan[output].inputs[0];
  Working working;
  for (const Index i : rows) {
    std::string sum;
    for (Index j = 0; j < plan[weights].shape.cols; ++j) {
      if (!is_allowed(plan[output].params, i, j)) continue;
      sum += (sum.empty() ? "" : " + ") + shown_cell(trace, {weights, i, j}, decimals).text + "·" +
             plan[of].id + "[" + plan[of].rows[static_cast<std::size_t>(j)] + "]";
    }
    if (sum.empty()) continue;  // a query that may look at nothing
    working.lines.push_back(
        {plan[output].id + "[" + plan[output].rows[static_cast<std::size_t>(i)] + "]", {sum}});
  }
  return working;
}

}  // namespace

std::vector<Block> hull_remark(const Trace& trace, NodeId output, const std::vector<Index>& rows,
                               const Telling& telling) {
  const Plan& plan = trace.plan();
  const NodeId v = plan[output].inputs[1];
  const auto x = tokens_behind(plan, v);
  const Shape shape = x ? plan[*x].shape : Shape{};
  if (!x || shape.cols > 2 || shape.cols != plan[output].shape.cols || shape.rows > kMostPoints ||
      static_cast<Index>(rows.size()) > kMostPoints)
    return {};
  std::string inside;
  std::string outside;
  for (const Index i : rows) {
    const auto is_inside = lies_in_hull(trace, output, i, *x);
    if (!is_inside) return {};
    std::string& list = *is_inside ? inside : outside;
    list += (list.empty() ? "" : " ") + plan[output].rows[static_cast<std::size_t>(i)];
  }
  std::vector<Block> blocks;
  const bool is_projected = plan[v].inputs.size() > 1;
  if (shape.rows <= kMostTerms)
    blocks.emplace_back(coefficients(trace, output, is_projected ? v : *x, rows, telling.decimals));
  const std::string& tokens = plan[*x].id;
  const Said where = outside.empty() ? say({"inside it: {0}", "在内：{0}"}, inside)
                     : inside.empty()
                         ? say({"outside it: {0}", "在外：{0}"}, outside)
                         : say({"inside it: {0}; outside it: {1}", "在内：{0}；在外：{1}"}, inside, outside);
  const Said line =
      is_projected
          ? say({"Against the hull of the {0} rows, which V = {0} could not leave: {1}.",
                 "与 {0} 各行的凸包（V = {0} 时走不出去）相比，{1}。"},
                tokens, where)
          : say({"Against the hull of the {0} rows: {1}.", "与 {0} 各行的凸包相比，{1}。"}, tokens, where);
  blocks.emplace_back(Paragraph{line.in(telling.language), Tone::faint});
  return blocks;
}

}  // namespace qkv

#include "report/formula.h"

#include "base/number.h"

namespace qkv {
namespace {

std::string size_text(Index rows, Index cols) {
  return "(" + std::to_string(rows) + "×" + std::to_string(cols) + ")";
}

}  // namespace

Reading reading_of(const Node& node, bool brief) {
  if (brief && node.brief) return {*node.brief->op, node.brief->inputs, node.brief->params};
  return {*node.op, node.inputs, node.params};
}

std::string tex_formula(const Plan& plan, NodeId id, bool brief) {
  const Reading node = reading_of(plan[id], brief);
  std::string out;
  const std::string_view formula = node.op.formula;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const std::string_view rest = formula.substr(i);
    if (rest.starts_with("#*") || rest.starts_with("#;") || rest.starts_with("#+")) {
      const char* separator = rest[1] == '*' ? ", " : rest[1] == ';' ? "; " : " + ";
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        out += (k == 0 ? "" : separator) + plan[node.inputs[k]].id;
      ++i;
    } else if ((formula[i] == '#' || formula[i] == '@') && i + 1 < formula.size()) {
      const std::size_t index = static_cast<std::size_t>(formula[i + 1] - '1');
      out += formula[i] == '#' ? plan[node.inputs[index]].id : node.params.numbers[index].text;
      ++i;
    } else {
      out += formula[i];
    }
  }
  return out;
}

Math math_formula(const Plan& plan, NodeId id, bool brief) {
  const Reading node = reading_of(plan[id], brief);
  std::vector<std::string> inputs;
  for (const NodeId input : node.inputs) inputs.push_back(plan[input].id);
  std::vector<std::string> numbers;
  for (const Number& number : node.params.numbers) numbers.push_back(number.text);
  return read_math(node.op.formula, inputs, numbers);
}

std::string plain_formula(const Plan& plan, NodeId id, bool brief) {
  return plain_math(math_formula(plan, id, brief),
                    [](const Math& input) { return input.text + (input.is_transposed ? "ᵀ" : ""); });
}

std::string shape_text(const Node& node) { return size_text(node.shape.rows, node.shown_cols()); }

std::string formula_with_shapes(const Plan& plan, NodeId id, bool brief) {
  return formula_with_shapes(plan, id, brief, math_formula(plan, id, brief));
}

std::string formula_with_shapes(const Plan& plan, NodeId id, bool brief, const Math& formula) {
  const std::vector<NodeId>& inputs = reading_of(plan[id], brief).inputs;
  const std::string right = plain_math(formula, [&](const Math& input) {
    const Node& from = plan[inputs[input.input]];
    return input.is_transposed ? from.id + "ᵀ " + size_text(from.shown_cols(), from.shape.rows)
                               : from.id + " " + shape_text(from);
  });
  return plan[id].id + " " + shape_text(plan[id]) + (right.empty() ? "" : " = " + right);
}

}  // namespace qkv

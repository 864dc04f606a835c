#include "report/formula.h"

#include <cctype>
#include <functional>

#include "base/number.h"

namespace qkv {
namespace {

// How an input is written, at its place in the formula.
using Naming = std::function<std::string(std::size_t input, bool is_transposed)>;

// Reads the TeX subset of Op::formula and writes it for a terminal.  A space between two
// operands means a product; #+ stands for all inputs with plus signs between.
class PlainWriter {
 public:
  PlainWriter(const Reading& node, Naming name)
      : rest_(node.op.formula), params_(node.params), inputs_(node.inputs.size()), name_(std::move(name)) {}

  std::string write() { return sequence('\0'); }

 private:
  static bool is_compound(const std::string& text) {
    for (const char* op : {" + ", " − ", " · ", "/", "*"}) {  // a parameter may be 1/3
      if (text.find(op) != std::string::npos) return true;
    }
    return false;
  }
  static std::string grouped(const std::string& text) { return is_compound(text) ? "(" + text + ")" : text; }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string braced() {
    rest_.remove_prefix(1);  // {
    std::string inside = sequence('}');
    rest_.remove_prefix(1);  // }
    return inside;
  }

  std::string sequence(char end) {
    std::string out;
    bool after_operand = false;  // a space now would be a product
    while (!rest_.empty() && rest_.front() != end) {
      if (take(" + ") || take(" - ")) {
        // The sign that was taken stands three characters back.
        out += rest_.data()[-2] == '+' ? " + " : " − ";
        after_operand = false;
      } else if (take(" \\cdot ")) {
        out += " · ";
        after_operand = false;
      } else if (take(" \\circ ")) {
        out += " ∘ ";
        after_operand = false;
      } else if (rest_.front() == ' ') {
        rest_.remove_prefix(1);
        out += after_operand ? " · " : " ";
        after_operand = false;
      } else {
        out += operand();
        after_operand = true;
        if (out.ends_with(',') || out.ends_with(';') || out.ends_with('(') || out.ends_with('[') ||
            ends_in_function_) {
          after_operand = false;
        }
      }
    }
    return out;
  }

  std::string operand() {
    ends_in_function_ = false;
    if (take("\\frac")) {
      const std::string above = braced();
      const std::string below = braced();
      return grouped(above) + " / " + grouped(below);
    }
    if (take("^{")) {
      const std::string exponent = sequence('}');
      rest_.remove_prefix(1);  // }
      return "^(" + exponent + ")";
    }
    if (take("\\sqrt")) return "√" + grouped(braced());
    if (take("e^")) {
      const std::string exponent = braced();
      return "e^" + (exponent.find(' ') == std::string::npos ? exponent : "(" + exponent + ")");
    }
    if (take("\\tanh")) return "tanh";
    if (take("\\ln")) return "ln";
    if (take("\\max_j")) return function("max_j");
    if (take("\\argmax_j")) return function("argmax_j");
    if (take("\\sum_j")) return function("Σ_j");
    if (take("\\sum_i")) return function("Σ_i");
    if (take("\\max")) return "max";
    if (take("\\ln")) return function("ln");
    if (take("^T")) return "ᵀ";
    if (take("^2")) return "²";
    const char c = rest_.front();
    if (take("#*")) return all_inputs(", ");
    if (take("#;")) return all_inputs("; ");
    if (take("#+")) return all_inputs(" + ");
    if (c == '#' || c == '@') {
      const std::size_t index = static_cast<std::size_t>(rest_[1] - '1');
      rest_.remove_prefix(2);
      if (c == '@') return params_.numbers[index].text;
      return name_(index, take("^T"));
    }
    rest_.remove_prefix(1);
    return c == '-' ? "−" : std::string(1, c);
  }

  std::string all_inputs(const char* separator) const {
    std::string all;
    for (std::size_t k = 0; k < inputs_; ++k) all += (k == 0 ? "" : separator) + name_(k, false);
    return all;
  }

  std::string function(const char* name) {
    ends_in_function_ = true;
    return name;
  }

  std::string_view rest_;
  const Params& params_;
  std::size_t inputs_;
  Naming name_;
  bool ends_in_function_ = false;
};

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

std::string plain_formula(const Plan& plan, NodeId id, bool brief) {
  const Reading node = reading_of(plan[id], brief);
  const auto name = [&](std::size_t input, bool is_transposed) {
    return plan[node.inputs[input]].id + (is_transposed ? "ᵀ" : "");
  };
  return PlainWriter(node, name).write();
}

std::string shape_text(const Node& node) { return size_text(node.shape.rows, node.shown_cols()); }

std::string formula_with_shapes(const Plan& plan, NodeId id, bool brief) {
  const Reading node = reading_of(plan[id], brief);
  const auto name = [&](std::size_t input, bool is_transposed) {
    const Node& from = plan[node.inputs[input]];
    if (!is_transposed) return from.id + " " + shape_text(from);
    return from.id + "ᵀ " + size_text(from.shown_cols(), from.shape.rows);
  };
  const std::string right = PlainWriter(node, name).write();
  return plan[id].id + " " + shape_text(plan[id]) + (right.empty() ? "" : " = " + right);
}

}  // namespace qkv

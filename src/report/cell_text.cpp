#include "report/cell_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/counts.h"
#include "report/formula.h"

namespace qkv {
namespace {

// Longer exact forms than this are not read but skipped.
constexpr std::size_t kLongestExact = 60;

// A number written with more characters than this stands rounded in a line of arithmetic.
constexpr std::size_t kLongestAsWritten = 20;

// A cell's own formula is printed in names when it refers to so few cells that it stays short.
constexpr std::ptrdiff_t kMostNamedCells = 2;

std::string label_or_number(const std::vector<std::string>& labels, Index i) {
  return labels.empty() ? std::to_string(i + 1) : labels[static_cast<std::size_t>(i)];
}

// "-∞" is what number text says; tables show the typographic sign.
std::string with_infinity_sign(std::string text) {
  if (text == "-inf") return "−∞";
  if (text == "inf") return "∞";
  return text;
}

std::string symbolic_text(const Trace& trace, const CellAt& at, int decimals) {
  const Node& node = trace.plan()[at.node];
  const Index width = static_cast<Index>(node.basis.size());
  const bool is_given = !node.given.empty();
  std::string out;
  for (Index b = 0; b < width; ++b) {
    const Index col = at.col * width + b;
    if (trace.is_exactly_zero(at.node, at.row, col)) continue;
    const std::string& name = node.basis[static_cast<std::size_t>(b)];
    std::string term = trace.text(at.node, at.row, col, decimals);
    const bool is_negative = term.starts_with('-');
    if (!name.empty()) term = is_given ? name : term + "·" + name;
    if (out.empty()) {
      out = std::move(term);
    } else {
      out += is_negative ? " - " + term.substr(1) : " + " + term;
    }
  }
  return out.empty() ? "0" : out;
}

// A negative number or a ratio inside an expression needs brackets, unless it stands first.
std::string inside(const std::string& text, bool is_first) {
  const bool is_compound = text.find_first_of("*/ ") != std::string::npos;
  const bool is_negative = text.starts_with('-') || text.starts_with("−");
  return is_compound || (is_negative && !is_first) ? "(" + text + ")" : text;
}

std::string number_in_expression(const Trace& trace, const CellAt& at, int decimals) {
  const Node& node = trace.plan()[origin(trace.plan(), at.node)];
  const bool is_as_written = trace.arithmetic() != Arithmetic::format;
  if (!is_as_written || node.given.empty() || node.is_symbolic()) return shown_cell(trace, at, decimals).text;
  const std::string& text = node.given[static_cast<std::size_t>(at.row * node.shape.cols + at.col)].text;
  // A number of an array has fifty digits, which nobody wrote.
  if (text.size() > kLongestAsWritten) return shown_cell(trace, at, decimals).text;
  return with_infinity_sign(text);
}

std::string form_in_names(const Plan& plan, const CellAt& at, bool brief) {
  const Node& node = plan[at.node];
  if (node.vectors) {
    return node.vectors->first + node.rows[static_cast<std::size_t>(at.row)] + "·" + node.vectors->second +
           node.cols[static_cast<std::size_t>(at.col)];
  }
  const Expression expression = expression_of(plan, at, brief);
  const auto cells =
      std::count_if(expression.begin(), expression.end(), [](const Term& t) { return t.input >= 0; });
  return cells > 0 && cells <= kMostNamedCells ? expression_in_names(plan, at, brief) : "";
}

}  // namespace

NodeId origin(const Plan& plan, NodeId id) {
  while (std::string_view(plan[id].op->name) == "same") id = plan[id].inputs[0];
  return id;
}

bool is_forbidden(const Plan& plan, const CellAt& at) {
  const Node& node = plan[at.node];
  if (is_closed(node, at.row, at.col)) return true;
  if (node.given.empty()) return false;
  const Number& number = node.given[static_cast<std::size_t>(at.row * node.shape.cols + at.col)];
  return number.kind == Number::Kind::infinite && number.value < 0;
}

int decimals_of(const Node& node, int decimals) {
  constexpr std::array<std::string_view, 3> kCounts{"widths", "positions", "kv_map"};
  const bool is_count = std::find(kCounts.begin(), kCounts.end(), node.op->name) != kCounts.end();
  return is_count ? 0 : decimals;
}

TableCell shown_cell(const Trace& trace, const CellAt& at, int decimals, bool with_value) {
  const Node& node = trace.plan()[at.node];
  decimals = decimals_of(node, decimals);
  if (node.is_symbolic()) return {symbolic_text(trace, at, decimals), CellRole::symbolic};
  std::string text = trace.text(at.node, at.row, at.col, decimals);
  if (is_forbidden(trace.plan(), at)) {
    if (trace.is_exactly_zero(at.node, at.row, at.col)) text = "0";
    return {with_infinity_sign(std::move(text)), CellRole::forbidden};
  }
  const bool is_infinite = text == "inf" || text == "-inf" || text == "nan";
  if (is_infinite) return {with_infinity_sign(std::move(text)), CellRole::infinite};
  TableCell cell{std::move(text), CellRole::number};
  if (with_value) cell.value = trace.values(at.node)(at.row, at.col);
  return cell;
}

std::string exact_form(const Trace& trace, const CellAt& at) {
  if (trace.plan()[at.node].is_symbolic()) return "";
  std::string form = trace.exact_text(at.node, at.row, at.col);
  return form.size() > kLongestExact ? "" : form;
}

std::string cell_name(const Plan& plan, const CellAt& at) {
  const Node& node = plan[at.node];
  const std::string row = label_or_number(node.rows, at.row);
  if (node.cols.empty() && node.shown_cols() == 1) return node.id + "[" + row + "]";
  return node.id + "[" + row + "," + label_or_number(node.cols, at.col) + "]";
}

Expression expression_of(const Plan& plan, const CellAt& at, bool brief) {
  const Reading node = reading_of(plan[at.node], brief);
  std::vector<Shape> shapes;
  for (const NodeId input : node.inputs) shapes.push_back({plan[input].shape.rows, plan[input].shown_cols()});
  return node.op.cell({node.params, shapes, at.row, at.col});
}

CellAt referred(const Plan& plan, const CellAt& at, const Term& term, bool brief) {
  return {reading_of(plan[at.node], brief).inputs[static_cast<std::size_t>(term.input)], term.row, term.col};
}

std::string expression_in_numbers(const Trace& trace, const CellAt& at, int decimals, bool brief) {
  std::string out;
  for (const Term& term : expression_of(trace.plan(), at, brief)) {
    if (term.input < 0) {
      out += term.text;
    } else {
      const bool is_first = out.empty() || out.ends_with('(') || out.ends_with(", ") || out.ends_with("→");
      out += inside(number_in_expression(trace, referred(trace.plan(), at, term, brief), decimals), is_first);
    }
  }
  return out;
}

std::string expression_in_names(const Plan& plan, const CellAt& at, bool brief) {
  std::string out;
  for (const Term& term : expression_of(plan, at, brief)) {
    out += term.input < 0 ? term.text : cell_name(plan, referred(plan, at, term, brief));
  }
  return out;
}

Working::Line working_line(const Trace& trace, const CellAt& at, int decimals, bool brief) {
  Working::Line line{cell_name(trace.plan(), at), {}};
  const auto push = [&](std::string side) {
    if (!side.empty() && (line.sides.empty() || line.sides.back() != side))
      line.sides.push_back(std::move(side));
  };
  push(form_in_names(trace.plan(), at, brief));
  push(expression_in_numbers(trace, at, decimals, brief));
  push(shown_cell(trace, at, decimals).text);
  return line;
}

}  // namespace qkv

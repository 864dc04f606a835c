#include "render/spreadsheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/decimal.h"
#include "base/escape.h"
#include "render/exported.h"
#include "report/cell_text.h"
#include "report/formula.h"

namespace qkv {
namespace {

// What a cell of every spreadsheet program can hold (Excel: 8192).
constexpr std::size_t kLongestFormula = 8000;

// e^x of more is no number in a spreadsheet.
constexpr double kLargestExponent = 700;

// "B", "AA"
std::string column_letters(Index column) {
  std::string letters;
  for (Index rest = column + 1; rest > 0; rest = (rest - 1) / 26)
    letters.insert(letters.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return letters;
}

std::string field_of_formula(const std::string& formula) {
  const std::string text = "=" + formula;
  return text.find(',') == std::string::npos ? text : "\"" + text + "\"";
}

// What a reader sees where there is no number to compute with.
std::string special_text(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "−∞" : "∞";
}

class Spreadsheet {
 public:
  Spreadsheet(const Trace& trace, const Telling& telling)
      : trace_(trace), plan_(trace.plan()), telling_(telling), first_row_(plan_.nodes.size(), 0) {}

  std::string write() {
    for (const NodeId id : exported_steps(plan_, telling_, false)) block(id);
    return out_;
  }

 private:
  void line(const std::string& text) {
    out_ += text + "\n";
    ++row_;
  }

  void block(NodeId id) {
    const Node& node = plan_[id];
    const std::string formula = plain_formula(plan_, id);
    if (row_ > 0) line("");
    line(csv_text(node.id) + "," + csv_text(node.op->title.in(telling_.language)) +
         (formula.empty() ? "" : "," + csv_text(node.id + " = " + formula)));
    std::string labels;
    for (Index j = 0; j < node.shape.cols; ++j) labels += "," + csv_text(column_label(node, j));
    line(labels);
    first_row_[id] = row_;
    for (Index i = 0; i < node.shape.rows; ++i) {
      std::string cells = node.rows.empty() ? "" : csv_text(node.rows[static_cast<std::size_t>(i)]);
      for (Index j = 0; j < node.shape.cols; ++j) cells += "," + cell(id, i, j);
      line(cells);
    }
  }

  static Index width_of(const Node& node) {
    return node.is_symbolic() ? static_cast<Index>(node.basis.size()) : 1;
  }

  std::string column_label(const Node& node, Index col) const {
    const Index width = width_of(node);
    const std::string shown = node.cols.empty() ? std::to_string(col / width + 1)
                                                : node.cols[static_cast<std::size_t>(col / width)];
    if (!node.is_symbolic()) return shown;
    const std::string& name = node.basis[static_cast<std::size_t>(col % width)];
    return shown + " · " + (name.empty() ? "1" : name);
  }

  std::string reference(NodeId id, Index row, Index col) const {
    return column_letters(col + 1) + std::to_string(first_row_[id] + row + 1);
  }

  // Of the matrix column `col`; of a symbolic cell the coefficient of one name.
  std::string cell(NodeId id, Index row, Index col) const {
    const double value = trace_.values(id)(row, col);
    if (!std::isfinite(value)) return special_text(value);
    const Node& node = plan_[id];
    if (node.op->kernel.doubles == nullptr) return given(id, row, col);
    const auto formula = formula_of(id, row, col);
    return formula ? field_of_formula(*formula) : shortest_text(value);
  }

  std::string given(NodeId id, Index row, Index col) const {
    const Node& node = plan_[id];
    const double value = trace_.values(id)(row, col);
    if (node.is_symbolic()) return shortest_text(value);
    const Number& number = node.given[static_cast<std::size_t>(row * node.shape.cols + col)];
    if (number.text.find_first_of("*/%(") == std::string::npos) return shortest_text(value);
    return field_of_formula(spreadsheet_formula(number.text).value_or(shortest_text(value)));
  }

  std::optional<std::string> formula_of(NodeId id, Index row, Index col) const {
    const Node& node = plan_[id];
    const Index width = width_of(node);
    const CellAt at{id, row, col / width};
    std::string text;
    double largest = 0;
    for (const Term& term : expression_of(plan_, at)) {
      if (term.input < 0) {
        text += term.text;
        continue;
      }
      const CellAt from = referred(plan_, at, term);
      const bool is_symbolic = plan_[from.node].is_symbolic();
      // A number that is added to a symbolic cell joins its constant, which comes first.
      const bool is_bias = node.is_symbolic() && node.params.basis > 1 && term.input == 2;
      if (is_bias && col % width > 0) {
        text += "0";
        continue;
      }
      const Index from_col = is_symbolic ? from.col * width + col % width : from.col;
      const double value = trace_.values(from.node)(from.row, from_col);
      if (!std::isfinite(value)) return std::nullopt;
      largest = std::max(largest, value);
      text += reference(from.node, from.row, from_col);
    }
    if (largest > kLargestExponent && text.find("e^(") != std::string::npos) return std::nullopt;
    auto formula = spreadsheet_formula(text);
    if (formula && formula->size() > kLongestFormula) return std::nullopt;
    return formula;
  }

  const Trace& trace_;
  const Plan& plan_;
  const Telling& telling_;
  std::vector<Index> first_row_;  // of the numbers of a step, counted from 0
  Index row_ = 0;                 // lines written
  std::string out_;
};

}  // namespace

std::string render_spreadsheet(const Trace& trace, const Telling& telling) {
  return Spreadsheet(trace, telling).write();
}

std::optional<std::string> spreadsheet_formula(std::string_view expression) {
  // Longer words first, where one begins with another.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kWords{{{"e^(", "EXP("},
                                                                                         {"ln(", "LN("},
                                                                                         {"tanh(", "TANH("},
                                                                                         {"sqrt(", "SQRT("},
                                                                                         {"√(", "SQRT("},
                                                                                         {"max(", "MAX("},
                                                                                         {"min(", "MIN("},
                                                                                         {"sin(", "SIN("},
                                                                                         {"cos(", "COS("},
                                                                                         {"·", "*"},
                                                                                         {"−", "-"},
                                                                                         {"²", "^2"},
                                                                                         {"[", "("},
                                                                                         {"]", ")"},
                                                                                         {"+", "+"},
                                                                                         {"/", "/"},
                                                                                         {">", ">"},
                                                                                         {"%", "%"}}};
  constexpr std::string_view kPlain = "()*-,^.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string out;
  bool is_in_bars = false;
  for (std::string_view rest = expression; !rest.empty();) {
    const auto word =
        std::find_if(kWords.begin(), kWords.end(), [&](const auto& w) { return rest.starts_with(w.first); });
    if (word != kWords.end()) {
      out += word->second;
      rest.remove_prefix(word->first.size());
    } else if (rest.starts_with("√")) {  // of the number that follows
      rest.remove_prefix(std::string_view("√").size());
      const std::size_t length = std::min(rest.find_first_not_of("0123456789."), rest.size());
      if (length == 0) return std::nullopt;
      out += "SQRT(" + std::string(rest.substr(0, length)) + ")";
      rest.remove_prefix(length);
    } else if (rest.front() == '|') {
      out += is_in_bars ? ")" : "ABS(";
      is_in_bars = !is_in_bars;
      rest.remove_prefix(1);
    } else if (rest.front() == ' ') {
      rest.remove_prefix(1);
    } else if (rest.front() == 'e' && rest.size() > 1 && !out.empty() && out.back() >= '0' &&
               out.back() <= '9') {
      out += 'E';  // 1e-3
      rest.remove_prefix(1);
    } else if (kPlain.find(rest.front()) != std::string_view::npos) {
      out += rest.front();
      rest.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace qkv

// How one cell of a trace is written: as a number, and as the arithmetic behind it.
#pragma once

#include <optional>
#include <string>

#include "report/report.h"
#include "run/trace.h"

namespace qkv {

// A cell of a node, by shown column.
struct CellAt {
  NodeId node = 0;
  Index row = 0;
  Index col = 0;
  bool operator==(const CellAt&) const = default;
};

// What a table shows: fixed digits; "0" for a forbidden key's weight; "−∞"; for a symbolic
// cell its terms, "0.2689·v0 + 0.7311·v1".   with_value: and the value of a finite number, for a colour
TableCell shown_cell(const Trace& trace, const CellAt& at, int decimals, bool with_value = false);

// The exact value of a cell where it has a form that one reads: "1/2", "e / (1 + e)"; else empty.
std::string exact_form(const Trace& trace, const CellAt& at);

// "scores[t1,t3]", "max[t1]"
std::string cell_name(const Plan& plan, const CellAt& at);

// `brief`: as the node's Brief tells it, where it has one.
//
// The expression of a computed cell with numbers put in; inputs as they were written.
// Empty for inputs.
std::string expression_in_numbers(const Trace& trace, const CellAt& at, int decimals, bool brief = false);
// The same with names of cells: "exp[t1,t1] / sum[t1]".
std::string expression_in_names(const Plan& plan, const CellAt& at, bool brief = false);

// A cell in one line: its name = its expression in names, where that is short = in numbers = its value.
Working::Line working_line(const Trace& trace, const CellAt& at, int decimals, bool brief = false);

Expression expression_of(const Plan& plan, const CellAt& at, bool brief = false);
// The cell that a term of that expression refers to.
CellAt referred(const Plan& plan, const CellAt& at, const Term& term, bool brief = false);

// The matrix behind K = Q and the like.
NodeId origin(const Plan& plan, NodeId id);

// Whether a table of this node marks the cell as closed by the mask.
bool is_forbidden(const Plan& plan, const CellAt& at);

}  // namespace qkv

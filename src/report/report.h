// A Report says what to show without saying how: headings, formulas, tables of text with
// roles, lines of working, notes.  Every renderer reads this; none of them calculates.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plan/plan.h"
#include "report/math.h"
#include "report/table_rows.h"

namespace qkv {

struct Heading {
  int number = 0;  // 0: not counted
  std::string title;
  std::string id;  // step id, or empty
};

enum class Tone { plain, faint, good, note, warning };

struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
};

// scores = Q · Kᵀ, and the same with shapes.
struct Formula {
  std::string name;
  Math right;          // without parts for what is given
  std::string shapes;  // "scores (3×3) = Q (3×2) · Kᵀ (2×3)"
};

struct Table {
  std::string id;                       // of the step
  std::vector<std::string> columns;     // one a cell; empty: no heading line
  std::vector<std::string> row_labels;  // one a row; empty: rows have no names
  TableRows rows;
  std::optional<NodeId> node = std::nullopt;  // whose values these are …
  std::vector<Index> node_rows = {};          // … and which of its rows each row shows
  bool holds_terms = false;  // e / (1 + e) ≈ 0.73: no points that would stand below one another
};

// name = form = … = value, one cell a line.
struct Working {
  struct Line {
    std::string name;
    std::vector<std::string> sides;
  };
  std::vector<Line> lines;
};

// Where one number comes from: each line hangs below the nearest earlier one of less depth.
struct Tree {
  struct Item {
    int depth = 0;
    std::string text;
    std::vector<std::string> more;  // further lines of the same item
  };
  std::vector<Item> items;
};

using Block = std::variant<Heading, Paragraph, Formula, Table, Working, Tree>;

struct Report {
  std::vector<Block> blocks;
};

}  // namespace qkv

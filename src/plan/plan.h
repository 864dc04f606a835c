// A Plan is a calculation as data: what is computed from what, in order, under which names.
//
// Because the order is data, others can read it too: a trace computes it, an explanation
// walks it backwards, a checker replaces one node by somebody's own numbers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/matrix.h"
#include "base/number.h"
#include "plan/op.h"

namespace qkv {

using NodeId = std::size_t;  // place in Plan::nodes

// From which --detail on a step is shown.
enum class Level { main, cells, full };

// The same value told in one line, where the lines between are not shown.
struct Brief {
  const Op* op = nullptr;
  std::vector<NodeId> inputs;
  Params params;
};

enum class Role {
  step,   // a line of the formula, with a public id
  given,  // a parameter: W_Q, b_Q, v_a …
  aside,  // shown beside a step; no later line of the formula is computed from it
};

// The numbers of an input, row by row.  A mask's are one of two, and of them only the mask is kept.
class GivenNumbers {
 public:
  GivenNumbers() = default;
  GivenNumbers(std::vector<Number> numbers)
      : size_(numbers.size()), numbers_(std::make_shared<const std::vector<Number>>(std::move(numbers))) {}
  GivenNumbers(std::shared_ptr<const Mask> mask, Number open, Number closed)
      : GivenNumbers({std::move(open), std::move(closed)}) {
    size_ = static_cast<std::size_t>(mask->size());
    mask_ = std::move(mask);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Number& operator[](std::size_t at) const {
    return (*numbers_)[mask_ ? (mask_->data()[at] ? 0 : 1) : at];
  }
  // null: the numbers are not those of a mask
  const std::shared_ptr<const Mask>& mask() const { return mask_; }

 private:
  std::size_t size_ = 0;
  std::shared_ptr<const std::vector<Number>> numbers_;
  std::shared_ptr<const Mask> mask_;
};

struct Node {
  std::string id;      // "scores", "h1.scores"; public, as in the JSON schema
  std::string prefix;  // its part that says where: "", "h1.", "L2.h1."
  const Op* op = nullptr;
  std::vector<NodeId> inputs;  // all earlier
  Params params;
  std::optional<Brief> brief;
  Level level = Level::main;
  Role role = Role::step;
  Shape shape;  // of the numeric matrix; see `basis`

  std::vector<std::string> rows;  // labels; empty when rows have no names of their own
  std::vector<std::string> cols;
  bool has_row_sums = false;  // the sum of a row means something (weights)
  // What the row and column vectors behind a cell of scores are called, before their labels:
  // {"q_", "k_"} makes a cell q_t1·k_t2, {"", ""} makes it t1·t2.
  std::optional<std::pair<std::string, std::string>> vectors;

  // Symbols as values.  Empty: every matrix column is one column.  Otherwise each shown cell
  // is a sum of basis[k] times the k-th of basis.size() neighbouring matrix columns; the
  // empty name stands for 1.  V = (v0; v1) is then the identity with basis {v0, v1}, and a row
  // of the output is the list of its coefficients.
  std::vector<std::string> basis;

  GivenNumbers given;  // the numbers of an input; else empty

  Index shown_cols() const {
    return basis.empty() ? shape.cols : shape.cols / static_cast<Index>(basis.size());
  }
  bool is_symbolic() const { return !basis.empty(); }
  // Its part that says what: "scores".
  std::string_view name() const { return std::string_view(id).substr(prefix.size()); }
};

// Whether the mask closes this cell of a table of queries by keys.
inline bool is_closed(const Node& node, Index row, Index col) {
  return !node.cols.empty() && !is_allowed(node.params, row, col);
}

struct Plan {
  std::vector<Node> nodes;
  std::optional<NodeId> find(std::string_view id) const;
  // The step of that name that belongs to the same head, layer or pass, else to what these are part of.
  std::optional<NodeId> find_beside(const Node& node, std::string_view name) const;
  const Node& operator[](NodeId id) const { return nodes[id]; }
  NodeId last_step() const;  // the result: Y, else output, …
};

// What a step is called, and how it is labelled, when it is added.
struct NodeTraits {
  Level level = Level::main;
  Role role = Role::step;
  std::vector<std::string> rows = {};
  std::vector<std::string> cols = {};
  bool has_row_sums = false;
  std::vector<std::string> basis = {};
  std::optional<std::pair<std::string, std::string>> vectors = std::nullopt;
};

class Builder {
 public:
  // The prefix of all nodes that are added from now on.
  void name_under(std::string prefix) { prefix_ = std::move(prefix); }
  const std::string& prefix() const { return prefix_; }

  // A matrix that is given.  `values` row by row, shape.rows * shape.cols of them.
  NodeId given(const std::string& name, const Op& op, Shape shape, GivenNumbers values, NodeTraits traits);
  // A step computed from earlier ones.  Its shape follows from the op's rule.
  NodeId step(const std::string& name, const Op& op, std::vector<NodeId> inputs, Params params,
              NodeTraits traits);

  void tell_briefly(NodeId id, Brief brief) { plan_.nodes[id].brief = std::move(brief); }

  const Node& operator[](NodeId id) const { return plan_.nodes[id]; }
  const Plan& plan() const { return plan_; }
  Plan take() { return std::move(plan_); }

 private:
  Node node_of(const std::string& name, const Op& op, NodeTraits traits) const;

  Plan plan_;
  std::string prefix_;
};

}  // namespace qkv

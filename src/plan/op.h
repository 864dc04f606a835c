// An Op is one named operation, and everything the program will ever say about it: its
// title, why it exists, its formula, its arithmetic, how one cell is explained.
//
// Ops are constants in ops/rows.h.  They know nothing of the order they are used in.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/matrix.h"
#include "base/number.h"
#include "base/row_bounded.h"
#include "base/text.h"

namespace qkv {

struct IntervalMatrix;  // base/interval.h
struct ExactMatrix;     // base/exact.h
struct BoundedMatrix;   // base/bounded.h
struct RoundedMatrix;   // base/rounded.h

// Exact parameters of a step: d_k is stored, not 1/sqrt(d_k); a kernel takes the root in its
// own scalar.
struct Params {
  std::vector<Number> numbers = {};               // what they mean, the op says
  std::shared_ptr<const Mask> allowed = nullptr;  // null: every key is visible to every query
  long align = 0;                                 // query i stands at position i + align among the keys
  bool empty_row_is_nan = false;                  // else a row without any visible key becomes zeros
  Index basis = 1;                                // matrix columns that together are one symbolic cell
  Shape shape = {};                               // of a step that has no inputs to take it from
};

inline bool is_allowed(const Params& params, Index row, Index col) {
  return !params.allowed || (*params.allowed)(row, col);
}
inline bool row_is_empty(const Params& params, Index row) {
  return params.allowed && !params.allowed->row(row).any();
}

// The same arithmetic for every kind of number that the program knows.
template <class M>
using InputsOf = std::vector<std::reference_wrapper<const M>>;

template <class M>
using KernelOf = M (*)(const InputsOf<M>&, const Params&);

struct Kernel {
  KernelOf<Matrix> doubles = nullptr;
  KernelOf<IntervalMatrix> intervals = nullptr;  // certain to contain the true value
  KernelOf<ExactMatrix> exacts = nullptr;        // the true value, where it has a form
  KernelOf<BoundedMatrix> bounded = nullptr;     // doubles, each with a bound of its error
  KernelOf<RoundedMatrix> rounded = nullptr;     // as a small floating-point format computes it
};

// Which part of an input one cell (row, column) of the result is made of.
enum class Reads : unsigned char {
  all,
  cell,           // the same row and column
  row,            // the same row
  row_of_column,  // the row that has the number of the column: the key of a score
  column,         // the same column: a component of the values
};
// Inputs that an op tells apart; any further ones are read like the last of these.
inline constexpr std::size_t kMostInputs = 6;

// How one cell comes about: its formula with cells of the inputs in place of symbols.
struct Term {
  std::string text;  // an operator, a bracket or a number, when `input` is -1
  int input = -1;    // else: the cell (row, col) of that input
  Index row = 0;
  Index col = 0;

  Term(std::string literal) : text(std::move(literal)) {}
  Term(const char* literal) : text(literal) {}
  Term(int of_input, Index at_row, Index at_col) : input(of_input), row(at_row), col(at_col) {}
};
using Expression = std::vector<Term>;

struct CellQuestion {
  const Params& params;
  std::span<const Shape> inputs;
  Index row;
  Index col;
};

struct Op {
  const char* name;  // in JSON; never renamed without a new schema number
  Text title;
  Text why;  // one sentence: why this step exists
  // A small subset of TeX: \frac \sqrt \cdot \circ \max \min \argmax \sum \tanh \ln ^ _ { }.  #1 #2 … stand
  // for the inputs, #* #; #+ for all of them with a comma, semicolon or plus between, @1 @2 … for
  // params.numbers.
  std::string_view formula;
  Kernel kernel;  // empty for inputs
  Shape (*shape)(std::span<const Shape> inputs, const Params&);
  Expression (*cell)(const CellQuestion&);
  // Made of + − · / and roots alone, so that its exact values are cheap to have.
  bool is_algebraic = true;
  // One an input, see kMostInputs; lets one cell or row be computed without the others.
  std::array<Reads, kMostInputs> reads = {};
  // The bounds of what `kernel.doubles` made of these inputs; empty when nothing is known of it, a NaN or an
  // overflow for instance.  null: a large matrix has a bound for every cell.
  std::vector<RowBound> (*row_bounds)(std::span<const RowBounded> inputs, const Params&,
                                      const Matrix& result) = nullptr;
  // How many products one cell adds up; null: none.
  Index (*terms)(std::span<const Shape> inputs) = nullptr;
  // And how many beside these all cells of a row share, in a denominator; null: none.
  Index (*shared_terms)(std::span<const Shape> inputs) = nullptr;
};

}  // namespace qkv

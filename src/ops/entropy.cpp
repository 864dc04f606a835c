// The entropy of a row of weights: how far a softmax is from saturation.

#include "ops/entropy_kernels.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// w·(ln(sum) − shifted) of every open key.
Expression entropy_cell(const CellQuestion& q) {
  Expression e;
  for (Index j = 0; j < q.inputs[0].cols; ++j) {
    if (!is_allowed(q.params, q.row, j)) continue;
    if (!e.empty()) e.push_back(" + ");
    append(e, {Term(0, q.row, j), "·(ln(", Term(2, q.row, 0), ") − ", Term(1, q.row, j), ")"});
  }
  if (e.empty()) e.push_back(q.params.empty_row_is_nan ? "nan" : "0");
  return e;
}

}  // namespace

const Op row_entropy{
    .name = "row_entropy",
    .title = {"Entropy of the weights", "权重的熵"},
    .why =
        {"How widely a query spreads its attention, in nats: −Σ w·ln w, 0 when one key has it all, ln m when "
         "m keys share it equally.",
         "每个查询把注意力分散到多广，单位 nat：−Σ w·ln w，全给一个键时为 0，m 个键平分时为 ln m。"},
    .formula = R"(\sum_j #1 \cdot (\ln(#3) - #2))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::row_entropy<T>(in[0], in[1], in[2], p);
    }>(),
    .shape = one_column,
    .cell = entropy_cell,
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row, Reads::row},
    .terms = width_of_first,
};

const Op entropy_in_bits{
    .name = "entropy_in_bits",
    .title = {"Entropy in bits", "熵（比特）"},
    .why = {"The same in bits: 1 bit is the choice between two equal keys.",
            "换成比特：在两个同样的键之间选择，就是 1 比特。"},
    .formula = R"(\frac{#1}{\ln(2)})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::in_bits<T>(in[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, q.col), " / ln(2)"};
        },
    .is_algebraic = false,
    .reads = {Reads::cell},
};

}  // namespace qkv::ops

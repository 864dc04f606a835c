// The loss of which gradients are taken: the last step as logits, their softmax, and the cross-entropy.

#include "ops/gradient_kernels.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

constexpr auto softmax_of_row = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  const MatrixOf<T> max = kernels::row_max<T>(in[0], nullptr, p);
  const MatrixOf<T> e = kernels::exponential<T>(kernels::shift<T>(in[0], max, nullptr, p), p);
  return kernels::normalise_rows<T>(e, kernels::row_sum<T>(e, nullptr, nullptr), p);
};

}  // namespace

const Op given_targets = given_op(
    {"Targets", "目标"},
    {"1 at the class that is right for the row, 0 at all others.", "每一行的正确类别写 1，其余写 0。"});

const Op class_probabilities{
    .name = "class_softmax",
    .title = {"Probabilities of the classes", "各类别的概率"},
    .why = {"The softmax of the logits, row by row: what the model believes about each class.",
            "对 logits 逐行做 softmax：模型认为每个类别有多大可能。"},
    .formula = "softmax(#1)",
    .kernel = kernel<softmax_of_row>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          Expression e{"e^(", Term(0, q.row, q.col), ") / ("};
          for (Index j = 0; j < q.inputs[0].cols; ++j)
            append(e, {j == 0 ? "e^(" : " + e^(", Term(0, q.row, j), ")"});
          e.push_back(")");
          return e;
        },
    .is_algebraic = false,
    .reads = {Reads::row},
};

const Op cross_entropy{
    .name = "cross_entropy",
    .title = {"Cross-entropy of each row", "每行的交叉熵"},
    .why = {"How surprised the model is by the right class: −ln of the probability it gave to it.",
            "模型对正确类别有多“意外”：它给出的概率取 −ln。"},
    .formula = R"(-\sum_j #2 \cdot \ln(#1))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::cross_entropy<T>(in[0], in[1]);
    }>(),
    .shape = one_column,
    .cell =
        [](const CellQuestion& q) {
          Expression e{"−("};
          for (Index j = 0; j < q.inputs[0].cols; ++j) {
            if (j > 0) e.push_back(" + ");
            append(e, {Term(1, q.row, j), "·ln(", Term(0, q.row, j), ")"});
          }
          e.push_back(")");
          return e;
        },
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row},
};

const Op mean_of_rows{
    .name = "mean",
    .title = {"Loss", "损失"},
    .why = {"The mean over the @1 rows, as PyTorch's cross_entropy takes it by default; other programs add "
            "them up.",
            "对 @1 行取平均（PyTorch 的 cross_entropy 默认如此；有的程序是求和）。"},
    .formula = R"(\frac{\sum_i #1}{@1})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::divide<T>(kernels::column_sums<T>(in[0]), p.numbers[0]);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{1, in[0].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          Expression e{"("};
          for (Index i = 0; i < q.inputs[0].rows; ++i) {
            if (i > 0) e.push_back(" + ");
            e.push_back(Term(0, i, q.col));
          }
          e.push_back(") / " + q.params.numbers[0].text);
          return e;
        },
};

const Op d_cross_entropy{
    .name = "cross_entropy_gradient",
    .title = {"Gradient of the logits", "logits 的梯度"},
    .why = {"q − p: what the model believes minus what is right; softmax and logarithm cancel to this. The "
            "mean divides it by the @1 rows.",
            "q − p：模型认为的减去正确的，softmax 和对数合起来正好化成这么简单；取平均再除以行数 @1。"},
    .formula = R"(\frac{#1 - #2}{@1})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      const MatrixOf<T>& q = in[0];
      const MatrixOf<T>& targets = in[1];
      return kernels::divide<T>(q - targets, p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{"(", Term(0, q.row, q.col), " − ", Term(1, q.row, q.col),
                            ") / " + q.params.numbers[0].text};
        },
    .reads = {Reads::cell, Reads::cell},
};

const Op given_gradient =
    given_op({"Gradient arriving from above", "从上方传来的梯度"},
             {"How much the loss changes with each cell of the result; given by the problem.",
              "结果的每一格变动时损失变化多少；题目给定。"});
const Op gradient_of_ones =
    given_op({"Gradient arriving from above", "从上方传来的梯度"},
             {"The problem gives none, so 1 everywhere: the loss is then the sum of all cells.",
              "题目没有给出，按处处为 1 计算：此时损失就是所有格子之和。"});

}  // namespace qkv::ops

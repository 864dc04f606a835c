// Linear attention backwards.  The output was read from the state, but it equals weights·V with
// weights = kernel / denominator, and the gradient comes back through that table; then through the
// feature map φ, number by number.

#include <string_view>

#include "ops/gradient_helpers.h"
#include "ops/linear_kernels.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {

// ---- The table -------------------------------------------------------------------------------

const Op d_table_weights = product_with_transpose_op(
    "table_weights_gradient", {"Gradient of the weights", "权重的梯度"},
    {"The output was read from the state, but it equals weights·V, so the way back may go through the table: "
     "d.output·Vᵀ. A hidden key has one too; its kernel, fixed at 0, will stop it.",
     "输出虽是从状态读出的，但等于 weights·V，所以反向可以走权重表：d.output·Vᵀ。被屏蔽的键也有，"
     "到核函数那一步才归零。"});

const Op d_divided{
    .name = "quotient_gradient",
    .title = {"Gradient of the kernel, as what is divided", "核函数的梯度：作为分子"},
    .why = {"weights = kernel / denominator, so above the line the gradient is divided by the denominator as "
            "well.",
            "weights = kernel / denominator，所以作为分子，梯度也除以分母。"},
    .formula = R"(\frac{#1}{#2})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::normalise_rows<T>(in[0], in[1], p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (!is_allowed(q.params, q.row, q.col)) return Expression{"0"};
          return Expression{Term(0, q.row, q.col), " / ", Term(1, q.row, 0)};
        },
    .reads = {Reads::cell, Reads::row},
};

const Op d_denominator{
    .name = "denominator_gradient",
    .title = {"Gradient of the denominators", "分母的梯度"},
    .why = {"A larger denominator makes all weights of its row smaller, each in proportion to itself: "
            "the slope of a / b in b is −(a / b) / b.",
            "分母变大，整行权重都按自身的比例变小：a / b 对 b 的导数是 −(a / b) / b。"},
    .formula = R"(-\frac{\sum_j #1 \circ #2}{#3})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      const MatrixOf<T>& arrived = in[0];
      const MatrixOf<T>& weights = in[1];
      MatrixOf<T> result(weights.rows(), 1);
      for (Index i = 0; i < weights.rows(); ++i) {
        T sum(0);
        for (Index j = 0; j < weights.cols(); ++j) {
          if (is_allowed(p, i, j)) sum += arrived(i, j) * weights(i, j);
        }
        result(i, 0) = row_is_empty(p, i) ? T(0) : T(-(sum / in[2].get()(i, 0)));
      }
      return result;
    }>(),
    .shape = one_column,
    .cell =
        [](const CellQuestion& q) {
          if (row_is_empty(q.params, q.row)) return Expression{"0"};
          Expression e{"−("};
          for (Index j = 0; j < q.inputs[0].cols; ++j) {
            if (!is_allowed(q.params, q.row, j)) continue;
            if (e.size() > 1) e.push_back(" + ");
            append(e, {Term(0, q.row, j), "·", Term(1, q.row, j)});
          }
          append(e, {") / ", Term(2, q.row, 0)});
          return e;
        },
    .reads = {Reads::row, Reads::row, Reads::row},
    .terms = width_of_first,
};

const Op d_summed{
    .name = "sum_gradient",
    .title = {"Gradient of the kernel, as part of the denominator", "核函数的梯度：作为分母的一项"},
    .why = {"The denominator is the sum of its row of the kernel, so each of them gets its gradient "
            "unchanged; a "
            "hidden key, whose kernel is fixed at 0, gets 0.",
            "分母是一行核函数值之和，所以每一项都原样得到它的梯度；被屏蔽的键固定为 0，梯度也是 0。"},
    .formula = "#1 1^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      MatrixOf<T> result(in[0].get().rows(), static_cast<Index>(p.numbers[0].value));
      for (Index i = 0; i < result.rows(); ++i) {
        for (Index j = 0; j < result.cols(); ++j)
          result(i, j) = is_allowed(p, i, j) ? in[0].get()(i, 0) : T(0);
      }
      return result;
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params& p) {
          return Shape{in[0].rows, static_cast<Index>(p.numbers[0].value)};
        },
    .cell =
        [](const CellQuestion& q) {
          return is_allowed(q.params, q.row, q.col) ? Expression{Term(0, q.row, 0)} : Expression{"0"};
        },
    .reads = {Reads::row},
};

// ---- The features ------------------------------------------------------------------------------

const Op d_query_features = product_op(
    "query_features_gradient", {"Gradient of the queries' features", "查询特征的梯度"},
    {"The kernel is φ(q)·φ(k), so each query's features are pulled towards those of the keys: d.kernel·φ(K).",
     "核函数是 φ(q)·φ(k)，所以查询的特征被拉向各个键的特征：d.kernel·φ(K)。"});
const Op d_key_features =
    transpose_times_op("key_features_gradient", {"Gradient of the keys' features", "键特征的梯度"},
                       {"Each key collects the features of the queries that may look at it: d.kernelᵀ·φ(Q).",
                        "每个键从能看到它的查询那里收集特征：d.kernelᵀ·φ(Q)。"});

namespace {

constexpr Text kThroughPhi{"Gradient, back through the feature map", "梯度：穿过特征映射"};

constexpr auto through_elu = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::times_slope<T>(in[0], in[1], [](const T& phi) { return kernels::elu_plus_1_slope(phi); });
};
constexpr auto through_exp = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::times_slope<T>(in[0], in[1], [](const T& phi) { return phi; });
};
constexpr auto through_relu = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::times_slope<T>(in[0], in[1], [](const T& x) { return kernels::relu_slope(x); });
};

constexpr Op phi_gradient(const char* name, Text why, std::string_view formula, Kernel kernel,
                          Expression (*cell)(const CellQuestion&)) {
  return {
      .name = name,
      .title = kThroughPhi,
      .why = why,
      .formula = formula,
      .kernel = kernel,
      .shape = same_shape,
      .cell = cell,
      .reads = {Reads::cell, Reads::cell},
  };
}

}  // namespace

const Op d_phi_elu = phi_gradient(
    "phi_elu_gradient",
    {"The slope of elu(x) + 1 is 1 above 0 and e^x below, which is φ(x) itself where that is less than 1: "
     "min(φ(x), 1).",
     "elu(x) + 1 的斜率：x 大于 0 时是 1，否则是 e^x，也就是 φ(x) 本身；合起来写成 min(φ(x), 1)。"},
    R"(#1 \circ \min(#2, 1))", kernel<through_elu>(), [](const CellQuestion& q) {
      return Expression{Term(0, q.row, q.col), "·min(", Term(1, q.row, q.col), ", 1)"};
    });
const Op d_phi_exp = phi_gradient(
    "phi_exp_gradient",
    {"The slope of e^x is e^x again: the feature itself.", "e^x 的斜率还是 e^x，也就是特征本身。"},
    R"(#1 \circ #2)", kernel<through_exp>(), [](const CellQuestion& q) {
      return Expression{Term(0, q.row, q.col), "·", Term(1, q.row, q.col)};
    });
const Op d_phi_relu = phi_gradient(
    "phi_relu_gradient",
    {"The slope of max(x, 0) is 1 above 0 and 0 below; at 0 it is taken as 0, as PyTorch does. [x > 0] is 1 "
     "where that holds, else 0.",
     "max(x, 0) 的斜率：x 大于 0 时是 1，否则是 0；恰好为 0 时与 PyTorch 一样取 0。[x > 0] 成立时为 1，"
     "否则为 0。"},
    R"(#1 \circ [#2 > 0])", kernel<through_relu>(), [](const CellQuestion& q) {
      return Expression{Term(0, q.row, q.col), "·[", Term(1, q.row, q.col), " > 0]"};
    });

const Op d_phi_identity{
    .name = "phi_identity_gradient",
    .title = kThroughPhi,
    .why = {"The slope of φ(x) = x is 1: the gradient passes as it is.",
            "φ(x) = x 的斜率是 1：梯度原样传递。"},
    .formula = "#1",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
      return in[0];
    }>(),
    .shape = same_shape,
    .cell = [](const CellQuestion& q) { return Expression{Term(0, q.row, q.col)}; },
    .reads = {Reads::cell},
};

}  // namespace qkv::ops

// What happens to the scores between the dot product and the softmax.
//
// The order matters and is fixed by methods/: scale, cap, bias, mask, temperature.  The cap
// comes before the mask, because tanh would turn -inf into -cap and let forbidden keys back in.

#include "ops/row_bounds.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// A ratio needs brackets: s / 1/3 is something else.
std::string number_text(const CellQuestion& q) {
  const std::string& text = q.params.numbers[0].text;
  return text.find_first_of("*/") == std::string::npos ? text : "(" + text + ")";
}

// −∞ marks a forbidden key and stays as it is; the formula would make something else of it.
bool stays_forbidden(const CellQuestion& q) { return !is_allowed(q.params, q.row, q.col); }

// −slope·|p_i − p_j|, positions counted from 0.
Expression distance_cell(const CellQuestion& q) {
  const Number& slope = q.params.numbers[0];
  return {"−" + slope.text + "·|" + std::to_string(q.row + q.params.align) + " − " + std::to_string(q.col) +
          "|"};
}

Expression sum_cell(const CellQuestion& q) {
  Expression e;
  for (std::size_t t = 0; t < q.inputs.size(); ++t) {
    if (t > 0) e.push_back(" + ");
    e.push_back(Term(static_cast<int>(t), q.row, q.col));
  }
  return e;
}

constexpr auto sum_of_inputs = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  return kernels::add_all<T>(in, p);
};

// One or two given biases, and the distance penalty on top.
constexpr Op alibi_and_given(const char* name, Text why, const char* formula) {
  return {
      .name = name,
      .title = {"Bias", "偏置"},
      .why = why,
      .formula = formula,
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        const MatrixOf<T> distance = kernels::distance_bias<T>(p.shape, p.numbers[0], p.align);
        const MatrixOf<T> given = kernels::add_all<T>(in, Params{});
        return kernels::add_all<T>({given, distance}, Params{});
      }>(),
      .shape = same_shape,
      .cell =
          [](const CellQuestion& q) {
            Expression e = sum_cell(q);
            e.push_back(" ");
            Expression distance = distance_cell(q);
            distance[0].text.insert(std::string("−").size(), " ");
            append(e, std::move(distance));
            return e;
          },
      .reads = {Reads::cell, Reads::cell},
  };
}

constexpr Text kMasked{"Masked scores", "掩码后的分数"};
constexpr Text kMaskedWhy{
    "Forbidden scores become −∞, so that e^(−∞) = 0 leaves them no weight; the others keep their value.",
    "被屏蔽的分数变成 −∞：e^(−∞) = 0，softmax 之后权重就是 0；其余分数不变。"};

}  // namespace

const Op scale_by_root{
    .name = "scale",
    .title = {"Scaled scores", "缩放后的分数"},
    .why = {"A dot product of d_k terms spreads √d_k times as wide as one term; dividing by √d_k keeps the "
            "softmax from saturating.",
            "d_k 项之和的标准差是单项的 √d_k 倍；除以 √d_k 把尺度拉回来，避免 softmax 过于尖锐（饱和）。"},
    .formula = R"(\frac{#1}{\sqrt{d_k}})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::divide_by_root<T>(in[0], p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, q.col), " / √" + number_text(q)};
        },
    .reads = {Reads::cell},
    .row_bounds = row_bounds::divide_by_root,
};

const Op scale_by_factor{
    .name = "scale_by_factor",
    .title = {"Scaled scores", "缩放后的分数"},
    .why = {"Every score is multiplied by the factor the problem asks for.",
            "每个分数乘以题目给定的缩放因子。"},
    .formula = R"(@1 \cdot #1)",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::multiply<T>(in[0], p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (stays_forbidden(q)) return Expression{Term(0, q.row, q.col)};
          return Expression{number_text(q) + "·", Term(0, q.row, q.col)};
        },
    .reads = {Reads::cell},
    .row_bounds = row_bounds::multiply,
};

const Op soft_cap{
    .name = "soft_cap",
    .title = {"Capped scores", "软上限后的分数"},
    .why =
        {"Bends the scores so that none goes beyond ±@1; before the mask, or forbidden keys would come back.",
         "用 tanh 把分数压在 ±@1 之内；必须放在掩码之前，否则被屏蔽的键会“复活”。"},
    .formula = R"(@1 \cdot \tanh(\frac{#1}{@1}))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::soft_cap<T>(in[0], p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (stays_forbidden(q)) return Expression{Term(0, q.row, q.col)};
          return Expression{number_text(q) + "·tanh(", Term(0, q.row, q.col), " / " + number_text(q) + ")"};
        },
    .is_algebraic = false,
    .reads = {Reads::cell},
    .row_bounds = row_bounds::soft_cap,
};

const Op temper{
    .name = "temper",
    .title = {"Tempered scores", "温度调节后的分数"},
    .why = {"Divided by the temperature: above 1 the weights flatten, below 1 they sharpen.",
            "除以温度：温度大于 1 时权重更平，小于 1 时更尖。"},
    .formula = R"(\frac{#1}{@1})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::divide<T>(in[0], p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, q.col), " / " + number_text(q)};
        },
    .reads = {Reads::cell},
    .row_bounds = row_bounds::divide,
};

const Op given_bias =
    given_op({"Bias", "偏置"}, {"Given by the problem; always added to the scores, after scaling.",
                                "题目给定，总是加在缩放之后的分数上。"});

const Op alibi{
    .name = "alibi",
    .title = {"ALiBi bias", "ALiBi 偏置"},
    .why = {"The farther a key is from the query, the more is taken off its score; p counts places in the "
            "sequence, "
            "from 0.",
            "键离查询越远，分数扣得越多：偏置与距离成正比；p 是序列中的位次，从 0 数起。"},
    .formula = R"(-@1 \cdot |p_i - p_j|)",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>&, const Params& p) {
      return kernels::distance_bias<T>(p.shape, p.numbers[0], p.align);
    }>(),
    .shape = shape_of_params,
    .cell = distance_cell,
    .row_bounds = row_bounds::distance_bias,
};

const Op alibi_and_bias = alibi_and_given(
    "alibi_and_bias",
    {"The given bias and the distance penalty of ALiBi together.", "题目给定的偏置，加上 ALiBi 的距离惩罚。"},
    R"(#1 - @1 \cdot |p_i - p_j|)");
const Op alibi_and_biases =
    alibi_and_given("alibi_and_biases",
                    {"The bias of all heads, that of this head and the distance penalty of ALiBi together.",
                     "各个头共用的偏置，加上这个头自己的偏置，再加上 ALiBi 的距离惩罚。"},
                    R"(#1 + #2 - @1 \cdot |p_i - p_j|)");

const Op sum_of_biases{
    .name = "sum_of_biases",
    .title = {"Bias", "偏置"},
    .why = {"The bias of all heads and that of this head together.",
            "各个头共用的偏置，加上这个头自己的偏置。"},
    .formula = "#1 + #2",
    .kernel = kernel<sum_of_inputs>(),
    .shape = same_shape,
    .cell = sum_cell,
    .reads = {Reads::cell, Reads::cell},
    .row_bounds = row_bounds::add_all,
};

const Op add_mask{
    .name = "add_mask",
    .title = kMasked,
    .why = kMaskedWhy,
    .formula = "#1 + #2",
    .kernel = kernel<sum_of_inputs>(),
    .shape = same_shape,
    .cell = sum_cell,
    .reads = {Reads::cell, Reads::cell},
    .row_bounds = row_bounds::add_all,
};

const Op add_bias{
    .name = "add_bias",
    .title = {"Scores with bias", "加上偏置的分数"},
    .why = {"The bias is added to the scores; a key with bias −∞ is forbidden.",
            "把偏置加到分数上；偏置为 −∞ 的键等于被屏蔽。"},
    .formula = "#1 + #2",
    .kernel = kernel<sum_of_inputs>(),
    .shape = same_shape,
    .cell = sum_cell,
    .reads = {Reads::cell, Reads::cell},
    .row_bounds = row_bounds::add_all,
};

const Op add_bias_and_mask{
    .name = "add_bias_and_mask",
    .title = kMasked,
    .why = kMaskedWhy,
    .formula = "#1 + #2 + #3",
    .kernel = kernel<sum_of_inputs>(),
    .shape = same_shape,
    .cell = sum_cell,
    .reads = {Reads::cell, Reads::cell, Reads::cell},
    .row_bounds = row_bounds::add_all,
};

}  // namespace qkv::ops

#include "ops/projection.h"
#include "ops/row_bounds.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// ---- Projections -------------------------------------------------------------------------

constexpr Text kQueries{"Queries", "查询"};
constexpr Text kQueriesWhy{"What each token is looking for: its vector, projected by W_Q.",
                           "把每个 token 的向量投影成“我要找什么”：乘以 W_Q。"};
constexpr Text kQueriesBiasedWhy{
    "What each token is looking for: its vector, projected by W_Q, plus the bias b_Q.",
    "把每个 token 的向量投影成“我要找什么”：乘以 W_Q，再加上偏置 b_Q。"};
constexpr Text kKeys{"Keys", "键"};
constexpr Text kKeysWhy{"How each token can be found by others: its vector, projected by W_K.",
                        "把每个 token 的向量投影成“我能被怎样找到”：乘以 W_K。"};
constexpr Text kKeysBiasedWhy{
    "How each token can be found by others: its vector, projected by W_K, plus the bias b_K.",
    "把每个 token 的向量投影成“我能被怎样找到”：乘以 W_K，再加上偏置 b_K。"};
constexpr Text kValues{"Values", "值"};
constexpr Text kValuesWhy{"What each token hands over once it has been found: its vector, projected by W_V.",
                          "把每个 token 的向量投影成“被找到时我交出什么”：乘以 W_V。"};
constexpr Text kValuesBiasedWhy{
    "What each token hands over once it has been found: its vector, projected by W_V, plus the bias b_V.",
    "把每个 token 的向量投影成“被找到时我交出什么”：乘以 W_V，再加上偏置 b_V。"};
constexpr Text kProjected{"Output projection", "输出投影"};
constexpr Text kProjectedWhy{"Brings what was read back to the width of the model: multiplied by W_O.",
                             "把读出的内容乘以 W_O，变回模型的宽度。"};
constexpr Text kProjectedBiasedWhy{
    "Brings what was read back to the width of the model: multiplied by W_O, plus the bias b_O.",
    "把读出的内容乘以 W_O，变回模型的宽度，再加上偏置 b_O。"};

}  // namespace

const Op project_q = projection_op<Stored::as_written, false>("project", kQueries, kQueriesWhy);
const Op project_k = projection_op<Stored::as_written, false>("project", kKeys, kKeysWhy);
const Op project_v = projection_op<Stored::as_written, false>("project", kValues, kValuesWhy);
const Op project_output = projection_op<Stored::as_written, false>("project", kProjected, kProjectedWhy);
const Op project_q_biased =
    projection_op<Stored::as_written, true>("project_biased", kQueries, kQueriesBiasedWhy);
const Op project_k_biased = projection_op<Stored::as_written, true>("project_biased", kKeys, kKeysBiasedWhy);
const Op project_v_biased =
    projection_op<Stored::as_written, true>("project_biased", kValues, kValuesBiasedWhy);
const Op project_output_biased =
    projection_op<Stored::as_written, true>("project_biased", kProjected, kProjectedBiasedWhy);
const Op linear_q = projection_op<Stored::as_linear, false>("linear", kQueries, kQueriesWhy);
const Op linear_k = projection_op<Stored::as_linear, false>("linear", kKeys, kKeysWhy);
const Op linear_v = projection_op<Stored::as_linear, false>("linear", kValues, kValuesWhy);
const Op linear_output = projection_op<Stored::as_linear, false>("linear", kProjected, kProjectedWhy);
const Op linear_q_biased =
    projection_op<Stored::as_linear, true>("linear_biased", kQueries, kQueriesBiasedWhy);
const Op linear_k_biased = projection_op<Stored::as_linear, true>("linear_biased", kKeys, kKeysBiasedWhy);
const Op linear_v_biased = projection_op<Stored::as_linear, true>("linear_biased", kValues, kValuesBiasedWhy);
const Op linear_output_biased =
    projection_op<Stored::as_linear, true>("linear_biased", kProjected, kProjectedBiasedWhy);

// ---- Scores ------------------------------------------------------------------------------

namespace {

constexpr Text kScores{"Scores", "分数（打分）"};

Shape n_by_m(std::span<const Shape> in, const Params&) { return {in[0].rows, in[1].rows}; }

Expression dot_cell(const CellQuestion& q) {
  return sum_of_products(
      q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
      [&](Index k) { return Term(1, q.col, k); });
}

// q·W·kᵀ with both sums written out.
Expression general_cell(const CellQuestion& q) {
  Expression e;
  for (Index c = 0; c < q.inputs[1].cols; ++c) {
    if (c > 0) e.push_back(" + ");
    e.push_back("(");
    append(e, sum_of_products(
                  q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
                  [&](Index k) { return Term(2, k, c); }));
    append(e, {")·", Term(1, q.col, c)});
  }
  return e;
}

// v·tanh(…): `inside(h)` writes what stands under the h-th tanh.
template <class Inside>
Expression tanh_sum(Index hidden, int v, Inside inside) {
  Expression e;
  for (Index h = 0; h < hidden; ++h) {
    if (h > 0) e.push_back(" + ");
    append(e, {Term(v, 0, h), "·tanh("});
    append(e, inside(h));
    e.push_back(")");
  }
  return e;
}

Expression additive_cell(const CellQuestion& q) {
  return tanh_sum(q.inputs[4].cols, 4, [&](Index h) {
    Expression e = sum_of_products(
        q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); }, [&](Index k) { return Term(2, k, h); });
    e.push_back(" + ");
    append(e, sum_of_products(
                  q.inputs[1].cols, [&](Index k) { return Term(1, q.col, k); },
                  [&](Index k) { return Term(3, k, h); }));
    if (q.inputs.size() > 5) append(e, {" + ", Term(5, 0, h)});
    return e;
  });
}

Expression concat_cell(const CellQuestion& q) {
  const Index d_q = q.inputs[0].cols;
  return tanh_sum(q.inputs[3].cols, 3, [&](Index h) {
    return sum_of_products(
        d_q + q.inputs[1].cols,
        [&](Index k) { return k < d_q ? Term(0, q.row, k) : Term(1, q.col, k - d_q); },
        [&](Index k) { return Term(2, k, h); });
  });
}

}  // namespace

const Op dot_rows{
    .name = "dot_rows",
    .title = kScores,
    .why = {"How well each query matches each key: their dot product.",
            "每个查询与每个键做点积：点积越大，越匹配。第 i 行就是第 i 个 token 对所有 token 的打分。"},
    .formula = "#1 #2^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::dot_rows<T>(in[0], in[1]);
    }>(),
    .shape = n_by_m,
    .cell = dot_cell,
    .reads = {Reads::row, Reads::row_of_column},
    .row_bounds = row_bounds::dot_rows,
    .terms = width_of_first,
};

const Op general_scores{
    .name = "general_scores",
    .title = kScores,
    .why = {"How well each query matches each key, through a learned matrix W_a between them.",
            "每个查询经过可学习的矩阵 W_a 与每个键打分。"},
    .formula = "#1 #3 #2^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::dot_rows<T>(kernels::project<T>(in[0], in[2]), in[1]);
    }>(),
    .shape = n_by_m,
    .cell = general_cell,
    .reads = {Reads::row, Reads::row_of_column},
    .terms = [](std::span<const Shape> in) -> Index { return (in[0].cols + 1) * in[1].cols; },
};

const Op additive_scores{
    .name = "additive_scores",
    .title = kScores,
    .why = {"How well each query matches each key, as a small neural network sees it.",
            "用一个小神经网络给每个查询和每个键打分。"},
    .formula = R"(#5 \tanh(#1 #3 + #2 #4))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::additive_scores<T>(in[0], in[1], in[2], in[3], in[4], nullptr);
    }>(),
    .shape = n_by_m,
    .cell = additive_cell,
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row_of_column},
    .terms = [](std::span<const Shape> in) -> Index { return in[4].cols * (in[0].cols + in[1].cols + 1); },
};

const Op additive_scores_biased{
    .name = "additive_scores_biased",
    .title = kScores,
    .why = {"How well each query matches each key, as a small neural network sees it.",
            "用一个小神经网络给每个查询和每个键打分。"},
    .formula = R"(#5 \tanh(#1 #3 + #2 #4 + #6))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::additive_scores<T>(in[0], in[1], in[2], in[3], in[4], &in[5].get());
    }>(),
    .shape = n_by_m,
    .cell = additive_cell,
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row_of_column},
    .terms = [](std::span<const Shape> in) -> Index { return in[4].cols * (in[0].cols + in[1].cols + 1); },
};

const Op concat_scores{
    .name = "concat_scores",
    .title = kScores,
    .why = {"How well each query matches each key: both side by side through a small neural network.",
            "把查询和键拼在一起，用一个小神经网络打分。"},
    .formula = R"(#4 \tanh([#1; #2] #3))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::concat_scores<T>(in[0], in[1], in[2], in[3]);
    }>(),
    .shape = n_by_m,
    .cell = concat_cell,
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row_of_column},
    .terms = [](std::span<const Shape> in) -> Index { return in[3].cols * (in[0].cols + in[1].cols + 1); },
};

// ---- The read ----------------------------------------------------------------------------

namespace {

constexpr auto weighted = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  return kernels::weighted_sum<T>(in[0], in[1], p);
};

Shape read_shape(std::span<const Shape> in, const Params&) { return {in[0].rows, in[1].cols}; }

// Forbidden keys are left out: they take no part.
Expression weighted_cell(const CellQuestion& q) {
  Expression e;
  for (Index j = 0; j < q.inputs[0].cols; ++j) {
    if (!is_allowed(q.params, q.row, j)) continue;
    if (!e.empty()) e.push_back(" + ");
    append(e, {Term(0, q.row, j), "·", Term(1, j, q.col)});
  }
  if (e.empty()) e.push_back(q.params.empty_row_is_nan ? "nan" : "0");
  return e;
}

// Each candidate as weight→value; the largest weight says which value is read.
Expression hard_cell(const CellQuestion& q) {
  Expression e;
  for (Index j = 0; j < q.inputs[0].cols; ++j) {
    if (!is_allowed(q.params, q.row, j)) continue;
    append(e, {e.empty() ? "argmax(" : ", ", Term(0, q.row, j), "→", Term(1, j, q.col)});
  }
  if (e.empty()) return {q.params.empty_row_is_nan ? "nan" : "0"};
  e.push_back(")");
  return e;
}

}  // namespace

const Op weighted_sum{
    .name = "weighted_sum",
    .title = {"Output", "输出（加权求和）"},
    .why = {"Each query reads a mixture of the values, in the proportions of its row of weights.",
            "按权重把所有值混合起来：第 i 行用第 i 行的权重对 V 的各行加权求和。"},
    .formula = "#1 #2",
    .kernel = kernel<weighted>(),
    .shape = read_shape,
    .cell = weighted_cell,
    .reads = {Reads::row, Reads::column},
    .row_bounds = row_bounds::weighted_sum,
    .terms = width_of_first,
};

const Op hard_read{
    .name = "hard_read",
    .title = {"Output (hard read)", "输出（硬读取）"},
    .why = {"Each query reads only the value of its largest weight; the first one where several are equal.",
            "每个查询只取权重最大的那一个值；并列时取最前面的。"},
    .formula = R"(#2[\argmax_j #1])",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::hard_read<T>(in[0], in[1], p);
    }>(),
    .shape = read_shape,
    .cell = hard_cell,
    .reads = {Reads::row, Reads::column},
};

const Op soft_read_beside{
    .name = "weighted_sum",
    .title = {"The soft read, beside it", "对照：软读取"},
    .why =
        {"What the weighted sum would have read: every value takes part, and small changes of a score show.",
         "若用加权求和读取，每个值都参与混合，分数的微小变化都会反映出来。"},
    .formula = "#1 #2",
    .kernel = kernel<weighted>(),
    .shape = read_shape,
    .cell = weighted_cell,
    .reads = {Reads::row, Reads::column},
    .row_bounds = row_bounds::weighted_sum,
    .terms = width_of_first,
};

}  // namespace qkv::ops

// The softmax of a row, as five rows of the table of ops.

#include <array>

#include "ops/row_bounds.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

Expression list_of_row(const CellQuestion& q, const char* separator) {
  Expression e;
  for (Index j = 0; j < q.inputs[0].cols; ++j) {
    if (!is_allowed(q.params, q.row, j)) continue;
    if (!e.empty()) e.push_back(separator);
    e.push_back(Term(0, q.row, j));
  }
  return e;
}

Expression max_cell(const CellQuestion& q) {
  Expression row = list_of_row(q, ", ");
  if (!q.params.numbers.empty()) {
    if (!row.empty()) row.push_back(", ");
    row.push_back(q.params.numbers[0].text);
  }
  if (row.empty()) return {"−∞"};
  Expression e{"max("};
  append(e, std::move(row));
  e.push_back(")");
  return e;
}

Expression sum_cell(const CellQuestion& q) {
  Expression e = list_of_row(q, " + ");
  if (!q.params.numbers.empty()) {
    if (!e.empty()) e.push_back(" + ");
    append(e, {"e^(" + q.params.numbers[0].text});
    if (q.inputs.size() > 1) append(e, {" − ", Term(1, q.row, 0)});
    e.push_back(")");
  }
  if (e.empty()) e.push_back("0");
  return e;
}

// e^s / (e^s1 + e^s2 + …)
Expression softmax_cell(const CellQuestion& q) {
  if (row_is_empty(q.params, q.row)) return {q.params.empty_row_is_nan ? "nan" : "0"};
  if (!is_allowed(q.params, q.row, q.col)) return {"0"};
  Expression e{"e^(", Term(0, q.row, q.col), ") / ("};
  bool is_first = true;
  for (Index j = 0; j < q.inputs[0].cols; ++j) {
    if (!is_allowed(q.params, q.row, j)) continue;
    append(e, {is_first ? "e^(" : " + e^(", Term(0, q.row, j), ")"});
    is_first = false;
  }
  if (!q.params.numbers.empty()) e.push_back(" + e^(" + q.params.numbers[0].text + ")");
  e.push_back(")");
  return e;
}

// A sink logit is one more score of the row; without one there are no numbers.
const Number* sink_of(const Params& p) { return p.numbers.empty() ? nullptr : &p.numbers[0]; }

constexpr auto max_of_row = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  return kernels::row_max<T>(in[0], sink_of(p), p);
};
constexpr auto sum_of_row = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  // The second input is the maximum that was subtracted; the unshifted form has none.
  return kernels::row_sum<T>(in[0], sink_of(p), in.size() > 1 ? &in[1].get() : nullptr);
};
constexpr auto softmax_of_row = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  const MatrixOf<T> max = kernels::row_max<T>(in[0], sink_of(p), p);
  const MatrixOf<T> e = kernels::exponential<T>(kernels::shift<T>(in[0], max, sink_of(p), p), p);
  return kernels::normalise_rows<T>(e, kernels::row_sum<T>(e, sink_of(p), &max), p);
};

constexpr Op max_op(const char* name, Text why, std::string_view formula) {
  return {
      .name = name,
      .title = {"Row maximum", "每行的最大值"},
      .why = why,
      .formula = formula,
      .kernel = kernel<max_of_row>(),
      .shape = one_column,
      .cell = max_cell,
      .reads = {Reads::row},
      .row_bounds = row_bounds::row_max,
  };
}

constexpr Op sum_op(const char* name, Text title, Text why, std::string_view formula) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = formula,
      .kernel = kernel<sum_of_row>(),
      .shape = one_column,
      .cell = sum_cell,
      .is_algebraic = false,  // a sink brings its own exponential
      .reads = {Reads::row, Reads::row},
      .row_bounds = row_bounds::row_sum,
  };
}

constexpr Op exponential_op(const char* name, Text title, Text why) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "e^{#1}",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        return kernels::exponential<T>(in[0], p);
      }>(),
      .shape = same_shape,
      .cell =
          [](const CellQuestion& q) {
            return Expression{"e^(", Term(0, q.row, q.col), ")"};
          },
      .is_algebraic = false,
      .reads = {Reads::cell},
      .row_bounds = row_bounds::exponential,
  };
}

constexpr Op softmax_op(const char* name, Text why, std::string_view formula) {
  return {
      .name = name,
      .title = {"Weights", "注意力权重"},
      .why = why,
      .formula = formula,
      .kernel = kernel<softmax_of_row>(),
      .shape = same_shape,
      .cell = softmax_cell,
      .is_algebraic = false,
      .reads = {Reads::row},
  };
}

constexpr Text kSum{"Row sum", "每行求和"};
constexpr Text kNaiveSum{"Row sum without the shift", "不减最大值的求和"};
constexpr Text kNaiveSumWhy{
    "Every term is e^max times the shifted one, so the quotients are the same weights.",
    "每一项都是减去最大值之后的 e^max 倍，相除后得到同样的权重。"};

}  // namespace

const Op row_max =
    max_op("row_max",
           {"The largest score of each row, to be subtracted so that no exponential can overflow.",
            "取出每行最大的分数，下一步减去它，这样指数不会溢出。"},
           R"(\max_j #1)");
const Op row_max_sink = max_op("row_max_sink",
                               {"The largest score of each row, the sink's logit @1 among them.",
                                "取出每行最大的分数，汇聚（sink）的分数 @1 也参与比较。"},
                               R"(\max(\max_j #1, @1))");

const Op shift_by_max{
    .name = "shift",
    .title = {"Shifted scores", "减去最大值"},
    .why = {"Subtracting the same number from a whole row does not change its softmax.",
            "整行减去同一个数，softmax 的结果不变；最大的一项变成 0。"},
    .formula = "#1 - #2",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::shift<T>(in[0], in[1], sink_of(p), p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (!is_allowed(q.params, q.row, q.col)) return Expression{Term(0, q.row, q.col)};
          return Expression{Term(0, q.row, q.col), " − ", Term(1, q.row, 0)};
        },
    .reads = {Reads::row, Reads::row},
    .row_bounds = row_bounds::shift,
};

const Op exponential =
    exponential_op("exp", {"Exponentials", "取指数"},
                   {"Makes every score positive and keeps their order; e^(−∞) is exactly 0.",
                    "指数让每一项都变成正数并保持大小顺序；e^(−∞) 恰好等于 0。"});

const Op row_sum = sum_op(
    "row_sum", kSum, {"What all exponentials of a row add up to.", "把这一行的指数全部加起来，作为分母。"},
    R"(\sum_j #1)");
const Op row_sum_sink = sum_op(
    "row_sum_sink", kSum,
    {"What all exponentials of a row add up to, the sink's among them: it takes weight and gives no value.",
     "把这一行的指数全部加起来，再加上汇聚（sink）的一项：它只占权重，不提供值。"},
    R"(\sum_j #1 + e^{@1 - #2})");

const Op normalise{
    .name = "divide",
    .title = {"Weights", "注意力权重"},
    .why = {"Each row divided by its sum: how the query shares out its attention, 1 in all.",
            "每行除以该行的和（softmax）：每个查询把总量为 1 的注意力分给各个键。"},
    .formula = R"(\frac{#1}{#2})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::normalise_rows<T>(in[0], in[1], p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (row_is_empty(q.params, q.row)) return Expression{q.params.empty_row_is_nan ? "nan" : "0"};
          return Expression{Term(0, q.row, q.col), " / ", Term(1, q.row, 0)};
        },
    .reads = {Reads::cell, Reads::row},
    .row_bounds = row_bounds::normalise,
};

const Op weights_without_sinks{
    .name = "renormalise",
    .title = {"For comparison: weights without the first tokens", "对照：不留开头的 token 时的权重"},
    .why = {"What the window would do if it dropped the first tokens: the weight that they take goes to the "
            "keys that are left, each in proportion.",
            "如果窗口不保留开头的 token：它们占的权重会按比例分给剩下的键。"},
    .formula = R"(\frac{#1}{\sum_j #1})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      const MatrixOf<T>& weights = in[0];
      MatrixOf<T> sum(weights.rows(), 1);
      for (Index i = 0; i < weights.rows(); ++i) {
        sum(i, 0) = T(0);
        for (Index j = 0; j < weights.cols(); ++j) {
          if (is_allowed(p, i, j)) sum(i, 0) = sum(i, 0) + weights(i, j);
        }
      }
      return kernels::normalise_rows<T>(weights, sum, p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (row_is_empty(q.params, q.row)) return Expression{q.params.empty_row_is_nan ? "nan" : "0"};
          if (!is_allowed(q.params, q.row, q.col)) return Expression{"0"};
          Expression e{Term(0, q.row, q.col), " / ("};
          bool is_first = true;
          for (Index j = 0; j < q.inputs[0].cols; ++j) {
            if (!is_allowed(q.params, q.row, j)) continue;
            if (!is_first) e.push_back(" + ");
            is_first = false;
            e.push_back(Term(0, q.row, j));
          }
          e.push_back(")");
          return e;
        },
    .reads = {Reads::row},
};

const Op softmax = softmax_op(
    "softmax",
    {"The softmax of each row: every score made positive by e^x, then divided by the sum; 1 in all.",
     "对每一行做 softmax：先用 e^x 把分数变成正数，再除以整行的和，每行加起来为 1。"},
    "softmax(#1)");
const Op softmax_sink = softmax_op(
    "softmax_sink",
    {"The softmax of each row with one more score, the sink's @1, which takes weight and gives no value.",
     "对每一行做 softmax，并多放一个汇聚（sink）分数 @1：它只占权重，不提供值。"},
    "softmax(#1; @1)");

const Op naive_exponential = exponential_op(
    "naive_exp", {"Exponentials without the shift", "不减最大值的指数"},
    {"What the formula says literally. A double overflows from e^709.8 on, and inf / inf is NaN; the shifted "
     "form "
     "never does.",
     "按公式直接取指数。分数超过 709.8 时双精度会溢出成 inf，inf / inf 就是 NaN；先减最大值则不会。"});
const Op naive_sum = sum_op("naive_sum", kNaiveSum, kNaiveSumWhy, R"(\sum_j #1)");
const Op naive_sum_sink = sum_op("naive_sum_sink", kNaiveSum, kNaiveSumWhy, R"(\sum_j #1 + e^{@1})");

}  // namespace qkv::ops

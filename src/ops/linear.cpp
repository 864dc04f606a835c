// Linear attention: the kernel φ(q)·φ(k) in place of the softmax, and the state that sums up all
// keys and values.  With a causal mask the state grows token by token, as in a recurrent network.

#include "ops/linear_kernels.h"
#include "ops/product_rows.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// ---- Feature maps --------------------------------------------------------------------------

constexpr Text kPhiQ{"Features of the queries", "查询的特征"};
constexpr Text kPhiK{"Features of the keys", "键的特征"};

constexpr Text kEluWhy{
    "The feature map φ(x) = elu(x) + 1 of Katharopoulos et al.: x + 1 above 0, e^x below, so always "
    "positive.",
    "特征映射 φ(x) = elu(x) + 1（Katharopoulos 等）：x 大于 0 时是 x + 1，否则是 e^x，所以总是正数。"};
constexpr Text kExpWhy{"The feature map φ(x) = e^x, number by number: always positive.",
                       "特征映射 φ(x) = e^x，逐个数计算：总是正数。"};
constexpr Text kReluWhy{
    "The feature map φ(x) = max(x, 0). Where all features of a query are 0, its denominator is 0 too.",
    "特征映射 φ(x) = max(x, 0)。如果一个查询的特征全是 0，分母也是 0。"};
constexpr Text kIdentityWhy{"The feature map φ(x) = x: products may be negative, so the weights may be too.",
                            "特征映射 φ(x) = x：乘积可能为负，权重也就可能为负。"};

constexpr auto elu = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::elu_plus_1<T>(in[0]);
};
constexpr auto exponentials = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::exp_of<T>(in[0]);
};
constexpr auto positive_part = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  return kernels::relu<T>(in[0]);
};
constexpr auto unchanged = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
  return in[0].get();
};

Expression elu_cell(const CellQuestion& q) {
  return {"max(", Term(0, q.row, q.col), ", 0) + e^(min(", Term(0, q.row, q.col), ", 0))"};
}
Expression exp_cell(const CellQuestion& q) { return {"e^(", Term(0, q.row, q.col), ")"}; }
Expression relu_cell(const CellQuestion& q) { return {"max(", Term(0, q.row, q.col), ", 0)"}; }
Expression identity_cell(const CellQuestion& q) { return {Term(0, q.row, q.col)}; }

constexpr Op phi_op(const char* name, Text title, Text why, std::string_view formula, Kernel kernel,
                    Expression (*cell)(const CellQuestion&), bool is_algebraic) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = formula,
      .kernel = kernel,
      .shape = same_shape,
      .cell = cell,
      .is_algebraic = is_algebraic,
      .reads = {Reads::cell},
  };
}
constexpr Op elu_op(Text title) {
  return phi_op("phi_elu", title, kEluWhy, "elu(#1) + 1", kernel<elu>(), elu_cell, false);
}
constexpr Op exp_op(Text title) {
  return phi_op("phi_exp", title, kExpWhy, "e^{#1}", kernel<exponentials>(), exp_cell, false);
}
constexpr Op relu_op(Text title) {
  return phi_op("phi_relu", title, kReluWhy, R"(\max(#1, 0))", kernel<positive_part>(), relu_cell, true);
}
constexpr Op identity_op(Text title) {
  return phi_op("phi_identity", title, kIdentityWhy, "#1", kernel<unchanged>(), identity_cell, true);
}

}  // namespace

const Op phi_elu_q = elu_op(kPhiQ);
const Op phi_elu_k = elu_op(kPhiK);
const Op phi_exp_q = exp_op(kPhiQ);
const Op phi_exp_k = exp_op(kPhiK);
const Op phi_relu_q = relu_op(kPhiQ);
const Op phi_relu_k = relu_op(kPhiK);
const Op phi_identity_q = identity_op(kPhiQ);
const Op phi_identity_k = identity_op(kPhiK);

// ---- The table of weights, for comparison ------------------------------------------------------

namespace {

Shape queries_by_keys(std::span<const Shape> in, const Params&) { return {in[0].rows, in[1].rows}; }

// Of the sum over a row: the first number, where there is one.
const Number* eps_of(const Params& p) { return p.numbers.empty() ? nullptr : &p.numbers[0]; }

constexpr auto kernel_sums = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  MatrixOf<T> sums = kernels::row_sum<T>(in[0], nullptr, nullptr);
  if (const Number* eps = eps_of(p)) sums.array() += scalar_of<T>(*eps);
  return sums;
};

Expression kernel_sum_cell(const CellQuestion& q) {
  Expression e;
  for (Index j = 0; j < q.inputs[0].cols; ++j) append(e, {j == 0 ? "" : " + ", Term(0, q.row, j)});
  if (const Number* eps = eps_of(q.params)) e.push_back(" + " + eps->text);
  return e;
}

constexpr Op kernel_sum_op(const char* name, Text why, std::string_view formula) {
  return {
      .name = name,
      .title = {"Denominators", "分母"},
      .why = why,
      .formula = formula,
      .kernel = kernel<kernel_sums>(),
      .shape = one_column,
      .cell = kernel_sum_cell,
      .reads = {Reads::row},
  };
}

}  // namespace

const Op kernel_scores{
    .name = "kernel_scores",
    .title = {"Kernel", "核函数的值"},
    .why = {"φ(q)·φ(k) stands where softmax attention has e^(score); a hidden key counts as 0.",
            "φ(q)·φ(k) 取代了 softmax 注意力中的 e^分数；被屏蔽的键算作 0。"},
    .formula = "#1 #2^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::kernel_scores<T>(in[0], in[1], p);
    }>(),
    .shape = queries_by_keys,
    .cell =
        [](const CellQuestion& q) {
          if (!is_allowed(q.params, q.row, q.col)) return Expression{"0"};
          return sum_of_products(
              q.inputs[0].cols, [&](Index r) { return Term(0, q.row, r); },
              [&](Index r) { return Term(1, q.col, r); });
        },
    .reads = {Reads::row, Reads::all},
    .terms = width_of_first,
};

const Op kernel_sum = kernel_sum_op(
    "kernel_sum",
    {"What the kernel of a query adds up to: the normaliser of Katharopoulos et al., which makes the weights "
     "sum to 1.",
     "一个查询的核函数值之和，即 Katharopoulos 等的归一化项：除以它，每行权重之和为 1。"},
    R"(\sum_j #1)");
const Op kernel_sum_eps = kernel_sum_op(
    "kernel_sum_eps",
    {"What the kernel of a query adds up to, and eps = @1 more, so that it is never 0; the weights sum to a "
     "little less than 1.",
     "一个查询的核函数值之和，再加上 eps = @1，避免分母为 0；每行权重之和略小于 1。"},
    R"(\sum_j #1 + @1)");

namespace {

constexpr Op kernel_weights_op(Text why) {
  return {
      .name = "kernel_weights",
      .title = {"Weights", "注意力权重"},
      .why = why,
      .formula = R"(\frac{#1}{#2})",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        return kernels::normalise_rows<T>(in[0], in[1], p);
      }>(),
      .shape = same_shape,
      .cell =
          [](const CellQuestion& q) {
            return Expression{Term(0, q.row, q.col), " / ", Term(1, q.row, 0)};
          },
      .reads = {Reads::cell, Reads::row},
  };
}

}  // namespace

const Op kernel_weights = kernel_weights_op(
    {"For comparison with the softmax: how much of each value the output holds. Linear attention gets "
     "by without this table of all queries and keys.",
     "用来与 softmax 对照：输出里每个值各占多少。线性注意力自己用不到这张 查询×键 的大表。"});

const Op other_order = product_op(
    "other_order", {"For comparison: the other order", "对照：另一种计算顺序"},
    {"(φ(Q)·φ(K)ᵀ)·V, through the table of weights: the same numbers as φ(Q)·(φ(K)ᵀ·V), but the table "
     "grows with the number of queries times keys.",
     "先算权重表，即 (φ(Q)·φ(K)ᵀ)·V：与 φ(Q)·(φ(K)ᵀ·V) 的结果相同，但这张表的大小是 查询数×键数。"});

// The tokens of one pass through the table, because each may see those up to its own.
const Op kernel_weights_in_pass = kernel_weights_op(
    {"How much each token of this pass reads of each. This table is as wide as the pass, and is not kept.",
     "这一遍的 token 彼此各读多少。这张表只有这一遍那么宽，用完不保留。"});
const Op read_in_pass = product_op(
    "other_order", {"Output", "输出"},
    {"The tokens of this pass come together, and each may see those up to its own, so they are read through "
     "the table. Updating the state token by token gives the same.",
     "这一遍的 token 一起处理，每个只能看自己及之前的，所以借助权重表来读。逐个更新状态，结果相同。"});

// ---- The state -------------------------------------------------------------------------------

namespace {

constexpr Op state_op(Text title, Text why) {
  return {
      .name = "state",
      .title = title,
      .why = why,
      .formula = "#1^T #2",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
        return kernels::state_of_keys<T>(in[0], in[1], 0, in[0].get().rows());
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{in[0].cols, in[1].cols};
          },
      .cell =
          [](const CellQuestion& q) {
            return sum_of_products(
                q.inputs[0].rows, [&](Index j) { return Term(0, j, q.row); },
                [&](Index j) { return Term(1, j, q.col); });
          },
      .terms = [](std::span<const Shape> in) { return in[0].rows; },
  };
}

constexpr Op key_sum_op(Text title, Text why) {
  return {
      .name = "key_sum",
      .title = title,
      .why = why,
      .formula = R"(\sum_j #1)",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
        return kernels::sum_of_keys<T>(in[0], 0, in[0].get().rows());
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{1, in[0].cols};
          },
      .cell =
          [](const CellQuestion& q) {
            Expression e;
            for (Index j = 0; j < q.inputs[0].rows; ++j) append(e, {j == 0 ? "" : " + ", Term(0, j, q.col)});
            return e;
          },
  };
}

}  // namespace

const Op state = state_op(
    {"State", "状态"},
    {"φ(K)ᵀ·V first: the sum over all keys of φ(k)ᵀ·v. Its size is features × d_v, however many keys "
     "there are.",
     "先算 φ(K)ᵀ·V：对所有键求 φ(k)ᵀ·v 之和。它的大小是 特征数×d_v，与键的个数无关。"});

const Op key_sum =
    key_sum_op({"Sum of the keys' features", "键的特征之和"},
               {"The sum of φ(k) over all keys, for the denominators.", "所有键的 φ(k) 之和，用来算分母。"});

namespace {

// Of one token: numbers begin with which one it is, counted from 1.
Index token_of(const Params& p) { return static_cast<Index>(p.numbers[0].value) - 1; }

// Which queries are read for, and the eps behind the token's number.
enum class Reading { all, all_eps, token, token_eps };

constexpr bool is_of_token(Reading reading) {
  return reading == Reading::token || reading == Reading::token_eps;
}
template <Reading reading>
const Number* eps_in(const Params& p) {
  if constexpr (reading == Reading::all_eps) return &p.numbers[0];
  if constexpr (reading == Reading::token_eps) return &p.numbers[1];
  return nullptr;
}

template <Reading reading>
constexpr auto state_read = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  const MatrixOf<T>& phi_q = in[0];
  const Index from = is_of_token(reading) ? token_of(p) : 0;
  return kernels::read_state<T>(phi_q, in[1], in[2], from, is_of_token(reading) ? 1 : phi_q.rows(),
                                eps_in<reading>(p));
};

template <Reading reading>
Expression state_read_cell(const CellQuestion& q) {
  const Index row = is_of_token(reading) ? token_of(q.params) : q.row;
  const auto feature = [&](Index r) { return Term(0, row, r); };
  Expression e{"("};
  append(e, sum_of_products(q.inputs[0].cols, feature, [&](Index r) { return Term(1, r, q.col); }));
  e.push_back(") / (");
  append(e, sum_of_products(q.inputs[0].cols, feature, [](Index r) { return Term(2, 0, r); }));
  if (const Number* eps = eps_in<reading>(q.params)) e.push_back(" + " + eps->text);
  e.push_back(")");
  return e;
}

template <Reading reading>
constexpr Op read_op(const char* name, Text title, Text why, std::string_view formula) {
  Op op{
      .name = name,
      .title = title,
      .why = why,
      .formula = formula,
      .kernel = kernel<state_read<reading>>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{is_of_token(reading) ? 1 : in[0].rows, in[1].cols};
          },
      .cell = state_read_cell<reading>,
      .terms = width_of_first,
      .shared_terms = width_of_first,  // φ(q)·z
  };
  if (!is_of_token(reading)) op.reads = {Reads::row, Reads::column};
  return op;
}

constexpr Text kOutput{"Output", "输出"};
constexpr Text kOutputWhy{
    "Each query reads the state: φ(q)·S, divided by φ(q)·z (the normaliser of Katharopoulos et al.; ONNX's "
    "LinearAttention has none).",
    "每个查询去读状态：φ(q)·S，再除以 φ(q)·z（Katharopoulos 等的归一化；ONNX 的 LinearAttention 不除）。"};
constexpr Text kTokenOutput{"Output of this token", "这个 token 的输出"};
constexpr Text kTokenOutputWhy{
    "The token reads the state as it is now: φ(q)·S, divided by φ(q)·z (the normaliser of Katharopoulos et "
    "al.; "
    "ONNX's LinearAttention has none).",
    "这个 token 读此刻的状态：φ(q)·S，再除以 φ(q)·z（Katharopoulos 等的归一化；ONNX 的 LinearAttention "
    "不除）。"};

}  // namespace

const Op read_state = read_op<Reading::all>("read_state", kOutput, kOutputWhy, R"(\frac{#1 #2}{#1 #3^T})");
const Op read_state_eps =
    read_op<Reading::all_eps>("read_state_eps", kOutput, kOutputWhy, R"(\frac{#1 #2}{#1 #3^T + @1})");

// ---- Token by token ----------------------------------------------------------------------------

const Op read_state_of_token = read_op<Reading::token>("read_state_of_token", kTokenOutput, kTokenOutputWhy,
                                                       R"(\frac{#1[@1, :] #2}{#1[@1, :] #3^T})");
const Op read_state_of_token_eps = read_op<Reading::token_eps>(
    "read_state_of_token_eps", kTokenOutput, kTokenOutputWhy, R"(\frac{#1[@1, :] #2}{#1[@1, :] #3^T + @2})");

namespace {

constexpr Text kStateNow{"State after this token", "读完这个 token 后的状态"};
constexpr Text kSumNow{"Sum of the keys' features so far", "到此为止键的特征之和"};
constexpr Text kFirstStateWhy{"The first token makes the state: φ(k)ᵀ·v.",
                              "第一个 token 写下状态：φ(k)ᵀ·v。"};
constexpr Text kNextStateWhy{
    "The token adds its φ(k)ᵀ·v to the state. Keys and values need not be kept: the state does not grow, and "
    "so it cannot hold them all exactly.",
    "这个 token 把自己的 φ(k)ᵀ·v "
    "加进状态。不必保存各个键和值：状态不会变大，也正因此装不下全部精确的内容。"};
constexpr Text kFirstSumWhy{"The first token's φ(k), for the denominator.",
                            "第一个 token 的 φ(k)，用来算分母。"};
constexpr Text kNextSumWhy{"The token's φ(k) is added, for the denominator.",
                           "加上这个 token 的 φ(k)，用来算分母。"};

// φ(k)ᵀ·v of one token.
Index one_product(std::span<const Shape>) { return 1; }

Term key_feature(const CellQuestion& q, int input, Index feature) {
  return Term(input, token_of(q.params), feature);
}

}  // namespace

const Op first_state{
    .name = "first_state",
    .title = kStateNow,
    .why = kFirstStateWhy,
    .formula = "#1[@1, :]^T #2[@1, :]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::state_of_keys<T>(in[0], in[1], token_of(p), 1);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{in[0].cols, in[1].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          return Expression{key_feature(q, 0, q.row), "·", Term(1, token_of(q.params), q.col)};
        },
    .terms = one_product,
};

const Op next_state{
    .name = "next_state",
    .title = kStateNow,
    .why = kNextStateWhy,
    .formula = "#1 + #2[@1, :]^T #3[@1, :]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) -> MatrixOf<T> {
      return in[0].get() + kernels::state_of_keys<T>(in[1], in[2], token_of(p), 1);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, q.col), " + ", key_feature(q, 1, q.row), "·",
                            Term(2, token_of(q.params), q.col)};
        },
    .terms = one_product,
};

const Op first_key_sum{
    .name = "first_key_sum",
    .title = kSumNow,
    .why = kFirstSumWhy,
    .formula = "#1[@1, :]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::sum_of_keys<T>(in[0], token_of(p), 1);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{1, in[0].cols};
        },
    .cell = [](const CellQuestion& q) { return Expression{key_feature(q, 0, q.col)}; },
};

const Op next_key_sum{
    .name = "next_key_sum",
    .title = kSumNow,
    .why = kNextSumWhy,
    .formula = "#1 + #2[@1, :]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) -> MatrixOf<T> {
      return in[0].get() + kernels::sum_of_keys<T>(in[1], token_of(p), 1);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, q.col), " + ", key_feature(q, 1, q.col)};
        },
};

const Op token_rows{
    .name = "token_rows",
    .title = kOutput,
    .why = {"What the tokens have read, one row each.", "把各个 token 读到的结果排成一行一个。"},
    .formula = "rows(#*)",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      MatrixOf<T> result(static_cast<Index>(in.size()), in[0].get().cols());
      for (std::size_t t = 0; t < in.size(); ++t) result.row(static_cast<Index>(t)) = in[t].get();
      return result;
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{static_cast<Index>(in.size()), in[0].cols};
        },
    .cell = [](const CellQuestion& q) { return Expression{Term(static_cast<int>(q.row), 0, q.col)}; },
};

// ---- Pass by pass ------------------------------------------------------------------------------

namespace {

constexpr Text kPassState{"State after this pass", "这一遍之后的状态"};

}  // namespace

const Op pass_state = state_op(
    kPassState,
    {"φ(K)ᵀ·V of the tokens so far. This and z are the whole cache: the next pass gets no key and no value. "
     "Its size is features × d_v, however many tokens come.",
     "到此为止各 token 的 φ(K)ᵀ·V。它和 z 就是全部缓存：下一遍拿不到任何键和值。它的大小是 特征数×d_v，"
     "来多少个 token 都不变。"});
const Op pass_key_sum =
    key_sum_op(kSumNow, {"The sum of φ(k) over the same tokens, for the denominators; kept beside the state.",
                         "同样这些 token 的 φ(k) 之和，用来算分母；与状态一起保留。"});

const Op continued_state{
    .name = "continued_state",
    .title = kPassState,
    .why = {"The state of the pass before, and the new token's φ(k)ᵀ·v added to it. No earlier key or value "
            "is needed; none is kept, so none can be read out exactly.",
            "上一遍留下的状态，加上新 token 的 φ(k)ᵀ·v。不需要之前的任何键和值；它们没有保存，所以也无法原样"
            "读出。"},
    .formula = "#1 + #2^T #3",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
      return in[0].get() + kernels::state_of_keys<T>(in[1], in[2], 0, in[1].get().rows());
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          Expression e{Term(0, q.row, q.col)};
          for (Index j = 0; j < q.inputs[1].rows; ++j)
            append(e, {" + ", Term(1, j, q.row), "·", Term(2, j, q.col)});
          return e;
        },
    .terms = [](std::span<const Shape> in) { return in[1].rows; },
};

const Op continued_key_sum = add_op(kSumNow, {"The sum that the pass before left, and the new token's φ(k).",
                                              "上一遍留下的和，加上新 token 的 φ(k)。"});

}  // namespace qkv::ops

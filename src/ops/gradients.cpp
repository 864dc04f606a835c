// The steps of attention backwards: each row says what the gradient of a step's result makes of
// its inputs.  Which row follows on which step, methods/gradient.cpp knows.  Those of scores that are
// small networks stand in ops/gradients_networks.cpp.

#include "ops/gradient_helpers.h"
#include "ops/gradient_kernels.h"
#include "ops/position_kernels.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// ---- Cells and columns ---------------------------------------------------------------------

std::string number_text(const CellQuestion& q) {
  const std::string& text = q.params.numbers[0].text;
  return text.find_first_of("*/") == std::string::npos ? text : "(" + text + ")";
}

// Of parts side by side that turn alike, the width of one: the number, where there is one.
Index part_width(const Params& p, Index cols) {
  return p.numbers.empty() ? cols : static_cast<Index>(p.numbers[0].value);
}

template <bool is_interleaved>
constexpr Op rotation_back(const char* name) {
  return {
      .name = name,
      .title = {"Gradient, turned back", "梯度：转回去"},
      .why =
          {"A rotation passes its gradient on through its transpose, which is the same rotation backwards.",
           "旋转的转置就是反方向旋转：梯度按同样的角度转回去。"},
      .formula = "rotate(#1; -#2)",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        const MatrixOf<T> backwards = -in[1].get();
        return kernels::rotate<T>(in[0], backwards, is_interleaved, part_width(p, in[0].get().cols()));
      }>(),
      .shape = same_shape,
      .cell =
          [](const CellQuestion& q) {
            const Index pairs = q.inputs[1].cols;
            const Index width = part_width(q.params, q.inputs[0].cols);
            const Index first = q.col / width * width;
            for (Index i = 0; i < pairs; ++i) {
              const auto [in_part_a, in_part_b] = kernels::turning_pair(i, pairs, is_interleaved);
              const Index a = first + in_part_a;
              const Index b = first + in_part_b;
              if (q.col == a) {
                return Expression{Term(0, q.row, a), "·cos(", Term(1, q.row, i), ") + ",
                                  Term(0, q.row, b), "·sin(", Term(1, q.row, i), ")"};
              }
              if (q.col == b) {
                return Expression{Term(0, q.row, b), "·cos(", Term(1, q.row, i), ") − ",
                                  Term(0, q.row, a), "·sin(", Term(1, q.row, i), ")"};
              }
            }
            return Expression{Term(0, q.row, q.col)};
          },
      .is_algebraic = false,
      .reads = {Reads::row, Reads::row},
  };
}

}  // namespace

// ---- The read and the softmax ----------------------------------------------------------------

const Op d_weights = product_with_transpose_op(
    "weights_gradient", {"Gradient of the weights", "权重的梯度"},
    {"A weight matters as much as its value points along the gradient of the output: d.output·Vᵀ. A hidden "
     "key's weight has one too; the softmax will stop it.",
     "输出是权重乘以值，所以权重的梯度就是输出的梯度与值的点积：d.output·Vᵀ。被屏蔽的键也有，到 softmax "
     "那一步才归零。"});
const Op d_values = transpose_times_op(
    "values_gradient", {"Gradient of the values", "值的梯度"},
    {"Each value collects the gradients of all outputs that read it, in the proportion of their weights.",
     "每个值收集所有读过它的输出的梯度，按各自的权重相加：Aᵀ·d.output。"});

const Op d_softmax{
    .name = "softmax_gradient",
    .title = {"Gradient of the scores, back through the softmax", "分数的梯度：穿过 softmax"},
    .why = {"The Jacobian of a softmax row p is diag(p) − p·pᵀ; times dp it is p ∘ (dp − Σ dp·p). Where a "
            "weight is near 0 or 1 nearly nothing gets through; a forbidden key gets exactly 0.",
            "softmax 一行 p 的雅可比矩阵是 diag(p) − p·pᵀ，乘上 dp 就是 p ∘ (dp − Σ dp·p)。权重接近 0 或 1 "
            "时几乎传不过去（饱和）；被屏蔽的键恰好是 0。"},
    .formula = R"(#1 \circ (#2 - \sum_j #1 \circ #2))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::softmax_gradient<T>(in[0], in[1], p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (!is_allowed(q.params, q.row, q.col)) return Expression{"0"};
          Expression e{Term(0, q.row, q.col), "·(", Term(1, q.row, q.col), " − ("};
          bool is_first = true;
          for (Index j = 0; j < q.inputs[0].cols; ++j) {
            if (!is_allowed(q.params, q.row, j)) continue;
            if (!is_first) e.push_back(" + ");
            append(e, {Term(0, q.row, j), "·", Term(1, q.row, j)});
            is_first = false;
          }
          e.push_back("))");
          return e;
        },
    .reads = {Reads::row, Reads::row},
    .terms = width_of_first,
};

const Op softmax_jacobian{
    .name = "softmax_jacobian",
    .title = {"Jacobian of one row of the softmax", "softmax 一行的雅可比矩阵"},
    .why = {"How each weight of row @1 changes with each of its scores: diag(p) − p·pᵀ. Its rows sum to 0, "
            "because raising all scores alike changes nothing.",
            "第 @1 行的每个权重随每个分数怎样变化：diag(p) − p·pᵀ。每行之和为 "
            "0，因为所有分数同时加一个数，权重不变。"},
    .formula = "diag(#1[@1]) - #1[@1]^T #1[@1]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::softmax_jacobian<T>(in[0], first_of(p));
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{in[0].cols, in[0].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          const Index row = first_of(q.params);
          Expression e;
          if (q.row == q.col) append(e, {Term(0, row, q.col), " "});
          append(e, {q.row == q.col ? "− " : "−", Term(0, row, q.row), "·", Term(0, row, q.col)});
          return e;
        },
};

// ---- Between softmax and dot product -----------------------------------------------------------

const Op d_unchanged{
    .name = "same",
    .title = {"Gradient, passed on as it is", "梯度：原样传递"},
    .why = {"A sum, or one matrix in two roles, passes its gradient on to each part unchanged.",
            "加法（或同一个矩阵的两个角色）把梯度原样传给每一部分。"},
    .formula = "#1",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
      return in[0];
    }>(),
    .shape = same_shape,
    .cell = [](const CellQuestion& q) { return Expression{Term(0, q.row, q.col)}; },
    .reads = {Reads::cell},
};

const Op d_temper{
    .name = "temper_gradient",
    .title = {"Gradient, back through the temperature", "梯度：穿过温度"},
    .why = {"What was divided by the temperature passes its gradient on divided by it.",
            "分数除以温度，梯度也除以温度。"},
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
};

const Op d_soft_cap{
    .name = "soft_cap_gradient",
    .title = {"Gradient, back through the cap", "梯度：穿过软上限"},
    .why = {"The slope of @1·tanh(x / @1) is 1 − tanh²: near 1 for small scores, near 0 at the cap.",
            "@1·tanh(x / @1) 的斜率是 1 − tanh²：分数小时接近 1，到上限处接近 0。"},
    .formula = R"(#1 \circ (1 - (\frac{#2}{@1})^2))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::soft_cap_gradient<T>(in[0], in[1], p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (!is_allowed(q.params, q.row, q.col)) return Expression{"0"};
          return Expression{Term(0, q.row, q.col), "·(1 − (", Term(1, q.row, q.col),
                            " / " + number_text(q) + ")²)"};
        },
    .reads = {Reads::cell, Reads::cell},
};

const Op d_scale_by_root{
    .name = "scale_gradient",
    .title = {"Gradient of the scores, back through the scale", "分数的梯度：穿过缩放"},
    .why = {"The scores were divided by √d_k, so their gradient is too.", "分数除以 √d_k，梯度也除以 √d_k。"},
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
};

const Op d_scale_by_factor{
    .name = "scale_by_factor_gradient",
    .title = {"Gradient of the scores, back through the scale", "分数的梯度：穿过缩放"},
    .why = {"The scores were multiplied by the factor, so their gradient is too.",
            "分数乘以缩放因子，梯度也乘以它。"},
    .formula = R"(@1 \cdot #1)",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::multiply<T>(in[0], p.numbers[0]);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{number_text(q) + "·", Term(0, q.row, q.col)};
        },
    .reads = {Reads::cell},
};

// ---- Scores --------------------------------------------------------------------------------

const Op d_queries =
    product_op("queries_gradient", {"Gradient of the queries", "查询的梯度"},
               {"Each query is pulled towards the keys whose scores should grow: d.scores·K.",
                "每个查询被拉向那些分数应当变大的键：d.scores·K。"});
const Op d_keys =
    transpose_times_op("keys_gradient", {"Gradient of the keys", "键的梯度"},
                       {"Each key collects, from every query that scored it, that query: d.scoresᵀ·Q.",
                        "每个键从所有给它打过分的查询那里收集梯度：d.scoresᵀ·Q。"});

const Op d_general_queries{
    .name = "general_queries_gradient",
    .title = {"Gradient of the queries", "查询的梯度"},
    .why = {"Each query is pulled towards the keys, seen through the learned matrix.",
            "每个查询被拉向键，中间隔着可学习的矩阵。"},
    .formula = "#1 #2 #3^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::dot_rows<T>(kernels::project<T>(in[0], in[1]), in[2]);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{in[0].rows, in[2].rows};
        },
    .cell =
        [](const CellQuestion& q) {
          Expression e;
          for (Index c = 0; c < q.inputs[1].cols; ++c) {
            if (c > 0) e.push_back(" + ");
            e.push_back("(");
            append(e, sum_of_products(
                          q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
                          [&](Index k) { return Term(1, k, c); }));
            append(e, {")·", Term(2, q.col, c)});
          }
          return e;
        },
    .reads = {Reads::row, Reads::all, Reads::row_of_column},
    .terms = [](std::span<const Shape> in) -> Index { return (in[0].cols + 1) * in[1].cols; },
};

namespace {

constexpr Op transpose_of_two(const char* name, Text title, Text why) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "#1^T #2 #3",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        return kernels::project<T>(kernels::transposed_product<T>(in[0], in[1], p), in[2]);
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{in[0].cols, in[2].cols};
          },
      .cell =
          [](const CellQuestion& q) {
            Expression e;
            for (Index c = 0; c < q.inputs[1].cols; ++c) {
              if (c > 0) e.push_back(" + ");
              e.push_back("(");
              append(e, transposed_cell({q.params, q.inputs, q.row, c}));
              append(e, {")·", Term(2, c, q.col)});
            }
            return e;
          },
      .reads = {Reads::all, Reads::all, Reads::column},
      .terms = [](std::span<const Shape> in) -> Index { return (in[0].rows + 1) * in[1].cols; },
  };
}

}  // namespace

const Op d_general_keys =
    transpose_of_two("general_keys_gradient", {"Gradient of the keys", "键的梯度"},
                     {"Each key collects the queries that scored it, seen through the learned matrix.",
                      "每个键收集给它打过分的查询，中间隔着可学习的矩阵。"});
const Op d_general_matrix = transpose_of_two(
    "general_matrix_gradient", {"Gradient of the matrix between queries and keys", "查询与键之间矩阵的梯度"},
    {"The matrix learns from every pair of a query and a key, as much as their score matters.",
     "每一对查询和键都按其分数的梯度贡献给这个矩阵。"});

// ---- Projections ---------------------------------------------------------------------------

namespace {
constexpr Text kBeforeProjection{"Gradient, back through the projection", "梯度：穿过投影"};
constexpr Text kBeforeProjectionWhy{
    "What was multiplied by the matrix gets its gradient back through the transposed matrix.",
    "前向乘以矩阵，反向就乘以它的转置。"};
}  // namespace

const Op d_projected =
    product_with_transpose_op("projection_gradient", kBeforeProjection, kBeforeProjectionWhy);
const Op d_linear = product_op("linear_gradient", kBeforeProjection, kBeforeProjectionWhy);
const Op d_parameter = transpose_times_op(
    "parameter_gradient", {"Gradient of the parameter", "参数的梯度"},
    {"All tokens share the parameter, so what each of them contributes is added up: this is what training "
     "changes it by.",
     "所有 token 共用这个参数，各自的贡献加在一起：训练就按它来更新参数。"});
const Op d_bias{
    .name = "bias_gradient",
    .title = {"Gradient of the bias", "偏置的梯度"},
    .why = {"The bias is added to every row, so the gradients of all rows are added up.",
            "偏置加到每一行上，所以把所有行的梯度加起来。"},
    .formula = R"(\sum_i #1)",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::column_sums<T>(in[0]);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{1, in[0].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          Expression e;
          for (Index i = 0; i < q.inputs[0].rows; ++i) {
            if (i > 0) e.push_back(" + ");
            e.push_back(Term(0, i, q.col));
          }
          return e;
        },
};

namespace {

constexpr Text kFused{"Gradient of the fused parameter", "拼合参数的梯度"};
constexpr Text kFusedWhy{
    "W_QKV holds the three parameters, so their gradients lie in its gradient as they lie in it.",
    "W_QKV 由三个参数矩阵拼成，所以三者的梯度也按同样的位置拼成它的梯度。"};

// The parts side by side, or on top of each other as nn.Linear stores them.
template <bool are_rows>
constexpr Op fused_op(const char* name, const char* formula) {
  return {
      .name = name,
      .title = kFused,
      .why = kFusedWhy,
      .formula = formula,
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
        if constexpr (!are_rows) return kernels::join_columns<T>(in);
        Index rows = 0;
        for (const MatrixOf<T>& part : in) rows += part.rows();
        MatrixOf<T> joined(rows, in[0].get().cols());
        Index first = 0;
        for (const MatrixOf<T>& part : in) {
          joined.middleRows(first, part.rows()) = part;
          first += part.rows();
        }
        return joined;
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            Shape shape = in[0];
            for (const Shape& part : in.subspan(1))
              (are_rows ? shape.rows : shape.cols) += are_rows ? part.rows : part.cols;
            return shape;
          },
      .cell =
          [](const CellQuestion& q) {
            Index at = are_rows ? q.row : q.col;
            int input = 0;
            for (const Shape& part : q.inputs) {
              const Index width = are_rows ? part.rows : part.cols;
              if (at < width) break;
              at -= width;
              ++input;
            }
            return Expression{are_rows ? Term(input, at, q.col) : Term(input, q.row, at)};
          },
      .reads = every_input(are_rows ? Reads::all : Reads::row),
  };
}

}  // namespace

const Op d_fused = fused_op<false>("fused_gradient", "[#*]");
const Op d_fused_rows = fused_op<true>("fused_rows_gradient", "[#;]");

// ---- Heads, positions, the cache -------------------------------------------------------------

const Op d_heads{
    .name = "heads_gradient",
    .title = {"Gradient, the heads side by side", "梯度：把各个头拼起来"},
    .why = {"Each head has used its own columns, so their gradients stand side by side.",
            "每个头只用了自己的那几列，所以各头的梯度并排拼回去。"},
    .formula = "[#*]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::join_columns<T>(in);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          Index width = 0;
          for (const Shape& head : in) width += head.cols;
          return Shape{in[0].rows, width};
        },
    .cell =
        [](const CellQuestion& q) {
          const Index d = q.inputs[0].cols;  // the heads are equally wide
          return Expression{Term(static_cast<int>(q.col / d), q.row, q.col % d)};
        },
    .reads = every_input(Reads::row),
};

namespace {

constexpr Op columns_op(const char* name, Text title, Text why) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = "#1[:, @1..@2]",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) -> MatrixOf<T> {
        return in[0].get().middleCols(first_of(p), count_of(p));
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params& p) {
            return Shape{in[0].rows, count_of(p)};
          },
      .cell = [](const CellQuestion& q) { return Expression{Term(0, q.row, first_of(q.params) + q.col)}; },
      .reads = {Reads::row},
  };
}

}  // namespace

const Op d_head_part =
    columns_op("head_part_gradient", {"Gradient of what this head has read", "这个头读到的内容的梯度"},
               {"This head's columns of the gradient: what stood side by side is cut apart again.",
                "取梯度中属于这个头的那几列：前向拼在一起，反向就切开。"});
const Op d_joined_part =
    columns_op("joined_part_gradient", {"Gradient of one of the joined parts", "梯度：拼接的其中一部分"},
               {"The content part and the position part stood side by side; each gets its columns back.",
                "内容部分和位置部分前向并排，反向各取回自己的那几列。"});

const Op d_dropped{
    .name = "dropped_gradient",
    .title = {"Gradient of a dropped head", "被去掉的头的梯度"},
    .why = {"The head's output was replaced by zeros, so nothing flows back into it.",
            "这个头的输出被换成了 0，所以没有梯度流回去。"},
    .formula = "0 \\cdot #1",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
      return MatrixOf<T>::Constant(in[0].get().rows(), in[0].get().cols(), T(0));
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{"0·", Term(0, q.row, q.col)};
        },
    .reads = {Reads::cell},
};

const Op d_rotate_half = rotation_back<false>("rotate_half_gradient");
const Op d_rotate_interleaved = rotation_back<true>("rotate_interleaved_gradient");

const Op d_new_rows{
    .name = "new_rows_gradient",
    .title = {"Gradient of the new rows", "新的行的梯度"},
    .why = {"The cached rows were computed in earlier passes; only the new ones take the gradient further.",
            "缓存的行是早先算好的；只有新的行把梯度继续往回传。"},
    .formula = "#1[@1..@2, :]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) -> MatrixOf<T> {
      return in[0].get().middleRows(first_of(p), count_of(p));
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params& p) {
          return Shape{count_of(p), in[0].cols};
        },
    .cell = [](const CellQuestion& q) { return Expression{Term(0, first_of(q.params) + q.row, q.col)}; },
};

const Op d_sum_of_uses{
    .name = "sum_of_uses",
    .title = {"Gradient, all uses added up", "梯度：各处用途相加"},
    .why = {"What is used in several places gets a gradient back from each of them; they add up.",
            "一个矩阵用在几处，就从每一处得到一份梯度，加在一起。"},
    .formula = "#+",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::add_all<T>(in, Params{.shape = p.shape});
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          Expression e;
          for (std::size_t use = 0; use < q.inputs.size(); ++use) {
            if (use > 0) e.push_back(" + ");
            e.push_back(Term(static_cast<int>(use), q.row, q.col));
          }
          return e;
        },
    .reads = every_input(Reads::cell),
};

}  // namespace qkv::ops

// The scores that are small networks, v_a·tanh(…), backwards: through the sum weighted by v_a, through
// tanh, and to what queries and keys have brought.
//
// The hidden layer has a row for every pair: with m keys row i·m + j is that of query i and key j.

#include <algorithm>

#include "ops/gradient_helpers.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

Index cells_of(const Shape& s) { return s.rows * s.cols; }
Index pairs_of_first(std::span<const Shape> in) { return cells_of(in[0]); }

// numbers: how many keys there are.
Index keys_of(const Params& p) { return static_cast<Index>(p.numbers[0].value); }

enum class Side { queries, keys };

// Of query or key number `own`, the row of the pair with the key or query number `other`.
Index pair_row(Side side, Index keys, Index own, Index other) {
  return side == Side::queries ? own * keys + other : other * keys + own;
}

// Of one query the keys, of one key the queries.
Index others_of(Side side, Index pairs, Index keys) { return side == Side::queries ? keys : pairs / keys; }

template <Side side>
constexpr Op sum_of_pairs(const char* name, Text title, Text why, std::string_view formula) {
  return {
      .name = name,
      .title = title,
      .why = why,
      .formula = formula,
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        const MatrixOf<T>& pairs = in[0];
        const Index others = others_of(side, pairs.rows(), keys_of(p));
        MatrixOf<T> result(pairs.rows() / others, pairs.cols());
        for (Index own = 0; own < result.rows(); ++own) {
          for (Index h = 0; h < result.cols(); ++h) {
            T sum(0);
            for (Index other = 0; other < others; ++other)
              sum += pairs(pair_row(side, keys_of(p), own, other), h);
            result(own, h) = sum;
          }
        }
        return result;
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params& p) {
            return Shape{in[0].rows / others_of(side, in[0].rows, keys_of(p)), in[0].cols};
          },
      .cell =
          [](const CellQuestion& q) {
            const Index others = others_of(side, q.inputs[0].rows, keys_of(q.params));
            Expression e;
            for (Index other = 0; other < others; ++other) {
              if (other > 0) e.push_back(" + ");
              e.push_back(Term(0, pair_row(side, keys_of(q.params), q.row, other), q.col));
            }
            return e;
          },
  };
}

}  // namespace

// ---- Both kinds of network -------------------------------------------------------------------

const Op d_hidden{
    .name = "hidden_gradient",
    .title = {"Gradient of the hidden layer, a row a pair", "隐藏层的梯度：每一对一行"},
    .why = {"A score is the sum of its hidden numbers weighted by v_a, so each of them gets v_a times the "
            "gradient of the score. pairs(·) puts the scores one below the other, a row a pair.",
            "分数是隐藏层用 v_a 加权求和，所以每个数得到 v_a 乘以分数的梯度。pairs(·) "
            "把分数排成一列，每一对一行。"},
    .formula = "pairs(#1) #2",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      const MatrixOf<T>& scores = in[0];
      const MatrixOf<T>& v = in[1];
      MatrixOf<T> result(scores.size(), v.cols());
      for (Index pair = 0; pair < result.rows(); ++pair) {
        for (Index h = 0; h < result.cols(); ++h)
          result(pair, h) = scores(pair / scores.cols(), pair % scores.cols()) * v(0, h);
      }
      return result;
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{cells_of(in[0]), in[1].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          const Index keys = q.inputs[0].cols;
          return Expression{Term(0, q.row / keys, q.row % keys), "·", Term(1, 0, q.col)};
        },
};

const Op d_hidden_vector{
    .name = "hidden_vector_gradient",
    .title = {"Gradient of the vector v_a", "向量 v_a 的梯度"},
    .why = {"v_a weighs the hidden layer of every pair, so each pair adds its hidden row, as much as its "
            "score matters.",
            "v_a 给每一对的隐藏层加权，所以每一对都按其分数的梯度贡献自己那一行隐藏层。"},
    .formula = "pairs(#1)^T #2",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      const MatrixOf<T>& scores = in[0];
      const MatrixOf<T>& hidden = in[1];
      MatrixOf<T> result(1, hidden.cols());
      for (Index h = 0; h < result.cols(); ++h) {
        T sum(0);
        for (Index pair = 0; pair < hidden.rows(); ++pair)
          sum += scores(pair / scores.cols(), pair % scores.cols()) * hidden(pair, h);
        result(0, h) = sum;
      }
      return result;
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{1, in[1].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          const Index keys = q.inputs[0].cols;
          return sum_of_products(
              q.inputs[1].rows, [&](Index pair) { return Term(0, pair / keys, pair % keys); },
              [&](Index pair) { return Term(1, pair, q.col); });
        },
    .reads = {Reads::all, Reads::column},
    .terms = pairs_of_first,
};

const Op d_tanh{
    .name = "tanh_gradient",
    .title = {"Gradient, back through tanh", "梯度：穿过 tanh"},
    .why = {"The slope of tanh is 1 − tanh²: near 1 where tanh is near 0, near 0 where it is near −1 or 1.",
            "tanh 的斜率是 1 − tanh²：tanh 接近 0 时接近 1，接近 −1 或 1 时接近 0。"},
    .formula = R"(#1 \circ (1 - #2^2))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      const MatrixOf<T>& arrived = in[0];
      const MatrixOf<T>& bent = in[1];
      MatrixOf<T> result(arrived.rows(), arrived.cols());
      for (Index i = 0; i < result.rows(); ++i) {
        for (Index h = 0; h < result.cols(); ++h) {
          const T square = bent(i, h) * bent(i, h);
          const T slope = T(1) - square;
          result(i, h) = arrived(i, h) * slope;
        }
      }
      return result;
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, q.col), "·(1 − ", Term(1, q.row, q.col), "²)"};
        },
    .reads = {Reads::cell, Reads::cell},
};

const Op d_pair_queries = sum_of_pairs<Side::queries>(
    "pair_queries_gradient",
    {"Inside the scores: gradient of what the queries bring", "打分内部：查询那一份的梯度"},
    {"A query takes part in its pair with every key; what they send back is added up.",
     "一个查询与每个键各成一对，把这些对传回的梯度加起来。"},
    R"(\sum_j #1)");
const Op d_pair_keys = sum_of_pairs<Side::keys>(
    "pair_keys_gradient", {"Inside the scores: gradient of what the keys bring", "打分内部：键那一份的梯度"},
    {"A key takes part in its pair with every query; what they send back is added up.",
     "一个键与每个查询各成一对，把这些对传回的梯度加起来。"},
    R"(\sum_i #1)");

// ---- Query and key side by side ----------------------------------------------------------------

const Op d_concat_part{
    .name = "concat_part_gradient",
    .title = {"Gradient, back through its part of W_a", "梯度：穿过 W_a 中对应的部分"},
    .why = {"It was multiplied by its own rows of W_a alone, those in the formula; the gradient comes back "
            "through them, transposed.",
            "与它相乘的只是 W_a 中属于它的那几行（见公式）；梯度经过这几行的转置传回来。"},
    .formula = "#1 #2[@1..@2, :]^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      const MatrixOf<T> part = in[1].get().middleRows(first_of(p), count_of(p));
      return kernels::dot_rows<T>(in[0], part);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params& p) {
          return Shape{in[0].rows, count_of(p)};
        },
    .cell =
        [](const CellQuestion& q) {
          return sum_of_products(
              q.inputs[0].cols, [&](Index h) { return Term(0, q.row, h); },
              [&](Index h) { return Term(1, first_of(q.params) + q.col, h); });
        },
    .reads = {Reads::row},
    .terms = width_of_first,
};

const Op d_concat_matrix{
    .name = "concat_matrix_gradient",
    .title = {"Gradient of the matrix W_a", "矩阵 W_a 的梯度"},
    .why =
        {"The upper rows of W_a have met the queries, the lower ones the keys; each learns from what it has "
         "met.",
         "W_a 上面的行乘以查询，下面的行乘以键；各自从自己乘过的向量得到梯度。"},
    .formula = "[#1^T #2; #3^T #4]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      const MatrixOf<T> upper = kernels::transposed_product<T>(in[0], in[1], p);
      const MatrixOf<T> lower = kernels::transposed_product<T>(in[2], in[3], p);
      MatrixOf<T> result(upper.rows() + lower.rows(), upper.cols());
      result.topRows(upper.rows()) = upper;
      result.bottomRows(lower.rows()) = lower;
      return result;
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{in[0].cols + in[2].cols, in[1].cols};
        },
    .cell =
        [](const CellQuestion& q) {
          const Index d_q = q.inputs[0].cols;
          const bool is_upper = q.row < d_q;
          return sum_of_products(
              q.inputs[is_upper ? 0 : 2].rows,
              [&](Index r) { return is_upper ? Term(0, r, q.row) : Term(2, r, q.row - d_q); },
              [&](Index r) { return Term(is_upper ? 1 : 3, r, q.col); });
        },
    .reads = {Reads::all, Reads::column, Reads::all, Reads::column},
    .terms = [](std::span<const Shape> in) -> Index { return std::max(in[0].rows, in[2].rows); },
};

}  // namespace qkv::ops

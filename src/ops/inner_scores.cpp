// What happens inside the scores that are small neural networks, and inside the general one: shown beside
// them, line by line.

#include "ops/product_rows.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// Every query with every key, [n·m, h]: row i·m + j is that of query i and key j.
Shape pairs_shape(std::span<const Shape> in, Index hidden) { return {in[0].rows * in[1].rows, hidden}; }

template <bool is_biased>
constexpr auto hidden_kernel = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
  using std::tanh;
  const MatrixOf<T>& from_query = in[0];
  const MatrixOf<T>& from_key = in[1];
  MatrixOf<T> result(from_query.rows() * from_key.rows(), from_query.cols());
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index h = 0; h < result.cols(); ++h) {
      T inside = from_query(i / from_key.rows(), h) + from_key(i % from_key.rows(), h);
      if constexpr (is_biased) inside += in[2].get()(0, h);
      result(i, h) = T(tanh(inside));
    }
  }
  return result;
};

template <bool is_biased>
constexpr Op hidden_op(const char* name, std::string_view formula) {
  return {
      .name = name,
      .title = {"The hidden layer, a row a pair", "隐藏层：每一对一行"},
      .why = {"What the query and the key bring is added and bent by tanh, between −1 and 1; the score is "
              "its sum "
              "weighted by v_a.",
              "把查询和键各自的贡献相加，再用 tanh 压到 −1 与 1 之间；用 v_a 加权求和就是分数。"},
      .formula = formula,
      .kernel = kernel<hidden_kernel<is_biased>>(),
      .shape = [](std::span<const Shape> in, const Params&) { return pairs_shape(in, in[0].cols); },
      .cell =
          [](const CellQuestion& q) {
            const Index keys = q.inputs[1].rows;
            Expression e{"tanh(", Term(0, q.row / keys, q.col), " + ", Term(1, q.row % keys, q.col)};
            if (is_biased) append(e, {" + ", Term(2, 0, q.col)});
            e.push_back(")");
            return e;
          },
      .is_algebraic = false,
  };
}

}  // namespace

const Op inner_queries = product_op("project", {"Inside the scores: the queries", "打分内部：查询"},
                                    {"What each query brings to the score: its vector times W_a.",
                                     "每个查询对分数的贡献：它的向量乘以 W_a。"});
const Op inner_keys = product_op(
    "project", {"Inside the scores: the keys", "打分内部：键"},
    {"What each key brings to the score: its vector times U_a.", "每个键对分数的贡献：它的向量乘以 U_a。"});
const Op hidden_layer = hidden_op<false>("hidden_layer", R"(\tanh(#1 + #2))");
const Op hidden_layer_biased = hidden_op<true>("hidden_layer_biased", R"(\tanh(#1 + #2 + #3))");

const Op hidden_layer_concat{
    .name = "hidden_layer_concat",
    .title = {"The hidden layer, a row a pair", "隐藏层：每一对一行"},
    .why = {"Query and key side by side, times W_a, bent by tanh; the score is its sum weighted by v_a.",
            "查询和键并排，乘以 W_a，再用 tanh 压缩；用 v_a 加权求和就是分数。"},
    .formula = R"(\tanh([#1; #2] #3))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      const MatrixOf<T>& q = in[0];
      const MatrixOf<T>& w = in[2];
      const MatrixOf<T> from_query = kernels::project<T>(q, w.topRows(q.cols()));
      const MatrixOf<T> from_key = kernels::project<T>(in[1].get(), w.bottomRows(w.rows() - q.cols()));
      return hidden_kernel<false>.template operator()<T>({from_query, from_key}, p);
    }>(),
    .shape = [](std::span<const Shape> in, const Params&) { return pairs_shape(in, in[2].cols); },
    .cell =
        [](const CellQuestion& q) {
          const Index keys = q.inputs[1].rows;
          const Index d_q = q.inputs[0].cols;
          Expression e{"tanh("};
          append(e, sum_of_products(
                        d_q + q.inputs[1].cols,
                        [&](Index k) {
                          return k < d_q ? Term(0, q.row / keys, k) : Term(1, q.row % keys, k - d_q);
                        },
                        [&](Index k) { return Term(2, k, q.col); }));
          e.push_back(")");
          return e;
        },
    .is_algebraic = false,
};

}  // namespace qkv::ops

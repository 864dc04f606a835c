#include "ops/row_bounds.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

constexpr Op same(Text title, Text why) {
  return {
      .name = "same",
      .title = title,
      .why = why,
      .formula = "#1",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) -> MatrixOf<T> {
        return in[0];
      }>(),
      .shape = same_shape,
      .cell = [](const CellQuestion& q) { return Expression{Term(0, q.row, q.col)}; },
      .reads = {Reads::cell},
      .row_bounds = row_bounds::same,
  };
}

}  // namespace

const Op given_tokens =
    given_op({"Input vectors", "输入向量"}, {"One row per token: the vector the token arrives with.",
                                             "每个 token 一行，是它进入这一层时的向量表示。"});
const Op given_q = given_op({"Queries", "查询"}, {"What each token is looking for; given by the problem.",
                                                  "每个 token “我要找什么”；题目给定。"});
const Op given_k = given_op({"Keys", "键"}, {"How each token can be found; given by the problem.",
                                             "每个 token “我能被怎样找到”；题目给定。"});
const Op given_v =
    given_op({"Values", "值"}, {"What each token hands over once it has been found; given by the problem.",
                                "每个 token “被找到时我交出什么”；题目给定。"});
const Op given_scores = given_op(
    {"Scores", "分数（打分）"},
    {"How well each query matches each key; given by the problem.", "每个查询与每个键有多匹配；题目给定。"});
const Op given_scaled =
    given_op({"Scaled scores", "缩放后的分数"},
             {"Scores already scaled; given by the problem.", "已经缩放过的分数；题目给定。"});
const Op given_masked = given_op({"Masked scores", "掩码后的分数"},
                                 {"Scores already masked, −∞ where a key is closed; given by the problem.",
                                  "已经加过掩码的分数，被屏蔽的位置是 −∞；题目给定。"});
const Op given_weights =
    given_op({"Weights", "注意力权重"}, {"How much each query reads from each key; given by the problem.",
                                         "每个查询从每个键读取多少；题目给定。"});

const Op parameter = given_op(
    {"Parameter", "参数"},
    {"A learned matrix, shared by all tokens.", "训练得到的参数矩阵，所有 token 共用。"}, "parameter");
const Op fused_part = given_op(
    {"Parameter, its part of W_QKV", "参数，取自 W_QKV"},
    {"One of the three matrices that W_QKV holds side by side.", "W_QKV 由三个矩阵拼成，这是其中之一。"},
    "parameter");

const Op same_q = same({"Queries", "查询"}, {"What each token is looking for; here simply the same matrix.",
                                             "每个 token “我要找什么”；这里直接用同一个矩阵。"});
const Op same_k = same({"Keys", "键"}, {"How each token can be found; here simply the same matrix.",
                                        "每个 token “我能被怎样找到”；这里直接用同一个矩阵。"});
const Op same_v =
    same({"Values", "值"}, {"What each token hands over once it has been found; here simply the same matrix.",
                            "每个 token “被找到时我交出什么”；这里直接用同一个矩阵。"});

const Op mask_matrix =
    given_op({"Mask matrix", "掩码矩阵"},
             {"0 where the query may look at the key, −∞ where it may not; it will be added to the scores.",
              "允许看的位置写 0，不允许看的位置写 −∞；下一步把它加到分数上。"},
             "mask");

}  // namespace qkv::ops

// Where a token stands: sinusoids or learned vectors added to X, and rotations of Q and K.

#include "ops/pass_kernels.h"
#include "ops/position_kernels.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// numbers: the base, and how many columns turn.
Index turning_columns(const Params& p) { return static_cast<Index>(p.numbers[1].value); }

// Of parts side by side that turn alike, the width of one: the number, where there is one.
Index part_width(const Params& p, Index cols) {
  return p.numbers.empty() ? cols : static_cast<Index>(p.numbers[0].value);
}

template <bool is_interleaved>
constexpr auto rotation = []<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
  return kernels::rotate<T>(in[0], in[1], is_interleaved, part_width(p, in[0].get().cols()));
};

template <bool is_interleaved>
Expression rotated_cell(const CellQuestion& q) {
  const Index pairs = q.inputs[1].cols;
  const Index width = part_width(q.params, q.inputs[0].cols);
  const Index first = q.col / width * width;
  for (Index i = 0; i < pairs; ++i) {
    const auto [in_part_a, in_part_b] = kernels::turning_pair(i, pairs, is_interleaved);
    const Index a = first + in_part_a;
    const Index b = first + in_part_b;
    if (q.col == a) {
      return {Term(0, q.row, a), "·cos(", Term(1, q.row, i), ") − ",
              Term(0, q.row, b), "·sin(", Term(1, q.row, i), ")"};
    }
    if (q.col == b) {
      return {Term(0, q.row, a), "·sin(", Term(1, q.row, i), ") + ",
              Term(0, q.row, b), "·cos(", Term(1, q.row, i), ")"};
    }
  }
  return {Term(0, q.row, q.col)};
}

template <bool is_interleaved>
constexpr Op rotation_op(Text title, Text why) {
  return {
      .name = is_interleaved ? "rotate_interleaved" : "rotate_half",
      .title = title,
      .why = why,
      .formula = "rotate(#1; #2)",
      .kernel = kernel<rotation<is_interleaved>>(),
      .shape = same_shape,
      .cell = rotated_cell<is_interleaved>,
      .is_algebraic = false,
      .reads = {Reads::row, Reads::row},
  };
}

constexpr Text kTurnedQ{"Queries, turned by their positions", "按位置旋转后的查询"};
constexpr Text kTurnedK{"Keys, turned by their positions", "按位置旋转后的键"};
constexpr Text kTurnedQPart{"Position part of the queries, turned", "旋转后的查询位置部分"};
constexpr Text kTurnedKPart{"Position part of the keys, turned", "旋转后的键位置部分"};
constexpr Text kHalfWhy{
    "RoPE, halves: column i turns together with column i + half of the width. A dot product of two such rows "
    "then depends only on how far apart they stand.",
    "RoPE（前后半配对）：第 i 列与后半的第 i 列组成一对，按角度旋转。这样两行的点积只取决于它们相距多远。"};
constexpr Text kInterleavedWhy{
    "RoPE, interleaved: neighbouring columns (1, 2), (3, 4) … turn together. A dot product of two such rows "
    "then depends only on how far apart they stand.",
    "RoPE（相邻配对）：第 1、2 列一对，第 3、4 列一对……按角度旋转。这样两行的点积只取决于它们相距多远。"};

}  // namespace

const Op positions =
    given_op({"Positions", "位置"},
             {"Where each token stands, counted from 0.", "每个 token 所在的位置，从 0 数起。"}, "positions");

const Op turning_angles{
    .name = "angles",
    .title = {"Angles", "旋转角"},
    .why = {"Pair i turns by position / base^(2i/d) radians, i counted from 0: the first pair fast, the last "
            "one slowly.",
            "第 i 对（从 0 数起）转过 位置 / base^(2i/d) 弧度：靠前的转得快，靠后的转得慢。"},
    .formula = R"(\frac{#1}{@1^{2i/@2}})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::angles<T>(in[0], p.numbers[0], turning_columns(p));
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params& p) {
          return Shape{in[0].rows, (turning_columns(p) + 1) / 2};
        },
    .cell =
        [](const CellQuestion& q) {
          return Expression{Term(0, q.row, 0), " / (" + q.params.numbers[0].text + ")^(" +
                                                   std::to_string(2 * q.col) + "/" +
                                                   q.params.numbers[1].text + ")"};
        },
    .is_algebraic = false,
    .reads = {Reads::row},
};

const Op rotate_half_q = rotation_op<false>(kTurnedQ, kHalfWhy);
const Op rotate_half_k = rotation_op<false>(kTurnedK, kHalfWhy);
const Op rotate_interleaved_q = rotation_op<true>(kTurnedQ, kInterleavedWhy);
const Op rotate_interleaved_k = rotation_op<true>(kTurnedK, kInterleavedWhy);
const Op rotate_half_q_part = rotation_op<false>(kTurnedQPart, kHalfWhy);
const Op rotate_half_k_part = rotation_op<false>(kTurnedKPart, kHalfWhy);
const Op rotate_interleaved_q_part = rotation_op<true>(kTurnedQPart, kInterleavedWhy);
const Op rotate_interleaved_k_part = rotation_op<true>(kTurnedKPart, kInterleavedWhy);

const Op sinusoids{
    .name = "sinusoids",
    .title = {"Sinusoidal positions", "正弦位置编码"},
    .why = {"Each position as the sines and cosines of its angles: column 1 sin, column 2 cos of the first "
            "angle, and so on.",
            "用各个角度的正弦和余弦表示位置：第 1 列是第一个角的 sin，第 2 列是它的 cos，依此类推。"},
    .formula = "[sin #1, cos #1]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::sinusoids<T>(in[0], turning_columns(p));
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params& p) {
          return Shape{in[0].rows, turning_columns(p)};
        },
    .cell =
        [](const CellQuestion& q) {
          return Expression{q.col % 2 == 0 ? "sin(" : "cos(", Term(0, q.row, q.col / 2), ")"};
        },
    .is_algebraic = false,
    .reads = {Reads::row},
};

const Op learned_positions =
    given_op({"Learned positions", "可学习的位置编码"},
             {"One learned vector per position.", "每个位置一个学来的向量。"}, "parameter");

const Op add_positions = add_op(
    {"Input vectors with positions", "加上位置的输入向量"},
    {"Attention by itself does not see the order of the tokens; the vector of its position is added to "
     "each.",
     "注意力本身看不见 token 的顺序；给每个 token 加上它所在位置的向量。"});

// ---- The cache -----------------------------------------------------------------------------

namespace {

constexpr Op joined_rows(Text title, Text why) {
  return {
      .name = "append",
      .title = title,
      .why = why,
      .formula = "[#1; #2]",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
        return kernels::stack_rows<T>(in);
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{in[0].rows + in[1].rows, in[0].cols};
          },
      .cell =
          [](const CellQuestion& q) {
            const Index above = q.inputs[0].rows;
            return Expression{q.row < above ? Term(0, q.row, q.col) : Term(1, q.row - above, q.col)};
          },
  };
}

}  // namespace

const Op past_keys = given_op({"Cached keys", "缓存的键"},
                              {"Keys of earlier tokens, computed in earlier passes and kept.",
                               "之前的 token 的键，早先算好并缓存下来。"},
                              "past");
const Op past_values = given_op({"Cached values", "缓存的值"},
                                {"Values of earlier tokens, computed in earlier passes and kept.",
                                 "之前的 token 的值，早先算好并缓存下来。"},
                                "past");
const Op append_keys =
    joined_rows({"Keys, the cached ones first", "键：缓存在前"},
                {"The new keys are appended to the cached ones; nothing old is computed again.",
                 "新的键接在缓存之后；旧的不必重算。"});
const Op append_values =
    joined_rows({"Values, the cached ones first", "值：缓存在前"},
                {"The new values are appended to the cached ones; nothing old is computed again.",
                 "新的值接在缓存之后；旧的不必重算。"});
const Op append_latents =
    joined_rows({"Latents, the cached ones first", "隐向量：缓存在前"},
                {"The new latent is appended to the cached ones. The cache holds no key and no value, only "
                 "the latents and the position parts.",
                 "新的隐向量接在缓存之后。缓存里没有键和值，只有隐向量和位置部分。"});
const Op append_key_positions =
    joined_rows({"Position parts of the keys, the cached ones first", "键的位置部分：缓存在前"},
                {"The new token's is appended; the cached ones are turned already, and stay as they are.",
                 "新 token 的接在缓存之后；缓存的已经旋转好，不再改动。"});

}  // namespace qkv::ops

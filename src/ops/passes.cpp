// Work in pieces: the rows of one pass or tile, what is kept of a cache, and running sums.

#include "ops/pass_kernels.h"
#include "ops/product_rows.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// numbers: the rows that are taken, counted from 1.
Index taken_row(const Params& p, Index i) {
  return static_cast<Index>(p.numbers[static_cast<std::size_t>(i)].value) - 1;
}

constexpr Op rows_of(Text title, Text why) {
  return {
      .name = "rows",
      .title = title,
      .why = why,
      .formula = "#1[rows]",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        MatrixOf<T> result(static_cast<Index>(p.numbers.size()), in[0].get().cols());
        for (Index i = 0; i < result.rows(); ++i) result.row(i) = in[0].get().row(taken_row(p, i));
        return result;
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params& p) {
            return Shape{static_cast<Index>(p.numbers.size()), in[0].cols};
          },
      .cell = [](const CellQuestion& q) { return Expression{Term(0, taken_row(q.params, q.row), q.col)}; },
  };
}

constexpr Op stacked(Text title, Text why) {
  return {
      .name = "stack",
      .title = title,
      .why = why,
      .formula = "[#;]",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
        return kernels::stack_rows<T>(in);
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            Index rows = 0;
            for (const Shape& part : in) rows += part.rows;
            return Shape{rows, in[0].cols};
          },
      .cell =
          [](const CellQuestion& q) {
            Index row = q.row;
            std::size_t part = 0;
            while (row >= q.inputs[part].rows) row -= q.inputs[part++].rows;
            return Expression{Term(static_cast<int>(part), row, q.col)};
          },
  };
}

bool is_empty_row(const CellQuestion& q) { return row_is_empty(q.params, q.row); }

}  // namespace

// ---- Decoding ------------------------------------------------------------------------------

const Op new_x = rows_of({"Tokens of this pass", "这一遍的 token"},
                         {"Only what is new enters; what was computed for earlier tokens is in the cache.",
                          "只处理新来的 token；之前的 token 算过的都在缓存里。"});
const Op new_q =
    rows_of({"Queries of this pass", "这一遍的查询"},
            {"Only new tokens ask: earlier queries have had their answer, and nothing later needs "
             "them again. That is why queries are not cached.",
             "只有新 token 发出查询：之前的查询已经得到答案，后面再也用不到，所以不缓存查询。"});
const Op new_k =
    rows_of({"Keys of this pass", "这一遍的键"},
            {"The new tokens' keys, to be appended to the cache.", "新 token 的键，接下来要放进缓存。"});
const Op new_v =
    rows_of({"Values of this pass", "这一遍的值"},
            {"The new tokens' values, to be appended to the cache.", "新 token 的值，接下来要放进缓存。"});
const Op new_k_for_state =
    rows_of({"Keys of this pass", "这一遍的键"},
            {"The new tokens' keys. Once they have been added to the state they are not needed any more.",
             "新 token 的键；加进状态之后就不再需要。"});
const Op new_v_for_state =
    rows_of({"Values of this pass", "这一遍的值"},
            {"The new tokens' values, to be added to the state together with their keys.",
             "新 token 的值，与各自的键一起加进状态。"});
const Op kept_keys = rows_of({"Keys that stay in the cache", "留在缓存里的键"},
                             {"No query from here on may look at the others, so they are evicted.",
                              "从这里往后的查询都不能再看其余的键，所以把它们逐出缓存。"});
const Op kept_values = rows_of({"Values that stay in the cache", "留在缓存里的值"},
                               {"Evicted together with their keys.", "与对应的键一起逐出。"});
const Op kept_latents = rows_of({"Latents that stay in the cache", "留在缓存里的隐向量"},
                                {"No query from here on may look at the keys and values of the others, so "
                                 "their latents are evicted.",
                                 "从这里往后的查询都不能再看其余的键和值，所以把它们的隐向量逐出缓存。"});
const Op kept_key_positions = rows_of({"Position parts that stay in the cache", "留在缓存里的位置部分"},
                                      {"Evicted together with their latents.", "与对应的隐向量一起逐出。"});
const Op decoded =
    stacked({"All tokens, row by row", "逐个 token 的结果合在一起"},
            {"The results of the passes below one another; a full causal pass gives the same rows.",
             "把各次计算的结果上下排好；一次完整的因果计算得到同样的各行。"});

// ---- Layers and hops -----------------------------------------------------------------------

const Op add_residual =
    add_op({"Residual stream", "残差流"},
           {"What the layer has read is added to what came in; nothing that came in is lost.",
            "把这一层读到的内容加到它的输入上；原来的内容不会丢。"});
const Op next_query = add_op({"The query of the next read", "下一次读取的查询"},
                             {"What was read is added to the query, and the memory is asked again.",
                              "把读到的内容加到查询上，再去问一次记忆。"});

// ---- Tiles ---------------------------------------------------------------------------------

const Op tile_q = rows_of({"Queries of the tile", "这一块的查询"},
                          {"The rows of Q that this tile works on.", "这一块用到的 Q 的各行。"});
const Op tile_k = rows_of({"Keys of the tile", "这一块的键"},
                          {"The rows of K that are loaded for this tile.", "这一块载入的 K 的各行。"});
const Op tile_v = rows_of({"Values of the tile", "这一块的值"},
                          {"The rows of V that are loaded for this tile.", "这一块载入的 V 的各行。"});

const Op running_max{
    .name = "running_max",
    .title = {"Running maximum", "目前的最大值"},
    .why = {"The largest score of each row so far: of earlier tiles and of this one.",
            "每一行到目前为止的最大分数：之前各块与这一块中最大的。"},
    .formula = R"(\max(#2, \max_j #1))",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::running_max<T>(in[0], in[1], p);
    }>(),
    .shape = one_column,
    .cell =
        [](const CellQuestion& q) {
          Expression e{"max(", Term(1, q.row, 0)};
          for (Index j = 0; j < q.inputs[0].cols; ++j) {
            if (is_allowed(q.params, q.row, j)) append(e, {", ", Term(0, q.row, j)});
          }
          e.push_back(")");
          return e;
        },
    .reads = {Reads::row, Reads::row},
};

const Op rescale{
    .name = "rescale",
    .title = {"Rescaling of what came before", "旧结果的缩放系数"},
    .why = {"The sums so far were taken relative to the old maximum; e^(old − new) brings them to the new "
            "one. 1 "
            "where the maximum has not changed.",
            "之前的和是相对旧最大值算的；乘以 e^(旧 − 新) 换算到新最大值。最大值没变时为 1。"},
    .formula = "e^{#1 - #2}",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::rescale<T>(in[0], in[1]);
    }>(),
    .shape = one_column,
    .cell =
        [](const CellQuestion& q) {
          return Expression{"e^(", Term(0, q.row, 0), " − ", Term(1, q.row, 0), ")"};
        },
    .is_algebraic = false,
    .reads = {Reads::cell, Reads::cell},
};

const Op running_sum{
    .name = "running_sum",
    .title = {"Running sum", "目前的和"},
    .why = {"The sum so far, rescaled, plus this tile's exponentials.",
            "之前的和先缩放，再加上这一块的指数之和。"},
    .formula = R"(#1 #2 + \sum_j #3)",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::running_sum<T>(in[0], in[1], in[2]);
    }>(),
    .shape = one_column,
    .cell =
        [](const CellQuestion& q) {
          Expression e{Term(0, q.row, 0), "·", Term(1, q.row, 0)};
          for (Index j = 0; j < q.inputs[2].cols; ++j) append(e, {" + ", Term(2, q.row, j)});
          return e;
        },
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row, Reads::row},
};

const Op tile_read{
    .name = "tile_read",
    .title = {"Accumulator", "累加器"},
    .why = {"The exponentials times the values, not yet divided by the sum.",
            "指数乘以值再相加，还没有除以和。"},
    .formula = "#1 #2",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::weighted_sum<T>(in[0], in[1], p);
    }>(),
    .shape = product_shape,
    .cell = product_cell,
    .is_algebraic = false,
    .reads = {Reads::row, Reads::column},
    .terms = width_of_first,
};

const Op running_read{
    .name = "running_read",
    .title = {"Accumulator", "累加器"},
    .why = {"The accumulator so far, rescaled, plus this tile's exponentials times its values.",
            "之前的累加结果先缩放，再加上这一块的指数乘以值。"},
    .formula = "#2 #1 + #3 #4",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::running_read<T>(in[0], in[1], in[2], in[3], p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          Expression e{Term(1, q.row, 0), "·", Term(0, q.row, q.col)};
          for (Index j = 0; j < q.inputs[2].cols; ++j)
            append(e, {" + ", Term(2, q.row, j), "·", Term(3, j, q.col)});
          return e;
        },
    .is_algebraic = false,
    // All of the values, not one column: the accumulator comes with the whole row.
    .reads = {Reads::row, Reads::row, Reads::row, Reads::all},
    .terms = [](std::span<const Shape> in) -> Index { return in[2].cols + 1; },
};

const Op finish_read{
    .name = "finish",
    .title = {"Output of these queries", "这些查询的输出"},
    .why = {"One division at the very end: the accumulator by the sum.", "最后只除一次：累加器除以和。"},
    .formula = R"(\frac{#1}{#2})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::divide_rows<T>(in[0], in[1], p);
    }>(),
    .shape = same_shape,
    .cell =
        [](const CellQuestion& q) {
          if (is_empty_row(q)) return Expression{q.params.empty_row_is_nan ? "nan" : "0"};
          return Expression{Term(0, q.row, q.col), " / ", Term(1, q.row, 0)};
        },
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row},
};

// numbers: the most numbers held at once, the cells of the whole table, tiles skipped.
const Op tiled =
    stacked({"Output", "输出"},
            {"The outputs of all queries. At no time were more than @1 numbers held; the @2 scores of "
             "the whole table were never written. Tiles skipped because every key in them is "
             "hidden: @3.",
             "所有查询的输出。任何时候最多只保存 @1 个数；整张分数表的 @2 个数从未写出。"
             "因所有键都被屏蔽而跳过的块：@3 个。"});

}  // namespace qkv::ops

// Several heads: the wide Q, K and V are cut into heads, and what the heads read is joined again.
//
// Frameworks do it with view and transpose.  The transpose matters: a flat list of numbers that is
// cut without it gives pieces of several tokens to one head.  What that would look like stands
// beside, as `…view`.

#include "ops/row_bounds.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

// numbers: the first and the last column, counted from 1.
Index first_column(const Params& p) { return static_cast<Index>(p.numbers[0].value) - 1; }
Index column_count(const Params& p) { return static_cast<Index>(p.numbers[1].value) - first_column(p); }

constexpr Op head_of(Text title, Text why) {
  return {
      .name = "head",
      .title = title,
      .why = why,
      .formula = "#1[:, @1..@2]",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) -> MatrixOf<T> {
        return in[0].get().middleCols(first_column(p) * p.basis, column_count(p) * p.basis);
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params& p) {
            return Shape{in[0].rows, column_count(p) * p.basis};
          },
      .cell =
          [](const CellQuestion& q) { return Expression{Term(0, q.row, first_column(q.params) + q.col)}; },
      .reads = {Reads::row},
      .row_bounds = row_bounds::same,
  };
}

// numbers: which head, how many, counted from 1.
Index head_index(const Params& p) { return static_cast<Index>(p.numbers[0].value) - 1; }
Index head_count(const Params& p) { return static_cast<Index>(p.numbers[1].value); }

Shape joined_shape(std::span<const Shape> in, const Params&) {
  Index width = 0;
  for (const Shape& head : in) width += head.cols;
  return {in[0].rows, width};
}

}  // namespace

const Op head_q =
    head_of({"Queries of this head", "这个头的查询"}, {"This head's columns of Q: every token keeps its row.",
                                                       "取 Q 中属于这个头的那几列：每个 token 仍占一行。"});
const Op head_k = head_of({"Keys of this head", "这个头的键"},
                          {"The columns of K that this head reads.", "取 K 中这个头要读的那几列。"});
const Op head_v = head_of({"Values of this head", "这个头的值"},
                          {"The columns of V that this head reads.", "取 V 中这个头要读的那几列。"});

const Op head_view{
    .name = "view",
    .title = {"For comparison: view without the transpose", "对照：只 view、不转置"},
    .why = {"The same numbers in the same order, cut into heads of n rows without transposing: rows of "
            "different tokens get mixed, so this is not the head.",
            "同样的数按原来的顺序直接切成若干头，没有转置：不同 token 的片段混到了一起，所以这不是这个头。"},
    .formula = "#1",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::cut_flat<T>(in[0], head_index(p), head_count(p));
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params& p) {
          return Shape{in[0].rows, in[0].cols / head_count(p)};
        },
    .cell =
        [](const CellQuestion& q) {
          const Index d = q.inputs[0].cols / head_count(q.params);
          const Index flat = (head_index(q.params) * q.inputs[0].rows + q.row) * d + q.col;
          return Expression{Term(0, flat / q.inputs[0].cols, flat % q.inputs[0].cols)};
        },
};

const Op kv_map =
    given_op({"Which keys and values each head reads", "每个头读哪一组键和值"},
             {"Several query heads share one head of keys and values: neighbouring heads form a group (1 1 2 "
              "2, not 1 2 1 2).",
              "几个查询头共用一组键和值：相邻的头属于同一组（1 1 2 2，而不是 1 2 1 2）。"},
             "kv_map");

const Op drop_head{
    .name = "drop_head",
    .title = {"The head is dropped", "去掉这个头"},
    .why = {"What this head has read is replaced by zeros, as if the head were not there.",
            "这个头读出的内容全部换成 0，相当于没有这个头。"},
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

const Op concat{
    .name = "concat",
    .title = {"The heads side by side", "把各个头拼起来"},
    .why = {"What the heads have read, one beside the other in each token's row.",
            "同一个 token 在各个头读到的内容并排放在它那一行。"},
    .formula = "[#*]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::join_columns<T>(in);
    }>(),
    .shape = joined_shape,
    .cell =
        [](const CellQuestion& q) {
          const Index d = q.inputs[0].cols;  // the heads are equally wide
          return Expression{Term(static_cast<int>(q.col / d), q.row, q.col % d)};
        },
    .reads = every_input(Reads::row),
    .row_bounds = row_bounds::side_by_side,
};

const Op concat_view{
    .name = "joined_view",
    .title = {"For comparison: joined without the transpose", "对照：不转置就拼接"},
    .why = {"The heads' numbers one head after the other, cut into rows without transposing back: the right "
            "numbers in the wrong places.",
            "各个头的数首尾相接，没有转置回来就切成行：数都对，位置不对。"},
    .formula = "[#*]",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
      return kernels::join_flat<T>(in, p.basis);
    }>(),
    .shape = joined_shape,
    .cell =
        [](const CellQuestion& q) {
          const Shape head = q.inputs[0];
          const Index width = head.cols * static_cast<Index>(q.inputs.size());
          const Index flat = q.row * width + q.col;
          const Index within = flat % (head.rows * head.cols);
          return Expression{
              Term(static_cast<int>(flat / (head.rows * head.cols)), within / head.cols, within % head.cols)};
        },
};

const Op row_distance{
    .name = "row_distance",
    .title = {"How far the output has moved", "输出移动了多远"},
    .why = {"The distance between each row with and without the dropped heads.",
            "每一行在去掉这些头前后的距离。"},
    .formula = R"(\sqrt{\sum_j (#1 - #2)^2})",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::row_distance<T>(in[0], in[1]);
    }>(),
    .shape = one_column,
    .cell =
        [](const CellQuestion& q) {
          Expression e{"√("};
          for (Index j = 0; j < q.inputs[0].cols; ++j) {
            append(e, {j == 0 ? "(" : " + (", Term(0, q.row, j), " − ", Term(1, q.row, j), ")²"});
          }
          e.push_back(")");
          return e;
        },
    .is_algebraic = false,
    .reads = {Reads::row, Reads::row},
    .terms = width_of_first,
};

}  // namespace qkv::ops

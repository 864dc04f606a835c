// Multi-head latent attention: keys and values compressed into one short vector per token, which is
// all that is cached, and restored when they are used.   DeepSeek-V2, 2024, section 2.1.

#include "ops/projection.h"
#include "ops/row_helpers.h"
#include "ops/rows.h"

namespace qkv::ops {
namespace {

constexpr Text kLatent{"Latent of keys and values", "键和值的隐向量"};
constexpr Text kLatentWhy{
    "Keys and values of all heads, compressed into one short vector per token; this is what gets cached. "
    "DeepSeek normalises it as well; here it is the plain product.",
    "把所有头的键和值压缩成每个 token 一个低维的隐向量，缓存的就是它。DeepSeek "
    "还会对它做归一化，这里只做乘法。"};
constexpr Text kQueryLatent{"Latent of the queries", "查询的隐向量"};
constexpr Text kQueryLatentWhy{
    "The queries are compressed as well. That makes the weights smaller, not the cache: queries are not "
    "kept.",
    "查询也先压缩。省的是参数，不是缓存：查询本来就不缓存。"};
constexpr Text kKeys{"Keys restored", "还原出的键"};
constexpr Text kKeysWhy{"The keys of all heads side by side, restored from the latent: multiplied by W_UK.",
                        "由隐向量还原出所有头的键，并排放在一起：乘以 W_UK。"};
constexpr Text kValues{"Values restored", "还原出的值"};
constexpr Text kValuesWhy{
    "The values of all heads side by side, restored from the same latent: multiplied by W_UV.",
    "由同一个隐向量还原出所有头的值，并排放在一起：乘以 W_UV。"};
constexpr Text kKeysAgain{"Keys restored from the cache", "由缓存还原出的键"};
constexpr Text kKeysAgainWhy{
    "The keys of earlier tokens are not kept: they are restored from the cached latents again, in every "
    "pass. Storage is saved, work is not; --detail full shows how that can be avoided too.",
    "之前各 token 的键没有保存，每次都由缓存的隐向量重新还原。省的是存储，不是计算；--detail full "
    "显示怎样连这一步也省掉。"};
constexpr Text kValuesAgain{"Values restored from the cache", "由缓存还原出的值"};
constexpr Text kValuesAgainWhy{"The same for the values, from the same latents.",
                               "值也一样，由同一批隐向量重新还原。"};
constexpr Text kQueries{"Queries of all heads", "所有头的查询"};
constexpr Text kQueriesWhy{"What each token is looking for, of all heads side by side: multiplied by W_UQ.",
                           "每个 token “我要找什么”，所有头并排放在一起：乘以 W_UQ。"};
constexpr Text kKeyPosition{"Position part of the keys", "键的位置部分"};
constexpr Text kKeyPositionWhy{
    "RoPE gets columns of its own, because a turned key could no longer be restored from the latent alone. "
    "One part serves all heads.",
    "RoPE 单独占几列，因为旋转过的键无法只凭隐向量还原。所有头共用这一份。"};
constexpr Text kQueryPosition{"Position part of the queries", "查询的位置部分"};
constexpr Text kQueryPositionWhy{"The columns of the queries that meet them, a part for each head.",
                                 "查询里与之对应的几列，每个头各有一份。"};

constexpr Op plain(Text title, Text why) {
  return projection_op<Stored::as_written, false>("project", title, why);
}
constexpr Op linear(Text title, Text why) {
  return projection_op<Stored::as_linear, false>("linear", title, why);
}

// numbers: the first and the last column of the first input, then of the second.
Index first_column(const Params& p, std::size_t input) {
  return static_cast<Index>(p.numbers[2 * input].value) - 1;
}
Index column_count(const Params& p, std::size_t input) {
  return static_cast<Index>(p.numbers[2 * input + 1].value) - first_column(p, input);
}

constexpr Op joined_parts(Text title, Text why) {
  return {
      .name = "join_parts",
      .title = title,
      .why = why,
      .formula = "[#1[:, @1..@2], #2[:, @3..@4]]",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        const MatrixOf<T> content = in[0].get().middleCols(first_column(p, 0), column_count(p, 0));
        const MatrixOf<T> position = in[1].get().middleCols(first_column(p, 1), column_count(p, 1));
        return kernels::join_columns<T>({content, position});
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params& p) {
            return Shape{in[0].rows, column_count(p, 0) + column_count(p, 1)};
          },
      .cell =
          [](const CellQuestion& q) {
            const Index content = column_count(q.params, 0);
            const bool is_content = q.col < content;
            return Expression{is_content ? Term(0, q.row, first_column(q.params, 0) + q.col)
                                         : Term(1, q.row, first_column(q.params, 1) + q.col - content)};
          },
      .reads = {Reads::row, Reads::row},
  };
}

constexpr Op widths(Text title, Text why) {
  return {
      .name = "widths",
      .title = title,
      .why = why,
      .formula = "width(#*)",
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
        MatrixOf<T> result(1, static_cast<Index>(in.size()));
        for (std::size_t i = 0; i < in.size(); ++i)
          result(0, static_cast<Index>(i)) = T(static_cast<double>(in[i].get().cols()));
        return result;
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{1, static_cast<Index>(in.size())};
          },
      .cell =
          [](const CellQuestion& q) {
            return Expression{std::to_string(q.inputs[static_cast<std::size_t>(q.col)].cols)};
          },
  };
}

// ---- From the cache alone ----

constexpr Text kAbsorbed{"For comparison: the query taken to the latent", "对照：把查询变换到隐向量一侧"};
constexpr Text kAbsorbedWhy{
    "q·(c·W_UK)ᵀ = (q·W_UKᵀ)·cᵀ: W_UK can go to the query, and then no key need be restored.",
    "q·(c·W_UK)ᵀ = (q·W_UKᵀ)·cᵀ：W_UK 可以并到查询一侧，这样就不必还原键。"};
constexpr Text kCachedOutput{"For comparison: output from the cache", "对照：直接用缓存算出的输出"};
constexpr Text kCachedOutputWhy{
    "weights·(c·W_UV) = (weights·c)·W_UV: the latents are mixed first, and no value need be restored.",
    "weights·(c·W_UV) = (weights·c)·W_UV：先混合隐向量，就不必还原值。"};

// The columns that W makes for this head; where W is stored as nn.Linear does, its rows.
template <Stored stored, class T>
MatrixOf<T> part_of_weights(const MatrixOf<T>& w, const Params& p) {
  if constexpr (stored == Stored::as_linear) {
    return w.middleRows(first_column(p, 0), column_count(p, 0)).transpose();
  } else {
    return w.middleCols(first_column(p, 0), column_count(p, 0));
  }
}
template <Stored stored>
Term weight(int input, Index latent, Index column) {
  return stored == Stored::as_linear ? Term(input, column, latent) : Term(input, latent, column);
}
Index latent_width(Stored stored, const Shape& w) { return stored == Stored::as_linear ? w.cols : w.rows; }

template <Stored stored>
constexpr Op absorbed_op(const char* name, std::string_view formula) {
  return {
      .name = name,
      .title = kAbsorbed,
      .why = kAbsorbedWhy,
      .formula = formula,
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        const MatrixOf<T> q = in[0].get().middleCols(first_column(p, 0), column_count(p, 0));
        const MatrixOf<T> w = part_of_weights<stored, T>(in[1], p);
        return kernels::dot_rows<T>(q, w);
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params&) {
            return Shape{in[0].rows, latent_width(stored, in[1])};
          },
      .cell =
          [](const CellQuestion& q) {
            const Index first = first_column(q.params, 0);
            return sum_of_products(
                column_count(q.params, 0), [&](Index k) { return Term(0, q.row, first + k); },
                [&](Index k) { return weight<stored>(1, q.col, first + k); });
          },
      .reads = {Reads::row},
      .terms = width_of_first,
  };
}

template <Stored stored>
constexpr Op cached_output_op(const char* name, std::string_view formula) {
  return {
      .name = name,
      .title = kCachedOutput,
      .why = kCachedOutputWhy,
      .formula = formula,
      .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params& p) {
        const MatrixOf<T> w = part_of_weights<stored, T>(in[2], p);
        return kernels::project<T>(kernels::project<T>(in[0], in[1]), w);
      }>(),
      .shape =
          [](std::span<const Shape> in, const Params& p) {
            return Shape{in[0].rows, column_count(p, 0)};
          },
      .cell =
          [](const CellQuestion& q) {
            Expression e;
            for (Index r = 0; r < q.inputs[1].cols; ++r) {
              e.push_back(r == 0 ? "(" : " + (");
              append(e, sum_of_products(
                            q.inputs[0].cols, [&](Index j) { return Term(0, q.row, j); },
                            [&](Index j) { return Term(1, j, r); }));
              append(e, {")·", weight<stored>(2, r, first_column(q.params, 0) + q.col)});
            }
            return e;
          },
      .reads = {Reads::row},
      .terms = [](std::span<const Shape> in) -> Index { return (in[0].cols + 1) * in[1].cols; },
  };
}

}  // namespace

const Op latent = plain(kLatent, kLatentWhy);
const Op latent_linear = linear(kLatent, kLatentWhy);
const Op query_latent = plain(kQueryLatent, kQueryLatentWhy);
const Op query_latent_linear = linear(kQueryLatent, kQueryLatentWhy);
const Op restored_keys = plain(kKeys, kKeysWhy);
const Op restored_keys_linear = linear(kKeys, kKeysWhy);
const Op restored_values = plain(kValues, kValuesWhy);
const Op restored_values_linear = linear(kValues, kValuesWhy);
const Op keys_from_cache = plain(kKeysAgain, kKeysAgainWhy);
const Op keys_from_cache_linear = linear(kKeysAgain, kKeysAgainWhy);
const Op values_from_cache = plain(kValuesAgain, kValuesAgainWhy);
const Op values_from_cache_linear = linear(kValuesAgain, kValuesAgainWhy);
const Op restored_queries = plain(kQueries, kQueriesWhy);
const Op restored_queries_linear = linear(kQueries, kQueriesWhy);
const Op key_position = plain(kKeyPosition, kKeyPositionWhy);
const Op key_position_linear = linear(kKeyPosition, kKeyPositionWhy);
const Op query_position = plain(kQueryPosition, kQueryPositionWhy);
const Op query_position_linear = linear(kQueryPosition, kQueryPositionWhy);

const Op latent_head_q =
    joined_parts({"Queries of this head", "这个头的查询"},
                 {"This head's columns, its position part behind them; d_k is the width of both together.",
                  "这个头的那几列，后面接上它的位置部分；d_k 是两部分合起来的宽度。"});
const Op latent_head_k =
    joined_parts({"Keys of this head", "这个头的键"},
                 {"This head's columns of the restored keys, and behind them the position part of all heads.",
                  "还原出的键中属于这个头的那几列，后面接上所有头共用的位置部分。"});

const Op cached_latent =
    widths({"Cached per token", "每个 token 要缓存的数"},
           {"How many numbers a token leaves in the cache: the latent, and the position part of its key.",
            "每个 token 在缓存里留下多少个数：隐向量，加上键的位置部分。"});
const Op cached_plain =
    widths({"For comparison: cached by plain attention", "对照：普通多头注意力要缓存的数"},
           {"How many numbers it would be if every head kept its key and its value.",
            "如果每个头都缓存自己的键和值，要存多少个数。"});

const Op cached_key = joined_parts(
    {"For comparison: what is cached, as keys", "对照：把缓存的内容当作键"},
    {"The latent and the position part, side by side: one key that all heads share, as in multi-query "
     "attention.",
     "隐向量与位置部分并排：所有头共用的一个键，就像多查询注意力（MQA）。"});
const Op absorbed_query = absorbed_op<Stored::as_written>("absorbed_query", "#1[:, @1..@2] #2[:, @1..@2]^T");
const Op absorbed_query_linear =
    absorbed_op<Stored::as_linear>("absorbed_query_linear", "#1[:, @1..@2] #2[@1..@2, :]");
const Op absorbed_head_q =
    joined_parts({"For comparison: queries for what is cached", "对照：直接查缓存的查询"},
                 {"The query taken to the latent, its position part behind it.",
                  "变换到隐向量一侧的查询，后面接上它的位置部分。"});
const Op cached_scores{
    .name = "cached_scores",
    .title = {"For comparison: scores from the cache", "对照：直接用缓存算出的分数"},
    .why = {"The same scores as with restored keys, from the cached numbers alone.",
            "只用缓存的数，得到与还原键之后同样的分数。"},
    .formula = "#1 #2^T",
    .kernel = kernel<[]<class T>(const InputsOf<MatrixOf<T>>& in, const Params&) {
      return kernels::dot_rows<T>(in[0], in[1]);
    }>(),
    .shape =
        [](std::span<const Shape> in, const Params&) {
          return Shape{in[0].rows, in[1].rows};
        },
    .cell =
        [](const CellQuestion& q) {
          return sum_of_products(
              q.inputs[0].cols, [&](Index k) { return Term(0, q.row, k); },
              [&](Index k) { return Term(1, q.col, k); });
        },
    .reads = {Reads::row, Reads::row_of_column},
    .terms = width_of_first,
};
const Op cached_output = cached_output_op<Stored::as_written>("cached_output", "#1 #2 #3[:, @1..@2]");
const Op cached_output_linear =
    cached_output_op<Stored::as_linear>("cached_output_linear", "#1 #2 #3[@1..@2, :]^T");

}  // namespace qkv::ops

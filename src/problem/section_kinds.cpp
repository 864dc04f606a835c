#include "problem/section_kinds.h"

#include <algorithm>
#include <array>

namespace qkv {
namespace {

constexpr CellRules kNumbers{};
constexpr CellRules kWithInfinity{.infinity = true};
constexpr CellRules kOfMask{.infinity = true, .truth = true};
constexpr CellRules kWithSymbols{.symbols = true};

const std::array kKinds{
    SectionKind{"X", kNumbers, false, {"input vectors, one row per token", "输入向量，每个 token 一行"}},
    SectionKind{
        "X_kv", kNumbers, false, {"the other sequence, for keys and values", "另一个序列，用于键和值"}},
    SectionKind{"W_Q", kNumbers, false, {"projection to the queries", "查询的投影矩阵"}},
    SectionKind{"W_K", kNumbers, false, {"projection to the keys", "键的投影矩阵"}},
    SectionKind{"W_V", kNumbers, false, {"projection to the values", "值的投影矩阵"}},
    SectionKind{"W_O", kNumbers, false, {"output projection", "输出的投影矩阵"}},
    SectionKind{"W_QKV", kNumbers, false, {"the three projections side by side", "三个投影矩阵并排"}},
    SectionKind{"b_Q", kNumbers, true, {"bias of the queries", "查询的偏置"}},
    SectionKind{"b_K", kNumbers, true, {"bias of the keys", "键的偏置"}},
    SectionKind{"b_V", kNumbers, true, {"bias of the values", "值的偏置"}},
    SectionKind{"b_O", kNumbers, true, {"bias of the output", "输出的偏置"}},
    SectionKind{"Q", kNumbers, false, {"queries", "查询"}},
    SectionKind{"K", kNumbers, false, {"keys", "键"}},
    SectionKind{"V", kWithSymbols, false, {"values, numbers or symbols", "值，可以是数或符号"}},
    SectionKind{"scores", kWithInfinity, false, {"scores before scaling", "缩放前的分数"}},
    SectionKind{"scaled", kWithInfinity, false, {"scaled scores", "缩放后的分数"}},
    SectionKind{"masked", kWithInfinity, false, {"masked scores", "掩码后的分数"}},
    SectionKind{"weights", kNumbers, false, {"attention weights", "注意力权重"}},
    SectionKind{"mask", kOfMask, false, {"which keys a query may look at", "查询可以看哪些键"}},
    SectionKind{"bias", kWithInfinity, false, {"added to the scaled scores", "加到缩放后分数上的偏置"}},
    SectionKind{
        "W_a",
        kNumbers,
        false,
        {"matrix of the general, additive and concat scores", "general、additive、concat 打分的矩阵"}},
    SectionKind{
        "U_a", kNumbers, false, {"the keys' matrix of the additive score", "additive 打分中键的矩阵"}},
    SectionKind{
        "v_a", kNumbers, true, {"vector of the additive and concat scores", "additive、concat 打分的向量"}},
    SectionKind{"b_a", kNumbers, true, {"bias of the additive score", "additive 打分的偏置"}},

    SectionKind{"P", kNumbers, false, {"learned positions, added to X", "可学习的位置编码，加到 X 上"}},
    SectionKind{"past_K", kNumbers, false, {"cached keys", "缓存的键"}},
    SectionKind{"past_V", kNumbers, false, {"cached values", "缓存的值"}},
    SectionKind{"W_DKV", kNumbers, false, {"MLA: to the latent of keys and values", "MLA：键值的压缩矩阵"}},
    SectionKind{"W_UK", kNumbers, false, {"MLA: from the latent to the keys", "MLA：由隐向量还原键"}},
    SectionKind{"W_UV", kNumbers, false, {"MLA: from the latent to the values", "MLA：由隐向量还原值"}},
    SectionKind{"W_DQ", kNumbers, false, {"MLA: to the latent of the queries", "MLA：查询的压缩矩阵"}},
    SectionKind{"W_UQ", kNumbers, false, {"MLA: from the latent to the queries", "MLA：由隐向量还原查询"}},
    SectionKind{"W_QR", kNumbers, false, {"MLA: the rotated part of the queries", "MLA：查询的旋转部分"}},
    SectionKind{"W_KR", kNumbers, false, {"MLA: the rotated part of the keys", "MLA：键的旋转部分"}},
    SectionKind{"d.output", kNumbers, false, {"gradient arriving at the output", "从上方传到 output 的梯度"}},
    SectionKind{"d.concat", kNumbers, false, {"gradient arriving at concat", "从上方传到 concat 的梯度"}},
    SectionKind{"d.Y", kNumbers, false, {"gradient arriving at Y", "从上方传到 Y 的梯度"}},
    SectionKind{"d.residual",
                kNumbers,
                false,
                {"gradient arriving behind the residual", "从上方传到 residual 的梯度"}},
    SectionKind{"target", kNumbers, true, {"one class index a row", "每行一个类别编号"}},
};

}  // namespace

std::span<const SectionKind> section_kinds() { return kKinds; }

const SectionKind* find_section_kind(std::string_view name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const SectionKind& k) { return k.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace qkv

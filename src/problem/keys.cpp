#include "problem/keys.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/display_width.h"
#include "base/suggest.h"
#include "problem/mask.h"
#include "problem/settings.h"
#include "problem/value_reader.h"

namespace qkv {
namespace {

using Spelling = std::optional<std::string>;  // what a row's `read` returns

constexpr long kNoLimit = 999'999'999;
constexpr long kMostHeads = 1024;
constexpr int kMostDecimals = 17;  // a double has no more digits that mean anything

// ---- values with an idea of their own ----

template <class Enum>
Spelling choose(ValueReader& value, Enum& target,
                std::initializer_list<std::pair<std::string_view, Enum>> choices) {
  const auto found =
      std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.first == value.text(); });
  if (found != choices.end()) {
    target = found->second;
    return value.text();
  }
  value.not_a_choice();
  return std::nullopt;
}

Spelling read_mask(ValueReader& value, Settings& settings) {
  std::vector<ValueFault> faults;
  std::optional<MaskSetting> mask = parse_mask(value.written(), faults);
  for (ValueFault& fault : faults) value.error(fault.span, std::move(fault.message), std::move(fault.hint));
  if (!mask) return std::nullopt;
  settings.mask = std::move(*mask);
  return settings.mask.text;
}

Spelling read_align(ValueReader& value, Settings& settings) {
  const char first = value.text()[0];
  if ((first >= '0' && first <= '9') || first == '-' || first == '+') {
    const std::optional<long> number = value.integer(-1'000'000, 1'000'000);
    if (!number) return std::nullopt;
    settings.align = {Align::Kind::number, *number};
    return std::to_string(*number);
  }
  settings.align.number = 0;
  return choose(value, settings.align.kind,
                {{"bottom-right", Align::Kind::bottom_right}, {"top-left", Align::Kind::top_left}});
}

Spelling read_scale(ValueReader& value, Settings& settings) {
  std::string text = value.text();
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  settings.scales_by_width = false;
  if (text == "none") {
    settings.scale = Scale{.kind = ScaleKind::none, .factor = {}, .d_k = {}};
    return text;
  }
  if (text == "1/sqrt(d_k)" || text == "1/sqrt(dk)" || text == "1/√d_k" || text == "1/√dk") {
    settings.scale = Scale{.kind = ScaleKind::root, .factor = {}, .d_k = {}};
    return "1/sqrt(d_k)";
  }
  if (text == "1/d_k") {
    settings.scale = Scale{.kind = ScaleKind::root, .factor = {}, .d_k = {}};
    settings.scales_by_width = true;
    return text;
  }
  const std::optional<Number> factor = value.number();
  if (!factor) return std::nullopt;
  settings.scale = Scale{.kind = ScaleKind::factor, .factor = *factor, .d_k = {}};
  return factor->text;
}

std::string joined(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number& number : numbers) text += (text.empty() ? "" : " ") + number.text;
  return text;
}

Spelling read_alibi(ValueReader& value, Settings& settings) {
  settings.slopes.clear();
  settings.alibi_is_on = value.text() == "on";
  if (settings.alibi_is_on || value.text() == "off") return value.text();
  const auto slopes = value.numbers();
  if (!slopes) return std::nullopt;
  for (const Number& slope : *slopes) {
    if (slope.value >= 0) continue;
    value.error(say({"a slope is not negative", "斜率不能为负"}),
                say({"qkv subtracts slope · distance by itself", "qkv 会自动减去 斜率 · 距离"}));
    return std::nullopt;
  }
  settings.slopes = *slopes;
  return joined(*slopes);
}

Spelling read_sink_logit(ValueReader& value, Settings& settings) {
  settings.sink_logits.clear();
  if (value.text() == "none") return value.text();
  const auto logits = value.numbers();
  if (!logits) return std::nullopt;
  settings.sink_logits = *logits;
  return joined(*logits);
}

Spelling positive_or_none(ValueReader& value, std::optional<Number>& target) {
  target.reset();
  if (value.text() == "none") return value.text();
  target = value.positive_number();
  if (!target) return std::nullopt;
  return target->text;
}

Spelling read_d_k(ValueReader& value, Settings& settings) {
  const std::optional<long> width = value.integer(1, kNoLimit);
  if (!width) return std::nullopt;
  settings.d_k = whole_number(*width);
  return settings.d_k->text;
}

// `K = Q`: "the same matrix as".
Spelling read_same_as(ValueReader& value, Settings& settings) {
  const std::vector<std::string_view> names{"X", "X_kv", "Q", "K", "V"};
  if (std::find(names.begin(), names.end(), value.text()) == names.end()) {
    Said hint = did_you_mean(value.text(), names);
    if (hint.empty()) {
      hint = say(
          {"a matrix itself is written below [{0}], on lines of its own", "矩阵本身要写在 [{0}] 下面的各行"},
          value.key().name);
    }
    value.error(say({"'{0}' names another matrix (X, X_kv, Q, K or V), not '{1}'",
                     "“{0}”只能等于 X、X_kv、Q、K 或 V，而不是“{1}”"},
                    value.key().name, quotable(value.text())),
                std::move(hint));
    return std::nullopt;
  }
  if (value.text() == value.key().name) {
    value.error(
        say({"'{0}' is said to be the same matrix as itself", "“{0}”被写成等于它自己"}, value.text()));
    return std::nullopt;
  }
  settings.same_as[value.key().name] = value.text();
  return value.text();
}

Spelling read_labels(ValueReader& value, std::optional<std::vector<std::string>>& target) {
  std::optional<std::vector<std::string>> labels = value.labels();
  if (!labels) return std::nullopt;
  target = std::move(labels);
  return value.written();
}

template <long least, long most = kNoLimit>
Spelling read_count(ValueReader& value, Index& target) {
  const std::optional<long> number = value.integer(least, most);
  if (!number) return std::nullopt;
  target = *number;
  return std::to_string(*number);
}

Spelling read_yes_or_no(ValueReader& value, bool& target) {
  return choose(value, target, {{"no", false}, {"yes", true}});
}

// Whole numbers, such as the positions of tokens.
Spelling read_whole_numbers(ValueReader& value, std::vector<long>& target) {
  const auto numbers = value.numbers();
  if (!numbers) return std::nullopt;
  target.clear();
  for (const Number& number : *numbers) {
    const long whole = static_cast<long>(number.value);
    if (!number.is_decimal || static_cast<double>(whole) != number.value) {
      value.error(say({"'{0}' is not a whole number", "“{0}”不是整数"}, number.text));
      return std::nullopt;
    }
    target.push_back(whole);
  }
  return joined(*numbers);
}

Spelling read_tile(ValueReader& value, Settings& settings) {
  settings.tile.reset();
  const std::string& text = value.text();
  if (text == "off") return text;
  const std::size_t cross = text.find('x');
  const auto is_size = [](std::string_view size) {
    return !size.empty() && size.size() < 8 &&
           size.find_first_not_of("0123456789") == std::string_view::npos &&
           size.find_first_not_of('0') != std::string_view::npos;
  };
  if (cross == std::string::npos || !is_size(std::string_view(text).substr(0, cross)) ||
      !is_size(std::string_view(text).substr(cross + 1))) {
    value.not_a_choice();
    return std::nullopt;
  }
  settings.tile = Tile{std::stol(text.substr(0, cross)), std::stol(text.substr(cross + 1))};
  return text;
}

constexpr Key in_files_only(Key key) {
  key.as_option = false;
  return key;
}
constexpr Key free_text(Key key) {
  key.is_free_text = true;
  return key;
}
const std::array kKeys{
    // What the problem is called.
    free_text(
        in_files_only(Key{"title",
                          "text",
                          "",
                          {"title of the problem", "题目名称"},
                          [](ValueReader& v, Settings& s) { return Spelling(s.title = v.written()); }})),
    free_text(
        in_files_only(Key{"source",
                          "text",
                          "",
                          {"where the example was taken from", "例子的出处"},
                          [](ValueReader& v, Settings& s) { return Spelling(s.source = v.written()); }})),
    Key{"tokens",
        "labels, separated by spaces",
        "",
        {"the tokens' labels, one per query", "token 的标签，每个查询一个"},
        [](ValueReader& v, Settings& s) { return read_labels(v, s.tokens); }},
    Key{"kv_tokens",
        "labels, separated by spaces",
        "",
        {"labels of the keys, where they are not the queries' tokens", "键的标签（与查询的 token 不同时）"},
        [](ValueReader& v, Settings& s) { return read_labels(v, s.kv_tokens); }},
    Key{"first_index",
        "0 | 1",
        "1",
        {"number of the first token and symbol: t1 or t0, v1 or v0",
         "token 和符号从几开始编号：t1 或 t0，v1 或 v0"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.first_index, {{"0", 0}, {"1", 1}});
        }},

    // One matrix in two roles.
    in_files_only(Key{"Q",
                      "X | X_kv | K | V",
                      "",
                      {"the queries are the same matrix as this one", "查询矩阵等于这个矩阵"},
                      read_same_as}),
    in_files_only(Key{"K",
                      "X | X_kv | Q | V",
                      "",
                      {"the keys are the same matrix as this one", "键矩阵等于这个矩阵"},
                      read_same_as}),
    in_files_only(Key{"V",
                      "X | X_kv | Q | K",
                      "",
                      {"the values are the same matrix as this one", "值矩阵等于这个矩阵"},
                      read_same_as}),
    in_files_only(Key{"X_kv",
                      "X | Q | K | V",
                      "",
                      {"the other sequence is the same matrix as this one", "另一个序列等于这个矩阵"},
                      read_same_as}),

    // From X to the scores.
    Key{"layout",
        "columns | linear",
        "columns",
        {"weights as columns (X·W), or as nn.Linear stores them (X·Wᵀ)",
         "权重按列存放（X·W），或按 nn.Linear 存放（X·Wᵀ）"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.layout, {{"columns", Layout::columns}, {"linear", Layout::linear}});
        }},
    Key{"score",
        "dot | general | additive | concat",
        "dot",
        {"how a query and a key are compared", "查询与键如何打分"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.score,
                        {{"dot", ScoreKind::dot},
                         {"general", ScoreKind::general},
                         {"additive", ScoreKind::additive},
                         {"concat", ScoreKind::concat}});
        }},
    Key{"scale",
        "1/sqrt(d_k) | 1/d_k | none | a number",
        "1/sqrt(d_k)",
        {"what the scores are multiplied by", "打分之后乘的缩放系数"},
        read_scale},
    Key{"d_k",
        "a whole number",
        "",
        {"the width under the root, when no matrix shows it", "根号下的维度（题目中看不出时才需要）"},
        read_d_k},
    Key{"softcap",
        "none | a positive number",
        "none",
        {"bounds the scaled scores: c·tanh(s/c), before the mask", "限制分数大小：c·tanh(s/c)，在掩码之前"},
        [](ValueReader& v, Settings& s) { return positive_or_none(v, s.softcap); }},
    Key{"alibi",
        "off | on | a slope per head",
        "off",
        {"subtracts slope·distance from the scores; on = 2^(-8h/heads)",
         "从分数中减去 斜率·距离；on 即 2^(-8h/heads)"},
        read_alibi},

    // Which keys may be seen.
    Key{"mask",
        "none | causal | window:w | window:L,R | prefix:N | padding:1,1,0 | segments:1,1,2 | sinks:N | "
        "global:1,5",
        "none",
        {"which keys a query may look at; several may be joined by spaces",
         "查询可以看哪些键；几项之间用空格隔开"},
        read_mask},
    Key{"mask_values",
        "auto | look | hide | add",
        "auto",
        {"what [mask] means: 1 = look, 1 = hide, or 0 / -inf added",
         "[mask] 的含义：1 可看、1 屏蔽，或相加的 0 / -inf"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.mask_values,
                        {{"auto", MaskValues::automatic},
                         {"look", MaskValues::look},
                         {"hide", MaskValues::hide},
                         {"add", MaskValues::add}});
        }},
    Key{"align",
        "bottom-right | top-left | a whole number",
        "bottom-right",
        {"where the first query stands among the keys", "第一个查询对应第几个键的位置"},
        read_align},
    Key{"empty_row",
        "zero | nan | error",
        "zero",
        {"a query for which every key is forbidden", "所有键都被屏蔽的查询怎么办"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.empty_row,
                        {{"zero", EmptyRow::zero}, {"nan", EmptyRow::nan}, {"error", EmptyRow::error}});
        }},

    // From the scores to the output.
    Key{"temperature",
        "none | a positive number",
        "none",
        {"the masked scores are divided by it", "掩码后的分数再除以它"},
        [](ValueReader& v, Settings& s) { return positive_or_none(v, s.temperature); }},
    Key{"sink_logit",
        "none | a number per head",
        "none",
        {"an extra logit in the softmax's denominator only", "只出现在 softmax 分母中的额外一项"},
        read_sink_logit},
    Key{"read",
        "soft | hard",
        "soft",
        {"weighted sum of V, or the row of the largest weight", "V 的加权求和，或取权重最大的一行"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.read, {{"soft", ReadKind::soft}, {"hard", ReadKind::hard}});
        }},

    // How it is shown.
    Key{"decimals",
        "0..17",
        "4",
        {"digits after the point", "小数位数"},
        [](ValueReader& v, Settings& s) -> Spelling {
          const std::optional<long> decimals = v.integer(0, kMostDecimals);
          if (!decimals) return std::nullopt;
          s.decimals = static_cast<int>(*decimals);
          return std::to_string(*decimals);
        }},
    Key{"round",
        "exact | paper",
        "exact",
        {"round only what is printed, or every step before it is used",
         "只在打印时舍入，或每一步都先舍入再往下算"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.round, {{"exact", Rounding::exact}, {"paper", Rounding::paper}});
        }},

    // Several heads, layers and passes.
    Key{"heads",
        "a whole number",
        "1",
        {"number of heads", "头数"},
        [](ValueReader& v, Settings& s) { return read_count<1, kMostHeads>(v, s.heads); }},
    Key{"kv_heads",
        "a whole number",
        "",
        {"number of key and value heads; as many as heads when left out",
         "键和值的头数；不写则与 heads 相同"},
        [](ValueReader& v, Settings& s) { return read_count<1, kMostHeads>(v, s.kv_heads.emplace(1)); }},
    Key{"drop_heads",
        "head numbers",
        "",
        {"heads whose output is set to zero", "输出置零的头"},
        [](ValueReader& v, Settings& s) { return read_whole_numbers(v, s.drop_heads); }},
    Key{"layers",
        "a whole number",
        "1",
        {"number of stacked layers", "层数"},
        [](ValueReader& v, Settings& s) { return read_count<1, 100>(v, s.layers); }},
    Key{"residual",
        "no | yes",
        "no",
        {"adds the input of a layer to its output", "把一层的输入加到它的输出上"},
        [](ValueReader& v, Settings& s) { return read_yes_or_no(v, s.has_residual); }},
    Key{"hops",
        "a whole number",
        "1",
        {"number of memory reads", "读取记忆的次数"},
        [](ValueReader& v, Settings& s) { return read_count<1, 100>(v, s.hops); }},
    Key{"method",
        "softmax | linear",
        "softmax",
        {"softmax or linear attention", "softmax 注意力或线性注意力"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.method, {{"softmax", MethodKind::softmax}, {"linear", MethodKind::linear}});
        }},
    Key{"phi",
        "elu+1 | exp | relu | identity",
        "elu+1",
        {"feature map of linear attention", "线性注意力的特征映射"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.phi,
                        {{"elu+1", Phi::elu_plus_1},
                         {"exp", Phi::exp},
                         {"relu", Phi::relu},
                         {"identity", Phi::identity}});
        }},
    Key{"eps",
        "a number",
        "0",
        {"added to linear attention's denominator", "加在线性注意力分母上的数"},
        [](ValueReader& v, Settings& s) -> Spelling {
          const std::optional<Number> eps = v.number();
          if (!eps) return std::nullopt;
          s.eps = *eps;
          return eps->text;
        }},
    Key{"pos",
        "none | sinusoidal",
        "none",
        {"positions added to X", "加到 X 上的位置编码"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.adds_sinusoids, {{"none", false}, {"sinusoidal", true}});
        }},
    Key{"order",
        "token numbers",
        "",
        {"the tokens in a new order", "token 的新顺序"},
        [](ValueReader& v, Settings& s) { return read_whole_numbers(v, s.order); }},
    Key{"rope",
        "none | half | interleaved",
        "none",
        {"rotary positions of Q and K", "Q 和 K 的旋转位置编码"},
        [](ValueReader& v, Settings& s) {
          return choose(v, s.rope,
                        {{"none", Rope::Pairs::none},
                         {"half", Rope::Pairs::half},
                         {"interleaved", Rope::Pairs::interleaved}});
        }},
    Key{"rope_base",
        "a number",
        "10000",
        {"base of the rotary angles", "旋转角度的底数"},
        [](ValueReader& v, Settings& s) -> Spelling {
          const std::optional<Number> base = v.positive_number();
          if (!base) return std::nullopt;
          s.rope_base = *base;
          return base->text;
        }},
    Key{"rope_dims",
        "all | a whole number",
        "all",
        {"how many dimensions are rotated", "旋转多少维"},
        [](ValueReader& v, Settings& s) {
          s.rope_dims.reset();
          return v.text() == "all" ? Spelling("all") : read_count<2>(v, s.rope_dims.emplace(2));
        }},
    Key{"positions",
        "whole numbers",
        "",
        {"positions of the queries, from 0", "查询的位置，从 0 数起"},
        [](ValueReader& v, Settings& s) { return read_whole_numbers(v, s.positions); }},
    Key{"kv_positions",
        "whole numbers",
        "",
        {"positions of the keys, from 0", "键的位置，从 0 数起"},
        [](ValueReader& v, Settings& s) { return read_whole_numbers(v, s.kv_positions); }},
    Key{"decode",
        "no | yes",
        "no",
        {"token by token with a KV cache", "借助 KV 缓存逐个 token 计算"},
        [](ValueReader& v, Settings& s) { return read_yes_or_no(v, s.is_decoded); }},
    Key{"prefill",
        "a whole number",
        "0",
        {"how many tokens the first pass takes", "第一遍处理多少个 token"},
        [](ValueReader& v, Settings& s) { return read_count<0>(v, s.prefill); }},
    Key{"tile",
        "off | RxC",
        "off",
        {"rows and columns of the online softmax's tiles", "在线 softmax 的分块行数和列数"},
        read_tile},
    Key{"gradient",
        "no | yes",
        "no",
        {"the backward pass too", "再做反向传播，计算梯度"},
        [](ValueReader& v, Settings& s) { return read_yes_or_no(v, s.wants_gradient); }},
};

// What a key takes, where that is said in words.
constexpr std::array<Text, 10> kValueWords{{{"labels, separated by spaces", "标签，用空格隔开"},
                                            {"a whole number", "整数"},
                                            {"whole numbers", "整数，用空格隔开"},
                                            {"a number", "数"},
                                            {"a positive number", "正数"},
                                            {"a slope per head", "每头一个斜率"},
                                            {"a number per head", "每头一个数"},
                                            {"head numbers", "头的编号"},
                                            {"token numbers", "token 编号"},
                                            {"text", "文字"}}};

// "none | a positive number".
std::string values_in(std::string_view values, Language language) {
  std::string out;
  while (!values.empty()) {
    const std::size_t bar = std::min(values.find(" | "), values.size());
    const std::string_view word = values.substr(0, bar);
    const auto known = std::find_if(kValueWords.begin(), kValueWords.end(),
                                    [&](const Text& text) { return text.in(Language::en) == word; });
    out += (out.empty() ? "" : " | ") +
           (known == kValueWords.end() ? std::string(word) : std::string(known->in(language)));
    values.remove_prefix(std::min(bar + 3, values.size()));
  }
  return out;
}

}  // namespace

std::span<const Key> keys() { return kKeys; }

const Key* find_key(std::string_view name) {
  const auto found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : &*found;
}

Said allowed_values(const Key& key) {
  return {values_in(key.values, Language::en), values_in(key.values, Language::zh)};
}

std::string option_of(const Key& key) {
  std::string name = key.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace qkv

#include "problem/checkpoint.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "input/float_bytes.h"
#include "input/forms.h"
#include "input/safetensors.h"

namespace qkv {
namespace {

using Matrices = std::vector<std::pair<std::string, SourcePtr>>;

// What the projections are called, at the end of the tensors' names.
struct Linear {
  std::array<const char*, 3> inputs;  // of Q, K and V
  const char* output;
};
constexpr std::array<Linear, 6> kLinear{{
    {{"q_proj", "k_proj", "v_proj"}, "o_proj"},
    {{"q_proj", "k_proj", "v_proj"}, "out_proj"},
    {{"q_lin", "k_lin", "v_lin"}, "out_lin"},
    {{"to_q", "to_k", "to_v"}, "to_out.0"},
    {{"wq", "wk", "wv"}, "wo"},
    {{"W_Q", "W_K", "W_V"}, "W_O"},
}};
// BERT has the output beside, not below, what it calls self.
constexpr Linear kBert{{"self.query", "self.key", "self.value"}, "output.dense"};

struct Fused {
  const char* input;
  const char* output;
  bool is_conv1d = false;
};
constexpr std::array<Fused, 6> kFused{{{"in_proj", "out_proj"},
                                       {"qkv", "proj"},
                                       {"qkv_proj", "o_proj"},
                                       {"Wqkv", "out_proj"},
                                       {"W_QKV", "W_O"},
                                       {"c_attn", "c_proj", true}}};

constexpr std::array<const char*, 3> kWeightSections{"W_Q", "W_K", "W_V"};
constexpr std::array<const char*, 3> kBiasSections{"b_Q", "b_K", "b_V"};

// One place where a layer's tensors stand: "model.layers.0.self_attn."
struct Found {
  std::string form;
  std::string prefix;
  std::array<std::string, 3> inputs;  // of a fused matrix the first alone
  std::string output;
  bool is_conv1d = false;
  bool is_mha = false;  // its names have no ".weight" and ".bias"

  std::string weight(const std::string& input) const {
    return prefix + input + (is_mha ? "_weight" : ".weight");
  }
  std::string bias(const std::string& input) const {
    return prefix + (is_mha ? std::string("in_proj_bias") : input + ".bias");
  }
};

class Checkpoint {
 public:
  Checkpoint(const CheckpointChoice& choice, TensorFile file, Diagnostics& diagnostics)
      : choice_(choice), file_(std::move(file)), diagnostics_(diagnostics) {}

  Matrices read() {
    const auto found = layer();
    if (!found) return {};
    if (tensor(found->prefix + "bias_k") != nullptr) {
      error(say(
          {"'{0}' adds a key to every sequence, which qkv does not", "“{0}”给每个序列添一个键，qkv 不支持"},
          found->prefix + "bias_k"));
      return {};
    }
    if (found->inputs[1].empty()) {
      fused(*found);
    } else {
      for (std::size_t i = 0; i < 3; ++i) {
        if (const auto w = matrix(found->weight(found->inputs[i]), true)) keep(kWeightSections[i], *w);
        if (!found->is_mha) vector(kBiasSections[i], found->bias(found->inputs[i]));
      }
      if (found->is_mha) split_bias(*found, std::nullopt);
    }
    const std::string output = found->prefix + found->output;
    if (tensor(output + ".weight") != nullptr) {
      if (const auto w = matrix(output + ".weight", !found->is_conv1d)) keep("W_O", *w);
      vector("b_O", output + ".bias");
    }
    tell_unused(*found);
    return diagnostics_.has_errors() ? Matrices{} : std::move(matrices_);
  }

 private:
  void error(Said message, Said hint = {}) {
    diagnostics_.error(file_.name, std::move(message), std::move(hint));
  }

  const TensorEntry* tensor(const std::string& name) const {
    const auto entry = std::find_if(file_.tensors.begin(), file_.tensors.end(),
                                    [&](const TensorEntry& t) { return t.name == name; });
    return entry == file_.tensors.end() ? nullptr : &*entry;
  }

  // ---- which tensors ----

  // "model.layers.0." of "model.layers.0.q_proj.weight"; nullopt where the name does not end so.
  static std::optional<std::string> prefix_of(const std::string& name, const std::string& ending) {
    if (!name.ends_with(ending)) return std::nullopt;
    std::string prefix = name.substr(0, name.size() - ending.size());
    return prefix.empty() || prefix.ends_with('.') ? std::optional(std::move(prefix)) : std::nullopt;
  }

  bool is_of_layer(const std::string& prefix) const {
    if (choice_.layer.empty()) return true;
    if (choice_.layer.find_first_not_of("0123456789") != std::string::npos)
      return prefix.starts_with(choice_.layer);
    for (std::size_t begin = 0; begin < prefix.size();) {
      const std::size_t end = std::min(prefix.find('.', begin), prefix.size());
      const std::string part = prefix.substr(begin, end - begin);
      if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos)
        return part == choice_.layer;
      begin = end + 1;
    }
    return false;
  }

  bool may_be(const char* form) const { return choice_.form.empty() || choice_.form == form; }

  void look_for(Found found) {
    const std::string ending = found.weight(found.inputs[0]);
    for (const TensorEntry& entry : file_.tensors) {
      const auto prefix = prefix_of(entry.name, ending);
      if (!prefix) continue;
      Found here = found;
      here.prefix = *prefix;
      const bool is_whole = std::all_of(
          here.inputs.begin(), here.inputs.end(),
          [&](const std::string& input) { return input.empty() || tensor(here.weight(input)) != nullptr; });
      const bool is_known = std::any_of(found_.begin(), found_.end(), [&](const Found& f) {
        return f.prefix == here.prefix && f.inputs == here.inputs;
      });
      if (!is_whole) continue;
      if (!is_known) {
        found_.push_back(std::move(here));
      } else if (tensor(here.prefix + here.output + ".weight") != nullptr) {
        for (Found& f : found_) {
          if (f.prefix == here.prefix) f.output = here.output;
        }
      }
    }
  }

  std::optional<Found> layer() {
    if (may_be("linear")) {
      for (const Linear& names : kLinear)
        look_for({"linear", "", {names.inputs[0], names.inputs[1], names.inputs[2]}, names.output});
      look_for({"linear", "", {kBert.inputs[0], kBert.inputs[1], kBert.inputs[2]}, kBert.output});
    }
    if (may_be("fused")) {
      for (const Fused& names : kFused)
        look_for({"fused", "", {names.input, "", ""}, names.output, names.is_conv1d});
    }
    if (may_be("mha")) {
      look_for({"mha", "", {"in_proj", "", ""}, "out_proj", false, true});
      look_for({"mha", "", {"q_proj", "k_proj", "v_proj"}, "out_proj", false, true});
    }
    std::vector<std::string> all;
    for (const Found& f : found_) all.push_back(f.prefix + f.inputs[0]);
    std::erase_if(found_, [&](const Found& f) { return !is_of_layer(f.prefix); });
    if (found_.size() == 1) return found_.front();
    if (found_.size() > 1) {
      all.clear();
      for (const Found& f : found_) all.push_back(f.prefix + f.inputs[0]);
      error(say({"the file has more than one layer of attention: {0}", "文件里有不止一层注意力：{0}"},
                listed(all)),
            say({"choose by --layer 0, or by how the names begin: --layer {0}",
                 "请用 --layer 0 选择，或写出名称的开头：--layer {0}"},
                found_.front().prefix.empty() ? "q_proj" : found_.front().prefix));
    } else if (!all.empty()) {
      error(say({"no layer '{0}' of attention: the file has {1}", "没有第 {0} 层注意力；文件里有：{1}"},
                choice_.layer, listed(all)));
    } else {
      for (const TensorEntry& entry : file_.tensors) all.push_back(entry.name + " " + shape_text(entry));
      error(say({"no attention layer is told by the names of the tensors: {0}",
                 "从张量的名称看不出注意力层：{0}"},
                listed(all)),
            say({"expected: q_proj.weight, k_proj.weight, v_proj.weight (linear), in_proj.weight or "
                 "c_attn.weight "
                 "(fused), in_proj_weight (mha)",
                 "应有 q_proj.weight、k_proj.weight、v_proj.weight（linear），in_proj.weight 或 c_attn.weight"
                 "（fused），in_proj_weight（mha）"}));
    }
    return std::nullopt;
  }

  // ---- their numbers ----

  struct Numbers {
    Matrix values;
    int digits;
    std::string from;
  };

  std::optional<Numbers> matrix(const std::string& name, bool is_transposed) {
    used_.insert(name);
    const TensorEntry* entry = tensor(name);
    if (entry == nullptr) return std::nullopt;
    auto numbers = read_tensor(file_, *entry, diagnostics_);
    if (!numbers) return std::nullopt;
    if (is_transposed) numbers->values = Matrix(numbers->values.transpose());
    return Numbers{std::move(numbers->values), numbers->digits, name};
  }

  void keep(const char* section, const Numbers& numbers) {
    std::string text;
    for (Index i = 0; i < numbers.values.rows(); ++i) {
      for (Index j = 0; j < numbers.values.cols(); ++j)
        text += (j > 0 ? " " : "") + all_digits(numbers.values(i, j));
      text += "\n";
    }
    matrices_.emplace_back(section, std::make_shared<Source>(Source{file_.name + " " + numbers.from,
                                                                    std::move(text), numbers.digits}));
  }

  void vector(const char* section, const std::string& name) {
    if (tensor(name) == nullptr) return;
    if (const auto numbers = matrix(name, false)) keep(section, *numbers);
  }

  // Columns of Q, of K and of V; nullopt, with an error, when they do not come out even.
  std::optional<std::array<Index, 3>> thirds(Index all, const std::string& name) {
    const Index heads = choice_.heads.value_or(1);
    const Index kv_heads = choice_.kv_heads.value_or(heads);
    const Index parts = heads + 2 * kv_heads;
    if (heads > 0 && kv_heads > 0 && all % parts == 0)
      return std::array{all / parts * heads, all / parts * kv_heads, all / parts * kv_heads};
    error(
        say({"'{0}' has {1} outputs, which {2} query heads and 2×{3} key and value heads cannot share evenly",
             "“{0}”有 {1} 个输出，不能平分给 {2} 个查询头和 2×{3} 个键、值头"},
            name, all, heads, kv_heads));
    return std::nullopt;
  }

  void fused(const Found& found) {
    const auto all = matrix(found.weight(found.inputs[0]), !found.is_conv1d);
    if (!all) return;
    const auto widths = thirds(all->values.cols(), all->from);
    if (!widths) return;
    Index begin = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      keep(kWeightSections[i], {all->values.middleCols(begin, (*widths)[i]), all->digits, all->from});
      begin += (*widths)[i];
    }
    split_bias(found, widths);
  }

  void split_bias(const Found& found, std::optional<std::array<Index, 3>> widths) {
    const std::string name = found.bias(found.inputs[0]);
    if (tensor(name) == nullptr) return;
    const auto all = matrix(name, false);
    if (!all) return;
    if (!widths) widths = thirds(all->values.cols(), name);
    if (!widths) return;
    if ((*widths)[0] + (*widths)[1] + (*widths)[2] != all->values.cols()) {
      error(
          say({"'{0}' has {1} numbers, but its weights {2} outputs", "“{0}”有 {1} 个数，而权重有 {2} 个输出"},
              name, all->values.cols(), (*widths)[0] + (*widths)[1] + (*widths)[2]));
      return;
    }
    Index begin = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      keep(kBiasSections[i], {all->values.middleCols(begin, (*widths)[i]), all->digits, all->from});
      begin += (*widths)[i];
    }
  }

  // What stands in the same place may change the result: the norms of queries and keys, low-rank additions.
  void tell_unused(const Found& found) {
    if (found.prefix.empty()) return;
    std::vector<std::string> unused;
    for (const TensorEntry& entry : file_.tensors) {
      const bool is_buffer = entry.name.ends_with("inv_freq") || entry.name.ends_with("masked_bias") ||
                             (entry.shape.size() == 4 && entry.name.ends_with(".bias"));
      if (entry.name.starts_with(found.prefix) && used_.count(entry.name) == 0 && !is_buffer)
        unused.push_back(entry.name);
    }
    if (unused.empty()) return;
    diagnostics_.warning(file_.name, say({"beside the projections stand tensors that are not used: {0}",
                                          "与投影矩阵放在一起的张量没有用到：{0}"},
                                         listed(unused)));
  }

  const CheckpointChoice& choice_;
  TensorFile file_;
  Diagnostics& diagnostics_;
  std::vector<Found> found_;
  std::set<std::string> used_;
  Matrices matrices_;
};

}  // namespace

Matrices read_checkpoint(const CheckpointChoice& choice, Diagnostics& diagnostics) {
  auto file = read_tensor_file(choice.file, diagnostics);
  return file ? Checkpoint(choice, std::move(*file), diagnostics).read() : Matrices{};
}

}  // namespace qkv

// qkv cache: how large the KV cache of a model is, factor by factor.

#include "calc/cache.h"

#include "base/counted.h"
#include "cli/counts.h"
#include "cli/shared.h"

namespace qkv {
namespace {

struct CacheOptions : SharedOptions {
  std::string layers = "1";
  std::string heads;
  std::string kv_heads;
  std::string head_dim;
  std::string bytes = "2";
  std::string tokens;
  std::string requests;
  std::string latent;
  std::string rope_dim;
};

std::optional<CacheQuestion> question_of(const CacheOptions& options, Diagnostics& diagnostics) {
  CacheQuestion q;
  const auto read = [&](const char* option, const std::string& text, long long& into, long long least = 1) {
    if (text.empty()) return;
    into = count_of(option, text, diagnostics, least).value_or(1);
  };
  const auto read_optional = [&](const char* option, const std::string& text,
                                 std::optional<long long>& into) {
    if (!text.empty()) read(option, text, into.emplace(1));
  };
  for (const auto& [option, text] :
       {std::pair{"--heads", &options.heads}, std::pair{"--head-dim", &options.head_dim}}) {
    if (!text->empty()) continue;
    diagnostics.error("", say({"{0} is missing", "缺少 {0}"}, option),
                      say({"see: qkv cache --help", "参见：qkv cache --help"}));
  }
  read("--layers", options.layers, q.layers);
  read("--heads", options.heads, q.heads);
  q.kv_heads = q.heads;
  read("--kv-heads", options.kv_heads, q.kv_heads);
  read("--head-dim", options.head_dim, q.head_dim);
  q.bits = bits_of_bytes("--bytes", options.bytes, diagnostics).value_or(q.bits);
  read_optional("--tokens", options.tokens, q.tokens);
  read_optional("--requests", options.requests, q.requests);
  read_optional("--latent", options.latent, q.latent);
  read("--rope-dim", options.rope_dim, q.rope_dim, 0);
  if (!options.rope_dim.empty() && !q.latent) {
    diagnostics.error(
        "", say({"--rope-dim belongs to --latent, which is missing", "--rope-dim 要与 --latent 一起用"}),
        say({"MLA keeps a latent vector and a rotated key: --latent 512 --rope-dim 64",
             "MLA 缓存一个隐向量和一个旋转过的键：--latent 512 --rope-dim 64"}));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  if (q.heads % q.kv_heads != 0) {
    diagnostics.error("",
                      say({"{0} cannot share {1} evenly", "{0} 个头无法平分 {1} 个 KV 头"},
                          counted(q.heads, "head"), counted(q.kv_heads, "KV head")),
                      say({"--kv-heads divides --heads", "--kv-heads 必须整除 --heads"}));
    return std::nullopt;
  }
  for (const Integer& numbers : {cached_numbers(q, q.heads), latent_numbers(q)}) {
    if (!is_countable(cache_bytes(q, numbers), diagnostics)) return std::nullopt;
  }
  return q;
}

int run_cache(const CacheOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const auto question = question_of(options, diagnostics);
  if (!presentation || !question) return finish(options, diagnostics);
  if (presentation->format == Format::json) {
    write_text(as_json(*question), Format::json, options, {}, diagnostics);
  } else {
    write_report(told(*question, presentation->language), options, *presentation, {}, diagnostics);
  }
  return finish(options, diagnostics);
}

}  // namespace

Command setup_cache(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "cache",
      Text{"the size of a model's KV cache, factor by factor", "KV 缓存有多大，逐个因子相乘"}.in(language));
  const auto options = std::make_shared<CacheOptions>();
  const auto add = [&](const char* name, std::string& value, const Text& meaning) {
    return add_option(command, name, value, meaning.in(language)).type("N");
  };
  add("--layers", options->layers, {"layers; 1 when left out", "层数，默认 1"});
  add("--heads", options->heads, {"query heads", "查询头数"});
  add("--kv-heads", options->kv_heads,
      {"key and value heads; as many as heads when left out", "KV 头数，默认与头数相同"});
  add("--head-dim", options->head_dim, {"dimensions of one head", "每个头的维数"});
  add("--bytes", options->bytes,
      {"bytes a number: 2 (fp16, bf16) when left out; 4, 1, 0.5",
       "每个数的字节数，默认 2（fp16、bf16）；4、1、0.5"});
  add("--tokens", options->tokens, {"tokens of one request", "每个请求的 token 数"});
  add("--requests", options->requests, {"requests at the same time", "同时的请求数"});
  add("--latent", options->latent,
      {"compared with MLA: numbers of its latent vector", "与 MLA 比较：隐向量的维数"});
  add("--rope-dim", options->rope_dim,
      {"compared with MLA: numbers of its rotated key", "与 MLA 比较：旋转键的维数"});
  add_format_option(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_cache(*options); }};
}

}  // namespace qkv

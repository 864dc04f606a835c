#include "calc/cache.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "calc/sizes.h"

namespace qkv {
namespace {

Integer cache_bits(const CacheQuestion& q, const Integer& numbers) { return numbers * q.layers * q.bits; }

struct Kind {
  const char* name;
  std::optional<long long> kv_heads;  // MLA has none
  Integer numbers;                    // a token and layer
  bool is_this = false;
};

// The model itself among the ways to share its keys and values, largest cache first.
std::vector<Kind> kinds(const CacheQuestion& q) {
  std::vector<Kind> list;
  const auto add = [&](const char* name, long long kv_heads) {
    list.push_back({name, kv_heads, cached_numbers(q, kv_heads), kv_heads == q.kv_heads});
  };
  add("MHA", q.heads);
  if (q.kv_heads != q.heads && q.kv_heads != 1) add("GQA", q.kv_heads);
  if (q.heads != 1) add("MQA", 1);
  if (q.latent) list.push_back({"MLA", std::nullopt, latent_numbers(q)});
  return list;
}

class Teller {
 public:
  Teller(const CacheQuestion& question, Language language) : q_(question), language_(language) {}

  Report report() {
    add(Heading{0, in({"KV cache, factor by factor", "KV 缓存：一个因子一个因子地乘"}), "factors"});
    add(Paragraph{
        in({"KiB, MiB, GiB count in 1,024s; KB, MB, GB in 1,000s. \"128 KB\" often means 128 KiB.",
            "KiB、MiB、GiB 按 1,024 进位，KB、MB、GB 按 1,000 进位；文章里的“128 KB”常指 128 KiB。"}),
        Tone::faint});
    factors();
    add(Heading{0, in({"The same model with other ways to share K and V", "同一个模型，换别的方式共享 K、V"}),
                "kinds"});
    add(Paragraph{in({"MHA: each head its own K and V; GQA: a group of heads shares them; MQA: all heads do.",
                      "MHA：每个头各有一组 K、V；GQA：一组头共用；MQA：所有头共用。"}),
                  Tone::faint});
    if (q_.latent) {
      add(Paragraph{
          say({"MLA: one latent vector ({0} numbers) and one rotated key ({1}) for all heads, instead of K "
               "and V.",
               "MLA：所有头共用一个隐向量（{0} 个数）和一个旋转过的键（{1} 个数），代替 K 和 V。"},
              grouped(*q_.latent), grouped(q_.rope_dim))
              .in(language_),
          Tone::faint});
    }
    comparison();
    return std::move(report_);
  }

 private:
  void add(Block block) { report_.blocks.push_back(std::move(block)); }
  std::string in(const Text& text) const { return text.in(language_); }

  // One line a factor, and the product so far.
  void factors() {
    Table table;
    table.columns = {in({"factor", "因子"}), in({"product", "累乘"}), ""};
    const Integer numbers = cached_numbers(q_, q_.kv_heads);
    const auto row = [&](const Text& name, const std::string& factor, const Integer& product,
                         const std::string& meaning) {
      table.row_labels.push_back(in(name));
      table.rows.push_back({{factor}, {grouped(product)}, {meaning, CellRole::symbolic}});
    };
    const auto size = [&](const Text& of, const Integer& bytes) {
      const std::string sizes = both_sizes(bytes);
      return in(of) + (sizes.empty() ? grouped(bytes) : sizes);
    };
    row({"K and V", "K 和 V"}, "2", 2, "");
    row({"layers", "层数"}, grouped(q_.layers), Integer(2) * q_.layers, "");
    row({"KV heads", "KV 头数"}, grouped(q_.kv_heads), Integer(2) * q_.layers * q_.kv_heads, "");
    row({"head dimension", "每头维数"}, grouped(q_.head_dim), numbers * q_.layers,
        in({"numbers a token", "每个 token 的数"}));
    const Integer token = cache_bytes_per_token(q_, numbers);
    row({"bytes a number", "每个数的字节"}, short_text(Rational(q_.bits, 8), 3), token,
        size({"bytes a token: ", "每个 token 的字节："}, token));
    if (q_.tokens) {
      const Integer request = cache_bytes_per_request(q_, numbers);
      row({"tokens", "token 数"}, grouped(*q_.tokens), request,
          size({"bytes a request: ", "每个请求的字节："}, request));
    }
    if (q_.requests) {
      const Integer all = cache_bytes(q_, numbers);
      row({"requests", "请求数"}, grouped(*q_.requests), all, size({"bytes in all: ", "总字节："}, all));
    }
    add(std::move(table));
  }

  void comparison() {
    Table table;
    table.columns = {in({"KV heads", "KV 头数"}), in({"bytes a token", "每个 token 的字节"}),
                     in({"in all", "总共"}), in({"against this", "相对本模型"})};
    const Integer own = cached_numbers(q_, q_.kv_heads);
    for (const Kind& kind : kinds(q_)) {
      table.row_labels.push_back(kind.name + (kind.is_this ? in({" (this)", "（本模型）"}) : std::string()));
      table.rows.push_back({{kind.kv_heads ? grouped(*kind.kv_heads) : "—"},
                            {grouped(cache_bytes_per_token(q_, kind.numbers))},
                            {binary_size(cache_bytes(q_, kind.numbers))},
                            {times(Rational(kind.numbers, own))}});
    }
    add(std::move(table));
  }

  const CacheQuestion& q_;
  Language language_;
  Report report_;
};

}  // namespace

Integer cached_numbers(const CacheQuestion& q, long long kv_heads) {
  return Integer(2) * kv_heads * q.head_dim;
}

Integer latent_numbers(const CacheQuestion& q) { return Integer(q.latent.value_or(0)) + q.rope_dim; }

Integer cache_bytes_per_token(const CacheQuestion& q, const Integer& numbers) {
  return bytes_of_bits(cache_bits(q, numbers));
}

Integer cache_bytes_per_request(const CacheQuestion& q, const Integer& numbers) {
  return bytes_of_bits(cache_bits(q, numbers) * q.tokens.value_or(1));
}

Integer cache_bytes(const CacheQuestion& q, const Integer& numbers) {
  return bytes_of_bits(cache_bits(q, numbers) * q.tokens.value_or(1) * q.requests.value_or(1));
}

Report told(const CacheQuestion& question, Language language) { return Teller(question, language).report(); }

std::string as_json(const CacheQuestion& q) {
  const auto whole = [](const Integer& count) { return count.convert_to<long long>(); };
  const Integer own = cached_numbers(q, q.kv_heads);
  nlohmann::ordered_json json;
  json["schema"] = "qkv/cache-1";
  json["layers"] = q.layers;
  json["heads"] = q.heads;
  json["kv_heads"] = q.kv_heads;
  json["head_dim"] = q.head_dim;
  json["bytes"] = static_cast<double>(q.bits) / 8;
  json["tokens"] = q.tokens.value_or(1);
  json["requests"] = q.requests.value_or(1);
  json["bytes_per_token"] = whole(cache_bytes_per_token(q, own));
  json["bytes_per_request"] = whole(cache_bytes_per_request(q, own));
  json["bytes_total"] = whole(cache_bytes(q, own));
  json["kinds"] = nlohmann::ordered_json::array();
  for (const Kind& kind : kinds(q)) {
    nlohmann::ordered_json row;
    row["name"] = kind.name;
    if (kind.kv_heads) row["kv_heads"] = *kind.kv_heads;
    row["bytes_per_token"] = whole(cache_bytes_per_token(q, kind.numbers));
    row["bytes_total"] = whole(cache_bytes(q, kind.numbers));
    row["over_this"] = Rational(kind.numbers, own).convert_to<double>();
    json["kinds"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

}  // namespace qkv

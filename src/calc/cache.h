// How large the KV cache of a model is, factor by factor:
//
//   2 · layers · KV heads · head dimension · bytes a number · tokens · requests
//
// The 2 stands for K and V.  Queries are not kept: an old query is never asked again.
#pragma once

#include <optional>
#include <string>

#include "base/algebraic.h"
#include "base/text.h"
#include "report/report.h"

namespace qkv {

struct CacheQuestion {
  long long layers = 1;
  long long heads = 1;
  long long kv_heads = 1;  // divides heads
  long long head_dim = 1;
  long long bits = 16;  // a number
  std::optional<long long> tokens = std::nullopt;
  std::optional<long long> requests = std::nullopt;
  // MLA keeps, instead of K and V, one latent vector and one rotated key for all heads together.
  std::optional<long long> latent = std::nullopt;
  long long rope_dim = 0;
};

// What one token leaves in one layer, in numbers.
Integer cached_numbers(const CacheQuestion& question, long long kv_heads);
Integer latent_numbers(const CacheQuestion& question);

// With so many numbers a token and layer.
Integer cache_bytes_per_token(const CacheQuestion& question, const Integer& numbers);
Integer cache_bytes_per_request(const CacheQuestion& question, const Integer& numbers);
Integer cache_bytes(const CacheQuestion& question, const Integer& numbers);  // of all requests

Report told(const CacheQuestion& question, Language language);
std::string as_json(const CacheQuestion& question);  // schema qkv/cache-1

}  // namespace qkv

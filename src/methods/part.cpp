#include <utility>

#include "methods/pass.h"

namespace qkv {
namespace {

std::shared_ptr<const Mask> part_of(const std::shared_ptr<const Mask>& mask, Index first, Index count,
                                    const std::vector<Index>& keys) {
  if (!mask) return nullptr;
  Mask part(count, static_cast<Index>(keys.size()));
  for (Index i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < keys.size(); ++j)
      part(i, static_cast<Index>(j)) = (*mask)(first + i, keys[j]);
  }
  return std::make_shared<const Mask>(std::move(part));
}

}  // namespace

Problem part_of(const Problem& problem, Index first, Index count, const std::vector<Index>& keys) {
  Problem part = problem;
  const auto from = static_cast<std::ptrdiff_t>(first);
  part.tokens.assign(problem.tokens.begin() + from, problem.tokens.begin() + from + count);
  part.kv_tokens.clear();
  for (const Index key : keys) part.kv_tokens.push_back(problem.kv_tokens[static_cast<std::size_t>(key)]);
  part.allowed = part_of(problem.allowed, first, count, keys);
  part.mask = part_of(problem.mask, first, count, keys);
  part.seen_by_sinks = part_of(problem.seen_by_sinks, first, count, keys);
  for (HeadMask& head : part.head_masks) {
    head.allowed = part_of(head.allowed, first, count, keys);
    head.mask = part_of(head.mask, first, count, keys);
  }
  // Of consecutive keys: query i stands at i + align among them.
  part.align = problem.align + first - (keys.empty() ? 0 : keys.front());
  const auto cut = [&](const std::string& name) {
    if (!problem.has(name)) return;
    const Given& whole = problem[name];
    Given bias = whole;
    bias.cells.clear();
    for (Index i = 0; i < count; ++i) {
      for (const Index key : keys) bias.cells.push_back(whole.at(first + i, key));
    }
    bias.rows = count;
    bias.cols = static_cast<Index>(keys.size());
    part.given[name] = std::move(bias);
  };
  cut("bias");
  for (Index head = 0; head < problem.heads; ++head) cut(table_of_head("bias", head));
  const auto some = [&](std::vector<long>& positions) {
    if (positions.size() == problem.tokens.size())
      positions.assign(positions.begin() + from, positions.begin() + from + count);
  };
  some(part.positions);
  some(part.kv_positions);
  return part;
}

}  // namespace qkv

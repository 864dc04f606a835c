#include "base/suggest.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace qkv {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The edit distance with swaps of neighbours, row by row of the usual table; three rows are
// enough, because a swap looks two rows back.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = last[j] + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      row[j + 1] = std::min({change, last[j + 1] + 1, row[j] + 1});
      const bool is_swap = i > 0 && j > 0 && lower(a[i]) == lower(b[j - 1]) && lower(a[i - 1]) == lower(b[j]);
      if (is_swap) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongestWord = 40;  // nothing we name is longer; the table would be
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  std::size_t fewest = word.size() <= 5 ? 1 : word.size() <= 10 ? 2 : 3;
  std::optional<std::string> best;
  for (const std::string_view candidate : candidates) {
    const std::size_t edits = edits_between(word, candidate);
    // A word of which no letter is left was not meant.
    if (edits > fewest || edits >= std::max(word.size(), candidate.size())) continue;
    if (best && edits == fewest) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

std::optional<std::string> nearest_label(std::string_view word, const std::vector<std::string>& labels) {
  const auto without_digits = [](std::string_view text) {
    std::string rest(text);
    std::erase_if(rest, [](char c) { return c >= '0' && c <= '9'; });
    return rest;
  };
  std::vector<std::string_view> candidates;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(candidates),
               [&](std::string_view label) { return without_digits(label) != without_digits(word); });
  return nearest_word(word, candidates);
}

Said did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::optional<std::string> best = nearest_word(word, candidates);
  if (!best) return {};
  return say({"did you mean '{0}'?", "是不是想写“{0}”？"}, *best);
}

Said did_you_mean_or_one_of(std::string_view word, const std::vector<std::string>& candidates) {
  Said near = did_you_mean(word, {candidates.begin(), candidates.end()});
  if (!near.empty()) return near;
  std::string all;
  for (const std::string& candidate : candidates) all += (all.empty() ? "" : " | ") + candidate;
  return say({"one of: {0}", "可选：{0}"}, all);
}

}  // namespace qkv

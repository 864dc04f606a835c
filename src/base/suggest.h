// "Did you mean": the candidate a misspelt word was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace qkv {

// The candidate with the fewest edits (a letter added, dropped, changed, or two neighbours
// swapped; capitals do not count), if they are few for the length of the word: one for up to
// five letters, two for up to ten, else three.  The first wins a tie.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string_view>& candidates);

// The same among labels, which often differ in their number alone: t9 is no misspelt t1.
std::optional<std::string> nearest_label(std::string_view word, const std::vector<std::string>& labels);

// The hint "did you mean 'tokens'?", or nothing.
Said did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// The same, or where nothing is near the list of all candidates: "one of: text | json".
Said did_you_mean_or_one_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace qkv

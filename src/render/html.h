// A trace as one HTML page that needs no network: both languages, every step as a table with heat, and the
// arithmetic behind each cell at hand.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/narrate.h"
#include "run/trace.h"

namespace qkv {

// The arithmetic of single cells stands in the page only while it takes no more numbers than this: some
// megabytes.
inline constexpr std::size_t kMostNumbersInPage = 200000;

// The telling's language is the one that the page opens in; the other is a button away.
std::string render_html(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
                        const Telling& telling);

}  // namespace qkv

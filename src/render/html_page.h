// What is the same in every HTML report: its style sheet and its script, and the hashes by which the page's
// policy lets these two run and nothing else.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// Levels of heat, classes h0 … h63 of the style sheet.
inline constexpr int kHeatLevels = 64;

// The rules in html_page.cpp and, one rule a level, the colours of render/colormap.h.
std::string page_style();
std::string_view page_script();

// SHA-256 in base64 of the two, as `style-src` and `script-src` name them.  tests/browser.py computes them
// anew and says what to write here when one is stale.
extern const std::string_view kPageStyleHash;
extern const std::string_view kPageScriptHash;

}  // namespace qkv

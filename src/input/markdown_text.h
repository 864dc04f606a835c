// Markdown's backslashes, taken away: what base/escape.h puts there.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// "W\_Q" → "W_Q", "a&#64;b" → "a@b"
std::string markdown_text(std::string_view written);

}  // namespace qkv

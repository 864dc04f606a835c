// --ascii: the signs that qkv writes, in ASCII, wherever they stand.  Whatever else is in labels and titles,
// which users gave, stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace qkv {

// "Q · Kᵀ / √d_k" → "Q * K^T / sqrt(d_k)".
std::string in_ascii(std::string_view text);

// The same of JSON, where a quotation mark of the text must not end a string.
std::string json_in_ascii(std::string_view json);

// For Markdown, which then shows the same as before: "√" → "&#x221a;".
std::string signs_in_references(std::string_view text);
// For HTML and SVG, which nobody reads as text: every character, so that nothing but ASCII is left.
std::string in_references(std::string_view text);

}  // namespace qkv

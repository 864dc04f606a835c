// The one place that turns a diagnostic into text.
//
//   bad.qkv:2:7: error: 'O' is not a number
//      2 | 我 | 1 O
//        |        ^
//        = hint: the letter O; did you mean 0?
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/text.h"

namespace qkv {

// Lines, each ended.  The words error, warning, note and hint are never translated.
//   is_ascii  × as x, … as ...; the user's own line stays as it is
std::string render_diagnostic(const Diagnostic& diagnostic, Language language, bool has_color,
                              bool is_ascii = false);
std::string render_diagnostics(const Diagnostics& diagnostics, Language language, bool has_color,
                               bool is_ascii = false);

}  // namespace qkv

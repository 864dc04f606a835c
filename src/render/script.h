// A trace as a program in another language: every step in one line, under the same name, and behind each a
// check against the values of the trace.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/narrate.h"
#include "run/trace.h"

namespace qkv {

struct ScriptLanguage {
  const char* name;       // as --to wants it
  const char* extension;  // with the point
  bool is_python;
  bool is_torch;
};
std::span<const ScriptLanguage> script_languages();

// The steps that `telling` asks for, and all that they are computed from; without --detail full the softmax
// is one line.  The program ends with status 0 when every step agrees to 9 digits, and with 1 at the first
// that does not, which it names.  Comments and messages are in telling.language; labels and titles come in
// comments and strings, escaped.
//   trace  of true values: not rounded on the way, not in a small format
std::string render_script(const ScriptLanguage& language, const Trace& trace, const About& about,
                          const Telling& telling);

// The scores that hold +∞, where there are such: their softmax is taken as a limit, and ∞ − ∞ would make nan
// of it elsewhere.
std::optional<NodeId> infinite_scores(const Trace& trace);

// What a step is called in a script: letters, digits and _, a word of neither Python nor Octave nor of the
// script itself; no two of a plan alike.
std::vector<std::string> script_names(const Plan& plan);

}  // namespace qkv

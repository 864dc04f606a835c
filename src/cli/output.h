// Where results go: standard output, or a file that is written whole or not at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "render/heat.h"

namespace qkv {

// Writes to `path`, or to standard output when it is empty or "-".
// A regular file is written beside itself and renamed, so a full disk leaves the old one as it
// was.  Never over one of `inputs`.  False, with an error added, when it could not be written.
bool write_output(const std::string& path, const std::string& text, const std::vector<std::string>& inputs,
                  Diagnostics& diagnostics);
// The same of a text that is made piece by piece: produce(write) hands over each piece once.
using WritePiece = std::function<void(std::string_view)>;
bool write_output(const std::string& path, const std::function<void(const WritePiece&)>& produce,
                  const std::vector<std::string>& inputs, Diagnostics& diagnostics);

enum class ColorChoice { automatic, always, never };

// NO_COLOR, CLICOLOR_FORCE / FORCE_COLOR, TERM=dumb, then whether `fd` is a terminal.
bool wants_color(ColorChoice choice, int fd);

// With how many colours: COLORTERM=truecolor or 24bit, else TERM=*-direct or *-256color.  A terminal that
// promises neither gets none for heat, a choice by --color always or the environment 256.
ColorDepth color_depth(ColorChoice choice, int fd);

// Diagnostics go to standard error, each stream coloured by its own rules.
struct DiagnosticStyle {
  Language language = Language::en;
  ColorChoice color = ColorChoice::automatic;
  bool is_quiet = false;  // errors only
  bool is_ascii = false;
};
void print_diagnostics(const Diagnostics& diagnostics, const DiagnosticStyle& style);

}  // namespace qkv

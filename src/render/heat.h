// A table as a heat map on a terminal: each number on a colour that says how large it is, or with a shade
// beside it.
#pragma once

#include <string>

#include "render/colormap.h"

namespace qkv {

// What a terminal can show.
enum class ColorDepth {
  none,     // no colour, or the sixteen whose shades every user sets otherwise
  palette,  // the 256 of xterm
  full,     // 24 bits
};

// The text on the colour at `t`, 0 ≤ t ≤ 1, black or white as it is read best.  Not for ColorDepth::none.
std::string on_heat(const std::string& text, ColorMap map, double t, ColorDepth depth);

// Two columns, denser for larger numbers: "░░" "▒▒" "▓▓" "██", or ".." to "@@".
std::string shade(double t, bool ascii);

// From the smallest number over all colours or shades to the largest: "0 ░▒▓█ 0.5035".
std::string heat_legend(const HeatScale& scale, ColorMap map, ColorDepth depth, bool ascii);

}  // namespace qkv

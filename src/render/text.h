// A report for a terminal.
#pragma once

#include <optional>
#include <string>

#include "render/heat.h"
#include "report/report.h"

namespace qkv {

struct TextStyle {
  bool color = false;
  bool ascii = false;  // √ · ∞ and the like become sqrt * inf
  // How large each number of a table is, on a background of colour; without colours, as a shade beside it.
  std::optional<ColorMap> heat = std::nullopt;
  ColorDepth depth = ColorDepth::none;
};

// Never wrapped: the same report gives the same bytes, whatever the terminal.
std::string render_text(const Report& report, const TextStyle& style);

// Replaces the mathematical signs that qkv writes by ASCII.
std::string in_ascii(const std::string& text);

}  // namespace qkv

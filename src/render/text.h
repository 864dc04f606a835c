// A report for a terminal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "render/heat.h"
#include "report/report.h"

namespace qkv {

struct TextStyle {
  bool color = false;
  bool ascii = false;  // √ · ∞ and the like become sqrt * inf
  // How large each number of a table is, on a background of colour; without colours, as a shade beside it.
  std::optional<ColorMap> heat = std::nullopt;
  ColorDepth depth = ColorDepth::none;
  // So many threads lay out large tables; nullopt: as many as the machine has.  The text is the same.
  std::optional<int> threads = 1;
};

// Never wrapped: the same report gives the same bytes, whatever the terminal.
std::string render_text(const Report& report, const TextStyle& style);
// The same, piece by piece as it is made: of a large trace no more is held at a time than what write() takes.
void render_text(const Report& report, const TextStyle& style,
                 const std::function<void(std::string_view)>& write);

}  // namespace qkv

// A report for a terminal.
#pragma once

#include <string>

#include "report/report.h"

namespace qkv {

struct TextStyle {
  bool color = false;
  bool ascii = false;  // √ · ∞ and the like become sqrt * inf
};

// Never wrapped: the same report gives the same bytes, whatever the terminal.
std::string render_text(const Report& report, const TextStyle& style);

// Replaces the mathematical signs that qkv writes by ASCII.
std::string in_ascii(const std::string& text);

}  // namespace qkv

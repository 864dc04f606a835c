// A report as GitHub's Markdown: tables, formulas in blocks of math, working in code blocks.
#pragma once

#include <string>

#include "report/report.h"

namespace qkv {

std::string render_markdown(const Report& report);

}  // namespace qkv

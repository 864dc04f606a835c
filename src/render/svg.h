// The tables of a report as heat maps: one drawing, for a page or a slide.
#pragma once

#include <string>

#include "render/colormap.h"
#include "report/report.h"

namespace qkv {

// A figure a step, one below another; the heads of a step stand side by side on one scale of colours.  Every
// cell has its number as a title, and shows it where there is room; what the mask decided is hatched.  An own
// background, no scripts, no fonts from elsewhere.
std::string render_svg(const Report& report, ColorMap map);

}  // namespace qkv

// How large a number is, as a colour that everybody can tell apart, and the ink that is read on it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "report/report.h"

namespace qkv {

struct Rgb {
  int red = 0;  // 0 to 255
  int green = 0;
  int blue = 0;
  bool operator==(const Rgb&) const = default;
};

// viridis and cividis rise in lightness and survive a loss of colour; cividis looks the same to the
// colour-blind.
enum class ColorMap { viridis, cividis, gray };

struct ColorMapName {
  const char* name;
  ColorMap map;
};
inline constexpr std::array<ColorMapName, 3> kColorMaps{
    {{"viridis", ColorMap::viridis}, {"cividis", ColorMap::cividis}, {"gray", ColorMap::gray}}};

// The colour at `t` of the way from the smallest to the largest, 0 ≤ t ≤ 1.
Rgb color_at(ColorMap map, double t);

// The same on a terminal of 256 colours: the number of one that no user redefines (16 to 255), in 11 steps
// that rise in lightness as the map does; and the colour that such a number stands for.
int palette_at(ColorMap map, double t);
Rgb palette_color(int number);

// Black or white, whichever is read better on a background; its contrast is 4.5 : 1 or more on any.
Rgb ink_on(Rgb background);

// Contrast of two colours, 1 to 21, as WCAG 2.1 defines it.
double contrast(Rgb a, Rgb b);

std::string hex(Rgb color);  // "#440154"

// From the smallest to the largest number of a table; from 0 when none is negative.
struct HeatScale {
  double low = 0;
  double high = 0;
  std::string low_text = "0";  // as the table shows them
  std::string high_text;
  double place(double value) const { return high > low ? (value - low) / (high - low) : 0.0; }
};
// nullopt where no cell has a value.
std::optional<HeatScale> heat_scale(const Table& table);
// One scale for tables that are to be compared, the heads of a layer.
HeatScale joined(const HeatScale& a, const HeatScale& b);

}  // namespace qkv

#include "render/colormap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

// 33 of the 256 colours of each map (viridis: van der Walt and Smith 2015; cividis: Nuñez, Anderton and
// Renslow 2018); straight lines between them stay within 3 of 255.
constexpr std::array<unsigned, 33> kViridis{
    0x440154, 0x470d60, 0x48186a, 0x482374, 0x472d7b, 0x453781, 0x424086, 0x3e4989, 0x3b528b,
    0x375b8d, 0x33638d, 0x2f6b8e, 0x2c728e, 0x297a8e, 0x26828e, 0x23898e, 0x21918c, 0x1f978b,
    0x1f9f88, 0x21a685, 0x27ad81, 0x31b57b, 0x3dbc74, 0x4cc26c, 0x5cc863, 0x6ece58, 0x81d34d,
    0x95d840, 0xaadc32, 0xc0df25, 0xd5e21a, 0xeae51a, 0xfde725};
constexpr std::array<unsigned, 33> kCividis{
    0x00224e, 0x00285b, 0x002e6a, 0x053371, 0x1a386f, 0x273e6e, 0x32436d, 0x3b496c, 0x434e6c,
    0x4b546c, 0x535a6d, 0x5a5f6e, 0x61656f, 0x686a71, 0x6f7073, 0x767676, 0x7d7c78, 0x838179,
    0x8b8778, 0x928d78, 0x9a9376, 0xa29975, 0xaaa073, 0xb3a670, 0xbbad6d, 0xc3b369, 0xccba64,
    0xd4c15f, 0xddc858, 0xe6d051, 0xefd748, 0xf8df3c, 0xfee838};

// Chosen by eye near the maps' colours: the nearest of each would not rise in lightness, because the 256 have
// few dark blues and greens.
constexpr std::array<int, 11> kViridisSteps{53, 54, 24, 30, 36, 71, 77, 113, 149, 184, 220};
constexpr std::array<int, 11> kCividisSteps{17, 18, 238, 60, 242, 244, 246, 143, 179, 185, 221};
constexpr std::array<int, 11> kGraySteps{16, 233, 236, 238, 241, 243, 246, 248, 251, 253, 231};

Rgb unpacked(unsigned color) {
  return {static_cast<int>(color >> 16U), static_cast<int>((color >> 8U) & 0xffU),
          static_cast<int>(color & 0xffU)};
}

Rgb between(const std::array<unsigned, 33>& anchors, double t) {
  const double place = std::clamp(t, 0.0, 1.0) * 32;
  const std::size_t left = std::min<std::size_t>(31, static_cast<std::size_t>(place));
  const double part = place - static_cast<double>(left);
  const Rgb a = unpacked(anchors[left]);
  const Rgb b = unpacked(anchors[left + 1]);
  const auto mix = [part](int from, int to) {
    return static_cast<int>(std::lround(from + (to - from) * part));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

// Relative luminance of WCAG 2.1.
double luminance(Rgb c) {
  const auto linear = [](int channel) {
    const double s = channel / 255.0;
    return s <= 0.03928 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

}  // namespace

Rgb color_at(ColorMap map, double t) {
  switch (map) {
    case ColorMap::viridis:
      return between(kViridis, t);
    case ColorMap::cividis:
      return between(kCividis, t);
    case ColorMap::gray:
      break;
  }
  const int level = static_cast<int>(std::lround(std::clamp(t, 0.0, 1.0) * 255));
  return {level, level, level};
}

int palette_at(ColorMap map, double t) {
  const auto& steps = map == ColorMap::viridis   ? kViridisSteps
                      : map == ColorMap::cividis ? kCividisSteps
                                                 : kGraySteps;
  const double place = std::clamp(t, 0.0, 1.0) * static_cast<double>(steps.size());
  return steps[std::min(steps.size() - 1, static_cast<std::size_t>(place))];
}

// xterm's: 16 to 231 are a cube of 6×6×6, 232 to 255 a ramp of greys.
Rgb palette_color(int number) {
  if (number >= 232) {
    const int level = 8 + 10 * (number - 232);
    return {level, level, level};
  }
  const auto level = [](int step) { return step == 0 ? 0 : 55 + 40 * step; };
  const int in_cube = number - 16;
  return {level(in_cube / 36), level(in_cube / 6 % 6), level(in_cube % 6)};
}

double contrast(Rgb a, Rgb b) {
  const double la = luminance(a);
  const double lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

Rgb ink_on(Rgb background) {
  constexpr Rgb black{0, 0, 0};
  constexpr Rgb white{255, 255, 255};
  return contrast(black, background) >= contrast(white, background) ? black : white;
}

std::string hex(Rgb color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

std::optional<HeatScale> heat_scale(const Table& table) {
  std::optional<HeatScale> scale;
  for (const auto& row : table.rows) {
    for (const TableCell& cell : row) {
      if (!cell.value) continue;
      // Of "1/√2 ≈ 0.71" the decimals.
      const std::string digits = cell.text.substr(cell.text.rfind(' ') + 1);
      HeatScale own{*cell.value, *cell.value, digits, digits};
      if (own.low >= 0) own = {0, own.high, "0", digits};
      scale = scale ? joined(*scale, own) : own;
    }
  }
  return scale;
}

HeatScale joined(const HeatScale& a, const HeatScale& b) {
  const HeatScale& low = b.low < a.low ? b : a;
  const HeatScale& high = b.high > a.high ? b : a;
  return {low.low, high.high, low.low_text, high.high_text};
}

}  // namespace qkv

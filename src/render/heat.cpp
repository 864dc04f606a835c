#include "render/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qkv {
namespace {

constexpr std::array<const char*, 4> kBlocks{"░", "▒", "▓", "█"};
constexpr std::array<const char*, 9> kAsciiShades{".", ":", "-", "=", "+", "*", "#", "%", "@"};

constexpr int kLegendWidth = 22;

template <class Shades>
std::string shade_of(const Shades& shades, double t) {
  const double place = std::clamp(t, 0.0, 1.0) * static_cast<double>(shades.size());
  return shades[std::min(shades.size() - 1, static_cast<std::size_t>(place))];
}

}  // namespace

std::string on_heat(const std::string& text, ColorMap map, double t, ColorDepth depth) {
  if (depth == ColorDepth::full) {
    const Rgb back = color_at(map, t);
    const Rgb ink = ink_on(back);
    return fmt::format("\x1b[48;2;{};{};{}m\x1b[38;2;{};{};{}m{}\x1b[0m", back.red, back.green, back.blue,
                       ink.red, ink.green, ink.blue, text);
  }
  const int back = palette_at(map, t);
  // 16 and 231 are the black and the white that no user redefines.
  const int ink = ink_on(palette_color(back)) == palette_color(16) ? 16 : 231;
  return fmt::format("\x1b[48;5;{}m\x1b[38;5;{}m{}\x1b[0m", back, ink, text);
}

std::string shade(double t, bool ascii) {
  const std::string one = ascii ? shade_of(kAsciiShades, t) : shade_of(kBlocks, t);
  return one + one;
}

std::string heat_legend(const HeatScale& scale, ColorMap map, ColorDepth depth, bool ascii) {
  std::string bar;
  if (depth != ColorDepth::none) {
    for (int i = 0; i < kLegendWidth; ++i) bar += on_heat(" ", map, (i + 0.5) / kLegendWidth, depth);
  } else if (ascii) {
    for (const char* s : kAsciiShades) bar += s;
  } else {
    for (const char* s : kBlocks) bar += s;
  }
  return scale.low_text + " " + bar + " " + scale.high_text;
}

}  // namespace qkv

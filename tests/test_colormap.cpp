// Colours for numbers: always readable, and lighter for larger ones, whatever the terminal shows.

#include "render/colormap.h"
#include "render/heat.h"
#include "render/text.h"
#include "support.h"

namespace qkv::test {
namespace {

constexpr int kPlaces = 1000;
constexpr Rgb kBlack{0, 0, 0};
constexpr Rgb kWhite{255, 255, 255};

template <class Check>
void at_every_place(Check check) {
  for (const ColorMapName& row : kColorMaps) {
    INFO(row.name);
    for (int i = 0; i <= kPlaces; ++i) check(row.map, static_cast<double>(i) / kPlaces);
  }
}

Table one_row(std::vector<TableCell> cells) {
  Table table;
  table.row_labels = {"t1"};
  table.rows.push_back(std::move(cells));
  return table;
}

}  // namespace

TEST_CASE("contrast is that of WCAG 2.1") {
  CHECK(contrast(kBlack, kWhite) == doctest::Approx(21));
  CHECK(contrast(kWhite, kWhite) == doctest::Approx(1));
  // #767676 is the lightest grey that passes on white, 4.54 : 1 (WebAIM's table).
  CHECK(contrast({0x76, 0x76, 0x76}, kWhite) == doctest::Approx(4.54).epsilon(0.001));
}

TEST_CASE("the ends of the maps are those of their papers") {
  CHECK(hex(color_at(ColorMap::viridis, 0)) == "#440154");
  CHECK(hex(color_at(ColorMap::viridis, 1)) == "#fde725");
  CHECK(hex(color_at(ColorMap::cividis, 0)) == "#00224e");
  CHECK(hex(color_at(ColorMap::cividis, 1)) == "#fee838");
  CHECK(hex(color_at(ColorMap::gray, 0.5)) == "#808080");
}

TEST_CASE("every number is read on its colour, 4.5 : 1, in 24 bits and in the 256 colours of a terminal") {
  at_every_place([](ColorMap map, double t) {
    const Rgb full = color_at(map, t);
    CHECK(contrast(full, ink_on(full)) >= 4.5);
    const Rgb palette = palette_color(palette_at(map, t));
    CHECK(contrast(palette, ink_on(palette)) >= 4.5);
  });
}

TEST_CASE("a larger number is lighter, in 24 bits and in the 256 colours of a terminal") {
  for (const ColorMapName& row : kColorMaps) {
    INFO(row.name);
    for (int i = 1; i <= kPlaces; ++i) {
      const double below = (i - 1.0) / kPlaces;
      const double here = static_cast<double>(i) / kPlaces;
      CHECK(contrast(palette_color(palette_at(row.map, here)), kBlack) >=
            contrast(palette_color(palette_at(row.map, below)), kBlack));
      // Within what rounding to 255 steps can do.
      CHECK(contrast(color_at(row.map, here), kBlack) >= contrast(color_at(row.map, below), kBlack) - 0.05);
    }
  }
}

TEST_CASE("the colours of a terminal are those that xterm documents") {
  CHECK(hex(palette_color(16)) == "#000000");
  CHECK(hex(palette_color(24)) == "#005f87");
  CHECK(hex(palette_color(231)) == "#ffffff");
  CHECK(hex(palette_color(232)) == "#080808");
  CHECK(hex(palette_color(255)) == "#eeeeee");
}

TEST_CASE("the scale runs from 0, or from the smallest negative number, to the largest") {
  const auto scale = heat_scale(one_row({{"0.25", CellRole::number, 0.25}, {"0", CellRole::forbidden}}));
  REQUIRE(scale);
  CHECK(scale->low == 0);
  CHECK(scale->place(0.25) == 1);
  CHECK(scale->low_text + " " + scale->high_text == "0 0.25");
  const auto signed_scale =
      heat_scale(one_row({{"-1.0", CellRole::number, -1.0}, {"1/2 = 0.5", CellRole::symbolic, 0.5}}));
  REQUIRE(signed_scale);
  CHECK(signed_scale->place(-0.25) == 0.5);
  CHECK(signed_scale->low_text + " " + signed_scale->high_text == "-1.0 0.5");
  CHECK(!heat_scale(one_row({{"a", CellRole::symbolic}, {"−∞", CellRole::forbidden}})));
}

TEST_CASE("without colours a shade stands beside each number, and none beside what the mask decided") {
  const Report report{{one_row({{"0.10", CellRole::number, 0.1},
                                {"0.40", CellRole::number, 0.4},
                                {"0.60", CellRole::number, 0.6},
                                {"1.00", CellRole::number, 1.0},
                                {"0", CellRole::forbidden},
                                {"2.10", CellRole::sum}})}};
  CHECK(render_text(report, {.heat = ColorMap::viridis}) ==
        "t1  0.10 ░░  0.40 ▒▒  0.60 ▓▓  1.00 ██  0  2.10\n"
        "\n"
        "0 ░▒▓█ 1.00\n");
  CHECK(render_text(report, {.ascii = true, .heat = ColorMap::viridis}) ==
        "t1  0.10 ..  0.40 ==  0.60 **  1.00 @@  0  2.10\n"
        "\n"
        "0 .:-=+*#%@ 1.00\n");
}

TEST_CASE("with colours the numbers stand where they stand without, and the mask's have no background") {
  const Report report{{one_row(
      {{"0.00", CellRole::number, 0.0}, {"0", CellRole::forbidden}, {"1.00", CellRole::number, 1.0}})}};
  const std::string full =
      render_text(report, {.color = true, .heat = ColorMap::gray, .depth = ColorDepth::full});
  CHECK(full.substr(0, full.find('\n')) ==
        "t1 \x1b[48;2;0;0;0m\x1b[38;2;255;255;255m 0.00 \x1b[0m \x1b[2m0\x1b[0m "
        "\x1b[48;2;255;255;255m\x1b[38;2;0;0;0m 1.00 \x1b[0m");
  const std::string palette =
      render_text(report, {.color = true, .heat = ColorMap::gray, .depth = ColorDepth::palette});
  CHECK(palette.substr(0, palette.find('\n')) ==
        "t1 \x1b[48;5;16m\x1b[38;5;231m 0.00 \x1b[0m \x1b[2m0\x1b[0m "
        "\x1b[48;5;231m\x1b[38;5;16m 1.00 \x1b[0m");
}

}  // namespace qkv::test

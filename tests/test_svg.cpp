// Heat maps as SVG.  That other programs read them is for tests/written.py.

#include "render/svg.h"
#include "support.h"

namespace qkv::test {
namespace {

Table table_of(std::string id, std::vector<std::vector<TableCell>> rows) {
  Table table;
  table.id = std::move(id);
  for (std::size_t i = 0; i < rows.size(); ++i) table.row_labels.push_back("t" + std::to_string(i + 1));
  for (std::size_t j = 0; j < rows.front().size(); ++j) table.columns.push_back("k" + std::to_string(j + 1));
  table.rows = std::move(rows);
  table.node = 0;
  return table;
}

TableCell number(const char* text, double value) { return {text, CellRole::number, value}; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What comes between two marks, the first time.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

}  // namespace

TEST_CASE(
    "each cell of a drawing has its name, its colour and its number; what the mask decided is hatched") {
  const Table table = table_of("weights", {{number("1.00", 1.0), {"0", CellRole::forbidden}},
                                           {number("0.00", 0.0), number("1.00", 1.0)}});
  const std::string svg = render_svg({{table}}, ColorMap::gray);
  const std::string masked = between(svg, "<title>weights[t1,k2] = 0</title>", "</g>");
  CHECK(masked.find("fill=\"url(#qkv-masked)\"") != std::string::npos);
  CHECK(masked.find(">0</text>") != std::string::npos);
  const std::string dark = between(svg, "<title>weights[t2,k1] = 0.00</title>", "</g>");
  CHECK(dark.find("fill=\"#000000\" stroke") != std::string::npos);
  CHECK(dark.find("fill=\"#ffffff\">0.00</text>") != std::string::npos);
  CHECK(count(svg, "<title>weights[") == 4);
}

TEST_CASE("the heads of a step stand in one line and share one scale; another step begins a new line") {
  const Report report{{table_of("h1.weights", {{number("0.50", 0.5)}}),
                       table_of("h1.output", {{number("4.00", 4.0)}}),
                       table_of("h2.weights", {{number("1.00", 1.0)}})}};
  const std::string svg = render_svg(report, ColorMap::gray);
  CHECK(count(svg, "url(#qkv-scale)") == 2);
  // Half of the scale that both heads share.
  CHECK(between(svg, "<title>h1.weights[t1,k1] = 0.50</title>", "</g>").find("#808080") != std::string::npos);
  // Drawn in this order, at the same height.
  const auto place = [&](const std::string& id) {
    const std::string before = svg.substr(0, svg.find(">" + id + "</text>"));
    return before.substr(before.rfind("translate("), before.rfind(")\">\n") - before.rfind("translate("));
  };
  const auto height = [&](const std::string& id) { return place(id).substr(place(id).find(',')); };
  CHECK(height("h1.weights") == height("h2.weights"));
  CHECK(height("h1.weights") != height("h1.output"));
}

TEST_CASE("a large table has small cells, without numbers in them but with their names") {
  const std::vector<TableCell> row(50, number("0.25", 0.25));
  const std::string svg = render_svg({{table_of("scores", std::vector(50, row))}}, ColorMap::viridis);
  CHECK(count(svg, "<title>scores[") == 2500);
  CHECK(count(svg, ">0.25</text>") == 1);  // of the scale
}

TEST_CASE("a label cannot break the drawing") {
  Table table = table_of("scores", {{number("1", 1.0)}});
  table.row_labels = {"<script>&\"'\x1b"};
  const std::string svg = render_svg({{Heading{0, "</title><b>", ""}, table}}, ColorMap::viridis);
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("<b>") == std::string::npos);
  CHECK(svg.find('\x1b') == std::string::npos);
  CHECK(svg.find("&lt;script&gt;&amp;&quot;&#39;") != std::string::npos);
}

}  // namespace qkv::test

// The HTML report as text: whole, in both languages, and harmless.  tests/browser.py looks at it in a
// browser.

#include "render/html.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "input/source.h"
#include "methods/methods.h"
#include "problem/read_problem.h"
#include "render/mathml.h"
#include "report/formula.h"
#include "support.h"

namespace qkv::test {
namespace {

struct Read {
  std::string file;
  About about;
  Trace trace;
};

Read read_file(const SourcePtr& source, Diagnostics& diagnostics) {
  ProblemInput input;
  input.file = source;
  auto planned = read_and_plan(input, diagnostics);
  REQUIRE(planned);
  About about;
  about.title = planned->problem.title;
  about.source = planned->problem.source;
  about.settings = planned->problem.settings;
  about.tokens = planned->problem.tokens;
  about.heads = planned->problem.heads;
  about.kv_heads = planned->problem.kv_heads;
  about.mask_meaning = planned->problem.mask_meaning;
  return {planned->problem.file, about, run(std::move(planned->plan), {})};
}

Read read_text(const std::string& text) {
  Diagnostics diagnostics;
  return read_file(source_from_text("problem", text, diagnostics), diagnostics);
}

std::vector<Read> all_examples() {
  std::vector<Read> all;
  for (const auto& entry : std::filesystem::directory_iterator(QKV_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".qkv") continue;
    Diagnostics diagnostics;
    all.push_back(read_file(read_source(entry.path().string(), diagnostics), diagnostics));
  }
  REQUIRE(all.size() > 40);
  return all;
}

std::string page_of(const Read& read, const Telling& telling = {}) {
  return render_html(read.trace, read.about, {}, telling);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// What stands in the table cells of a page, in order.
std::vector<std::string> cells_in(const std::string& page) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; (at = page.find("<td", at)) != std::string::npos;) {
    at = page.find('>', at) + 1;
    std::string cell = page.substr(at, page.find("</td>", at) - at);
    for (const auto& [entity, sign] :
         {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&#39;", "'"}, {"&quot;", "\""}, {"&amp;", "&"}})
      replace_all(cell, entity, sign);
    cells.push_back(cell);
  }
  return cells;
}

nlohmann::json data_in(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST_CASE("the English and the Chinese report of a trace correspond block by block, with the same numbers") {
  for (const Read& read : all_examples()) {
    INFO(read.file);
    const auto told = [&](Language language) {
      return narrate(read.trace, read.about, {},
                     {.detail = Detail::full, .language = language, .checks = true});
    };
    const Report en = told(Language::en);
    const Report zh = told(Language::zh);
    REQUIRE(en.blocks.size() == zh.blocks.size());
    for (std::size_t i = 0; i < en.blocks.size(); ++i) {
      REQUIRE(en.blocks[i].index() == zh.blocks[i].index());
      if (const auto* heading = std::get_if<Heading>(&en.blocks[i])) {
        CHECK(heading->id == std::get<Heading>(zh.blocks[i]).id);
        CHECK(heading->number == std::get<Heading>(zh.blocks[i]).number);
      } else if (const auto* paragraph = std::get_if<Paragraph>(&en.blocks[i])) {
        CHECK(paragraph->tone == std::get<Paragraph>(zh.blocks[i]).tone);
      } else if (const auto* formula = std::get_if<Formula>(&en.blocks[i])) {
        CHECK(formula->shapes == std::get<Formula>(zh.blocks[i]).shapes);
      } else if (const auto* table = std::get_if<Table>(&en.blocks[i])) {
        const Table& other = std::get<Table>(zh.blocks[i]);
        CHECK(table->row_labels == other.row_labels);
        CHECK(table->columns.size() == other.columns.size());
        REQUIRE(table->rows.size() == other.rows.size());
        for (std::size_t r = 0; r < table->rows.size(); ++r) {
          REQUIRE(table->rows[r].size() == other.rows[r].size());
          for (std::size_t c = 0; c < table->rows[r].size(); ++c)
            CHECK(table->rows[r][c].text == other.rows[r][c].text);
        }
      } else if (const auto* working = std::get_if<Working>(&en.blocks[i])) {
        const Working& other = std::get<Working>(zh.blocks[i]);
        REQUIRE(working->lines.size() == other.lines.size());
        for (std::size_t l = 0; l < working->lines.size(); ++l)
          CHECK(working->lines[l].sides == other.lines[l].sides);
      }
    }
  }
}

TEST_CASE(
    "every number of every step stands in the page once, in order; every cell has a line and its sources") {
  for (const Read& read : all_examples()) {
    INFO(read.file);
    for (const Detail detail : {Detail::steps, Detail::full}) {
      const Telling telling{.detail = detail};
      std::vector<std::string> expected;
      std::vector<std::string> titles;
      for (const Block& block : narrate(read.trace, read.about, {}, telling).blocks) {
        if (const auto* heading = std::get_if<Heading>(&block); heading != nullptr && !heading->id.empty())
          titles.push_back(read.trace.plan()[*read.trace.plan().find(heading->id)].id);
        const auto* table = std::get_if<Table>(&block);
        if (table == nullptr) continue;
        for (const auto& row : table->rows) {
          for (const TableCell& cell : row) expected.push_back(cell.text);
        }
      }
      const std::string page = page_of(read, telling);
      CHECK(cells_in(page) == expected);
      std::size_t sections = 0;
      for (std::size_t at = 0; (at = page.find("<section ", at)) != std::string::npos; ++at) ++sections;
      CHECK(sections >= titles.size());

      const nlohmann::json data = data_in(page);
      REQUIRE(data["lines"].size() == expected.size());
      REQUIRE(data["from"].size() == expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k) {
        CHECK(data["lines"][k].back() == expected[k]);  // what the arithmetic comes to is what the cell shows
        for (const std::size_t source : data["from"][k]) CHECK(source < expected.size());
      }
    }
  }
}

TEST_CASE(
    "a cell knows where it came from: Q is cells 0 to 3, V 4 and 5, then scores and weights with sums") {
  const Read read = read_text("K = Q\nscale = none\n[Q]\n1 0\n0 2\n[V]\n3\n5\n");
  const nlohmann::json data = data_in(page_of(read));
  // Q 0-3, V 4-5, scores 6-9, weights and sums 10-15, output 16-17
  REQUIRE(data["from"].size() == 18);
  CHECK(data["from"][0].empty());
  CHECK(data["from"][7] ==
        nlohmann::json{0, 1, 2, 3});  // scores[t1,t2]: both rows of Q, the keys being the queries
  CHECK(data["from"][9] == nlohmann::json{2, 3});
  CHECK(data["lines"][9] == nlohmann::json{"scores[t2,t2]", "q_t2·k_t2", "0·0 + 2·2", "4.0000"});
  CHECK(data["from"][10] == nlohmann::json{6, 7});  // weights[t1,t1]
  CHECK(data["from"][12] == nlohmann::json{10, 11});
  CHECK(data["lines"][12] == nlohmann::json{"Σ_j weights[t1,j]", "1.0000"});
  CHECK(data["from"][16] == nlohmann::json{4, 5, 10, 11});
}

TEST_CASE("a label, a title and a source are text wherever they stand") {
  const std::string page = page_of(
      read_text("title = </title><script>x()</script>\nsource = <img src=x onerror=x()>\nscale = none\n"
                "tokens = <b> \"'><svg/onload=x()>\"\nkv_tokens = </script><script>x()</script> k&lt;\n"
                "[scores]\n1 2\n3 4\n[V]\na\nb\n"));
  for (const char* tag : {"<script>x", "<img", "<b> ", "<svg/", "\"'>"}) {
    INFO(tag);
    CHECK(page.find(tag) == std::string::npos);
  }
  CHECK(page.find("<h1 id=\"title\">&lt;/title&gt;&lt;script&gt;x()&lt;/script&gt;</h1>") !=
        std::string::npos);
  CHECK(page.find("<th scope=\"col\">k&amp;lt;</th>") != std::string::npos);
  CHECK(data_in(page)["lines"][1][0] == "scores[<b>,k&lt;]");
}

TEST_CASE("the page opens in the language of the telling and holds the other") {
  const Read read = read_text("K = Q\n[Q]\n1 0\n0 2\n[V]\n3\n5\n");
  const std::string en = page_of(read);
  std::string zh = page_of(read, {.language = Language::zh});
  CHECK(en.find("<html lang=\"en\">") != std::string::npos);
  replace_all(zh, "<html lang=\"zh\">", "<html lang=\"en\">");
  CHECK(en == zh);
  CHECK(en.find("<span lang=\"en\">Scaled scores</span><span lang=\"zh\">缩放后的分数</span>") !=
        std::string::npos);
}

TEST_CASE("formulas in MathML") {
  const Read read =
      read_text("mask = causal\nsoftcap = 5\n[X]\n1 0\n0 1\n[W_Q]\n1 0\n0 1\n[W_K]\n1 0\n0 1\n[W_V]\n1\n1\n");
  const auto written = [&](const char* id) {
    const NodeId node = node_named(read.trace.plan(), id);
    std::string math = mathml({id, math_formula(read.trace.plan(), node), ""});
    replace_all(math, "<mspace width=\"0.17em\"/>", "");
    return math;
  };
  CHECK(written("Q") ==
        "<math displaystyle=\"true\"><mi>Q</mi><mo>=</mo><mrow><mi>X</mi><mo>\u2062</mo>"
        "<msub><mi>W</mi><mi>Q</mi></msub></mrow></math>");
  CHECK(written("scores") ==
        "<math displaystyle=\"true\"><mi>scores</mi><mo>=</mo><mrow><mi>Q</mi><mo>\u2062</mo>"
        "<msup><mi>K</mi><mo>⊤</mo></msup></mrow></math>");
  CHECK(written("scaled") ==
        "<math displaystyle=\"true\"><mi>scaled</mi><mo>=</mo><mrow><mfrac><mrow><mi>scores</mi></mrow>"
        "<mrow><msqrt><mrow><msub><mi>d</mi><mi>k</mi></msub></mrow></msqrt></mrow></mfrac></mrow></math>");
  CHECK(written("max") ==
        "<math displaystyle=\"true\"><mi>max</mi><mo>=</mo><mrow><munder><mi>max</mi><mi>j</mi></munder>"
        "<mspace width=\"0.28em\"/><mi>masked</mi></mrow></math>");
}

}  // namespace
}  // namespace qkv::test

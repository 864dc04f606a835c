// What a sheet must hold to be solved with nothing else at hand.

#include "check/worksheet.h"

#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

// In every form, its own marks for cells taken out: "|", "&", and "$", "\\".
std::vector<std::string> sheets_of(const std::string& problem_text) {
  const Reading reading = read_text(problem_text);
  INFO(problem_text, reading.told());
  REQUIRE(reading.problem);
  const Trace trace = traced(*reading.problem);
  About about;
  about.mask_meaning = reading.problem->mask_meaning;
  std::vector<std::string> sheets;
  for (const auto write : {worksheet_text, worksheet_markdown, worksheet_latex}) {
    std::string words;
    for (const char c : write(trace, *reading.problem, about, {}, Cells::blank)) {
      const bool is_mark = c == '|' || c == '&' || c == '\\' || c == '$' || c == '{' || c == '}' || c == ' ';
      if (!is_mark) {
        words += c;
      } else if (!words.ends_with(' ')) {
        words += ' ';
      }
    }
    sheets.push_back(std::move(words));
  }
  return sheets;
}

bool all_hold(const std::vector<std::string>& sheets, const std::string& text) {
  return std::all_of(sheets.begin(), sheets.end(),
                     [&](const std::string& sheet) { return sheet.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a mask that is given stands on the sheet as it was written, and what it means") {
  const std::string given = "[Q]\n1 0\n0 1\n[K]\n1 0\n0 1\n[V]\n1\n2\n";
  const auto sheets = sheets_of("tokens = a b\nmask_values = look\n" + given + "[mask]\n1 0\n1 1\n");
  CHECK(all_hold(sheets, "mask ("));
  CHECK(all_hold(sheets, "a 1 0"));
  CHECK(all_hold(sheets, "b 1 1"));
  CHECK(all_hold(sheets, "1 = may look, 0 = may not"));

  const std::string two_heads = "[Q]\n1 0\n0 1\n[K]\n1 0\n0 1\n[V]\n1 3\n2 4\n";
  const auto of_heads =
      sheets_of("tokens = a b\nheads = 2\nmask_values = hide\n" + two_heads + "[h2.mask]\n0 1\n0 0\n");
  CHECK(all_hold(of_heads, "h2.mask ("));
  CHECK(all_hold(of_heads, "a 0 1"));
  CHECK(all_hold(of_heads, "b 0 0"));
}

TEST_CASE("a mask of every layer, or of one, stands on the sheet") {
  std::string text = "tokens = a b\nlayers = 2\n[X]\n1 0\n0 1\n[L2.mask]\n1 0\n1 1\n";
  for (const char* name : {"L1.W_Q", "L1.W_K", "L1.W_V", "L2.W_Q", "L2.W_K", "L2.W_V"})
    text += "[" + std::string(name) + "]\n1 0\n0 1\n";
  CHECK(all_hold(sheets_of(text), "L2.mask ("));
}

TEST_CASE("rotary and sinusoidal positions come with their angles, base and pairs") {
  const std::string given = "[Q]\n1 0 2 1\n0 1 1 0\n[K]\n1 1 0 1\n0 2 1 0\n[V]\n1\n2\n";
  const auto rotary = sheets_of("rope = half\nrope_base = 500\n" + given);
  for (const std::string& sheet : rotary) {
    INFO(sheet);
    CHECK(sheet.find("angles = positions / (500") != std::string::npos);
    CHECK(sheet.find("turns together") != std::string::npos);
    CHECK(sheet.find("counted from 0") != std::string::npos);
    // Once, though queries and keys turn alike.
    CHECK(sheet.find("angles = ") == sheet.rfind("angles = "));
  }
  const auto added = sheets_of("pos = sinusoidal\nQ = X\nK = X\nV = X\n[X]\n1 0 2 1\n0 1 1 0\n");
  CHECK(all_hold(added, "X.angles = X.positions / (10000"));
  CHECK(all_hold(added, "X.P = "));
}

}  // namespace qkv::test

// How a diagnostic looks: the excerpt, the caret, colours, languages.
#include <doctest/doctest.h>

#include <string>

#include "base/display_width.h"
#include "reading.h"

using namespace qkv;
using namespace qkv::test;

namespace {

std::string shown(std::string text, Span span, bool has_color = false, bool is_ascii = false) {
  const SourcePtr file = source("f.qkv", std::move(text));
  const Diagnostic d{Severity::error, file->name, file, span, say({"here", "这里"}), {}};
  return render_diagnostic(d, Language::en, has_color, is_ascii);
}

}  // namespace

TEST_CASE("the caret stands under the character, whatever stands before it") {
  CHECK(told("[X]\n我 | 1 O\n") ==
        "t.qkv:1:1: error: [X] alone does not say what Q and K are\n"
        "   1 | [X]\n"
        "     | ^^^\n"
        "     = hint: add [W_Q] and [W_K], or write 'Q = X' and 'K = X' above the sections\n"
        "t.qkv:2:7: error: 'O' is not a number\n"
        "   2 | 我 | 1 O\n"
        "     |        ^\n"
        "     = hint: the letter O; did you mean 0?\n");
}

TEST_CASE("a caret spans the columns of what it points at") {
  CHECK(messages("K = X\nQ = X\n[X]\n我：1 0\n\n爱：0 1 2\n") ==
        "error: row 2 of [X] has 3 numbers, but row 1 has 2\n");
  CHECK(shown("a\nb\nc\n爱：0 1 2\n", {6, 17}) ==
        "f.qkv:4:1: error: here\n"
        "   4 | 爱：0 1 2\n"
        "     | ^^^^^^^^^\n");
}

TEST_CASE("the same diagnostic in Chinese keeps its English keywords") {
  CHECK(told("tokns = a b\n[Q]\n1\n[K]\n1\n", Language::zh) ==
        "t.qkv:1:1: error: 未知的设置“tokns”\n"
        "   1 | tokns = a b\n"
        "     | ^^^^^\n"
        "     = hint: 是不是想写“tokens”？\n");
}

TEST_CASE("a diagnostic without a place names the file, or the program") {
  Diagnostics diagnostics;
  diagnostics.error("a\x1b.qkv", say({"is bad", "有错"}), say({"mend it", "请改正"}));
  diagnostics.warning("", say({"odd", "奇怪"}));
  CHECK(render_diagnostics(diagnostics, Language::en, false) ==
        "a\\u{1b}.qkv: error: is bad\n"
        "     = hint: mend it\n"
        "qkv: warning: odd\n");
}

TEST_CASE("a tab takes one column and control characters are spelt out") {
  CHECK(shown("1\t\x1b[2J x\n", {7, 8}) ==
        "f.qkv:1:8: error: here\n"
        "   1 | 1 \\u{1b}[2J x\n"
        "     |             ^\n");
}

TEST_CASE("an empty span at the end of a line still has a caret") {
  CHECK(shown("ab\n", {2, 2}) ==
        "f.qkv:1:3: error: here\n"
        "   1 | ab\n"
        "     |   ^\n");
}

TEST_CASE("a span over several lines is shown to the end of the first") {
  CHECK(shown("ab\r\ncd\n", {1, 7}) ==
        "f.qkv:1:2: error: here\n"
        "   1 | ab\n"
        "     |  ^\n");
}

TEST_CASE("a long line is cut around the caret") {
  const std::string long_line = std::string(200, 'a') + "X" + std::string(200, 'b');
  CHECK(shown(long_line, {200, 201}) ==
        "f.qkv:1:201: error: here\n"
        "   1 | …" +
            std::string(30, 'a') + "X" + std::string(68, 'b') +
            "…\n"
            "     | " +
            std::string(31, ' ') + "^\n");
  CHECK(shown(long_line, {10, 11}, false, true) ==
        "f.qkv:1:11: error: here\n"
        "   1 | " +
            std::string(100, 'a') +
            "...\n"
            "     | " +
            std::string(10, ' ') + "^\n");
}

TEST_CASE("a wide line number widens the margin") {
  std::string text(12344, '\n');
  text += "x";
  CHECK(shown(text, {12344, 12345}) ==
        "f.qkv:12345:1: error: here\n"
        "12345 | x\n"
        "      | ^\n");
}

TEST_CASE("colour is for the place, the word and the caret") {
  CHECK(shown("x\n", {0, 1}, true) ==
        "\x1b[1mf.qkv:1:1:\x1b[0m \x1b[1;31merror:\x1b[0m here\n"
        "   1 | x\n"
        "     | \x1b[1;31m^\x1b[0m\n");
}

TEST_CASE("in ASCII qkv's own words are ASCII") {
  Diagnostics diagnostics;
  diagnostics.error("", say({"Q is 3×2: q·W_aᵀ …", "Q 是 3×2：q·W_aᵀ …"}));
  CHECK(render_diagnostics(diagnostics, Language::en, false, true) == "qkv: error: Q is 3x2: q*W_a^T ...\n");
}

// Sources, the outline of a problem file, and the rows of one matrix.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "input/sections.h"
#include "matrix_rows.h"
#include "reading.h"

using namespace qkv;
using namespace qkv::test;

namespace {

std::string refusal(const std::string& name) {
  Diagnostics diagnostics;
  CHECK(read_source(name, diagnostics) == nullptr);
  return render_diagnostics(diagnostics, Language::en, false);
}

std::string refusal_of_text(std::string text) {
  Diagnostics diagnostics;
  CHECK(source_from_text("f", std::move(text), diagnostics) == nullptr);
  return render_diagnostics(diagnostics, Language::en, false);
}

// A file of its own for one test.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() / ("qkv_test_" + std::to_string(getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

// ---- sources ----

TEST_CASE("a file that is no readable text is refused with the reason") {
  CHECK(refusal("no/such.qkv") == "no/such.qkv: error: no such file\n");
  CHECK(refusal("/") == "/: error: this is a directory, not a file\n");
  CHECK(refusal_of_text("") == "f: error: the file is empty\n");
  CHECK(refusal_of_text("\xef\xbb\xbf") == "f: error: the file is empty\n");
  CHECK(refusal_of_text(std::string("ab\0c", 4)) == "f: error: not a text file: byte 3 is zero\n");
  CHECK(refusal_of_text("1 2\n\xce\xd2 1\n") ==
        "f: error: not UTF-8: byte 5 (offset 4) is 0xce\n"
        "     = hint: if the file was saved as GBK, save it again as UTF-8\n");
  CHECK(refusal_of_text("\xff\xfe[\1") ==
        "f: error: the text is UTF-16; qkv reads UTF-8\n"
        "     = hint: save it again as UTF-8\n");
}

TEST_CASE("a file that claims 2 GiB is refused by its size, not by reading it") {
  const TemporaryFile file;
  std::ofstream(file.path()) << "[Q]\n1 0\n";
  std::filesystem::resize_file(file.path(), std::uintmax_t{2} << 30);
  CHECK(refusal(file.path()) == file.path() + ": error: larger than 64 MiB, the most qkv reads\n");
}

TEST_CASE("a byte order mark is dropped") { CHECK(source("f", "\xef\xbb\xbf[Q]")->text == "[Q]"); }

// ---- rows ----

TEST_CASE("cells are separated by spaces, tabs and commas") {
  CHECK(plain("1 0\n0\t1\n") == "1 0 ; 0 1");
  CHECK(plain("1, 0\r\n0 ,1\r\n") == "1 0 ; 0 1");
  CHECK(plain("1,0,0\n0,1,0") == "1 0 0 ; 0 1 0");
}

TEST_CASE("two numbers with a comma alone on every line might be one decimal, which is noted") {
  const Rows r = rows("1,5\n2,3\n");
  CHECK(r.text() == "1 5 ; 2 3");
  CHECK(r.told ==
        "m.txt:1:1: note: '1,5' is read as two numbers; a decimal point is written '.'\n"
        "   1 | 1,5\n"
        "     | ^^^\n");
  CHECK(rows("0,5 0,25\n1,5 2,5\n").told.starts_with("m.txt:1:1: note: '0,5' is read as two numbers"));
  CHECK(plain("1,5\n2,3.5\n") == "1 5 ; 2 3.5");  // no doubt where a point stands
}

TEST_CASE("a semicolon ends a row") {
  CHECK(plain("1 0 ; 0 1") == "1 0 ; 0 1");
  CHECK(plain("[1, 0; 0, 1];") == "1 0 ; 0 1");
}

TEST_CASE("brackets around a row or the whole are ignored") {
  CHECK(plain("[1 0]\n(0 1)\n{1 1}\n") == "1 0 ; 0 1 ; 1 1");
  CHECK(plain("[[1, 0],\n [0, 1]]\n") == "1 0 ; 0 1");
  CHECK(plain("[[1, 0], [0, 1]]") == "1 0 ; 0 1");
  CHECK(plain("[1]\n[2]\n") == "1 ; 2");
}

TEST_CASE("a row inside two brackets goes on after a line break") {
  CHECK(plain("[[1, 2,\n  3, 4]]") == "1 2 3 4");
}

TEST_CASE("a pasted assignment is read as the matrix it holds") {
  CHECK(plain("Q = [[1, 0],\n     [0, 1]]\n") == "1 0 ; 0 1");
  CHECK(plain("Q =\n[[1, 0],\n [0, 1]]\n") == "1 0 ; 0 1");
}

TEST_CASE("full-width forms are read as their ASCII twins") {
  CHECK(plain("［１，０］；［０，－２．５］") == "1 0 ; 0 -2.5");
  CHECK(plain("我：１　−0.5\n爱｜＋２ 0\n") == "我: 1 -0.5 ; 爱: +2 0");
  CHECK(plain("−∞ ∞\n", {.infinity = true}) == "-inf inf");
}

TEST_CASE("a comment begins with # or % after white space and is never glued") {
  CHECK(plain("# 9 9\n1 0 # first\n0 1 % second\n") == "1 0 ; 0 1");
  CHECK(plain("5% 10%\n") == "5% 10%");
  CHECK(plain("\"#1\": 1\n\"% 2\": 2 ＃ note\n") == "#1: 1 ; % 2: 2");
}

TEST_CASE("a label is marked by a colon or a bar, or quoted") {
  CHECK(plain("我 | 1 0\n喜欢| 0 1\n") == "我: 1 0 ; 喜欢: 0 1");
  CHECK(plain("t1: 1\nt2 : 2\n") == "t1: 1 ; t2: 2");
  CHECK(plain("\"a: b\" | 1\n\"c d\" 2\n") == "a: b: 1 ; c d: 2");
}

TEST_CASE("before a colon or a bar a comma belongs to the label") {
  CHECK(plain("a,b | 1 0\n我，你：0, 1\n") == "a,b: 1 0 ; 我，你: 0 1");
  CHECK(plain("1, 0\n0, 1\n") == "1 0 ; 0 1");  // without one it separates cells
}

TEST_CASE("an unmarked first word is a label before a bracket, or when every row has one") {
  CHECK(plain("t1 [1, 0]\nt2 [0, 1]\n") == "t1: 1 0 ; t2: 0 1");
  CHECK(plain("我 1 0\n爱 0 1\n") == "我: 1 0 ; 爱: 0 1");
  CHECK(plain("v1 1 v3\nv2 0 1\n", {.symbols = true}) == "v1 1 v3 ; v2 0 1");  // in V these are cells
}

TEST_CASE("a row without the mark of its label is a mistake where another row has none") {
  CHECK(plain("我：1 0\n爱 0 1\n") == "我: 1 0 ; 爱: 0 1");  // every row has a label
  CHECK(rows("我：1 0\n爱 0 1\n1 1\n").told ==
        "m.txt:2:1: error: '爱' is not a number\n"
        "   2 | 爱 0 1\n"
        "     | ^^\n"
        "     = hint: a label needs ':' or '|' after it\n");
}

TEST_CASE("a mistyped number is never taken for a label") {
  CHECK(rows("1O 0\n").told ==
        "m.txt:1:2: error: '1O' is not a number\n"
        "   1 | 1O 0\n"
        "     |  ^\n"
        "     = hint: the letter O; did you mean 0?\n");
  CHECK(rows("nan 0\n").told ==
        "m.txt:1:1: error: 'nan' (not a number) cannot be calculated with\n"
        "   1 | nan 0\n"
        "     | ^^^\n");
}

TEST_CASE("a label that is itself a number gets a warning") {
  const Rows r = rows("1: 0 1\n2: 1 0\n");
  CHECK(r.text() == "1: 0 1 ; 2: 1 0");
  CHECK(r.told ==
        "m.txt:1:1: warning: '1' is read as the label of this row, not as a number\n"
        "   1 | 1: 0 1\n"
        "     | ^\n"
        "     = hint: put it in quotes if a label is meant\n");
  CHECK(plain("\"1\": 0 1\n") == "1: 0 1");
}

TEST_CASE("a label of more than 128 bytes is refused") {
  CHECK(plain(std::string(128, 'a') + ": 1\n") == std::string(128, 'a') + ": 1");
  CHECK(rows(std::string(129, 'a') + ": 1\n").told.find("error: a label of 129 bytes; the limit is 128\n") !=
        std::string::npos);
}

TEST_CASE("a comma is a decimal comma only where tabs or semicolons separate, with a note") {
  const Rows tabs = rows("1,5\t-2,25\n0,5\t3\n");
  CHECK(tabs.text() == "1.5 -2.25 ; 0.5 3");
  CHECK(tabs.told ==
        "m.txt:1:2: note: commas in [X] are read as decimal points, because a tab separates the numbers\n"
        "   1 | 1,5 -2,25\n"
        "     |  ^\n");
  const Rows semicolons = rows("1,5;-2,25\n0,5;3\n");
  CHECK(semicolons.text() == "1.5 -2.25 ; 0.5 3");
  CHECK(semicolons.told ==
        "m.txt:1:2: note: commas in [X] are read as decimal points, because ';' separates the numbers\n"
        "   1 | 1,5;-2,25\n"
        "     |  ^\n");
  // On one line ";" ends a row, as in MATLAB; that "1,5" may have been one number is noted.
  CHECK(rows("1,0;0,1").text() == "1 0 ; 0 1");
  CHECK(rows("1,0;0,1").told ==
        "m.txt:1:1: note: '1,0' is read as two numbers; a decimal point is written '.'\n"
        "   1 | 1,0;0,1\n"
        "     | ^^^\n");
  CHECK(plain("1,\t0\n0,\t1\n") == "1 0 ; 0 1");  // a comma and a tab: both separate
}

TEST_CASE("symbols, infinity and blanks are legal only where the rules say so") {
  CHECK(plain("v0 1\n", {.symbols = true}) == "v0 1");
  CHECK(plain("_ 1\n", {.blanks = true}) == "_ 1");
  CHECK(rows("1 v0\n").told ==
        "m.txt:1:3: error: 'v0' is not a number\n"
        "   1 | 1 v0\n"
        "     |   ^^\n"
        "     = hint: symbols stand only in [V]\n");
  CHECK(rows("1 -inf\n").told ==
        "m.txt:1:3: error: '-inf' is not allowed in [X]\n"
        "   1 | 1 -inf\n"
        "     |   ^^^^\n"
        "     = hint: infinity is legal in mask, bias, scores, scaled, masked and expect.*\n");
  CHECK(rows("1 _\n").told ==
        "m.txt:1:3: error: '_' is not a number\n"
        "   1 | 1 _\n"
        "     |   ^\n"
        "     = hint: a cell is left blank only on an answer sheet\n");
}

TEST_CASE("the letter O among values is a symbol, with a warning") {
  const Rows r = rows("1 O\n", {.symbols = true});
  CHECK(r.text() == "1 O");
  CHECK(r.told ==
        "m.txt:1:3: warning: 'O' is read as a symbol\n"
        "   1 | 1 O\n"
        "     |   ^\n"
        "     = hint: the letter O; did you mean 0?\n");
}

TEST_CASE("what looks like labels of the values is read as symbols, with a warning") {
  CHECK(rows("A 1 0\nB 0 1\n", {.symbols = true}).told ==
        "m.txt:1:1: warning: 'A' is read as a symbol: the first value of its row\n"
        "   1 | A 1 0\n"
        "     | ^\n"
        "     = hint: if it is the label of the row, write 'A:'\n");
  CHECK(plain("A: 1 0\nB: 0 1\n", {.symbols = true}) == "A: 1 0 ; B: 0 1");
}

TEST_CASE("when the others agree the first row is the ragged one") {
  CHECK(rows("1 2 3\n1 2\n3 4\n").told ==
        "m.txt:1:1: error: row 1 of [X] has 3 numbers, but the other rows have 2\n"
        "   1 | 1 2 3\n"
        "     | ^^^^^\n");
}

TEST_CASE("a matrix without width or rows is refused") {
  CHECK(rows("t1:\n").told ==
        "m.txt:1:1: error: row 1 of [X] has no numbers\n"
        "   1 | t1:\n"
        "     | ^^\n");
  CHECK(rows("# nothing\n").told ==
        "m.txt:1:1: error: [X] has no rows\n"
        "   1 | # nothing\n"
        "     | ^\n");
  CHECK(rows("[]\n", {}, Within::matrix_file).told == "m.txt: error: no numbers in this file\n");
}

TEST_CASE("faults inside a row are told once") {
  CHECK(rows("\"a: 1 1\n\"b\": 2 2\n").told ==
        "m.txt:1:1: error: the quote is never closed on this line\n"
        "   1 | \"a: 1 1\n"
        "     | ^^^^^^^\n");
  CHECK(rows("1,,2\n3,4,5\n").told ==
        "m.txt:1:3: error: no number before this ','\n"
        "   1 | 1,,2\n"
        "     |   ^\n"
        "     = hint: write 0 for a zero\n");
  CHECK(rows("a: 1 : 2\nb: 2\n").told ==
        "m.txt:1:6: error: ':' stands only after the label of a row\n"
        "   1 | a: 1 : 2\n"
        "     |      ^\n"
        "     = hint: a label that holds ':' or a space is written in quotes\n");
}

TEST_CASE("a stack of matrices is not taken for one") {
  CHECK(rows("[[[1, 0]],\n [[0, 1]]]\n").told ==
        "m.txt:1:3: error: brackets three deep: this is a stack of matrices\n"
        "   1 | [[[1, 0]],\n"
        "     |   ^\n"
        "     = hint: write one matrix in each section; qkv convert writes each apart\n");
  CHECK(rows("t1 [1, 0] [1.0, 0.0]\n").told ==
        "m.txt:1:11: error: two bracketed rows after one label\n"
        "   1 | t1 [1, 0] [1.0, 0.0]\n"
        "     |           ^\n"
        "     = hint: a line above names the matrices, such as 'token  K  V'; or each has a section of its "
        "own\n");
}

TEST_CASE("a carriage return alone ends a line too") {
  CHECK(plain("1 2\r3 4\r") == "1 2 ; 3 4");
  CHECK(plain("1 2\r\n3 4\r\n") == "1 2 ; 3 4");
}

TEST_CASE("a matrix file holds neither sections nor settings") {
  CHECK(rows("[Q]\n1 0\n", {}, Within::matrix_file).told ==
        "m.txt:1:1: error: a matrix file holds rows only, but here begins the section [Q]\n"
        "   1 | [Q]\n"
        "     | ^^^\n"
        "     = hint: give a problem file as FILE, without an option\n");
  CHECK(rows("mask = causal\n1 0\n", {}, Within::matrix_file).told ==
        "m.txt:1:1: error: a matrix file holds rows only, no settings\n"
        "   1 | mask = causal\n"
        "     | ^^^^^^^^^^^^^\n"
        "     = hint: give a problem file as FILE, without an option\n");
}

TEST_CASE("more than a million cells are not read") {
  if (std::getenv("QKV_SHEETS") != nullptr) return;  // a quarter of a minute where every operation is watched
  std::string text;
  for (int i = 0; i < 500001; ++i) text += "1 1\n";
  CHECK(rows(text).told ==
        "m.txt:1:1: error: [X] has more than 1,000,000 numbers, the most that are traced\n"
        "   1 | 1 1\n"
        "     | ^\n");
}

TEST_CASE("a matrix full of faults is not told of without end") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x y\nz\n";
  const std::string told = rows(text).told;
  CHECK(std::count(told.begin(), told.end(), '\n') < 100);
  CHECK(told.find("error: [X] has more faults; these were the first 20\n") != std::string::npos);
}

// ---- the outline ----

TEST_CASE("settings come first, and a title may hold a #") {
  Diagnostics diagnostics;
  const SourcePtr file = source("f", "title = No. # 5 \nmask ＝ causal # all\n[Q] # here\n1\n[K]\n");
  const Outline outline = read_outline(file, diagnostics);
  REQUIRE(outline.settings.size() == 2);
  const auto text = [&](Span s) { return file->text.substr(s.begin, s.end - s.begin); };
  CHECK(outline.settings[0].key == "title");
  CHECK(text(outline.settings[0].whole_value) == "No. # 5");
  CHECK(text(outline.settings[1].value) == "causal");
  REQUIRE(outline.sections.size() == 2);
  CHECK(outline.sections[0].name == "Q");
  CHECK(text(outline.sections[0].header) == "[Q]");
  CHECK(text(outline.sections[0].body) == "1\n");
  CHECK(text(outline.sections[1].body) == "");
}

TEST_CASE("[1] and [inf] are rows, [v0] is a section's name") {
  Diagnostics diagnostics;
  const Outline outline = read_outline(source("f", "[V]\n[1]\n[inf]\n[v0]\n"), diagnostics);
  REQUIRE(outline.sections.size() == 2);
  CHECK(outline.sections[1].name == "v0");
}

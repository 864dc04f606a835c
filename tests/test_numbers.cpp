// Large matrices of plain numbers: the quick reader agrees with the tolerant one, or leaves the file to it.

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/position.h"
#include "input/not_plain.h"
#include "input/numbers.h"
#include "problem/matrices.h"
#include "reading.h"
#include "render/npy.h"
#include "support.h"

namespace qkv::test {
namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("qkv-numbers-{}", std::random_device{}())) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// "2×2: 1 0 ; 0 1", with every digit; empty when the file is left to the other reader.
std::string quickly(const std::string& bytes, int threads = 1) {
  const TemporaryFile file(bytes);
  const NumbersPtr numbers = read_numbers(file.name(), threads);
  if (!numbers) return "";
  std::string text = size_text({numbers->rows, numbers->cols}) + ":";
  for (Index i = 0; i < numbers->rows; ++i) {
    for (Index j = 0; j < numbers->cols; ++j)
      text += (j == 0 && i > 0 ? " ; " : " ") + fmt::format("{}", numbers->at(i, j));
  }
  return text;
}

std::string tolerantly(const std::string& text) {
  Diagnostics diagnostics;
  const SourcePtr file = source_from_text("m.txt", text, diagnostics);
  REQUIRE(file != nullptr);
  const MatrixFile read = read_matrix_file(file, diagnostics);
  if (diagnostics.has_errors() || read.matrices.size() != 1) return "refused";
  const MatrixText& m = read.matrices[0].text;
  std::string out = size_text({m.rows, m.cols}) + ":";
  for (std::size_t i = 0; i < m.cells.size(); ++i) {
    const bool begins_row = i > 0 && i % static_cast<std::size_t>(m.cols) == 0;
    out += (begins_row ? " ; " : " ") + fmt::format("{}", m.cells[i].value);
  }
  return out;
}

}  // namespace

TEST_CASE("plain rows are read as the tolerant reader reads them") {
  for (const char* text : {"1 0\n0 1\n", "1 0\n0 1", "1\t-0.5\r\n+2.25 .5\r\n", "  1.  2 \n\n", "\n\n1 2\n",
                           "# a comment\n1 2\n# more\n3 4\n", "1e3 -2.5E-3\n",
                           "0.1 0.123456789012345678\n9007199254740993 123456789012345678901234567890\n",
                           "1e-320 2\n", "5\n", "1e22 1e23\n8.5e-17 3.0000000000000001\n"}) {
    CAPTURE(text);
    CHECK(quickly(text) == tolerantly(text));
  }
}

TEST_CASE("what is not plain rows is left to the tolerant reader") {
  for (const char* text :
       {"", "\n", "1 2\n3\n", "1 2\n\n3 4\n", "[[1, 2], [3, 4]]\n", "1,5 2\n", "1 x\n", "1 -\n", "1 2e\n",
        "1 .\n", "inf 1\n", "1e999\n", "1e-400\n", "1 2 # why\n", "0x10\n", "1 2;3 4\n", "t1 1 2\n",
        "\xef\xbb\xbf"
        "1 2\n"}) {
    CAPTURE(text);
    CHECK(quickly(text) == "");
  }
  CHECK(read_numbers("/no/such/file") == nullptr);
  CHECK(read_numbers("-") == nullptr);
  CHECK(read_numbers("/") == nullptr);
}

TEST_CASE("every decimal becomes the double nearest to it") {
  const std::uint32_t seed = 20261130;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::string text;
  std::vector<double> expected;
  for (int i = 0; i < 20000; ++i) {
    const int digits = 1 + static_cast<int>(random() % 20);
    std::string word = random() % 2 == 0 ? "-" : "";
    const int point = static_cast<int>(random() % static_cast<unsigned>(digits));
    for (int d = 0; d < digits; ++d) {
      if (d == point && d > 0) word += '.';
      word += static_cast<char>('0' + random() % 10);
    }
    if (random() % 4 == 0) word += fmt::format("e{}", static_cast<int>(random() % 40) - 20);
    expected.push_back(std::strtod(word.c_str(), nullptr));
    text += word + "\n";
  }
  const TemporaryFile file(text);
  const NumbersPtr numbers = read_numbers(file.name());
  REQUIRE(numbers != nullptr);
  REQUIRE(numbers->rows == static_cast<Index>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(numbers->values[i] == expected[i]);
}

TEST_CASE("decimals of more than 15 digits may not be the shortest ones of their doubles") {
  const auto are_short = [](const std::string& text) {
    const TemporaryFile file(text);
    const NumbersPtr numbers = read_numbers(file.name());
    REQUIRE(numbers != nullptr);
    return numbers->are_short;
  };
  CHECK(are_short("0.123456789012345 1.5e300\n"));
  CHECK(are_short("000000000000000000000001.5 0.000000000000000000000000000123\n"));
  CHECK_FALSE(are_short("0.1234567890123456\n"));
  CHECK_FALSE(are_short("1.764052345967664026e+00\n"));
  CHECK_FALSE(are_short("1e-310\n"));
}

TEST_CASE("lines that are longer than a block, and files of many blocks, read by one thread and by two") {
  std::string wide;
  for (int j = 0; j < 400000; ++j) wide += fmt::format("{} ", j % 1000);
  CHECK(quickly(wide + "\n").starts_with("1×400000: 0 1 2"));
  std::string tall;
  for (int i = 0; i < 1500000; ++i) tall += fmt::format("{} 0.{}\n", i, i % 7);
  const TemporaryFile file(tall);
  REQUIRE(tall.size() > (std::size_t{8} << 20U));
  const NumbersPtr one = read_numbers(file.name(), 1);
  const NumbersPtr two = read_numbers(file.name(), 2);
  REQUIRE(one != nullptr);
  REQUIRE(two != nullptr);
  REQUIRE(one->rows == 1500000);
  REQUIRE(two->rows == one->rows);
  CHECK(std::memcmp(one->values.get(), two->values.get(), 3000000 * sizeof(double)) == 0);
  CHECK(one->at(1234567, 0) == 1234567);
  CHECK(one->at(1234567, 1) == (1234567 % 7) / 10.0);
}

TEST_CASE("wherever a file is cut into pieces, its lines are what they were") {
  constexpr std::size_t kPiece = std::size_t{128} << 10U;
  const std::string line = "1.5 -22\n";
  std::string text;
  while (text.size() < 9 * kPiece) text += line;
  const auto rows = static_cast<Index>(text.size() / line.size());
  const auto shape = [](const std::string& bytes) {
    const TemporaryFile file(bytes);
    const NumbersPtr one = read_numbers(file.name(), 1);
    const NumbersPtr three = read_numbers(file.name(), 3);
    REQUIRE((one == nullptr) == (three == nullptr));
    if (one == nullptr) return std::string("left to the tolerant reader");
    REQUIRE(one->rows == three->rows);
    REQUIRE(one->cols == three->cols);
    const auto count = static_cast<std::size_t>(one->rows * one->cols);
    REQUIRE(std::memcmp(one->values.get(), three->values.get(), count * sizeof(double)) == 0);
    return size_text({one->rows, one->cols});
  };
  // Longer first lines move the cuts through a whole line.
  for (std::size_t moved = 0; moved < line.size(); ++moved)
    CHECK(shape("1 " + std::string(moved, '0') + "2\n" + text) == size_text({rows + 1, 2}));
  CHECK(shape(text + "\n\n# the end") == size_text({rows, 2}));
  CHECK(shape(text.substr(0, text.size() - 1)) == size_text({rows, 2}));
  const std::string half = text.substr(0, 4 * kPiece);
  for (const char* between : {"\n", "1 2 3\n", "1\n", "x 1\n"})
    CHECK(shape(half + between + text) == "left to the tolerant reader");
  CHECK(shape(half + "# between\n" + text) ==
        size_text({rows + static_cast<Index>(half.size() / line.size()), 2}));
  CHECK(shape(text + "\n" + std::string(2 * kPiece, '\n') + "1 2\n") == "left to the tolerant reader");
}

TEST_CASE("several files are read at once, each as if alone") {
  std::string large;
  for (int i = 0; i < 200000; ++i) large += fmt::format("{}.25 {}\n", i, -i);
  const TemporaryFile a(large);
  const TemporaryFile b(large + "1 2 3\n");
  const TemporaryFile c("7\n");
  const std::vector<std::string> names{a.name(), "/no/such/file", b.name(), "-", c.name()};
  const std::vector<NumbersPtr> read = read_numbers(names, 3);
  REQUIRE(read.size() == 5);
  REQUIRE(read[0] != nullptr);
  CHECK(read[0]->rows == 200000);
  CHECK(read[0]->at(123456, 0) == 123456.25);
  CHECK(read[0]->at(123456, 1) == -123456);
  CHECK(read[1] == nullptr);
  CHECK(read[2] == nullptr);
  CHECK(read[3] == nullptr);
  REQUIRE(read[4] != nullptr);
  CHECK(read[4]->file == c.name());
  CHECK(read[4]->at(0, 0) == 7);
}

TEST_CASE("numbers of every length up to two words of characters, and behind them") {
  for (const char* text : {"0\n",
                           "-0\n",
                           "-0.0\n",
                           "7.\n",
                           ".5\n",
                           "-.5\n",
                           "1234567\n",
                           "12345678\n",
                           "123456789\n",
                           "-1234567.\n",
                           "123456.7\n",
                           "1234567.8\n",
                           "12345678.9\n",
                           "0.1234567\n",
                           "0.12345678\n",
                           ".12345678\n",
                           "-0.123456\n",
                           "12345678.87654321\n",
                           "0.1234567890123\n",
                           "0.12345678901234\n",
                           "123456789012345\n",
                           "1234567890123456\n",
                           "12345678901234567\n",
                           "999999999999999.\n",
                           ".999999999999999\n",
                           "00000000\n",
                           "0000000000000001\n",
                           "-00000000.5\n",
                           "+1.5\n",
                           "1\t2\n",
                           "1.5\t-2.25\r\n"}) {
    CAPTURE(text);
    CHECK(quickly(text) == tolerantly(text));
    CHECK(quickly(text) != "");
  }
  for (const char* text :
       {"1..2\n", "1.2.3\n", ".\n", "-.\n", "--1\n", "+-1\n", "1234567.8.9\n", "12345678..\n", "1.2345678.\n",
        "1/2\n", "1:2\n", "1\x80\n", "0x1\n", "1_0\n", "1234567890,5\n"}) {
    CAPTURE(text);
    CHECK(quickly(text) == "");
  }
}

TEST_CASE("of a file too large for the tolerant reader the first thing that is not plain is told") {
  const auto told = [](const std::string& bytes) {
    const TemporaryFile file(bytes);
    Diagnostics diagnostics;
    tell_why_not_plain(file.name(), diagnostics);
    std::string text;
    for (const Diagnostic& d : diagnostics.list()) {
      const Position at = position_of(d.source->text, d.span->begin);
      text += fmt::format("{}:{}: {}\n", at.line, at.column, d.message.en);
    }
    return text;
  };
  std::string row;
  for (int i = 0; i < 1000; ++i) row += "0 ";
  row += "\n";
  std::string rows;  // a million
  for (int i = 0; i < 1000; ++i) rows += row;
  CHECK(told("# no row\n" + rows + " \t1 x 2/3\n") == "1002:5: 'x' is not a plain decimal\n");
  CHECK(told("1e5 2\n" + rows) == "2:1: this row has 1000 numbers, the first one 2\n");
  CHECK(told(row + "\n" + rows) == "3:1: a second matrix begins here\n");
  CHECK(told("1 x\n") == "");  // few enough for the tolerant reader
}

TEST_CASE("an array is read without a detour over text") {
  Matrix m(2, 3);
  m << 1, -0.1, 1e-300, 5, 2.5, 1e300;
  CHECK(quickly(render_npy(m)) == "2×3: 1 -0.1 1e-300 ; 5 2.5 1e+300");
  m(0, 1) = kInfinity;
  CHECK(quickly(render_npy(m)) == "");
  CHECK(quickly(render_npy(m) + "x") == "");
  // Single precision, as NumPy writes it.
  std::string floats = npy_header({1, 2});
  floats.replace(floats.find("<f8"), 3, "<f4");
  const std::array<float, 2> values{0.1F, -2.0F};
  floats.append(reinterpret_cast<const char*>(values.data()), sizeof values);
  CHECK(quickly(floats) == fmt::format("1×2: {} -2", double{0.1F}));
}

}  // namespace qkv::test

// NumPy's .npy files: what stands in them, written out, and what is refused.

#include <bit>
#include <filesystem>
#include <fstream>

#include "base/exact.h"
#include "check/difference.h"
#include "input/npy.h"
#include "reading.h"
#include "render/npy.h"
#include "support.h"

namespace qkv::test {
namespace {

std::string little_endian(std::uint64_t bits, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xffU);
  return bytes;
}
std::string big_endian(std::uint64_t bits, std::size_t size) {
  const std::string bytes = little_endian(bits, size);
  return {bytes.rbegin(), bytes.rend()};
}
std::string double_bytes(double value) { return little_endian(std::bit_cast<std::uint64_t>(value), 8); }

// As the description of the format in NumPy's documentation (numpy.lib.format) has it.
std::string file_with(const std::string& header, const std::string& data, int version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         little_endian(header.size(), version == 1 ? 2 : 4) + header + data;
}
std::string array(const std::string& descr, const std::string& shape, const std::string& data,
                  bool is_fortran = false, int version = 1) {
  return file_with("{'descr': '" + descr + "', 'fortran_order': " + (is_fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }   \n",
                   data, version);
}

// The text of the array, "1 0 ; 0 1", or what was said.
std::string told_of(const std::string& bytes, Language language = Language::en) {
  Diagnostics diagnostics;
  const auto read = npy_as_text("a.npy", bytes, diagnostics);
  CHECK(read.has_value() != diagnostics.has_errors());
  if (!read) return render_diagnostics(diagnostics, language, false);
  std::string text;
  for (const char c : read->text.substr(0, read->text.size() - 1)) text += c == '\n' ? " ; " : std::string{c};
  return text;
}

std::string saved(const char* name) {
  std::ifstream file(std::filesystem::path(QKV_SOURCE_DIR) / "tests/data/npy" / name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every type in both byte orders gives the numbers that its bytes mean") {
  // -2 in two's complement, and the bits of IEEE 754's formats, from the standards' tables.
  CHECK(told_of(array("|i1", "(1, 2)", "\xfe\x7f")) == "-2 127");
  CHECK(told_of(array("|u1", "(1, 2)", "\xfe\x7f")) == "254 127");
  CHECK(told_of(array("|b1", "(1, 2)", std::string("\x01\0", 2))) == "1 0");
  CHECK(told_of(array("<i2", "(1, 1)", little_endian(0xfffe, 2))) == "-2");
  CHECK(told_of(array(">i2", "(1, 1)", big_endian(0xfffe, 2))) == "-2");
  CHECK(told_of(array("<u2", "(1, 1)", little_endian(0xfffe, 2))) == "65534");
  CHECK(told_of(array(">i4", "(1, 1)", big_endian(0xfffffffe, 4))) == "-2");
  CHECK(told_of(array("<u4", "(1, 1)", little_endian(0xfffffffe, 4))) == "4294967294");
  CHECK(told_of(array("<i8", "(1, 1)", little_endian(0x8000000000000000, 8))) == "-9223372036854775808");
  CHECK(told_of(array(">u8", "(1, 1)", big_endian(0xffffffffffffffff, 8))) == "18446744073709551615");
  for (const auto& [order, bytes_of] : {std::pair{"<", &little_endian}, std::pair{">", &big_endian}}) {
    const std::string f2 = std::string(order) + "f2";
    CHECK(told_of(array(f2, "(1, 1)", bytes_of(0x3555, 2))) == "0.333251953125");
    CHECK(told_of(array(f2, "(1, 1)", bytes_of(0xc000, 2))) == "-2");
    CHECK(told_of(array(f2, "(1, 1)", bytes_of(0x7bff, 2))) == "65504");
    CHECK(told_of(array(f2, "(1, 1)", bytes_of(0x0001, 2))) == "5.9604644775390625e-08");
    CHECK(told_of(array(f2, "(1, 1)", bytes_of(0xfc00, 2))) == "-inf");
    CHECK(told_of(array(f2, "(1, 1)", bytes_of(0x7e00, 2))) == "nan");
    CHECK(told_of(array(std::string(order) + "f4", "(1, 1)", bytes_of(0x3dcccccd, 4))) ==
          "0.100000001490116119384765625");
    CHECK(told_of(array(std::string(order) + "f8", "(1, 1)", bytes_of(0x3fb999999999999a, 8))) ==
          "0.1000000000000000055511151231257827021181583404541015625");
  }
}

TEST_CASE("a number of an array is exactly the double that was saved, however large or small") {
  QKV_SAY_SEED();
  std::vector<double> values{0.0,  -0.0, 1e-5,     9.9e-6, 1e17,
                             1e16, 1e23, 2.5e-308, 5e-324, 1.7976931348623157e308};
  std::mt19937_64 bits(seed());
  while (values.size() < 300) {
    const auto value = std::bit_cast<double>(std::uint64_t{bits()});
    if (std::isfinite(value)) values.push_back(value);
  }
  for (const double value : values) {
    const std::string text = told_of(array("<f8", "(1, 1)", double_bytes(value)));
    const Number number = written(text);
    CHECK(number.value == value);
    // Exact, and not only near: the text of all decimals is the same number.
    CHECK(exact_decimal(text).rational() == exact_decimal(fmt::format("{:.1074f}", value)).rational());
  }
}

TEST_CASE("rows, columns and axes of length one stand where NumPy has them") {
  const std::string six("\1\2\3\4\5\6", 6);
  CHECK(told_of(array("|u1", "(2, 3)", six)) == "1 2 3 ; 4 5 6");
  CHECK(told_of(array("|u1", "(2, 3)", six, true)) == "1 3 5 ; 2 4 6");
  CHECK(told_of(array("|u1", "(6,)", six)) == "1 2 3 4 5 6");
  CHECK(told_of(array("|u1", "(6, 1)", six)) == "1 ; 2 ; 3 ; 4 ; 5 ; 6");
  CHECK(told_of(array("|u1", "(1, 3, 2)", six)) == "1 2 ; 3 4 ; 5 6");
  CHECK(told_of(array("|u1", "(1, 1, 3, 2)", six)) == "1 2 ; 3 4 ; 5 6");
  CHECK(told_of(array("|u1", "(2L, 3L)", six)) == "1 2 3 ; 4 5 6");
  CHECK(told_of(array("|u1", "(2, 3)", six, false, 2)) == "1 2 3 ; 4 5 6");
  CHECK(told_of(array("|u1", "(2, 3)", six, false, 3)) == "1 2 3 ; 4 5 6");
}

TEST_CASE("files that NumPy itself wrote are read") {
  // tests/data/npy/README.md says how they were made.
  CHECK(told_of(saved("f4-columns.npy")) == "0.5 -1.25 3 ; 0.100000001490116119384765625 0 +inf");
  CHECK(told_of(saved("f2-big-endian.npy")) == "1 0.333251953125 ; -65504 nan ; 0 0.00006103515625");
  CHECK(told_of(saved("bool-stack.npy")) == "1 0 0 ; 1 1 0");
  CHECK(told_of(saved("i8-row-v2.npy")) == "1 -2 9007199254740993");
}

TEST_CASE("what cannot be read is refused with what was found, what is expected and what to do") {
  const std::string four("\1\2\3\4", 4);
  CHECK(told_of(array("<c16", "(1, 1)", std::string(16, '\0'))) ==
        "a.npy: error: the array holds '<c16'; f2 f4 f8, i1 to i8, u1 to u8 and bool are read\n"
        "     = hint: convert it before saving: a.astype('f8')\n");
  CHECK(told_of(array("|O", "(2,)", "pickle")) ==
        "a.npy: error: the array holds '|O'; f2 f4 f8, i1 to i8, u1 to u8 and bool are read\n"
        "     = hint: convert it before saving: a.astype('f8')\n");
  CHECK(
      told_of(file_with("{'descr': [('q', '<f8'), ('k', '<f8')], 'fortran_order': False, 'shape': (1,), }\n",
                        std::string(16, '\0')),
              Language::zh) ==
      "a.npy: error: 数组的类型是“[('q', '<f8'), ('k', '<f8')]”；可读的是 f2 f4 f8、i1 到 i8、u1 到 u8 和 "
      "bool\n"
      "     = hint: 保存前先转换：a.astype('f8')\n");
  for (const char* shape : {"(2, 1, 2)", "()", "(0, 4)", "(4, 0)"}) {
    CHECK(told_of(array("|u1", shape, four)) ==
          fmt::format("a.npy: error: the array has the shape {}; a matrix "
                      "or a row is expected\n"
                      "     = hint: save one matrix, such as a[0]\n",
                      shape));
  }
  CHECK(told_of(array("|u1", "(2, 3)", four)) ==
        "a.npy: error: the .npy file is cut off: it has 77 bytes, and should have 79\n"
        "     = hint: save it again with numpy.save\n");
  CHECK(told_of(array("|u1", "(3,)", four)) ==
        "a.npy: error: after the array of shape (3,) stand 1 more bytes\n"
        "     = hint: save each array in a file of its own\n");
  CHECK(told_of(std::string("\x93NUMPY\x04\0", 8)) ==
        "a.npy: error: the .npy format is of version 4.0; versions 1.0, 2.0 and 3.0 are read\n"
        "     = hint: save it again with numpy.save\n");
  CHECK(
      told_of(file_with("{'descr': '<f8', 'shape': (1,)}", four)) ==
      "a.npy: error: the header of the .npy file cannot be read; expected {'descr': '<f8', 'fortran_order': "
      "False, 'shape': (3, 2)}\n"
      "     = hint: save it again with numpy.save\n");
}

TEST_CASE("a header that lies about sizes is an error, and costs no memory") {
  for (const char* shape :
       {"(99999999999999999999999999, 1)", "(4294967296, 4294967296)", "(1000001,)", "(1001, 1000)"}) {
    CHECK(told_of(array("<f8", shape, "")).find("at most 1,000,000 numbers are read") != std::string::npos);
  }
  CHECK(told_of(array("<f8", "(1000, 1000)", "")).find("cut off: it has") != std::string::npos);
  CHECK(told_of(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{", 13)) ==
        "a.npy: error: the .npy file is cut off: it has 13 bytes, and should have 4294967307\n"
        "     = hint: save it again with numpy.save\n");
}

TEST_CASE("a file cut off anywhere, or with any byte of its header changed, is read or refused") {
  const std::string whole = array("<f4", "(1, 2)", std::string(8, '\1'));
  for (std::size_t length = 6; length < whole.size(); ++length) {
    CHECK(told_of(whole.substr(0, length)).find("error") != std::string::npos);
  }
  for (std::size_t at = 6; at < whole.size() - 8; ++at) {
    for (const char c : {'\0', '\xff', '\'', '(', ')', '9', ',', '[', ' '}) {
      std::string changed = whole;
      changed[at] = c;
      CHECK(!told_of(changed).empty());
    }
  }
}

TEST_CASE("an array is a matrix file: by its content, for a problem and for a comparison") {
  const std::string q = array("<f8", "(1, 2)", double_bytes(0.1) + double_bytes(-3));
  const Reading reading = read(
      {nullptr, {{"Q", source("q", q)}, {"K", source("k", "1 0\n0 1\n")}, {"V", source("v", "1\n2\n")}}, {}});
  CHECK(reading.told() == "");
  REQUIRE(reading.problem);
  CHECK(cells((*reading.problem)["Q"]) == "0.1000000000000000055511151231257827021181583404541015625 -3");

  // In a line of arithmetic nobody wants to read fifty digits.
  const Trace trace = traced(*reading.problem);
  const NodeId scores = node_named(trace.plan(), "scores");
  CHECK(expression_in_numbers(trace, {scores, 0, 0}, 4) == "0.1000·1 + (-3)·0");

  const SourcePtr mask = source("m", array("|b1", "(2, 2)", std::string("\1\0\1\1", 4)));
  const Reading masked =
      read({nullptr, {{"scores", source("s", "1 2\n3 4\n")}, {"mask", mask}}, {{"scale", "none"}}});
  REQUIRE(masked.problem);
  CHECK(pattern(masked.problem->allowed) == "10 ; 11");

  Diagnostics diagnostics;
  const auto steps = read_steps(source("q", q), diagnostics);
  REQUIRE(steps);
  CHECK(steps->front().cells[0][0].value == 0.1);
  CHECK(steps->front().cells[0][1].unit == doctest::Approx(1e-11));  // 12 digits of the largest, 3
}

TEST_CASE("what is written is the file that NumPy's description gives, byte by byte") {
  // The data begins at 128, the next multiple of 64.
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
  CHECK(render_npy(matrix("0.5 -2")) ==
        file_with(header + std::string(128 - 10 - header.size() - 1, ' ') + "\n",
                  double_bytes(0.5) + double_bytes(-2)));
}

TEST_CASE("what is written is read back with every digit") {
  Matrix values(2, 3);
  values << 0.1, -1e-300, 1e300, -kInfinity, 0.25, 5e-324;
  CHECK(matrix(told_of(render_npy(values))) == values);
}

TEST_CASE("arrays are compared at the digits that their type keeps: 12, 6 and 3") {
  const auto same = [](const char* type, double by) {
    const auto bytes_of = [&](double value) {
      return type[1] == '8' ? double_bytes(value)
             : type[1] == '4'
                 ? little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4)
                 : little_endian(value == 1 ? 0x3c00 : 0x3c00 + static_cast<unsigned>(std::lround(by * 1024)),
                                 2);
    };
    Diagnostics diagnostics;
    const auto steps = [&](double value) {
      return *read_steps(source("a", array("<" + std::string(type), "(1, 1)", bytes_of(value))), diagnostics);
    };
    return compare_steps(steps(1), steps(1 + by), {}).is_equal();
  };
  CHECK(same("f8", 4e-12));
  CHECK_FALSE(same("f8", 6e-12));
  CHECK(same("f4", 4e-6));
  CHECK_FALSE(same("f4", 6e-6));
  CHECK(same("f2", 4.0 / 1024));
  CHECK_FALSE(same("f2", 6.0 / 1024));
}

TEST_CASE("NaN where the other has NaN is no difference") {
  Diagnostics diagnostics;
  const auto steps =
      *read_steps(source("a", array("<f8", "(1, 2)", double_bytes(1) + double_bytes(NAN))), diagnostics);
  CHECK(compare_steps(steps, steps, {}).is_equal());
}

}  // namespace qkv::test

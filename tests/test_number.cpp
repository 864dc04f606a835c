#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/number.h"

using namespace qkv;

namespace {

Number number(std::string_view text) {
  NumberError error;
  const auto result = parse_number(text, error);
  INFO("number: ", std::string(text), "  ", error.message.en);
  REQUIRE(result.has_value());
  return *result;
}

// "at+length message / hint"
std::string fault(std::string_view text) {
  NumberError error;
  if (parse_number(text, error)) return "accepted";
  std::string said = std::to_string(error.at) + "+" + std::to_string(error.length) + " " + error.message.en;
  if (!error.hint.empty()) said += " / " + error.hint.en;
  return said;
}

}  // namespace

TEST_CASE("a decimal keeps its text and the number of its decimals") {
  CHECK(number("0.40") == Number{Number::Kind::finite, "0.40", 0.4, 2, true});
  CHECK(number("-3") == Number{Number::Kind::finite, "-3", -3, 0, true});
  CHECK(number("+2.") == Number{Number::Kind::finite, "+2.", 2, 0, true});
  CHECK(number(".5") == Number{Number::Kind::finite, ".5", 0.5, 1, true});
}

TEST_CASE("a decimal's value is the nearest double") {
  CHECK(number("0.1").value == 0.1);
  CHECK(number("9007199254740993").value == 9007199254740992.0);  // 2^53 + 1, a tie, to even
  CHECK(number("9007199254740993.00000000000000000000000000001").value == 9007199254740994.0);
  CHECK(number("1.7976931348623157e308").value == std::numeric_limits<double>::max());
  CHECK(number("4.9e-324").value == std::numeric_limits<double>::denorm_min());
}

TEST_CASE("minus zero is zero") {
  CHECK_FALSE(std::signbit(number("-0").value));
  CHECK(number("-0.00").decimals == 2);
}

TEST_CASE("an exponent names its value exactly, without decimals") {
  CHECK(number("1e-3") == Number{Number::Kind::finite, "1e-3", 0.001, 0, false});
  CHECK(number("2.50E+1") == Number{Number::Kind::finite, "2.50E+1", 25, 0, false});
}

TEST_CASE("a number too small for a double has the value 0 and keeps its text") {
  CHECK(number("1e-400") == Number{Number::Kind::finite, "1e-400", 0, 0, false});
  CHECK(number("-0.001e-400").value == 0);
}

TEST_CASE("a percent sign is applied and stays in the text") {
  CHECK(number("5%") == Number{Number::Kind::finite, "5%", 0.05, 2, true});
  CHECK(number("12.5%") == Number{Number::Kind::finite, "12.5%", 0.125, 3, true});
  CHECK(number("1/4%") == Number{Number::Kind::finite, "1/4%", 0.0025, 0, false});
}

TEST_CASE("products, quotients and roots are read from left to right") {
  CHECK(number("1/3") == Number{Number::Kind::finite, "1/3", 1.0 / 3, 0, false});
  CHECK(number("-6/2*3").value == -9);
  CHECK(number("sqrt(2)/2").value == std::sqrt(2.0) / 2);
  CHECK(number("2*sqrt(2)/3").value == 2 * std::sqrt(2.0) / 3);
  CHECK(number("sqrt(sqrt(16))").value == 2);
  CHECK(number("sqrt(-0)").value == 0);
}

TEST_CASE("infinity stands alone, in any spelling of inf") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(number("-inf") == Number{Number::Kind::infinite, "-inf", -inf, 0, true});
  CHECK(number("+Inf") == Number{Number::Kind::infinite, "inf", inf, 0, true});
  CHECK(fault("inf/2") == "0+5 infinity stands alone, not inside an expression such as 'inf/2'");
  CHECK(fault("sqrt(inf)") == "0+9 infinity stands alone, not inside an expression such as 'sqrt(inf)'");
}

TEST_CASE("a name is a symbol and an underscore is a blank") {
  CHECK(number("v0").kind == Number::Kind::symbol);
  CHECK(number("v12").text == "v12");
  CHECK(number("_").kind == Number::Kind::blank);
}

TEST_CASE("nan is read, and nothing is calculated with it") {
  CHECK(number("nan").kind == Number::Kind::nan);
  CHECK(number("-NaN").kind == Number::Kind::nan);
  CHECK(std::isnan(number("nan").value));
  CHECK(fault("nan/2") == "0+5 'nan/2' is not a number");
  CHECK(not_a_number("-NaN").message.en == "'-NaN' (not a number) cannot be calculated with");
}

TEST_CASE("reserved words are no symbols") {
  CHECK(fault("e") == "0+1 'e' is not a number / write the constant out as a decimal number");
  CHECK(fault("pi") == "0+2 'pi' is not a number / write the constant out as a decimal number");
  CHECK(fault("sqrt") == "0+4 'sqrt' is not a number / write a root without spaces: sqrt(2)");
}

TEST_CASE("a literal beyond the doubles is refused") {
  CHECK(fault("1e999") == "0+5 '1e999' is too large: a double ends at about 1.8e308");
  CHECK(fault("1.8e308") == "0+7 '1.8e308' is too large: a double ends at about 1.8e308");
  CHECK(fault("1e300*1e300") == "0+11 '1e300*1e300' is too large: a double ends at about 1.8e308");
  CHECK(fault("1e10000") == "1+6 the exponent of '1e10000' is out of range");
  CHECK(fault("1e-99999999999999999999") == "1+22 the exponent of '1e-99999999999999999999' is out of range");
}

TEST_CASE("inside an expression nothing may underflow unseen") {
  CHECK(fault("1e-400/1e-400") == "0+13 a part of '1e-400/1e-400' is too small to calculate with");
  CHECK(fault("1e-200*1e-200") == "0+13 a part of '1e-200*1e-200' is too small to calculate with");
  CHECK(number("0*1e-200").value == 0);
}

TEST_CASE("division by zero and the root of a negative are refused") {
  CHECK(fault("1/0") == "1+2 division by zero in '1/0'");
  CHECK(fault("1/0.0e5") == "1+6 division by zero in '1/0.0e5'");
  CHECK(fault("2*sqrt(-4)") == "2+8 the root of a negative number: '2*sqrt(-4)'");
}

TEST_CASE("a look-alike is pointed at inside a number") {
  CHECK(fault("1O") == "1+1 '1O' is not a number / the letter O; did you mean 0?");
  CHECK(fault("0.l") == "2+1 '0.l' is not a number / the letter l; did you mean 1?");
  CHECK(fault("1.2.3") == "3+1 '1.2.3' is not a number / a number has one decimal point");
  CHECK(fault("1#x") == "1+1 '1#x' is not a number / a comment needs a space before '#'");
  CHECK(fault("√2") == "0+3 '√2' is not a number / write a root as sqrt(2)");
  CHECK(fault("1…") == "1+3 '1…' is not a number / numbers were left out here; write them all");
}

TEST_CASE("what is half a number is refused") {
  CHECK(fault("") == "0+0 '' is not a number");
  CHECK(fault("-") == "0+1 '-' is not a number / a missing value; every cell needs a number");
  CHECK(fault(".") == "0+1 '.' is not a number");
  CHECK(fault("1e") == "1+1 '1e' is not a number / an exponent needs digits, as in 1e-3");
  CHECK(fault("1/") == "0+2 '1/' is not a number");
  CHECK(fault("--5") == "0+3 '--5' is not a number");
  CHECK(fault("5%%") == "0+3 '5%%' is not a number");
  CHECK(fault("sqrt(2") == "0+6 the bracket of sqrt( is never closed");
}

TEST_CASE("roots nested without end are refused before they are followed") {
  std::string text = "2";
  for (int i = 0; i < 17; ++i) text = "sqrt(" + text + ")";
  CHECK(fault(text) == "80+4 roots are nested more than 16 deep");
  CHECK(fault(std::string(2000, '1')) == "0+2000 a number of 2000 characters; at most 1000 are read");
}

TEST_CASE("a whole number is as if somebody had written it") { CHECK(whole_number(-12) == number("-12")); }

// The truth comes from the processor's own float and double, from fractions rounded here, and from
// 50-digit decimal numbers, which have nothing to do with mpfr.

#include <doctest/doctest.h>

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <boost/multiprecision/gmp.hpp>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "base/number.h"
#include "base/rounded.h"

using namespace qkv;

namespace {

using Integer = boost::multiprecision::mpz_int;
using Rational = boost::multiprecision::mpq_rational;
using Decimal = boost::multiprecision::cpp_dec_float_50;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr bool kDoublesArePlain = FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1;

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

Rational power_of_two(int e) {
  const Rational whole(Integer(1) << static_cast<unsigned>(std::abs(e)));
  return e < 0 ? Rational(1 / whole) : whole;
}

// The number of the format nearest to x, ties to even, by counting units in the last place.
double nearest(const Rational& x, const FloatFormat& format) {
  const Rational size = abs(x);
  if (size == 0) return 0;
  int e = format.least_exponent;
  while (size >= power_of_two(e + 1)) ++e;
  const int unit = e - format.digits + 1;
  const Rational units = size / power_of_two(unit);
  Integer count = numerator(units) / denominator(units);
  const Rational rest = units - Rational(count);
  if (rest > Rational(1, 2) || (rest == Rational(1, 2) && count % 2 != 0)) ++count;
  if (Rational(count) * power_of_two(unit) >= power_of_two(format.most_exponent + 1)) {
    return x < 0 ? -kInfinity : kInfinity;
  }
  const double value = std::ldexp(count.convert_to<double>(), unit);
  return x < 0 ? -value : value;
}

Rational fraction_of(const Decimal& x) {
  int exponent = 0;
  Decimal significand = frexp(x, &exponent);
  significand = ldexp(significand, 160);
  return Rational(Integer(significand.str(0, std::ios_base::fixed)
                              .substr(0, significand.str(0, std::ios_base::fixed).find('.')))) *
         power_of_two(exponent - 160);
}

class Source {
 public:
  explicit Source(std::uint64_t seed) : bits_(seed) {}
  std::uint64_t next() { return bits_(); }
  int whole(int least, int most) { return std::uniform_int_distribution(least, most)(bits_); }

  // Any number of the format, subnormals, zeros and the largest ones as often as others.
  double of(const FloatFormat& format) {
    const int kind = whole(0, 9);
    const int least_bit = format.least_exponent - format.digits + 1;
    const std::uint64_t mantissa = next() >> (64 - format.digits);
    double size = std::ldexp(static_cast<double>(mantissa), least_bit);  // subnormal, or little more
    if (kind == 0) size = 0;
    if (kind == 1) size = std::ldexp(2 - std::ldexp(1.0, 1 - format.digits), format.most_exponent);
    if (kind > 2) {
      const int range = kind > 6 ? 3 : format.most_exponent;
      size = std::ldexp(static_cast<double>(mantissa | (std::uint64_t{1} << (format.digits - 1))),
                        whole(std::max(-range, format.least_exponent), range) - format.digits + 1);
    }
    return next() % 2 == 0 ? size : -size;
  }

 private:
  std::mt19937_64 bits_;
};

template <class Float>
double on_the_processor(char op, double x, double y) {
  const volatile Float a = static_cast<Float>(x);
  const volatile Float b = static_cast<Float>(y);
  const volatile Float result = op == '+'   ? a + b
                                : op == '-' ? a - b
                                : op == '*' ? a * b
                                : op == '/' ? a / b
                                            : std::sqrt(a);
  return static_cast<double>(result);
}

double here(char op, double a, double b) {
  const Rounded x(a);
  const Rounded y(b);
  switch (op) {
    case '+':
      return (x + y).value();
    case '-':
      return (x - y).value();
    case '*':
      return (x * y).value();
    case '/':
      return (x / y).value();
    default:
      return sqrt(x).value();
  }
}

template <class Float>
int unlike_the_processor(const FloatFormat& format, std::uint64_t seed) {
  const FormatScope scope(format);
  Source random(seed);
  int wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    const double a = random.of(format);
    const double b = round % 50 == 0 ? a : random.of(format);
    for (const char op : {'+', '-', '*', '/', 's'}) {
      wrong += !same_bits(here(op, a, b), on_the_processor<Float>(op, a, b));
    }
  }
  return wrong;
}

double value_in(const FloatFormat& format, const std::string& text) {
  const FormatScope scope(format);
  return rounded_value({Number::Kind::finite, text}).value();
}

double rounded_in(const FloatFormat& format, double x) {
  const FormatScope scope(format);
  return Rounded(x).value();
}

}  // namespace

TEST_CASE("the formats") {
  CHECK(std::string(kFp16.name) == "fp16");
  CHECK(std::string(kBf16.name) == "bf16");
  CHECK(std::string(kFp32.name) == "fp32");
  CHECK(std::string(kFp64.name) == "fp64");
  CHECK(&FormatScope::current() == &kFp64);
  {
    const FormatScope outer(kFp16);
    {
      const FormatScope inner(kBf16);
      CHECK(&FormatScope::current() == &kBf16);
    }
    CHECK(&FormatScope::current() == &kFp16);
  }
  CHECK(&FormatScope::current() == &kFp64);
}

TEST_CASE("half precision") {
  CHECK(rounded_in(kFp16, 65504) == 65504);
  CHECK(rounded_in(kFp16, 65519) == 65504);
  CHECK(rounded_in(kFp16, 65520) == kInfinity);  // a tie, and the odd neighbour is the largest number
  CHECK(rounded_in(kFp16, -65520) == -kInfinity);
  CHECK(rounded_in(kFp16, 1e300) == kInfinity);
  CHECK(rounded_in(kFp16, 0x1p-24) == 0x1p-24);
  CHECK(rounded_in(kFp16, 0x1p-25) == 0);
  CHECK(rounded_in(kFp16, 0x1.002p-25) == 0x1p-24);
  CHECK(rounded_in(kFp16, 0x1.8p-24) == 0x1p-23);
  CHECK(std::signbit(rounded_in(kFp16, -1e-300)));
  CHECK(rounded_in(kFp16, 2049) == 2048);
  CHECK(rounded_in(kFp16, 2051) == 2052);
  CHECK(rounded_in(kFp16, 0x1.ff8p-15) == 0x1.ff8p-15);  // the largest subnormal
  CHECK(rounded_in(kFp16, 0x1.ffcp-15) ==
        0x1p-14);  // a tie; the even neighbour is the smallest normal number
  CHECK(rounded_in(kFp16, 0x1.ffbp-15) == 0x1.ff8p-15);
  CHECK(value_in(kFp16, "0.1") == 0.0999755859375);
  CHECK(value_in(kFp16, "1/3") == 0.333251953125);
  const FormatScope scope(kFp16);
  CHECK((Rounded(65504) + Rounded(15)).value() == 65504);
  CHECK((Rounded(65504) + Rounded(16)).value() == kInfinity);
  CHECK(exp(Rounded(12)).value() == kInfinity);
  CHECK(exp(Rounded(11)).value() == 59872);     // e^11 = 59874.14…, and the step there is 32
  CHECK(exp(Rounded(-17)).value() == 0x1p-24);  // 4.139…e-8
  CHECK(exp(Rounded(-18)).value() == 0);
  CHECK(Rounded(2049).value() == 2048);
}

TEST_CASE("bfloat16") {
  CHECK(value_in(kBf16, "1/3") == 0.333984375);
  CHECK(rounded_in(kBf16, 257) == 256);
  CHECK(rounded_in(kBf16, 259) == 260);
  CHECK(rounded_in(kBf16, 0x1.fep127) == 0x1.fep127);
  CHECK(rounded_in(kBf16, 0x1.ffp127) == kInfinity);
  CHECK(rounded_in(kBf16, 0x1p-133) == 0x1p-133);  // subnormals are kept
  CHECK(rounded_in(kBf16, 0x1p-134) == 0);
}

TEST_CASE("single and double precision") {
  CHECK(value_in(kFp32, "0.1") == 0x1.99999ap-4);
  CHECK(rounded_in(kFp32, 16777217) == 16777216);
  CHECK(rounded_in(kFp32, 0x1p-149) == 0x1p-149);
  CHECK(rounded_in(kFp32, 0x1p-150) == 0);
  CHECK(rounded_in(kFp32, 0x1.fffffefp127) == 0x1.fffffep127);
  CHECK(rounded_in(kFp32, 0x1.ffffffp127) == kInfinity);
  CHECK(value_in(kFp64, "0.1") == 0.1);
  CHECK(rounded_in(kFp64, std::numeric_limits<double>::denorm_min()) ==
        std::numeric_limits<double>::denorm_min());
  CHECK(rounded_in(kFp64, DBL_MAX) == DBL_MAX);
  const FormatScope scope(kFp64);
  CHECK((Rounded(DBL_MAX) + Rounded(0x1p970)).value() == kInfinity);
  CHECK((Rounded(DBL_MAX) + Rounded(0x1.fffffffffffffp969)).value() == DBL_MAX);
  CHECK(exp(Rounded(1)).value() == 0x1.5bf0a8b145769p+1);
}

TEST_CASE("decimal text is rounded once") {
  // Just above the middle between 1 and 1 + 2^-10; the nearest double is the middle itself.
  CHECK(value_in(kFp16, "1.00048828125000000000000000000001") == 1.0009765625);
  CHECK(value_in(kFp16, "1.00048828125") == 1);
  CHECK(value_in(kFp32, "1.00000005960464477539062500000000000001") == 0x1.000002p0);
  CHECK(value_in(kFp16, "1e9999") == kInfinity);
  CHECK(value_in(kFp16, "1e-9999") == 0);
  CHECK(value_in(kFp16, "2.98023223876953125e-8") == 0);  // 2^-25, a tie
  CHECK(value_in(kFp16, "2.98023223876953126e-8") == 0x1p-24);
}

TEST_CASE("an expression is rounded at every operation") {
  // √2 = 1.4140625 in half precision.
  CHECK(value_in(kFp16, "sqrt(2)") == 1.4140625);
  CHECK(value_in(kFp16, "-sqrt(2)/2") == -0.70703125);
  // 0.0999755859375 · 3 = 0.2999267578125, the middle between 1228 and 1229 units of 2^-12
  CHECK(value_in(kFp16, "0.1*3") == 0.2998046875);
  CHECK(value_in(kFp16, "50%") == 0.5);
  const FormatScope scope(kFp16);
  CHECK(rounded_value({Number::Kind::infinite, "-inf"}).value() == -kInfinity);
  CHECK(rounded_value({Number::Kind::infinite, "inf"}).value() == kInfinity);
  CHECK(rounded_value({Number::Kind::symbol, "v0"}).value() == 0);
  CHECK(rounded_value({Number::Kind::blank, "_"}).value() == 0);
}

TEST_CASE("single precision is the processor's") { CHECK(unlike_the_processor<float>(kFp32, 1) == 0); }

TEST_CASE("double precision is the processor's") {
  if constexpr (kDoublesArePlain) CHECK(unlike_the_processor<double>(kFp64, 2) == 0);
}

TEST_CASE("the small formats round as fractions do") {
  for (const FloatFormat* format : {&kFp16, &kBf16}) {
    CAPTURE(std::string(format->name));
    const FormatScope scope(*format);
    Source random(3);
    int wrong = 0;
    for (int round = 0; round < 8000; ++round) {
      const double a = random.of(*format);
      const double b = random.of(*format);
      const Rational x(a);
      const Rational y(b);
      wrong += !same_bits(Rounded(a).value(), a);
      wrong += (Rounded(a) + Rounded(b)).value() != nearest(Rational(x + y), *format);
      wrong += (Rounded(a) - Rounded(b)).value() != nearest(Rational(x - y), *format);
      wrong += (Rounded(a) * Rounded(b)).value() != nearest(Rational(x * y), *format);
      if (b != 0) wrong += (Rounded(a) / Rounded(b)).value() != nearest(Rational(x / y), *format);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("any double is rounded as its fraction") {
  for (const FloatFormat& format : kFloatFormats) {
    CAPTURE(std::string(format.name));
    const FormatScope scope(format);
    Source random(4);
    int wrong = 0;
    for (int round = 0; round < 3000; ++round) {
      // Half of them at a tie or next to one.
      double x = random.of(kFp64);
      if (round % 2 == 0) {
        const double y = random.of(format);
        const double unit =
            std::ldexp(1.0, std::max(std::ilogb(y), format.least_exponent) - format.digits + 1);
        if (y == 0 || format.digits == 53) continue;
        x = y + unit / 2 * (1 + random.whole(-1, 1) * 0x1p-20);
      }
      wrong += Rounded(x).value() != nearest(Rational(x), format);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("exp, tanh and sqrt are the nearest numbers") {
  for (const FloatFormat* format : {&kFp16, &kBf16, &kFp32, &kFp64}) {
    CAPTURE(std::string(format->name));
    const FormatScope scope(*format);
    Source random(5);
    int wrong = 0;
    for (int round = 0; round < 1500; ++round) {
      double x = random.of(*format);
      if (std::abs(x) > 120) x = std::ldexp(x, -std::ilogb(x) + random.whole(-3, 6));
      if (x == 0) continue;
      const Decimal exact(x);
      // 50 digits of e^x do not show how it differs from 1 when x is tiny.
      if (std::abs(x) > 1e-15) {
        const Decimal power = exp(exact);
        const Decimal twice = exp(Decimal(2 * exact));
        wrong += exp(Rounded(x)).value() != nearest(fraction_of(power), *format);
        if (std::abs(x) > 1e-3 && std::abs(x) < 25) {
          wrong +=
              tanh(Rounded(x)).value() != nearest(fraction_of(Decimal((twice - 1) / (twice + 1))), *format);
        }
      }
      const Rounded root = sqrt(Rounded(std::abs(x)));
      wrong += root.value() != nearest(fraction_of(sqrt(Decimal(abs(exact)))), *format);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("zeros, infinities and NaN are IEEE's") {
  const FormatScope scope(kFp16);
  const Rounded zero(0);
  const Rounded infinite(kInfinity);
  CHECK(std::signbit((-zero).value()));
  CHECK(std::signbit((-zero * Rounded(3)).value()));
  CHECK_FALSE(std::signbit((zero + -zero).value()));
  CHECK(std::signbit((-zero + -zero).value()));
  CHECK_FALSE(std::signbit((Rounded(5) - Rounded(5)).value()));
  CHECK(std::signbit((Rounded(-0x1p-24) * Rounded(0x1p-24)).value()));
  CHECK(std::signbit(sqrt(-zero).value()));
  CHECK(std::signbit(tanh(-zero).value()));
  CHECK((Rounded(1) / zero).value() == kInfinity);
  CHECK((Rounded(1) / -zero).value() == -kInfinity);
  CHECK(std::isnan((zero / zero).value()));
  CHECK(std::isnan((infinite - infinite).value()));
  CHECK(std::isnan((infinite * zero).value()));
  CHECK(std::isnan(sqrt(Rounded(-1)).value()));
  CHECK((Rounded(1) / infinite).value() == 0);
  CHECK(exp(-infinite).value() == 0);
  CHECK(exp(infinite).value() == kInfinity);
  CHECK(tanh(-infinite).value() == -1);
  CHECK(exp(zero).value() == 1);
}

TEST_CASE("what kernels need") {
  const Rounded one(1);
  const Rounded two(2);
  CHECK(larger(one, two).value() == 2);
  CHECK(larger(two, one).value() == 2);
  CHECK(certainly_exceeds(two, one));
  CHECK_FALSE(certainly_exceeds(one, one));
  CHECK(hull(one, two).value() == 1);
  CHECK(one == 1);
  CHECK(is_plus_infinity(infinity_of(static_cast<const Rounded*>(nullptr), 1)));
  CHECK(infinity_of(static_cast<const Rounded*>(nullptr), -1).value() == -kInfinity);
  CHECK(std::isnan(nan_of(static_cast<const Rounded*>(nullptr)).value()));
}

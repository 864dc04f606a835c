// The truth comes from fractions (gmp) and from 120-digit numbers (mpfr); the doubles to compare
// with go through volatile variables.

#include <doctest/doctest.h>

#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfr.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/bounded.h"
#include "base/bounded_number.h"
#include "base/decimal.h"
#include "base/exp.h"

using namespace qkv;

namespace {

using Integer = boost::multiprecision::mpz_int;
using Rational = boost::multiprecision::mpq_rational;
using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<120>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Source {
 public:
  explicit Source(std::uint64_t seed) : bits_(seed) {}
  int whole(int least, int most) { return std::uniform_int_distribution(least, most)(bits_); }
  double real(double least, double most) { return std::uniform_real_distribution(least, most)(bits_); }

  // Ordinary, whole, of few digits or of about half of them, huge, tiny.
  double value() {
    switch (whole(0, 6)) {
      case 0:
        return whole(-20, 20);
      case 6:
        return std::ldexp(whole(-(1 << 30), 1 << 30) >> whole(0, 12), -20);
      case 1:
        return whole(-4000, 4000) / 16.0;
      case 2:
        return std::ldexp(real(-1, 1), whole(-1074, 1022));
      case 3:
        return std::ldexp(real(-1, 1), whole(-60, 60));
      default:
        return real(-3, 3);
    }
  }

  double error_of(double value) {
    switch (whole(0, 5)) {
      case 0:
      case 1:
        return 0;
      case 2:
        return std::ldexp(real(0, 1), whole(-1074, 0));
      case 3:
        return std::abs(value) * std::ldexp(1.0, whole(-30, 1));
      default:
        return std::abs(value) * std::ldexp(1.0, whole(-60, -40));
    }
  }
  Bounded bounded() {
    const double x = value();
    return {x, error_of(x)};
  }

  // A number that x allows, often one of the two ends.
  Rational inside(const Bounded& x) {
    const int at = whole(0, 3);
    const double part = at == 0 ? -1 : at == 1 ? 1 : real(-1, 1);
    return Rational(x.value) + Rational(part) * Rational(x.error);
  }

 private:
  std::mt19937_64 bits_;
};

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

bool holds(const Bounded& x, const Rational& truth) {
  if (x.error == kInfinity) return true;
  return std::isfinite(x.value) && abs(Rational(x.value) - truth) <= Rational(x.error);
}

bool holds(const Bounded& x, const Real& truth) {
  if (x.error == kInfinity) return true;
  return std::isfinite(x.value) && abs(Real(x.value) - truth) <= Real(x.error);
}

Real real_of(const Rational& x) { return Real(numerator(x)) / Real(denominator(x)); }

double plain(char op, double x, double y) {
  const volatile double a = x;
  const volatile double b = y;
  const volatile double result = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
  return result;
}

// The text of a number, from its digits: half to even, scientific where there would be more than 15 before
// the point.
std::string text_of(const Rational& x, int decimals) {
  const auto rounded = [](const Rational& positive) {
    const Integer twice = 2 * numerator(positive) / denominator(positive);
    Integer whole = twice / 2;
    const bool is_half = Rational(twice) == 2 * positive && twice % 2 != 0;
    if (is_half ? whole % 2 != 0 : twice % 2 != 0) ++whole;
    return whole;
  };
  const auto power = [](int e) {
    return Rational(boost::multiprecision::pow(Integer(10), static_cast<unsigned>(e)));
  };
  const Rational size = abs(x);
  const auto with_point = [&](std::string digits) {
    const auto places = static_cast<std::size_t>(decimals);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    if (places > 0) digits.insert(digits.size() - places, ".");
    return digits;
  };
  std::string text;
  if (const Integer units = rounded(size * power(decimals)); Rational(units) < power(15 + decimals)) {
    text = with_point(units.str());
    if (units == 0) return text;
  } else {
    int exponent = 14;
    while (size >= power(exponent + 1)) ++exponent;
    Integer digits = rounded(size / power(exponent) * power(decimals));
    if (Rational(digits) == power(decimals + 1)) {
      digits /= 10;
      ++exponent;
    }
    text = with_point(digits.str()) + "e+" + std::to_string(exponent);
  }
  return x < 0 ? "-" + text : text;
}

}  // namespace

TEST_CASE("an operation has the double's value and a bound that holds") {
  Source random(1);
  int wrong_values = 0;
  int wrong_bounds = 0;
  for (int round = 0; round < 60000; ++round) {
    const Bounded a = random.bounded();
    Bounded b = random.bounded();
    if (random.whole(0, 3) == 0)
      b.value = a.value * (1 + random.whole(-3, 3) * 0x1p-52);  // differences cancel
    const Rational true_a = random.inside(a);
    const Rational true_b = random.inside(b);
    const Bounded sum = a + b;
    const Bounded difference = a - b;
    const Bounded product = a * b;
    const Bounded quotient = a / b;
    if constexpr (kDoublesArePlain) {
      wrong_values += !same_bits(sum.value, plain('+', a.value, b.value));
      wrong_values += !same_bits(difference.value, plain('-', a.value, b.value));
      wrong_values += !same_bits(product.value, plain('*', a.value, b.value));
      wrong_values += !same_bits(quotient.value, plain('/', a.value, b.value));
    }
    wrong_bounds += !holds(sum, Rational(true_a + true_b));
    wrong_bounds += !holds(difference, Rational(true_a - true_b));
    wrong_bounds += !holds(product, Rational(true_a * true_b));
    wrong_bounds += true_b == 0 ? quotient.error != kInfinity : !holds(quotient, Rational(true_a / true_b));
  }
  CHECK(wrong_values == 0);
  CHECK(wrong_bounds == 0);
}

TEST_CASE("a dot product has the double's value and a bound that holds") {
  Source random(2);
  int wrong_values = 0;
  int wrong_bounds = 0;
  for (int round = 0; round < 1500; ++round) {
    const int kind = random.whole(0, 3);
    Bounded sum(0);
    double value = 0;
    Rational truth = 0;
    for (int k = 0; k < 64; ++k) {
      Bounded a = random.bounded();
      Bounded b = random.bounded();
      if (kind > 0) {
        a = random.real(-1, 1);
        b = random.whole(-100, 100) / 8.0;
        if (kind == 2) a.error = std::abs(a.value) * 0x1p-53;
        if (kind == 3) {
          a = std::abs(a.value);
          a.error = a.value * 0x1p-16;
          b = std::abs(b.value);
          b.error = b.value * 0x1p-15;
        }
      }
      Rational term = random.inside(a) * random.inside(b);
      if (kind == 3) term = (Rational(a.value) + Rational(a.error)) * (Rational(b.value) + Rational(b.error));
      if (kind == 1 && k >= 32) {  // and back to zero
        a = -sum;
        b = 1;
        term = -truth;
      }
      sum += a * b;
      value = plain('+', value, plain('*', a.value, b.value));
      truth += term;
    }
    if constexpr (kDoublesArePlain) wrong_values += !same_bits(sum.value, value);
    wrong_bounds += !holds(sum, truth);
  }
  CHECK(wrong_values == 0);
  CHECK(wrong_bounds == 0);
}

TEST_CASE("chains of operations keep to their bound") {
  Source random(3);
  int wrong_bounds = 0;
  for (int round = 0; round < 2000; ++round) {
    Bounded x = random.real(0.1, 3);
    Rational truth(x.value);
    for (int step = 0; step < 12; ++step) {
      const Bounded y = random.real(0.1, 3);
      const Rational exact(y.value);
      switch (random.whole(0, 4)) {
        case 0:
          x += y;
          truth += exact;
          break;
        case 1:
          x -= y;
          truth -= exact;
          break;
        case 2:
          x = x * y;
          truth *= exact;
          break;
        case 3:
          x = x / y;
          truth /= exact;
          break;
        default:
          x += x * y;
          truth += truth * exact;
      }
      wrong_bounds += !holds(x, truth);
    }
  }
  CHECK(wrong_bounds == 0);
}

TEST_CASE("exp, tanh and sqrt keep to their bound") {
  Source random(4);
  int wrong_values = 0;
  int wrong_bounds = 0;
  for (int round = 0; round < 12000; ++round) {
    Bounded x = random.bounded();
    if (round % 3 == 0) x.value = random.real(-760, 715);
    const Real truth = real_of(random.inside(x));
    wrong_values += !same_bits(exp(x).value, qkv::exp(x.value));  // base/exp.h, as kernels on doubles have it
    wrong_values += !same_bits(tanh(x).value, std::tanh(x.value));
    wrong_values += !same_bits(sqrt(x).value, std::sqrt(x.value));
    if (truth < 1000) wrong_bounds += !holds(exp(x), Real(exp(truth)));
    wrong_bounds += !holds(tanh(x), Real(tanh(truth)));
    wrong_bounds += truth < 0 ? sqrt(x).error != kInfinity : !holds(sqrt(x), Real(sqrt(truth)));
  }
  CHECK(wrong_values == 0);
  CHECK(wrong_bounds == 0);
}

TEST_CASE("a softmax keeps to its bound") {
  Source random(5);
  int wrong_bounds = 0;
  double widest = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Bounded> e;
    std::vector<Real> true_e;
    Bounded sum(0);
    Real true_sum = 0;
    for (int j = 0; j < 16; ++j) {
      const double score = random.real(-30, 0);
      const Bounded x(score, 1e-15);
      e.push_back(exp(x));
      true_e.push_back(exp(real_of(random.inside(x))));
      sum += e.back();
      true_sum += true_e.back();
    }
    for (std::size_t j = 0; j < e.size(); ++j) {
      const Bounded weight = e[j] / sum;
      wrong_bounds += !holds(weight, Real(true_e[j] / true_sum));
      widest = std::max(widest, weight.error / weight.value);
    }
  }
  CHECK(wrong_bounds == 0);
  CHECK(widest < 2e-14);
}

TEST_CASE("bounds are near the worst that can happen") {
  Source random(6);
  double ratios = 0;
  int count = 0;
  const auto compare = [&](const Bounded& result, double worst) {
    const double half_ulp = std::abs(result.value) * 0x1p-53;
    ratios += result.error / (worst + half_ulp);
    ++count;
  };
  for (int round = 0; round < 5000; ++round) {
    const double x = random.real(0.5, 2);
    const double y = random.real(0.5, 2);
    const Bounded a(x, x * 0x1p-50);
    const Bounded b(y, y * 0x1p-51);
    const double of_product = a.error * y + b.error * x;
    compare(a + b, a.error + b.error);
    compare(a - b, a.error + b.error);
    compare(a * b, of_product);
    compare(a / b, of_product / (y * y));
    compare(sqrt(a), a.error / (2 * std::sqrt(x)));
    compare(exp(a), a.error * std::exp(x));
    compare(tanh(a), a.error * (1 - std::tanh(x) * std::tanh(x)));
  }
  CHECK(ratios / count < 4);
}

TEST_CASE("what is exact has the error 0") {
  if constexpr (kDoublesArePlain) {
    Source random(7);
    for (int round = 0; round < 200; ++round) {
      Bounded sum(0);
      long truth = 0;
      for (int k = 0; k < 64; ++k) {
        const int a = random.whole(-5000, 5000);
        const int b = random.whole(-5000, 5000);
        sum += Bounded(a) * Bounded(b);
        truth += long{a} * b;
      }
      CHECK(sum.value == static_cast<double>(truth));
      CHECK(sum.error == 0);
    }
    CHECK((Bounded(0.1) + Bounded(0.2)).error > 0);
    CHECK((Bounded(0.1) - Bounded(0.1)) == 0);
    CHECK(Bounded(Bounded(0.1) * Bounded(0.1)).error > 0);
    CHECK(Bounded(Bounded(0.1) * Bounded(0)) == 0);
    CHECK((Bounded(1) / Bounded(3)).error > 0);
    CHECK((Bounded(0.1) / Bounded(4)).error == 0);
    CHECK((Bounded(6) / Bounded(3)).error == 0);
    CHECK(sqrt(Bounded(6.25)).error == 0);
    CHECK(sqrt(Bounded(2)).error > 0);
    // 2^-700 · 2^-700 is not 0.
    CHECK(Bounded(Bounded(0x1p-700) * Bounded(0x1p-700)).error > 0);
    Bounded sum(0);
    sum += Bounded(0x1p-700) * Bounded(0x1p-700);
    CHECK(sum.error > 0);
  }
  CHECK(exp(Bounded(0)).value == 1);
  CHECK(exp(Bounded(0)).error == 0);
  CHECK(tanh(Bounded(0)) == 0);
  CHECK(sqrt(Bounded(0)) == 0);
}

TEST_CASE("a decimal has the error 0 exactly when it is its double") {
  std::vector<std::string> texts{"0",
                                 "0.0",
                                 "0.5",
                                 "-0.125",
                                 "0.3",
                                 "1234.5",
                                 "0.00000000001",
                                 "2.50000000000",
                                 "12.5%",
                                 "0.1%",
                                 "0.000030517578125"};
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    // Sixteenths and so on, and their neighbours in the last decimal.
    const unsigned long long places = random() % 13;
    unsigned long long power = 1;
    for (unsigned long long i = 0; i < places; ++i) power *= 10;
    const unsigned long long whole = random() % 1000;
    const unsigned long long part = (random() % 65) * (power / 64) + random() % 2;
    std::string digits = std::to_string(part);
    if (digits.size() < places) digits.insert(0, places - digits.size(), '0');
    texts.push_back(std::to_string(whole) + (places == 0 ? "" : "." + digits));
  }
  for (const std::string& text : texts) {
    NumberError error;
    const auto number = parse_number(text, error);
    REQUIRE(number.has_value());
    Integer digits = 0;
    Integer power = 1;
    bool has_point = false;
    for (const char c : text) {
      if (c == '.') has_point = true;
      if (c < '0' || c > '9') continue;
      digits = digits * 10 + (c - '0');
      if (has_point) power *= 10;
    }
    if (text.ends_with('%')) power *= 100;
    Rational truth(digits, power);
    if (text.starts_with('-')) truth = -truth;
    const Bounded x = bounded(*number);
    INFO(text);
    CHECK((x.error == 0) == (truth == Rational(number->value)));
    CHECK(abs(Rational(x.value) - truth) <= Rational(x.error));
  }
}

TEST_CASE("a given infinity is exact, one that overflowed says nothing") {
  const Bounded minus = infinity_of(static_cast<const Bounded*>(nullptr), -1);
  const Bounded vague(2, 0.5);
  for (const Bounded& x :
       {minus + vague, vague + minus, Bounded(minus * vague), minus / vague, minus - vague}) {
    CHECK(x.value == -kInfinity);
    CHECK(x.error == 0);
  }
  CHECK(exp(minus) == 0);
  CHECK(vague / minus == 0);
  CHECK(tanh(minus).value == -1);
  CHECK(tanh(minus).error == 0);
  CHECK(is_plus_infinity(-minus));
  CHECK(larger(minus, vague).error == 0.5);
  CHECK(larger(-minus, vague).error == 0);

  const Bounded overflow = Bounded(1e308) * Bounded(10);
  CHECK(overflow.value == kInfinity);
  CHECK(overflow.error == kInfinity);
  CHECK((Bounded(1e308) + Bounded(1e308)).error == kInfinity);
  CHECK(exp(Bounded(1000)).error == kInfinity);
  CHECK(Bounded(Bounded(0x1p1000) * Bounded(0x1p1000)).error == kInfinity);
  CHECK((overflow + vague).error == kInfinity);
  CHECK((overflow + minus).error == kInfinity);
  CHECK(exp(-overflow).error == kInfinity);
  CHECK(Bounded(overflow * Bounded(0)).error == kInfinity);
  CHECK_FALSE(is_plus_infinity(overflow));
  CHECK_FALSE(certainly_exceeds(overflow, vague));
  Bounded sum = overflow;
  sum += vague * vague;
  CHECK(sum.error == kInfinity);

  const Bounded open = minus - minus;
  CHECK(std::isnan(open.value));
  CHECK(open.error == kInfinity);
  CHECK(Bounded(minus * Bounded(0)).error == kInfinity);
  CHECK(Bounded(minus * Bounded(1, 2)).error == kInfinity);
  CHECK((Bounded(1) / Bounded(0)).error == kInfinity);
  CHECK((Bounded(1) / Bounded(1, 1)).error == kInfinity);
  CHECK(sqrt(Bounded(-1)).error == kInfinity);

  const Bounded nan = nan_of(static_cast<const Bounded*>(nullptr));
  for (const Bounded& x : {nan + vague, Bounded(vague * nan), nan / minus, exp(nan), tanh(nan), sqrt(nan)}) {
    CHECK(std::isnan(x.value));
    CHECK(x.error == 0);
  }
}

TEST_CASE("order, maximum and hull") {
  CHECK(certainly_exceeds(Bounded(2, 0.5), Bounded(1, 0.25)));
  CHECK_FALSE(certainly_exceeds(Bounded(2, 0.5), Bounded(1, 0.5)));
  CHECK_FALSE(certainly_exceeds(Bounded(1), Bounded(1)));
  // 1 − 2^-60 and 1 + 2^-60 are both 1 as doubles.
  CHECK_FALSE(certainly_exceeds(Bounded(1, 0x1p-60), Bounded(1 - 0x1p-53, 0x1p-53)));
  CHECK(certainly_exceeds(Bounded(-1), infinity_of(static_cast<const Bounded*>(nullptr), -1)));

  CHECK(larger(Bounded(2, 0.25), Bounded(1, 0.5)).error == 0.25);
  CHECK(larger(Bounded(2, 0.25), Bounded(1.5, 0.5)).error == 0.5);
  CHECK(larger(Bounded(1.5, 0.5), Bounded(2, 0.25)).value == 2);

  const Bounded both = hull(Bounded(2, 0.25), Bounded(1, 0.5));
  CHECK(both.value == 2);
  CHECK(both.error >= 1.5);
  CHECK(both.error < 1.5000001);
  CHECK(hull(Bounded(3, 0), Bounded(3, 0)).error == 0);
  CHECK(hull(Bounded(3, 0), infinity_of(static_cast<const Bounded*>(nullptr), 1)).error == kInfinity);
}

TEST_CASE("the text of the tests is fixed_text") {
  Source random(8);
  for (int round = 0; round < 3000; ++round) {
    const double x = std::ldexp(random.real(-1, 1), random.whole(-20, 80));
    const int decimals = random.whole(0, 17);
    CHECK(text_of(Rational(x), decimals) == fixed_text(x, decimals));
  }
  CHECK(text_of(Rational(-0.001), 2) == "0.00");
  CHECK(text_of(Rational(2.5), 0) == "2");
  CHECK(text_of(Rational(999999999999999.9), 0) == "1e+15");
  CHECK(text_of(Rational(999999999999999.25), 0) == "999999999999999");
  CHECK(text_of(Rational(9.99999e15), 2) == "1.00e+16");
}

TEST_CASE("what is decided has one text") {
  Source random(9);
  int wrong = 0;
  int missed = 0;
  int settled = 0;
  for (int round = 0; round < 40000; ++round) {
    const int decimals = random.whole(0, 17);
    const double unit = std::pow(10.0, -decimals);
    double value = random.real(-10, 10);
    const int kind = random.whole(0, 4);
    if (kind == 1) value = (random.whole(-100000, 100000) + 0.5) * unit;         // at a half
    if (kind == 2) value = 1e15 * (1 + random.whole(-20, 20) * 0x1p-52);         // where the notation changes
    if (kind == 3) value = std::ldexp(random.real(-1, 1), random.whole(0, 90));  // many digits
    if (kind == 4) value = random.real(-2, 2) * unit;                            // about zero
    if (kind != 2) value *= 1 + random.whole(-3, 3) * 0x1p-52;
    double error = std::ldexp(random.real(0.5, 1), random.whole(-70, 3));
    if (random.whole(0, 1) == 0) error *= unit;
    if (random.whole(0, 2) == 0) error *= std::abs(value);
    const Bounded x(value, error);
    const std::string low = text_of(Rational(Rational(value) - Rational(error)), decimals);
    const std::string high = text_of(Rational(Rational(value) + Rational(error)), decimals);
    const bool is_one_text = low == high;
    settled += is_one_text;
    if (decides(x, decimals)) {
      wrong += !is_one_text || low != fixed_text(value, decimals);
    } else {
      missed += is_one_text;
    }
  }
  CHECK(wrong == 0);
  CHECK(settled > 10000);
  CHECK(missed * 10 < settled);  // left to the caller: values that nearly fill the digits of a double
}

TEST_CASE("nearly every ordinary cell is decided") {
  Source random(10);
  int decided = 0;
  for (int round = 0; round < 100000; ++round) decided += decides(Bounded(random.real(0, 1), 1e-14), 4);
  CHECK(decided > 99990);
}

TEST_CASE("ties, infinities and unknowns") {
  CHECK(decides(Bounded(0.125), 2));
  CHECK_FALSE(decides(Bounded(0.125, 1e-300), 2));
  CHECK(decides(Bounded(0.125, 1e-300), 1));
  CHECK(decides(Bounded(0, 0.4), 0));  // never "-0"
  CHECK_FALSE(decides(Bounded(0, 0.6), 0));
  CHECK(decides(Bounded(-kInfinity), 2));
  CHECK_FALSE(decides(Bounded(kInfinity, kInfinity), 2));
  CHECK_FALSE(decides(Bounded(1, kInfinity), 2));
  CHECK_FALSE(decides(Bounded(1, kNan), 2));
  CHECK_FALSE(decides(Bounded(kNan, kInfinity), 2));
  CHECK(decides(nan_of(static_cast<const Bounded*>(nullptr)), 2));
}

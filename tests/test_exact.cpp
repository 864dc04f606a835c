// Fractions, roots and exponentials as exact values: which of them are equal, which is larger,
// and what they round to.  Expected values are identities of school algebra.

#include <doctest/doctest.h>

#include "base/exact.h"
#include "base/interval.h"

namespace qkv::test {
namespace {

Exact fraction(int above, int below = 1) { return Exact(Rational(above, below)); }
Exact root(int of) { return sqrt(fraction(of)); }

TEST_CASE("roots are merged when they are multiples of one another, and only then") {
  CHECK(exact_text(root(8) - root(2)) == "√2");
  CHECK(exact_text(root(2) * root(2)) == "2");
  CHECK(exact_text(fraction(1) / root(2) - root(2) / fraction(2)) == "0");
  CHECK(exact_text(root(2) + root(3)) == "√2 + √3");
  CHECK(compare((root(2) + root(3)) * (root(2) + root(3)), fraction(5) + fraction(2) * root(6)) == 0);
  CHECK(compare(fraction(1) / (root(3) - root(2)), root(3) + root(2)) == 0);
  CHECK(compare(sqrt(fraction(1, 3)) * root(3), fraction(1)) == 0);
}

TEST_CASE("a square factor too large to be looked for does not hide that two roots are the same") {
  // 1009 and 1013 are primes above the divisors that are tried.
  const Exact a = sqrt(Exact(Rational(Integer(1009) * 1009 * 1013 * 1013 * 1019 * 2)));
  const Exact b = sqrt(Exact(Rational(Integer(1019) * 2)));
  CHECK(compare(a, fraction(1009 * 1013) * b) == 0);
  CHECK(compare(exp(a), exp(fraction(1009 * 1013) * b)) == 0);
}

TEST_CASE("exact values are written as on paper") {
  CHECK(exact_text(fraction(-1, 2)) == "-1/2");
  CHECK(exact_text(fraction(1) / root(2)) == "1/√2");
  CHECK(exact_text(fraction(3) / root(2)) == "3/2·√2");
  CHECK(exact_text(root(2) / fraction(-4)) == "-1/4·√2");
  CHECK(exact_text(fraction(1, 10) - root(2)) == "1/10 - √2");
  CHECK(exact_text(exp(fraction(1))) == "e");
  CHECK(exact_text(exp(fraction(-1))) == "e^(-1)");
  CHECK(exact_text(exp(fraction(1)) / (exp(fraction(1)) + exp(fraction(0)))) == "e / (e + 1)");
  CHECK(exact_text(fraction(2) * exp(fraction(1) / root(2)) - fraction(1, 3)) == "2·e^(1/√2) - 1/3");
  CHECK(exact_text(exp(exp(fraction(1)))).empty());
  CHECK(exact_text(Exact::infinity(1)).empty());
}

TEST_CASE("a quotient of exponentials is a fraction exactly when numerator and denominator are multiples") {
  const Exact e = exp(fraction(1));
  CHECK((fraction(3) * e + fraction(6)).kind() == Exact::Kind::quotient);
  CHECK(exact_text((fraction(3) * e + fraction(6)) / (e + fraction(2))) == "3");
  CHECK(exact_text((e + fraction(1)) / (e + fraction(2)) + fraction(1) / (e + fraction(2))) == "1");
  CHECK(exact_text(exp(root(2)) * exp(-root(2))) == "1");
  CHECK(exact_text(exp(root(8)) / exp(root(2)) / exp(root(2))) == "1");
  CHECK(exact_text(e - e) == "0");
}

TEST_CASE("the larger of two exact values is found however close they are") {
  const Exact tiny = exp(fraction(-1000));
  CHECK(compare(fraction(1, 8) + tiny, fraction(1, 8)) == 1);
  CHECK(compare(fraction(1, 8) - tiny, fraction(1, 8)) == -1);
  CHECK(compare(fraction(1) / (fraction(1) + exp(fraction(-1'000'000))), fraction(1)) == -1);
  CHECK(compare(exp(fraction(1)), fraction(27182818, 10000000)) == 1);
  CHECK(compare(exp(fraction(1)), fraction(27182819, 10000000)) == -1);
  CHECK(compare(tanh(fraction(1)), Exact(Rational(76159, 100000))) == 1);
  CHECK(compare(tanh(fraction(1)), Exact(Rational(76160, 100000))) == -1);
  CHECK(compare(-tanh(fraction(1)), tanh(fraction(-1))) == 0);
  CHECK(!compare(exp(exp(fraction(1))), fraction(1)).has_value());
  CHECK(compare(Exact::infinity(-1), fraction(0)) == -1);
}

TEST_CASE("the text of a fraction is rounded half to even, without an interval") {
  const auto text = [](const char* decimal, int decimals) {
    return fixed_text(exact_decimal(decimal), decimals);
  };
  CHECK(text("0.125", 2) == "0.12");
  CHECK(text("0.375", 2) == "0.38");
  CHECK(text("-0.125", 2) == "-0.12");
  CHECK(text("-0.004", 2) == "0.00");
  CHECK(text("9.995", 2) == "10.00");
  CHECK(text("2.5", 0) == "2");
  CHECK(text("7", 3) == "7.000");
  CHECK(text("0.1234567890123456785", 18) == "0.123456789012345678");  // 19 digits: no short decimal
  CHECK(text("999999999999999.4", 0) == "999999999999999");
  CHECK(!text("999999999999999.5", 0));  // 1e+15 is written otherwise
  CHECK(fixed_text(fraction(1, 3), 4) == "0.3333");
  CHECK(fixed_text(fraction(-2, 3), 4) == "-0.6667");
  CHECK(fixed_text(Exact(Rational(1, 3) + Rational(1, 6)), 0) == "0");
  CHECK(!fixed_text(root(2), 4));
}

TEST_CASE("short decimals and fractions are one arithmetic") {
  CHECK(exact_text(exact_decimal("0.15") * exact_decimal("0.1")) == "3/200");
  CHECK(exact_text(exact_decimal("0.1") + exact_decimal("0.2") - exact_decimal("0.3")) == "0");
  CHECK(exact_text(exact_decimal("1.5") / exact_decimal("0.6")) == "5/2");
  CHECK(exact_text(exact_decimal("0.1") / exact_decimal("0.3")) == "1/3");
  CHECK(exact_text(exact_decimal("1e-30") * exact_decimal("1e30")) == "1");
  CHECK(exact_text(exact_decimal("999999999999999999") + fraction(1)) == "1000000000000000000");
  CHECK(exact_text(exact_decimal("-999999999999999999") * exact_decimal("10")) == "-9999999999999999990");
  CHECK(compare(exact_decimal("1e18") * exact_decimal("1e-18"), fraction(1)) == 0);
}

TEST_CASE("an interval and an exact value give the digits that neither gives alone") {
  const PrecisionScope precision(40);
  const auto around = [](const char* middle) {
    const Interval width = enclose_decimal("1e-30");
    const Interval x = enclose_decimal(middle);
    return hull(Interval(x - width), Interval(x + width));
  };
  const Exact tiny = exp(fraction(-1000));
  CHECK(!fixed_text(around("0.125"), 2));
  CHECK(fixed_text(around("0.125"), fraction(1, 8), 2) == "0.12");
  CHECK(fixed_text(around("0.375"), fraction(3, 8), 2) == "0.38");
  CHECK(fixed_text(around("0.125"), fraction(1, 8) + tiny, 2) == "0.13");
  CHECK(fixed_text(around("0.125"), fraction(1, 8) - tiny, 2) == "0.12");
  CHECK(fixed_text(around("-0.125"), fraction(-1, 8) - tiny, 2) == "-0.13");
  CHECK(fixed_text(around("999999999999999.5"), Exact(999999999999999.5), 0) == "1e+15");
  CHECK(fixed_text(around("1234500000000000000"), Exact(1.2345e18), 3) == "1.234e+18");
  CHECK(fixed_text(hull(enclose_decimal("-9.4e98"), enclose_decimal("-9.6e98")), exact_decimal("-9.5e98"),
                   0) == "-1e+99");
  CHECK(fixed_text(hull(enclose_decimal("8.4e98"), enclose_decimal("8.6e98")), exact_decimal("8.5e98"), 0) ==
        "8e+98");
  CHECK(!fixed_text(around("0.125"), Exact::unknown(), 2));
  CHECK(nearest_double(around("0"), fraction(0)) == 0.0);
  // Between 1 and the next double, a little above the middle.
  const Exact middle = Exact(1.0) + Exact(0x1p-53);
  CHECK(nearest_double(around("1.00000000000000011102230246251565404236316680908203125"), middle) == 1.0);
  CHECK(nearest_double(around("1.00000000000000011102230246251565404236316680908203125"), middle + tiny) ==
        1.0 + 0x1p-52);
}

}  // namespace
}  // namespace qkv::test

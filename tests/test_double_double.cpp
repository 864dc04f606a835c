// Double-doubles against numbers of 400 bits: every operation keeps to the bound that its head states.

#include "base/double_double_number.h"

#include <boost/multiprecision/mpfr.hpp>

#include "base/bounded.h"
#include "input/low_parts.h"
#include "support.h"

namespace qkv::test {
namespace {

using namespace double_double;
using True = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<120>>;
typedef double Vector __attribute__((vector_size(16)));
typedef std::uint64_t VectorBits __attribute__((vector_size(16)));

constexpr double kSquare = 0x1p-106;  // u²

True truth(const DoubleDouble& x) { return True(x.hi) + True(x.lo); }

bool is_normalised(const DoubleDouble& x) { return x.hi + x.lo == x.hi; }

double distance(const DoubleDouble& x, const True& from) {
  return static_cast<double>(abs(True(truth(x) - from)));
}
double size(const DoubleDouble& x) { return std::abs(x.hi); }

// Upper parts that fill their digits, have few, or are powers of two; lower parts as large as can be, small,
// nothing, or hardly there.
DoubleDouble any(Random& random, int exponent) {
  const auto part = [&] { return static_cast<double>(random.whole(1L << 52, (1L << 53) - 1)) * 0x1p-53; };
  double hi = part();
  if (random.whole(0, 3) == 0) hi = 0.5;
  if (random.whole(0, 3) == 0) hi = static_cast<double>(random.whole(4, 7)) / 8;
  double lo = part() * 0x1p-54;
  switch (random.whole(0, 5)) {
    case 0:
      lo = 0;
      break;
    case 1:
      lo *= std::ldexp(1.0, static_cast<int>(-random.whole(1, 60)));
      break;
    case 2:
      lo = 0x1p-54 * (1 - 0x1p-53);
      break;
    case 3:
      lo = 0x1p-900;
      break;
    default:
      break;
  }
  if (random.whole(0, 1) == 0) lo = -lo;
  if (random.whole(0, 1) == 0) hi = -hi;
  const DoubleDouble sum = sum_of(hi, lo);
  return scaled(sum, std::ldexp(1.0, exponent));
}

DoubleDouble any_near(Random& random, const DoubleDouble& x) {
  const double ulp = std::abs(x.hi) * 0x1p-52;
  const auto at_most = [&](long most) { return static_cast<double>(random.whole(-most, most)); };
  return sum_of(x.hi + at_most(2) * ulp, random.whole(0, 2) == 0 ? x.lo : at_most(1L << 20) * ulp * 0x1p-50);
}

}  // namespace

TEST_CASE("double-doubles: sums, products, quotients and exponentials keep to their bounds") {
  if (!kDoublesArePlain) return;
  QKV_SAY_SEED();
  Random random(seed());
  double most_of_sum = 0, most_of_product = 0, most_of_quotient = 0, most_of_exp = 0, most_of_tanh = 0;
  const auto note = [](double& most, double part) { most = std::max(most, part); };
  for (int i = 0; i < 8000; ++i) {
    const DoubleDouble x = any(random, static_cast<int>(random.whole(-60, 60)));
    const bool is_close = random.whole(0, 2) == 0;
    DoubleDouble y = is_close ? any_near(random, x) : any(random, static_cast<int>(random.whole(-60, 60)));
    if (random.whole(0, 1) == 0) y = negated(y);
    const True true_x = truth(x);
    const True true_y = truth(y);

    const DoubleDouble exact = product_of(x.hi, y.hi);
    CHECK(truth(exact) == True(True(x.hi) * True(y.hi)));

    const DoubleDouble sum = add(x, y);
    CHECK(is_normalised(sum));
    note(most_of_sum, distance(sum, true_x + true_y) / kSquare / (size(x) + size(y)));
    const DoubleDouble product = multiply(x, y);
    CHECK(is_normalised(product));
    note(most_of_product, distance(product, true_x * true_y) / kSquare / size(product));
    const DoubleDouble quotient = divide(x, y);
    CHECK(is_normalised(quotient));
    note(most_of_quotient, distance(quotient, true_x / true_y) / kSquare / size(quotient));
  }
  constexpr double kLn2 = 0.6931471805599453;
  for (int i = 0; i < 8000; ++i) {
    DoubleDouble x = any(random, static_cast<int>(random.whole(-80, 9)));
    if (i % 4 == 0) x = any_near(random, {-kLn2 * (static_cast<double>(random.whole(0, 1720)) / 2), 0});
    if (x.hi > 1 || x.hi < kLeastExponent) x = scaled(negated(x), 0x1p-9);
    if (x.hi > 1) continue;
    const DoubleDouble e = double_double::exp<double, std::uint64_t>(x);
    CHECK(is_normalised(e));
    note(most_of_exp, distance(e, exp(truth(x))) / kSquare / size(e));
    const Vector zero{};
    const auto both = exp<Vector, VectorBits>(DoubleDoubleOf<Vector>{zero + x.hi, zero + x.lo});
    CHECK((both.hi[0] == e.hi && both.lo[0] == e.lo && both.hi[1] == e.hi && both.lo[1] == e.lo));
  }
  for (int i = 0; i < 8000; ++i) {
    const DoubleDouble x = any(random, static_cast<int>(random.whole(-80, 5)));
    const DoubleDouble y = double_double::tanh<double, std::uint64_t>(x);
    CHECK(is_normalised(y));
    note(most_of_tanh, distance(y, tanh(truth(x))) / kSquare / size(y));
  }
  CAPTURE(most_of_sum);
  CAPTURE(most_of_product);
  CAPTURE(most_of_quotient);
  CAPTURE(most_of_exp);
  CAPTURE(most_of_tanh);
  CHECK(most_of_sum <= 4);
  CHECK(most_of_product <= 9);
  CHECK(most_of_quotient <= 28);
  CHECK(most_of_exp <= 36);
  CHECK(most_of_tanh <= 165);
  // Near enough to them for a wrong term to be seen.
  CHECK(most_of_sum > 1);
  CHECK(most_of_product > 2);
  CHECK(most_of_quotient > 3);
  CHECK(most_of_exp > 1);
  CHECK(most_of_tanh > 4);
}

TEST_CASE("double-doubles: e^0 is 1, and far below it is nothing") {
  if (!kDoublesArePlain) return;
  const auto of = [](double x) { return exp<double, std::uint64_t>(DoubleDouble{x, 0}); };
  CHECK((of(0).hi == 1 && of(0).lo == 0));
  CHECK(of(-600).hi > 0);
  CHECK((of(-600.1).hi == 0 && of(-600.1).lo == 0));
  CHECK((of(-1e300).hi == 0 && of(-1e300).lo == 0));
}

TEST_CASE("double-doubles: products that underflow are off by next to nothing") {
  if (!kDoublesArePlain) return;
  QKV_SAY_SEED();
  Random random(seed());
  for (int i = 0; i < 4000; ++i) {
    const int exponent = static_cast<int>(random.whole(-540, -400));
    const DoubleDouble x = any(random, exponent);
    const DoubleDouble y = any(random, static_cast<int>(random.whole(-1074, -900)) - exponent);
    const True expected = truth(x) * truth(y);
    const True bound = abs(expected) * (9 * kSquare) + True(kLeast);
    CHECK(abs(truth(multiply(x, y)) - expected) <= bound);
  }
}

TEST_CASE("double-doubles: of a number as written, and of short decimals, the rest is that of its text") {
  if (!kDoublesArePlain) return;
  const auto third = double_double_of(written("1/3"));
  REQUIRE(third);
  CHECK((third->hi == 1.0 / 3 && third->lo == 0x1.5555555555555p-56));
  const auto root = double_double_of_root(written("2"));
  REQUIRE(root);
  CHECK(distance(*root, sqrt(True(2))) <= 4 * kSquare);
  CHECK(double_double_of(written("0"))->hi == 0);
  CHECK_FALSE(double_double_of(written("1e-200")).has_value());
  CHECK_FALSE(double_double_of(written("1e200")).has_value());

  QKV_SAY_SEED();
  Random random(seed());
  std::vector<std::string> texts{"0",
                                 "0.1",
                                 "-0.3",
                                 "1e20",
                                 "999999999999999",
                                 "0.000000000000001",
                                 "1e-40",
                                 "123456789012345e-22",
                                 "100000000000000e3",
                                 "0.5"};
  for (int i = 0; i < 4000; ++i) {
    long most = 1;
    for (long digits = random.whole(1, 15); digits > 0; --digits) most *= 10;
    texts.push_back(fmt::format("{}e{}", random.whole(-most + 1, most - 1), random.whole(-24, 8)));
  }
  Numbers numbers;
  numbers.rows = 1;
  numbers.cols = static_cast<Index>(texts.size());
  numbers.values.reset(static_cast<double*>(std::malloc(texts.size() * sizeof(double))));
  for (std::size_t i = 0; i < texts.size(); ++i) numbers.values[i] = std::strtod(texts[i].c_str(), nullptr);
  const auto rests = low_parts(numbers);
  REQUIRE(rests);
  std::vector<Number> cells;
  for (const std::string& text : texts) cells.push_back(written(text));
  const auto rests_of_cells = low_parts(cells);
  REQUIRE(rests_of_cells);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    const DoubleDouble x{numbers.values[i], (*rests)[i]};
    CHECK(is_normalised(x));
    CHECK(distance(x, True(texts[i])) <= 2 * kSquare * size(x));
    const DoubleDouble same{numbers.values[i], (*rests_of_cells)[i]};
    CHECK(distance(same, True(texts[i])) <= 2 * kSquare * size(x));
  }
  const auto few = low_parts({written("0.1234567890123456789"), written("12.5%"), written("2/3")});
  REQUIRE(few);
  CHECK(distance({0.1234567890123456789, (*few)[0]}, True("0.1234567890123456789")) <= 2 * kSquare);
  CHECK((*few)[1] == 0);
  CHECK(distance({2.0 / 3, (*few)[2]}, True(2) / 3) <= 2 * kSquare);
  numbers.values[0] = 1e-300;
  CHECK_FALSE(low_parts(numbers).has_value());
}

TEST_CASE("double-doubles: a text is that of every number within the bound, or there is none") {
  const auto text = [](double hi, double lo, double error, int decimals) {
    return fixed_text(DoubleDouble{hi, lo}, error, decimals).value_or("open");
  };
  CHECK(text(0.125, 0, 0, 2) == "0.12");  // to the even one
  CHECK(text(0.125, 1e-25, 1e-26, 2) == "0.13");
  CHECK(text(0.125, -1e-25, 1e-26, 2) == "0.12");
  CHECK(text(0.125, 1e-26, 1e-25, 2) == "open");
  CHECK(text(0.1, -0x1.999999999999ap-58, 1e-30, 17) == "0.10000000000000000");
  CHECK(text(1.0 / 3, 0x1.5555555555555p-56, 1e-30, 17) == "0.33333333333333333");
  CHECK(text(-1e-9, 0, 1e-30, 4) == "0.0000");
  CHECK(text(1, 0, kInfinity, 2) == "open");
}

}  // namespace qkv::test

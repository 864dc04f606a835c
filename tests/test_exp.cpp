// base/exp.h against MPFR.

#include <doctest/doctest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "base/exp.h"

using namespace qkv;

namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

double exp_of(double x) { return qkv::exp(x); }
float exp_of(float x) { return exp_detail::exp_of<float, float, std::uint32_t>(x); }

// |computed − e^x| in units in the last place of the true value, or of the smallest number where that is
// more.
template <class T>
double units_off(T x, T computed) {
  static mpfr_t truth;
  [[maybe_unused]] static const bool is_ready = (mpfr_init2(truth, 200), true);
  mpfr_set_d(truth, x, MPFR_RNDN);
  mpfr_exp(truth, truth, MPFR_RNDN);
  using Limits = std::numeric_limits<T>;
  const long unit =
      std::max<long>(mpfr_get_exp(truth) - Limits::digits, Limits::min_exponent - Limits::digits);
  mpfr_sub_d(truth, truth, computed, MPFR_RNDN);
  mpfr_mul_2si(truth, truth, -unit, MPFR_RNDN);
  return std::abs(mpfr_get_d(truth, MPFR_RNDU));
}

template <class T>
double most_off(T least, T most, int count) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<T> any(least, most);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const T x = any(random);
    worst = std::max(worst, units_off(x, exp_of(x)));
  }
  return worst;
}

}  // namespace

TEST_CASE("exp: within 1.2 units in the last place, in floats 1.3") {
  CHECK(most_off<double>(-0.35, 0.35, 300'000) < 1.2);
  CHECK(most_off<double>(-20, 0, 300'000) < 1.2);
  CHECK(most_off<double>(-708.3, 709.78, 300'000) < 1.2);
  CHECK(most_off<float>(-0.35F, 0.35F, 300'000) < 1.3);
  CHECK(most_off<float>(-20, 0, 300'000) < 1.3);
  CHECK(most_off<float>(-87.3F, 88.7F, 300'000) < 1.3);
}

TEST_CASE("exp: the worst places, where k changes, are no worse") {
  for (int k = -1000; k <= 1000; ++k) {
    double x = (k + 0.5) * 0x1.62e42fefa39efp-1;
    for (int i = 0; i < 50; ++i) x = std::nextafter(x, -1e9);
    for (int i = 0; i < 100; ++i, x = std::nextafter(x, 1e9)) CHECK(units_off(x, qkv::exp(x)) < 1.2);
  }
}

TEST_CASE("exp: underflow is gradual, within half of the smallest number more") {
  CHECK(most_off<double>(-746, -708, 300'000) < 1.7);
  CHECK(most_off<float>(-105, -87, 300'000) < 1.8);
  CHECK(qkv::exp(-745.0) == 0x1p-1074);
  CHECK(qkv::exp(-745.2) == 0);
  CHECK(exp_of(-103.9F) == 0x1p-149F);
  CHECK(exp_of(-104.0F) == 0);
}

TEST_CASE_TEMPLATE("exp: 1 of both zeros, infinite and undefined as it must be", T, double, float) {
  CHECK(exp_of(T(0)) == 1);
  CHECK(exp_of(T(-0.0)) == 1);
  CHECK(exp_of(-kInfinity<T>) == 0);
  CHECK_FALSE(std::signbit(exp_of(-kInfinity<T>)));
  CHECK(exp_of(kInfinity<T>) == kInfinity<T>);
  CHECK(exp_of(std::numeric_limits<T>::max()) == kInfinity<T>);
  CHECK(exp_of(std::numeric_limits<T>::lowest()) == 0);
  CHECK(std::isnan(exp_of(std::numeric_limits<T>::quiet_NaN())));
}

TEST_CASE("exp: the largest finite result, and infinity after it") {
  CHECK(units_off(0x1.62e42fefa39efp9, qkv::exp(0x1.62e42fefa39efp9)) < 1.2);
  CHECK(qkv::exp(0x1.62e42fefa39fp9) == kInfinity<double>);
  CHECK(units_off(0x1.62e42ep6F, exp_of(0x1.62e42ep6F)) < 1.3);
  CHECK(exp_of(0x1.62e43p6F) == kInfinity<float>);
}

TEST_CASE("exp: never above 1 of what is not positive, and nearly even steps there") {
  for (double x = 0; x > -1e-12; x = std::nextafter(x, -1) * 1.25) CHECK(qkv::exp(x) <= 1);
  CHECK(qkv::exp(-0x1p-54) <= 1);
  CHECK(qkv::exp(-0x1p-53) == 1 - 0x1p-53);
}

// The bits are the same everywhere, so they can be written down.
TEST_CASE("exp: a checksum of the bits of a million results") {
  std::uint64_t sum = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    sum = sum * 6364136223846793005U + std::bit_cast<std::uint64_t>(qkv::exp(i * (-720.0 / 1'000'000)));
  }
  CHECK(sum == 15891660537636846893U);
}

TEST_CASE("exp: two in a vector have the bits of one") {
  using Two [[gnu::vector_size(16)]] = double;
  using Bits [[gnu::vector_size(16)]] = std::uint64_t;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> any(-760, 720);
  for (int i = 0; i < 100'000; ++i) {
    Two x;
    for (int lane = 0; lane < 2; ++lane) x[lane] = any(random);
    const Two e = exp_detail::exp_of<double, Two, Bits>(x);
    for (int lane = 0; lane < 2; ++lane) CHECK(e[lane] == qkv::exp(x[lane]));
  }
}

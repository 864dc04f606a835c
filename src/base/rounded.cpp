#include "base/rounded.h"

#include <mpfr.h>

#include <algorithm>
#include <limits>

#include "base/evaluate.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kDoubleDigits = std::numeric_limits<double>::digits;

thread_local const FloatFormat* current_format = &kFp64;

// mpfr_init allocates; a thread does it once.
struct Scratch {
  mpfr_t a, b, result;
  Scratch() { mpfr_inits2(kDoubleDigits, a, b, result, static_cast<mpfr_ptr>(nullptr)); }
  ~Scratch() { mpfr_clears(a, b, result, static_cast<mpfr_ptr>(nullptr)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

Scratch& scratch() {
  thread_local Scratch numbers;
  return numbers;
}

// mpfr's exponents are those of 0.1bbb·2^e, and its smallest number is the smallest subnormal.
class ExponentScope {
 public:
  explicit ExponentScope(const FloatFormat& format) : least_(mpfr_get_emin()), most_(mpfr_get_emax()) {
    mpfr_set_emin(format.least_exponent - format.digits + 2);
    mpfr_set_emax(format.most_exponent + 1);
  }
  ~ExponentScope() {
    mpfr_set_emin(least_);
    mpfr_set_emax(most_);
  }
  ExponentScope(const ExponentScope&) = delete;
  ExponentScope& operator=(const ExponentScope&) = delete;

 private:
  mpfr_exp_t least_;
  mpfr_exp_t most_;
};

// `operation` writes to a number with the digits of the format and returns mpfr's ternary value, on which
// side of the true result it is; that makes the second rounding, to fewer digits below the normal numbers, a
// right one. Operands are of the format, but the exponents are restricted only afterwards: a double or a
// decimal may lie outside.
template <class F>
double in_format(F operation) {
  const FloatFormat& format = FormatScope::current();
  mpfr_ptr result = scratch().result;
  mpfr_set_prec(result, format.digits);
  int side = operation(result);
  const ExponentScope scope(format);
  side = mpfr_check_range(result, side, MPFR_RNDN);
  mpfr_subnormalize(result, side, MPFR_RNDN);
  return mpfr_get_d(result, MPFR_RNDN);
}

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

double in_format(Unary f, double a) {
  return in_format([&](mpfr_ptr result) {
    Scratch& s = scratch();
    mpfr_set_d(s.a, a, MPFR_RNDN);
    return f(result, s.a, MPFR_RNDN);
  });
}

double in_format(Binary f, double a, double b) {
  return in_format([&](mpfr_ptr result) {
    Scratch& s = scratch();
    mpfr_set_d(s.a, a, MPFR_RNDN);
    mpfr_set_d(s.b, b, MPFR_RNDN);
    return f(result, s.a, s.b, MPFR_RNDN);
  });
}

}  // namespace

FormatScope::FormatScope(const FloatFormat& format) : before_(current_format) { current_format = &format; }
FormatScope::~FormatScope() { current_format = before_; }
const FloatFormat& FormatScope::current() { return *current_format; }

Rounded Rounded::already(double value) {
  Rounded result;
  result.value_ = value;
  return result;
}

Rounded::Rounded(int value) : Rounded(static_cast<double>(value)) {}

Rounded::Rounded(double value)
    : value_(in_format([&](mpfr_ptr result) { return mpfr_set_d(result, value, MPFR_RNDN); })) {}

Rounded Rounded::of_decimal(const std::string& text) {
  return already(
      in_format([&](mpfr_ptr result) { return mpfr_strtofr(result, text.c_str(), nullptr, 10, MPFR_RNDN); }));
}

Rounded operator-(const Rounded& a) { return Rounded::already(-a.value_); }
Rounded operator+(const Rounded& a, const Rounded& b) {
  return Rounded::already(in_format(mpfr_add, a.value_, b.value_));
}
Rounded operator-(const Rounded& a, const Rounded& b) {
  return Rounded::already(in_format(mpfr_sub, a.value_, b.value_));
}
Rounded operator*(const Rounded& a, const Rounded& b) {
  return Rounded::already(in_format(mpfr_mul, a.value_, b.value_));
}
Rounded operator/(const Rounded& a, const Rounded& b) {
  return Rounded::already(in_format(mpfr_div, a.value_, b.value_));
}

Rounded sqrt(const Rounded& a) { return Rounded::already(in_format(mpfr_sqrt, a.value_)); }
Rounded exp(const Rounded& a) { return Rounded::already(in_format(mpfr_exp, a.value_)); }
Rounded tanh(const Rounded& a) { return Rounded::already(in_format(mpfr_tanh, a.value_)); }
Rounded sin(const Rounded& a) { return Rounded::already(in_format(mpfr_sin, a.value_)); }
Rounded cos(const Rounded& a) { return Rounded::already(in_format(mpfr_cos, a.value_)); }
Rounded log(const Rounded& a) { return Rounded::already(in_format(mpfr_log, a.value_)); }

Rounded rounded_value(const Number& number) {
  switch (number.kind) {
    case Number::Kind::finite:
      return Evaluator<Rounded, Rounded::of_decimal>(number.text).number();
    case Number::Kind::infinite:
      return infinity_of(static_cast<const Rounded*>(nullptr), number.text.starts_with('-') ? -1 : 1);
    case Number::Kind::nan:
      return nan_of(static_cast<const Rounded*>(nullptr));
    case Number::Kind::symbol:
    case Number::Kind::blank:
      break;
  }
  return 0;
}

// NaN stays: the largest of a row with a NaN is NaN, as in NumPy and PyTorch.
Rounded larger(const Rounded& a, const Rounded& b) {
  return a.value() < b.value() || std::isnan(b.value()) ? b : a;
}
bool is_plus_infinity(const Rounded& x) { return x.value() == kInfinity; }
bool certainly_exceeds(const Rounded& a, const Rounded& b) { return a.value() > b.value(); }
Rounded hull(const Rounded& a, const Rounded&) { return a; }
Rounded infinity_of(const Rounded*, int sign) { return sign * kInfinity; }
Rounded nan_of(const Rounded*) { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace qkv

#include "base/surd.h"

#include <cmath>

#include "base/evaluate.h"

namespace qkv {
namespace {

using Integer = boost::multiprecision::mpz_int;

// Square factors are looked for up to here; what remains under the root is still right, it is
// only not in its shortest form.
constexpr int kMostTrialDivisor = 1000;

Integer power_of_ten(unsigned exponent) { return boost::multiprecision::pow(Integer(10), exponent); }

}  // namespace

Surd::Surd(double value) {
  if (std::isnan(value)) {
    kind_ = Kind::unknown;
  } else if (std::isinf(value)) {
    kind_ = value > 0 ? Kind::plus_infinity : Kind::minus_infinity;
  } else {
    coefficient_ = Rational(value);
  }
}

// coefficient · √(p/q) = coefficient/q · √(p·q), with square factors taken out of the root.
Surd Surd::of(const Rational& coefficient, const Rational& under_root) {
  Surd result;
  if (coefficient == 0 || under_root == 0) return result;
  Integer root = numerator(under_root) * denominator(under_root);
  result.coefficient_ = coefficient / Rational(denominator(under_root));
  const Integer whole = boost::multiprecision::sqrt(root);
  if (whole * whole == root) {
    result.coefficient_ *= Rational(whole);
    return result;
  }
  for (int p = 2; p <= kMostTrialDivisor && Integer(p) * p <= root; ++p) {
    while (root % (p * p) == 0) {
      root /= p * p;
      result.coefficient_ *= p;
    }
  }
  result.radicand_ = Rational(root);
  return result;
}

Surd operator-(const Surd& a) {
  Surd result = a;
  result.coefficient_ = -a.coefficient_;
  if (a.kind_ == Surd::Kind::plus_infinity) result.kind_ = Surd::Kind::minus_infinity;
  if (a.kind_ == Surd::Kind::minus_infinity) result.kind_ = Surd::Kind::plus_infinity;
  return result;
}

Surd operator+(const Surd& a, const Surd& b) {
  if (a.kind_ == Surd::Kind::unknown || b.kind_ == Surd::Kind::unknown) return Surd::unknown();
  if (!a.is_finite()) return b.is_finite() || b.kind_ == a.kind_ ? a : Surd::unknown();
  if (!b.is_finite()) return b;
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (a.radicand_ != b.radicand_) return Surd::unknown();
  Surd result;
  result.coefficient_ = a.coefficient_ + b.coefficient_;
  if (result.coefficient_ != 0) result.radicand_ = a.radicand_;
  return result;
}

Surd operator*(const Surd& a, const Surd& b) {
  if (a.is_zero() && b.is_finite()) return a;
  if (b.is_zero() && a.is_finite()) return b;
  if (!a.is_finite() || !b.is_finite()) return Surd::unknown();
  if (a.is_rational() && b.is_rational()) return Surd(Rational(a.coefficient_ * b.coefficient_));
  return Surd::of(a.coefficient_ * b.coefficient_, a.radicand_ * b.radicand_);
}

Surd operator/(const Surd& a, const Surd& b) {
  if (!a.is_finite() || !b.is_finite() || b.is_zero()) return Surd::unknown();
  if (a.is_rational() && b.is_rational()) return Surd(Rational(a.coefficient_ / b.coefficient_));
  return Surd::of(a.coefficient_ / b.coefficient_, a.radicand_ / b.radicand_);
}

Surd sqrt(const Surd& a) {
  if (!a.is_rational() || a.coefficient_ < 0) return Surd::unknown();
  return Surd::of(1, a.coefficient_);
}

Surd exp(const Surd& a) {
  if (a.is_zero()) return 1;
  if (a.kind_ == Surd::Kind::minus_infinity) return 0;
  return Surd::unknown();
}

Surd tanh(const Surd& a) { return a.is_zero() ? a : Surd::unknown(); }

int compare(const Surd& a, const Surd& b) {
  const auto rank = [](const Surd& x) {
    if (x.kind_ == Surd::Kind::plus_infinity) return 1;
    return x.kind_ == Surd::Kind::minus_infinity ? -1 : 0;
  };
  if (!a.is_finite() || !b.is_finite()) return rank(a) - rank(b);
  const int sign_a = a.coefficient_.sign();
  const int sign_b = b.coefficient_.sign();
  if (sign_a != sign_b) return sign_a < sign_b ? -1 : 1;
  const Rational square_a = a.coefficient_ * a.coefficient_ * a.radicand_;
  const Rational square_b = b.coefficient_ * b.coefficient_ * b.radicand_;
  if (square_a == square_b) return 0;
  return (square_a < square_b) == (sign_a > 0) ? -1 : 1;
}

Surd exact_decimal(const std::string& text) {
  std::string digits;
  long exponent = 0;
  bool is_after_point = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      is_after_point = true;
    } else if (text[i] == 'e' || text[i] == 'E') {
      exponent += std::stol(text.substr(i + 1));
      break;
    } else {
      if (is_after_point) --exponent;
      digits += text[i];
    }
  }
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.erase(0, 1);
  // A leading zero would make the string octal.
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  Rational value(digits.empty() ? Integer(0) : Integer(digits));
  if (exponent >= 0) {
    value *= Rational(power_of_ten(static_cast<unsigned>(exponent)));
  } else {
    value /= Rational(power_of_ten(static_cast<unsigned>(-exponent)));
  }
  return Surd(is_negative ? Rational(-value) : value);
}

Surd exact_value(const Number& number) {
  switch (number.kind) {
    case Number::Kind::finite:
      return Evaluator<Surd, exact_decimal>(number.text).number();
    case Number::Kind::infinite:
      return Surd::infinity(number.text.starts_with('-') ? -1 : 1);
    case Number::Kind::symbol:
    case Number::Kind::blank:
      break;
  }
  return 0;
}

bool is_tie(const Surd& x, int decimals) {
  if (!x.is_rational()) return false;
  const Rational twice = x.coefficient() * Rational(2 * power_of_ten(static_cast<unsigned>(decimals)));
  return denominator(twice) == 1 && numerator(twice) % 2 != 0;
}

Surd larger(const Surd& a, const Surd& b) {
  if (a.kind() == Surd::Kind::unknown || b.kind() == Surd::Kind::unknown) return Surd::unknown();
  return compare(a, b) < 0 ? b : a;
}

bool is_plus_infinity(const Surd& x) { return x.kind() == Surd::Kind::plus_infinity; }

bool certainly_exceeds(const Surd& a, const Surd& b) {
  return a.kind() != Surd::Kind::unknown && b.kind() != Surd::Kind::unknown && compare(a, b) > 0;
}

Surd hull(const Surd& a, const Surd& b) {
  const bool is_same = a.is_finite() && b.is_finite() && compare(a, b) == 0;
  return is_same ? a : Surd::unknown();
}

Surd infinity_of(const Surd*, int sign) { return Surd::infinity(sign); }
Surd nan_of(const Surd*) { return Surd::unknown(); }

}  // namespace qkv

#include "base/interval.h"

#include <mpfi.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/decimal.h"
#include "base/evaluate.h"

namespace qkv {
namespace {

const __mpfi_struct& ends(const Interval& x) { return *x.backend().data(); }
__mpfi_struct& ends(Interval& x) { return *x.backend().data(); }

mpfr_srcptr scientific_from() {
  static const Interval kFrom(kScientificFrom);
  return &ends(kFrom).left;
}

// One end of an interval as fixed_text would write it.
std::string end_text(const __mpfr_struct& end, int decimals) {
  if (mpfr_nan_p(&end)) return "nan";
  if (mpfr_inf_p(&end)) return mpfr_sgn(&end) > 0 ? "inf" : "-inf";
  std::array<char, 512> small;
  const auto formatted = [&](const char* format) {
    const int length = mpfr_snprintf(small.data(), small.size(), format, decimals, &end);
    return std::string(small.data(), static_cast<std::size_t>(length));
  };
  if (mpfr_cmpabs(&end, scientific_from()) < 0) {
    std::string text = formatted("%.*RNf");
    if (whole_digits(text) < kScientificDigits) return without_negative_zero(std::move(text));
  }
  return formatted("%.*RNe");
}

// An exponential that outgrew mpfr's exponents, 2^30: beyond 10^(3·10^8).  Some processors could have larger
// ones, but then they would not all print the same.
bool is_beyond_all_exponents(const Interval& x) {
  return mpfr_inf_p(&ends(x).right) && mpfr_sgn(&ends(x).right) > 0 && !mpfr_inf_p(&ends(x).left) &&
         mpfr_cmp_d(&ends(x).left, std::numeric_limits<double>::max()) > 0;
}

}  // namespace

Interval enclose_decimal(const std::string& text) {
  Interval x;
  mpfr_set_str(&ends(x).left, text.c_str(), 10, MPFR_RNDD);
  mpfr_set_str(&ends(x).right, text.c_str(), 10, MPFR_RNDU);
  return x;
}

Interval enclose(const Number& number) {
  switch (number.kind) {
    case Number::Kind::finite:
      return Evaluator<Interval, enclose_decimal>(number.text).number();
    case Number::Kind::infinite:
      return infinity_of(static_cast<const Interval*>(nullptr), number.text.starts_with('-') ? -1 : 1);
    case Number::Kind::nan:
      return nan_of(static_cast<const Interval*>(nullptr));
    case Number::Kind::symbol:
    case Number::Kind::blank:
      break;
  }
  return 0;
}

Interval enclose(const Rational& x) {
  Interval result;
  mpfi_set_q(&ends(result), x.backend().data());
  return result;
}

Interval enclose(const Algebraic& x) {
  Interval result = 0;
  for (const Algebraic::Term& term : x.terms()) {
    const Interval coefficient = enclose(term.coefficient);
    if (term.radicand == 1) {
      result += coefficient;
    } else {
      result += coefficient * sqrt(enclose(Rational(term.radicand)));
    }
  }
  return result;
}

std::optional<std::string> fixed_text(const Interval& x, int decimals) {
  if (is_beyond_all_exponents(x)) return "inf";
  std::string low = end_text(ends(x).left, decimals);
  if (mpfr_equal_p(&ends(x).left, &ends(x).right) || low == end_text(ends(x).right, decimals)) return low;
  return std::nullopt;
}

namespace {

// The place value of the last printed digit: of "1.25" 1/100, of "1.2500e+20" 10^16.
Rational last_place(const std::string& text, int decimals) {
  const std::size_t e = text.find('e');
  const std::string exponent = e == std::string::npos ? "e0" : text.substr(e);
  return exact_decimal("1" + exponent).rational() *
         exact_decimal("1e-" + std::to_string(decimals)).rational();
}

bool ends_even(const std::string& text) {
  const std::size_t e = text.find('e');
  const std::size_t last_digit = (e == std::string::npos ? text.size() : e) - 1;
  return (text[last_digit] - '0') % 2 == 0;
}

// Powers of ten with more digits than this are not written out; such numbers are no fractions anyway.
constexpr long kMostExponent = 5000;

bool is_out_of_reach(const std::string& text) {
  const std::size_t e = text.find('e');
  return e != std::string::npos && std::stoll(text.substr(e + 1)) > kMostExponent;
}

bool is_number(const std::string& text) { return text.find_first_of("0123456789") != std::string::npos; }

}  // namespace

std::optional<std::string> fixed_text(const Interval& x, const Exact& value, int decimals) {
  if (auto text = fixed_text(x, decimals)) return text;
  if (auto text = fixed_text(value, decimals)) return text;
  if (!value.is_finite()) return std::nullopt;
  std::string low = end_text(ends(x).left, decimals);
  std::string high = end_text(ends(x).right, decimals);
  if (!is_number(low) || !is_number(high) || is_out_of_reach(low) || is_out_of_reach(high))
    return std::nullopt;
  const Rational below = exact_decimal(low).rational();
  const Rational above = exact_decimal(high).rational();
  const Rational unit = std::min(last_place(low, decimals), last_place(high, decimals));
  if (above - below != unit) return std::nullopt;
  const auto order = compare(value, Exact(Rational((below + above) / 2)));
  if (!order) return std::nullopt;
  if (*order != 0) return *order < 0 ? low : high;
  // Not the last digit as written: -1e+99 is -10·10^98, and even.
  return numerator(Rational(below / unit)) % 2 == 0 ? low : high;
}

std::string fixed_text_of_tie(const Interval& x, int decimals) {
  std::string low = end_text(ends(x).left, decimals);
  return ends_even(low) ? low : end_text(ends(x).right, decimals);
}

std::optional<double> nearest_double(const Interval& x) {
  if (is_beyond_all_exponents(x)) return std::numeric_limits<double>::infinity();
  const double low = mpfr_get_d(&ends(x).left, MPFR_RNDN);
  const double high = mpfr_get_d(&ends(x).right, MPFR_RNDN);
  if (std::isnan(low) || std::isnan(high)) return std::numeric_limits<double>::quiet_NaN();
  if (low != high) return std::nullopt;
  return low == 0 ? 0.0 : low;
}

std::optional<double> nearest_double(const Interval& x, const Exact& value) {
  if (auto nearest = nearest_double(x)) return nearest;
  if (value.is_zero()) return 0;
  if (!value.is_finite()) return std::nullopt;
  const double low = mpfr_get_d(&ends(x).left, MPFR_RNDN);
  const double high = mpfr_get_d(&ends(x).right, MPFR_RNDN);
  if (std::nextafter(low, high) != high || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  const auto order = compare(value, Exact(Rational((Rational(low) + Rational(high)) / 2)));
  if (!order) return std::nullopt;
  // Of two neighbours one has an even mantissa: the one that a division by their distance leaves even.
  const bool low_is_even = numerator(Rational(Rational(low) / (Rational(high) - Rational(low)))) % 2 == 0;
  const double nearest = *order < 0 || (*order == 0 && low_is_even) ? low : high;
  return nearest == 0 ? 0.0 : nearest;
}

double middle_double(const Interval& x) {
  // An interval around zero that no precision narrows to one double is zero itself.
  if (contains_zero(x)) return 0;
  mpfr_t middle;
  mpfr_init2(middle, mpfr_get_prec(&ends(x).left) + 1);
  mpfi_mid(middle, &ends(x));
  const double value = mpfr_get_d(middle, MPFR_RNDN);
  mpfr_clear(middle);
  return value;
}

Interval larger(const Interval& a, const Interval& b) {
  Interval result;
  mpfr_max(&ends(result).left, &ends(a).left, &ends(b).left, MPFR_RNDD);
  mpfr_max(&ends(result).right, &ends(a).right, &ends(b).right, MPFR_RNDU);
  return result;
}

bool is_point_zero(const Interval& x) { return mpfr_zero_p(&ends(x).left) && mpfr_zero_p(&ends(x).right); }

bool is_plus_infinity(const Interval& x) { return mpfr_inf_p(&ends(x).left) && mpfr_sgn(&ends(x).left) > 0; }

bool certainly_exceeds(const Interval& a, const Interval& b) {
  return mpfr_greater_p(&ends(a).left, &ends(b).right) != 0;
}

bool certainly_equals(const Interval& a, const Interval& b) {
  return mpfr_equal_p(&ends(a).left, &ends(a).right) && mpfr_equal_p(&ends(b).left, &ends(b).right) &&
         mpfr_equal_p(&ends(a).left, &ends(b).left);
}

bool contains_zero(const Interval& x) {
  return mpfr_sgn(&ends(x).left) <= 0 && mpfr_sgn(&ends(x).right) >= 0;
}

Interval hull(const Interval& a, const Interval& b) {
  Interval result;
  mpfi_union(&ends(result), &ends(a), &ends(b));
  return result;
}

Interval infinity_of(const Interval*, int sign) {
  Interval x;
  mpfr_set_inf(&ends(x).left, sign);
  mpfr_set_inf(&ends(x).right, sign);
  return x;
}

Interval nan_of(const Interval*) {
  Interval x;
  mpfr_set_nan(&ends(x).left);
  mpfr_set_nan(&ends(x).right);
  return x;
}

}  // namespace qkv

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

// One end of an interval as fixed_text would write it.
std::string end_text(const __mpfr_struct& end, int decimals) {
  if (mpfr_nan_p(&end)) return "nan";
  if (mpfr_inf_p(&end)) return mpfr_sgn(&end) > 0 ? "inf" : "-inf";
  const bool scientific = mpfr_cmpabs_ui(&end, static_cast<unsigned long>(kScientificFrom)) >= 0;
  std::array<char, 512> small;
  const char* format = scientific ? "%.*RNe" : "%.*RNf";
  const int length = mpfr_snprintf(small.data(), small.size(), format, decimals, &end);
  std::string text(small.data(), static_cast<std::size_t>(length));
  return scientific ? text : without_negative_zero(std::move(text));
}

// An exponential that outgrew even mpfr's exponents (beyond 10^(10^17)).
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
    case Number::Kind::symbol:
    case Number::Kind::blank:
      break;
  }
  return 0;
}

Interval enclose(const Surd& x) {
  Interval result;
  mpfi_set_q(&ends(result), x.coefficient().backend().data());
  if (!x.is_rational()) {
    Interval root;
    mpfi_set_q(&ends(root), x.radicand().backend().data());
    mpfi_sqrt(&ends(root), &ends(root));
    mpfi_mul(&ends(result), &ends(result), &ends(root));
  }
  return result;
}

std::optional<std::string> fixed_text(const Interval& x, int decimals) {
  if (is_beyond_all_exponents(x)) return "inf";
  std::string low = end_text(ends(x).left, decimals);
  if (mpfr_equal_p(&ends(x).left, &ends(x).right) || low == end_text(ends(x).right, decimals)) return low;
  return std::nullopt;
}

std::string fixed_text_of_tie(const Interval& x, int decimals) {
  const std::string low = end_text(ends(x).left, decimals);
  const std::string high = end_text(ends(x).right, decimals);
  const std::size_t last_digit = low.find('e') == std::string::npos ? low.size() - 1 : low.find('e') - 1;
  return (low[last_digit] - '0') % 2 == 0 ? low : high;
}

std::optional<double> nearest_double(const Interval& x) {
  if (is_beyond_all_exponents(x)) return std::numeric_limits<double>::infinity();
  const double low = mpfr_get_d(&ends(x).left, MPFR_RNDN);
  const double high = mpfr_get_d(&ends(x).right, MPFR_RNDN);
  if (std::isnan(low) || std::isnan(high)) return std::numeric_limits<double>::quiet_NaN();
  if (low != high) return std::nullopt;
  return low == 0 ? 0.0 : low;
}

double middle_double(const Interval& x) {
  // An interval around zero that no precision narrows to one double is zero itself.
  if (mpfr_sgn(&ends(x).left) <= 0 && mpfr_sgn(&ends(x).right) >= 0) return 0;
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

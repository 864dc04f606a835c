#include "base/double_double_number.h"

#include <mpfi.h>

#include <cmath>
#include <limits>

#include "base/bounded.h"
#include "base/decimal.h"
#include "base/interval.h"

namespace qkv {
namespace {

constexpr unsigned kDigits = 40;  // of intervals; double-doubles have 32

std::optional<DoubleDouble> double_double_in(const Interval& x) {
  if (is_point_zero(x)) return DoubleDouble{0, 0};
  const double hi = middle_double(x);
  if (!(std::abs(hi) > 0x1p-500 && std::abs(hi) < 0x1p500)) return std::nullopt;
  return DoubleDouble{hi, middle_double(Interval(x - hi))};
}

}  // namespace

std::optional<DoubleDouble> double_double_of(const Number& number) {
  const PrecisionScope precision(kDigits);
  return double_double_in(enclose(number));
}

std::optional<DoubleDouble> double_double_of_root(const Number& number) {
  const PrecisionScope precision(kDigits);
  return double_double_in(Interval(sqrt(enclose(number))));
}

std::optional<std::string> fixed_text(const DoubleDouble& x, double error, int decimals) {
  if (!std::isfinite(x.hi) || !std::isfinite(error)) return std::nullopt;
  // Nearly always the upper part alone tells.
  const Bounded upper{x.hi,
                      (std::abs(x.lo) + error) * (1 + 0x1p-50) + std::numeric_limits<double>::denorm_min()};
  if (decides(upper, decimals)) return fixed_text(x.hi, decimals);
  const PrecisionScope precision(kDigits);
  Interval ends = x.hi;
  ends += x.lo;
  __mpfi_struct& raw = *ends.backend().data();
  mpfr_sub_d(&raw.left, &raw.left, error, MPFR_RNDD);
  mpfr_add_d(&raw.right, &raw.right, error, MPFR_RNDU);
  return fixed_text(ends, decimals);
}

}  // namespace qkv

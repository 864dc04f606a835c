// Many numbers with the same number of decimals, without a rounding that is not exact.
//
// A number is first brought to whole units of its last decimal, t = value · 10^decimals, rounded once, and
// from there to the nearest whole number q, which is exact below 2^51.  As long as t is not too near to the
// middle between two whole numbers, q has the digits of every number near the value; how near t is to it is
// known at once, so that proving the digits costs next to nothing.  What is left open goes the careful way.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/row_bounded.h"

namespace qkv {

class FixedDecimals {
 public:
  static constexpr int kMostDecimals = 17;
  explicit FixedDecimals(int decimals);  // 0 … kMostDecimals

  int decimals() const { return decimals_; }

  // The text of `value` in units of its last decimal; only where its columns are not open.
  double units(double value) const { return nearest(value * power_); }

  // The text of exactly this double; nullopt where it is a tie, or too large for this way of counting.
  std::optional<std::string> exact_text(double value) const;

  // Adds to `open` the places among values[0, count) of numbers whose text might not be that of every number
  // within the bound.  Infinities and NaN are open, and so is what is too large for this way of counting.
  void find_open(const double* values, std::size_t count, const RowBound& bound,
                 std::vector<Index>& open) const;

  // Writes the text of so many units so that it ends before `end`; returns where it begins.  It has no sign
  // when it is zero.   |units| < 2^51
  char* write_before(char* end, double units) const;
  // Writes the texts of values[0, count), each to the right of so many characters of its own; returns the
  // end. Up to kMostBehind bytes behind it may be written too.   widths[i] ≥ width(units(values[i]))
  char* write_columns(char* at, const double* values, const std::size_t* widths, std::size_t count) const;
  static constexpr std::size_t kMostBehind = 32;
  static constexpr std::size_t kMostCharacters = 24;

  // How many characters that takes.
  std::size_t width(double units) const;

 private:
  static double nearest(double t) {
#if FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 16
    // Added and taken away again, it leaves no binary digits behind the point.
    constexpr double kRounder = 0x1.8p52;
    return (t + kRounder) - kRounder;
#else  // an x87, where it would leave some
    return std::nearbyint(t);
#endif
  }

  int decimals_;
  double power_;  // 10^decimals, exactly
  double limit_;  // of |t|
};

}  // namespace qkv

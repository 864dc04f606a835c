// Intervals that are certain to contain the true real number.
//
// The kernels run on them exactly as they run on doubles.  When both ends of an interval
// round to the same decimal, that decimal is proved; when they do not, the precision is
// raised.  Inputs are enclosed from their text, so 0.1 is one tenth.
//
// This header is heavy; only the kernels and the runner include it.
#pragma once

#include <boost/multiprecision/mpfi.hpp>
// Eigen as a container of intervals needs boost's traits.
#include <boost/multiprecision/eigen.hpp>

#include <optional>
#include <string>

#include "base/exact.h"
#include "base/matrix.h"
#include "base/number.h"

namespace qkv {

using Interval = boost::multiprecision::mpfi_float;

// Nobody pays for more; a choice that remains at this precision is taken for a tie.
inline constexpr unsigned kMostDigits = 1600;

// A type of its own, so that headers can name it without knowing boost.
struct IntervalMatrix : MatrixOf<Interval> {
  using MatrixOf<Interval>::MatrixOf;
  IntervalMatrix(MatrixOf<Interval> m) : MatrixOf<Interval>(std::move(m)) {}
};

// New intervals carry this many decimal digits until the scope ends.
class PrecisionScope {
 public:
  explicit PrecisionScope(unsigned digits) : before_(Interval::default_precision()) {
    Interval::default_precision(digits);
  }
  ~PrecisionScope() { Interval::default_precision(before_); }
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned before_;
};

// The smallest interval around a number as written.  Symbols and blanks count as 0.
Interval enclose(const Number& number);
// Around a decimal text as fixed_text writes it.
Interval enclose_decimal(const std::string& text);

// Around a fraction; a point where binary digits suffice.
Interval enclose(const Rational& x);
Interval enclose(const Algebraic& x);

// The text fixed_text would give the true value; nullopt while the interval leaves a choice.
std::optional<std::string> fixed_text(const Interval& x, int decimals);

// The same for a value that is known exactly: where the interval leaves two neighbours, the value
// is compared with the middle between them, and a tie goes to the even last digit.  nullopt while
// the interval leaves more than two, or when the value is unknown.
std::optional<std::string> fixed_text(const Interval& x, const Exact& value, int decimals);

// The same where the choice remains at any precision we are willing to pay for: the value is
// taken to lie exactly between two decimals, and the one with the even last digit is printed.
std::string fixed_text_of_tie(const Interval& x, int decimals);

// The double nearest to the true value; nullopt while the interval leaves a choice.
std::optional<double> nearest_double(const Interval& x);
std::optional<double> nearest_double(const Interval& x, const Exact& value);
double middle_double(const Interval& x);

// What the kernels need beyond + − · / exp sqrt tanh, for doubles and for intervals.
Interval larger(const Interval& a, const Interval& b);
bool is_point_zero(const Interval& x);
bool is_plus_infinity(const Interval& x);
bool certainly_exceeds(const Interval& a, const Interval& b);  // every point of a > every point of b
bool certainly_equals(const Interval& a, const Interval& b);   // the same single point
bool contains_zero(const Interval& x);
Interval hull(const Interval& a, const Interval& b);
Interval infinity_of(const Interval*, int sign);
Interval nan_of(const Interval*);

}  // namespace qkv

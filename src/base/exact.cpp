#include "base/exact.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "base/evaluate.h"
#include "base/sign_search.h"

namespace qkv {
namespace {

// A product of two sums with more terms than this is not worth having: rows with so many different
// exponentials are told apart by intervals.
constexpr std::size_t kMostProducts = 256;

// Sums of more different roots than this are left to intervals: nobody writes them down, and their
// products have the square of so many.
constexpr std::size_t kMostRoots = 6;

// A short decimal has so many digits that all fit a long long.
constexpr std::size_t kDigitsOfDecimal = 18;
constexpr long long kMostDigitsOfDecimal = 999'999'999'999'999'999;
constexpr int kMostPlaces = 36;

Integer power_of_ten(unsigned exponent) { return boost::multiprecision::pow(Integer(10), exponent); }

// nullopt where a long long is too short.
std::optional<long long> times(long long a, long long b) {
  long long product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product >= -kMostDigitsOfDecimal && product <= kMostDigitsOfDecimal ? std::optional(product)
                                                                             : std::nullopt;
}

std::optional<long long> shifted(long long digits, int places) {
  std::optional<long long> result = digits;
  for (int i = 0; i < places && result; ++i) result = times(*result, 10);
  return result;
}

// The digits at the larger number of places.
std::optional<long long> sum_of_decimals(long long a, int a_places, long long b, int b_places) {
  const auto x = shifted(a, std::max(b_places - a_places, 0));
  const auto y = shifted(b, std::max(a_places - b_places, 0));
  if (!x || !y) return std::nullopt;
  const long long sum = *x + *y;
  return sum >= -kMostDigitsOfDecimal && sum <= kMostDigitsOfDecimal ? std::optional(sum) : std::nullopt;
}

// Digits and places; nullopt where the quotient is no short decimal.
std::optional<std::pair<long long, int>> quotient_of_decimals(long long a, int a_places, long long b,
                                                              int b_places) {
  std::optional<long long> dividend = a;
  for (int places = a_places - b_places; dividend; ++places, dividend = times(*dividend, 10)) {
    if (*dividend % b == 0 && places >= 0) return std::pair(*dividend / b, places);
  }
  return std::nullopt;
}

void add_to(Sum& sum, const Algebraic& coefficient, const Algebraic& exponent) {
  if (coefficient.is_zero()) return;
  const auto same =
      std::find_if(sum.begin(), sum.end(), [&](const Exponential& e) { return e.exponent == exponent; });
  if (same == sum.end()) {
    sum.push_back({coefficient, exponent});
    return;
  }
  same->coefficient = same->coefficient + coefficient;
  if (same->coefficient.is_zero()) sum.erase(same);
}

std::optional<Sum> product(const Sum& a, const Sum& b) {
  if (a.size() > 1 && b.size() > 1 && a.size() * b.size() > kMostProducts) return std::nullopt;
  Sum result;
  for (const Exponential& x : a) {
    for (const Exponential& y : b) add_to(result, x.coefficient * y.coefficient, x.exponent + y.exponent);
  }
  return result;
}

bool has_too_many_roots(const Sum& sum) {
  const auto is_long = [](const Algebraic& x) { return x.terms().size() > kMostRoots; };
  return std::any_of(sum.begin(), sum.end(),
                     [&](const Exponential& e) { return is_long(e.coefficient) || is_long(e.exponent); });
}

const Sum& one() {
  static const Sum kOne{{Algebraic(Rational(1)), Algebraic()}};
  return kOne;
}

bool are_equal(const Sum& a, const Sum& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i].coefficient == b[i].coefficient && a[i].exponent == b[i].exponent)) return false;
  }
  return true;
}

// The algebraic number f with a = f·b, when there is one.
std::optional<Algebraic> ratio(const Sum& a, const Sum& b) {
  if (a.size() != b.size()) return std::nullopt;
  std::optional<Algebraic> factor;
  for (const Exponential& x : a) {
    const auto y =
        std::find_if(b.begin(), b.end(), [&](const Exponential& e) { return e.exponent == x.exponent; });
    if (y == b.end()) return std::nullopt;
    if (!factor) {
      const auto inverse = y->coefficient.inverse();
      if (!inverse) return std::nullopt;
      factor = x.coefficient * *inverse;
    } else if (!(x.coefficient == *factor * y->coefficient)) {
      return std::nullopt;
    }
  }
  return factor;
}

int sign(const Sum& sum) {
  if (sum.empty()) return 0;
  const Algebraic* largest = &sum.front().exponent;
  bool all_agree = true;
  const int first = sign(sum.front().coefficient);
  for (const Exponential& e : sum) {
    all_agree = all_agree && sign(e.coefficient) == first;
    if (sign(e.exponent - *largest) > 0) largest = &e.exponent;
  }
  if (all_agree) return first;
  // Divided by the largest exponential: e^1000 − e^999 and e^(−1000) − e^(−1001) are equally easy,
  // and what is far smaller than the leading term cannot hide its sign.
  return sign_by_intervals([&] {
    Interval total = 0;
    for (const Exponential& e : sum) total += enclose(e.coefficient) * exp(enclose(e.exponent - *largest));
    return total;
  });
}

}  // namespace

// ---- Exact -------------------------------------------------------------------------------

Exact::Exact(double value) {
  if (std::isnan(value)) {
    kind_ = Kind::unknown;
  } else if (std::isinf(value)) {
    kind_ = value > 0 ? Kind::plus_infinity : Kind::minus_infinity;
  } else {
    *this = Exact(Rational(value));
  }
}

Exact::Exact(Rational value) {
  using boost::multiprecision::denominator;  // the members hide them
  using boost::multiprecision::numerator;
  const Integer whole = numerator(value);
  if (denominator(value) == 1 && abs(whole) <= kMostDigitsOfDecimal) {
    digits_ = static_cast<long long>(whole);
    return;
  }
  kind_ = Kind::fraction;
  fraction_ = std::make_shared<const Rational>(std::move(value));
}

Exact Exact::decimal(long long digits, int places) {
  Exact result;
  result.digits_ = digits;
  result.places_ = digits == 0 ? 0 : places;
  return result;
}

Rational Exact::rational() const {
  if (kind_ == Kind::fraction) return *fraction_;
  return Rational(digits_) / Rational(power_of_ten(static_cast<unsigned>(places_)));
}

Exact::Exact(const Algebraic& value) {
  if (value.is_rational()) {
    *this = Exact(value.rational());
  } else {
    kind_ = Kind::quotient;
    above_ = std::make_shared<Sum>(Sum{{value, Algebraic()}});
  }
}

Exact Exact::quotient(Sum above, SharedSum below) {
  if (above.empty()) return {};
  if (has_too_many_roots(above)) return unknown();
  if (below && below->size() == 1) {
    const Exponential& divisor = below->front();
    const auto inverse = divisor.coefficient.inverse();
    if (!inverse) return unknown();
    for (Exponential& e : above) {
      e.coefficient = e.coefficient * *inverse;
      e.exponent = e.exponent - divisor.exponent;
    }
    below = nullptr;
  }
  if (below) {
    if (const auto factor = ratio(above, *below)) return Exact(*factor);
  } else if (above.size() == 1 && above.front().exponent.is_zero()) {
    return Exact(above.front().coefficient);
  }
  Exact result(Kind::quotient);
  result.above_ = std::make_shared<Sum>(std::move(above));
  result.below_ = std::move(below);
  return result;
}

Exact::SharedSum Exact::shared_numerator() const {
  return kind_ == Kind::quotient ? above_ : std::make_shared<Sum>(numerator());
}

Sum Exact::numerator() const {
  if (kind_ == Kind::quotient) return *above_;
  if (is_zero()) return {};
  return {{Algebraic(rational()), Algebraic()}};
}

Sum Exact::denominator() const { return below_ ? *below_ : one(); }

std::optional<Algebraic> Exact::algebraic() const {
  if (is_rational()) return Algebraic(rational());
  if (kind_ != Kind::quotient || below_ || above_->size() != 1 || !above_->front().exponent.is_zero())
    return std::nullopt;
  return above_->front().coefficient;
}

Exact operator-(const Exact& a) {
  switch (a.kind_) {
    case Exact::Kind::unknown:
      return a;
    case Exact::Kind::decimal:
      return Exact::decimal(-a.digits_, a.places_);
    case Exact::Kind::fraction:
      return Exact(Rational(-*a.fraction_));
    case Exact::Kind::plus_infinity:
      return Exact::infinity(-1);
    case Exact::Kind::minus_infinity:
      return Exact::infinity(1);
    case Exact::Kind::quotient:
      break;
  }
  Sum above = *a.above_;
  for (Exponential& e : above) e.coefficient = -e.coefficient;
  return Exact::quotient(std::move(above), a.below_);
}

Exact operator+(const Exact& a, const Exact& b) {
  if (a.kind_ == Exact::Kind::decimal && b.kind_ == Exact::Kind::decimal) {
    if (const auto sum = sum_of_decimals(a.digits_, a.places_, b.digits_, b.places_))
      return Exact::decimal(*sum, std::max(a.places_, b.places_));
  }
  if (a.is_rational() && b.is_rational()) return Exact(Rational(a.rational() + b.rational()));
  if (a.kind_ == Exact::Kind::unknown || b.kind_ == Exact::Kind::unknown) return Exact::unknown();
  if (!a.is_finite()) return b.is_finite() || b.kind_ == a.kind_ ? a : Exact::unknown();
  if (!b.is_finite()) return b;
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (a.has_denominator_of(b)) {
    Sum above = a.numerator();
    for (const Exponential& e : b.numerator()) add_to(above, e.coefficient, e.exponent);
    return Exact::quotient(std::move(above), a.below_);
  }
  auto above = product(a.numerator(), b.denominator());
  const auto other = product(b.numerator(), a.denominator());
  auto below = product(a.denominator(), b.denominator());
  if (!above || !other || !below) return Exact::unknown();
  for (const Exponential& e : *other) add_to(*above, e.coefficient, e.exponent);
  return Exact::quotient(std::move(*above), std::make_shared<Sum>(std::move(*below)));
}

bool Exact::has_denominator_of(const Exact& b) const {
  return below_ == b.below_ || (below_ && b.below_ && are_equal(*below_, *b.below_));
}

// A long sum grows in place: copied for every term, that of 500 keys would take seconds.
Exact& Exact::operator+=(const Exact& b) {
  if (kind_ != Kind::quotient || above_.use_count() > 1 || !b.is_finite() || !has_denominator_of(b))
    return *this = *this + b;
  Sum above = std::move(*above_);
  for (const Exponential& e : b.numerator()) add_to(above, e.coefficient, e.exponent);
  return *this = quotient(std::move(above), below_);
}

Exact operator*(const Exact& a, const Exact& b) {
  if (a.is_zero() && b.is_finite()) return a;
  if (b.is_zero() && a.is_finite()) return b;
  if (!a.is_finite() || !b.is_finite()) return Exact::unknown();
  if (a.kind_ == Exact::Kind::decimal && b.kind_ == Exact::Kind::decimal) {
    if (const auto product = times(a.digits_, b.digits_))
      return Exact::decimal(*product, a.places_ + b.places_);
  }
  if (a.is_rational() && b.is_rational()) return Exact(Rational(a.rational() * b.rational()));
  auto above = product(a.numerator(), b.numerator());
  if (!above) return Exact::unknown();
  if (!a.below_ || !b.below_) return Exact::quotient(std::move(*above), a.below_ ? a.below_ : b.below_);
  auto below = product(*a.below_, *b.below_);
  if (!below) return Exact::unknown();
  return Exact::quotient(std::move(*above), std::make_shared<Sum>(std::move(*below)));
}

Exact operator/(const Exact& a, const Exact& b) {
  if (!a.is_finite() || !b.is_finite() || b.is_zero()) return Exact::unknown();
  if (a.kind_ == Exact::Kind::decimal && b.kind_ == Exact::Kind::decimal) {
    if (const auto quotient = quotient_of_decimals(a.digits_, a.places_, b.digits_, b.places_))
      return Exact::decimal(quotient->first, quotient->second);
  }
  if (a.is_rational() && b.is_rational()) return Exact(Rational(a.rational() / b.rational()));
  // All weights of a row share the sum below them.
  if (!a.below_ && !b.below_) return Exact::quotient(a.numerator(), b.shared_numerator());
  auto above = product(a.numerator(), b.denominator());
  auto below = product(a.denominator(), b.numerator());
  if (!above || !below) return Exact::unknown();
  return Exact::quotient(std::move(*above), std::make_shared<Sum>(std::move(*below)));
}

Exact sqrt(const Exact& a) {
  if (!a.is_rational() || a.rational() < 0) return Exact::unknown();
  return Exact(Algebraic::root(a.rational()));
}

Exact exp(const Exact& a) {
  if (a.is_zero()) return 1;
  if (a.kind_ == Exact::Kind::minus_infinity) return 0;
  const auto exponent = a.algebraic();
  if (!exponent) return Exact::unknown();
  return Exact::quotient(Sum{{Algebraic(Rational(1)), *exponent}}, nullptr);
}

// (e^2x − 1) / (e^2x + 1)
Exact tanh(const Exact& a) {
  if (a.is_zero()) return a;
  const Exact e = exp(Exact(2) * a);
  return (e - Exact(1)) / (e + Exact(1));
}

std::optional<int> compare(const Exact& a, const Exact& b) {
  if (a.kind_ == Exact::Kind::unknown || b.kind_ == Exact::Kind::unknown) return std::nullopt;
  if (!a.is_finite() || !b.is_finite()) {
    const auto rank = [](const Exact& x) {
      if (x.kind_ == Exact::Kind::plus_infinity) return 1;
      return x.kind_ == Exact::Kind::minus_infinity ? -1 : 0;
    };
    return std::clamp(rank(a) - rank(b), -1, 1);
  }
  if (a.is_rational() && b.is_rational()) {
    const int order = a.rational().compare(b.rational());
    return order < 0 ? -1 : order > 0;
  }
  // N/D against N'/D': the sign of N·D' − N'·D, when D and D' are positive.
  auto difference = product(a.numerator(), b.denominator());
  const auto other = product(b.numerator(), a.denominator());
  if (!difference || !other) return std::nullopt;
  for (const Exponential& e : *other) add_to(*difference, -e.coefficient, e.exponent);
  return sign(*difference) * sign(a.denominator()) * sign(b.denominator());
}

// ---- From text and to text -----------------------------------------------------------------

Exact exact_decimal(const std::string& text) {
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
  if (digits.size() <= kDigitsOfDecimal && exponent <= 0 && -exponent <= static_cast<long>(kMostPlaces)) {
    const long long whole = digits.empty() ? 0 : std::stoll(digits);
    return Exact::decimal(is_negative ? -whole : whole, static_cast<int>(-exponent));
  }
  Rational value(digits.empty() ? Integer(0) : Integer(digits));
  if (exponent >= 0) {
    value *= Rational(power_of_ten(static_cast<unsigned>(exponent)));
  } else {
    value /= Rational(power_of_ten(static_cast<unsigned>(-exponent)));
  }
  return Exact(is_negative ? Rational(-value) : value);
}

Exact exact_value(const Number& number) {
  switch (number.kind) {
    case Number::Kind::finite:
      return Evaluator<Exact, exact_decimal>(number.text).number();
    case Number::Kind::infinite:
      return Exact::infinity(number.text.starts_with('-') ? -1 : 1);
    case Number::Kind::nan:
      return nan_of(static_cast<const Exact*>(nullptr));
    case Number::Kind::symbol:
    case Number::Kind::blank:
      break;
  }
  return 0;
}

std::optional<std::string> fixed_text(const Exact& x, int decimals) {
  if (!x.is_rational()) return std::nullopt;
  bool is_negative = false;
  std::string digits;  // of the value times 10^decimals, rounded half to even
  const auto scale = shifted(1, std::max(x.places_ - decimals, 0));
  if (x.kind_ == Exact::Kind::decimal && scale) {
    const long long size = std::abs(x.digits_);
    const long long rest = size % *scale;
    long long rounded = size / *scale;
    if (rest > *scale - rest || (rest == *scale - rest && rounded % 2 != 0)) ++rounded;
    is_negative = x.digits_ < 0;
    digits = std::to_string(rounded) +
             std::string(static_cast<std::size_t>(std::max(decimals - x.places_, 0)), '0');
  } else {
    const Rational value = x.rational();
    const Integer above = abs(numerator(value)) * power_of_ten(static_cast<unsigned>(decimals));
    const Integer below = denominator(value);
    Integer rounded = above / below;
    const Integer twice_rest = (above - rounded * below) * 2;
    if (twice_rest > below || (twice_rest == below && rounded % 2 != 0)) ++rounded;
    is_negative = value < 0;
    digits = rounded.str();
  }
  const std::size_t places = static_cast<std::size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (digits.size() - places >= kScientificDigits) return std::nullopt;
  if (places > 0) digits.insert(digits.size() - places, ".");
  return without_negative_zero((is_negative ? "-" : "") + digits);
}

// ---- For kernels ---------------------------------------------------------------------------

Exact larger(const Exact& a, const Exact& b) {
  const auto order = compare(a, b);
  if (!order) return Exact::unknown();
  return *order < 0 ? b : a;
}

bool is_plus_infinity(const Exact& x) { return x.kind() == Exact::Kind::plus_infinity; }
bool certainly_exceeds(const Exact& a, const Exact& b) { return compare(a, b) == 1; }
bool certainly_equals(const Exact& a, const Exact& b) { return compare(a, b) == 0; }

Exact hull(const Exact& a, const Exact& b) { return compare(a, b) == 0 ? a : Exact::unknown(); }

Exact infinity_of(const Exact*, int sign) { return Exact::infinity(sign); }
Exact nan_of(const Exact*) { return Exact::unknown(); }

}  // namespace qkv

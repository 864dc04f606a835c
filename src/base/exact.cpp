#include "base/exact.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "base/evaluate.h"
#include "base/interval.h"

namespace qkv {
namespace {

// Square factors are looked for up to here; what remains under the root is still right, it is
// only not in its shortest form.
constexpr int kMostTrialDivisor = 1000;
// Without a prime factor up to 1000, and no square itself, a number below 1000³ has no square factor.
constexpr int kReducedBelow = 1'000'000'000;

// A product of two sums with more terms than this is not worth having: rows with so many different
// exponentials are told apart by intervals.
constexpr std::size_t kMostProducts = 256;

// Sums of more different roots than this are left to intervals: nobody writes them down, and their
// products have the square of so many.
constexpr std::size_t kMostRoots = 6;

// Where a sign is looked for, in decimal digits; the number is known not to be 0, so the search ends.
constexpr unsigned kFirstDigits = 40;

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

std::optional<Integer> whole_root(const Integer& of) {
  const Integer root = boost::multiprecision::sqrt(of);
  if (root * root == of) return root;
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

template <class F>
int sign_by_intervals(F value) {
  const Interval zero = 0;
  for (unsigned digits = kFirstDigits;; digits *= 2) {
    const PrecisionScope precision(digits);
    const Interval x = value();
    if (certainly_exceeds(x, zero)) return 1;
    if (certainly_exceeds(zero, x)) return -1;
  }
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

// ---- Algebraic ---------------------------------------------------------------------------

Algebraic::Algebraic(Rational value) {
  if (value != 0) terms_.push_back({std::move(value), 1, true});
}

// √(p/q) = √(p·q) / q, with square factors taken out of the root.
Algebraic Algebraic::root(const Rational& of) {
  Algebraic result;
  if (of == 0) return result;
  Integer under = numerator(of) * denominator(of);
  Rational coefficient = Rational(1) / Rational(denominator(of));
  if (const auto whole = whole_root(under)) {
    result.terms_.push_back({coefficient * Rational(*whole), 1, true});
    return result;
  }
  Integer left = under;
  for (int p = 2; p <= kMostTrialDivisor && Integer(p) * p <= left; ++p) {
    while (left % (p * p) == 0) {
      left /= p * p;
      under /= p * p;
      coefficient *= p;
    }
    while (left % p == 0) left /= p;
  }
  bool is_reduced = left < kReducedBelow;
  if (const auto whole = whole_root(left); whole && *whole > 1) {
    under /= left;
    coefficient *= Rational(*whole);
    is_reduced = true;
  }
  result.terms_.push_back({coefficient, under, is_reduced});
  return result;
}

// Roots are merged when they are commensurable: √a/√b is a fraction exactly if a·b is a square.
void Algebraic::add(Term term) {
  if (term.coefficient == 0) return;
  for (auto at = terms_.begin(); at != terms_.end(); ++at) {
    if (at->radicand == term.radicand) {
      at->coefficient += term.coefficient;
    } else if (at->is_reduced && term.is_reduced) {
      continue;
    } else if (const auto whole = whole_root(at->radicand * term.radicand)) {
      at->coefficient += term.coefficient * Rational(*whole) / Rational(at->radicand);
    } else {
      continue;
    }
    if (at->coefficient == 0) terms_.erase(at);
    return;
  }
  const auto place =
      std::find_if(terms_.begin(), terms_.end(), [&](const Term& t) { return t.radicand > term.radicand; });
  terms_.insert(place, std::move(term));
}

// (a + b)(a − b) = a² − b² is a fraction when a and b are one term each.
std::optional<Algebraic> Algebraic::inverse() const {
  if (terms_.empty() || terms_.size() > 2) return std::nullopt;
  Algebraic conjugate = *this;
  if (terms_.size() == 2) conjugate.terms_[1].coefficient = -conjugate.terms_[1].coefficient;
  const Algebraic norm = *this * conjugate;
  return conjugate * Algebraic(Rational(1 / norm.rational()));
}

Algebraic operator-(Algebraic a) {
  for (Algebraic::Term& term : a.terms_) term.coefficient = -term.coefficient;
  return a;
}

Algebraic operator+(const Algebraic& a, const Algebraic& b) {
  Algebraic result = a;
  for (const Algebraic::Term& term : b.terms_) result.add(term);
  return result;
}

Algebraic operator*(const Algebraic& a, const Algebraic& b) {
  Algebraic result;
  for (const Algebraic::Term& x : a.terms_) {
    for (const Algebraic::Term& y : b.terms_) {
      const Rational coefficient = x.coefficient * y.coefficient;
      if (x.radicand == 1 || y.radicand == 1) {
        const Algebraic::Term& root = x.radicand == 1 ? y : x;
        result.add({coefficient, root.radicand, root.is_reduced});
      } else if (x.radicand == y.radicand) {
        result.add({coefficient * Rational(x.radicand), 1, true});
      } else if (x.is_reduced && y.is_reduced) {
        // Without square factors on either side, the common factor is all that leaves the root.
        const Integer common = gcd(x.radicand, y.radicand);
        result.add({coefficient * Rational(common), (x.radicand / common) * (y.radicand / common), true});
      } else {
        for (Algebraic::Term term : Algebraic::root(Rational(x.radicand * y.radicand)).terms_) {
          term.coefficient *= coefficient;
          result.add(std::move(term));
        }
      }
    }
  }
  return result;
}

bool operator==(const Algebraic& a, const Algebraic& b) {
  const auto is_same = [](const Algebraic::Term& x, const Algebraic::Term& y) {
    // Fractions in lowest terms are equal digit by digit; comparing them as numbers would multiply them out.
    return mpq_equal(x.coefficient.backend().data(), y.coefficient.backend().data()) != 0 &&
           x.radicand == y.radicand;
  };
  if (std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(), is_same)) return true;
  const auto is_reduced = [](const Algebraic::Term& t) { return t.is_reduced; };
  if (std::all_of(a.terms_.begin(), a.terms_.end(), is_reduced) &&
      std::all_of(b.terms_.begin(), b.terms_.end(), is_reduced)) {
    return false;
  }
  return (a - b).is_zero();
}

int sign(const Algebraic& a) {
  if (a.is_zero()) return 0;
  const int first = a.terms_[0].coefficient.sign();
  const bool all_agree = std::all_of(a.terms_.begin(), a.terms_.end(),
                                     [&](const Algebraic::Term& t) { return t.coefficient.sign() == first; });
  return all_agree ? first : sign_by_intervals([&] { return enclose(a); });
}

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

namespace {

// "√2", "1/√2", "3/2·√2", "2"; without its sign.
std::string text_of_size(const Algebraic::Term& term) {
  const Rational size = abs(term.coefficient);
  if (term.radicand == 1) return size.str();
  const std::string root = "√" + term.radicand.str();
  if (size == 1) return root;
  if (numerator(size) == 1 && denominator(size) == term.radicand) return "1/" + root;
  return size.str() + "·" + root;
}

std::string joined(const std::string& before, bool is_negative, const std::string& size) {
  if (before.empty()) return (is_negative ? "-" : "") + size;
  return before + (is_negative ? " - " : " + ") + size;
}

std::string text_of(const Algebraic& x) {
  std::string text;
  for (const Algebraic::Term& term : x.terms()) text = joined(text, term.coefficient < 0, text_of_size(term));
  return text.empty() ? "0" : text;
}

// "e", "e^2", "e^(-1/√2)"
std::string power_of_e(const Algebraic& exponent) {
  const std::string text = text_of(exponent);
  if (text == "1") return "e";
  const bool is_plain = text.find_first_not_of("0123456789") == std::string::npos;
  return is_plain ? "e^" + text : "e^(" + text + ")";
}

// The largest power of e first: "e^2 + 1", "2 + e^(-1/√2)".
std::string text_of(Sum sum) {
  std::stable_sort(sum.begin(), sum.end(), [](const Exponential& a, const Exponential& b) {
    return sign(a.exponent - b.exponent) > 0;
  });
  std::string text;
  for (const Exponential& e : sum) {
    const auto& terms = e.coefficient.terms();
    const bool is_single = terms.size() == 1;
    const bool is_negative = is_single && terms.front().coefficient < 0;
    std::string size = is_single ? text_of_size(terms.front()) : "(" + text_of(e.coefficient) + ")";
    if (!e.exponent.is_zero()) {
      size = size == "1" ? power_of_e(e.exponent) : size + "·" + power_of_e(e.exponent);
    } else if (!is_single && sum.size() == 1) {
      size = text_of(e.coefficient);
    }
    text = joined(text, is_negative, size);
  }
  return text;
}

std::string in_brackets(const Sum& sum) {
  const std::string text = text_of(sum);
  return text.find_first_of(" /·") == std::string::npos ||
                 (sum.size() == 1 && text.find(' ') == std::string::npos)
             ? text
             : "(" + text + ")";
}

}  // namespace

std::string exact_text(const Exact& x) {
  if (!x.is_finite()) return "";
  if (x.is_rational()) return x.rational().str();
  const Sum below = x.denominator();
  if (are_equal(below, one())) return text_of(x.numerator());
  return in_brackets(x.numerator()) + " / " + in_brackets(below);
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

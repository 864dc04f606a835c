// Every printed digit against a second computation.
//
// What is proved here: the text of every cell of more than 100,000, from random problems of all
// kinds and sizes 1 to 8, at 0 to 15 decimals, is the correctly rounded (half to even) decimal
// of the true real number.  More than 5,000 of these cells lie exactly between two neighbours,
// and the test counts them.
//
// Why it is a second computation: nothing of src/ that computes is used, only its problems and
// its texts.  The formulas are written again from the textbook; the numbers are of another kind:
//
//   1. Whatever is a polynomial in the inputs is exact, a + b·√r with fractions a and b
//      (`Quadratic`), so that no sum cancels, be the inputs 1e300 or 1e-300.
//   2. tanh of such a number is kept as a symbol (`Form`: a + b·√r + Σ c·tanh x), so that
//      equal scores are seen to be equal and differences of scores are exact.
//   3. A cell behind the softmax is a quotient of two sums of exponentials with exact
//      coefficients (`Cell`).  Exponentials are evaluated to 250 digits, with a bound on the error.
//
// When is a value algebraic, and may be a tie?  Lindemann and Weierstrass: exponentials of
// different algebraic numbers are linearly independent over the algebraic numbers.  Hence
// Σ c_g·e^(y_g) / Σ k_g·e^(y_g), with different y_g, is the number q exactly when c_g = q·k_g
// for all g, and is transcendental when there is no such q.  A weight is algebraic only if all
// allowed scores of its row are equal; an output only if the mean of V over every group of
// equal scores is the same (a sink is one more key, of value 0).
// All other values are compared with the middle between two decimals: v − B is again such a
// sum, with the exact coefficients c_g − B·k_g.  What cancels, cancels in fractions, and the
// sign of the rest is decided by 250 digits, however near to the middle the value is.  Where
// it is not decided, the test fails; nothing is ever taken as a tie because it looks like one.

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/gmp.hpp>

#include <algorithm>
#include <optional>
#include <set>

#include "ops/rows.h"
#include "support.h"

namespace qkv::test {
namespace {

namespace mp = boost::multiprecision;

using Whole = mp::number<mp::gmp_int, mp::et_off>;
using Fraction = mp::number<mp::gmp_rational, mp::et_off>;
using Real = mp::number<mp::cpp_bin_float<250>, mp::et_off>;
using Bound =
    mp::number<mp::cpp_bin_float<10>, mp::et_off>;  // of an error; its exponents reach as far as Real's

// The reference could not tell on which side of the middle a value lies.
struct Undecided {
  std::string where;
};

// ---- Fractions --------------------------------------------------------------------------

Whole power_of_ten(long exponent) { return mp::pow(Whole(10), static_cast<unsigned>(exponent)); }

Fraction ten_to(long exponent) {
  return exponent >= 0 ? Fraction(power_of_ten(exponent)) : Fraction(Whole(1), power_of_ten(-exponent));
}

// "-12.5e-3"
Fraction fraction_of_decimal(std::string_view text) {
  std::string digits;
  long exponent = 0;
  bool is_after_point = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 'e') {
      exponent += std::stol(std::string(text.substr(i + 1)));
      break;
    }
    if (text[i] == '.') is_after_point = true;
    if (text[i] < '0' || text[i] > '9') continue;
    digits += text[i];
    if (is_after_point) --exponent;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));  // or it would be octal
  const Fraction size = Fraction(Whole(digits)) * ten_to(exponent);
  return text.starts_with('-') ? Fraction(-size) : size;
}

// ---- a + b·√r ---------------------------------------------------------------------------

// One problem has one r without square factors, so that its numbers are a field.
struct Quadratic {
  Fraction plain = 0;
  Fraction of_root = 0;
  int radicand = 1;  // 1: a fraction

  Quadratic() = default;
  Quadratic(Fraction a) : plain(std::move(a)) {}
  Quadratic(long a) : plain(a) {}
  Quadratic(Fraction a, Fraction b, int r) : plain(std::move(a)), of_root(std::move(b)), radicand(r) {
    if (of_root == 0) radicand = 1;
  }

  bool is_fraction() const { return radicand == 1; }
  bool is_zero() const { return is_fraction() && plain == 0; }
  int sign() const {
    const int a = plain.sign();
    const int b = of_root.sign();
    if (b == 0 || a == b) return a;
    if (a == 0) return b;
    return plain * plain > of_root * of_root * radicand ? a : b;
  }
  bool operator==(const Quadratic&) const = default;
};

int common_radicand(const Quadratic& a, const Quadratic& b) {
  REQUIRE((a.is_fraction() || b.is_fraction() || a.radicand == b.radicand));
  return std::max(a.radicand, b.radicand);
}

Quadratic operator-(const Quadratic& a) { return {-a.plain, -a.of_root, a.radicand}; }
Quadratic operator+(const Quadratic& a, const Quadratic& b) {
  return {a.plain + b.plain, a.of_root + b.of_root, common_radicand(a, b)};
}
Quadratic operator-(const Quadratic& a, const Quadratic& b) { return a + -b; }
Quadratic operator*(const Quadratic& a, const Quadratic& b) {
  if (a.is_fraction() && b.is_fraction()) return Fraction(a.plain * b.plain);
  const int r = common_radicand(a, b);
  return {a.plain * b.plain + a.of_root * b.of_root * r, a.plain * b.of_root + a.of_root * b.plain, r};
}
Quadratic operator/(const Quadratic& a, const Quadratic& b) {
  if (b.is_fraction()) return {a.plain / b.plain, a.of_root / b.plain, a.radicand};
  const Fraction norm = b.plain * b.plain - b.of_root * b.of_root * b.radicand;
  return a * Quadratic(b.plain / norm, -b.of_root / norm, b.radicand);
}

// √(p/q) = √(p·q) / q, and squares come out of the root.
Quadratic root_of(const Fraction& x) {
  Whole rest = mp::numerator(x) * mp::denominator(x);
  Fraction outside(Whole(1), mp::denominator(x));
  for (int p = 2; Whole(p) * p <= rest; ++p) {
    while (rest % (p * p) == 0) {
      rest /= p * p;
      outside *= p;
    }
  }
  if (rest == 1) return outside;
  return {0, outside, rest.convert_to<int>()};
}

// A number as it is written in a file: decimals and sqrt(decimal), times or through each other.
Quadratic number_of(const Number& number) {
  Quadratic value = 1;
  std::string_view rest = number.text;
  bool divides = false;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("*/"), rest.size());
    const std::string_view word = rest.substr(0, end);
    const Quadratic factor = word.starts_with("sqrt(")
                                 ? root_of(fraction_of_decimal(word.substr(5, word.size() - 6)))
                                 : Quadratic(fraction_of_decimal(word));
    value = divides ? value / factor : value * factor;
    if (end == rest.size()) break;
    divides = rest[end] == '/';
    rest.remove_prefix(end + 1);
  }
  return value;
}

// ---- 250 digits and a bound on their error ------------------------------------------------

const Bound& rounding() {  // of one operation, with much room: a Real has 250 digits
  static const Bound unit("1e-235");
  return unit;
}

struct Approx {
  Real middle = 0;
  Bound error = 0;

  bool is_decided() const { return Bound(abs(middle)) > 2 * error; }
};

Bound size(const Real& x) { return Bound(abs(x)); }
Approx operator-(const Approx& a) { return {-a.middle, a.error}; }
Approx operator+(const Approx& a, const Approx& b) {
  const Real sum = a.middle + b.middle;
  return {sum, a.error + b.error + size(sum) * rounding()};
}
Approx operator*(const Approx& a, const Approx& b) {
  const Real product = a.middle * b.middle;
  return {product, size(a.middle) * b.error + size(b.middle) * a.error + a.error * b.error +
                       size(product) * rounding()};
}
Approx operator/(const Approx& a, const Approx& b) {
  const Real ratio = a.middle / b.middle;
  REQUIRE(b.is_decided());
  return {ratio, (a.error + size(ratio) * b.error) / (size(b.middle) - b.error) + size(ratio) * rounding()};
}

Real real_of(const Whole& n) {
  constexpr unsigned kPiece = 62;
  constexpr unsigned kEnough = 900;  // bits; Real has 833
  Whole rest = mp::abs(n);
  const unsigned bits = rest == 0 ? 0 : static_cast<unsigned>(mp::msb(rest)) + 1;
  const unsigned dropped = bits > kEnough ? bits - kEnough : 0;
  rest >>= dropped;
  Real value = 0;
  for (unsigned at = 0; rest != 0; at += kPiece) {
    const Whole piece = rest & ((Whole(1) << kPiece) - 1);
    value += ldexp(Real(piece.convert_to<std::uint64_t>()), static_cast<int>(at));
    rest >>= kPiece;
  }
  value = ldexp(value, static_cast<int>(dropped));
  return n < 0 ? Real(-value) : value;
}

Approx approx(const Fraction& x) {
  if (x == 0) return {};
  const Real value = real_of(mp::numerator(x)) / real_of(mp::denominator(x));
  return {value, size(value) * rounding()};
}

Approx approx(const Quadratic& x) {
  if (x.is_fraction()) return approx(x.plain);
  const Real root = sqrt(Real(x.radicand));
  return approx(x.plain) + approx(x.of_root) * Approx{root, size(root) * rounding()};
}

// From here on e^-y and 1 − tanh y are positive and nothing more is known of them: below
// 10^-400000, while no coefficient here is beyond 10^±5000.
constexpr int kNegligibleFrom = 1'000'000;
const Bound& negligible() {
  static const Bound bound("1e-300000");
  return bound;
}

// e^x − 1 for |x| ≤ 2, without cancellation where x is small.
Approx exp_less_1(const Approx& x) {
  Real sum = 0;
  Real term = x.middle;
  for (int k = 2; size(term) > size(x.middle) * rounding() / 1'000'000; ++k) {
    sum += term;
    term *= x.middle;
    term /= k;
  }
  return {sum, size(sum) * rounding() * 10 + x.error * 10};  // the derivative e^x is below 10
}

Approx exp_of(const Approx& x) {
  const Real value = exp(x.middle);
  return {value, size(value) * (2 * x.error + rounding() * (1 + size(x.middle)))};
}

// ---- a + b·√r + Σ c·tanh x ----------------------------------------------------------------

struct Form {
  Quadratic constant;
  std::map<std::size_t, Quadratic> symbols;  // by the number of the symbol in Tanhs; none has factor 0

  Form() = default;
  Form(Quadratic value) : constant(std::move(value)) {}
  bool is_zero() const { return constant.is_zero() && symbols.empty(); }
  bool operator==(const Form&) const = default;
};

Form operator*(const Form& a, const Quadratic& factor) {
  Form result(a.constant * factor);
  if (factor.is_zero()) return result;
  for (const auto& [symbol, c] : a.symbols) result.symbols.emplace(symbol, c * factor);
  return result;
}

Form operator+(Form a, const Form& b) {
  a.constant = a.constant + b.constant;
  for (const auto& [symbol, c] : b.symbols) {
    Quadratic& sum = a.symbols[symbol];
    sum = sum + c;
    if (sum.is_zero()) a.symbols.erase(symbol);
  }
  return a;
}

Form operator-(const Form& a, const Form& b) { return a + b * Quadratic(-1); }

// The symbols.  tanh x stands for itself where 0 < x ≤ 1, and as 1 − tanh x where x > 1: both
// keep all their digits where tanh is near 0 and near 1.  tanh(−x) = −tanh x.
class Tanhs {
 public:
  Form tanh(const Form& x) {
    const int s = sign(x);
    if (s < 0) return tanh(x * Quadratic(-1)) * Quadratic(-1);
    if (s == 0) return {};
    const bool is_large = sign(x - Form(1)) > 0;
    const std::size_t number = number_of_symbol(x, is_large);
    Form result;
    result.symbols.emplace(number, Quadratic(is_large ? -1 : 1));
    if (is_large) result.constant = 1;
    return result;
  }

  Approx approximate(const Form& x) const {
    Approx sum = approx(x.constant);
    for (const auto& [number, c] : x.symbols) {
      const Symbol& symbol = symbols_[number];
      if (symbol.is_negligible) {
        sum.error += negligible();
      } else {
        sum = sum + approx(c) * symbol.value;
      }
    }
    return sum;
  }

  int sign(const Form& x) const {
    if (x.symbols.empty()) return x.constant.sign();
    const Approx value = approximate(x);
    if (value.is_decided()) return value.middle > 0 ? 1 : -1;
    if (x.constant.is_zero() && x.symbols.size() == 1) return x.symbols.begin()->second.sign();
    throw Undecided{"sign of a sum of tanh"};
  }

 private:
  struct Symbol {
    Form argument;
    bool is_negligible = false;
    Approx value;
  };

  std::size_t number_of_symbol(const Form& x, bool is_large) {
    for (std::size_t s = 0; s < symbols_.size(); ++s) {
      if (symbols_[s].argument == x) return s;
    }
    Symbol symbol{x, false, {}};
    const Approx twice = approximate(x * Quadratic(2));
    const Approx two{2, 0};
    if (twice.middle > kNegligibleFrom) {
      symbol.is_negligible = true;
    } else if (is_large) {
      symbol.value = two / (exp_of(twice) + Approx{1, 0});
    } else {
      const Approx e = exp_less_1(twice);
      symbol.value = e / (e + two);
    }
    symbols_.push_back(std::move(symbol));
    return symbols_.size() - 1;
  }

  std::vector<Symbol> symbols_;
};

// ---- Sums of exponentials -----------------------------------------------------------------

// e^y for different y, none so large that a Real could not hold it.
//
// Scores may differ by 1e-300 only.  So exponents are gathered around some of them, the bases:
// Σ c·e^y is Σ e^base · (Σ c + Σ c·(e^(y − base) − 1)), where Σ c is exact and the other sum has all
// its digits.
class Exponentials {
 public:
  Exponentials(const std::vector<Form>& exponents, const Tanhs& tanhs) : tanhs_(tanhs) {
    for (const Form& y : exponents) {
      Power power{y, tanhs.approximate(y), powers_.size(), {}};
      for (std::size_t b = 0; b < powers_.size() && power.base == powers_.size(); ++b) {
        if (powers_[b].base != b) continue;
        const Approx difference = tanhs.approximate(y - powers_[b].form);
        if (abs(difference.middle) >= 1) continue;
        power.base = b;
        power.value = exp_less_1(difference);
      }
      if (power.base == powers_.size()) {
        power.value =
            power.exponent.middle > -kNegligibleFrom ? exp_of(power.exponent) : Approx{0, negligible()};
      }
      powers_.push_back(std::move(power));
    }
  }

  // Σ c·e^y
  Approx sum(const std::vector<Quadratic>& c) const {
    std::vector<Quadratic> ones(powers_.size());
    std::vector<Approx> rest(powers_.size());
    for (std::size_t g = 0; g < powers_.size(); ++g) {
      if (c[g].is_zero()) continue;
      const std::size_t base = powers_[g].base;
      ones[base] = ones[base] + c[g];
      if (base != g) rest[base] = rest[base] + approx(c[g]) * powers_[g].value;
    }
    Approx total;
    for (std::size_t b = 0; b < powers_.size(); ++b) {
      if (powers_[b].base == b) total = total + powers_[b].value * (approx(ones[b]) + rest[b]);
    }
    return total;
  }

  // Of Σ c·e^y: 0 only if all c are 0.
  int sign(const std::vector<Quadratic>& c) const {
    std::vector<std::size_t> used;
    for (std::size_t g = 0; g < powers_.size(); ++g) {
      if (!c[g].is_zero()) used.push_back(g);
    }
    if (used.empty()) return 0;
    if (used.size() == 1) return c[used[0]].sign();
    const Approx value = sum(c);
    if (value.is_decided()) return value.middle > 0 ? 1 : -1;
    return sign_by_largest(used, c);
  }

 private:
  struct Power {
    Form form;
    Approx exponent;
    std::size_t base;
    Approx value;  // of a base: e^y, else e^(y − base) − 1
  };

  // Where what is used is much smaller than e^0: the same sign, with the largest of it as e^0.
  int sign_by_largest(const std::vector<std::size_t>& used, const std::vector<Quadratic>& c) const {
    std::size_t top = used[0];
    for (const std::size_t g : used) {
      if (tanhs_.sign(powers_[g].form - powers_[top].form) > 0) top = g;
    }
    if (powers_[top].form.is_zero()) return sign_by_powers(used, c);
    std::vector<Form> shifted;
    std::vector<Quadratic> coefficients;
    for (const std::size_t g : used) {
      shifted.push_back(powers_[g].form - powers_[top].form);
      coefficients.push_back(c[g]);
    }
    return Exponentials(shifted, tanhs_).sign(coefficients);
  }

  // Where all y are tiny, by Σ c·e^y = Σ c + Σ c·y + Σ c·y²/2 + …: the first sum that is not 0
  // decides, if it exceeds the rest.
  int sign_by_powers(const std::vector<std::size_t>& used, const std::vector<Quadratic>& c) const {
    for (const std::size_t g : used) {
      if (!powers_[g].form.symbols.empty() || size(powers_[g].exponent.middle) > Bound("1e-20"))
        throw Undecided{"sign of a sum of exponentials"};
    }
    std::vector<Quadratic> terms = c;
    for (int k = 1; k <= static_cast<int>(used.size()); ++k) {
      Quadratic moment;
      Bound rest = 0;  // twice the next power, which exceeds all that follow
      for (const std::size_t g : used) {
        moment = moment + terms[g];
        rest += 2 * size(approx(terms[g]).middle * powers_[g].exponent.middle);
        terms[g] = terms[g] * powers_[g].form.constant / Quadratic(k);
      }
      if (moment.is_zero()) continue;
      if (size(approx(moment).middle) > 2 * rest) return moment.sign();
      break;
    }
    throw Undecided{"sign of a sum of tiny exponentials"};
  }

  const Tanhs& tanhs_;
  std::vector<Power> powers_;
};

// ---- Cells --------------------------------------------------------------------------------

// The true value of a cell.
struct Cell {
  enum class Kind {
    form,
    quotient,        // Σ over·e^y / Σ under·e^y
    tall,            // e^form · Σ over·e^y, with form > 1000
    minus_infinity,  // the score of a forbidden key
    nan,             // an empty row, where the problem asks for NaN
    beyond_text,     // e^form with more digits in its exponent than anybody writes
  };
  Kind kind = Kind::form;
  Form form;
  std::shared_ptr<const Exponentials> powers;
  std::vector<Quadratic> over;
  std::vector<Quadratic> under;

  Cell() = default;
  Cell(Form value) : form(std::move(value)) {}
  Cell(Quadratic value) : form(std::move(value)) {}
  explicit Cell(Kind k) : kind(k) {}
  Cell(std::shared_ptr<const Exponentials> p, std::vector<Quadratic> o, std::vector<Quadratic> u)
      : kind(Kind::quotient), powers(std::move(p)), over(std::move(o)), under(std::move(u)) {}

  bool is_number() const { return kind == Kind::form || kind == Kind::quotient || kind == Kind::tall; }
};

// The value, where it is algebraic: the theorem at the head of this file.
std::optional<Quadratic> algebraic_value(const Cell& cell) {
  if (cell.kind == Cell::Kind::form) {
    return cell.form.symbols.empty() ? std::optional(cell.form.constant) : std::nullopt;
  }
  if (cell.kind != Cell::Kind::quotient) return std::nullopt;  // tall: e^y with y ≠ 0
  std::optional<Quadratic> common;
  for (std::size_t g = 0; g < cell.over.size(); ++g) {
    if (!common && !cell.under[g].is_zero()) common = cell.over[g] / cell.under[g];
  }
  for (std::size_t g = 0; g < cell.over.size(); ++g) {
    if (cell.over[g] != *common * cell.under[g]) return std::nullopt;
  }
  return common;
}

// ---- Digits -------------------------------------------------------------------------------

struct Shown {
  std::string text;
  bool is_tie = false;  // the value lies exactly between two neighbours
};

constexpr long kScientific = 15;  // the power of ten

// As base/decimal.h says: fixed decimals while fewer than 16 digits stand before the point, else one
// digit before the point and an exponent.
std::string digits_text(bool is_negative, Whole units, int decimals, std::optional<long> exponent) {
  if (exponent && units == power_of_ten(decimals + 1)) {
    units /= 10;
    ++*exponent;
  }
  if (!exponent && units == power_of_ten(decimals + static_cast<int>(kScientific))) {
    units = power_of_ten(decimals);
    exponent = kScientific;
  }
  std::string text = units.str();
  const auto places = static_cast<std::size_t>(decimals);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  if (places > 0) text.insert(text.size() - places, ".");
  if (is_negative && units != 0) text.insert(0, "-");
  if (exponent) text += fmt::format("e+{:02}", *exponent);
  return text;
}

const Fraction kHalf(1, 2);

Shown shown_fraction(const Fraction& value, int decimals) {
  const Fraction absolute = mp::abs(value);
  std::optional<long> exponent;
  if (absolute >= ten_to(kScientific)) {
    const Whole floor = mp::numerator(absolute) / mp::denominator(absolute);
    exponent = static_cast<long>(floor.str().size()) - 1;
  }
  const Fraction scaled = absolute * ten_to(decimals - exponent.value_or(0));
  Whole units = mp::numerator(scaled) / mp::denominator(scaled);
  const Fraction rest = scaled - Fraction(units);
  const bool is_tie = rest == kHalf;
  if (rest > kHalf || (is_tie && units % 2 != 0)) ++units;
  return {digits_text(value < 0, std::move(units), decimals, exponent), is_tie};
}

// 0 ≤ x < 10^32
Whole floor_of(const Real& x) {
  const Real high = floor(x / Real(1e16));
  const Real low = floor(x - high * Real(1e16));
  return Whole(high.convert_to<std::uint64_t>()) * Whole(10'000'000'000'000'000) +
         Whole(low.convert_to<std::uint64_t>());
}

long exponent_of_ten(const Real& x) {
  int binary = 0;
  frexp(x, &binary);
  long exponent = static_cast<long>(std::floor((binary - 1) * 0.30102999566398119521));
  while (pow(Real(10), static_cast<int>(exponent + 1)) <= x) ++exponent;
  while (pow(Real(10), static_cast<int>(exponent)) > x) --exponent;
  return exponent;
}

// A value that is no fraction.  `compare(sign, bound)` is the sign of sign·value − bound, exactly.
template <class Compare>
Shown shown_irrational(const Approx& value, int decimals, Compare compare) {
  const bool is_negative = value.is_decided() ? value.middle < 0 : compare(1, Fraction(0)) < 0;
  const int sign = is_negative ? -1 : 1;
  const Real absolute = is_negative ? Real(-value.middle) : value.middle;
  std::optional<long> exponent;
  const Real limit(1e15);
  const bool is_near_limit = size(absolute - limit) < Bound(1e-50) + 2 * value.error;
  if (is_near_limit ? compare(sign, ten_to(kScientific)) > 0 : absolute > limit) {
    exponent = is_near_limit ? kScientific : exponent_of_ten(absolute);
  }
  const long shift = decimals - exponent.value_or(0);
  const Approx scaled = Approx{absolute, value.error} * approx(ten_to(shift));
  if (scaled.error > Bound(1e-20)) throw Undecided{"a value with few digits"};
  Whole units = scaled.middle > 0 ? floor_of(scaled.middle) : Whole(0);
  const Real beyond = scaled.middle - real_of(units) - Real(0.5);
  // Nearer to the middle than 1e-150 units, digits do not decide.
  const bool is_far = size(beyond) > Bound("1e-150") && size(beyond) > 2 * scaled.error;
  const int side = is_far ? (beyond > 0 ? 1 : -1) : compare(sign, (Fraction(units) + kHalf) / ten_to(shift));
  REQUIRE(side != 0);  // a tie is a fraction
  if (side > 0) ++units;
  return {digits_text(is_negative, std::move(units), decimals, exponent), false};
}

// e^x · sum with x > 1000, by its logarithm: no number here is as large as the value.
Shown shown_tall(const Approx& x, const Approx& sum, int decimals) {
  static const Real ln10 = log(Real(10));
  const Approx ln_ten{ln10, size(ln10) * rounding()};
  const Real whole = floor(x.middle / ln10);
  Approx mantissa = exp_of(x + -(Approx{whole, 0} * ln_ten)) * sum;
  long exponent = whole.convert_to<long>();
  const long more = exponent_of_ten(mantissa.middle);
  mantissa = mantissa * approx(ten_to(-more));
  exponent += more;
  const Approx scaled = mantissa * approx(ten_to(decimals));
  Whole units = floor_of(scaled.middle);
  const Real beyond = scaled.middle - real_of(units) - Real(0.5);
  if (size(beyond) < Bound("1e-150") || size(beyond) < 2 * scaled.error)
    throw Undecided{"a large exponential"};
  if (beyond > 0) ++units;
  return {digits_text(false, std::move(units), decimals, exponent), false};
}

Shown shown_cell_of(const Cell& cell, const Tanhs& tanhs, int decimals) {
  switch (cell.kind) {
    case Cell::Kind::minus_infinity:
      return {"-inf"};
    case Cell::Kind::nan:
      return {"nan"};
    case Cell::Kind::beyond_text:
      return {};
    case Cell::Kind::tall:
      return shown_tall(tanhs.approximate(cell.form), cell.powers->sum(cell.over), decimals);
    case Cell::Kind::form:
    case Cell::Kind::quotient:
      break;
  }
  const auto exact = algebraic_value(cell);
  if (exact && exact->is_fraction()) return shown_fraction(exact->plain, decimals);
  if (exact || cell.kind == Cell::Kind::form) {
    const Form form = exact ? Form(*exact) : cell.form;
    return shown_irrational(tanhs.approximate(form), decimals, [&](int sign, const Fraction& bound) {
      return tanhs.sign(form * Quadratic(sign) - Form(bound));
    });
  }
  const Approx value = cell.powers->sum(cell.over) / cell.powers->sum(cell.under);
  return shown_irrational(value, decimals, [&](int sign, const Fraction& bound) {
    std::vector<Quadratic> difference;
    for (std::size_t g = 0; g < cell.over.size(); ++g)
      difference.push_back(cell.over[g] * Quadratic(sign) - cell.under[g] * Quadratic(bound));
    return cell.powers->sign(difference);
  });
}

// ---- The steps ----------------------------------------------------------------------------

template <class T>
struct Grid {
  Index rows = 0;
  Index cols = 0;
  std::vector<T> cells;

  Grid() = default;
  Grid(Index n, Index m) : rows(n), cols(m), cells(static_cast<std::size_t>(n * m)) {}
  T& operator()(Index i, Index j) { return cells[static_cast<std::size_t>(i * cols + j)]; }
  const T& operator()(Index i, Index j) const { return cells[static_cast<std::size_t>(i * cols + j)]; }
};

using Numbers = Grid<Quadratic>;
using Scores = Grid<std::optional<Form>>;  // nullopt: −∞
using Cells = Grid<Cell>;

// Attention by the textbook: every step of a problem, as true values.
class Reference {
 public:
  explicit Reference(const Problem& problem) : problem_(problem) {
    if (problem.entry == Entry::weights) {
      given_weights();
    } else {
      softmax(tempered(masked(capped(scaled(scores())))));
    }
    output();
  }

  // Null: there is no such step.
  const Cells* step(const std::string& id) {
    if (!steps_.contains(id)) {
      const std::string name = id == "[bias]" ? "bias" : id;
      if (!problem_.has(name)) return nullptr;
      keep(id, given_scores(name));
    }
    return &steps_.at(id);
  }
  const std::vector<Cell>& row_sums() const { return row_sums_; }
  Shown shown(const Cell& cell, int decimals) const { return shown_cell_of(cell, tanhs_, decimals); }

 private:
  // -- What is given

  Numbers given(std::string_view name) const {
    const Given& from = problem_[name];
    Numbers numbers(from.rows, from.cols);
    for (Index i = 0; i < from.rows; ++i) {
      for (Index j = 0; j < from.cols; ++j) numbers(i, j) = number_of(from.at(i, j));
    }
    return numbers;
  }

  Scores given_scores(std::string_view name) const {
    const Given& from = problem_[name];
    Scores scores(from.rows, from.cols);
    for (Index i = 0; i < from.rows; ++i) {
      for (Index j = 0; j < from.cols; ++j) {
        if (from.at(i, j).kind == Number::Kind::finite) scores(i, j) = Form(number_of(from.at(i, j)));
      }
    }
    return scores;
  }

  // A weight as layout `columns` has it: linear layers store the transpose.
  Numbers weight(std::string_view name) const {
    const Numbers stored = given(name);
    if (problem_.layout == Layout::columns) return stored;
    Numbers turned(stored.cols, stored.rows);
    for (Index i = 0; i < stored.rows; ++i) {
      for (Index j = 0; j < stored.cols; ++j) turned(j, i) = stored(i, j);
    }
    return turned;
  }

  bool is_open(Index i, Index j) const { return !problem_.allowed || (*problem_.allowed)(i, j); }
  bool is_empty(Index i) const {
    for (Index j = 0; j < keys(); ++j) {
      if (is_open(i, j)) return false;
    }
    return true;
  }
  Index queries() const { return static_cast<Index>(problem_.tokens.size()); }
  Index keys() const { return static_cast<Index>(problem_.kv_tokens.size()); }

  // -- Q, K, V

  static Numbers product(const Numbers& a, const Numbers& b) {
    Numbers result(a.rows, b.cols);
    for (Index i = 0; i < a.rows; ++i) {
      for (Index j = 0; j < b.cols; ++j) {
        Quadratic sum;
        for (Index k = 0; k < a.cols; ++k) sum = sum + a(i, k) * b(k, j);
        result(i, j) = sum;
      }
    }
    return result;
  }

  // Q = X·W_Q + b_Q, or Q itself.
  Numbers role(const std::string& name, const std::string& from) {
    Numbers result;
    if (problem_.has(name)) {
      result = given(name);
    } else {
      result = product(given(from), weight("W_" + name));
      if (problem_.has("b_" + name)) {
        const Numbers bias = given("b_" + name);
        for (Index i = 0; i < result.rows; ++i) {
          for (Index j = 0; j < result.cols; ++j) result(i, j) = result(i, j) + bias(0, j);
        }
      }
    }
    keep(name, result);
    return result;
  }
  std::string keys_come_from() const { return problem_.has("X_kv") ? "X_kv" : "X"; }

  // Values left out are symbols, each its own column: their coefficients are the weights.
  Numbers values() {
    if (!problem_.has("V") || problem_["V"].at(0, 0).kind != Number::Kind::symbol)
      return role("V", keys_come_from());
    Numbers identity(keys(), keys());
    for (Index j = 0; j < keys(); ++j) identity(j, j) = 1;
    keep("V", identity);
    return identity;
  }

  // -- Scores

  Scores scores() {
    switch (problem_.entry) {
      case Entry::scores:
        return given_scores("scores");
      case Entry::scaled:
        return given_scores("scaled");
      case Entry::masked:
        return given_scores("masked");
      default:
        break;
    }
    const Numbers q = role("Q", "X");
    const Numbers k = role("K", keys_come_from());
    Scores result(q.rows, k.rows);
    for (Index i = 0; i < q.rows; ++i) {
      for (Index j = 0; j < k.rows; ++j) result(i, j) = score(q, i, k, j);
    }
    keep("scores", result);
    return result;
  }

  Form score(const Numbers& q, Index i, const Numbers& k, Index j) {
    switch (problem_.score) {
      case ScoreKind::dot:
        return Form(dot_score(q, i, k, j));
      case ScoreKind::general:
        return Form(general_score(q, i, k, j));
      case ScoreKind::additive:
        return additive_score(q, i, k, j);
      case ScoreKind::concat:
        break;
    }
    return concat_score(q, i, k, j);
  }

  // q·k
  static Quadratic dot_score(const Numbers& q, Index i, const Numbers& k, Index j) {
    Quadratic sum;
    for (Index r = 0; r < q.cols; ++r) sum = sum + q(i, r) * k(j, r);
    return sum;
  }

  // qᵀ·W·k
  Quadratic general_score(const Numbers& q, Index i, const Numbers& k, Index j) const {
    const Numbers w = given("W_a");
    Quadratic sum;
    for (Index r = 0; r < q.cols; ++r) {
      for (Index s = 0; s < k.cols; ++s) sum = sum + q(i, r) * w(r, s) * k(j, s);
    }
    return sum;
  }

  // v·tanh(q·W + k·U + b)
  Form additive_score(const Numbers& q, Index i, const Numbers& k, Index j) {
    const Numbers w = given("W_a");
    const Numbers u = given("U_a");
    const Numbers v = given("v_a");
    Form sum;
    for (Index h = 0; h < v.cols; ++h) {
      Quadratic inside = problem_.has("b_a") ? given("b_a")(0, h) : Quadratic();
      for (Index r = 0; r < q.cols; ++r) inside = inside + q(i, r) * w(r, h);
      for (Index r = 0; r < k.cols; ++r) inside = inside + k(j, r) * u(r, h);
      sum = sum + tanhs_.tanh(Form(inside)) * v(0, h);
    }
    return sum;
  }

  // v·tanh([q; k]·W)
  Form concat_score(const Numbers& q, Index i, const Numbers& k, Index j) {
    const Numbers w = given("W_a");
    const Numbers v = given("v_a");
    Form sum;
    for (Index h = 0; h < v.cols; ++h) {
      Quadratic inside;
      for (Index r = 0; r < w.rows; ++r) {
        const Quadratic& x = r < q.cols ? q(i, r) : k(j, r - q.cols);
        inside = inside + x * w(r, h);
      }
      sum = sum + tanhs_.tanh(Form(inside)) * v(0, h);
    }
    return sum;
  }

  // A step that leaves −∞ as it is.
  template <class F>
  Scores each(const std::string& id, const Scores& from, F f) {
    Scores to(from.rows, from.cols);
    for (Index i = 0; i < from.rows; ++i) {
      for (Index j = 0; j < from.cols; ++j) {
        if (from(i, j)) to(i, j) = f(*from(i, j));
      }
    }
    keep(id, to);
    return to;
  }

  bool is_entered_after(Entry entry) const { return problem_.entry >= entry; }

  // s / √d_k, or s·factor
  Scores scaled(const Scores& from) {
    if (is_entered_after(Entry::scaled) || problem_.scale.kind == ScaleKind::none) return from;
    const Quadratic factor = problem_.scale.kind == ScaleKind::factor
                                 ? number_of(problem_.scale.factor)
                                 : Quadratic(1) / root_of(number_of(problem_.scale.d_k).plain);
    return each("scaled", from, [&](const Form& s) { return s * factor; });
  }

  // c·tanh(s / c)
  Scores capped(const Scores& from) {
    if (is_entered_after(Entry::masked) || !problem_.softcap) return from;
    const Quadratic cap = number_of(*problem_.softcap);
    return each("capped", from, [&](const Form& s) { return tanhs_.tanh(s * (Quadratic(1) / cap)) * cap; });
  }

  // The given bias and −slope·|i − j|.
  std::optional<Scores> bias() {
    if (!problem_.has("bias") && problem_.slopes.empty()) return std::nullopt;
    Scores sum(queries(), keys());
    for (auto& cell : sum.cells) cell = Form();
    if (problem_.has("bias")) sum = given_scores("bias");
    if (!problem_.slopes.empty()) {
      const Quadratic slope = number_of(problem_.slopes[0]);
      for (Index i = 0; i < sum.rows; ++i) {
        for (Index j = 0; j < sum.cols; ++j) {
          if (sum(i, j)) sum(i, j) = *sum(i, j) - Form(slope * Quadratic(std::abs(i + problem_.align - j)));
        }
      }
    }
    keep("bias", sum);
    return sum;
  }

  Scores masked(const Scores& from) {
    if (is_entered_after(Entry::masked)) return from;
    const auto added = bias();
    if (problem_.mask) keep("M", mask());
    if (!added && !problem_.mask) return from;
    Scores to(from.rows, from.cols);
    for (Index i = 0; i < from.rows; ++i) {
      for (Index j = 0; j < from.cols; ++j) {
        if (is_open(i, j)) to(i, j) = added ? *from(i, j) + *(*added)(i, j) : *from(i, j);
      }
    }
    keep("masked", to);
    return to;
  }

  Scores mask() const {
    Scores m(queries(), keys());
    for (Index i = 0; i < m.rows; ++i) {
      for (Index j = 0; j < m.cols; ++j) {
        if ((*problem_.mask)(i, j)) m(i, j) = Form();
      }
    }
    return m;
  }

  // s / T
  Scores tempered(const Scores& from) {
    if (!problem_.temperature) return from;
    const Quadratic factor = Quadratic(1) / number_of(*problem_.temperature);
    return each("tempered", from, [&](const Form& s) { return s * factor; });
  }

  // -- Softmax

  // Keys (and the sink) of one row by their scores: which are equal.
  struct Groups {
    std::vector<Form> score;
    std::vector<long> count;
    std::vector<std::size_t> of_key;  // kNone: forbidden
    std::size_t of_sink = kNone;
    std::size_t top = kNone;
    std::shared_ptr<const Exponentials> powers;  // e^(score − top)
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  Groups groups_of_row(const Scores& scores, Index i) const {
    Groups groups;
    const auto join = [&](const Form& score) {
      const auto at = std::find(groups.score.begin(), groups.score.end(), score);
      const auto g = static_cast<std::size_t>(at - groups.score.begin());
      if (at == groups.score.end()) {
        groups.score.push_back(score);
        groups.count.push_back(0);
      }
      ++groups.count[g];
      return g;
    };
    for (Index j = 0; j < scores.cols; ++j)
      groups.of_key.push_back(is_open(i, j) ? join(*scores(i, j)) : kNone);
    if (!problem_.sink_logits.empty()) groups.of_sink = join(Form(number_of(problem_.sink_logits[0])));
    for (std::size_t g = 0; g < groups.score.size(); ++g) {
      if (groups.top == kNone || tanhs_.sign(groups.score[g] - groups.score[groups.top]) > 0) groups.top = g;
    }
    std::vector<Form> shifted;
    for (const Form& score : groups.score) shifted.push_back(score - groups.score[groups.top]);
    groups.powers = std::make_shared<const Exponentials>(shifted, tanhs_);
    return groups;
  }

  // One group alone, times 1.
  static std::vector<Quadratic> only(std::size_t g, std::size_t count) {
    std::vector<Quadratic> c(count);
    c[g] = 1;
    return c;
  }
  static std::vector<Quadratic> all(const std::vector<long>& count) { return {count.begin(), count.end()}; }

  void softmax(const Scores& scores) {
    const Index n = scores.rows;
    const Index m = scores.cols;
    Cells max(n, 1);
    Cells shifted(n, m);
    Cells exp(n, m);
    Cells sum(n, 1);
    Cells weights(n, m);
    Cells naive_exp(n, m);
    Cells naive_sum(n, 1);
    for (Index i = 0; i < n; ++i) {
      const Groups groups = groups_of_row(scores, i);
      const std::size_t count = groups.score.size();
      if (count == 0) {
        max(i, 0) = Cell(Cell::Kind::minus_infinity);
      } else {
        max(i, 0) = groups.score[groups.top];
        sum(i, 0) = Cell(groups.powers, all(groups.count), only(groups.top, count));
        naive_sum(i, 0) = naive(groups.score, groups.count, groups);
      }
      for (Index j = 0; j < m; ++j) {
        const std::size_t g = groups.of_key[static_cast<std::size_t>(j)];
        if (g == kNone) {
          shifted(i, j) = Cell(Cell::Kind::minus_infinity);
          continue;
        }
        shifted(i, j) = groups.score[g] - groups.score[groups.top];
        exp(i, j) = Cell(groups.powers, only(g, count), only(groups.top, count));
        naive_exp(i, j) = naive({groups.score[g]}, {1}, groups);
        weights(i, j) = Cell(groups.powers, only(g, count), all(groups.count));
      }
      std::vector<Quadratic> of_keys = all(groups.count);
      if (groups.of_sink != kNone) of_keys[groups.of_sink] = of_keys[groups.of_sink] - Quadratic(1);
      row_sums_.push_back(count == 0 ? Cell() : Cell(groups.powers, of_keys, all(groups.count)));
      if (is_empty(i) && problem_.empty_row == EmptyRow::nan) {
        for (Index j = 0; j < m; ++j) weights(i, j) = Cell(Cell::Kind::nan);
        row_sums_.back() = Cell(Cell::Kind::nan);
      }
      groups_.push_back(groups);
    }
    steps_["max"] = max;
    steps_["shifted"] = shifted;
    steps_["exp"] = exp;
    steps_["sum"] = sum;
    steps_["naive.exp"] = naive_exp;
    steps_["naive.sum"] = naive_sum;
    steps_["weights"] = weights;
    scores_ = scores;
  }

  // e^740,000,000 has 321 million digits before the point.  The exponents of MPFR, as a program
  // finds them, end at 2^(2^30 − 1); what is beyond is called inf, and has no digits to compare.
  static constexpr long kMostNaiveScore = 740'000'000;

  // Σ count·e^score, as it stands.
  Cell naive(const std::vector<Form>& score, const std::vector<long>& count, const Groups& groups) const {
    const Form& top = score.size() == 1 ? score[0] : score[groups.top];
    if (tanhs_.sign(top - Form(1000)) > 0) {
      if (tanhs_.sign(top - Form(kMostNaiveScore)) > 0) return Cell(Cell::Kind::beyond_text);
      Cell cell(Cell::Kind::tall);
      cell.form = top;
      std::vector<Form> shifted;
      for (const Form& s : score) shifted.push_back(s - top);
      cell.powers = std::make_shared<const Exponentials>(shifted, tanhs_);
      cell.over = all(count);
      return cell;
    }
    std::vector<Form> exponents = score;
    std::vector<Quadratic> over = all(count);
    auto one = static_cast<std::size_t>(std::find(score.begin(), score.end(), Form()) - score.begin());
    if (one == score.size()) {
      exponents.emplace_back();
      over.emplace_back();
    }
    return {std::make_shared<const Exponentials>(exponents, tanhs_), over, only(one, over.size())};
  }

  // -- Read

  void given_weights() {
    const Numbers weights = given("weights");
    keep("weights", weights);
    for (Index i = 0; i < weights.rows; ++i) {
      Quadratic sum;
      for (Index j = 0; j < weights.cols; ++j) sum = sum + weights(i, j);
      row_sums_.emplace_back(sum);
    }
  }

  // A row of the output is v = Σ over_g·e^y / Σ under_g·e^y with a vector over_g, so that what
  // follows, v·W_O + b_O, is of the same form.  A single group of value v stands for v itself.
  struct Read {
    bool is_nan = false;
    std::shared_ptr<const Exponentials> powers;
    std::vector<std::vector<Quadratic>> over;  // [group][column]
    std::vector<Quadratic> under;              // [group]

    Cell cell(const std::vector<Quadratic>& combination, const Quadratic& constant) const {
      if (is_nan) return Cell(Cell::Kind::nan);
      std::vector<Quadratic> sums;
      for (std::size_t g = 0; g < under.size(); ++g) {
        Quadratic sum = constant * under[g];
        for (std::size_t c = 0; c < combination.size(); ++c) sum = sum + over[g][c] * combination[c];
        sums.push_back(sum);
      }
      if (!powers) return sums[0];
      return {powers, sums, under};
    }
  };

  void output() {
    const Numbers v = values();
    std::vector<Read> soft;
    std::vector<Read> hard;
    for (Index i = 0; i < queries(); ++i) {
      soft.push_back(soft_read(i, v));
      hard.push_back(hard_read(i, v));
    }
    const bool is_hard = problem_.read == ReadKind::hard;
    keep_read("output", is_hard ? hard : soft, v.cols);
    if (is_hard) keep_read("soft.output", soft, v.cols);
    if (problem_.has("W_O")) project_output(is_hard ? hard : soft);
  }

  bool is_nan_row(Index i) const { return is_empty(i) && problem_.empty_row == EmptyRow::nan; }

  static Read read_of(std::vector<Quadratic> row) { return {false, nullptr, {std::move(row)}, {1}}; }

  // Σ weight·v over the allowed keys.
  Read soft_read(Index i, const Numbers& v) const {
    const auto width = static_cast<std::size_t>(v.cols);
    std::vector<Quadratic> zero(width);
    if (problem_.entry == Entry::weights) {
      const Numbers weights = given("weights");
      for (Index j = 0; j < v.rows; ++j) {
        for (Index c = 0; c < v.cols; ++c) {
          Quadratic& sum = zero[static_cast<std::size_t>(c)];
          sum = sum + weights(i, j) * v(j, c);
        }
      }
      return read_of(zero);
    }
    if (is_nan_row(i)) return {true, nullptr, {}, {}};
    const Groups& groups = groups_[static_cast<std::size_t>(i)];
    if (groups.score.empty()) return read_of(zero);
    Read read{false, groups.powers, {}, all(groups.count)};
    read.over.assign(groups.score.size(), zero);
    for (Index j = 0; j < v.rows; ++j) {
      const std::size_t g = groups.of_key[static_cast<std::size_t>(j)];
      if (g == kNone) continue;
      for (Index c = 0; c < v.cols; ++c) {
        Quadratic& sum = read.over[g][static_cast<std::size_t>(c)];
        sum = sum + v(j, c);
      }
    }
    return read;
  }

  // The value of the first key with the largest weight.
  Read hard_read(Index i, const Numbers& v) const {
    if (is_nan_row(i)) return {true, nullptr, {}, {}};
    Index best = -1;
    for (Index j = 0; j < v.rows; ++j) {
      if (is_open(i, j) && (best < 0 || is_heavier(i, j, best))) best = j;
    }
    std::vector<Quadratic> row(static_cast<std::size_t>(v.cols));
    for (Index c = 0; c < v.cols && best >= 0; ++c) row[static_cast<std::size_t>(c)] = v(best, c);
    return read_of(row);
  }

  bool is_heavier(Index i, Index j, Index than) const {
    if (problem_.entry == Entry::weights) {
      const Numbers weights = given("weights");
      return (weights(i, j) - weights(i, than)).sign() > 0;
    }
    return tanhs_.sign(*scores_(i, j) - *scores_(i, than)) > 0;
  }

  void keep_read(const std::string& id, const std::vector<Read>& rows, Index cols) {
    Cells cells(static_cast<Index>(rows.size()), cols);
    for (Index i = 0; i < cells.rows; ++i) {
      for (Index c = 0; c < cols; ++c) {
        cells(i, c) = rows[static_cast<std::size_t>(i)].cell(
            only(static_cast<std::size_t>(c), static_cast<std::size_t>(cols)), 0);
      }
    }
    steps_[id] = cells;
  }

  void project_output(const std::vector<Read>& rows) {
    const Numbers w = weight("W_O");
    Cells cells(static_cast<Index>(rows.size()), w.cols);
    for (Index i = 0; i < cells.rows; ++i) {
      for (Index j = 0; j < w.cols; ++j) {
        std::vector<Quadratic> column;
        for (Index c = 0; c < w.rows; ++c) column.push_back(w(c, j));
        const Quadratic bias = problem_.has("b_O") ? given("b_O")(0, j) : Quadratic();
        cells(i, j) = rows[static_cast<std::size_t>(i)].cell(column, bias);
      }
    }
    steps_["Y"] = cells;
  }

  // -- What is kept

  void keep(const std::string& id, const Numbers& numbers) {
    Cells cells(numbers.rows, numbers.cols);
    for (std::size_t at = 0; at < numbers.cells.size(); ++at) cells.cells[at] = numbers.cells[at];
    steps_[id] = std::move(cells);
  }
  void keep(const std::string& id, const Scores& scores) {
    Cells cells(scores.rows, scores.cols);
    for (std::size_t at = 0; at < scores.cells.size(); ++at)
      cells.cells[at] = scores.cells[at] ? Cell(*scores.cells[at]) : Cell(Cell::Kind::minus_infinity);
    steps_[id] = std::move(cells);
  }

  const Problem& problem_;
  Tanhs tanhs_;
  Scores scores_;               // what the softmax is taken of
  std::vector<Groups> groups_;  // one a row
  std::vector<Cell> row_sums_;
  std::map<std::string, Cells> steps_;
};

// ---- Random problems ------------------------------------------------------------------------

// What the numbers of a matrix look like.
enum class Flavour {
  integers,     // -3 … 3
  tenths,       // -2.0 … 2.0, whose products are ties at one decimal
  hundredths,   // -0.95 … 0.95 in steps of 0.05: ties at two and three decimals
  eighths,      // 0.125: ties that doubles hold
  long_digits,  // 1.23457
  fractions,    // 2/7
  roots,        // 3*sqrt(2) beside integers: ties where roots meet
  magnitudes,   // 3.1e-300 … 3.1e300
  offsets,      // 10000000000000001, -1e16 and small numbers
};

class Maker {
 public:
  explicit Maker(std::uint64_t stream) : random_(stream) {}

  // For the problem made last: any number of decimals, or one at which its products make ties.
  int decimals() {
    if (chance(30)) return static_cast<int>(random_.whole(0, 15));
    switch (flavour_) {
      case Flavour::integers:
        return pick({0, 0, 1});
      case Flavour::tenths:
        return pick({0, 1, 2});
      case Flavour::hundredths:
        return pick({2, 3, 3});
      case Flavour::eighths:
        return pick({2, 3, 5, 5});
      default:
        return static_cast<int>(random_.whole(0, 3));
    }
  }

  Problem problem() {
    n_ = random_.whole(1, 8);
    m_ = chance(40) ? n_ : random_.whole(1, 8);
    width_ = random_.whole(1, 8);
    value_width_ = random_.whole(1, 8);
    radicand_ = pick({2, 3, 5});
    // 1 − tanh(1e16) is below 10^(-10^15).  Differences of such values are beyond every precision,
    // and no theorem says their sign; so what tanh takes has small numbers here.  A cap that is
    // all but reached is a case by hand below.
    takes_tanh_ = chance(25);
    flavour_ = flavour();
    switch (random_.whole(0, 9)) {
      case 0:
        return with_read(from_table(Entry::scores));
      case 1:
        return with_read(from_table(chance(50) ? Entry::scaled : Entry::masked));
      case 2:
        return with_read(from_weights());
      case 3:
      case 4:
      case 5:
        return with_read(with_score_settings(from_x()));
      default:
        return with_read(with_score_settings(from_qkv()));
    }
  }

 private:
  bool chance(int percent) { return random_.whole(1, 100) <= percent; }

  template <class T>
  T pick(std::initializer_list<T> from) {
    return *(from.begin() + random_.whole(0, static_cast<Index>(from.size()) - 1));
  }

  Flavour flavour() {
    if (takes_tanh_) {
      return pick({Flavour::integers, Flavour::tenths, Flavour::hundredths, Flavour::eighths,
                   Flavour::long_digits, Flavour::fractions});
    }
    if (chance(60)) {
      return pick(
          {Flavour::integers, Flavour::tenths, Flavour::hundredths, Flavour::hundredths, Flavour::eighths});
    }
    return pick(
        {Flavour::long_digits, Flavour::fractions, Flavour::roots, Flavour::magnitudes, Flavour::offsets});
  }

  std::string integer(Index most) { return std::to_string(random_.whole(-most, most)); }

  // `units` of 10^-decimals
  static std::string decimal(Index units, int decimals) {
    std::string digits = std::to_string(std::abs(units));
    const auto places = static_cast<std::size_t>(decimals);
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    digits.insert(digits.size() - places, ".");
    return (units < 0 ? "-" : "") + digits;
  }

  std::string number(Flavour flavour) {
    switch (flavour) {
      case Flavour::integers:
        return integer(3);
      case Flavour::tenths:
        return decimal(random_.whole(-20, 20), 1);
      case Flavour::hundredths:
        return decimal(5 * random_.whole(-19, 19), 2);
      case Flavour::eighths:
        return decimal(125 * random_.whole(-16, 16), 3);
      case Flavour::long_digits:
        return decimal(random_.whole(-299'999, 299'999), 5);
      case Flavour::fractions:
        return integer(5) + "/" + std::to_string(random_.whole(1, 9));
      case Flavour::roots:
        if (chance(50)) return integer(3);
        return integer(3) + pick({"*", "/"}) + "sqrt(" + std::to_string(radicand_) + ")";
      case Flavour::magnitudes:
        if (chance(10)) return "0";
        return decimal(random_.whole(-99, 99), 1) + "e" + integer(chance(50) ? 300 : 20);
      case Flavour::offsets:
        break;
    }
    return pick<std::string>({"10000000000000001", "-10000000000000001", "1e16", "-1e16", "1", "-1", "0.1",
                              "9999999999999999.5", "0", integer(9)});
  }

  Given matrix(Index rows, Index cols, Flavour flavour) {
    Given given{.rows = rows, .cols = cols, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
    for (Index at = 0; at < rows * cols; ++at) given.cells.push_back(written(number(flavour)));
    return given;
  }
  Given matrix(Index rows, Index cols) { return matrix(rows, cols, flavour_); }

  // Some rows are copies of others, so that scores are equal.
  Given with_equal_rows(Given given) {
    if (chance(50)) return given;
    const Index kinds = random_.whole(1, 3);
    for (Index i = kinds; i < given.rows; ++i) {
      const Index like = random_.whole(0, kinds - 1);
      for (Index j = 0; j < given.cols; ++j) {
        given.cells[static_cast<std::size_t>(i * given.cols + j)] = given.at(like, j);
      }
    }
    return given;
  }

  // -- Entries

  Problem from_x() {
    const Index d = random_.whole(1, 8);
    Sections sections{{"X", with_equal_rows(matrix(n_, d))}};
    if (chance(40)) {
      sections.emplace("X_kv", with_equal_rows(matrix(m_, d)));
    } else {
      m_ = n_;
    }
    const bool is_linear = chance(40);
    const auto weight = [&](Index rows, Index cols) {
      return is_linear ? matrix(cols, rows) : matrix(rows, cols);
    };
    sections.emplace("W_Q", weight(d, width_));
    sections.emplace("W_K", weight(d, width_));
    sections.emplace("W_V", weight(d, value_width_));
    if (chance(50)) sections.emplace("b_Q", matrix(1, width_));
    if (chance(50)) sections.emplace("b_K", matrix(1, width_));
    if (chance(50)) sections.emplace("b_V", matrix(1, value_width_));
    Problem p = problem_at(Entry::x, std::move(sections));
    if (is_linear) p.layout = Layout::linear;
    return p;
  }

  Problem from_qkv() {
    Sections sections{{"Q", matrix(n_, width_)}, {"K", with_equal_rows(matrix(m_, width_))}};
    const bool is_same = n_ == m_ && chance(20);
    if (is_same) sections["K"] = sections["Q"];
    add_values(sections);
    Problem p = problem_at(Entry::qkv, std::move(sections));
    if (is_same) p.same_as.emplace("K", "Q");
    return p;
  }

  Problem from_table(Entry entry) {
    const char* name = entry == Entry::scores ? "scores" : entry == Entry::scaled ? "scaled" : "masked";
    Sections sections{{name, some_forbidden(matrix(n_, m_), 20)}};
    add_values(sections);
    Problem p = problem_at(entry, std::move(sections));
    if (entry == Entry::scores && chance(50)) p.scale = {ScaleKind::factor, written(factor()), {}};
    if (entry != Entry::masked) add_cap(p);
    if (entry != Entry::masked) add_bias_and_mask(p);
    add_softmax_settings(p);
    return p;
  }

  Problem from_weights() {
    Sections sections{{"weights", matrix(n_, m_)}};
    add_values(sections);
    return problem_at(Entry::weights, std::move(sections));
  }

  // -- Values

  // Left out; random; or with the same mean c over equal keys, so that outputs are exactly c.
  void add_values(Sections& sections) {
    if (chance(10)) return;
    if (chance(60)) {
      sections.emplace("V", matrix(m_, value_width_, flavour()));
      return;
    }
    Given v{.rows = m_, .cols = value_width_, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
    v.cells.resize(static_cast<std::size_t>(m_ * value_width_));
    std::vector<Index> single;  // keys without a partner of the same row
    std::vector<std::pair<Index, Index>> pairs;
    for (Index j = 0; j < m_; ++j) {
      const auto partner = std::find_if(single.begin(), single.end(),
                                        [&](Index other) { return are_equal_keys(sections, j, other); });
      if (partner == single.end()) {
        single.push_back(j);
      } else {
        pairs.emplace_back(*partner, j);
        single.erase(partner);
      }
    }
    for (Index c = 0; c < value_width_; ++c) {
      const Index centre = pick<Index>({125, 375, 500, 625, 50, 150, 250, 1000, 2500, -125, -500, 0, 1500});
      const auto put = [&](Index j, Index thousandths) {
        v.cells[static_cast<std::size_t>(j * value_width_ + c)] = written(decimal(thousandths, 3));
      };
      for (const Index j : single) put(j, centre);
      for (const auto& [a, b] : pairs) {
        const Index apart = random_.whole(-999, 999);
        put(a, centre + apart);
        put(b, centre - apart);
      }
    }
    sections.emplace("V", std::move(v));
  }

  static bool are_equal_keys(const Sections& sections, Index a, Index b) {
    const auto k = sections.find("K");
    if (k == sections.end()) return false;
    for (Index r = 0; r < k->second.cols; ++r) {
      if (k->second.at(a, r).text != k->second.at(b, r).text) return false;
    }
    return true;
  }

  // -- Settings

  std::string factor() { return pick<std::string>({"0.5", "1/3", "-2", "0.1", "0.25", "1.5"}); }

  Problem with_score_settings(Problem p) {
    add_score(p);
    add_scale(p);
    add_cap(p);
    add_bias_and_mask(p);
    add_softmax_settings(p);
    return p;
  }

  void add_score(Problem& p) {
    const Index q = width_;
    const Index hidden = random_.whole(1, 4);
    if (chance(20)) {
      p.score = ScoreKind::general;
      p.given.emplace("W_a", matrix(q, q));
    } else if (takes_tanh_ && chance(30)) {
      p.score = ScoreKind::additive;
      p.given.emplace("W_a", matrix(q, hidden));
      p.given.emplace("U_a", matrix(q, hidden));
      p.given.emplace("v_a", matrix(1, hidden));
      if (chance(50)) p.given.emplace("b_a", matrix(1, hidden));
    } else if (takes_tanh_ && chance(30)) {
      p.score = ScoreKind::concat;
      p.given.emplace("W_a", matrix(2 * q, hidden));
      p.given.emplace("v_a", matrix(1, hidden));
    }
  }

  void add_scale(Problem& p) {
    const Index kind = random_.whole(0, 9);
    if (kind <= 1) {
      p.scale.kind = ScaleKind::none;
    } else if (kind <= 3) {
      const bool has_root = flavour_ == Flavour::roots && chance(50);
      p.scale = {
          ScaleKind::factor, written(has_root ? "1/sqrt(" + std::to_string(radicand_) + ")" : factor()), {}};
    } else if (flavour_ == Flavour::roots) {
      // Roots of two different numbers are no field; sums of them are left to other tests.
      p.scale.d_k = written(std::to_string(pick({1, 4, 9}) * (chance(50) ? radicand_ : 1)));
    } else if (chance(60)) {
      p.scale.d_k = written(pick({"4", "4", "16", "2.25", "0.25", "64", "0.01", "2", "0.5"}));
    }
  }

  void add_cap(Problem& p) {
    if (takes_tanh_ && chance(60)) p.softcap = written(pick({"50", "5", "1", "2.5", "1.25", "30"}));
  }

  Given some_forbidden(Given given, int percent) {
    if (!chance(percent)) return given;
    for (Number& cell : given.cells) {
      if (chance(20)) cell = written("-inf");
    }
    return given;
  }

  void add_bias_and_mask(Problem& p) {
    if (chance(25)) {
      p.given.emplace("bias", some_forbidden(matrix(n_, m_, flavour_), 30));
      forbid_minus_infinities(p, "bias");
    }
    if (chance(30)) p.align = random_.whole(-2, 2);
    if (chance(20)) p.slopes = {written(pick({"0.5", "0.25", "1/3", "0.1", "1"}))};
    const Index kind = random_.whole(0, 9);
    if (kind <= 1) {
      forbid(p, causal_mask(n_, m_, p.align));
    } else if (kind == 2) {
      Mask window = causal_mask(n_, m_, p.align);
      for (Index i = 0; i < n_; ++i) {
        for (Index j = 0; j < m_; ++j) window(i, j) = window(i, j) && j > i + p.align - 2;
      }
      forbid(p, window);
    } else if (kind == 3) {
      Mask mask(n_, m_);
      for (Index i = 0; i < n_; ++i) {
        for (Index j = 0; j < m_; ++j) mask(i, j) = chance(60);
      }
      forbid(p, mask);
    }
  }

  void add_softmax_settings(Problem& p) {
    if (chance(20)) p.temperature = written(pick({"2", "0.5", "0.1", "1/3", "0.7", "100"}));
    if (chance(20)) p.sink_logits = {written(pick({"0", "0.5", "1", "-2", "1.25"}))};
    if (chance(30)) p.empty_row = EmptyRow::nan;
  }

  Problem with_read(Problem p) {
    if (chance(15)) p.read = ReadKind::hard;
    const bool is_symbolic = p.has("V") && p["V"].at(0, 0).kind == Number::Kind::symbol;
    if (is_symbolic || chance(50)) return p;
    const Index from = p.has("V") ? p["V"].cols : value_width_;
    const Index to = random_.whole(1, 4);
    const Flavour flavour = p.has("V") ? Flavour::tenths : flavour_;
    p.given.emplace("W_O",
                    p.layout == Layout::linear ? matrix(to, from, flavour) : matrix(from, to, flavour));
    if (chance(50)) p.given.emplace("b_O", matrix(1, to, flavour));
    return p;
  }

  Random random_;
  Index n_ = 1;
  Index m_ = 1;
  Index width_ = 1;
  Index value_width_ = 1;
  int radicand_ = 2;
  bool takes_tanh_ = false;
  Flavour flavour_ = Flavour::integers;
};

// ---- Comparing --------------------------------------------------------------------------------

std::string described(const Problem& p) {
  std::string text;
  for (const auto& [name, given] : p.given) {
    text += "[" + name + "] ";
    for (Index i = 0; i < given.rows; ++i) {
      if (i > 0) text += "; ";
      for (Index j = 0; j < given.cols; ++j) text += given.at(i, j).text + " ";
    }
    text += "\n";
  }
  text += fmt::format("entry {} layout {} score {} read {} empty row {} align {}\n",
                      static_cast<int>(p.entry), static_cast<int>(p.layout), static_cast<int>(p.score),
                      static_cast<int>(p.read), static_cast<int>(p.empty_row), p.align);
  if (p.scale.kind == ScaleKind::root) text += "d_k " + p.scale.d_k.text + "\n";
  if (p.scale.kind == ScaleKind::factor) text += "factor " + p.scale.factor.text + "\n";
  if (p.temperature) text += "temperature " + p.temperature->text + "\n";
  if (p.softcap) text += "softcap " + p.softcap->text + "\n";
  if (!p.sink_logits.empty()) text += "sink " + p.sink_logits[0].text + "\n";
  if (!p.slopes.empty()) text += "alibi " + p.slopes[0].text + "\n";
  if (p.allowed) {
    text += "open ";
    for (Index i = 0; i < p.allowed->rows(); ++i) {
      for (Index j = 0; j < p.allowed->cols(); ++j) text += (*p.allowed)(i, j) ? "1" : "0";
      text += ";";
    }
    text += "\n";
  }
  return text;
}

// The reference knows one head of softmax attention.  Other systems are compared with it where they
// promise the same numbers, each in the tests of its own; these are the ops it has.
bool is_of_one_head(const Op& op) {
  const auto all = ops::all();
  const auto of_heads = std::find(all.begin(), all.end(), &ops::head_q);  // the systems follow from here
  return std::find(all.begin(), of_heads, &op) != of_heads;
}

class Comparison {
 public:
  static constexpr int kMostDifferences = 10;

  bool goes_on() const { return differences_ < kMostDifferences; }
  long compared() const { return compared_; }  // computed cells with a finite value
  long ties() const { return ties_; }          // those of them that lie exactly between two neighbours
  const std::set<std::string>& ops() const { return ops_; }

  void compare(const Problem& problem, const std::vector<int>& decimals, const std::string& which) {
    Reference reference(problem);
    const Plan plan = plan_of(problem);
    const Trace trace = run(plan, {});
    REQUIRE(trace.arithmetic() == Arithmetic::proved);
    for (const int d : decimals) {
      for (NodeId id = 0; id < plan.nodes.size() && goes_on(); ++id) {
        const Node& node = plan[id];
        bool is_reported = false;  // one cell of a step says enough
        const auto differ = [&](Index i, const std::string& col, const Shown& expected,
                                const std::string& found) {
          if (is_reported) return;
          is_reported = true;
          ++differences_;
          FAIL_CHECK(which, ", ", node.id, "[", i + 1, ",", col, "] at ", d, " decimals is ", expected.text,
                     std::string(expected.is_tie ? " (a tie)" : ""), ", found ", found, "\n",
                     described(problem));
        };
        if (!is_of_one_head(*node.op)) continue;
        const Cells* cells = reference.step(node.id);
        INFO(which, ", step ", node.id);
        REQUIRE(cells != nullptr);
        REQUIRE(cells->rows == node.shape.rows);
        REQUIRE(cells->cols == node.shape.cols);
        ops_.insert(node.op->name);
        const bool is_computed = node.given.empty();
        for (Index i = 0; i < cells->rows; ++i) {
          for (Index j = 0; j < cells->cols; ++j) {
            const Cell& cell = (*cells)(i, j);
            if (cell.kind == Cell::Kind::beyond_text) continue;
            const Shown expected = reference.shown(cell, d);
            const std::string found = trace.text(id, i, j, d);
            if (found != expected.text) differ(i, std::to_string(j + 1), expected, found);
            if (is_computed) count(cell, expected);
          }
          if (!node.has_row_sums) continue;
          const Cell& sum = reference.row_sums()[static_cast<std::size_t>(i)];
          const Shown expected = reference.shown(sum, d);
          const std::string found = trace.row_sum_text(id, i, d);
          if (found != expected.text) differ(i, "sum", expected, found);
          count(sum, expected);
        }
      }
    }
  }

 private:
  void count(const Cell& cell, const Shown& shown) {
    if (cell.is_number()) ++compared_;
    if (shown.is_tie) ++ties_;
  }

  int differences_ = 0;
  long compared_ = 0;
  long ties_ = 0;
  std::set<std::string> ops_;
};

Problem from_scores(std::string_view scores, std::string_view values = "") {
  Sections sections{{"scores", rows_of(scores)}};
  if (!values.empty()) sections.emplace("V", rows_of(values));
  return problem_at(Entry::scores, std::move(sections));
}

// QKV_CELLS asks for fewer, where every cell takes long, or for more.
constexpr long kUsualCells = 100'000;
long cells_wanted() {
  const char* text = std::getenv("QKV_CELLS");
  return text != nullptr ? std::atol(text) : kUsualCells;
}

// By hand, and by the reference too: the hand-made cases are its test.
void check_texts(const Problem& problem, const std::string& step, int decimals, const std::string& expected) {
  Reference reference(problem);
  const Plan plan = plan_of(problem);
  const NodeId node = node_named(plan, step);
  const Trace trace = run(plan, {});
  const Cells& cells = *reference.step(step);
  std::string found;
  std::string referred;
  for (Index i = 0; i < cells.rows; ++i) {
    for (Index j = 0; j < cells.cols; ++j) {
      const char* separator = j > 0 ? " " : i > 0 ? " ; " : "";
      found += separator + trace.text(node, i, j, decimals);
      referred += separator + reference.shown(cells(i, j), decimals).text;
    }
  }
  CHECK(referred == expected);
  CHECK(found == expected);
}

}  // namespace

TEST_CASE("every printed digit is that of the true value, and ties go to the even one") {
  QKV_SAY_SEED();
  const long cells = cells_wanted();
  const long ties = cells / 20;
  constexpr int kMostProblems = 2'000;  // about 750 are enough
  Maker maker(30);
  Comparison comparison;
  const auto is_enough = [&] { return comparison.compared() >= cells && comparison.ties() >= ties; };
  for (int round = 1; round <= kMostProblems && !is_enough() && comparison.goes_on(); ++round) {
    CAPTURE(round);
    const Problem problem = maker.problem();
    std::vector<int> decimals{maker.decimals()};
    if (round % 2 == 0) decimals.push_back(maker.decimals());
    try {
      comparison.compare(problem, decimals, fmt::format("seed {}, problem {}", seed(), round));
    } catch (const Undecided& undecided) {
      FAIL("the reference is undecided, ", undecided.where, "\n", described(problem));
    }
  }
  CHECK(comparison.compared() >= cells);
  CHECK(comparison.ties() >= ties);
  if (cells < kUsualCells) return;  // too few for every op to occur
  for (const Op* op : ops::all()) {
    if (op == &ops::softmax || op == &ops::softmax_sink) continue;  // these tell of five others in short
    if (!is_of_one_head(*op)) continue;
    INFO("op ", std::string(op->name));
    CHECK(comparison.ops().contains(op->name));
  }
}

// ---- By hand ----------------------------------------------------------------------------------

// What random problems meet too seldom; the texts follow from the sentence above each.

TEST_CASE("products of decimals that lie in the middle go to the even neighbour") {
  // 0.015, 0.125, -0.125, and √2/8 · √2/2 = 0.125.
  check_texts(problem_at(Entry::qkv, {{"Q", rows_of("0.15 0 0 ; 0 0.25 0 ; 0 -0.25 0 ; 0 0 sqrt(2)/8")},
                                      {"K", rows_of("0.1 0.5 sqrt(2)/2")}}),
              "scores", 2, "0.02 ; 0.12 ; -0.12 ; 0.12");
  // 0.25 / √4 and 0.375·√2 / √2
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of("0.25 0.75")}, {"K", rows_of("1 0 ; 0 1")}});
  p.scale.d_k = written("4");
  check_texts(p, "scaled", 2, "0.12 0.38");
  Problem q = problem_at(Entry::qkv, {{"Q", rows_of("0.375*sqrt(2)")}, {"K", rows_of("1")}});
  q.scale.d_k = written("2");
  check_texts(q, "scaled", 2, "0.38");
}

TEST_CASE("an output a hair beside the middle goes to its side") {
  // 0.125 and 0.375, moved by about e^-1000 towards 1 or -1.
  check_texts(from_scores("0 -1000", "0.125 0.125 0.375 0.375 ; 1 -1 1 -1"), "output", 2,
              "0.13 0.12 0.38 0.37");
  check_texts(from_scores("0 -1000"), "weights", 15, "1.000000000000000 0.000000000000000");
  check_texts(from_scores("0 -1000"), "naive.exp", 3, "1.000 0.000");
}

TEST_CASE("an output beside the middle by less than any computer could write goes to its side") {
  // By e^-10000, e^-(10^16) and e^-(10^300): no precision settles it, only the sign of what is left.
  for (const char* scores : {"0 -10000", "0 -1e16", "0 -1e300"}) {
    CAPTURE(std::string(scores));
    check_texts(from_scores(scores, "0.125 0.125 0.375 0.375 ; 1 -1 1 -1"), "output", 2,
                "0.13 0.12 0.38 0.37");
    // Half the weight, less a hair.
    check_texts(from_scores(scores, "1 ; 0"), "output", 0, "1");
  }
}

TEST_CASE("scores that differ by a hair make no tie of their weights") {
  // 1/2 + 1e-300/4 and 1/2 − 1e-300/4.
  check_texts(from_scores("1e-300 0"), "weights", 0, "1 0");
  check_texts(from_scores("0 0"), "weights", 0, "0 0");
}

TEST_CASE("outputs whose groups of equal scores have the same mean are that mean") {
  // Means of 0.125 and of 0.375 over the keys 1, 2 and the keys 3, 4.
  check_texts(from_scores("0 0 1 1", "0 1 ; 0.25 -0.25 ; 0.2 0.3 ; 0.05 0.45"), "output", 2, "0.12 0.38");
  // A sink has the value 0: the mean 0 stays 0, and 0.125 becomes less.
  Problem p = from_scores("0 0 1 1", "1 0.25 ; -1 0 ; 2 0.125 ; -2 0.125");
  p.sink_logits = {written("-1000")};
  check_texts(p, "output", 2, "0.00 0.12");
  Problem q = from_scores("0 0 1 1", "0.5 ; 0.25 ; 0.375 ; 0.375");
  q.sink_logits = {written("-1000")};
  check_texts(q, "output", 2, "0.37");
  check_texts(from_scores("3 3 3 3 3 3 3 3"), "weights", 2, "0.12 0.12 0.12 0.12 0.12 0.12 0.12 0.12");
}

TEST_CASE("an output that is 1e15, or rounds to it, is written as 1e15 is") {
  check_texts(from_scores("0 1", "1e15 -1e15 ; 1e15 -1e15"), "output", 2, "1.00e+15 -1.00e+15");
  check_texts(from_scores("0 -1000", "1e15 1e15 ; 0 1e16"), "output", 2, "1.00e+15 1.00e+15");
}

TEST_CASE("the hard read takes the larger score where both weights are next to nothing") {
  // Beside a sink of 0 the weights are about e^-(10^10) and e^-(10^9).
  Problem p = from_scores("-1e10 -1e9", "3 ; 5");
  p.sink_logits = {written("0")};
  p.read = ReadKind::hard;
  check_texts(p, "output", 1, "5.0");
}

TEST_CASE("the hard read finds the key even where values are of different sizes") {
  Problem p = from_scores("-2e48 -1e48", "3.5e12 9.0e294 ; 9.0e294 3.5e12");
  p.sink_logits = {written("0")};
  p.read = ReadKind::hard;
  check_texts(p, "output", 2, "9.00e+294 3500000000000.00");
}

TEST_CASE("a tie between one digit and the next power of ten goes to the power of ten") {
  check_texts(problem_at(Entry::qkv, {{"Q", rows_of("-9.5e98 ; 9.5e98 ; 8.5e98")}, {"K", rows_of("1")}}),
              "scores", 0, "-1e+99 ; 1e+99 ; 8e+98");
}

TEST_CASE("a cap is never reached") {
  // 0.375·tanh(100000 / 0.375) is less than 0.375 by about e^-533333.
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("100000 -100000 400")}});
  p.softcap = written("0.375");
  check_texts(p, "capped", 2, "0.37 -0.37 0.37");
}

}  // namespace qkv::test

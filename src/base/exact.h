// Exact numbers: fractions, square roots and exponentials that are kept as such.
//
// Decimal inputs make real ties, 0.15 · 0.1 = 0.015, and real zeros, 1/√2 − 1/√2, which no
// interval can tell from values very near.  The kernels run on exact numbers as they run on
// doubles, and two theorems say when such a number is a given fraction:
//
//   Algebraic   c1·√r1 + c2·√r2 + …      is 0 only if no term is left; see base/algebraic.h;
//   Sum         a1·e^b1 + a2·e^b2 + …    is 0 only if no term is left once equal exponents are
//               merged: exponentials of different algebraic numbers are linearly independent
//               over the algebraic numbers (Lindemann and Weierstrass 1885);
//   Exact       Sum / Sum                equals a fraction f only if numerator − f · denominator is 0.
//
// So a weight is a fraction only where all scores of its row are equal, an output cell only where
// the mean of V over every group of equal scores is the same number; and nobody has to say so:
// merging equal terms finds it.
//
// What has no such form (√2 under another root, e^(e^x)), or too many terms, is unknown and stays so.
//
// This header is heavy; only the kernels and the runner include it.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/algebraic.h"
#include "base/matrix.h"
#include "base/number.h"

namespace qkv {

// Σ coefficient · e^exponent; no two exponents are equal, no coefficient is 0.
struct Exponential {
  Algebraic coefficient;
  Algebraic exponent;
};
using Sum = std::vector<Exponential>;

class Exact {
 public:
  // A decimal is a fraction too, and by far the quickest.
  enum class Kind { unknown, decimal, fraction, quotient, plus_infinity, minus_infinity };

  Exact() = default;  // 0
  Exact(int value) : digits_(value) {}
  Exact(double value);  // every finite double is a fraction
  explicit Exact(Rational value);
  explicit Exact(const Algebraic& value);
  static Exact unknown() { return Exact(Kind::unknown); }
  static Exact infinity(int sign) { return Exact(sign > 0 ? Kind::plus_infinity : Kind::minus_infinity); }

  Kind kind() const { return kind_; }
  bool is_finite() const { return is_rational() || kind_ == Kind::quotient; }
  bool is_rational() const { return kind_ == Kind::decimal || kind_ == Kind::fraction; }
  bool is_zero() const { return kind_ == Kind::decimal && digits_ == 0; }
  Rational rational() const;  // of a decimal or a fraction
  // Without exponentials; nullopt when there are some, or when nothing is known.
  std::optional<Algebraic> algebraic() const;
  // Both of a finite value.
  Sum numerator() const;
  Sum denominator() const;

  friend Exact operator-(const Exact& a);
  friend Exact operator+(const Exact& a, const Exact& b);
  friend Exact operator-(const Exact& a, const Exact& b) { return a + -b; }
  friend Exact operator*(const Exact& a, const Exact& b);
  friend Exact operator/(const Exact& a, const Exact& b);
  Exact& operator+=(const Exact& b);
  Exact& operator-=(const Exact& b) { return *this = *this - b; }

  friend Exact sqrt(const Exact& a);
  friend Exact exp(const Exact& a);
  friend Exact tanh(const Exact& a);
  // Known for one argument each; elsewhere they have no such form.
  friend Exact sin(const Exact& a) { return a.is_zero() ? Exact(0) : unknown(); }
  friend Exact cos(const Exact& a) { return a.is_zero() ? Exact(1) : unknown(); }
  friend Exact log(const Exact& a) { return a == 1 ? Exact(0) : unknown(); }

  // -1, 0 or 1, and that is certain, however close the two are; nullopt when one is unknown.
  friend std::optional<int> compare(const Exact& a, const Exact& b);
  friend bool operator==(const Exact& a, int b) { return compare(a, Exact(b)) == 0; }

  // digits / 10^places.
  static Exact decimal(long long digits, int places);
  friend std::optional<std::string> fixed_text(const Exact& x, int decimals);

 private:
  using SharedSum = std::shared_ptr<Sum>;  // null: 1; changed only by its single owner

  explicit Exact(Kind kind) : kind_(kind) {}
  static Exact quotient(Sum above, SharedSum below);
  SharedSum shared_numerator() const;
  bool has_denominator_of(const Exact& b) const;

  Kind kind_ = Kind::decimal;
  long long digits_ = 0;
  int places_ = 0;
  std::shared_ptr<const Rational> fraction_;  // not a short decimal, never 0
  SharedSum above_;
  SharedSum below_;
};

}  // namespace qkv

template <>
struct Eigen::NumTraits<qkv::Exact> : Eigen::GenericNumTraits<qkv::Exact> {
  enum {
    IsInteger = 0,
    IsSigned = 1,
    IsComplex = 0,
    RequireInitialization = 1,
    ReadCost = 10,
    AddCost = 50,
    MulCost = 50
  };
};

namespace qkv {

struct ExactMatrix : MatrixOf<Exact> {
  using MatrixOf<Exact>::MatrixOf;
  ExactMatrix(MatrixOf<Exact> m) : MatrixOf<Exact>(std::move(m)) {}
};

// The exact value of a number as written.  Symbols and blanks count as 0.
Exact exact_value(const Number& number);
// Of a decimal text as fixed_text writes it, or a decimal as written.
Exact exact_decimal(const std::string& text);

// The text of a fraction as base/decimal.h writes it; nullopt for other values, and from 1e15 on.
std::optional<std::string> fixed_text(const Exact& x, int decimals);

// "1/2", "1/√2", "3/2·√2", "e^(1/√2) / (2·e^(1/√2) + 1)"; empty when unknown or infinite.
std::string exact_text(const Exact& x);

// What kernels need; see base/scalar.h.  Of unknown numbers nothing is certain.
Exact larger(const Exact& a, const Exact& b);
bool is_plus_infinity(const Exact& x);
bool certainly_exceeds(const Exact& a, const Exact& b);
bool certainly_equals(const Exact& a, const Exact& b);
Exact hull(const Exact& a, const Exact& b);
Exact infinity_of(const Exact*, int sign);
Exact nan_of(const Exact*);

}  // namespace qkv

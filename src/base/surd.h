// Exact numbers: fractions times square roots, c·√r.
//
// Decimal inputs make real ties, 0.15 · 0.1 = 0.015, and real zeros, 1/√2 − 1/√2, which no
// interval can tell from values very near.  The kernels run on surds as they run on doubles;
// what is not of the form c·√r (√2 + √3, most exponentials) becomes unknown and stays so.
//
// This header is heavy; only the kernels and the runner include it.
#pragma once

#include <boost/multiprecision/gmp.hpp>

#include <Eigen/Core>
#include <string>
#include <utility>

#include "base/matrix.h"
#include "base/number.h"

namespace qkv {

using Rational = boost::multiprecision::mpq_rational;

class Surd {
 public:
  enum class Kind { unknown, finite, plus_infinity, minus_infinity };

  Surd() = default;  // 0
  Surd(int value) : coefficient_(value) {}
  Surd(double value);  // every finite double is a fraction
  explicit Surd(Rational value) : coefficient_(std::move(value)) {}
  static Surd unknown() { return Surd(Kind::unknown); }
  static Surd infinity(int sign) { return Surd(sign > 0 ? Kind::plus_infinity : Kind::minus_infinity); }

  Kind kind() const { return kind_; }
  bool is_finite() const { return kind_ == Kind::finite; }
  bool is_rational() const { return is_finite() && radicand_ == 1; }
  bool is_zero() const { return is_finite() && coefficient_ == 0; }
  // The value is coefficient · √radicand; radicand is a positive whole number.
  const Rational& coefficient() const { return coefficient_; }
  const Rational& radicand() const { return radicand_; }

  friend Surd operator-(const Surd& a);
  friend Surd operator+(const Surd& a, const Surd& b);
  friend Surd operator-(const Surd& a, const Surd& b) { return a + -b; }
  friend Surd operator*(const Surd& a, const Surd& b);
  friend Surd operator/(const Surd& a, const Surd& b);
  Surd& operator+=(const Surd& b) { return *this = *this + b; }
  Surd& operator-=(const Surd& b) { return *this = *this - b; }

  // Unknown, unless the result is a surd again.
  friend Surd sqrt(const Surd& a);
  friend Surd exp(const Surd& a);
  friend Surd tanh(const Surd& a);

  // -1, 0 or 1; both must be known.
  friend int compare(const Surd& a, const Surd& b);

 private:
  explicit Surd(Kind kind) : kind_(kind) {}
  static Surd of(const Rational& coefficient, const Rational& under_root);

  Kind kind_ = Kind::finite;
  Rational coefficient_ = 0;
  Rational radicand_ = 1;
};

inline bool operator==(const Surd& a, int b) { return a.is_rational() && a.coefficient() == b; }

}  // namespace qkv

template <>
struct Eigen::NumTraits<qkv::Surd> : Eigen::GenericNumTraits<qkv::Surd> {
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

struct SurdMatrix : MatrixOf<Surd> {
  using MatrixOf<Surd>::MatrixOf;
  SurdMatrix(MatrixOf<Surd> m) : MatrixOf<Surd>(std::move(m)) {}
};

// The exact value of a number as written.  Symbols and blanks count as 0.
Surd exact_value(const Number& number);
Surd exact_decimal(const std::string& text);

// Whether the value lies exactly between two neighbours with `decimals` digits after the point.
bool is_tie(const Surd& x, int decimals);

// What kernels need; see base/scalar.h.  Of unknown numbers nothing is certain.
Surd larger(const Surd& a, const Surd& b);
bool is_plus_infinity(const Surd& x);
bool certainly_exceeds(const Surd& a, const Surd& b);
Surd hull(const Surd& a, const Surd& b);
Surd infinity_of(const Surd*, int sign);
Surd nan_of(const Surd*);

}  // namespace qkv

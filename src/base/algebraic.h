// Algebraic numbers as sums of square roots, c1·√r1 + c2·√r2 + …, with fractions c and whole numbers r.
//
// Roots whose quotient is a fraction are merged, so that such a sum is 0 only if no term is left: roots of
// whole numbers without common square factors are linearly independent over the fractions (Besicovitch 1940).
#pragma once

#include <boost/multiprecision/gmp.hpp>

#include <optional>
#include <string>
#include <vector>

namespace qkv {

using Integer = boost::multiprecision::mpz_int;
using Rational = boost::multiprecision::mpq_rational;

class Algebraic {
 public:
  struct Term {
    Rational coefficient;  // not 0
    Integer radicand;      // positive; 1 in the term that is a fraction
    bool is_reduced;       // the radicand is certain to have no square factor
  };

  Algebraic() = default;  // 0
  Algebraic(Rational value);
  static Algebraic root(const Rational& of);  // of ≥ 0

  bool is_zero() const { return terms_.empty(); }
  bool is_rational() const { return terms_.empty() || (terms_.size() == 1 && terms_[0].radicand == 1); }
  Rational rational() const { return terms_.empty() ? Rational(0) : terms_[0].coefficient; }
  const std::vector<Term>& terms() const { return terms_; }
  std::optional<Algebraic> inverse() const;  // nullopt for more than two terms, and for 0

  friend Algebraic operator-(Algebraic a);
  friend Algebraic operator+(const Algebraic& a, const Algebraic& b);
  friend Algebraic operator-(const Algebraic& a, const Algebraic& b) { return a + -b; }
  friend Algebraic operator*(const Algebraic& a, const Algebraic& b);
  friend bool operator==(const Algebraic& a, const Algebraic& b);
  friend int sign(const Algebraic& a);

 private:
  void add(Term term);
  std::vector<Term> terms_;
};

// "√2", "1/√2", "3/2·√2", "2": one term without its sign.
std::string text_of_size(const Algebraic::Term& term);
// "1/√2" before, then " + 1/10" or " - 1/10".
std::string joined(const std::string& before, bool is_negative, const std::string& size);
// "1/√2 + 1/10"; "0".
std::string text_of(const Algebraic& x);

}  // namespace qkv

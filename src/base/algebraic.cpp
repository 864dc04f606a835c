#include "base/algebraic.h"

#include <algorithm>

#include "base/sign_search.h"

namespace qkv {
namespace {

// Square factors are looked for up to here; what remains under the root is still right, it is
// only not in its shortest form.
constexpr int kMostTrialDivisor = 1000;
// Without a prime factor up to 1000, and no square itself, a number below 1000³ has no square factor.
constexpr int kReducedBelow = 1'000'000'000;

std::optional<Integer> whole_root(const Integer& of) {
  const Integer root = boost::multiprecision::sqrt(of);
  if (root * root == of) return root;
  return std::nullopt;
}

}  // namespace

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

// ---- As text -----------------------------------------------------------------------------------

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

}  // namespace qkv

// Double-doubles: numbers of twice the digits of a double, each the sum of two doubles that nobody adds up.
//
// The one idea is that the rounding of a sum or a product of doubles is a double itself, and can be had
// (Møller and Knuth for sums, Dekker 1971 for products).  It is kept as the lower part.
//
// What each operation may lose, with u = 2^-53, hence |lo| ≤ u·|hi| of every number, and terms of third order
// paid for by the last digit shown:
//
//   add        of x + y: 4u²·(|x| + |y|).  Rounded are xl + yl, at most u·(|x| + |y|), and that plus the
//              rounding of xh + yh, at most 2u·(|x| + |y|): u² and 2u² of it.
//   multiply   of x·y: 9u²·|x·y|.  Left out is xl·yl, u²; rounded are xh·yl and xl·yh, u² each, their sum,
//              2u², and that plus the rounding of xh·yh, 3u².
//   divide     of x/y: 28u²·|x/y|.  The first digits q are the quotient of the upper parts, with 3u of it.
//              x − q·y is then off by 9u² for the product and 4·2u² for the difference; divided as a double,
//              which is at most 3u of the quotient, it loses 3u of that: 9u².
//   exp        36u² of e^x, and tanh 165u² of tanh x, see there.
//
// So each of the first three rounds by no more than kRounding = 32u², in the sense of the textbooks:
// fl(x ∘ y) = (x ∘ y)·(1 + δ), and of sums x·(1 + δ) + y·(1 + ε).  (Joldes, Muller and Popescu 2017, Tight
// and rigorous error bounds for basic building blocks of double-word arithmetic, have narrower bounds: 3u²,
// 5u² and 15u².)
//
// Underflow.  Sums of doubles do not underflow.  Of a product that does, the parts are off by at most 5η,
// η = 2^-1074 (Ogita, Rump and Oishi 2005, Accurate sum and dot product), and xh·yl and xl·yh by η/2 each:
// kLeast is more than that, than what a division loses, and than 256η for the argument of exp.  Overflow:
// splitting a double takes 2^27 times it; all stays in range while doubles and their products are below
// kMost.
//
// T: double, or a vector of doubles.  Always inlined, as base/exp.h.  Not for processors that compute doubles
// with more digits than they have, see kDoublesArePlain.
#pragma once

#include <cstdint>

#include "base/exp.h"

namespace qkv {

template <class T>
struct DoubleDoubleOf {
  T hi;  // the double nearest to the number
  T lo;  // the rest, at most half a unit in the last place of hi
};
using DoubleDouble = DoubleDoubleOf<double>;

namespace double_double {

inline constexpr double kRounding = 0x1p-101;
inline constexpr double kLeast = 0x1p-1060;
inline constexpr double kMost = 0x1p960;

// a + b = hi + lo exactly.  Knuth, The Art of Computer Programming 2, 4.2.2, theorem B.
template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> sum_of(T a, T b) {
  const T sum = a + b;
  const T of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// The same where |a| ≥ |b|, or either is zero.  Dekker 1971.
template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> sum_of_ordered(T a, T b) {
  const T sum = a + b;
  return {sum, b - (sum - a)};
}

// Two halves of at most 26 digits, one of them in the sign.  Veltkamp; Dekker 1971.
template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> halves(T a) {
  const T scaled = a * 134217729.0;  // 2^27 + 1
  const T upper = scaled - (scaled - a);
  return {upper, a - upper};
}

// a·b = hi + lo exactly, underflow aside.  No fused operation, which not every processor has.
template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> product_of(T a, T b) {
  const T product = a * b;
  const DoubleDoubleOf<T> x = halves(a);
  const DoubleDoubleOf<T> y = halves(b);
  return {product, x.lo * y.lo - (((product - x.hi * y.hi) - x.lo * y.hi) - x.hi * y.lo)};
}

template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> add(DoubleDoubleOf<T> x, DoubleDoubleOf<T> y) {
  const DoubleDoubleOf<T> upper = sum_of(x.hi, y.hi);
  return sum_of(upper.hi, upper.lo + (x.lo + y.lo));
}

template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> constant(double hi, double lo = 0) {
  return {T{} + hi, T{} + lo};
}

template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> negated(DoubleDoubleOf<T> x) {
  return {-x.hi, -x.lo};
}

template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> multiply(DoubleDoubleOf<T> x, DoubleDoubleOf<T> y) {
  const DoubleDoubleOf<T> upper = product_of(x.hi, y.hi);
  return sum_of_ordered(upper.hi, upper.lo + (x.hi * y.lo + x.lo * y.hi));
}

// By a power of two, exactly.
template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> scaled(DoubleDoubleOf<T> x, double by) {
  return {x.hi * by, x.lo * by};
}

// y ≠ 0
template <class T>
[[gnu::always_inline]] inline DoubleDoubleOf<T> divide(DoubleDoubleOf<T> x, DoubleDoubleOf<T> y) {
  const T first = x.hi / y.hi;
  const DoubleDoubleOf<T> rest = add(x, negated(multiply({first, T{}}, y)));
  return sum_of_ordered(first, rest.hi / y.hi);
}

[[gnu::always_inline]] inline bool exceeds(DoubleDouble x, DoubleDouble y) {
  return x.hi > y.hi || (x.hi == y.hi && x.lo > y.lo);
}

// Below it exp() is 0.
inline constexpr double kLeastExponent = -600;

// e^x = power·(1 + less_one) for kLeastExponent ≤ x ≤ 1.   B: std::uint64_t, or a vector of as many as T has
//
//   x = k·ln 2 + r,  k whole, |r| ≤ ½ ln 2                       t = r/256
//   p = e^t − 1 = t + t²·(1/2! + t/3! + t²/4! + …);  eight times  p ← 2p + p²,  which doubles t
//   e^x = 2^k·(1 + p)                                            power and less_one
//
// ln 2 is a sum of three; the first two have 42 digits, so that k, of at most 10, times them is exact, and
// what is left of the third is below 2^-139.  It is p that is squared: 1 + p would have lost its digits.
//
// Error, relative, in u²:
//   r    two sums of numbers below 0.37, absolute, and so relative of e^r                     3
//   p    at first: 4.1 for adding t, of the rest 0.1; the terms from t⁶ on are doubles, off by a few u, which
//   is
//        0.4 of t⁵/720; the terms left out, t⁹/10!, 0.4                                       5
//        each squaring: 4·1.18 for the sum of 2p and p², which may differ in sign, 0.8 for p²  5.5
//        all of which grow with the squarings that follow, by 1 + p/(2 + p) each, together by 1.2 at most:
//        1.2·(5 + 8·5.5) = 59 of p, and of 1 + p, where p ≥ −0.293, at most 59·0.293/0.707 =  25
//   1+p  4·(1 + 0.293)/0.707 =                                                                7.4
// together 36.
template <class T>
struct Exponential {
  DoubleDoubleOf<T> less_one;
  T power;
};

template <class T, class B>
[[gnu::always_inline]] inline Exponential<T> exponential_of(DoubleDoubleOf<T> x) {
  using Constants = exp_detail::Of<double>;
  constexpr int kSquarings = 8;
  const T zero{};
  const T whole = x.hi * Constants::kPerLn2 + Constants::kWhole;
  const T k = whole - Constants::kWhole;
  const DoubleDoubleOf<T> upper = sum_of(x.hi, k * -0x1.62e42fefa38p-1);
  const DoubleDoubleOf<T> lower = sum_of(x.lo, k * -0x1.ef35793c76p-45);
  const DoubleDoubleOf<T> r = add(add(upper, lower), {k * -0x1.cc01f97b57a08p-87, zero});
  const DoubleDoubleOf<T> t = scaled(r, 1.0 / (1 << kSquarings));

  const T tail = t.hi * (t.hi * (t.hi * (t.hi * (1.0 / 362880) + 1.0 / 40320) + 1.0 / 5040) + 1.0 / 720);
  DoubleDoubleOf<T> sum = add(constant<T>(0x1.1111111111111p-7, 0x1.1111111111111p-63), {tail, zero});
  sum = add(constant<T>(0x1.5555555555555p-5, 0x1.5555555555555p-59), multiply(sum, t));
  sum = add(constant<T>(0x1.5555555555555p-3, 0x1.5555555555555p-57), multiply(sum, t));
  sum = add(constant<T>(0.5), multiply(sum, t));
  DoubleDoubleOf<T> p = add(t, multiply(multiply(t, t), sum));
  for (int i = 0; i < kSquarings; ++i) p = add(scaled(p, 2), multiply(p, p));

  // The last bits of a number near 1.5·2^52 are a whole number.
  const B exponent = (__builtin_bit_cast(B, whole) + std::uint64_t{Constants::kBias}) << Constants::kDigits;
  return {p, __builtin_bit_cast(T, exponent)};
}

// e^x for x ≤ 1; 0 where x < kLeastExponent.
template <class T, class B>
[[gnu::always_inline]] inline DoubleDoubleOf<T> exp(DoubleDoubleOf<T> x) {
  const T zero{};
  const auto is_nothing = x.hi < zero + kLeastExponent;
  x.hi = is_nothing ? zero + kLeastExponent : x.hi;
  const Exponential<T> e = exponential_of<T, B>(x);
  const DoubleDoubleOf<T> sum = add(constant<T>(1), e.less_one);
  return {is_nothing ? zero : sum.hi * e.power, is_nothing ? zero : sum.lo * e.power};
}

// tanh x = −m/(2 + m) for x ≥ 0, where m = e^(−2x) − 1; tanh(−x) = −tanh x.
//
// Error, relative, in u².  Of m, where k = 0: 59, as r is x itself; else m ≤ −0.292, and what e^(−2x) ≤ 0.708
// is off by and the sum lose (36·0.708 + 4·1.708)/0.292 = 111.  The quotient makes at most 2/(2 + m) ≤ 1.18
// of it, the sum 2 + m adds 4·2.3/1.7, and the division 28: 165.
template <class T, class B>
[[gnu::always_inline]] inline DoubleDoubleOf<T> tanh(DoubleDoubleOf<T> x) {
  const T zero{};
  const auto is_negative = x.hi < zero;
  const DoubleDoubleOf<T> size{is_negative ? -x.hi : x.hi, is_negative ? -x.lo : x.lo};
  const DoubleDoubleOf<T> argument = scaled(size, -2);
  const auto is_limit = argument.hi < zero + kLeastExponent;
  const Exponential<T> e =
      exponential_of<T, B>({is_limit ? zero + kLeastExponent : argument.hi, argument.lo});
  const DoubleDoubleOf<T> sum = add(constant<T>(1), e.less_one);
  const DoubleDoubleOf<T> other = add(constant<T>(-1), DoubleDoubleOf<T>{sum.hi * e.power, sum.lo * e.power});
  const auto is_small = e.power == zero + 1.0;
  const DoubleDoubleOf<T> m{is_small ? e.less_one.hi : other.hi, is_small ? e.less_one.lo : other.lo};
  const DoubleDoubleOf<T> result = divide(m, add(constant<T>(2), m));
  return {is_negative ? result.hi : -result.hi, is_negative ? result.lo : -result.lo};
}

}  // namespace double_double

}  // namespace qkv

// e^x in a fixed list of additions and multiplications: the same bits on every processor, in every library,
// and in vectors of any width.  The C library's exp differs from one to the next, and has no vectors.
//
//   x = k·ln 2 + r,  k whole, |r| ≤ ½ ln 2        e^x = 2^k · e^r
//   e^r = 1 + (r + r²·(1/2! + r/3! + r²/4! + …))
//
// k is rounded by adding 1.5·2^52, above which doubles are whole numbers.  ln 2 is a sum of two: the first
// has so few digits that k times it, and x minus that, are exact; what is left of the second's rounding is
// below 2^-86.
//
// Error, in units in the last place of a result in [½, 1), where r < 0 (above 1 the unit is twice as large):
//   ½     rounding 1 + …
//   ¼     rounding r, which is below ½
//   ¼     rounding r + r²·(…), which is below ½
//   0.14  r²·(…), which is below 0.054: a few roundings of it
//   0.04  the terms left out: r^14/14! + … ≤ 4·10^-18
// together less than 1.2; in floats, with 7 terms, less than 1.3.  Where the result is below the smallest
// normal number, underflow is gradual, and half of the smallest number is added to that.  The last steps
// multiply by 2^k in two halves, each of which has an exponent.
//
// NaN → NaN, −∞ → 0, +∞ → +∞, ±0 → exactly 1.  Never above 1 for x ≤ 0.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

namespace qkv {
namespace exp_detail {

template <class T>
struct Of;

template <>
struct Of<double> {
  using Bits = std::uint64_t;
  static constexpr double kWhole = 0x1.8p52;
  static constexpr double kPerLn2 = 0x1.71547652b82fep0;  // 1 / ln 2
  static constexpr double kLn2High = 0x1.62e42fefa38p-1;  // 42 digits
  static constexpr double kLn2Low = 0x1.ef35793c7673p-45;
  static constexpr double kLeast = -746;  // e^x is below half of the smallest number
  static constexpr double kMost = 710;    // e^x is beyond the largest
  static constexpr int kDigits = 52, kBias = 1023;
  static constexpr double kTerms[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                      1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                      1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
};

template <>
struct Of<float> {
  using Bits = std::uint32_t;
  static constexpr float kWhole = 0x1.8p23F;
  static constexpr float kPerLn2 = 0x1.715476p0F;
  static constexpr float kLn2High = 0x1.62ep-1F;  // 12 digits
  static constexpr float kLn2Low = 0x1.0bfbe8p-15F;
  static constexpr float kLeast = -105;
  static constexpr float kMost = 89;
  static constexpr int kDigits = 23, kBias = 127;
  static constexpr float kTerms[] = {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 1.0F / 2};
};

// a·b + c in two roundings.  What may differ in its last digits (fast/, where it is asked for) rounds once.
struct Separate {
  template <class V>
  [[gnu::always_inline]] static inline V multiply_add(V a, V b, V c) {
    return a * b + c;
  }
};

enum class Range {
  any,
  small_negative,  // from −700 to 0, in floats from −80: no overflow, no underflow.  The bits are those of
                   // `any`.
};

// Of one number, or of each in a vector.   V: T or a vector of it; B: Bits, or a vector of as many.
// Always inlined: a copy that was compiled for one processor must not be called on another.
template <class T, class V, class B, Range kRange = Range::any, class Arithmetic = Separate>
[[gnu::always_inline]] inline V exp_of(V x) {
  using C = Of<T>;
  const V zero{};
  if constexpr (kRange == Range::any) {
    x = x < zero + C::kLeast ? zero + C::kLeast : x;  // NaN stays
    x = x > zero + C::kMost ? zero + C::kMost : x;
  }
  const V whole = Arithmetic::multiply_add(x, zero + C::kPerLn2, zero + C::kWhole);
  const V k = whole - C::kWhole;
  const V nearly = Arithmetic::multiply_add(k, zero - C::kLn2High, x);
  const V r = Arithmetic::multiply_add(k, zero - C::kLn2Low, nearly);

  V sum = zero + C::kTerms[0];
  for (std::size_t i = 1; i < sizeof C::kTerms / sizeof C::kTerms[0]; ++i) {
    sum = Arithmetic::multiply_add(sum, r, zero + C::kTerms[i]);
  }
  const V result = Arithmetic::multiply_add(r * r, sum, r) + T(1);

  // The last bits of a number near 1.5·2^52 are a whole number.
  if constexpr (kRange == Range::small_negative) {
    return __builtin_bit_cast(V,
                              __builtin_bit_cast(B, result) + (__builtin_bit_cast(B, whole) << C::kDigits));
  }
  const V half = k * T(0.5) + C::kWhole;
  const B half_bits = __builtin_bit_cast(B, half);
  const B rest_bits = __builtin_bit_cast(B, whole) - half_bits;
  const B first = (half_bits + static_cast<typename C::Bits>(C::kBias)) << C::kDigits;
  const B second = (rest_bits + static_cast<typename C::Bits>(C::kBias)) << C::kDigits;
  return result * __builtin_bit_cast(V, first) * __builtin_bit_cast(V, second);
}

}  // namespace exp_detail

// Where doubles are computed with more digits than they have, adding 1.5·2^52 does not round to a whole
// number.
inline double exp(double x) {
#if FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 16
  return exp_detail::exp_of<double, double, std::uint64_t>(x);
#else
  return std::exp(x);
#endif
}

}  // namespace qkv

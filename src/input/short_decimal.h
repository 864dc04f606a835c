// The double nearest to a short decimal, without a library.
#pragma once

#include <array>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace qkv {

// Decimals of at most so many digits have doubles of their own: no two of them have the same.
inline constexpr std::size_t kDigitsOfDoubles = 15;
// Up to here every whole number is a double.
inline constexpr std::uint64_t kWholeDoubles = std::uint64_t{1} << 53U;
inline constexpr std::array kPowersOfTen{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // doubles, exactly
inline constexpr std::size_t kMostShortDecimals = kPowersOfTen.size() - 1;

// digits · 10^-decimals.  Both are doubles, and the quotient of two doubles is rounded once (Clinger 1990).
//   digits    at most kWholeDoubles
//   decimals  at most kMostShortDecimals
inline double short_decimal(std::uint64_t digits, std::size_t decimals) {
#if FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 16
  return static_cast<double>(digits) / kPowersOfTen[decimals];
#else  // an x87, which would round it twice
  return std::strtod((std::to_string(digits) + "e-" + std::to_string(decimals)).c_str(), nullptr);
#endif
}

}  // namespace qkv

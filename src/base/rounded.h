// Arithmetic in a small floating-point format, as a graphics card does it, but the same everywhere.
//
// Every operation, exp and tanh too, gives the number of the format that is nearest to the true
// result of its operands, ties to even; with subnormals, -0, and ±inf beyond the largest.  No
// processor and no C library has a say in it.
//
// The format is that of the innermost FormatScope; kFp64 without one.
#pragma once

#include <Eigen/Core>

#include <array>
#include <string>
#include <utility>

#include "base/matrix.h"
#include "base/number.h"

namespace qkv {

// Numbers ±1.bbb·2^e with `digits` binary digits in all, and the subnormals below them.
struct FloatFormat {
  const char* name;
  int digits;
  int least_exponent;  // of the smallest normal number
  int most_exponent;   // of the largest number
};

inline constexpr std::array<FloatFormat, 4> kFloatFormats{{
    {"fp16", 11, -14, 15},
    {"bf16", 8, -126, 127},
    {"fp32", 24, -126, 127},
    {"fp64", 53, -1022, 1023},
}};
inline constexpr const FloatFormat& kFp16 = kFloatFormats[0];
inline constexpr const FloatFormat& kBf16 = kFloatFormats[1];
inline constexpr const FloatFormat& kFp32 = kFloatFormats[2];
inline constexpr const FloatFormat& kFp64 = kFloatFormats[3];

// Operations of this thread round to this format until the scope ends.  Numbers made in another format keep
// their value; they must not be operands unless the new format has them too.
class FormatScope {
 public:
  explicit FormatScope(const FloatFormat& format);
  ~FormatScope();
  FormatScope(const FormatScope&) = delete;
  FormatScope& operator=(const FormatScope&) = delete;

  static const FloatFormat& current();

 private:
  const FloatFormat* before_;
};

class Rounded {
 public:
  Rounded() = default;  // 0
  Rounded(int value);
  Rounded(double value);
  // Decimal text, rounded once: 0.1 need not be a double first.
  static Rounded of_decimal(const std::string& text);

  double value() const { return value_; }

  friend Rounded operator-(const Rounded& a);
  friend Rounded operator+(const Rounded& a, const Rounded& b);
  friend Rounded operator-(const Rounded& a, const Rounded& b);
  friend Rounded operator*(const Rounded& a, const Rounded& b);
  friend Rounded operator/(const Rounded& a, const Rounded& b);
  Rounded& operator+=(const Rounded& b) { return *this = *this + b; }
  Rounded& operator-=(const Rounded& b) { return *this = *this - b; }

  friend Rounded sqrt(const Rounded& a);
  friend Rounded exp(const Rounded& a);
  friend Rounded tanh(const Rounded& a);
  friend Rounded sin(const Rounded& a);
  friend Rounded cos(const Rounded& a);
  friend Rounded log(const Rounded& a);

 private:
  static Rounded already(double value);  // a number of the format

  double value_ = 0;
};

inline bool operator==(const Rounded& a, int b) { return a.value() == b; }

}  // namespace qkv

template <>
struct Eigen::NumTraits<qkv::Rounded> : Eigen::GenericNumTraits<qkv::Rounded> {
  enum {
    IsInteger = 0,
    IsSigned = 1,
    IsComplex = 0,
    RequireInitialization = 1,
    ReadCost = 1,
    AddCost = 50,
    MulCost = 50
  };
};

namespace qkv {

// A type of its own, like IntervalMatrix.
struct RoundedMatrix : MatrixOf<Rounded> {
  using MatrixOf<Rounded>::MatrixOf;
  RoundedMatrix(MatrixOf<Rounded> m) : MatrixOf<Rounded>(std::move(m)) {}
};

// A number as written, every operation of an expression rounded.  Symbols and blanks count as 0.
Rounded rounded_value(const Number& number);

// What kernels need; see base/scalar.h.
Rounded larger(const Rounded& a, const Rounded& b);
bool is_plus_infinity(const Rounded& x);
bool certainly_exceeds(const Rounded& a, const Rounded& b);
Rounded hull(const Rounded& a, const Rounded& b);
Rounded infinity_of(const Rounded*, int sign);
Rounded nan_of(const Rounded*);

}  // namespace qkv

#include "base/fixed.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace qkv {
namespace {

constexpr std::array kPowers{1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,
                             1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17};  // exact doubles

constexpr char kSpaces[] = "                                ";
static_assert(sizeof(kSpaces) > FixedDecimals::kMostBehind);

// "00" "01" … "99"
constexpr std::array<char, 200> kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

template <class Unsigned>
char* pair_before(char* end, Unsigned& digits) {
  const std::size_t last = static_cast<std::size_t>(digits % 100);
  digits /= 100;
  end[-2] = kPairs[2 * last];
  end[-1] = kPairs[2 * last + 1];
  return end - 2;
}

// Inlined where `decimals` is a constant, its loop is gone.
template <class Unsigned>
[[gnu::always_inline]] inline char* digits_before(char* end, Unsigned digits, int decimals) {
  int left = decimals;
  for (; left >= 2; left -= 2) end = pair_before(end, digits);
  if (left > 0) {
    *--end = static_cast<char>('0' + digits % 10);
    digits /= 10;
  }
  if (decimals > 0) *--end = '.';
  while (digits >= 100) end = pair_before(end, digits);
  if (digits >= 10) return pair_before(end, digits);
  *--end = static_cast<char>('0' + digits);
  return end;
}

}  // namespace

FixedDecimals::FixedDecimals(int decimals)
    : decimals_(decimals),
      power_(kPowers[static_cast<std::size_t>(decimals)]),
      // From 10^15 on numbers are written with an exponent.
      limit_(std::min(0x1p51, 0.999e15 * power_)) {}

// With X within α + ρ|x| of the value x, and p = 10^decimals: t is off by at most 2^-53·|t| from x·p, and so
// X·p is within α·p + (ρ + 2^-53)·|t| of t, the few roundings of that sum aside.  Where it stays on this side
// of the half between q and its neighbour, X is written with the digits of q.  t − q is exact.
void FixedDecimals::find_open(const double* values, std::size_t count, const RowBound& bound,
                              std::vector<Index>& open) const {
  constexpr std::size_t kLanes = 8;  // numbers that are looked at together, so that vectors can be used
  constexpr std::size_t kBlock = 8 * kLanes;
  const double fixed = bound.absolute * power_ * (1 + 0x1p-20) + 0x1p-60;
  const double part = bound.relative * (1 + 0x1p-20) + 0x1p-52;
  const double power = power_;
  const double limit = limit_;
  const auto is_open = [=](double value) {
    const double t = value * power;
    const double to_half = 0.5 - std::abs(t - nearest(t));
    return !(to_half > fixed + std::abs(t) * part) || !(std::abs(t) < limit);
  };
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t end = std::min(count, begin + kBlock);
    if (end - begin == kBlock) {
      // How near to a half the nearest of each lane comes; 1 where a number is too large, or none.
      double nearness[kLanes] = {};
      for (std::size_t i = begin; i < end; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const double t = values[i + lane] * power;
          const double size = std::abs(t);
          const double own = std::abs(t - nearest(t)) + size * part;
          const double near = size < limit ? own : 1;
          nearness[lane] = near > nearness[lane] ? near : nearness[lane];
        }
      }
      // is_open() rounds otherwise, by less than 2^-50.
      if (0.5 - *std::max_element(nearness, nearness + kLanes) > fixed + 0x1p-50) continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (is_open(values[i])) open.push_back(static_cast<Index>(i));
    }
  }
}

namespace {

[[gnu::always_inline]] inline char* number_before(char* end, double units, int decimals) {
  const double size = std::abs(units);
  if (size < 0x1p31) {
    end = digits_before(end, static_cast<std::uint32_t>(static_cast<std::int32_t>(size)), decimals);
  } else {
    end = digits_before(end, static_cast<std::uint64_t>(size), decimals);
  }
  if (units < 0) *--end = '-';
  return end;
}

}  // namespace

char* FixedDecimals::write_before(char* end, double units) const {
  return number_before(end, units, decimals_);
}

char* FixedDecimals::write_columns(char* at, const double* values, const std::size_t* widths,
                                   std::size_t count) const {
  const auto write = [&](int decimals) __attribute__((always_inline)) {
    const double power = power_;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t width = widths[i];
      std::memcpy(at, kSpaces, kMostBehind);  // two instructions
      if (width > kMostBehind) std::memset(at + kMostBehind, ' ', width - kMostBehind);
      at += width;
      number_before(at, nearest(values[i] * power), decimals);
    }
  };
  // As constants, the usual ones are twice as quick.
  switch (decimals_) {
    case 2:
      write(2);
      break;
    case 3:
      write(3);
      break;
    case 4:
      write(4);
      break;
    case 6:
      write(6);
      break;
    default:
      write(decimals_);
      break;
  }
  return at;
}

// A product and a sum, rounded once: less than a half is less than a half in truth.
std::optional<std::string> FixedDecimals::exact_text(double value) const {
  const double whole = units(value);
  if (!(std::abs(whole) < limit_) || !(std::abs(std::fma(value, power_, -whole)) < 0.5)) return std::nullopt;
  std::array<char, kMostCharacters> text;
  char* const end = text.data() + text.size();
  return std::string(write_before(end, whole), end);
}

std::size_t FixedDecimals::width(double units) const {
  std::array<char, kMostCharacters> text;
  char* const end = text.data() + text.size();
  return static_cast<std::size_t>(end - write_before(end, units));
}

}  // namespace qkv

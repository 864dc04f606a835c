// An x87 computes doubles with more digits than they have.  CMakeLists.txt compiles this file, and what it
// tests, for one: numbers must be read and written there as the C library reads and writes them.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/decimal.h"
#include "base/fixed.h"
#include "input/short_decimal.h"

static_assert(FLT_EVAL_METHOD == 2, "this is no x87");

namespace {

int faults = 0;

void expect(const std::string& found, const std::string& wanted) {
  if (found == wanted) return;
  ++faults;
  std::printf("%s, and not %s\n", found.c_str(), wanted.c_str());
}

std::string printed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return qkv::without_negative_zero(text);
}

void check_writing(double value) {
  for (const int decimals : {0, 2, 4, 9}) {
    expect(qkv::fixed_text(value, decimals), printed(value, decimals));
    const qkv::FixedDecimals fixed(decimals);
    std::vector<qkv::Index> open;
    fixed.find_open(&value, 1, {0, 0}, open);
    if (!open.empty()) continue;
    char text[64];
    char* const end = text + sizeof text;
    expect(std::string(fixed.write_before(end, fixed.units(value)), end), printed(value, decimals));
  }
}

void check_reading(std::uint64_t digits, std::size_t decimals) {
  const std::string text = std::to_string(digits) + "e-" + std::to_string(decimals);
  const double read = qkv::short_decimal(digits, decimals);
  expect(qkv::shortest_text(read), qkv::shortest_text(std::strtod(text.c_str(), nullptr)));
}

}  // namespace

int main() {
  std::mt19937_64 bits(1);
  for (int i = 0; i < 20000; ++i) {
    const auto whole = static_cast<double>(bits() % 2000001) - 1e6;
    check_writing(whole / 1000);
    check_writing(std::ldexp(whole, -static_cast<int>(bits() % 40)));
    check_reading(bits() % 1'000'000'000'000'000, bits() % 23);
  }
  return faults == 0 ? 0 : 1;
}

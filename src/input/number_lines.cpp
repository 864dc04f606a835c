#include "input/number_lines.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "input/short_decimal.h"

namespace qkv {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// ---- Eight characters at a time ----------------------------------------------------------------

// A word holds eight characters, or the digits that they stand for, the first in its lowest byte.
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kEachByte = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x80 * kEachByte;
constexpr std::uint64_t kPoint = '.' ^ '0';  // where a digit should be

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, kWord);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// A high bit for each byte that is at least `least`, 1 to 128; others are left over from no byte to the next.
std::uint64_t bytes_from(std::uint64_t word, std::uint64_t least) {
  return (((word & ~kHighBits) + (0x80 - least) * kEachByte) | word) & kHighBits;
}

std::size_t first_byte(std::uint64_t high_bits) {
  return static_cast<std::size_t>(std::countr_zero(high_bits)) / 8;
}

// The first `count` characters as digits that stand last, behind zeros.   1 ≤ count ≤ 8
std::uint64_t last_digits(std::uint64_t word, std::size_t count) {
  return (word ^ '0' * kEachByte) << 8 * (kWord - count);
}

// The whole number that eight digits make: of neighbours first, then of pairs, then of fours.
std::uint64_t number_of_digits(std::uint64_t word) {
  constexpr std::uint64_t kPairs = 0x000000ff000000ff;
  word = word * 10 + (word >> 8U);
  const std::uint64_t odd = (word & kPairs) * (100 + (std::uint64_t{1'000'000} << 32U));
  const std::uint64_t even = ((word >> 16U) & kPairs) * (1 + (std::uint64_t{10'000} << 32U));
  return (odd + even) >> 32U;
}

// Eight digits, of which one may be a point.
struct Digits {
  std::uint64_t word;
  bool has_point = false;
  std::size_t behind = 0;  // the point

  // False when anything else is among them.
  bool take_out_point() {
    const std::uint64_t others = bytes_from(word, 10);
    if (others == 0) return true;
    const std::size_t at = first_byte(others);
    if ((others & (others - 1)) != 0 || (word >> 8 * at & 0xff) != kPoint) return false;
    const std::uint64_t from_point = ~std::uint64_t{0} << 8 * at;
    word = (word & from_point << 8U) | (word & ~from_point) << 8U;
    has_point = true;
    behind = kWord - 1 - at;
    return true;
  }
};

static_assert(kBehindLines >= 2 * kWord);

// ---- Lines -------------------------------------------------------------------------------------

class LineReader {
 public:
  // Room for as many as there can be.
  explicit LineReader(double* values) : values_(values) {}

  const NumberLines& found() const { return found_; }

  // False as soon as something is not a plain number, or a row has another length.
  bool add(const char* at, const char* end) {
    while (at < end) {
      while (is_blank(*at)) ++at;
      if (*at == '\r' && at[1] == '\n') ++at;
      if (*at == '\n') {
        (found_.rows > 0 ? found_.is_ended : found_.begins_apart) = true;
        ++at;
        continue;
      }
      if (*at == '#') {
        at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))) + 1;
        continue;
      }
      if (found_.is_ended) return false;  // an empty line between rows: several matrices
      double* const first = values_ + found_.count;
      double* value = first;
      do {
        at = number(at, *value);
        if (at == nullptr) return false;
        ++value;
        if (*at == ' ' && at[1] > ' ') {
          ++at;
          continue;
        }
        if (!is_blank(*at) && *at != '\n' && *at != '\r') return false;
        while (is_blank(*at)) ++at;
        if (*at == '\r' && at[1] == '\n') ++at;
      } while (*at != '\n');
      ++at;
      const std::ptrdiff_t width = value - first;
      if (found_.rows++ == 0) found_.cols = width;
      if (width != found_.cols) return false;
      found_.count += static_cast<std::size_t>(width);
    }
    return true;
  }

 private:
  // Where the number ends; null when there is none, or one that is longer than 16 characters, or has more
  // than 15 digits, or an exponent.
  //
  // The next number can be begun when the end of this one is known: that is looked for first, by itself, and
  // what the characters say is worked out meanwhile.
  static const char* short_number(const char* at, double& value) {
    std::uint64_t blanks = ~bytes_from(word_at(at), ' ' + 1) & kHighBits;
    const char* end = at;
    if (blanks == 0) {
      end += kWord;
      blanks = ~bytes_from(word_at(end), ' ' + 1) & kHighBits;
      if (blanks == 0) return nullptr;
    }
    end += first_byte(blanks);
    const bool is_negative = *at == '-';
    at += is_negative ? 1 : 0;
    const auto count = static_cast<std::size_t>(end - at);
    const bool is_one_word = count <= kWord;
    if (count == 0) return nullptr;
    Digits digits{last_digits(word_at(at), is_one_word ? count : kWord)};
    if (!digits.take_out_point() || (digits.has_point && count == 1)) return nullptr;
    std::uint64_t whole = number_of_digits(digits.word);
    std::size_t behind = digits.behind;
    if (!is_one_word) {
      Digits more{last_digits(word_at(at + kWord), count - kWord)};
      if (!more.take_out_point() || digits.has_point + more.has_point + kDigitsOfDoubles < count)
        return nullptr;
      static constexpr std::array<std::uint64_t, kWord + 1> kPowers{
          1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
      if (digits.has_point && more.has_point) return nullptr;
      whole = whole * kPowers[count - kWord - more.has_point] + number_of_digits(more.word);
      behind = digits.has_point ? behind + count - kWord : more.behind;
    }
    value = with_sign(is_negative && whole != 0, short_decimal(whole, behind));
    return end;
  }

  const char* number(const char* at, double& value) {
    const char* const end = short_number(at, value);
    return end != nullptr ? end : any_number(at, value);
  }

  // Without a branch, which of random signs would be taken wrongly half of the time.
  static double with_sign(bool is_negative, double size) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | static_cast<std::uint64_t>(is_negative)
                                                                          << 63U);
  }

  const char* any_number(const char* at, double& value) {
    const bool is_negative = *at == '-';
    if (*at == '-' || *at == '+') ++at;
    const char* const begin = at;
    std::uint64_t whole = 0;
    for (; is_digit(*at); ++at) whole = whole * 10 + static_cast<std::uint64_t>(*at - '0');
    std::ptrdiff_t decimals = 0;
    if (*at == '.') {
      const char* const point = at++;
      for (; is_digit(*at); ++at) whole = whole * 10 + static_cast<std::uint64_t>(*at - '0');
      decimals = at - point - 1;
      if (at - begin == 1) return nullptr;  // "."
    }
    const std::ptrdiff_t length = at - begin;
    if (length == 0) return nullptr;
    const bool has_exponent = *at == 'e' || *at == 'E';
    // Beyond 19 characters `whole` may have wrapped around.
    if (has_exponent || length > 19 || whole > kWholeDoubles)
      return long_number(begin, at, is_negative, value);
    if (length > static_cast<std::ptrdiff_t>(kDigitsOfDoubles)) count_digits(begin, at);
    const double size = short_decimal(whole, static_cast<std::size_t>(decimals));
    value = is_negative && size != 0 ? -size : size;  // no −0: it is the number 0
    return at;
  }

  const char* long_number(const char* begin, const char* at, bool is_negative, double& value) {
    count_digits(begin, at);
    if (*at == 'e' || *at == 'E') {
      ++at;
      if (*at == '-' || *at == '+') ++at;
      const char* const exponent = at;
      while (is_digit(*at)) ++at;
      if (at == exponent) return nullptr;
    }
    double size = 0;
    const auto [end, fault] = std::from_chars(begin, at, size);
    if (fault != std::errc{} || end != at || !std::isfinite(size)) return nullptr;
    // 1e-320: a double with fewer digits than it takes to tell decimals apart
    if (size != 0 && std::abs(size) < 0x1p-1000) found_.are_short = false;
    value = is_negative && size != 0 ? -size : size;
    return at;
  }

  void count_digits(const char* begin, const char* end) {
    while (begin < end && (*begin == '0' || *begin == '.')) ++begin;
    const auto digits = std::count_if(begin, end, is_digit);
    if (digits > static_cast<std::ptrdiff_t>(kDigitsOfDoubles)) found_.are_short = false;
  }

  double* values_;
  NumberLines found_;
};

}  // namespace

bool NumberLines::add(const NumberLines& next) {
  if (rows > 0 && next.begins_apart) is_ended = true;
  if (next.rows > 0 && (is_ended || (rows > 0 && cols != next.cols))) return false;
  if (next.rows > 0) cols = next.cols;
  count += next.count;
  rows += next.rows;
  is_ended = is_ended || next.is_ended;
  are_short = are_short && next.are_short;
  return true;
}

std::optional<NumberLines> read_number_lines(const char* begin, const char* end, double* values) {
  LineReader reader(values);
  return reader.add(begin, end) ? std::optional(reader.found()) : std::nullopt;
}

}  // namespace qkv

#include "input/plain_numbers.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "input/short_decimal.h"
#include "input/words.h"

namespace qkv {
namespace {

constexpr std::size_t kLongest = 100;  // characters of a number; longer ones are read with more care

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class PlainNumbers {
 public:
  explicit PlainNumbers(const MatrixPlace& place)
      : text_(std::string_view(place.source->text).substr(0, place.body.end)), at_(place.body.begin) {}

  std::optional<MatrixText> read() {
    if (!is_worth_a_try()) return std::nullopt;
    while (at_ < text_.size()) {
      if (!line()) return std::nullopt;
    }
    if (result_.rows == 0) return std::nullopt;
    return std::move(result_);
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\n'; }

  // Makes room for as many numbers as the first line lets expect.  False where it holds more than numbers.
  bool is_worth_a_try() {
    const std::string_view body = text_.substr(at_);
    const std::size_t begin = body.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return false;
    const std::string_view line = body.substr(begin, body.find('\n', begin) - begin);
    if (line.find_first_not_of("0123456789.+- \t\r") != std::string_view::npos) return false;
    std::size_t words = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      words += !is_white(line[i]) && (i == 0 || is_white(line[i - 1]));
    const std::size_t expected = words * (body.size() / (line.size() + 1) + 2);
    if (expected > static_cast<std::size_t>(kMostCells)) return false;
    result_.cells.reserve(expected);
    result_.cell_spans.reserve(expected);
    return true;
  }

  bool line() {
    const std::size_t before = result_.cells.size();
    Span row{at_, at_};
    for (;;) {
      while (is_white(here())) ++at_;
      if (here() == '\n') break;
      if (result_.cells.size() == before) row.begin = at_;
      if (!number()) return false;
      row.end = at_;
    }
    ++at_;
    const auto width = static_cast<Index>(result_.cells.size() - before);
    if (width == 0) return true;  // an empty line
    if (result_.rows > 0 && width != result_.cols) return false;
    ++result_.rows;
    result_.cols = width;
    result_.row_spans.push_back(row);
    return result_.cells.size() <= static_cast<std::size_t>(kMostCells);
  }

  bool number() {
    const std::size_t begin = at_;
    const bool is_negative = here() == '-';
    if (here() == '-' || here() == '+') ++at_;
    std::uint64_t digits = 0;
    const std::size_t first = at_;
    for (; is_digit(here()); ++at_) digits = digits * 10 + static_cast<std::uint64_t>(here() - '0');
    std::size_t count = at_ - first;
    std::size_t decimals = 0;
    if (here() == '.') {
      const std::size_t point = at_++;
      for (; is_digit(here()); ++at_) digits = digits * 10 + static_cast<std::uint64_t>(here() - '0');
      decimals = at_ - point - 1;
      count += decimals;
    }
    if (count == 0 || at_ - begin > kLongest || !(is_white(here()) || here() == '\n')) return false;
    Number& number = result_.cells.emplace_back();
    number.text.assign(text_.data() + begin, at_ - begin);
    number.decimals = static_cast<int>(decimals);
    // Of more digits `digits` has lost some.
    const double size = count <= kDigitsOfDoubles
                            ? short_decimal(digits, decimals)
                            : std::strtod(number.text.c_str() + (first - begin), nullptr);
    number.value = is_negative && size != 0 ? -size : size;  // no −0: it is the number 0
    result_.cell_spans.push_back({begin, at_});
    return true;
  }

  std::string_view text_;  // up to the end of the body
  std::size_t at_;
  MatrixText result_;
};

}  // namespace

std::optional<MatrixText> read_plain_numbers(const MatrixPlace& place) { return PlainNumbers(place).read(); }

}  // namespace qkv

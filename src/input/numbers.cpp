#include "input/numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "input/npy.h"
#include "input/short_decimal.h"

namespace qkv {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;         // bytes of one read(2)
constexpr std::size_t kLongestLine = std::size_t{64} << 20U;  // bytes; a file of one row has no more
constexpr off_t kWorthTwoThreads = off_t{8} << 20U;           // bytes

class File {
 public:
  explicit File(const std::string& name) : fd_(open(name.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Of a regular file; -1 for anything else: a pipe could be read only once.
  off_t size() const {
    struct stat status {};
    return fd_ >= 0 && fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : -1;
  }
  // Fewer bytes than asked for at the end alone; -1 on an error.
  std::ptrdiff_t read_at(off_t from, char* into, std::size_t bytes) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t count = pread(fd_, into + done, bytes - done, from + static_cast<off_t>(done));
      if (count < 0) return -1;
      if (count == 0) break;
      done += static_cast<std::size_t>(count);
    }
    return static_cast<std::ptrdiff_t>(done);
  }

 private:
  int fd_;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The values of some lines, as many a line as in the first.
class Rows {
 public:
  // room  at least as many numbers as there can be; what is not used costs nothing but addresses
  explicit Rows(std::size_t room) : values_(static_cast<double*>(std::malloc(room * sizeof(double)))) {}

  bool has_memory() const { return values_ != nullptr; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  std::size_t count() const { return count_; }
  bool is_ended() const { return is_ended_; }
  bool are_short() const { return are_short_; }
  double* values() { return values_.get(); }
  auto take() { return std::move(values_); }

  // Whole lines.   [at, end)  with a line feed before `end`, and a readable byte at it
  // False as soon as something is not a plain number, or a row has another length.
  bool add(const char* at, const char* end) {
    while (at < end) {
      while (is_blank(*at)) ++at;
      if (*at == '\r' && at[1] == '\n') ++at;
      if (*at == '\n') {
        is_ended_ = is_ended_ || rows_ > 0;
        ++at;
        continue;
      }
      if (*at == '#') {
        at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))) + 1;
        continue;
      }
      if (is_ended_) return false;  // an empty line between rows: several matrices
      const std::size_t first = count_;
      do {
        at = number(at, values_[count_]);
        if (at == nullptr) return false;
        ++count_;
        if (!is_blank(*at) && *at != '\n' && *at != '\r') return false;
        while (is_blank(*at)) ++at;
        if (*at == '\r' && at[1] == '\n') ++at;
      } while (*at != '\n');
      ++at;
      const auto width = static_cast<Index>(count_ - first);
      if (rows_++ == 0) cols_ = width;
      if (width != cols_) return false;
    }
    return true;
  }

 private:
  // Where the number ends; null when there is none.
  const char* number(const char* at, double& value) {
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
      return any_number(begin, at, is_negative, value);
    if (length > static_cast<std::ptrdiff_t>(kDigitsOfDoubles)) count_digits(begin, at);
    const double size = short_decimal(whole, static_cast<std::size_t>(decimals));
    value = is_negative && size != 0 ? -size : size;  // no −0: it is the number 0
    return at;
  }

  const char* any_number(const char* begin, const char* at, bool is_negative, double& value) {
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
    if (size != 0 && std::abs(size) < 0x1p-1000) are_short_ = false;
    value = is_negative && size != 0 ? -size : size;  // no −0: it is the number 0
    return at;
  }

  void count_digits(const char* begin, const char* end) {
    while (begin < end && (*begin == '0' || *begin == '.')) ++begin;
    const auto digits = std::count_if(begin, end, is_digit);
    if (digits > static_cast<std::ptrdiff_t>(kDigitsOfDoubles)) are_short_ = false;
  }

  std::unique_ptr<double[], Numbers::Free> values_;
  std::size_t count_ = 0;
  Index rows_ = 0;
  Index cols_ = 0;
  bool is_ended_ = false;  // by an empty line
  bool are_short_ = true;
};

// The lines that begin in [from, to), `from` being the beginning of one.
bool read_lines(const File& file, off_t from, off_t to, Rows& rows) {
  std::string block;
  std::size_t kept = 0;  // bytes at the front that are the beginning of a line
  while (from < to) {
    block.resize(kept + kBlock + 2);
    const auto wanted = static_cast<std::size_t>(std::min<off_t>(static_cast<off_t>(kBlock), to - from));
    const std::ptrdiff_t count = file.read_at(from, block.data() + kept, wanted);
    if (count <= 0) return false;  // cut short while it was read
    from += static_cast<off_t>(count);
    std::size_t size = kept + static_cast<std::size_t>(count);
    if (from == to && block[size - 1] != '\n') block[size++] = '\n';
    block[size] = '\0';
    const std::size_t end = std::string_view(block.data(), size).rfind('\n');
    if (end == std::string_view::npos) {
      if (size > kLongestLine) return false;
      kept = size;
      continue;
    }
    if (!rows.add(block.data(), block.data() + end + 1)) return false;
    kept = size - end - 1;
    std::memmove(block.data(), block.data() + end + 1, kept);
  }
  return true;
}

// Of a file, where the line begins that holds byte `at`, or the next one.
off_t line_beginning(const File& file, off_t at) {
  std::array<char, 4096> block{};
  while (true) {
    const std::ptrdiff_t count = file.read_at(at, block.data(), block.size());
    if (count <= 0) return -1;
    const auto text = std::string_view(block.data(), static_cast<std::size_t>(count));
    if (const std::size_t end = text.find('\n'); end != std::string_view::npos)
      return at + static_cast<off_t>(end) + 1;
    at += static_cast<off_t>(count);
  }
}

std::shared_ptr<Numbers> numbers_of(Rows rows) {
  if (rows.rows() == 0) return nullptr;
  auto numbers = std::make_shared<Numbers>();
  numbers->rows = rows.rows();
  numbers->cols = rows.cols();
  numbers->are_short = rows.are_short();
  numbers->values = rows.take();
  return numbers;
}

// A digit and a separator are the least that a number takes.
std::size_t room_for(off_t bytes) { return static_cast<std::size_t>(bytes) / 2 + 1; }

std::shared_ptr<Numbers> read_text(const File& file, off_t size, int threads) {
  const off_t half = threads > 1 && size >= kWorthTwoThreads ? line_beginning(file, size / 2) : -1;
  Rows first(room_for(size));
  if (!first.has_memory()) return nullptr;
  if (half < 0) return read_lines(file, 0, size, first) ? numbers_of(std::move(first)) : nullptr;

  Rows second(room_for(size - half));
  if (!second.has_memory()) return nullptr;
  bool is_second_read = false;
  std::thread helper([&] { is_second_read = read_lines(file, half, size, second); });
  const bool is_first_read = read_lines(file, 0, half, first);
  helper.join();
  if (!is_first_read || !is_second_read || first.cols() != second.cols() || first.is_ended()) return nullptr;
  std::memcpy(first.values() + first.count(), second.values(), second.count() * sizeof(double));
  auto numbers = std::make_shared<Numbers>();
  numbers->rows = first.rows() + second.rows();
  numbers->cols = first.cols();
  numbers->are_short = first.are_short() && second.are_short();
  numbers->values = first.take();
  return numbers;
}

std::shared_ptr<Numbers> read_array(const File& file, off_t size) {
  constexpr std::size_t kLongestHeader = 4096;
  std::string head(std::min(kLongestHeader, static_cast<std::size_t>(size)), '\0');
  if (file.read_at(0, head.data(), head.size()) != static_cast<std::ptrdiff_t>(head.size())) return nullptr;
  const auto array = npy_of_reals(head);
  const auto count = array ? static_cast<std::size_t>(array->rows * array->cols) : 0;
  const std::size_t bytes = array ? count * array->bytes_each : 0;
  if (count == 0 || static_cast<std::size_t>(size) != array->data_begin + bytes) return nullptr;

  auto numbers = std::make_shared<Numbers>();
  numbers->rows = array->rows;
  numbers->cols = array->cols;
  numbers->are_doubles = true;
  numbers->values.reset(static_cast<double*>(std::malloc(count * sizeof(double))));
  double* const values = numbers->values.get();
  if (values == nullptr) return nullptr;
  // Floats are read into the upper half of the memory, and widened from the lowest on.
  char* const raw = reinterpret_cast<char*>(values) + (count * sizeof(double) - bytes);
  if (file.read_at(static_cast<off_t>(array->data_begin), raw, bytes) != static_cast<std::ptrdiff_t>(bytes))
    return nullptr;
  for (std::size_t i = 0; i < count && array->bytes_each == sizeof(float); ++i) {
    float narrow = 0;
    std::memcpy(&narrow, raw + i * sizeof(float), sizeof(float));
    values[i] = narrow;
  }
  const bool are_finite = std::all_of(values, values + count, [](double x) { return std::isfinite(x); });
  return are_finite ? numbers : nullptr;
}

}  // namespace

NumbersPtr read_numbers(const std::string& name, int threads) {
  if (name == "-") return nullptr;
  const File file(name);
  const off_t size = file.size();
  if (size <= 0) return nullptr;
  std::array<char, 8> first{};
  const std::ptrdiff_t known = file.read_at(0, first.data(), first.size());
  if (known < 0) return nullptr;
  const std::string_view begin(first.data(), static_cast<std::size_t>(known));
  auto numbers = is_npy(begin) ? read_array(file, size) : read_text(file, size, threads);
  if (numbers) numbers->file = name;
  return numbers;
}

}  // namespace qkv

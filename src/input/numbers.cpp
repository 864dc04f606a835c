#include "input/numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/display_width.h"
#include "base/threads.h"
#include "input/npy.h"
#include "input/short_decimal.h"
#include "input/words.h"

namespace qkv {
namespace {

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

// ---- Lines -------------------------------------------------------------------------------------

// What some lines hold, of which each has as many numbers as the first.
struct Found {
  std::size_t count = 0;  // of numbers
  Index rows = 0;
  Index cols = 0;
  bool begins_apart = false;  // with an empty line
  bool is_ended = false;      // by an empty line behind a row
  bool are_short = true;

  // And the lines behind them; false where together they are no matrix.
  bool add(const Found& next) {
    if (rows > 0 && next.begins_apart) is_ended = true;
    if (next.rows > 0 && (is_ended || (rows > 0 && cols != next.cols))) return false;
    if (next.rows > 0) cols = next.cols;
    count += next.count;
    rows += next.rows;
    is_ended = is_ended || next.is_ended;
    are_short = are_short && next.are_short;
    return true;
  }
};

class LineReader {
 public:
  // Room for as many as there can be.
  explicit LineReader(double* values) : values_(values) {}

  const Found& found() const { return found_; }

  // Whole lines.   [at, end)  with a line feed before `end`, and kBehind readable bytes from there on
  // False as soon as something is not a plain number, or a row has another length.
  static constexpr std::size_t kBehind = 2 * kWord;
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
  Found found_;
};

// ---- Pieces of a file --------------------------------------------------------------------------

// From read(2) to the last use text and numbers stay in a processor's own cache.
constexpr std::size_t kPiece = std::size_t{128} << 10U;          // bytes of text
constexpr std::size_t kMostBehindPiece = std::size_t{4} << 10U;  // usually enough to end its last line
constexpr std::size_t kLongestLine = std::size_t{64} << 20U;     // bytes; a file of one row has no more
constexpr off_t kWorthAThread = off_t{512} << 10U;               // bytes

using Values = std::unique_ptr<double[], Numbers::Free>;

// A digit and a separator are the least that a number takes.
std::size_t room_for(std::size_t bytes) { return bytes / 2 + 1; }

// A file, whose lines are read piece by piece, by any thread, and put together in their order.
struct PlainFile {
  PlainFile(const File& from, off_t bytes) : file(from), size(bytes) {
    const std::size_t room = room_for(static_cast<std::size_t>(size)) * sizeof(double);
    values.reset(static_cast<double*>(std::malloc(room)));
    is_refused = values == nullptr;
  }

  std::ptrdiff_t pieces() const { return (size - 1) / static_cast<off_t>(kPiece) + 1; }

  const File& file;
  off_t size;  // > 0
  std::atomic<bool> is_refused = false;
  std::atomic<std::ptrdiff_t> turn = 0;  // of the piece that is added next
  // Of the pieces before it; the first of the values are theirs.
  Found found;
  Values values;
};

// What one thread works in.
struct Desk {
  std::string block;
  Values values;
  std::size_t room = 0;

  double* room_for_values(std::size_t count) {
    if (room < count) {
      values.reset(static_cast<double*>(std::malloc(count * sizeof(double))));
      room = values ? count : 0;
    }
    return values.get();
  }
};

// The lines that begin in piece `nth`, in desk.block; nullopt when the file was cut short, or one is too
// long.
std::optional<std::string_view> lines_of_piece(const PlainFile& text, std::ptrdiff_t nth, Desk& desk) {
  std::string& block = desk.block;
  std::size_t size = 0;  // of what was read
  const off_t first = nth * static_cast<off_t>(kPiece);
  const off_t from = std::max<off_t>(first - 1, 0);  // a line feed there ends the line of another piece
  const auto left = static_cast<std::size_t>(text.size - from);
  const auto read_up_to = [&](std::size_t wanted) {
    wanted = std::min(wanted, left);
    block.resize(std::max(block.size(), wanted + 1 + LineReader::kBehind));
    const std::ptrdiff_t count =
        text.file.read_at(from + static_cast<off_t>(size), block.data() + size, wanted - size);
    size += static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0));
    return size == wanted;
  };
  const std::size_t own = std::min(left, static_cast<std::size_t>(first - from) + kPiece);
  if (!read_up_to(own + kMostBehindPiece)) return std::nullopt;
  std::size_t begin = 0;
  if (first > 0) {
    const std::size_t end_of_other = std::string_view(block.data(), own - 1).find('\n');
    if (end_of_other == std::string_view::npos) return std::string_view();
    begin = end_of_other + 1;
  }
  std::size_t seen = own - 1;
  while (true) {
    const std::size_t end = std::string_view(block.data(), size).find('\n', seen);
    if (end != std::string_view::npos) return std::string_view(block).substr(begin, end + 1 - begin);
    if (size == left) break;
    if (size > kLongestLine) return std::nullopt;
    seen = size;
    if (!read_up_to(2 * size)) return std::nullopt;
  }
  block[size++] = '\n';
  return std::string_view(block).substr(begin, size - begin);
}

// Reads piece `nth` and adds it to those before it.  While these are not added yet, its numbers are kept
// apart: where they belong is known when they have all been counted.
void read_piece(PlainFile& text, std::ptrdiff_t nth, Desk& desk) {
  const bool is_next = text.turn == nth;
  double* values = nullptr;
  Found found;
  bool is_plain = false;
  if (!text.is_refused) {
    try {
      if (const auto lines = lines_of_piece(text, nth, desk)) {
        values =
            is_next ? text.values.get() + text.found.count : desk.room_for_values(room_for(lines->size()));
        LineReader reader(values);
        is_plain = values != nullptr && reader.add(lines->data(), lines->data() + lines->size());
        found = reader.found();
      }
    } catch (const std::bad_alloc&) {
      // The other reader may find a way; the pieces behind this one are waiting.
    }
  }
  for (std::ptrdiff_t turn = text.turn; turn != nth; turn = text.turn) text.turn.wait(turn);
  double* const place = text.values.get() + text.found.count;
  if (!is_plain || !text.found.add(found)) text.is_refused = true;
  const bool is_apart = !is_next && !text.is_refused;
  text.turn = nth + 1;
  text.turn.notify_all();
  if (is_apart) std::memcpy(place, values, found.count * sizeof(double));
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

std::vector<NumbersPtr> read_numbers(std::span<const std::string> names, int threads) {
  std::vector<NumbersPtr> all(names.size());
  std::deque<File> files;
  std::deque<PlainFile> texts;
  std::vector<std::size_t> places;  // of the texts in `all`
  struct Piece {
    PlainFile& text;
    std::ptrdiff_t nth;
  };
  std::vector<Piece> pieces;
  off_t bytes = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "-") continue;
    const File& file = files.emplace_back(names[i]);
    const off_t size = file.size();
    if (size <= 0) continue;
    std::array<char, 8> first{};
    const std::ptrdiff_t known = file.read_at(0, first.data(), first.size());
    if (known < 0) continue;
    if (is_npy(std::string_view(first.data(), static_cast<std::size_t>(known)))) {
      if (const auto numbers = read_array(file, size)) {
        numbers->file = names[i];
        all[i] = numbers;
      }
      continue;
    }
    PlainFile& text = texts.emplace_back(file, size);
    places.push_back(i);
    for (std::ptrdiff_t nth = 0; nth < text.pieces(); ++nth) pieces.push_back({text, nth});
    bytes += size;
  }

  const auto most = static_cast<std::size_t>(
      std::clamp<off_t>(bytes / kWorthAThread, 1, static_cast<off_t>(std::max(1, threads))));
  std::vector<Desk> desks(most);
  share(static_cast<std::ptrdiff_t>(pieces.size()), most, [&](std::ptrdiff_t i, std::size_t thread) {
    const Piece& piece = pieces[static_cast<std::size_t>(i)];
    read_piece(piece.text, piece.nth, desks[thread]);
  });
  for (std::size_t i = 0; i < texts.size(); ++i) {
    PlainFile& text = texts[i];
    if (text.is_refused || text.found.rows == 0) continue;
    auto numbers = std::make_shared<Numbers>();
    numbers->file = names[places[i]];
    numbers->rows = text.found.rows;
    numbers->cols = text.found.cols;
    numbers->are_short = text.found.are_short;
    numbers->values = std::move(text.values);
    all[places[i]] = std::move(numbers);
  }
  return all;
}

NumbersPtr read_numbers(const std::string& name, int threads) {
  return read_numbers(std::span(&name, 1), threads).front();
}

std::size_t most_rows(const std::string& name) {
  if (name == "-") return 0;
  const File file(name);
  std::string block(kPiece, '\0');
  std::size_t line_feeds = 0;
  for (off_t at = 0;;) {
    const std::ptrdiff_t count = file.size() < 0 ? 0 : file.read_at(at, block.data(), block.size());
    if (count <= 0) return at == 0 ? 0 : line_feeds + 1;
    const auto text = std::string_view(block).substr(0, static_cast<std::size_t>(count));
    if (at == 0 && is_npy(text)) {
      const NumbersPtr numbers = read_numbers(name);
      return numbers ? static_cast<std::size_t>(numbers->rows) : 0;
    }
    line_feeds += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    at += static_cast<off_t>(count);
  }
}

// ---- Why not -------------------------------------------------------------------------------------

namespace {

std::vector<Span> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<Span> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back({at, end});
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_plain_number(std::string_view word) {
  std::string line(word);
  line += '\n';
  const std::size_t size = line.size();
  line.append(LineReader::kBehind, '\0');
  std::vector<double> values(room_for(size));
  return LineReader(values.data()).add(line.data(), line.data() + size);
}

}  // namespace

void tell_why_not_plain(const std::string& name, Diagnostics& diagnostics) {
  std::ifstream file(name, std::ios::binary);
  std::size_t words_in_all = 0;
  std::size_t width = 0;  // of the first row
  bool is_ended = false;  // by an empty line behind a row
  struct Fault {
    std::string line;
    std::size_t number;
    Span span;
    Said message;
  };
  std::optional<Fault> fault;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.find('\0') != std::string::npos || invalid_utf8_at(line)) return;  // no text
    const std::vector<Span> words = words_of(line);
    if (words.empty() || line[words.front().begin] == '#') {
      is_ended = is_ended || (words.empty() && width > 0);
      continue;
    }
    words_in_all += words.size();
    if (fault) continue;
    const auto text = [&](const Span& word) {
      return std::string_view(line).substr(word.begin, word.end - word.begin);
    };
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&](const Span& each) { return !is_plain_number(text(each)); });
    const Span whole{words.front().begin, words.back().end};
    if (word != words.end()) {
      fault = {line, number, *word,
               say({"'{0}' is not a plain decimal", "“{0}”不是普通的十进制小数"}, text(*word))};
    } else if (is_ended) {
      fault = {line, number, whole, say({"a second matrix begins here", "这里开始了第二个矩阵"})};
    } else if (width != 0 && words.size() != width) {
      fault = {line, number, whole,
               say({"this row has {0} numbers, the first one {1}", "这一行有 {0} 个数，第一行有 {1} 个"},
                   words.size(), width)};
    }
    if (width == 0) width = words.size();
  }
  if (!fault || words_in_all <= static_cast<std::size_t>(kMostCells)) return;

  // The line stands at its place in a text of which nothing else is kept.
  auto source = std::make_shared<Source>();
  source->name = name;
  source->text.assign(fault->number - 1, '\n');
  const std::size_t begin = source->text.size();
  source->text += fault->line + "\n";
  diagnostics.error(
      source, {begin + fault->span.begin, begin + fault->span.end}, fault->message,
      say({"more than 1,000,000 numbers are read as rows of decimals with blanks between them, one "
           "matrix a file; fractions, names and the like are read in smaller ones",
           "超过 1,000,000 个数的矩阵只按一行行小数来读（用空格隔开，一个文件一个矩阵）；"
           "分数、名称之类只在较小的矩阵里能读"}));
}

}  // namespace qkv

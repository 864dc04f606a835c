#include "input/numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/threads.h"
#include "input/npy.h"
#include "input/number_lines.h"

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

// ---- Pieces of a file --------------------------------------------------------------------------

// From read(2) to the last use text and numbers stay in a processor's own cache.
constexpr std::size_t kPiece = std::size_t{128} << 10U;            // bytes of text
constexpr std::size_t kMostBehindPiece = std::size_t{4} << 10U;    // usually enough to end its last line
constexpr std::size_t kLongestLine = std::size_t{64} << 20U;       // bytes; a file of one row has no more
constexpr off_t kWorthAThread = off_t{512} << 10U;                 // bytes
constexpr std::size_t kLargestForOthers = std::size_t{64} << 20U;  // bytes of numbers

using Values = std::unique_ptr<double[], Numbers::Free>;

// A file, whose lines are read piece by piece, by any thread, and put together in their order.
struct PlainFile {
  PlainFile(const File& from, off_t bytes) : file(from), size(bytes) {
    const std::size_t room = most_numbers(static_cast<std::size_t>(size)) * sizeof(double);
    values.reset(static_cast<double*>(std::malloc(room)));
    // The other reader, for files that are no plain numbers, is for small ones; it would only say so.
    if (values == nullptr && room > kLargestForOthers) throw std::bad_alloc();
    is_refused = values == nullptr;
  }

  std::ptrdiff_t pieces() const { return (size - 1) / static_cast<off_t>(kPiece) + 1; }

  const File& file;
  off_t size;  // > 0
  std::atomic<bool> is_refused = false;
  std::atomic<std::ptrdiff_t> turn = 0;  // of the piece that is added next
  // Of the pieces before it; the first of the values are theirs.
  NumberLines found;
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
    block.resize(std::max(block.size(), wanted + 1 + kBehindLines));
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
  std::optional<NumberLines> found;
  if (!text.is_refused) {
    try {
      if (const auto lines = lines_of_piece(text, nth, desk)) {
        values = is_next ? text.values.get() + text.found.count
                         : desk.room_for_values(most_numbers(lines->size()));
        if (values != nullptr)
          found = read_number_lines(lines->data(), lines->data() + lines->size(), values);
      }
    } catch (const std::bad_alloc&) {
      // The other reader may find a way; the pieces behind this one are waiting.
    }
  }
  for (std::ptrdiff_t turn = text.turn; turn != nth; turn = text.turn) text.turn.wait(turn);
  double* const place = text.values.get() + text.found.count;
  if (!found || !text.found.add(*found)) text.is_refused = true;
  const bool is_apart = !is_next && !text.is_refused;
  text.turn = nth + 1;
  text.turn.notify_all();
  if (is_apart) std::memcpy(place, values, found->count * sizeof(double));
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
  if (values == nullptr) throw std::bad_alloc();
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
  if (file.size() <= 0) return 0;
  // No more than the file needs: of a small one this would be half the time of the whole program.
  std::string block(std::min<std::size_t>(kPiece, static_cast<std::size_t>(file.size())), '\0');
  std::size_t line_feeds = 0;
  for (off_t at = 0;;) {
    const std::ptrdiff_t count = file.read_at(at, block.data(), block.size());
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

}  // namespace qkv

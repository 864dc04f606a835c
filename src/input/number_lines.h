// Lines of plain decimals, read as doubles: the speed of reading large matrices is that of this.
#pragma once

#include <cstddef>
#include <optional>

#include "base/matrix.h"

namespace qkv {

// What some lines hold, of which each has as many numbers as the first.
struct NumberLines {
  std::size_t count = 0;  // of numbers
  Index rows = 0;
  Index cols = 0;
  bool begins_apart = false;  // with an empty line
  bool is_ended = false;      // by an empty line behind a row
  bool are_short = true;      // see Numbers::are_short

  // And the lines behind them; false where together they are no matrix.
  bool add(const NumberLines& next);
};

// A digit and a separator are the least that a number takes.
constexpr std::size_t most_numbers(std::size_t bytes) { return bytes / 2 + 1; }

// So many bytes behind the lines are looked at, too, and must be readable.
inline constexpr std::size_t kBehindLines = 16;

// Whole lines: decimals separated by spaces or tabs, comments behind # at the beginning, empty lines at the
// ends.
//   [begin, end)  with a line feed before `end`
//   values        room for most_numbers() of them
// nullopt where something is not a plain number, or a row has another length than the first.
std::optional<NumberLines> read_number_lines(const char* begin, const char* end, double* values);

}  // namespace qkv

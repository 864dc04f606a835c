// The rows of a large table of numbers, laid out for a terminal.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report/table_rows.h"

namespace qkv {

struct NumberLayout {
  std::string minus_infinity;  // as it is shown: "−∞" or "-inf"
  std::string gap;             // before each cell
  std::string before_faint;    // escapes around what is closed, and around sums; or empty
  std::string after_faint;
};

// How many columns of the screen each column of the table takes, `least` of them at least.
std::vector<std::size_t> column_widths(const NumberTable& table, const NumberLayout& layout,
                                       std::vector<std::size_t> least);

// Writes one line a row, a few dozen at a time: `begins` is what stands before the cells of each.  With
// several threads each lays out rows of its own; the bytes and their order are the same.
//   widths  those of column_widths()
void write_rows(const NumberTable& table, const NumberLayout& layout, const std::vector<std::string>& begins,
                const std::vector<std::size_t>& widths, int threads,
                const std::function<void(std::string_view)>& write);

}  // namespace qkv

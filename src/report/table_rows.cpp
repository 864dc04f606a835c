#include "report/table_rows.h"

#include <algorithm>
#include <array>

namespace qkv {

const char* forbidden_text(double value) { return value == 0 ? "0" : "−∞"; }

TableCell NumberTable::cell(std::size_t row, std::size_t col) const {
  const auto begin = others.begin() + static_cast<std::ptrdiff_t>(first[row]);
  const auto end = others.begin() + static_cast<std::ptrdiff_t>(first[row + 1]);
  const auto other =
      std::lower_bound(begin, end, col, [](const Other& o, std::size_t at) { return o.col < at; });
  if (other != end && other->col == col) return other->cell;
  const double number = value(row, col);
  if (is_forbidden(row, col)) return {forbidden_text(number), CellRole::forbidden};
  std::array<char, FixedDecimals::kMostCharacters> text;
  char* const last = text.data() + text.size();
  return {std::string(decimals.write_before(last, decimals.units(number)), last), CellRole::number, number};
}

}  // namespace qkv

#include "render/csv.h"

#include "base/escape.h"

namespace qkv {
namespace {

// As a spreadsheet reads a number: 1,280 is 1280, minus infinity -inf.
std::string field(const TableCell& cell) {
  if (cell.text == "−∞") return "-inf";
  if (cell.text == "∞") return "inf";
  std::string number = cell.text;
  std::erase(number, ',');
  const bool is_number = number.find_first_not_of("0123456789.e+-") == std::string::npos;
  return is_number && cell.role != CellRole::symbolic ? number : csv_text(cell.text);
}

void write(const Table& table, std::string& out) {
  const std::size_t columns = table.rows.empty() ? 0 : table.rows.front().size();
  out += csv_text(table.id);
  for (std::size_t j = 0; j < columns; ++j)
    out += "," + (table.columns.empty() ? "" : csv_text(table.columns[j]));
  out += "\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (!table.row_labels.empty()) out += csv_text(table.row_labels[i]);
    for (const TableCell& cell : table.rows[i]) out += "," + field(cell);
    out += "\n";
  }
}

}  // namespace

std::string render_csv(const Report& report) {
  std::string out;
  for (const Block& block : report.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (table == nullptr) continue;
    if (!out.empty()) out += "\n";
    write(*table, out);
  }
  return out;
}

}  // namespace qkv

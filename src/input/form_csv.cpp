// Tables for spreadsheets, told by the corner above the names of the rows: it is empty, or the section's
// name.

#include <utility>

#include "base/display_width.h"
#include "input/csv_table.h"
#include "input/forms.h"
#include "input/lines.h"

namespace qkv {
namespace {

bool recognises(const Paste& paste, Span body) {
  if (paste.written(body).find_first_of(",\t") == std::string_view::npos) return false;
  const auto heading = csv_heading(paste.text(), body);
  return heading && (heading->corner.empty() || is_name_of(heading->corner, paste.place.wanted));
}

// A corner with the matrix's name speaks for itself.
void tell(const Paste& paste, const CsvHeading& heading) {
  std::string names;
  Span place = heading.line;
  for (const CsvField& field : csv_fields(paste.text(), heading.line, heading.separator)) {
    if (field.span.begin == field.span.end) continue;
    if (names.empty()) place.begin = field.span.begin;
    names += (names.empty() ? "" : " ") + std::string(paste.written(field.span));
    if (heading.ends_in_sum && field.span.end == heading.line.end) {
      paste.faults.note(field.span, say({"the sums of the rows are no column of {0}", "行和不是 {0} 的一列"},
                                        paste.place.called));
    }
  }
  if (!heading.corner.empty()) return;
  paste.faults.note(
      place, say({"'{0}' is read as a heading, not as a row", "“{0}”读作表头，不是一行数"}, quotable(names)));
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const std::string_view text = paste.text();
  const CsvHeading heading = *csv_heading(text, body);
  std::vector<std::vector<CsvField>> rows;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (!line.is_blank() && line.whole.begin != heading.line.begin)
      rows.push_back(csv_fields(text, line.whole, heading.separator));
  }
  // 0 1 2 … and 1 2 3 … count the rows, and name none.
  const auto counts_from = [&](std::size_t base) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (csv_field_text(text, rows[i][0]) != std::to_string(base + i)) return false;
    }
    return true;
  };
  const bool has_labels = !counts_from(0) && !counts_from(1);
  if (heading.separator == '\t') table.comma_separates = say({"a tab", "制表符"});
  RowBuilder out(table);
  for (const std::vector<CsvField>& row : rows) {
    const std::string label = csv_field_text(text, row[0]);
    if (has_labels && !label.empty()) out.label(table.spelt(row[0].span, label));
    for (std::size_t j = 1; j < row.size() - (heading.ends_in_sum ? 1 : 0); ++j) {
      const Span cell = row[j].span;
      out.cell(cell.begin == cell.end ? missing_word(paste, {cell.begin - 1, cell.begin})
                                      : Word{.span = cell, .is_quoted = row[j].is_quoted});
    }
    out.end_row();
  }
  tell(paste, heading);
  return {};
}

}  // namespace

const Form kCsvForm{recognises, read};

}  // namespace qkv

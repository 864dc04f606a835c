#include "input/csv_table.h"

#include <algorithm>

#include "base/number.h"
#include "input/fold.h"
#include "input/lines.h"

namespace qkv {
namespace {

bool is_number(std::string_view text) {
  NumberError ignored;
  const auto number = parse_number(folded(text), ignored);
  return number && number->kind != Number::Kind::symbol;
}

// What stands behind the corner may stand above columns.
bool are_names(const std::vector<std::string>& names, bool is_corner_empty) {
  const auto is_empty = [](const std::string& name) { return name.empty(); };
  if (std::all_of(names.begin(), names.end(), is_empty)) return true;
  std::size_t counted = 0;
  // pandas counts from 0; "a,0,1" is a row.
  while (is_corner_empty && counted < names.size() && names[counted] == std::to_string(counted)) ++counted;
  if (counted == names.size()) return true;
  counted = 0;
  while (counted < names.size() && names[counted] == std::to_string(counted + 1)) ++counted;
  if (counted == names.size()) return true;
  if (counted > 0) return counted + 1 == names.size() && names_row_sums(names.back());
  return std::none_of(names.begin(), names.end(),
                      [&](const std::string& name) { return name.empty() || is_number(name); });
}

}  // namespace

std::vector<CsvField> csv_fields(std::string_view text, Span line, char separator) {
  std::vector<CsvField> fields;
  for (std::size_t at = line.begin; at <= line.end;) {
    CsvField field{{at, at}};
    if (at < line.end && text[at] == '"') {
      field.is_quoted = true;
      ++at;
      while (at < line.end && (text[at] != '"' || (at + 1 < line.end && text[at + 1] == '"')))
        at += text[at] == '"' ? 2 : 1;
    }
    while (at < line.end && text[at] != separator) ++at;
    field.span = trimmed(text, {field.span.begin, at});
    fields.push_back(field);
    ++at;
  }
  return fields;
}

std::string csv_field_text(std::string_view text, const CsvField& field) {
  std::string_view written = text.substr(field.span.begin, field.span.end - field.span.begin);
  std::string said(written);
  if (field.is_quoted) {
    written.remove_prefix(1);
    if (written.ends_with('"')) written.remove_suffix(1);
    said.clear();
    for (std::size_t at = 0; at < written.size(); ++at) {
      if (written.substr(at).starts_with("\"\"")) ++at;
      said += written[at];
    }
  }
  const bool is_guarded =
      said.size() > 1 && said[0] == '\'' && std::string_view("=+-@'").find(said[1]) != std::string_view::npos;
  if (is_guarded) said.erase(0, 1);
  return said;
}

bool names_row_sums(std::string_view heading) { return heading == "sum" || heading == "行和"; }

std::optional<CsvHeading> csv_heading(std::string_view text, Span body) {
  std::optional<CsvHeading> heading;
  std::size_t rows = 0;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (line.is_blank()) continue;
    if (heading) {
      if (csv_fields(text, line.whole, heading->separator).size() != heading->fields) return std::nullopt;
      ++rows;
      continue;
    }
    const std::string_view whole = text.substr(line.whole.begin, line.whole.end - line.whole.begin);
    heading = CsvHeading{.line = line.whole, .separator = whole.find('\t') < whole.size() ? '\t' : ','};
    std::vector<std::string> names;
    for (const CsvField& field : csv_fields(text, line.whole, heading->separator))
      names.push_back(csv_field_text(text, field));
    if (names.size() < 2 || is_number(names.front())) return std::nullopt;
    heading->corner = names.front();
    heading->fields = names.size();
    names.erase(names.begin());
    if (!are_names(names, heading->corner.empty())) return std::nullopt;
    heading->ends_in_sum = names.size() > 1 && names_row_sums(names.back());
  }
  return rows > 0 ? heading : std::nullopt;
}

}  // namespace qkv

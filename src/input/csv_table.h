// Tables that a spreadsheet opens, with the names of the columns above them and of the rows before them:
//
//   weights,t1,t2,sum        ,1,2
//   t1,0.4000,0.6000,1.0000  "a, b",1,0
//
// The corner holds the matrix's name, or nothing.  Fields are quoted as RFC 4180 says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

struct CsvField {
  Span span;  // with the quotes
  bool is_quoted = false;
};

// The fields of one line.
std::vector<CsvField> csv_fields(std::string_view text, Span line, char separator);

// What a field says: without its quotes, "" for a quote, and without the "'" that keeps a spreadsheet from
// taking a name for a formula.
std::string csv_field_text(std::string_view text, const CsvField& field);

// The line above the rows.
struct CsvHeading {
  Span line;
  char separator = ',';
  std::string corner{};      // may be empty
  std::size_t fields = 0;    // the corner too
  bool ends_in_sum = false;  // "sum": what is printed beside weights, and no column of the matrix
};

// The heading with which `body` begins: behind the corner names, nothing, or 1, 2, 3 …; nullopt for any other
// line, and where a line below has another number of fields.
std::optional<CsvHeading> csv_heading(std::string_view text, Span body);

// "sum", "行和"
bool names_row_sums(std::string_view heading);

}  // namespace qkv

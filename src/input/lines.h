// One line of a problem file or of a matrix file: where its comment begins, and what it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"

namespace qkv {

struct Line {
  Span whole;        // without its line break
  Span content;      // without its comment and without white space at both ends
  std::size_t next;  // where the next line begins
  bool is_blank() const { return content.begin == content.end; }
};

// The line that begins at `begin`, in a text that ends at `stop`.
// A comment begins with '#' or '%' at the start of the line or after white space, not inside quotes; "#N/A"
// of a spreadsheet is none.
Line line_at(std::string_view text, std::size_t begin, std::size_t stop);

// Without white space (also U+3000) at both ends.
Span trimmed(std::string_view text, Span span);

// "#DIV/0!", "#N/A" …: what a spreadsheet shows where a formula failed; its bytes, else 0.
std::size_t spreadsheet_error_length(std::string_view text);

// inf, NaN, True …: words that are numbers, and name no section.
bool is_number_word(std::string_view word);

// "[name]", alone on its line; nullopt for anything else.  [1] is a row, and so are [inf] and [False].
struct Header {
  std::string name;
  Span span;  // with the brackets
};
std::optional<Header> header_of(std::string_view text, const Line& line);

// "name = …"; nullopt when no "=" stands outside quotes.
struct Assignment {
  Span name;   // may be empty
  Span value;  // up to the comment; may be empty
};
std::optional<Assignment> assignment_of(std::string_view text, const Line& line);

// Inside a section: does "name = …" begin a pasted matrix, and not a setting?  It does when
// what follows is a bracket, LaTeX, a call such as np.array(, or nothing; or when it is an argument of a
// call.
bool begins_pasted_matrix(std::string_view text, const Assignment& assignment);

// Could this be the name before "="?  Not if it holds brackets or separators, or begins as a number does.
bool is_plain_name(std::string_view name);

}  // namespace qkv

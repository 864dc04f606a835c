// What code puts around a matrix: declarations, assignments and calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

// "Q = ", "float K[2][3] = ", "std::vector<std::vector<double>> q", "m <- ", "a := ", "let a: [[f64; 2]; 2] =
// "
struct Declaration {
  Span name;                     // "Q"; of several words all, "查询矩阵 Q"
  std::size_t value = 0;         // where its value begins
  bool has_type = false;         // it says a type, as C does
  std::vector<long> sizes = {};  // of "K[2][3]"; 0 where the brackets are empty
};

// The declaration with which the line at `begin` begins; nullopt when it begins otherwise.
std::optional<Declaration> declaration_at(std::string_view text, std::size_t begin, std::size_t end);

// After white space, line breaks and comments.
std::size_t skip_blank(std::string_view text, std::size_t at, std::size_t end);

// "np.array": where the name at `at` ends; `at` when none is there.
std::size_t end_of_name(std::string_view text, std::size_t at, std::size_t end);

// Does a word with this bracket behind it, "np.zeros(" or "exp.(", call what computes?  Behind a label stands a
// space or ':', unless it is that of a point, "A(1, 2)", or its bracket is a square one, "t1[1, 0]".
//   holds_list  another bracket follows: "A([1, 2])" is no point
bool computes(std::string_view name, char bracket, bool holds_list);

// "1:6" and "1:2:7", the whole numbers from the first to the last.
struct Range {
  long first = 0;
  long step = 1;
  long last = 0;
  std::size_t end = 0;  // behind it
  bool is_empty() const { return step == 0 || (step > 0 ? last < first : last > first); }
  std::size_t count() const { return is_empty() ? 0 : static_cast<std::size_t>((last - first) / step) + 1; }
};
std::optional<Range> range_at(std::string_view text, std::size_t at, std::size_t end);

// "vec!" of Rust, "[][]float64" of Go and "Float32" of Julia before the bracket of their lists: its bytes, 0
// where none is there.
std::size_t list_type_length(std::string_view text, std::size_t at, std::size_t end);

}  // namespace qkv

// What code puts around a matrix: declarations, assignments and calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/diagnostic.h"

namespace qkv {

// "Q = ", "float K[2][3] = ", "std::vector<std::vector<double>> q", "m <- ", "a := ", "let a: [[f64; 2]; 2] =
// "
struct Declaration {
  Span name;              // "Q"; of several words all, "查询矩阵 Q"
  std::size_t value = 0;  // where its value begins
  bool has_type = false;  // it says a type, as C does
};

// The declaration with which the line at `begin` begins; nullopt when it begins otherwise.
std::optional<Declaration> declaration_at(std::string_view text, std::size_t begin, std::size_t end);

// After white space, line breaks and comments.
std::size_t skip_blank(std::string_view text, std::size_t at, std::size_t end);

// "np.array": where the name at `at` ends; `at` when none is there.
std::size_t end_of_name(std::string_view text, std::size_t at, std::size_t end);

// "vec!" of Rust and "[][]float64" of Go before the bracket of their lists: its bytes, 0 where none is there.
std::size_t list_type_length(std::string_view text, std::size_t at, std::size_t end);

}  // namespace qkv

// NumPy's .npy files, written out as the matrix files they stand for.
//
// One line a row, every number with all its digits: 0.1 in single precision is
// 0.100000001490116119384765625.  So everything that reads a matrix file reads an array, nothing is lost, and
// a message about a number names its row.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/matrix.h"

namespace qkv {

// Told by the first bytes, not by the name of the file.
bool is_npy(std::string_view bytes);

// What a head says whose numbers can be used as they stand: f8 or f4 in this machine's byte order, rows first.
struct RealArray {
  Index rows = 0;
  Index cols = 0;
  std::size_t bytes_each = 0;
  std::size_t data_begin = 0;
};
//   head  the first bytes of the file, its header among them
// nullopt for every other array, and for a header that cannot be read.
std::optional<RealArray> npy_of_reals(std::string_view head);

struct ArrayText {
  std::string text;
  int digits = 0;  // see Source::digits
};

// Format versions 1 to 3; f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8 and bool in either byte order; rows or columns
// first.  An array of one axis is a row; axes of length 1 before the last two are dropped.
// nullopt, with an error added, for anything else.  A header that lies about its size costs no memory.
std::optional<ArrayText> npy_as_text(const std::string& name, std::string_view bytes,
                                     Diagnostics& diagnostics);

}  // namespace qkv

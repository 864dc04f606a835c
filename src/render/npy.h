// A matrix as a file of NumPy's: what numpy.load, and qkv itself, read back with every bit.
#pragma once

#include <string>

#include "base/matrix.h"

namespace qkv {

// Format version 1.0, '<f8', rows first, two axes, as NumPy's documentation of numpy.lib.format describes it.
// The same bytes on every machine.
std::string render_npy(const Matrix& matrix);

// What stands before the numbers, row by row, each as eight bytes beginning with the lowest.
std::string npy_header(Shape shape);

}  // namespace qkv

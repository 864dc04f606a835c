// The commonest matrix of all: lines of decimals with white space between them, and nothing else.
//
// Every form of writing a matrix would bring these lines to the same words and the same numbers; told at a
// glance, a large matrix is read in a thirtieth of the time.
#pragma once

#include <optional>

#include "input/faults.h"
#include "input/matrix_text.h"

namespace qkv {

// nullopt when the body holds anything else, such as a label, a comma, a comment or an exponent, or when
// something is to be said of it: ragged rows, too many numbers.
std::optional<MatrixText> read_plain_numbers(const MatrixPlace& place);

}  // namespace qkv

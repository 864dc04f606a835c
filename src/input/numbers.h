// A large matrix of nothing but numbers, read straight into the memory in which it is used.
//
// The tolerant reader (input/matrix_text.h) keeps the text and the place of every cell, which takes a hundred
// times as much.  This one knows plain rows and .npy arrays alone; whatever else it meets, it gives up, and
// the tolerant reader says what there is to say, with line and column.
#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/matrix.h"

namespace qkv {

struct Numbers {
  struct Free {
    void operator()(double* values) const { std::free(values); }
  };

  std::string file;
  Index rows = 0;
  Index cols = 0;
  // rows · cols of them, row by row, each the double nearest to what stands there.  From malloc: memory that
  // is asked for and not used costs nothing.
  std::unique_ptr<double[], Free> values;
  bool are_doubles = false;  // of an array: each number is its double, and not a decimal near it
  // Of decimals: none has more than 15 digits, so each is the shortest one that has its double.
  bool are_short = true;

  double at(Index row, Index col) const { return values[static_cast<std::size_t>(row * cols + col)]; }
};
using NumbersPtr = std::shared_ptr<const Numbers>;

// Plain rows: decimals separated by spaces or tabs, every row as long as the first; lines that begin with #
// and empty lines at the ends are passed over.  .npy: f8 and f4 in this machine's byte order, rows first.
//   name     a file; standard input could not be read again by another reader, and is not read here
//   threads  so many read the pieces of large files
// Null for anything else, a missing file or an infinity among them: not an error, and nothing is said.
// Takes the memory of the numbers and a piece of the text for each thread, whatever the size of the file.
NumbersPtr read_numbers(const std::string& name, int threads = 1);
// The same of several files at once, each for itself.
std::vector<NumbersPtr> read_numbers(std::span<const std::string> names, int threads = 1);

// How many rows such a file has at most, told without reading them; 0 of what is no file.
std::size_t most_rows(const std::string& name);

}  // namespace qkv

// A part of a given matrix, or the whole in another order, whether it has cells or numbers alone.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "problem/problem.h"

namespace qkv {

// The matrix [rows, cols] of the cells of `from` that at(i, j) names by row and column; without labels.
template <class At>
Given given_part(const Given& from, Index rows, Index cols, At at) {
  Given part;
  part.source = from.source;
  part.span = from.span;
  part.rows = rows;
  part.cols = cols;
  if (!from.numbers) {
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        const auto [row, col] = at(i, j);
        part.cells.push_back(from.at(row, col));
      }
    }
    return part;
  }
  const auto numbers = std::make_shared<Numbers>();
  numbers->file = from.numbers->file;
  numbers->rows = rows;
  numbers->cols = cols;
  numbers->are_doubles = from.numbers->are_doubles;
  numbers->are_short = from.numbers->are_short;
  numbers->values.reset(
      static_cast<double*>(std::malloc(static_cast<std::size_t>(rows * cols) * sizeof(double))));
  if (!numbers->values) throw std::bad_alloc();
  double* to = numbers->values.get();
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      const auto [row, col] = at(i, j);
      *to++ = from.numbers->at(row, col);
    }
  }
  part.numbers = numbers;
  return part;
}

}  // namespace qkv

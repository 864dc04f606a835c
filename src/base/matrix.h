// The matrix types that every part of qkv speaks.
//
// Row-major, because people read and write matrices by rows; one row per token, so a
// projection is X·W and a score is the dot product of a row of Q and a row of K.
#pragma once

#include <Eigen/Core>
#include <string>

namespace qkv {

using Index = Eigen::Index;

template <class T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Matrix = MatrixOf<double>;

// true = the query of this row may look at the key of this column.
using Mask = MatrixOf<bool>;

struct Shape {
  Index rows = 0;
  Index cols = 0;
  bool operator==(const Shape&) const = default;
};

// "3×2"
inline std::string size_text(Shape shape) {
  return std::to_string(shape.rows) + "×" + std::to_string(shape.cols);
}

}  // namespace qkv

// What one text holds: a matrix, several with their names, or a stack of them.
//
//   Q = [[1, 0]]     {"Q": [[1, 0]], …}     weights,t1,t2     W_Q (2×2)         [[[1. 0.]      # 1
//   K = [[0, 1]]                            t1,0.4,0.6                           [0. 1.]]     1 0
//                                                             |  | 1 | 2 |                    0 1
//                                           output,1,2        | :-- | --: |     [[2. 1.]      # 2
//                                           t1,1,0            …                  [1. 2.]]]    2 1
//                                                                                             1 2
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

struct MatrixPiece {
  std::string name;  // of a stack its number, counted from 1: "1"; of a deeper one "2,1"
  Span place;        // where it is named, or begins
  Span body;         // what read_matrix reads, with `name` as MatrixPlace::wanted
};

// "d_k = 2" among matrices.
struct ScalarPiece {
  std::string name;
  Span place;
  Span value;
};

enum class Together { one, named, stack };

struct Pieces {
  Together together = Together::one;
  std::vector<MatrixPiece> list = {};     // empty where the whole text is one matrix
  bool are_tables = false;                // as qkv itself writes them
  std::vector<ScalarPiece> scalars = {};  // what is no matrix
};

// Problem files are no concern of this: their sections are read by read_outline.
//   is_known  is this the name of a section or of a step?  A single table is named only by such a word.
Pieces pieces_of(std::string_view text, const std::function<bool(std::string_view)>& is_known);

}  // namespace qkv

// Several matrices in one text, each behind its name.
//
//   Q = [[1, 0]]        Q:          {"Q": [[1, 0]],
//   K = [[1, 0]]        1 0          "K": [[1, 0]]}
//                       K:
//                       1 1
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

struct NamedPiece {
  Span name;
  std::size_t value = 0;   // where its value begins
  Span whole{};            // with the name, as it is read when it stands alone
  bool is_titled = false;  // as people print it, "Q:" or "Q: [[1, 0]]"; `whole` begins behind the name
};

// In the order of the text; empty when no name stands there.
std::vector<NamedPiece> named_pieces(std::string_view text, Span body);

// The entries of a JSON object; empty when `body` is none.
std::vector<NamedPiece> json_pieces(std::string_view text, Span body);

// A bracket, LaTeX, a call, or numbers on the lines below: not "d_k = 2".
bool begins_matrix(std::string_view text, const NamedPiece& piece, std::size_t end);

// Does an opening bracket stand at `at`?
bool is_bracket_at(std::string_view text, std::size_t at, std::size_t end);

}  // namespace qkv

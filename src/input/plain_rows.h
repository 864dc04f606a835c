// Rows as people write them, and lists of lists as programs do.
//
//   row  = [ label ( ":" | "|" ) ] cell { sep cell } [ ";" ]
//   sep  = spaces, tabs or ","; the brackets [ ] ( ) { } around a row or the whole are ignored
#pragma once

#include "input/faults.h"
#include "input/words.h"

namespace qkv {

// A matrix's text before its form is known.
struct Paste {
  const MatrixPlace& place;
  Faults& faults;
};

// Adds the rows of `body`, a part of the source.
void read_plain_rows(const Paste& paste, Span body, WordTable& table);

}  // namespace qkv

// Rows as people write them, and lists of lists as programs do.
//
//   row  = [ label ( ":" | "|" ) ] cell { sep cell } [ ";" ]
//   sep  = spaces, tabs or ","; the brackets [ ] ( ) { } around a row or the whole are ignored
#pragma once

#include "input/forms.h"

namespace qkv {

// Adds the rows of `body`, a part of the source.
//   is_one_row  line breaks do not end a row, nor does anything but ";" and a bracket
void read_plain_rows(const Paste& paste, Span body, WordTable& table, bool is_one_row = false);

// Adds the one row between brackets, "[1, 0]", after its label.
void read_bracketed_row(const Paste& paste, const Word* label, Span row, WordTable& table);

}  // namespace qkv

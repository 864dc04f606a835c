// Files and standard input, as text that the rest of qkv may trust.
#pragma once

#include <string>

#include "base/diagnostic.h"

namespace qkv {

// Reads a whole file, or standard input when the name is "-".
// Null, with an error added, when it is missing, a directory, unreadable, larger than 64 MiB,
// empty, binary (a NUL byte), or not UTF-8 (the byte offset is named).
// A UTF-8 byte order mark is dropped.  A file that only claims to be large costs no memory.
SourcePtr read_source(const std::string& name, Diagnostics& diagnostics);

// The same checks on text already in memory.
SourcePtr source_from_text(std::string name, std::string text, Diagnostics& diagnostics);

}  // namespace qkv

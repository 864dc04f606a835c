// Files and standard input, as text that the rest of qkv may trust.
#pragma once

#include <cstddef>
#include <string>

#include "base/diagnostic.h"

namespace qkv {

inline constexpr std::size_t kLargestFile = std::size_t{64} << 20U;  // bytes

// Reads a whole file, or standard input when the name is "-"; that can be done only once.
// Null, with an error added, when it is missing, a directory, unreadable, larger than 64 MiB,
// empty, binary (a NUL byte), or not UTF-8 (the byte offset is named).
// A UTF-8 byte order mark is dropped.  A NumPy array becomes the matrix file it stands for; see input/npy.h.
// A file that only claims to be large costs no memory.
SourcePtr read_source(const std::string& name, Diagnostics& diagnostics);

// The next read_source("-") returns this: for who has looked at it, and leaves the work to another.
void give_back(SourcePtr standard_input);

// Adds the error that a file of this name cannot be opened, errno being `error`; with the near name of
// another.
void cannot_open(const std::string& name, int error, Diagnostics& diagnostics);

// The same checks on what is already in memory.
SourcePtr source_from_text(std::string name, std::string text, Diagnostics& diagnostics);

}  // namespace qkv

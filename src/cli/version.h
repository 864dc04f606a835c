// What --version prints.
#pragma once

#include <string>

namespace qkv {

// "qkv 0.1.0", then a line for each library, "fmt 9.1.0": of a shared library the version that runs, of
// headers alone the one that was compiled in.  For reports of faults; programs read the first line.
std::string version_text();

}  // namespace qkv

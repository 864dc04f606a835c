// Why a large file is no matrix of plain rows.
#pragma once

#include <string>

#include "base/diagnostic.h"

namespace qkv {

// Of a text file with too many words for the tolerant reader (kMostCells): adds the error of what
// read_numbers() gave it up for, the first word that is no plain decimal or the first row of another length.
void tell_why_not_plain(const std::string& name, Diagnostics& diagnostics);

}  // namespace qkv

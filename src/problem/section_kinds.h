// The table of sections: which names are known, and what may stand in their cells.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "input/matrix_text.h"

namespace qkv {

struct SectionKind {
  const char* name;
  CellRules cells;
  bool is_vector;  // one row or one column; kept as a row
  Text meaning;
};

std::span<const SectionKind> section_kinds();

// The kind of a name as in the file; prefixes such as h1. and expect. are not looked through.
const SectionKind* find_section_kind(std::string_view name);

}  // namespace qkv

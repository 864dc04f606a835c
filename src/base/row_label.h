// The name of a row, as the reader of matrices takes it back.
#pragma once

#include <string>

namespace qkv {

// `t1 | `, `"a b" | `; empty for an empty name, and for one that would be taken for a number.
std::string row_label_text(const std::string& name);

}  // namespace qkv

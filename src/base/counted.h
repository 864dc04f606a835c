// A number and its noun: "1 row", "2 rows".
//
//   say({"Q has {0}, K has {1}", "Q 有 {0} 列，K 有 {1} 列"}, counted(q, "column"), counted(k, "column"))
//
// A Chinese noun has one form, so there the number stands alone and the sentence brings the noun.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "base/counted.h"
#include "base/text.h"

namespace qkv {

// noun: in the singular; its plural is regular: rows, classes, queries, keys
template <class Count>
Said counted(Count count, std::string_view noun) {
  const bool ends_in_ies = noun.ends_with('y') && !noun.ends_with("ey");
  const std::string_view stem = count != Count{1} && ends_in_ies ? noun.substr(0, noun.size() - 1) : noun;
  const std::string_view ending = count == Count{1}     ? ""
                                  : ends_in_ies         ? "ies"
                                  : noun.ends_with('s') ? "es"
                                                        : "s";
  return {fmt::format("{} {}{}", count, stem, ending), fmt::format("{}", count)};
}

}  // namespace qkv

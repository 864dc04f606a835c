// The completion of a shell, from the program's own options: what --help lists is what Tab offers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace CLI {
class App;
}

namespace qkv {

// What may stand behind an option, or in the place of an argument.
struct Completion {
  enum class Kind { nothing, words, file, problem };  // `nothing` can be offered, as for a number
  Kind kind = Kind::nothing;
  std::vector<std::string> words;  // one that ends in ':' wants more
  bool operator==(const Completion&) const = default;
};

// From the name of a type as --help shows it: "text | json" are two words; of "none | causal | window:w | a
// number" none, causal and window: can be offered.
Completion completion_of(const std::string& type_name);

// A script for `shell` (bash, zsh or fish) that completes the commands of `app`, their options and arguments.
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace qkv

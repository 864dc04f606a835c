// The table of settings: one row serves the problem file's `key = value`, the command
// line's `--key value`, the messages that list what is allowed, and "did you mean".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"

namespace qkv {

class ValueReader;
struct Settings;

struct Key {
  const char* name;        // as in the file; the option is "--" + name with "-" for "_"
  const char* values;      // what may be written, for help and hints: "none | causal | window:w | …"
  const char* by_default;  // in the spelling of `values`; "" when there is none to name
  Text meaning;            // one line for --help and the man page
  // Understands a value and stores it.  Returns it in its usual spelling; nullopt when it
  // added an error.
  std::optional<std::string> (*read)(ValueReader& value, Settings& settings);
  bool as_option = true;      // may also be given on the command line
  bool is_free_text = false;  // to the end of the line, '#' and all
};

std::span<const Key> keys();

// The row of a key; null when there is none.
const Key* find_key(std::string_view name);

// What may be written: "none | a positive number".
Said allowed_values(const Key& key);

// "mask_values" is "--mask-values" on the command line.
std::string option_of(const Key& key);

}  // namespace qkv

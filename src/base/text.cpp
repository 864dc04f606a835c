#include "base/text.h"

namespace qkv {

std::string filled_in(const char* sentence, fmt::format_args arguments) {
  return fmt::vformat(sentence, arguments);
}

Said filled_in(const Text& text, fmt::format_args arguments) {
  return {filled_in(text.en, arguments), filled_in(text.zh, arguments)};
}

}  // namespace qkv

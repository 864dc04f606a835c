#include "cli/language.h"

#include <cstdlib>

namespace qkv {

std::optional<Language> language_named(const std::string& name) {
  if (name == "en") return Language::en;
  if (name == "zh") return Language::zh;
  if (name == "auto") return language_of_environment();
  return std::nullopt;
}

Language language_of_environment() {
  for (const char* variable : {"QKV_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string text = value;
    if (text == "auto" && std::string(variable) == "QKV_LANG") continue;
    return text.starts_with("zh") ? Language::zh : Language::en;
  }
  return Language::en;
}

}  // namespace qkv

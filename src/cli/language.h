// Which language qkv speaks: --lang, then QKV_LANG, then the locale's variables.
#pragma once

#include <optional>
#include <string>

#include "base/text.h"

namespace qkv {

// "en", "zh", "auto"; nullopt for anything else.
std::optional<Language> language_named(const std::string& name);

// From the environment: QKV_LANG, LANGUAGE, LC_ALL, LC_MESSAGES, LANG; the first that is set
// decides.  C, POSIX and every language but Chinese mean English.
Language language_of_environment();

}  // namespace qkv

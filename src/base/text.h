// Every sentence qkv says stands once in the code, in both languages, side by side:
//
//   say({"row {0} has {1} numbers", "第 {0} 行有 {1} 个数"}, row, count)
//
// The compiler rejects a pair whose placeholders differ.  Arguments are numbered, because
// word order differs between the languages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace qkv {

enum class Language { en, zh };

// Bit i is set when "{i}" occurs in the text; "{{" and "}}" are literal braces.
constexpr unsigned placeholders(std::string_view text) {
  unsigned found = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') continue;
    if (i + 1 < text.size() && text[i + 1] == '{') {
      ++i;
    } else if (i + 2 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' && text[i + 2] == '}') {
      found |= 1U << (text[i + 1] - '0');
    } else {
      throw "a placeholder is one digit in braces";
    }
  }
  return found;
}

// One sentence, not yet filled in.  Only constants: made when qkv is compiled.
struct Text {
  const char* en;
  const char* zh;
  consteval Text(const char* english, const char* chinese) : en(english), zh(chinese) {
    if (placeholders(english) != placeholders(chinese)) throw "the two languages use different placeholders";
  }
  const char* in(Language language) const { return language == Language::zh ? zh : en; }
};

// One sentence, filled in, in both languages.
struct Said {
  std::string en;
  std::string zh;
  const std::string& in(Language language) const { return language == Language::zh ? zh : en; }
  bool empty() const { return en.empty(); }
  bool operator==(const Said&) const = default;
};

template <class T>
decltype(auto) argument_in(Language, const T& argument) {
  return (argument);
}
inline const std::string& argument_in(Language language, const Said& argument) {
  return argument.in(language);
}

// say() without its types: sentences are said in a thousand places, and this stands in the program once.
std::string filled_in(const char* sentence, fmt::format_args arguments);
Said filled_in(const Text& text, fmt::format_args arguments);

// Fills in a sentence, in one language.  An argument that is itself a Said is taken in it.
template <class... Args>
std::string say_in(Language language, const Text& text, const Args&... args) {
  return filled_in(text.in(language), fmt::make_format_args(argument_in(language, args)...));
}

// In both.
template <class... Args>
Said say(const Text& text, const Args&... args) {
  if constexpr ((std::is_same_v<Args, Said> || ...)) {
    return {say_in(Language::en, text, args...), say_in(Language::zh, text, args...)};
  } else {
    return filled_in(text, fmt::make_format_args(args...));
  }
}

}  // namespace qkv

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

// Fills in a sentence.  An argument that is itself a Said is taken in the right language.
template <class... Args>
Said say(const Text& text, const Args&... args) {
  const auto in = [&](Language language) {
    return fmt::format(fmt::runtime(text.in(language)), argument_in(language, args)...);
  };
  return {in(Language::en), in(Language::zh)};
}

}  // namespace qkv

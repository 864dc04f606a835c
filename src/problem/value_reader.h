// The words of which the values of settings are made: a choice, a number, a list.
//
// Each function returns nullopt after it has added an error that names the setting, points at
// the value and says what is allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/number.h"
#include "problem/settings.h"

namespace qkv {

class ValueReader {
 public:
  ValueReader(const SettingText& setting, Diagnostics& diagnostics);

  // The value as written, and with full-width forms folded.
  const std::string& written() const { return setting_.value; }
  const std::string& text() const { return text_; }
  const Key& key() const { return *setting_.key; }

  // One of the words listed in the key's `values`; else an error, with "did you mean".
  bool choice();
  void not_a_choice();
  std::optional<long> integer(long least, long most);
  std::optional<Number> number();  // finite
  std::optional<Number> positive_number();
  std::optional<std::vector<Number>> numbers();  // separated by spaces or commas
  std::optional<std::vector<std::string>> labels();

  // Points at bytes [begin, end) of the value.
  void error(Span within, Said message, Said hint = {});
  void error(Said message, Said hint = {}) {
    error({0, setting_.value.size()}, std::move(message), std::move(hint));
  }

 private:
  std::optional<Number> number_in(std::string_view written, std::size_t offset);
  std::vector<std::string_view> choices() const;
  Said allowed_values() const;
  // The one of them that was probably meant, or all.
  Said meant_or_allowed(std::string_view written) const;

  const SettingText& setting_;
  Diagnostics& diagnostics_;
  std::string text_;
};

}  // namespace qkv

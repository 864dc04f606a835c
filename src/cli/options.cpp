#include "cli/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace qkv {
namespace {

// What --gradient=WORD may say; "true" is what CLI11 makes of a bare --gradient.
constexpr std::array<std::string_view, 4> kFlagWords{"yes", "no", "true", "false"};

bool is_argument(std::string_view flags) { return !flags.starts_with('-'); }

// Whether `name` is one of "-p,--decimals", or that of "--heat{viridis}".
bool is_one_of(std::string_view flags, std::string_view name) {
  if (flags.size() > 2 && name.size() > 2 && flags[1] == '-' && flags[2] != name[2])
    return false;  // most of them
  if (!flags.starts_with(name)) return flags[1] != '-' && flags.substr(flags.find("--")) == name;
  return flags.size() == name.size() || flags[name.size()] == ',' || flags[name.size()] == '{';
}

bool take_text(std::string& value, const std::string& text) {
  value = text;
  return true;
}
bool take_text(std::vector<std::string>& value, const std::string& text) {
  value.push_back(text);
  return true;
}
// CLI11 knows more ways to write a number.
template <class Integer>
bool take_text(Integer& value, const std::string& text) {
  const char* const end = text.data() + text.size();
  const auto [last, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc() && last == end && text[0] != '0';
}
bool take_text(std::optional<int>& value, const std::string& text) {
  return take_text(value.emplace(), text);
}
bool take_text(std::optional<double>&, const std::string&) { return false; }

template <class T>
constexpr bool kRepeats = std::is_same_v<T, std::vector<std::string>>;

}  // namespace

SimpleLine::SimpleLine(const std::vector<std::string>& words) {
  for (const std::string_view word : words) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    words_.push_back({word, is_option ? word.substr(0, word.find('=')) : std::string_view()});
  }
}

bool SimpleLine::names(std::string_view flags) const {
  return std::any_of(words_.begin(), words_.end(),
                     [&](const Word& word) { return !word.name.empty() && is_one_of(flags, word.name); });
}

SimpleLine::Word* SimpleLine::named(std::string_view flags) {
  Word* found = nullptr;
  for (Word& word : words_) {
    if (word.name.empty() || !is_one_of(flags, word.name)) continue;
    if (found != nullptr) is_simple_ = false;
    found = &word;
  }
  if (found != nullptr) found->is_taken = true;
  return found;
}

void SimpleLine::option(std::string_view flags, const Take& take) {
  Word* const word = named(flags);
  if (word == nullptr) return;
  std::string_view value = word->text.substr(word->name.size());
  if (!value.empty()) {
    value.remove_prefix(1);  // the =
    is_simple_ = is_simple_ && word->name.starts_with("--");
  } else if (Word* const next = word + 1; next != words_.data() + words_.size() && next->name.empty()) {
    next->is_taken = true;
    value = next->text;
  }
  is_simple_ = is_simple_ && !value.empty() && take(std::string(value));
}

void SimpleLine::flag(std::string_view flags, const std::function<void()>& take) {
  const Word* const word = named(flags);
  if (word == nullptr) return;
  is_simple_ = is_simple_ && word->text == word->name;
  take();
}

void SimpleLine::argument(std::string name, Take take, bool repeats) {
  arguments_.push_back({std::move(name), std::move(take), repeats});
}

void SimpleLine::require(std::string_view argument) {
  for (Argument& a : arguments_) a.is_required = a.is_required || a.name == argument;
}

bool SimpleLine::is_understood() {
  auto next = arguments_.begin();
  for (const Word& word : words_) {
    if (word.is_taken) continue;
    if (!word.name.empty() || word.text.empty() || next == arguments_.end()) return false;
    if (!next->take(std::string(word.text))) return false;
    next->is_required = false;
    if (!next->repeats) ++next;
  }
  return is_simple_ &&
         std::none_of(arguments_.begin(), arguments_.end(), [](const Argument& a) { return a.is_required; });
}

Option& Option::type(const char* words) {
  if (made_ != nullptr) made_->type_name(words);
  return *this;
}

Option& Option::group(const char* title) {
  if (made_ != nullptr) made_->group(title);
  return *this;
}

Option& Option::required() {
  if (made_ != nullptr) made_->required();
  if (line_ != nullptr) line_->require(flags_);
  return *this;
}

Option& Option::last_counts() {
  if (made_ != nullptr) made_->take_last();
  return *this;
}

OptionTaker add_command(const OptionTaker& to, const char* name, const char* meaning) {
  return to.line != nullptr ? to : OptionTaker{.app = to.app->add_subcommand(name, meaning)};
}

template <class T>
Option add_option(const OptionTaker& to, const char* flags, T& value, const char* meaning) {
  if (to.line == nullptr) return Option(to.app->add_option(flags, value, meaning));
  const auto take = [&value](const std::string& text) { return take_text(value, text); };
  if (is_argument(flags)) {
    to.line->argument(flags, take, kRepeats<T>);
  } else {
    to.line->option(flags, take);
  }
  return {*to.line, flags};
}
template Option add_option(const OptionTaker&, const char*, std::string&, const char*);
template Option add_option(const OptionTaker&, const char*, std::vector<std::string>&, const char*);
template Option add_option(const OptionTaker&, const char*, int&, const char*);
template Option add_option(const OptionTaker&, const char*, std::int64_t&, const char*);
template Option add_option(const OptionTaker&, const char*, std::optional<int>&, const char*);
template Option add_option(const OptionTaker&, const char*, std::optional<double>&, const char*);

Option add_option(const OptionTaker& to, const char* flags, std::function<void(const std::string&)> take,
                  const char* meaning) {
  if (to.line == nullptr) return Option(to.app->add_option_function<std::string>(flags, take, meaning));
  to.line->option(flags, [&](const std::string& text) {
    take(text);
    return true;
  });
  return {*to.line, flags};
}

void value_is_missing(const char* flags) { throw CLI::ArgumentMismatch::TypedAtLeast(flags, 1, ""); }

Option add_flag(const OptionTaker& to, const char* flags, bool& value, const char* meaning) {
  if (to.line == nullptr) return Option(to.app->add_flag(flags, value, meaning));
  to.line->flag(flags, [&] { value = true; });
  return {*to.line, flags};
}

Option add_flag(const OptionTaker& to, const char* flags, std::string& value, const char* meaning) {
  if (to.line == nullptr) return Option(to.app->add_flag(flags, value, meaning));
  to.line->flag(flags, [&] {
    value = flags;
    value = value.substr(value.find('{') + 1);
    value.pop_back();
  });
  return {*to.line, flags};
}

Option add_yes_or_no(const OptionTaker& to, const char* flags, std::function<void(bool)> take,
                     const char* meaning) {
  if (to.line != nullptr) {
    to.line->flag(flags, [&] { take(true); });
    return {*to.line, flags};
  }
  return Option(to.app
                    ->add_flag_function(
                        flags, [take = std::move(take)](std::int64_t count) { take(count > 0); }, meaning)
                    ->take_last()
                    ->check([](const std::string& value) {
                      const auto& words = kFlagWords;
                      return std::find(words.begin(), words.end(), value) != words.end() ? std::string()
                                                                                         : value;
                    }));
}

}  // namespace qkv

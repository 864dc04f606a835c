#include "cli/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace qkv {
namespace {

const std::vector<std::string>* words_of_line = nullptr;  // null: every option is made

// What --gradient=WORD may say; "true" is what CLI11 makes of a bare --gradient.
constexpr std::array<std::string_view, 4> kFlagWords{"yes", "no", "true", "false"};

}  // namespace

NamedOptions::NamedOptions(const std::vector<std::string>& words) { words_of_line = &words; }
NamedOptions::~NamedOptions() { words_of_line = nullptr; }

bool may_be_named(std::string_view flags) {
  if (words_of_line == nullptr || !flags.starts_with('-')) return true;
  const bool has_letter = flags[1] != '-';
  const std::string_view name = flags.substr(has_letter ? flags.find("--") : 0).substr(0, flags.find('{'));
  return std::any_of(words_of_line->begin(), words_of_line->end(), [&](std::string_view word) {
    if (word.starts_with("--"))
      return word.starts_with(name) && (word.size() == name.size() || word[name.size()] == '=');
    return has_letter && word.starts_with('-') &&
           word.find(flags[1]) != word.npos;  // it may hide, as in -qp3
  });
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
  return *this;
}

Option& Option::last_counts() {
  if (made_ != nullptr) made_->take_last();
  return *this;
}

CLI::App& add_command(CLI::App& app, const char* name, const char* meaning) {
  return *app.add_subcommand(name, meaning);
}

template <class T>
Option add_option(CLI::App& app, const std::string& flags, T& value, const char* meaning) {
  return Option(may_be_named(flags) ? app.add_option(flags, value, meaning) : nullptr);
}
template Option add_option(CLI::App&, const std::string&, std::string&, const char*);
template Option add_option(CLI::App&, const std::string&, std::vector<std::string>&, const char*);
template Option add_option(CLI::App&, const std::string&, int&, const char*);
template Option add_option(CLI::App&, const std::string&, std::int64_t&, const char*);
template Option add_option(CLI::App&, const std::string&, std::optional<int>&, const char*);
template Option add_option(CLI::App&, const std::string&, std::optional<double>&, const char*);

Option add_option(CLI::App& app, const std::string& flags, std::function<void(const std::string&)> take,
                  const char* meaning) {
  if (!may_be_named(flags)) return Option(nullptr);
  return Option(app.add_option_function<std::string>(flags, take, meaning));
}

void value_is_missing(const std::string& flags) { throw CLI::ArgumentMismatch::TypedAtLeast(flags, 1, ""); }

Option add_flag(CLI::App& app, const std::string& flags, bool& value, const char* meaning) {
  return Option(may_be_named(flags) ? app.add_flag(flags, value, meaning) : nullptr);
}

Option add_flag(CLI::App& app, const std::string& flags, std::string& value, const char* meaning) {
  return Option(may_be_named(flags) ? app.add_flag(flags, value, meaning) : nullptr);
}

Option add_yes_or_no(CLI::App& app, const std::string& flags, std::function<void(bool)> take,
                     const char* meaning) {
  if (!may_be_named(flags)) return Option(nullptr);
  return Option(app.add_flag_function(
                       flags, [take = std::move(take)](std::int64_t count) { take(count > 0); }, meaning)
                    ->take_last()
                    ->check([](const std::string& value) {
                      const auto& words = kFlagWords;
                      return std::find(words.begin(), words.end(), value) != words.end() ? std::string()
                                                                                         : value;
                    }));
}

}  // namespace qkv

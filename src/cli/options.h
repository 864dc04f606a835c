// Commands and their options: all that qkv tells CLI11, which reads the command line.
//
// A command has a hundred options and a line names two.  To make them all takes longer than to calculate a
// small problem, so that an option which the line cannot mean is left out: see NamedOptions.  CLI11 itself is
// included where a line is parsed and not by every command: each file that does has ten objects of it to make
// at every start.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv {

// As long as it lives, only those options are made that these words could name.
class NamedOptions {
 public:
  explicit NamedOptions(const std::vector<std::string>& words);
  ~NamedOptions();
  NamedOptions(const NamedOptions&) = delete;
  NamedOptions& operator=(const NamedOptions&) = delete;
};

// Whether the line can mean this option: "--mask", "-p,--decimals" or "--heat{viridis}"; or an argument,
// "FILE".
bool may_be_named(std::string_view flags);

// What --help and messages say of an option.  One that was left out takes it all in silence.
class Option {
 public:
  explicit Option(CLI::Option* made) : made_(made) {}
  Option& type(const char* words);  // what it takes: "N", "a | b"; "" for an argument
  template <class Table>
  Option& one_of(const Table& table);  // a row's name
  Option& group(const char* title);    // "": hidden
  Option& required();
  Option& last_counts();  // where it is given more than once; else that is an error

 private:
  CLI::Option* made_;  // null: left out
};

// A command below `app`.
CLI::App& add_command(CLI::App& app, const char* name, const char* meaning);

// An option or argument whose value goes into `value`: a std::string or several, a whole number, a double, or
// an optional one.
template <class T>
Option add_option(CLI::App& app, const std::string& flags, T& value, const char* meaning);
// The same, handed to `take`, which may refuse it: see value_is_missing().
Option add_option(CLI::App& app, const std::string& flags, std::function<void(const std::string&)> take,
                  const char* meaning);
[[noreturn]] void value_is_missing(const std::string& flags);

// Takes no value, or one behind '='; "--heat{viridis}" without one is --heat=viridis.
Option add_flag(CLI::App& app, const std::string& flags, bool& value, const char* meaning);
Option add_flag(CLI::App& app, const std::string& flags, std::string& value, const char* meaning);
// --gradient, --gradient=yes or --gradient=no; the last counts.
Option add_yes_or_no(CLI::App& app, const std::string& flags, std::function<void(bool)> take,
                     const char* meaning);

// Of a table whose rows have a `name`: "a | b".
template <class Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& row : table) names += (names.empty() ? "" : " | ") + std::string(row.name);
  return names;
}

template <class Table>
Option& Option::one_of(const Table& table) {
  return made_ == nullptr ? *this : type(names_of(table).c_str());
}

}  // namespace qkv

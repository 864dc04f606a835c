// Commands and their options: all that qkv says to CLI11, which reads the command line.
//
// To tell CLI11 of every option and command takes longer than to calculate a small problem, and most lines
// are simple: names of options and their values.  Such a line takes its values itself, as the options are
// told one after the other; whatever else it may be is left to CLI11, which knows what to say.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv {

// The words behind a command, as long as nothing about them is unusual: each option is given once, in full
// and with a value of its own that is no option, or is a flag; every other word is an argument.
class SimpleLine {
 public:
  explicit SimpleLine(const std::vector<std::string>& words);

  bool names(std::string_view flags) const;
  // Hands what the line says of an option, a flag or an argument to `take`, if it says anything.
  using Take = std::function<bool(const std::string&)>;  // false: not such a value
  void option(std::string_view flags, const Take& take);
  void flag(std::string_view flags, const std::function<void()>& take);
  void argument(std::string name, Take take, bool repeats = false);
  void require(std::string_view argument);
  // After all of these: whether each word has found its place.
  bool is_understood();

 private:
  struct Word {
    std::string_view text;
    std::string_view name;  // "--mask" also of --mask=causal; empty: no option
    bool is_taken = false;
  };
  struct Argument {
    std::string name;
    Take take;
    bool repeats = false;
    bool is_required = false;
  };
  Word* named(std::string_view flags);

  std::vector<Word> words_;
  std::vector<Argument> arguments_;
  bool is_simple_ = true;
};

// Who is told of the options of a command: one of the two.
struct OptionTaker {
  CLI::App* app = nullptr;
  SimpleLine* line = nullptr;

  // Whether it is worth telling of this option: "--mask", "-p,--decimals" or "--heat{viridis}".
  bool may_name(std::string_view flags) const { return line == nullptr || line->names(flags); }
};

// What --help and messages say of an option.
class Option {
 public:
  explicit Option(CLI::Option* made) : made_(made) {}
  Option(SimpleLine& line, std::string_view flags) : line_(&line), flags_(flags) {}
  Option& type(const char* words);  // what it takes: "N", "a | b"; "" for an argument
  template <class Table>
  Option& one_of(const Table& table);  // a row's name
  Option& group(const char* title);    // "": hidden
  Option& required();
  Option& last_counts();  // where it is given more than once; else that is an error

 private:
  CLI::Option* made_ = nullptr;  // null: a simple line has been told
  SimpleLine* line_ = nullptr;
  std::string_view flags_;
};

// A command below `to`.
OptionTaker add_command(const OptionTaker& to, const char* name, const char* meaning);

// An option or argument whose value goes into `value`: a std::string or several, a whole number, or an
// optional number.
template <class T>
Option add_option(const OptionTaker& to, const char* flags, T& value, const char* meaning);
// The same, handed to `take`, which may refuse it: see value_is_missing().
Option add_option(const OptionTaker& to, const char* flags, std::function<void(const std::string&)> take,
                  const char* meaning);
[[noreturn]] void value_is_missing(const char* flags);

// Takes no value, or one behind '='; "--heat{viridis}" without one is --heat=viridis.
Option add_flag(const OptionTaker& to, const char* flags, bool& value, const char* meaning);
Option add_flag(const OptionTaker& to, const char* flags, std::string& value, const char* meaning);
// --gradient, --gradient=yes or --gradient=no; the last counts.
Option add_yes_or_no(const OptionTaker& to, const char* flags, std::function<void(bool)> take,
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

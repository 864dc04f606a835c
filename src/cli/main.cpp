// qkv: reads the first word, hands over to the command, maps what went wrong to an exit status.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/display_width.h"
#include "base/suggest.h"
#include "cli/language.h"
#include "cli/progress.h"
#include "cli/shared.h"
#include "cli/version.h"
#include "render/colormap.h"

namespace qkv {
namespace {

constexpr int kBadUsage = 2;
constexpr int kOwnFault = 3;

// Help is written before the options are parsed, so --lang is looked for by hand.
Language language_of_arguments(const std::vector<std::string>& arguments) {
  Language language = language_of_environment();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string value;
    if (arguments[i] == "--lang" && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].starts_with("--lang=")) value = arguments[i].substr(7);
    if (const auto named = language_named(value)) language = *named;
  }
  return language;
}

bool looks_like_file(const std::string& word) {
  std::error_code ignored;
  return word == "-" || word.find_first_of("./") != std::string::npos ||
         std::filesystem::exists(word, ignored);
}

void complain(const Said& message, const Said& hint, Language language) {
  Diagnostics diagnostics;
  diagnostics.error("", message, hint);
  print_diagnostics(diagnostics, {.language = language});
}

// To standard output; a full disk is noticed here as everywhere.
int print(const std::string& text, Language language) {
  Diagnostics diagnostics;
  if (write_output("", text, {}, diagnostics)) return 0;
  print_diagnostics(diagnostics, {.language = language});
  return kBadUsage;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// What CLI11 leaves over: misspelt options, and words nobody asked for.
int refuse_leftovers(const std::vector<std::string>& leftovers, const CLI::App& command, Language language) {
  for (const std::string& word : leftovers) {
    if (word.size() > 1 && word.starts_with('-')) {
      const std::string name = word.substr(0, word.find('='));
      const std::vector<std::string> options = option_names(command);
      const Said near = did_you_mean(name, {options.begin(), options.end()});
      complain(say({"unknown option '{0}'", "未知选项“{0}”"}, name),
               near.empty() ? say({"see: qkv {0} --help", "参见：qkv {0} --help"}, command.get_name()) : near,
               language);
      return kBadUsage;
    }
  }
  complain(say({"unexpected argument '{0}'", "多余的参数“{0}”"}, leftovers.front()),
           say({"see: qkv {0} --help", "参见：qkv {0} --help"}, command.get_name()), language);
  return kBadUsage;
}

// What CLI11 says in English only; it puts the name first, but for "Could not convert: --seed = x".
Said reason_of(const CLI::ParseError& error, const CLI::App& app) {
  std::string what = error.what();
  const std::string prefix = "Could not convert: ";
  if (what.starts_with(prefix)) what.erase(0, prefix.size());
  const std::string name = what.substr(0, what.find_first_of(": "));
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return say({"{0} is missing", "缺少 {0}"}, name);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const bool is_repeated = what.find("At Most") != std::string::npos;
    return is_repeated ? say({"{0} was given more than once", "{0} 给了不止一次"}, name)
                       : say({"{0} lacks its value", "{0} 缺少取值"}, name);
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) {
    const std::string value = what.substr(std::min(what.size(), name.size() + std::string(": ").size()));
    return say({"{0} is yes or no, not '{1}'", "{0} 只能是 yes 或 no，而不是“{1}”"}, name, value);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const std::string value = what.substr(std::min(what.size(), name.size() + std::string(" = ").size()));
    const auto used = app.get_subcommands();
    const CLI::Option* option = used.empty() ? nullptr : used.front()->get_option_no_throw(name);
    const std::string type = option != nullptr ? option->get_type_name() : "";
    if (type.empty()) return say({"{0} takes no value", "{0} 不带取值"}, name);
    if (type == kWholeNumber)
      return say({"{0} takes a whole number, not '{1}'", "{0} 应为整数，而不是“{1}”"}, name, value);
    return say({"{0} takes a number, not '{1}'", "{0} 应为数，而不是“{1}”"}, name, value);
  }
  return {what, what};
}

int refuse(const CLI::ParseError& error, const CLI::App& app, Language language) {
  const auto used = app.get_subcommands();
  const std::string name = used.empty() ? "" : " " + used.front()->get_name();
  complain(reason_of(error, app), say({"see: qkv{0} --help", "参见：qkv{0} --help"}, name), language);
  return kBadUsage;
}

// A number such as -1.8 is not an option; with a space before it CLI11 does not take it for one.
void protect_negative_numbers(std::vector<std::string>& arguments) {
  for (std::string& word : arguments) {
    if (word.size() < 2 || word[0] != '-') continue;
    const bool is_number = std::string_view("0123456789.").find(word[1]) != std::string_view::npos;
    if (is_number || word.starts_with("-inf") || word.starts_with("-∞")) word.insert(0, " ");
  }
}

// CLI11 counts bytes, three for a Chinese character, which takes two columns; and writes the value that a
// flag may take in its own way, --heat{viridis}.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    if (const std::size_t brace = name.find('{'); brace != std::string::npos) {
      const std::size_t end = name.find('}', brace);
      name.replace(brace, std::string::npos, "[=" + name.substr(brace + 1, end - brace - 1) + "]");
    }
    const std::string meaning = make_option_desc(option);
    if (meaning.empty()) return name + "\n";
    const int width = static_cast<int>(get_column_width());
    if (qkv::column_width(name) >= width)
      return name + "\n" + std::string(get_column_width(), ' ') + meaning + "\n";
    return name + std::string(static_cast<std::size_t>(width - qkv::column_width(name)), ' ') + meaning +
           "\n";
  }
};

struct CommandRow {
  const char* name;
  Command (*setup)(const OptionTaker& app, Language language);
  bool asks_about_all = false;  // wants the other commands made too
};
constexpr std::array<CommandRow, 14> kCommands{{{"trace", setup_trace},
                                                {"explain", setup_explain},
                                                {"check", setup_check},
                                                {"worksheet", setup_worksheet},
                                                {"exercise", setup_exercise},
                                                {"diff", setup_diff},
                                                {"detect", setup_detect},
                                                {"export", setup_export},
                                                {"convert", setup_convert},
                                                {"softmax", setup_softmax},
                                                {"cache", setup_cache},
                                                {"cost", setup_cost},
                                                {"variance", setup_variance},
                                                {"completion", setup_completion, true}}};

// What CLI11 has to know to read a command line: all commands and their options.
struct CommandLine {
  explicit CommandLine(Language language);
  void parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  }
  // The one that was given; null when there was none.
  const Command* used() const {
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [](const Command& command) { return command.app->parsed(); });
    return found == commands.end() ? nullptr : &*found;
  }

  CLI::App app;
  std::vector<Command> commands;
};

CommandLine::CommandLine(Language language)
    : app(Text{"qkv: attention that shows its work", "qkv：把每一步都算给你看的注意力计算器"}.in(language),
          "qkv") {
  app.option_defaults()->group(Text{"Options", "选项"}.in(language));  // commands inherit it
  const auto add_asking_flags = [language](CLI::App& to) {
    to.set_version_flag("-V,--version", version_text,
                        Text{"version, and those of the libraries", "版本，以及所用各库的版本"}.in(language));
    to.set_help_flag("-h,--help", Text{"this help", "显示帮助"}.in(language));
  };
  add_asking_flags(app);
  app.require_subcommand(0, 1);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("Usage", Text{"Usage", "用法"}.in(language));
  formatter->label("OPTIONS", Text{"OPTIONS", "选项"}.in(language));
  formatter->label("SUBCOMMAND", Text{"COMMAND", "命令"}.in(language));
  formatter->label("SUBCOMMANDS", Text{"COMMANDS", "命令"}.in(language));
  formatter->label("REQUIRED", Text{"REQUIRED", "必填"}.in(language));
  formatter->label("Positionals", Text{"Arguments", "参数"}.in(language));
  app.formatter(formatter);
  for (const CommandRow& row : kCommands) {
    const Command& command = commands.emplace_back(row.setup({.app = &app}, language));
    assert(command.app->get_name() == row.name);
    command.app->allow_extras();
    command.app->group(Text{"Commands", "命令"}.in(language));
    add_asking_flags(*command.app);
  }
}

// The name of colours that follows --heat as a word of its own, where CLI11 takes it for a file; else "".
std::string colours_apart(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const std::string& next = arguments[i + 1];
    std::error_code ignored;
    const bool is_map =
        std::any_of(kColorMaps.begin(), kColorMaps.end(), [&](const auto& map) { return next == map.name; });
    if (arguments[i] == "--heat" && is_map && !std::filesystem::exists(next, ignored)) return next;
  }
  return "";
}

// What CLI11 did not understand; a "--" says "no options from here on".
std::vector<std::string> leftovers_of(const Command& command) {
  std::vector<std::string> leftovers = command.app->remaining();
  std::erase(leftovers, "--");
  return leftovers;
}

int run(const Command& command, bool is_quiet, Language language) try {
  std::optional<ProgressLine> line;
  if (!is_quiet) line.emplace(language);
  return command.run();
} catch (const std::bad_alloc&) {
  complain(say({"there is not enough memory for this", "内存不够，算不下去"}), {}, language);
  return kBadUsage;
}

// nullopt, and nothing was done, where the line is not a simple one.
std::optional<int> run_simple_line(const CommandRow& row, const std::vector<std::string>& arguments,
                                   Language language) {
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  SimpleLine line(words);
  const Command command = row.setup({.line = &line}, language);
  if (!line.is_understood()) return std::nullopt;
  return run(command, line.names("-q,--quiet"), language);
}

// "qkv --lang zh trace FILE": what every command takes may stand before its name.
void put_command_first(std::vector<std::string>& arguments) {
  std::size_t at = 0;
  while (at < arguments.size()) {
    const std::string& word = arguments[at];
    if (word == "--lang" || word == "--color") {
      at += 2;
    } else if (word.starts_with("--lang=") || word.starts_with("--color=") || word == "--ascii" ||
               word == "--quiet" || word == "-q") {
      ++at;
    } else {
      break;
    }
  }
  if (at == 0 || at >= arguments.size()) return;
  const std::string& next = arguments[at];
  if (next.size() > 1 && next.starts_with('-')) return;  // -p 2: no command, and no file either
  const auto command = arguments.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(arguments.begin(), command, command + 1);
}

// "qkv help trace" is "qkv trace --help".
void help_as_option(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return;
  arguments.front() = "--help";
  if (arguments.size() > 1) std::swap(arguments[0], arguments[1]);
}

int main_of(std::vector<std::string> arguments) {
  const Language language = language_of_arguments(arguments);
  put_command_first(arguments);
  help_as_option(arguments);
  if (!arguments.empty()) {
    const std::string& first = arguments.front();
    const bool asks_version = first == "-V" || first == "--version";
    const bool is_about_qkv = first == "-h" || first == "--help" || asks_version;
    if (asks_version && arguments.size() == 1) return print(version_text() + "\n", language);
    const bool is_option = first.size() > 1 && first.starts_with('-');
    const auto named = [&] {
      return std::find_if(kCommands.begin(), kCommands.end(),
                          [&](const CommandRow& row) { return arguments.front() == row.name; });
    };
    if (named() == kCommands.end() && !is_about_qkv) {
      if (!is_option && !looks_like_file(first)) {
        complain(
            say({"unknown command '{0}', and no file of that name", "未知命令“{0}”，也没有这个文件"}, first),
            did_you_mean_or_one_of(first, names_in(kCommands)), language);
        return kBadUsage;
      }
      arguments.insert(arguments.begin(), "trace");
    }
    if (arguments.front() == "softmax") protect_negative_numbers(arguments);
    if (const auto row = named();
        row != kCommands.end() && !row->asks_about_all && colours_apart(arguments).empty()) {
      if (const auto status = run_simple_line(*row, arguments, language)) return *status;
    }
  }

  CommandLine line(language);
  try {
    line.parse(arguments);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    line.app.exit(success, text, text);
    const bool is_ascii = std::find(arguments.begin(), arguments.end(), "--ascii") != arguments.end();
    return print(is_ascii ? in_ascii(text.str()) : text.str(), language);
  } catch (const CLI::ParseError& error) {
    return refuse(error, line.app, language);
  }
  const Command* command = line.used();
  if (command == nullptr) return print(line.app.help(), language);
  const std::string colours = colours_apart(arguments);
  if (!colours.empty() && command->app->get_option_no_throw("--heat") != nullptr) {
    complain(say({"--heat takes its colours behind '=', not as the next word",
                  "--heat 的配色要写在“=”后面，不能另写一个词"}),
             say({"write --heat={0}", "请写成 --heat={0}"}, colours), language);
    return kBadUsage;
  }
  const std::vector<std::string> leftovers = leftovers_of(*command);
  if (!leftovers.empty()) return refuse_leftovers(leftovers, *command->app, language);
  const CLI::Option* const quiet = command->app->get_option_no_throw("--quiet");
  return run(*command, quiet != nullptr && quiet->count() > 0, language);
}

}  // namespace
}  // namespace qkv

int main(int argc, char** argv) {
  qkv::die_cleanly_of_signals();
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // written in large pieces, which need not be copied
  try {
    return qkv::main_of(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "qkv: a fault of qkv's own: %s\nplease report it, with the command and the file\n",
                 fault.what());
    return qkv::kOwnFault;
  }
}

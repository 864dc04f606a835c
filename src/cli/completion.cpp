// qkv completion SHELL: what the shell is to offer after a Tab.
//
// Each shell has its own idea of completing, so each script is written in its manner; all three are filled
// from the same list of commands.  A file as the first word stands for `qkv trace FILE`.

#include "cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cli/shared.h"

namespace qkv {
namespace {

using Kind = Completion::Kind;

struct OptionWords {
  std::vector<std::string> names;  // with their dashes
  std::string meaning;
  bool takes_value = false;  // as the next word, too; --heat has its value behind '=' or none
  Completion value;
  bool operator==(const OptionWords&) const = default;
};

struct CommandWords {
  std::string name;
  std::string meaning;
  std::vector<OptionWords> options;
  std::vector<Completion> arguments;  // the last repeats
};

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

// Characters of `special` with a backslash before them.
std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// In single quotes, for bash and zsh.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  words.meaning = option.get_description();
  words.takes_value = option.get_items_expected_max() > 0;
  words.value = completion_of(option.get_type_name());
  return words;
}

// An argument says by its name what it is.
Completion argument_of(const CLI::Option& option) {
  const std::string name = option.get_name(true);
  if (name == "FILE") return {Kind::problem, {}};
  if (name == "CELL" || name == "NUMBERS") return {};
  if (!option.get_type_name().empty()) return completion_of(option.get_type_name());
  return {Kind::file, {}};
}

CommandWords words_of(const CLI::App& command) {
  CommandWords words{command.get_name(), command.get_description(), {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      words.arguments.push_back(argument_of(*option));
    } else if (!option->get_group().empty()) {  // else hidden from --help, too
      words.options.push_back(words_of(*option));
    }
  }
  return words;
}

std::vector<std::string> names_with_value(const CommandWords& command) {
  std::vector<std::string> names;
  for (const OptionWords& option : command.options) {
    if (option.takes_value) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> all_names(const CommandWords& command) {
  std::vector<std::string> names;
  for (const OptionWords& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> command_names(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands) names.push_back(command.name);
  return names;
}

// ---- bash ----

constexpr std::string_view kBashHead = R"bash(# bash completion for qkv, written by: qkv completion bash
_qkv() {
  # Bash makes a word of the '=' in --format=json; without it the two spellings are alike.
  local word=${COMP_WORDS[COMP_CWORD]} typed=() w
  [[ $word == = ]] && word=
  for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $w == = ]] || typed+=("$w")
  done
  local command=trace commands='@COMMANDS@' count=0 before= options takes arguments kind= words=
  if [[ -n ${typed[0]-} && " $commands " == *" ${typed[0]} "* ]]; then
    command=${typed[0]}
    typed=("${typed[@]:1}")
  fi
  case $command in
)bash";
constexpr std::string_view kBashMiddle = R"bash(  esac
  # The option that waits for its value, and how many arguments stand before the cursor.
  for w in "${typed[@]}"; do
    if [[ -n $before ]]; then
      before=
    elif [[ " $takes " == *" $w "* ]]; then
      before=$w
    elif [[ $w != -?* ]]; then
      count=$((count + 1))
    fi
  done
  # A value that may be left out is one behind '=' alone.
  if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-1]}
  elif ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ -n $before ]]; then
    case "$command $before" in
)bash";
constexpr std::string_view kBashTail = R"bash(    esac
  elif [[ $word == -* ]]; then
    words=$options
  else
    ((count < ${#arguments[@]})) || count=$((${#arguments[@]} - 1))
    ((count < 0)) || kind=${arguments[count]}
    [[ $kind == words:* ]] && words=${kind#words:}
    ((COMP_CWORD == 1)) && words=$commands
  fi
  COMPREPLY=()
  while IFS= read -r w; do
    [[ -n $w ]] && COMPREPLY+=("$(printf %q "$w")")
  done < <(compgen -W "$words" -- "$word")
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  case $kind in
    file | problem)
      compopt -o filenames 2>/dev/null
      while IFS= read -r w; do
        [[ $kind == problem && $w != *.qkv && ! -d $w ]] || COMPREPLY+=("$w")
      done < <(compgen -f -- "$word")
      ;;
  esac
}
complete -F _qkv qkv
)bash";

std::string replaced(std::string_view text, std::string_view what, const std::string& with) {
  std::string out(text);
  const std::size_t at = out.find(what);
  return at == std::string::npos ? out : out.replace(at, what.size(), with);
}

std::string bash_argument(const Completion& argument) {
  switch (argument.kind) {
    case Kind::problem:
      return "problem";
    case Kind::file:
      return "file";
    case Kind::words:
      return in_quotes("words:" + joined(argument.words));
    default:
      return "nothing";
  }
}

// The options that offer the same, as patterns of a case: *' --lang' where all commands agree, else 'trace
// --format'.
std::vector<std::pair<Completion, std::vector<std::string>>> bash_values(
    const std::vector<CommandWords>& commands) {
  std::vector<std::pair<Completion, std::vector<std::string>>> values;
  const auto add = [&](const Completion& value, std::string pattern) {
    if (value.kind == Kind::nothing) return;
    auto row =
        std::find_if(values.begin(), values.end(), [&](const auto& other) { return other.first == value; });
    if (row == values.end()) row = values.insert(values.end(), {value, {}});
    row->second.push_back(std::move(pattern));
  };
  std::map<std::string, std::vector<std::pair<std::string, Completion>>> by_option;
  for (const CommandWords& command : commands) {
    for (const OptionWords& option : command.options) {
      if (!option.takes_value && option.value.kind == Kind::nothing) continue;
      for (const std::string& name : option.names) by_option[name].emplace_back(command.name, option.value);
    }
  }
  for (const auto& [name, uses] : by_option) {
    const Completion& first = uses.front().second;
    const bool is_same =
        std::all_of(uses.begin(), uses.end(), [&first](const auto& use) { return use.second == first; });
    if (is_same) {
      add(first, "*' " + name + "'");
    } else {
      for (const auto& [command, value] : uses) add(value, "'" + command + " " + name + "'");
    }
  }
  return values;
}

std::string bash_script(const std::vector<CommandWords>& commands) {
  std::string out = replaced(kBashHead, "@COMMANDS@", joined(command_names(commands)));
  for (const CommandWords& command : commands) {
    std::vector<std::string> arguments;
    for (const Completion& argument : command.arguments) arguments.push_back(bash_argument(argument));
    out += fmt::format("    {})\n      options='{}'\n      takes='{}'\n      arguments=({})\n      ;;\n",
                       command.name, joined(all_names(command)), joined(names_with_value(command)),
                       joined(arguments));
  }
  out += kBashMiddle;
  for (const auto& [value, patterns] : bash_values(commands)) {
    const std::string action =
        value.kind == Kind::words ? "words=" + in_quotes(joined(value.words)) : std::string("kind=file");
    out += fmt::format("      {})\n        {} ;;\n", joined(patterns, " | "), action);
  }
  return out + std::string(kBashTail);
}

// ---- zsh ----

constexpr std::string_view kZshHead = R"(#compdef qkv
# zsh completion for qkv, written by: qkv completion zsh

# A word that ends in ':' wants more, so no space after it.
_qkv_words() {
  local -a whole=("${(@)@:#*:}") begun=("${(M@)@:#*:}")
  (( ${#whole} )) && compadd -- $whole
  (( ${#begun} )) && compadd -S '' -- $begun
}

_qkv() {
  local command=trace
  local -a commands=(
)";
constexpr std::string_view kZshMiddle = R"(  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe -t commands command commands
    _files -g '*.qkv'
    return
  fi
  if (( ${commands[(I)${words[2]}:*]} )); then
    command=$words[2]
    shift words
    (( CURRENT -= 1 ))
  fi
  case $command in
)";
constexpr std::string_view kZshTail = R"(  esac
}

# Sourced, or found by compinit in $fpath.
if [[ $funcstack[1] == _qkv ]]; then
  _qkv "$@"
else
  compdef _qkv qkv
fi
)";

std::string zsh_action(const Completion& value) {
  switch (value.kind) {
    case Kind::problem:
      return "_files -g \"*.qkv\"";
    case Kind::file:
      return "_files";
    case Kind::words:
      return " _qkv_words " + escaped(escaped(joined(value.words), "()"), ":");
    default:
      return " ";
  }
}

std::string zsh_option(const OptionWords& option) {
  const std::string meaning = "[" + escaped(option.meaning, "[]:\\") + "]";
  std::string out;
  for (const std::string& name : option.names) {
    std::string spec = option.names.size() > 1 ? "(" + joined(option.names) + ")" : "";
    const bool may_have_one = !option.takes_value && option.value.kind != Kind::nothing;
    spec += name + (option.takes_value && name.starts_with("--") ? "=" : may_have_one ? "=-" : "") + meaning;
    if (option.takes_value || may_have_one)
      spec += (may_have_one ? "::value:" : ":value:") + zsh_action(option.value);
    out += " \\\n        " + in_quotes(spec);
  }
  return out;
}

std::string zsh_script(const std::vector<CommandWords>& commands) {
  std::string out(kZshHead);
  for (const CommandWords& command : commands)
    out += "    " + in_quotes(command.name + ":" + escaped(command.meaning, ":\\")) + "\n";
  out += kZshMiddle;
  for (const CommandWords& command : commands) {
    out += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionWords& option : command.options) out += zsh_option(option);
    for (std::size_t i = 0; i < command.arguments.size(); ++i)
      out += fmt::format(" \\\n        {}",
                         in_quotes(fmt::format("{}:argument:{}", i + 1, zsh_action(command.arguments[i]))));
    out += "\n      ;;\n";
  }
  return out + std::string(kZshTail);
}

// ---- fish ----

constexpr std::string_view kFishHead = R"(# fish completion for qkv, written by: qkv completion fish
function __qkv_command
    set -l words (commandline -opc)
    if set -q words[2]; and contains -- $words[2] @COMMANDS@
        echo $words[2]
    else
        echo trace
    end
end
function __qkv_is
    contains -- (__qkv_command) $argv
end
function __qkv_at_first
    test (count (commandline -opc)) -eq 1
end
complete -c qkv -f
)";

std::string fish_option(const OptionWords& option) {
  std::string out;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.value.kind == Kind::words) {
    out += std::string(option.takes_value ? " -x" : "") + " -a '" +
           escaped(escaped(joined(option.value.words), "()"), "'") + "'";
  } else if (option.value.kind == Kind::file) {
    out += " -r -F";
  } else if (option.takes_value) {
    out += " -x";
  }
  return out + " -d '" + escaped(option.meaning, "'\\") + "'";
}

std::string fish_script(const std::vector<CommandWords>& commands) {
  std::string out = replaced(kFishHead, "@COMMANDS@", joined(command_names(commands)));
  for (const CommandWords& command : commands)
    out += fmt::format("complete -c qkv -n __qkv_at_first -a {} -d '{}'\n", command.name,
                       escaped(command.meaning, "'\\"));
  // One line for each option, with the commands that have it.
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  const auto add = [&](const std::string& line, const std::string& command) {
    auto row =
        std::find_if(lines.begin(), lines.end(), [&](const auto& other) { return other.first == line; });
    if (row == lines.end()) row = lines.insert(lines.end(), {line, {}});
    row->second.push_back(command);
  };
  for (const CommandWords& command : commands) {
    for (const Completion& argument : command.arguments) {
      if (argument.kind == Kind::problem || argument.kind == Kind::file) {
        add(" -k -a '(__fish_complete_suffix .qkv)'", command.name);  // the problems first
        break;
      }
      if (argument.kind == Kind::words) add(" -a '" + joined(argument.words) + "'", command.name);
    }
    for (const OptionWords& option : command.options) add(fish_option(option), command.name);
  }
  for (const auto& [line, names] : lines)
    out += fmt::format("complete -c qkv -n '__qkv_is {}'{}\n", joined(names), line);
  return out;
}

struct Shell {
  const char* name;
  std::string (*script)(const std::vector<CommandWords>& commands);
};
constexpr std::array<Shell, 3> kShells{{{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};

struct CompletionOptions : SharedOptions {
  std::string shell;
};

int run_completion(const CLI::App& app, const CompletionOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const auto shell = row_named(kShells, "SHELL", options.shell, diagnostics);
  if (!presentation || shell == kShells.end()) return finish(options, diagnostics);
  const std::string script = completion_script(app, shell->name);
  write_text(script, Format::text, options, {}, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Completion completion_of(const std::string& type_name) {
  if (type_name == "FILE") return {Kind::file, {}};
  Completion completion;
  const std::string between = " | ";
  for (std::size_t at = 0; at <= type_name.size();) {
    const std::size_t end = std::min(type_name.find(between, at), type_name.size());
    std::string word = type_name.substr(at, end - at);
    at = end + between.size();
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) word.resize(colon + 1);
    // "a number", "0..17" and "RxC" describe a value; they are none.
    const bool is_description =
        word.empty() || word.find(' ') != std::string::npos || word.find("..") != std::string::npos ||
        std::any_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    const bool is_known =
        std::find(completion.words.begin(), completion.words.end(), word) != completion.words.end();
    if (!is_description && !is_known) completion.words.push_back(std::move(word));
  }
  // What is no list names a kind: "labels".
  if (type_name.find(between) == std::string::npos) completion.words.clear();
  if (!completion.words.empty()) completion.kind = Kind::words;
  return completion;
}

std::string completion_script(const CLI::App& app, std::string_view shell) {
  std::vector<CommandWords> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(words_of(*command));
  const auto row =
      std::find_if(kShells.begin(), kShells.end(), [&](const Shell& s) { return s.name == shell; });
  return row->script(commands);
}

Command setup_completion(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "completion",
      Text{"a script by which a shell completes qkv's words", "让 shell 能补全 qkv 命令行的脚本"}.in(
          language));
  const auto options = std::make_shared<CompletionOptions>();
  options->has_own_forms = true;
  add_option(command, "SHELL", options->shell, Text{"which shell", "哪种 shell"}.in(language))
      .type("bash | zsh | fish")
      .required();
  add_output_options(command, *options, language);
  return {command.app, [app, options] { return run_completion(*app.app, *options); }};
}

}  // namespace qkv

// The options that several commands share, read once into one struct.
//
// A setting has one row in problem/keys: it is a key of the problem file and an option here.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cli/options.h"
#include "cli/output.h"
#include "problem/read_problem.h"
#include "render/colormap.h"
#include "render/latex.h"
#include "report/narrate.h"

namespace qkv {

// The type name of options that take one, by which a message tells them from those that take any number.
inline constexpr const char* kWholeNumber = "N";

enum class Format { text, json, md, latex, html, svg, csv, npy };
const char* name_of(Format format);  // as --format takes it
// What a command offers that writes a report and its data; and one whose report has no table for a
// spreadsheet.
inline constexpr std::array kReportFormats{Format::text, Format::json, Format::md, Format::latex,
                                           Format::csv};
inline constexpr std::array kWordForms{Format::text, Format::md, Format::latex};
// And a trace, whose tables are matrices.
inline constexpr std::array kTraceFormats{Format::text, Format::json, Format::md,  Format::latex,
                                          Format::html, Format::svg,  Format::csv, Format::npy};

// How the tensors of --weights are named.
struct CheckpointName {
  const char* name;
};
inline constexpr std::array<CheckpointName, 3> kCheckpoints{{{"linear"}, {"fused"}, {"mha"}}};

struct SharedOptions {
  std::string file;
  std::map<std::string, std::string> matrix_files;  // by section name
  std::map<std::string, std::string> settings;      // by key
  std::string weights;                              // a file of tensors, whose projections are taken
  std::string checkpoint;                           // how it names them
  std::string layer;
  std::string steps;
  std::string row;
  std::string head;
  std::string detail = "steps";
  std::string format;
  std::vector<Format> offered{Format::text};  // the forms that this command writes
  bool is_standalone = false;                 // LaTeX with its preamble
  std::string latex_tables;
  std::string output;
  std::string color = "auto";
  std::string heat;
  std::string lang = "auto";
  bool only_output = false;
  bool exact = false;
  bool checks = false;
  bool prove = false;
  std::string arithmetic;
  bool plain_doubles = false;
  bool is_fast = false;        // --fast: other last digits than a trace's, within a bound
  std::optional<int> threads;  // nullopt: as many as the machine has
  std::string isa;             // for tests: not the best that the processor has
  bool ascii = false;
  bool asks_for_any_cell = false;  // also of what only --detail full shows
  bool has_own_forms = false;      // the command looks at --format and at the extension of --output itself
  bool has_empty_output = false;   // -o '': a name that a script forgot to fill in
  bool is_quiet = false;
  bool is_verbose = false;
};

// FILE, the matrix files and the settings.
void add_problem_options(const OptionTaker& app, SharedOptions& options, Language language);
// --exact --arithmetic.
void add_arithmetic_options(const OptionTaker& app, SharedOptions& options, Language language);
// The same, --steps --row --head --detail --only-output --checks.
void add_telling_options(const OptionTaker& app, SharedOptions& options, Language language);
// --steps --detail, for a sheet that asks.
void add_asking_options(const OptionTaker& app, SharedOptions& options, Language language);
// --format, for commands that have more than one; and what goes with LaTeX, where that is one of them.
void add_format_option(const OptionTaker& app, SharedOptions& options, Language language,
                       std::span<const Format> offered = kReportFormats);
// --threads, or as many as the machine has.
int threads_of(const SharedOptions& options);
// --fast --threads, for commands that show the result of large problems.
void add_speed_options(const OptionTaker& app, SharedOptions& options, Language language);
// --heat, for commands that show tables of values.
void add_heat_option(const OptionTaker& app, SharedOptions& options, Language language);
// --output --color --ascii --lang -q -v.
void add_output_options(const OptionTaker& app, SharedOptions& options, Language language);

// ".md" of "notes/A.MD": what the name of an output file ends in, in lower case; "" where nothing does.
std::string ending_of(const std::string& file);

// An error where a name ends like a form that a command does not write.
//   written  the names of those it writes
void refuse_foreign_ending(const std::string& output, const std::vector<std::string>& written,
                           Diagnostics& diagnostics);

// Checks the options that are not about the problem itself.
struct Presentation {
  Language language = Language::en;
  ColorChoice color = ColorChoice::automatic;
  Format format = Format::text;
  LatexStyle latex;
  std::optional<ColorMap> heat = std::nullopt;
  Detail detail = Detail::steps;
  const FloatFormat* arithmetic = nullptr;  // null: the true digits
};
std::optional<Presentation> presentation_of(const SharedOptions& options, Diagnostics& diagnostics);

// A report in the form asked for; text is in colour where --output and the terminal allow it.
std::string render(const Report& report, const SharedOptions& options, const Presentation& presentation);

// Writes what is already in its form to --output or standard output, in ASCII where that is asked for.
void write_text(const std::string& text, Format format, const SharedOptions& options,
                const std::vector<std::string>& inputs, Diagnostics& diagnostics);

// A report in the form asked for, written likewise.
void write_report(const Report& report, const SharedOptions& options, const Presentation& presentation,
                  const std::vector<std::string>& inputs, Diagnostics& diagnostics);

// Of a table whose rows have a `name`: the names, and an error about a value that is none of them.
template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}
void bad_value(const std::string& option, const std::string& value, const std::vector<std::string>& allowed,
               Diagnostics& diagnostics);

// The row of that name; the end of the table, with an error, when there is none.
template <class Table>
auto row_named(const Table& table, const char* option, const std::string& name, Diagnostics& diagnostics) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return name == row.name; });
  if (found == table.end()) bad_value(option, name, names_in(table), diagnostics);
  return found;
}

// A warning where digits were shown that could not be told from a tie, and no header says so.
void warn_of_assumed_ties(const Trace& trace, Diagnostics& diagnostics);

// 0, or 2 when the diagnostics hold an error; prints them.
int finish(const SharedOptions& options, const Diagnostics& diagnostics);

// Ends the program, with everything written: the system takes a trace back at once, its destructors piece by
// piece.  Returns `status` where a sanitizer wants to see that nothing was lost.
int leave(int status);

// The commands, each in a file of its own: an options struct, a setup, a run.
struct Command {
  CLI::App* app;
  std::function<int()> run;  // the exit status
};
Command setup_trace(const OptionTaker& app, Language language);
Command setup_explain(const OptionTaker& app, Language language);
Command setup_check(const OptionTaker& app, Language language);
Command setup_worksheet(const OptionTaker& app, Language language);
Command setup_export(const OptionTaker& app, Language language);
Command setup_diff(const OptionTaker& app, Language language);
Command setup_convert(const OptionTaker& app, Language language);
Command setup_detect(const OptionTaker& app, Language language);
Command setup_exercise(const OptionTaker& app, Language language);
Command setup_softmax(const OptionTaker& app, Language language);
Command setup_cache(const OptionTaker& app, Language language);
Command setup_cost(const OptionTaker& app, Language language);
Command setup_variance(const OptionTaker& app, Language language);
Command setup_completion(const OptionTaker& app, Language language);

}  // namespace qkv

// qkv export FILE --to numpy | torch | octave | csv: the same steps as a program, or as a spreadsheet.

#include <algorithm>
#include <cmath>

#include "cli/worked.h"
#include "render/script.h"
#include "render/spreadsheet.h"

namespace qkv {
namespace {

// More numbers than this are no script that one reads; a matrix of 500 tokens by 500 has as many.
constexpr Index kMostNumbers = 250000;

constexpr const char* kSpreadsheet = "csv";

// Without it Excel takes the labels of a file for something else than UTF-8.
constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";

struct Target {
  const char* name;
  const char* extension;
};

struct ExportOptions : SharedOptions {
  std::string to;
};

std::vector<Target> targets() {
  std::vector<Target> all;
  for (const ScriptLanguage& language : script_languages())
    all.push_back({language.name, language.extension});
  all.push_back({kSpreadsheet, ".csv"});
  return all;
}

// By --to, else by the extension of --output.
std::optional<std::string> target_of(const ExportOptions& options, Diagnostics& diagnostics) {
  const std::vector<Target> all = targets();
  if (!options.to.empty()) {
    const auto named = row_named(all, "--to", options.to, diagnostics);
    return named == all.end() ? std::nullopt : std::optional<std::string>(named->name);
  }
  for (const Target& target : all) {
    if (ending_of(options.output) == target.extension) return target.name;
  }
  std::string names;
  for (const Target& target : all) names += (names.empty() ? "" : ", ") + std::string(target.name);
  diagnostics.error("", say({"what to export to was not said", "没有说明导出成什么"}),
                    say({"add --to with one of: {0}", "请加上 --to，可选：{0}"}, names));
  return std::nullopt;
}

// A score of 1e600 is no infinity, but doubles end before.
bool is_beyond_doubles(const Trace& trace, NodeId id) {
  const Matrix& values = trace.values(id);
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) {
      if (std::isinf(values(i, j)) && trace.text(id, i, j, 0).find("inf") == std::string::npos) return true;
    }
  }
  return false;
}

std::string written(const std::string& target, const Trace& trace, const Worked& worked) {
  if (target == kSpreadsheet) return render_spreadsheet(trace, worked.telling);
  const auto languages = script_languages();
  const auto language =
      std::find_if(languages.begin(), languages.end(), [&](const auto& l) { return target == l.name; });
  return render_script(*language, trace, worked.about, worked.telling);
}

int run_export(const ExportOptions& options) {
  Diagnostics diagnostics;
  const auto target = target_of(options, diagnostics);
  const auto presentation = presentation_of(options, diagnostics);
  if (!target || !presentation) return finish(options, diagnostics);
  const auto worked = work_out(options, *presentation, diagnostics);
  if (!worked) return finish(options, diagnostics);
  const Trace& trace = worked->truth ? *worked->truth : worked->trace;
  if (worked->truth)
    diagnostics.warning("", say({"round = paper rounds every step; the export computes on without rounding",
                                 "round = paper 每一步都舍入；导出的计算不舍入"}));
  Index numbers = 0;
  for (const Node& node : trace.plan().nodes) numbers += node.shape.rows * node.shape.cols;
  if (numbers > kMostNumbers) {
    diagnostics.error("",
                      say({"the steps hold {0} numbers: too many to write out, {1} at most",
                           "各步一共有 {0} 个数，太多，最多写出 {1} 个"},
                          numbers, kMostNumbers),
                      say({"make the problem smaller", "请把题目改小一些"}));
    return finish(options, diagnostics);
  }
  if (const auto scores = infinite_scores(trace);
      scores && *target != kSpreadsheet && is_beyond_doubles(trace, *scores)) {
    diagnostics.error(
        "",
        say({"{0} holds a number beyond the largest double, 1.8e308, in which a script computes",
             "{0} 里有的数超过最大的 double（1.8e308），而脚本用 double 计算"},
            trace.plan()[*scores].id),
        say({"make the numbers of the problem smaller", "请把题目里的数改小一些"}));
    return finish(options, diagnostics);
  }
  if (const auto scores = infinite_scores(trace); scores && *target != kSpreadsheet) {
    diagnostics.error("",
                      say({"{0} holds +∞: its softmax is a limit, and ∞ − ∞ would be nan in a script",
                           "{0} 里有 +∞：它的 softmax 是取极限，而脚本里 ∞ − ∞ 会得到 nan"},
                          trace.plan()[*scores].id),
                      say({"write a large number in its place; csv takes it as it is",
                           "请换成一个很大的数；csv 可以照样写出"}));
    return finish(options, diagnostics);
  }
  std::string text = written(*target, trace, *worked);
  const bool goes_to_file = !options.output.empty() && options.output != "-";
  if (*target == kSpreadsheet && goes_to_file) text.insert(0, kByteOrderMark);
  write_text(text, Format::text, options, worked->input_files, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_export(const OptionTaker& app, Language language) {
  const OptionTaker command =
      add_command(app, "export",
                  Text{"the same steps as a script that checks itself, or as a spreadsheet that computes",
                       "把同样的步骤写成会自己核对的脚本，或会自己计算的电子表格"}
                      .in(language));
  const auto options = std::make_shared<ExportOptions>();
  options->has_own_forms = true;
  add_problem_options(command, *options, language);
  add_option(command, "--to", options->to,
             Text{"what to write; without it the ending of --output tells (.py numpy, .m octave, .csv)",
                  "写成什么；不写则看 --output 的扩展名（.py 为 numpy，.m 为 octave，.csv 为表格）"}
                 .in(language))
      .type("numpy | torch | octave | csv");
  add_asking_options(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_export(*options); }};
}

}  // namespace qkv

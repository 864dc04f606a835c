// qkv detect FILE OUTPUT: which conventions turn a problem's inputs into somebody's output.

#include "check/detect.h"

#include <utility>

#include "cli/shared.h"
#include "input/source.h"

namespace qkv {
namespace {

constexpr int kNoneFound = 1;

struct DetectOptions : SharedOptions {
  std::string answers;
};

int run_detect(DetectOptions options) {
  Diagnostics diagnostics;
  // Where all inputs come from --q and the like, the only word is OUTPUT.
  if (options.answers.empty() && !options.matrix_files.empty()) std::swap(options.file, options.answers);
  if (options.answers.empty()) {
    diagnostics.error("", say({"OUTPUT is missing", "缺少 OUTPUT"}),
                      say({"see: qkv detect --help", "参见：qkv detect --help"}));
  }
  const auto presentation = presentation_of(options, diagnostics);
  if (!presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  const auto worked = work_out(options, *presentation, diagnostics);
  const SourcePtr source = read_source(options.answers, diagnostics);
  const auto output = source ? read_steps(source, diagnostics) : std::nullopt;
  if (!worked || !output) return finish(options, diagnostics);
  if (!can_detect(worked->problem)) {
    diagnostics.error("",
                      say({"detect recomputes scaled dot products with a soft read; this problem is another",
                           "detect 只会重算缩放点积和软读取；这道题不是"}));
    return finish(options, diagnostics);
  }
  const std::vector<Explanation> found = detect(worked->problem, *output);
  std::vector<std::string> inputs = worked->input_files;
  inputs.push_back(options.answers);
  if (presentation->format == Format::json) {
    write_output(options.output, as_json(found), inputs, diagnostics);
  } else {
    write_report(told(found, presentation->language), options, *presentation, inputs, diagnostics);
  }
  const int status = finish(options, diagnostics);
  return status != 0 || !found.empty() ? status : kNoneFound;
}

}  // namespace

Command setup_detect(CLI::App& app, Language language) {
  CLI::App* command = app.add_subcommand(
      "detect",
      Text{"which conventions turn the inputs into this output", "哪些约定能由这些输入得到这份输出"}.in(
          language));
  const auto options = std::make_shared<DetectOptions>();
  add_problem_options(*command, *options, language);
  command
      ->add_option(
          "OUTPUT", options->answers,
          Text{"somebody's output: a matrix (text, .npy, JSON lists), a sheet, a trace; - is standard input",
               "别人的输出：矩阵（文本、.npy、JSON 列表）、答卷或轨迹；- 表示标准输入"}
              .in(language))
      ->type_name("");
  add_format_option(*command, *options, language);
  add_output_options(*command, *options, language);
  return {command, [options] { return run_detect(*options); }};
}

}  // namespace qkv

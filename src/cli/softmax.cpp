// qkv softmax "8 16 24": a quick look at the softmax of one row, in its five lines.

#include "cli/shared.h"
#include "input/source.h"
#include "methods/methods.h"

namespace qkv {
namespace {

struct SoftmaxOptions : SharedOptions {
  std::vector<std::string> numbers;
  std::string decimals;
  std::string temperature;
};

int run_softmax(const SoftmaxOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  if (!presentation) return finish(options, diagnostics);

  std::string row;
  for (const std::string& part : options.numbers) row += (row.empty() ? "" : " ") + part;
  if (row.find_first_not_of(' ') == std::string::npos) {
    diagnostics.error("", say({"no numbers were given", "没有给出数字"}));
    return finish(options, diagnostics);
  }
  ProblemInput input;
  const SourcePtr source = source_from_text("softmax", row, diagnostics);
  if (!source) return finish(options, diagnostics);
  input.matrices.emplace_back("scores", source);
  input.settings = {{"scale", "none"}};
  if (!options.decimals.empty()) input.settings.emplace_back("decimals", options.decimals);
  if (!options.temperature.empty()) input.settings.emplace_back("temperature", options.temperature);
  const auto problem = read_problem(input, diagnostics);
  if (!problem) return finish(options, diagnostics);

  if (problem->tokens.size() > 1) {
    diagnostics.error("",
                      say({"one row at a time, but {0} were given", "一次只算一行，而这里给了 {0} 行"},
                          problem->tokens.size()),
                      say({"several rows belong in a file: [scores] with scale = none",
                           "多行请写进文件：[scores]，并设 scale = none"}));
    return finish(options, diagnostics);
  }
  const Trace trace = run(plan_of(*problem), {});
  const Telling telling{.decimals = problem->decimals, .language = presentation->language};
  write_text(softmax_lines(trace, telling), options, *presentation, {}, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_softmax(CLI::App& app, Language language) {
  CLI::App* command = app.add_subcommand(
      "softmax",
      Text{"the softmax of a row of numbers, line by line", "逐行显示一行数字的 softmax"}.in(language));
  const auto options = std::make_shared<SoftmaxOptions>();
  command
      ->add_option("NUMBERS", options->numbers,
                   Text{"the scores, e.g. \"8 16 24\"", "分数，例如 \"8 16 24\""}.in(language))
      ->type_name("")
      ->required();
  command
      ->add_option("-p,--decimals", options->decimals,
                   Text{"digits after the point", "小数位数"}.in(language))
      ->type_name(kWholeNumber);
  command
      ->add_option("--temperature", options->temperature,
                   Text{"divides the scores first", "先把分数除以温度"}.in(language))
      ->type_name("T");
  add_output_options(*command, *options, language);
  return {command, [options] { return run_softmax(*options); }};
}

}  // namespace qkv

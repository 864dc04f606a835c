// qkv exercise: a new problem to do by hand; its sheet and its key come from worksheet and trace.

#include "check/exercise.h"

#include <stdexcept>

#include "cli/shared.h"
#include "input/source.h"
#include "methods/methods.h"

namespace qkv {
namespace {

struct ExerciseOptions : SharedOptions {
  ExerciseRequest request;
  std::string mask = "none";
};

Trace trace_of(const std::string& text) {
  Diagnostics diagnostics;
  ProblemInput input;
  input.file = source_from_text("exercise", text, diagnostics);
  const auto problem = read_problem(input, diagnostics);
  if (!problem) throw std::logic_error("an exercise that cannot be read");
  return run(plan_of(*problem), {});
}

int run_exercise(ExerciseOptions options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const auto between = [&](const char* name, long value, long least, long most) {
    if (value >= least && value <= most) return;
    diagnostics.error("", say({"{0} takes a whole number from {1} to {2}, not {3}",
                               "{0} 应为 {1} 到 {2} 的整数，而不是 {3}"},
                              name, least, most, value));
  };
  ExerciseRequest& request = options.request;
  between("--tokens", request.tokens, 2, 6);
  between("--d-k", request.d_k, 1, 9);
  between("--decimals", request.decimals, 2, 6);
  if (options.mask != "none" && options.mask != "causal") {
    diagnostics.error("", say({"--mask: an exercise has none or causal, not '{0}'",
                               "--mask：练习只有 none 或 causal，没有“{0}”"},
                              options.mask));
  }
  if (!presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  request.is_causal = options.mask == "causal";
  request.language = presentation->language;
  const auto text = make_exercise(request, trace_of);
  if (!text) {
    diagnostics.error(
        "", say({"no exercise of this size tells the mistakes apart", "这样大小的练习无法区分各种错误"}),
        say({"take more tokens, or another --d-k than the number of tokens",
             "请增加 token 数，或让 --d-k 不等于 token 数"}));
    return finish(options, diagnostics);
  }
  write_output(options.output, *text, {}, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_exercise(CLI::App& app, Language language) {
  CLI::App* command = app.add_subcommand(
      "exercise", Text{"a new problem that can be done by hand", "出一道可以手算的新题"}.in(language));
  const auto options = std::make_shared<ExerciseOptions>();
  options->has_own_forms = true;
  ExerciseRequest& request = options->request;
  command
      ->add_option(
          "--seed", request.seed,
          Text{"which exercise; the same seed, the same problem", "第几题；同一个种子得到同一道题"}.in(
              language))
      ->type_name("N");
  command
      ->add_option("--tokens", request.tokens,
                   Text{"how many tokens, 2 to 6", "多少个 token，2 到 6"}.in(language))
      ->type_name("N");
  command
      ->add_option("--d-k", request.d_k,
                   Text{"width of queries and keys, 1 to 9", "查询和键的维度，1 到 9"}.in(language))
      ->type_name("N");
  command->add_option("--mask", options->mask, Text{"none or causal", "none 或 causal"}.in(language))
      ->type_name("none | causal");
  command
      ->add_option("-p,--decimals", request.decimals,
                   Text{"digits after the point, 2 to 6", "小数位数，2 到 6"}.in(language))
      ->type_name("N");
  add_output_options(*command, *options, language);
  return {command, [options] { return run_exercise(*options); }};
}

}  // namespace qkv

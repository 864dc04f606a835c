// qkv exercise: a new problem to do by hand, its sheet or its key.

#include "check/exercise.h"

#include <stdexcept>

#include "base/suggest.h"
#include "check/worksheet.h"
#include "cli/worked.h"
#include "input/source.h"
#include "methods/methods.h"

namespace qkv {
namespace {

// Numbers that can still be read aloud in a class.
constexpr std::int64_t kLargestSeed = 999'999'999'999;

struct ExerciseOptions : SharedOptions {
  ExerciseRequest request;
  std::int64_t seed = 1;
  std::string mask = "none";
  bool is_sheet = false;
  bool is_key = false;
};

ProblemInput input_of(const std::string& text) {
  Diagnostics diagnostics;
  ProblemInput input;
  input.file = source_from_text("", text, diagnostics);
  return input;
}

Trace trace_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto problem = read_problem(input_of(text), diagnostics);
  if (!problem) throw std::logic_error("an exercise that cannot be read");
  return run(plan_of(*problem), {});
}

// For the teacher, at the foot of the key: what these numbers cannot show.
std::string remarks(const std::vector<Alike>& alike, Language language) {
  std::string text;
  for (const Alike& a : alike) {
    std::string names;
    for (const Mistake* mistake : a.mistakes)
      names += (names.empty() ? "" : ", ") + std::string(mistake->name);
    const Text remark = a.is_right ? Text{"in {0}, these mistakes give the right numbers too: {1}",
                                          "{0} 中，这些错误也会得到正确的数字：{1}"}
                                   : Text{"in {0}, these mistakes give the same numbers: {1}",
                                          "{0} 中，这些错误得到同样的数字：{1}"};
    text += (text.empty() ? "\n# " : "# ") + say(remark, a.step, names).in(language) + "\n";
  }
  return text;
}

int run_exercise(ExerciseOptions options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  refuse_foreign_ending(options.output, {"text"}, diagnostics);
  const auto between = [&](const char* name, long value, long least, long most) {
    if (value >= least && value <= most) return;
    diagnostics.error("", say({"{0} takes a whole number from {1} to {2}, not {3}",
                               "{0} 应为 {1} 到 {2} 的整数，而不是 {3}"},
                              name, least, most, value));
  };
  ExerciseRequest& request = options.request;
  between("--seed", options.seed, 0, kLargestSeed);
  between("--tokens", request.tokens, kFewestTokens, kMostTokens);
  between("--heads", request.heads, 1, kMostHeads);
  between("--d-k", request.d_k, kLeastKeyWidth, kMostKeyWidth);
  between("--decimals", request.decimals, kFewestDecimals, kMostDecimals);
  if (options.mask != "none" && options.mask != "causal") {
    diagnostics.error("",
                      say({"--mask: an exercise has none or causal, not '{0}'",
                           "--mask：练习只有 none 或 causal，没有“{0}”"},
                          options.mask),
                      did_you_mean(options.mask, {"none", "causal"}));
  }
  if (options.is_sheet && options.is_key) {
    diagnostics.error("", say({"--sheet and --key exclude each other: run it twice, with the same --seed",
                               "--sheet 与 --key 不能同时使用：请用同一个 --seed 运行两次"}));
  }
  if (!presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  request.seed = static_cast<std::uint64_t>(options.seed);
  request.is_causal = options.mask == "causal";
  request.language = presentation->language;
  const Exercise exercise = make_exercise(request, trace_of);
  std::string text = exercise.text;
  if (options.is_sheet || options.is_key) {
    const auto worked = work_out(input_of(exercise.text), options, *presentation, diagnostics);
    if (!worked) throw std::logic_error("an exercise that cannot be worked out");
    const Cells cells = options.is_key ? Cells::solved : Cells::blank;
    text = worksheet_text(worked->trace, worked->problem, worked->about, worked->telling, cells);
    if (options.is_key) text += remarks(exercise.alike, request.language);
  }
  write_text(text, Format::text, options, {}, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_exercise(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(app, "exercise",
                                          Text{"a new problem that can be done by hand, its sheet or its key",
                                               "出一道可以手算的新题、它的答卷或答案"}
                                              .in(language));
  const auto options = std::make_shared<ExerciseOptions>();
  options->has_own_forms = true;
  ExerciseRequest& request = options->request;
  add_option(
      command, "--seed", options->seed,
      Text{"which exercise; the same seed, the same problem", "第几题；同一个种子得到同一道题"}.in(language))
      .type(kWholeNumber);
  add_option(command, "--tokens", request.tokens,
             Text{"how many tokens, 2 to 6", "多少个 token，2 到 6"}.in(language))
      .type(kWholeNumber);
  add_option(command, "--heads", request.heads,
             Text{"how many heads, 1 to 4", "多少个头，1 到 4"}.in(language))
      .type(kWholeNumber);
  add_option(
      command, "--d-k", request.d_k,
      Text{"width of a head's queries and keys, 1 to 9", "每个头的查询和键的维度，1 到 9"}.in(language))
      .type(kWholeNumber);
  add_option(command, "--mask", options->mask, Text{"none or causal", "none 或 causal"}.in(language))
      .type("none | causal");
  add_option(command, "-p,--decimals", request.decimals,
             Text{"digits after the point, 2 to 6", "小数位数，2 到 6"}.in(language))
      .type(kWholeNumber);
  add_flag(command, "--sheet", options->is_sheet,
           Text{"its blank sheet of answers, in place of the problem", "写出它的空白答卷，而不是题目"}.in(
               language));
  add_flag(command, "--key", options->is_key,
           Text{"its key, the sheet solved", "写出它的答案：填好的答卷"}.in(language));
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_exercise(*options); }};
}

}  // namespace qkv

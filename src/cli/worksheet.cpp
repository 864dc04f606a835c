// qkv worksheet FILE: a blank sheet of answers, or its key.

#include "check/worksheet.h"

#include <array>

#include "cli/worked.h"
#include "problem/answers.h"

namespace qkv {
namespace {

struct Form {
  const char* name;
  const char* extension;
  Format format;
  std::string (*write)(const Trace&, const Problem&, const About&, const Telling&, Cells);
};
constexpr std::array<Form, 3> kForms{{{"text", ".qkv", Format::text, worksheet_text},
                                      {"md", ".md", Format::md, worksheet_markdown},
                                      {"latex", ".tex", Format::latex, worksheet_latex}}};

const Form* form_of(const SharedOptions& options, const std::string& name, Diagnostics& diagnostics) {
  if (!name.empty()) {
    const auto form = row_named(kForms, "--format", name, diagnostics);
    return form == kForms.end() ? nullptr : &*form;
  }
  const auto guessed = std::find_if(kForms.begin(), kForms.end(), [&](const Form& form) {
    return ending_of(options.output) == form.extension;
  });
  if (guessed != kForms.end()) return &*guessed;
  refuse_foreign_ending(options.output, names_in(kForms), diagnostics);
  return &kForms[0];
}

struct WorksheetOptions : SharedOptions {
  std::string form;
  bool is_key = false;
};

int run_worksheet(const WorksheetOptions& options) {
  Diagnostics diagnostics;
  const Form* form = form_of(options, options.form, diagnostics);
  const auto presentation = presentation_of(options, diagnostics);
  if (form == nullptr || !presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  const auto worked = work_out(options, *presentation, diagnostics);
  if (!worked) return finish(options, diagnostics);
  const Trace& truth = worked->truth ? *worked->truth : worked->trace;
  if (steps_asked(truth.plan(), worked->telling).empty()) {
    diagnostics.error("", say({"there is no step to ask for: those named are given or symbolic",
                               "没有可以出的步骤：所选的步骤是题目给定的，或者是符号"}));
    return finish(options, diagnostics);
  }
  if (const std::size_t steps = steps_asked(truth.plan(), worked->telling).size(); steps > kMostAnswers) {
    diagnostics.error(
        "",
        say({"a sheet of {0} steps could not be read back: {1} at most", "{0} 步的答卷无法读回：最多 {1} 步"},
            steps, kMostAnswers),
        say({"name some of them with --steps", "请用 --steps 只选其中一些"}));
    return finish(options, diagnostics);
  }
  const Cells cells = options.is_key ? Cells::solved : Cells::blank;
  write_text(form->write(truth, worked->problem, worked->about, worked->telling, cells), form->format,
             options, worked->input_files, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_worksheet(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(app, "worksheet",
                                          Text{"a blank sheet of answers, to fill in and check, or its key",
                                               "空白答卷，填好之后可以批改；也可以写出答案"}
                                              .in(language));
  const auto options = std::make_shared<WorksheetOptions>();
  options->has_own_forms = true;
  add_problem_options(command, *options, language);
  add_asking_options(command, *options, language);
  add_option(command, "-f,--format", options->form,
             Text{"text to fill in; md or latex to print", "text 用来填写；md、latex 用来打印"}.in(language))
      .type("text | md | latex");
  add_flag(command, "--key", options->is_key,
           Text{"solved: every cell with its right number", "解答：每一格都填上正确的数"}.in(language));
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_worksheet(*options); }};
}

}  // namespace qkv

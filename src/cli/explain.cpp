// qkv explain FILE CELL: where one number comes from.

#include "cli/worked.h"

namespace qkv {
namespace {

struct ExplainOptions : SharedOptions {
  std::string cell;
};

int run_explain(const ExplainOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  if (!presentation) return finish(options, diagnostics);
  const auto worked = work_out(options, *presentation, diagnostics);
  if (!worked) return finish(options, diagnostics);

  Said reason;
  Said hint;
  if (const auto cell = find_cell(worked->trace.plan(), options.cell, reason, hint)) {
    write_report(explain(worked->trace, *cell, worked->telling), options, *presentation, worked->input_files,
                 diagnostics);
    if (!reason.empty())
      diagnostics.add({Severity::note, "", nullptr, std::nullopt, std::move(reason), std::move(hint)});
    warn_of_assumed_ties(worked->trace, diagnostics);
  } else {
    diagnostics.error("", reason, hint);
  }
  return finish(options, diagnostics);
}

}  // namespace

Command setup_explain(const OptionTaker& app, Language language) {
  const OptionTaker command =
      add_command(app, "explain", Text{"where one number comes from", "一个数字从哪里来"}.in(language));
  const auto options = std::make_shared<ExplainOptions>();
  options->asks_for_any_cell = true;
  add_problem_options(command, *options, language);
  add_option(command, "CELL", options->cell,
             Text{"the cell, e.g. 'output[t1,1]' or 'weights[t3,t2]'",
                  "单元格，例如 'output[t1,1]' 或 'weights[t3,t2]'"}
                 .in(language))
      .type("")
      .required();
  add_arithmetic_options(command, *options, language);
  add_format_option(command, *options, language, kWordForms);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_explain(*options); }};
}

}  // namespace qkv

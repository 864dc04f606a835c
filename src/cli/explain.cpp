// qkv explain FILE CELL: where one number comes from.

#include <string>
#include <utility>

#include "cli/worked.h"
#include "input/fold.h"

namespace qkv {
namespace {

struct ExplainOptions : SharedOptions {
  std::string cell;
};

// "weights［爱，我］", as a Chinese keyboard writes it, and "weights(2,1)": with the brackets that cells
// have.
std::string spelt_usually(const std::string& cell) {
  std::string text = folded(cell);
  const std::size_t open = text.find('(', 1);
  if (open != std::string::npos && text.ends_with(')') && text.find('[') == std::string::npos) {
    text[open] = '[';
    text.back() = ']';
  }
  return text;
}

int run_explain(const ExplainOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  if (!presentation) return finish(options, diagnostics);
  const auto worked = work_out(options, *presentation, diagnostics);
  if (!worked) return finish(options, diagnostics);

  Said reason;
  Said hint;
  auto cell = find_cell(worked->trace.plan(), options.cell, reason, hint);
  if (const std::string other = spelt_usually(options.cell); !cell && other != options.cell) {
    Said other_reason;
    Said other_hint;
    cell = find_cell(worked->trace.plan(), other, other_reason, other_hint);
    if (cell) reason = std::move(other_reason), hint = std::move(other_hint);
  }
  if (cell) {
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

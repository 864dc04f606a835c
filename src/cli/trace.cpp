// qkv trace FILE: every step, in order.

#include <algorithm>

#include "base/large_pages.h"
#include "base/threads.h"
#include "cli/array.h"
#include "cli/untraced.h"
#include "cli/worked.h"
#include "plan/training.h"
#include "render/html.h"
#include "render/json.h"

namespace qkv {
namespace {

void tell_what_was_read(const Worked& worked, Diagnostics& diagnostics) {
  for (const auto& [name, given] : worked.problem.given) {
    if (!given.source) continue;
    diagnostics.note(given.source, given.span,
                     say({"[{0}] is {1}×{2}", "[{0}] 是 {1}×{2}"}, name, given.rows, given.cols));
  }
}

// What a drawing shows when nothing is asked for: the weights of every head, or the result where there are
// none.
void choose_weights(const Plan& plan, Telling& telling) {
  if (!telling.steps.empty() || telling.only_output) return;
  for (const Node& node : plan.nodes) {
    if (node.name() == "weights" && !is_gradient(node)) telling.steps.push_back(node.id);
  }
  if (telling.steps.empty()) telling.steps.push_back(plan[plan.last_step()].id);
}

// Bytes of input that give a thread some milliseconds of work: with all steps, or for the result alone.
constexpr std::uintmax_t kWorthAThread = 64 << 10;
constexpr std::uintmax_t kWorthAThreadAlone = 192 << 10;
// Bytes of memory for each byte of a matrix that is read with its texts: a number, its place, its text and
// where it is calculated with.
constexpr std::size_t kBytesOfTracedByte = 32;

int run_trace(const SharedOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  if (!presentation) return finish(options, diagnostics);
  const std::uintmax_t bytes = input_bytes(options);
  if (!options.only_output) expect_large_matrices(static_cast<std::size_t>(bytes) * kBytesOfTracedByte);
  const std::uintmax_t most = bytes / (options.only_output ? kWorthAThreadAlone : kWorthAThread);
  if (most > 1) use_threads(static_cast<int>(std::min<std::uintmax_t>(most, threads_of(options))));
  if (const auto status = show_result_alone(options, *presentation, diagnostics)) return *status;
  auto worked = work_out(options, *presentation, diagnostics);
  if (!worked) return finish(options, diagnostics);
  if (options.is_verbose) tell_what_was_read(*worked, diagnostics);

  if (presentation->format == Format::svg) choose_weights(worked->trace.plan(), worked->telling);
  worked->telling.colours = presentation->heat.has_value() || presentation->format == Format::svg ||
                            presentation->format == Format::html;
  Report report;  // outlives the branch that needs it: leave() then saves taking it apart
  if (presentation->format == Format::json) {
    write_text(render_json(worked->trace, worked->about, worked->comparisons, worked->telling), Format::json,
               options, worked->input_files, diagnostics);
  } else if (presentation->format == Format::html) {
    write_text(render_html(worked->trace, worked->about, worked->comparisons, worked->telling), Format::html,
               options, worked->input_files, diagnostics);
  } else if (presentation->format == Format::npy) {
    write_array(narrate(worked->trace, worked->about, worked->comparisons, worked->telling), *worked, options,
                diagnostics);
  } else {
    report = narrate(worked->trace, worked->about, worked->comparisons, worked->telling);
    write_report(report, options, *presentation, worked->input_files, diagnostics);
  }
  // Nothing else says so where there is no head.
  if (worked->telling.only_output && presentation->format != Format::json)
    warn_of_assumed_ties(worked->trace, diagnostics);
  return leave(finish(options, diagnostics));
}

}  // namespace

Command setup_trace(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "trace", Text{"every step of a problem, in order", "按顺序显示一道题的每一步"}.in(language));
  const auto options = std::make_shared<SharedOptions>();
  add_problem_options(command, *options, language);
  add_telling_options(command, *options, language);
  add_format_option(command, *options, language, kTraceFormats);
  add_heat_option(command, *options, language);
  add_speed_options(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_trace(*options); }};
}

}  // namespace qkv

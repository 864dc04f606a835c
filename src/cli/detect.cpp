// qkv detect FILE OUTPUT: which conventions turn a problem's inputs into somebody's output.

#include "check/detect.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/display_width.h"
#include "base/suggest.h"
#include "cli/worked.h"
#include "input/sections.h"
#include "input/source.h"
#include "problem/keys.h"
#include "problem/place.h"

namespace qkv {
namespace {

constexpr int kNoneFound = 1;

struct DetectOptions : SharedOptions {
  std::string answers;
};

// Where a setting or a section of the problem stands; nullopt where neither the file nor an option names it.
std::optional<Place> place_of(const std::string& name, const Problem& problem, const DetectOptions& options) {
  if (options.settings.contains(name)) return Place{nullptr, {}, option_of(*find_key(name))};
  if (problem.has(name) && problem[name].source) return Place{problem[name].source, problem[name].span, {}};
  for (const auto& [section, given] : problem.given) {
    if (!given.source || given.source->name != problem.file) continue;
    Diagnostics told_before;
    for (const Setting& setting : read_outline(given.source, told_before).settings) {
      if (setting.key == name) return Place{given.source, {setting.key_span.begin, setting.value.end}, {}};
    }
    break;
  }
  return std::nullopt;
}

// Whether detect cannot recompute the problem, which is then told with every reason for it.
bool refuses(const Problem& problem, const DetectOptions& options, Diagnostics& diagnostics) {
  const std::vector<NotDetected> reasons = not_detected(problem);
  Said hint =
      say({"detect knows dot products, their softmax and a weighted sum, in one layer; for other problems "
           "there are "
           "qkv diff (the first number that differs) and qkv check (the mistakes of each step)",
           "detect 只会单层的点积、softmax 和加权和；别的题目可用 qkv diff（第一个不同的数）和 qkv "
           "check（每一步犯了什么错）"});
  for (const NotDetected& reason : reasons) {
    Said what = say({"detect cannot recompute this: {0}", "detect 无法重算：{0}"},
                    Said{reason.what.in(Language::en), reason.what.in(Language::zh)});
    if (const auto place = place_of(reason.name, problem, options)) {
      report(Severity::error, *place, std::move(what), std::exchange(hint, {}), diagnostics);
    } else {
      diagnostics.error(problem.file, std::move(what), std::exchange(hint, {}));
    }
  }
  return !reasons.empty();
}

// Something of what somebody's output holds must be a step of the problem, with a row for each query.
bool has_a_step_of(const Plan& plan, const std::vector<ShownStep>& output, const std::string& file,
                   Diagnostics& diagnostics) {
  std::vector<std::string> ids;
  for (const Node& node : plan.nodes) {
    if (node.role == Role::step) ids.push_back(node.id);
  }
  std::optional<Diagnostic> first;
  for (const ShownStep& step : output) {
    const Shape shape{static_cast<Index>(step.cells.size()),
                      step.cells.empty() ? 0 : static_cast<Index>(step.cells.front().size())};
    // A convention may change how wide the output is, or which way it lies, but not how many queries there
    // are. "weights" and "output" mean those of any head, or the last step.
    const auto fits = [&](const Node& node) {
      return (node.shape.rows == shape.rows || node.shape.rows == shape.cols) &&
             (step.id.empty() || node.id == step.id || node.name() == step.id) &&
             (node.role == Role::step || !step.id.empty());
    };
    if (std::any_of(plan.nodes.begin(), plan.nodes.end(), fits)) return true;
    if (first) continue;
    const auto node = step.id.empty() ? std::optional(plan.last_step()) : plan.find(step.id);
    first.emplace();
    first->file = file;
    if (!node) {
      first->message =
          say({"this problem has no step '{0}'", "这道题没有名为“{0}”的步骤"}, quotable(step.id));
      first->hint = did_you_mean_or_one_of(step.id, ids);
    } else {
      first->message = say(
          {"the output is {0}, but {1} of this problem is {2}", "这份输出是 {0}，而本题的 {1} 是 {2}"},
          size_text(shape), plan[*node].id, size_text({plan[*node].shape.rows, plan[*node].shown_cols()}));
    }
  }
  if (first) diagnostics.add(std::move(*first));
  return false;
}

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
  if (refuses(worked->problem, options, diagnostics)) return finish(options, diagnostics);
  if (!has_a_step_of(worked->trace.plan(), *output, options.answers, diagnostics))
    return finish(options, diagnostics);
  const std::vector<Explanation> found = detect(worked->problem, *output);
  std::vector<std::string> inputs = worked->input_files;
  inputs.push_back(options.answers);
  if (presentation->format == Format::json) {
    write_text(as_json(found), Format::json, options, inputs, diagnostics);
  } else {
    write_report(told(found, presentation->language), options, *presentation, inputs, diagnostics);
  }
  const int status = finish(options, diagnostics);
  return status != 0 || !found.empty() ? status : kNoneFound;
}

}  // namespace

Command setup_detect(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "detect",
      Text{"which conventions turn the inputs into this output", "哪些约定能由这些输入得到这份输出"}.in(
          language));
  const auto options = std::make_shared<DetectOptions>();
  add_problem_options(command, *options, language);
  add_option(
      command, "OUTPUT", options->answers,
      Text{"somebody's output: a matrix (text, .npy, JSON lists), a sheet, a trace; - is standard input",
           "别人的输出：矩阵（文本、.npy、JSON 列表）、答卷或轨迹；- 表示标准输入"}
          .in(language))
      .type("");
  add_format_option(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_detect(*options); }};
}

}  // namespace qkv

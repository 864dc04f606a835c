// qkv check FILE ANSWERS: homework marked against a problem.

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/progress.h"
#include "check/feedback.h"
#include "cli/worked.h"
#include "input/source.h"

namespace qkv {
namespace {

constexpr int kDiffers = 1;

struct CheckOptions : SharedOptions {
  std::string answers;
  std::string form;
  std::string hint;
};

enum class Form { text, json, csv };
struct FormName {
  const char* name;
  const char* extension;
  Form form;
};
constexpr std::array<FormName, 3> kForms{
    {{"text", ".txt", Form::text}, {"json", ".json", Form::json}, {"csv", ".csv", Form::csv}}};

struct HintName {
  const char* name;
  Hint hint;
};
constexpr std::array<HintName, 3> kHints{{{"step", Hint::step}, {"cell", Hint::cell}, {"rule", Hint::rule}}};

Form form_of(const CheckOptions& options, Diagnostics& diagnostics) {
  if (!options.form.empty()) {
    const auto row = row_named(kForms, "--format", options.form, diagnostics);
    return row == kForms.end() ? Form::text : row->form;
  }
  for (const FormName& row : kForms) {
    if (ending_of(options.output) == row.extension) return row.form;
  }
  refuse_foreign_ending(options.output, names_in(kForms), diagnostics);
  return Form::text;
}

// The files of a folder, by name; a file stands for itself.
std::vector<std::string> sheets_in(const std::string& answers, Diagnostics& diagnostics) {
  std::error_code fault;
  if (!std::filesystem::is_directory(answers, fault)) return {answers};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(answers, fault)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file(fault) && !name.starts_with('.')) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    diagnostics.error(answers, say({"the folder holds no sheet", "这个文件夹里没有答卷"}));
  }
  return files;
}

std::string render(const std::vector<Marked>& marked, const Trace& truth, const Worked& worked, Form form,
                   Hint hint, bool is_class, const SharedOptions& options, const Presentation& presentation) {
  const Language language = presentation.language;
  const bool is_json = form == Form::json;
  if (form == Form::csv) return marks_csv(marked, truth.plan());
  if (is_json && !is_class) return feedback_json(marked.front().judgement, truth.plan(), language);
  if (is_json) return marks_json(marked, truth.plan(), language);
  const Report report = is_class
                            ? marks_table(marked, truth.plan(), language)
                            : feedback(marked.front().judgement, truth, worked.about.title, language, hint);
  return render(report, options, presentation);
}

int run_check(const CheckOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const Form form = form_of(options, diagnostics);
  Hint hint = Hint::none;
  if (!options.hint.empty()) {
    const auto row = row_named(kHints, "--hint", options.hint, diagnostics);
    if (row != kHints.end()) hint = row->hint;
  }
  if (!presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  const auto worked = work_out(options, *presentation, diagnostics);
  if (!worked) return finish(options, diagnostics);
  const Trace& truth = worked->truth ? *worked->truth : worked->trace;

  const std::vector<std::string> files = sheets_in(options.answers, diagnostics);
  const bool is_class = files.size() != 1 || files.front() != options.answers;
  if (hint != Hint::none && (is_class || form != Form::text)) {
    diagnostics.error("", say({"--hint is for one sheet, as text: the other forms hold the answers",
                               "--hint 只用于单份答卷的文本输出：其他形式含有答案"}));
    return finish(options, diagnostics);
  }
  std::vector<Marked> marked;
  std::vector<std::string> inputs = worked->input_files;
  Progress progress(static_cast<long long>(files.size()));
  for (const std::string& file : files) {
    progress.step();
    inputs.push_back(file);
    const SourcePtr source = read_source(file, diagnostics);
    if (!source) {
      marked.push_back({file, {}, false});
      continue;
    }
    Diagnostics own;
    const AnswerFile answers = read_answers(source, own);
    std::map<NodeId, Given> fitting = fit_answers(truth.plan(), answers, own);
    for (const Diagnostic& d : own.list()) diagnostics.add(d);
    if (own.has_errors()) {
      marked.push_back({file, {}, false});
    } else {
      marked.push_back({file, judge(truth, std::move(fitting), worked->problem.decimals)});
    }
  }
  if (marked.empty() || (!is_class && diagnostics.has_errors())) return finish(options, diagnostics);
  write_text(render(marked, truth, *worked, form, hint, is_class, options, *presentation),
             form == Form::json ? Format::json : Format::text, options, inputs, diagnostics);
  const int status = finish(options, diagnostics);
  if (status != 0) return status;
  const bool is_right =
      std::all_of(marked.begin(), marked.end(), [](const Marked& m) { return m.judgement.is_right(); });
  return is_right ? 0 : kDiffers;
}

}  // namespace

Command setup_check(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "check",
      Text{"mark homework: steps carried forward, mistakes named", "批改作业：错误逐步带入，指出犯了什么错"}
          .in(language));
  const auto options = std::make_shared<CheckOptions>();
  options->has_own_forms = true;
  add_problem_options(command, *options, language);
  add_option(
      command, "ANSWERS", options->answers,
      Text{"the filled-in sheet, or a folder of sheets", "填好的答卷，或装有答卷的文件夹"}.in(language))
      .type("")
      .required();
  add_option(
      command, "--hint", options->hint,
      Text{"only a hint: which step, which cell, or which rule", "只给提示：哪一步、哪个单元格、哪条规则"}.in(
          language))
      .type("step | cell | rule");
  add_option(command, "-f,--format", options->form, Text{"form of the marks", "批改结果的格式"}.in(language))
      .type("text | json | csv");
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_check(*options); }};
}

}  // namespace qkv

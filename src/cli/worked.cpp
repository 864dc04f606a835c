#include "cli/worked.h"

#include <algorithm>
#include <utility>

#include "base/suggest.h"
#include "input/fold.h"
#include "input/sections.h"
#include "input/source.h"
#include "methods/claims.h"
#include "methods/entropy.h"
#include "methods/methods.h"
#include "plan/training.h"
#include "problem/checkpoint.h"
#include "problem/value_words.h"
#include "report/step_names.h"

namespace qkv {
namespace {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + ",") {
    if (c == ',' || c == ' ') {
      if (!part.empty()) parts.push_back(std::move(part));
      part.clear();
    } else {
      part += c;
    }
  }
  return parts;
}

// What is differentiated, and which reading of an ambiguous word was taken.
Said gradient_meaning(const Problem& problem, const std::string& last) {
  if (!problem.wants_gradient) return {};
  if (problem.has("target")) {
    return say({"{0} is read as logits; the loss is the cross-entropy, the mean over the rows",
                "把 {0} 的每一行看作 logits；损失是交叉熵，对各行取平均"},
               last);
  }
  if (problem.has("d." + last)) {
    return say({"[d.{0}] is given: the loss is Σ d.{0} ∘ {0}", "题目给出 [d.{0}]：损失就是 Σ d.{0} ∘ {0}"},
               last);
  }
  return say({"neither [d.{0}] nor [target] is given, so d.{0} is 1 everywhere: the loss is the sum of {0}",
              "没有给出 [d.{0}] 或 [target]，d.{0} 按处处为 1 计算：损失就是 {0} 各格之和"},
             last);
}

std::vector<Printed> printed_of(const Problem& problem) {
  std::vector<Printed> printed;
  for (const Expectation& e : problem.expected)
    printed.push_back({e.step, e.printed.shape(), e.printed.cells});
  return printed;
}

// A query by its label, or by its number, counted as the problem counts.
std::optional<Index> find_row(const std::string& text, const std::vector<std::string>& tokens,
                              int first_index) {
  const auto at = std::find(tokens.begin(), tokens.end(), text);
  if (at != tokens.end()) return at - tokens.begin();
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const Index number = std::stol(text) - first_index;
  return number >= 0 && number < static_cast<Index>(tokens.size()) ? std::optional(number) : std::nullopt;
}

// A label that several queries have means the first; their numbers tell them apart.
void note_equal_labels(const std::string& label, Index row, const std::vector<std::string>& tokens,
                       int first_index, Diagnostics& diagnostics) {
  std::string numbers;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == label)
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(static_cast<Index>(i) + first_index);
  }
  if (numbers.find(',') == std::string::npos) return;
  diagnostics.add({Severity::note, "", nullptr, std::nullopt,
                   say({"--row: '{0}' is the label of queries {1}; this is {2}",
                        "--row：“{0}”是第 {1} 个查询的标签；这里取第 {2} 个"},
                       label, numbers, row + first_index),
                   say({"write the number for another one", "要看另一个，请写它的序号"})});
}

std::optional<Index> find_head(const std::string& text, const About& about) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const Index head = std::stol(text) - about.first_index;
  return head >= 0 && head < about.heads ? std::optional(head) : std::nullopt;
}

// Only true numbers are worth comparing.
void prove(const Problem& problem, const Trace& trace, Telling& telling, Diagnostics& diagnostics) {
  if (trace.arithmetic() != Arithmetic::proved && trace.arithmetic() != Arithmetic::doubles) {
    diagnostics.error("", say({"--prove needs true numbers, not those of a small format",
                               "--prove 需要真值，而不是某种浮点格式的数"}));
    return;
  }
  for (const Claim& claim : claims_of(problem, trace.plan())) {
    Equality found;
    for (const Claim::Part& part : claim.parts) {
      const Trace other = run(part.other, {});
      for (const RowPair& rows : part.rows) found.add(compare_rows(trace, other, rows));
    }
    telling.proofs.push_back({claim.sentence, found});
  }
  if (telling.proofs.empty()) {
    diagnostics.warning("", say({"--prove: this problem claims to be equal to nothing else",
                                 "--prove：这道题没有声称与别的计算相等"}));
  }
}

void check_steps(const std::vector<std::string>& steps, const Plan& plan, Diagnostics& diagnostics) {
  std::vector<std::string> ids;
  for (const Node& node : plan.nodes) {
    ids.push_back(node.id);
    if (node.prefix.empty()) continue;
    std::string name = name_in_every_head(node);
    if (std::find(ids.begin(), ids.end(), name) == ids.end()) ids.push_back(std::move(name));
  }
  for (const std::string& step : steps) {
    if (std::find(ids.begin(), ids.end(), step) != ids.end()) continue;
    diagnostics.error(
        "", say({"--steps: this problem has no step '{0}'", "--steps：这道题没有名为“{0}”的步骤"}, step),
        hint_for_step(plan, step, ids));
  }
}

}  // namespace

void add_checkpoint(const SharedOptions& options, ProblemInput& input, Diagnostics& diagnostics) {
  if (options.weights.empty()) {
    for (const auto& [option, value] :
         {std::pair{"--checkpoint", options.checkpoint}, {"--layer", options.layer}}) {
      if (!value.empty())
        diagnostics.error("", say({"{0} goes with --weights FILE.safetensors",
                                   "{0} 要与 --weights FILE.safetensors 一起使用"},
                                  option));
    }
    return;
  }
  const bool is_known =
      options.checkpoint.empty() ||
      row_named(kCheckpoints, "--checkpoint", options.checkpoint, diagnostics) != kCheckpoints.end();
  const auto layout = options.settings.find("layout");
  if (layout != options.settings.end() && layout->second != "columns") {
    diagnostics.error("", say({"--weights brings matrices for --layout columns",
                               "--weights 给出的矩阵按 --layout columns 使用"}));
  }
  if (!is_known || diagnostics.has_errors()) return;
  // By the option, else by the problem file; what is wrong with that, its reader will say.
  Diagnostics ignored;
  const Outline outline = input.file ? read_outline(input.file, ignored) : Outline{};
  const auto count = [&](const char* key) -> std::optional<long> {
    const auto setting = options.settings.find(key);
    if (setting != options.settings.end()) return small_integer(setting->second);
    const auto in_file = std::find_if(outline.settings.begin(), outline.settings.end(),
                                      [&](const Setting& s) { return s.key == key; });
    if (in_file == outline.settings.end()) return std::nullopt;
    const Span value = in_file->value;
    return small_integer(folded(input.file->text.substr(value.begin, value.end - value.begin)));
  };
  const CheckpointChoice choice{options.weights, options.checkpoint, options.layer, count("heads"),
                                count("kv_heads")};
  for (auto& matrix : read_checkpoint(choice, diagnostics)) {
    if (options.matrix_files.count(matrix.first) == 0) input.matrices.push_back(std::move(matrix));
  }
  if (layout == options.settings.end()) input.settings.emplace_back("layout", "columns");
}

About about_of(const Problem& problem, const Diagnostics& diagnostics) {
  About about;
  about.title = problem.title;
  about.source = problem.source;
  about.file = problem.file;
  about.settings = problem.settings;
  about.tokens = problem.tokens;
  about.first_index = problem.first_index;
  about.heads = problem.heads;
  about.kv_heads = problem.kv_heads;
  about.mask_meaning = problem.mask_meaning;
  for (const Diagnostic& d : diagnostics.list()) {
    if (d.severity == Severity::warning) about.warnings.push_back(d.message);
  }
  return about;
}

std::optional<Worked> work_out(const SharedOptions& options, const Presentation& presentation,
                               Diagnostics& diagnostics) {
  ProblemInput input;
  std::vector<std::string> files;
  if (!options.file.empty()) {
    input.file = read_source(options.file, diagnostics);
    files.push_back(options.file);
  } else if (options.matrix_files.empty() && options.weights.empty()) {
    diagnostics.error("", say({"no problem file was given", "没有给出题目文件"}),
                      say({"try: qkv trace FILE, or --q FILE --k FILE --v FILE",
                           "用法：qkv trace FILE，或 --q FILE --k FILE --v FILE"}));
  }
  for (const auto& [section, file] : options.matrix_files) {
    if (SourcePtr source = read_source(file, diagnostics))
      input.matrices.emplace_back(section, std::move(source));
    files.push_back(file);
  }
  for (const auto& setting : options.settings) input.settings.push_back(setting);
  add_checkpoint(options, input, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;

  auto worked = work_out(input, options, presentation, diagnostics);
  if (!options.weights.empty()) files.push_back(options.weights);
  if (worked) worked->input_files = std::move(files);
  return worked;
}

std::optional<Index> query_named(const std::string& name, const std::vector<std::string>& tokens,
                                 int first_index, Diagnostics& diagnostics) {
  const auto row = find_row(name, tokens, first_index);
  if (row) {
    note_equal_labels(name, *row, tokens, first_index, diagnostics);
    return row;
  }
  constexpr std::size_t kMostListed = 12;
  std::string all;
  for (std::size_t i = 0; i < std::min(tokens.size(), kMostListed); ++i)
    all += (i == 0 ? "" : " ") + tokens[i];
  if (tokens.size() > kMostListed) all += " … " + tokens.back();
  const auto near = nearest_label(name, tokens);
  diagnostics.error("", say({"--row: there is no query '{0}'", "--row：没有名为“{0}”的查询"}, name),
                    near ? say({"did you mean '{0}'?", "是不是想写“{0}”？"}, *near)
                         : say({"the queries are: {0}", "查询有：{0}"}, all));
  return std::nullopt;
}

std::optional<Worked> work_out(const ProblemInput& input, const SharedOptions& options,
                               const Presentation& presentation, Diagnostics& diagnostics) {
  auto planned = read_and_plan(input, diagnostics);
  if (!planned) return std::nullopt;
  auto& [problem, plan] = *planned;
  if (presentation.detail == Detail::full || options.asks_for_any_cell)
    plan = with_entropies(std::move(plan));

  Worked worked;
  worked.about = about_of(problem, diagnostics);
  worked.about.gradient_meaning = gradient_meaning(problem, plan[plan.last_step()].id);
  worked.telling = {.detail = presentation.detail,
                    .decimals = problem.decimals,
                    .language = presentation.language,
                    .steps = split_list(folded(options.steps)),
                    .row = std::nullopt,
                    .only_output = options.only_output,
                    .exact = options.exact,
                    .checks = options.checks};
  const std::vector<Printed> printed = printed_of(problem);
  check_steps(worked.telling.steps, plan, diagnostics);
  if (!options.row.empty())
    worked.telling.row = query_named(options.row, worked.about.tokens, worked.about.first_index, diagnostics);
  if (!options.head.empty()) {
    worked.telling.head = find_head(options.head, worked.about);
    if (!worked.telling.head) {
      diagnostics.error("",
                        say({"--head: there is no head '{0}': the heads are {1} to {2}",
                             "--head：没有第 {0} 个头：头的编号从 {1} 到 {2}"},
                            options.head, problem.first_index, problem.heads - 1 + problem.first_index),
                        !options.weights.empty() && problem.heads == 1
                            ? say({"the file of --weights does not say how many there are: --heads N",
                                   "--weights 的文件里没有头数，请用 --heads N 给出"})
                            : Said{});
    }
  }
  if (diagnostics.has_errors()) return std::nullopt;

  RunOptions run_options{.format = presentation.arithmetic, .plain = options.plain_doubles};
  if (problem.round == Rounding::paper) {
    run_options.rounds_to = problem.decimals;
    if (presentation.arithmetic != nullptr) {
      diagnostics.error("", say({"--arithmetic and round = paper exclude each other",
                                 "--arithmetic 与 round = paper 不能同时使用"}));
      return std::nullopt;
    }
  }
  if (run_options.rounds_to || run_options.format != nullptr) {
    worked.truth = std::make_shared<const Trace>(run(plan, {}));
    worked.telling.truth = worked.truth.get();
  }
  worked.trace = run(std::move(plan), run_options);
  const bool is_rounded = run_options.rounds_to.has_value();
  if (options.prove) prove(problem, is_rounded ? *worked.truth : worked.trace, worked.telling, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  // What a text prints is never compared with the digits of a small format.
  worked.comparisons = compare(run_options.format != nullptr ? *worked.truth : worked.trace, printed);
  worked.problem = std::move(problem);
  return worked;
}

}  // namespace qkv

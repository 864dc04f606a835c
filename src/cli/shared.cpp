#include "cli/shared.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/suggest.h"
#include "cli/language.h"
#include "input/source.h"
#include "methods/claims.h"
#include "methods/entropy.h"
#include "methods/methods.h"
#include "plan/training.h"
#include "problem/checkpoint.h"
#include "problem/keys.h"
#include "problem/value_words.h"
#include "render/csv.h"
#include "render/markdown.h"
#include "render/svg.h"
#include "render/text.h"

namespace qkv {
namespace {

struct MatrixOption {
  const char* option;
  const char* section;
};

constexpr std::array<MatrixOption, 22> kMatrixOptions{{
    {"--x", "X"},
    {"--x-kv", "X_kv"},
    {"--wq", "W_Q"},
    {"--wk", "W_K"},
    {"--wv", "W_V"},
    {"--wo", "W_O"},
    {"--w-qkv", "W_QKV"},
    {"--bq", "b_Q"},
    {"--bk", "b_K"},
    {"--bv", "b_V"},
    {"--bo", "b_O"},
    {"--q", "Q"},
    {"--k", "K"},
    {"--v", "V"},
    {"--scores-file", "scores"},
    {"--mask-file", "mask"},
    {"--bias-file", "bias"},
    {"--wa", "W_a"},
    {"--ua", "U_a"},
    {"--va", "v_a"},
    {"--ba", "b_a"},
    {"--weights-file", "weights"},
}};

struct CheckpointName {
  const char* name;
};
constexpr std::array<CheckpointName, 3> kCheckpoints{{{"linear"}, {"fused"}, {"mha"}}};

struct FormatName {
  const char* name;
  const char* extension;
  Format format;
};
constexpr std::array<FormatName, 8> kFormats{{{"text", ".txt", Format::text},
                                              {"json", ".json", Format::json},
                                              {"md", ".md", Format::md},
                                              {"latex", ".tex", Format::latex},
                                              {"html", ".html", Format::html},
                                              {"svg", ".svg", Format::svg},
                                              {"csv", ".csv", Format::csv},
                                              {"npy", ".npy", Format::npy}}};

bool is_offered(const SharedOptions& options, Format format) {
  return std::find(options.offered.begin(), options.offered.end(), format) != options.offered.end();
}

std::vector<FormatName> offered_formats(const SharedOptions& options) {
  std::vector<FormatName> offered;
  std::copy_if(kFormats.begin(), kFormats.end(), std::back_inserter(offered),
               [&](const FormatName& row) { return is_offered(options, row.format); });
  return offered;
}

struct TablesName {
  const char* name;
  LatexStyle::Tables tables;
};
constexpr std::array<TablesName, 2> kLatexTables{
    {{"booktabs", LatexStyle::Tables::booktabs}, {"bmatrix", LatexStyle::Tables::bmatrix}}};

struct DetailName {
  const char* name;
  Detail detail;
};
constexpr std::array<DetailName, 4> kDetails{{{"summary", Detail::summary},
                                              {"steps", Detail::steps},
                                              {"cells", Detail::cells},
                                              {"full", Detail::full}}};

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

About about_of(const Problem& problem, const Plan& plan, const Diagnostics& diagnostics) {
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
  about.gradient_meaning = gradient_meaning(problem, plan[plan.last_step()].id);
  for (const Diagnostic& d : diagnostics.list()) {
    if (d.severity == Severity::warning) about.warnings.push_back(d.message);
  }
  return about;
}

std::vector<Printed> printed_of(const Problem& problem) {
  std::vector<Printed> printed;
  for (const Expectation& e : problem.expected)
    printed.push_back({e.step, e.printed.shape(), e.printed.cells});
  return printed;
}

// A query by its label, or by its number, counted as the problem counts.
std::optional<Index> find_row(const std::string& text, const About& about) {
  const auto at = std::find(about.tokens.begin(), about.tokens.end(), text);
  if (at != about.tokens.end()) return at - about.tokens.begin();
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const Index number = std::stol(text) - about.first_index;
  return number >= 0 && number < static_cast<Index>(about.tokens.size()) ? std::optional(number)
                                                                         : std::nullopt;
}

// A label that several queries have means the first; their numbers tell them apart.
void note_equal_labels(const std::string& label, Index row, const About& about, Diagnostics& diagnostics) {
  std::string numbers;
  for (std::size_t i = 0; i < about.tokens.size(); ++i) {
    if (about.tokens[i] == label)
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(static_cast<Index>(i) + about.first_index);
  }
  if (numbers.find(',') == std::string::npos) return;
  diagnostics.add({Severity::note, "", nullptr, std::nullopt,
                   say({"--row: '{0}' is the label of queries {1}; this is {2}",
                        "--row：“{0}”是第 {1} 个查询的标签；这里取第 {2} 个"},
                       label, numbers, row + about.first_index),
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
        did_you_mean_or_one_of(step, ids));
  }
}

}  // namespace

void bad_value(const std::string& option, const std::string& value, const std::vector<std::string>& allowed,
               Diagnostics& diagnostics) {
  diagnostics.error("", say({"{0}: unknown value '{1}'", "{0}：无法识别的值“{1}”"}, option, value),
                    did_you_mean_or_one_of(value, allowed));
}

namespace {

std::string settings_group(Language language) {
  return Text{"Settings, as in the file", "设置（与文件中的同名）"}.in(language);
}

bool is_yes_or_no(const Key& key) { return key.values == std::string_view("no | yes"); }

// What --gradient=WORD may say; "true" is what CLI11 makes of a bare --gradient.
constexpr std::array<std::string_view, 4> kFlagWords{"yes", "no", "true", "false"};

// --gradient is `gradient = yes`; --gradient=no takes back what the file says.
void add_flag(CLI::App& app, const Key& key, SharedOptions& options, Language language) {
  const std::string name = key.name;
  app.add_flag_function(
         option_of(key),
         [&options, name](std::int64_t count) { options.settings[name] = count > 0 ? "yes" : "no"; },
         key.meaning.in(language))
      ->take_last()
      ->check([](const std::string& value) {
        const auto& words = kFlagWords;
        return std::find(words.begin(), words.end(), value) != words.end() ? std::string() : value;
      })
      ->group(settings_group(language));
}

}  // namespace

void add_problem_options(CLI::App& app, SharedOptions& options, Language language) {
  app.add_option("FILE", options.file,
                 Text{"problem file; - is standard input", "题目文件；- 表示标准输入"}.in(language))
      ->type_name("");
  for (const MatrixOption& m : kMatrixOptions) {
    app.add_option_function<std::string>(
           m.option, [&options, &m](const std::string& file) { options.matrix_files[m.section] = file; },
           say({"matrix file for [{0}]", "[{0}] 的矩阵文件"}, m.section).in(language))
        ->type_name("FILE")
        ->group(Text{"Matrices", "矩阵"}.in(language));
  }
  const std::string matrices = Text{"Matrices", "矩阵"}.in(language);
  app.add_option("--weights", options.weights,
                 Text{"the projections and biases of one layer, from a model's file of tensors",
                      "从模型的张量文件里取一层的投影矩阵和偏置"}
                     .in(language))
      ->type_name("FILE.safetensors")
      ->group(matrices);
  app.add_option("--checkpoint", options.checkpoint,
                 Text{"how it names them: q_proj.weight …, in_proj.weight or c_attn.weight, or as "
                      "torch.nn.MultiheadAttention; told by the names when left out",
                      "张量的命名方式：q_proj.weight 等、in_proj.weight 或 c_attn.weight，或 "
                      "torch.nn.MultiheadAttention 的写法；不写则由名称判断"}
                     .in(language))
      ->type_name(names_of(kCheckpoints))
      ->group(matrices);
  app.add_option(
         "--layer", options.layer,
         Text{"which layer of it: a number, or how the names begin", "取其中哪一层：编号，或名称的开头"}.in(
             language))
      ->type_name("N")
      ->group(matrices);
  for (const Key& key : keys()) {
    if (!key.as_option) continue;
    const std::string name = key.name;
    if (is_yes_or_no(key)) {
      add_flag(app, key, options, language);
      continue;
    }
    const std::string flags = name == "decimals" ? "-p," + option_of(key) : option_of(key);
    app.add_option_function<std::string>(
           flags,
           [&options, name, flags](const std::string& value) {
             if (value.starts_with("--")) throw CLI::ArgumentMismatch::TypedAtLeast(flags, 1, "");
             options.settings[name] = value;
           },
           key.meaning.in(language))
        ->type_name(key.values)
        ->take_last()
        ->group(settings_group(language));
  }
}

void add_asking_options(CLI::App& app, SharedOptions& options, Language language) {
  app.add_option("--detail", options.detail,
                 Text{"how much is shown: the result, the main steps, every cell's arithmetic, the softmax "
                      "line by line too",
                      "显示多少：只看结果 | 主要步骤 | 每个单元格的算式 | 再加上 softmax 的每一行"}
                     .in(language))
      ->type_name(names_of(kDetails));
  app.add_option(
         "--steps", options.steps,
         Text{"only these steps, e.g. scores,weights", "只看这些步骤，例如 scores,weights"}.in(language))
      ->type_name("LIST");
}

void add_arithmetic_options(CLI::App& app, SharedOptions& options, Language language) {
  app.add_flag(
      "--exact", options.exact,
      Text{"fractions, roots and powers of e beside the decimals", "在小数旁边写出分数、根式和 e 的幂"}.in(
          language));
  app.add_option("--arithmetic", options.arithmetic,
                 Text{"carry the steps out in this format and show where the digits leave the true ones",
                      "用这种浮点格式计算，并指出从哪里开始偏离真值"}
                     .in(language))
      ->type_name(names_of(kFloatFormats));
}

void add_telling_options(CLI::App& app, SharedOptions& options, Language language) {
  add_asking_options(app, options, language);
  app.add_option("--row", options.row,
                 Text{"only this query: its label or number", "只看这个查询：标签或序号"}.in(language))
      ->type_name("R");
  app.add_option("--head", options.head,
                 Text{"only this head, by its number, and what all heads share",
                      "只看这个头（按编号），以及所有头共有的步骤"}
                     .in(language))
      ->type_name("H");
  app.add_flag("--only-output", options.only_output, Text{"the result alone", "只输出结果"}.in(language));
  app.add_flag(
      "--checks", options.checks,
      Text{"what must hold, checked: row sums, hull, masked zeros, the shift by the maximum, gradients",
           "核对必然成立的性质：行和、凸包、被屏蔽的零、减去最大值、梯度"}
          .in(language));
  app.add_flag(
      "--prove", options.prove,
      Text{"run the way this is claimed to be equal to (cache = full causal pass, tiles = plain softmax, "
           "shared = repeated heads …) and show the largest difference",
           "再按声称与之相等的方式算一遍（缓存 = 完整因果，分块 = 普通 softmax，共用 = 复制……），给出最大差"}
          .in(language));
  add_arithmetic_options(app, options, language);
  // For timing the proof against the same trace without it.
  app.add_flag("--plain-doubles", options.plain_doubles)->group("");
}

void add_format_option(CLI::App& app, SharedOptions& options, Language language,
                       std::span<const Format> offered) {
  options.offered.assign(offered.begin(), offered.end());
  app.add_option(
         "-f,--format", options.format,
         Text{"form of the output; guessed from -o name.json", "输出格式；可由 -o 的扩展名推断"}.in(language))
      ->type_name(names_of(offered_formats(options)));
  if (!is_offered(options, Format::latex)) return;
  app.add_flag(
      "--standalone", options.is_standalone,
      Text{"LaTeX with its preamble, ready to compile", "带导言区、可直接编译的 LaTeX"}.in(language));
  app.add_option(
         "--latex-tables", options.latex_tables,
         Text{"tables with labels, or matrices in brackets", "LaTeX 的表：带标签的表格，或方括号矩阵"}.in(
             language))
      ->type_name(names_of(kLatexTables));
}

// A flag, so that --heat FILE does not take the file for its value.
void add_heat_option(CLI::App& app, SharedOptions& options, Language language) {
  app.add_flag("--heat{viridis}", options.heat,
               say({"how large each number is: on a background of colour, without colours as a shade beside "
                    "it; --heat={0}",
                    "用底色显示每个数的大小；没有颜色时在旁边用浓淡表示；--heat={0}"},
                   names_of(kColorMaps))
                   .in(language));
}

void add_output_options(CLI::App& app, SharedOptions& options, Language language) {
  app.add_option(
         "-o,--output", options.output,
         Text{"write to this file, whole or not at all", "写入文件：要么完整写入，要么不动"}.in(language))
      ->type_name("FILE");
  app.add_option("--color", options.color, Text{"colour", "颜色"}.in(language))
      ->type_name("auto | always | never");
  app.add_flag(
      "--ascii", options.ascii,
      Text{"nothing but ASCII in what qkv writes itself", "qkv 自己写的内容只用 ASCII"}.in(language));
  app.add_option("--lang", options.lang, Text{"language", "语言"}.in(language))->type_name("auto | en | zh");
  app.add_flag("-q,--quiet", options.is_quiet,
               Text{"no warnings, notes and progress", "不显示警告、说明和进度"}.in(language));
  app.add_flag("-v,--verbose", options.is_verbose, Text{"say what was read", "说明读到了什么"}.in(language));
}

std::optional<Presentation> presentation_of(const SharedOptions& options, Diagnostics& diagnostics) {
  Presentation p;
  const auto language = language_named(options.lang);
  if (!language) bad_value("--lang", options.lang, {"auto", "en", "zh"}, diagnostics);
  p.language = language.value_or(Language::en);
  if (options.ascii && p.language == Language::zh) {
    if (options.lang == "zh") {
      diagnostics.error("", say({"--ascii and --lang zh exclude each other: Chinese is not ASCII",
                                 "--ascii 与 --lang zh 不能同时使用：中文不是 ASCII"}));
    }
    p.language = Language::en;
  }
  if (options.color == "always") {
    p.color = ColorChoice::always;
  } else if (options.color == "never") {
    p.color = ColorChoice::never;
  } else if (options.color != "auto") {
    bad_value("--color", options.color, {"auto", "always", "never"}, diagnostics);
  }
  if (!options.heat.empty()) {
    const auto map = row_named(kColorMaps, "--heat", options.heat, diagnostics);
    if (map != kColorMaps.end()) p.heat = map->map;
  }
  const auto detail = row_named(kDetails, "--detail", options.detail, diagnostics);
  if (detail != kDetails.end()) p.detail = detail->detail;
  if (options.checks && options.only_output) {
    diagnostics.error(
        "", say({"--checks and --only-output exclude each other", "--checks 与 --only-output 不能同时使用"}));
  }
  if (options.prove && options.only_output) {
    diagnostics.error(
        "", say({"--prove and --only-output exclude each other", "--prove 与 --only-output 不能同时使用"}));
  }
  if (!options.arithmetic.empty()) {
    const auto arithmetic = row_named(kFloatFormats, "--arithmetic", options.arithmetic, diagnostics);
    if (arithmetic != kFloatFormats.end()) p.arithmetic = &*arithmetic;
    if (options.exact) {
      diagnostics.error(
          "", say({"--arithmetic and --exact exclude each other", "--arithmetic 与 --exact 不能同时使用"}));
    }
  }
  const std::vector<FormatName> offered = offered_formats(options);
  if (!options.format.empty()) {
    const auto format = row_named(offered, "--format", options.format, diagnostics);
    if (format != offered.end()) p.format = format->format;
  } else if (!options.has_own_forms) {
    for (const FormatName& f : kFormats) {
      if (!options.output.ends_with(f.extension)) continue;
      if (is_offered(options, f.format)) {
        p.format = f.format;
        continue;
      }
      diagnostics.error(options.output,
                        say({"this command does not write {0}", "这个命令不能写 {0}"}, f.extension),
                        offered.size() > 1 ? say({"it writes: {0}; --format text writes text under any name",
                                                  "可写：{0}；--format text 可用任何文件名"},
                                                 names_of(offered))
                                           : say({"it writes text, to a name without that ending",
                                                  "它只写文本，请换一个没有这个扩展名的文件名"}));
    }
  }
  p.latex.is_standalone = options.is_standalone;
  const auto tables = row_named(kLatexTables, "--latex-tables", options.latex_tables, diagnostics);
  if (tables != kLatexTables.end()) p.latex.tables = tables->tables;
  if (diagnostics.has_errors()) return std::nullopt;
  return p;
}

namespace {

// What --weights brings; a matrix that has an option of its own stays.
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
  const auto count = [&](const char* key) -> std::optional<long> {
    const auto setting = options.settings.find(key);
    return setting == options.settings.end() ? std::nullopt : small_integer(setting->second);
  };
  const CheckpointChoice choice{options.weights, options.checkpoint, options.layer, count("heads"),
                                count("kv_heads")};
  for (auto& matrix : read_checkpoint(choice, diagnostics)) {
    if (options.matrix_files.count(matrix.first) == 0) input.matrices.push_back(std::move(matrix));
  }
  if (layout == options.settings.end()) input.settings.emplace_back("layout", "columns");
}

}  // namespace

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
  if (std::count(files.begin(), files.end(), "-") > 1) {
    diagnostics.error("", say({"standard input (-) can be read only once", "标准输入（-）只能读一次"}));
  }
  for (const auto& setting : options.settings) input.settings.push_back(setting);
  add_checkpoint(options, input, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;

  auto worked = work_out(input, options, presentation, diagnostics);
  if (!options.weights.empty()) files.push_back(options.weights);
  if (worked) worked->input_files = std::move(files);
  return worked;
}

std::optional<Worked> work_out(const ProblemInput& input, const SharedOptions& options,
                               const Presentation& presentation, Diagnostics& diagnostics) {
  auto planned = read_and_plan(input, diagnostics);
  if (!planned) return std::nullopt;
  auto& [problem, plan] = *planned;
  if (presentation.detail == Detail::full || options.asks_for_any_cell)
    plan = with_entropies(std::move(plan));

  Worked worked;
  worked.about = about_of(problem, plan, diagnostics);
  worked.telling = {.detail = presentation.detail,
                    .decimals = problem.decimals,
                    .language = presentation.language,
                    .steps = split_list(options.steps),
                    .row = std::nullopt,
                    .only_output = options.only_output,
                    .exact = options.exact,
                    .checks = options.checks};
  const std::vector<Printed> printed = printed_of(problem);
  check_steps(worked.telling.steps, plan, diagnostics);
  if (!options.row.empty()) {
    worked.telling.row = find_row(options.row, worked.about);
    if (!worked.telling.row) {
      std::string all;
      for (const std::string& token : worked.about.tokens) all += (all.empty() ? "" : " ") + token;
      const auto near = nearest_label(options.row, worked.about.tokens);
      diagnostics.error("",
                        say({"--row: there is no query '{0}'", "--row：没有名为“{0}”的查询"}, options.row),
                        near ? say({"did you mean '{0}'?", "是不是想写“{0}”？"}, *near)
                             : say({"the queries are: {0}", "查询有：{0}"}, all));
    } else {
      note_equal_labels(options.row, *worked.telling.row, worked.about, diagnostics);
    }
  }
  if (!options.head.empty()) {
    worked.telling.head = find_head(options.head, worked.about);
    if (!worked.telling.head) {
      diagnostics.error("", say({"--head: there is no head '{0}': the heads are {1} to {2}",
                                 "--head：没有第 {0} 个头：头的编号从 {1} 到 {2}"},
                                options.head, problem.first_index, problem.heads - 1 + problem.first_index));
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
  if (options.prove)
    prove(problem, is_rounded ? *worked.truth : worked.trace, worked.telling, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  // What a text prints is never compared with the digits of a small format.
  worked.comparisons = compare(run_options.format != nullptr ? *worked.truth : worked.trace, printed);
  worked.problem = std::move(problem);
  return worked;
}

std::string render(const Report& report, const SharedOptions& options, const Presentation& presentation) {
  switch (presentation.format) {
    case Format::md:
      return render_markdown(report);
    case Format::latex:
      return render_latex(report, presentation.latex);
    case Format::csv:
      return render_csv(report);
    case Format::svg:
      return render_svg(report, presentation.heat.value_or(ColorMap::viridis));
    default:
      break;
  }
  const bool goes_to_file = !options.output.empty() && options.output != "-";
  const ColorChoice color = goes_to_file ? ColorChoice::never : presentation.color;
  return render_text(report, {.color = wants_color(color, STDOUT_FILENO),
                              .ascii = options.ascii,
                              .heat = presentation.heat,
                              .depth = color_depth(color, STDOUT_FILENO)});
}

void write_report(const Report& report, const SharedOptions& options, const Presentation& presentation,
                  const std::vector<std::string>& inputs, Diagnostics& diagnostics) {
  write_output(options.output, render(report, options, presentation), inputs, diagnostics);
}

void warn_of_assumed_ties(const Trace& trace, Diagnostics& diagnostics) {
  if (trace.assumed_ties() == 0) return;
  diagnostics.warning(
      "", say({"numbers that could not be told from a tie even with {0} digits, and are rounded as ties: {1}",
               "用 {0} 位数字仍无法与恰好一半区分、按恰好一半舍入的数：{1} 个"},
              kDigitsOfAssumedTies, trace.assumed_ties()));
}

int finish(const SharedOptions& options, const Diagnostics& diagnostics) {
  DiagnosticStyle style;
  style.language = language_named(options.lang).value_or(language_of_environment());
  if (options.ascii) style.language = Language::en;
  style.is_quiet = options.is_quiet;
  style.is_ascii = options.ascii;
  if (options.color == "always") style.color = ColorChoice::always;
  if (options.color == "never") style.color = ColorChoice::never;
  print_diagnostics(diagnostics, style);
  return diagnostics.has_errors() ? 2 : 0;
}

}  // namespace qkv

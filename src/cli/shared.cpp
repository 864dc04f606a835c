#include "cli/shared.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "base/ascii.h"
#include "base/suggest.h"
#include "cli/language.h"
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

// Endings of forms that nothing here writes: a file of such a name would be no such file.
constexpr std::array<std::string_view, 32> kForeignEndings{
    {".bmp", ".doc",  ".docx", ".eps", ".gif", ".gz",   ".ipynb", ".jpeg",        ".jpg",  ".m",   ".mat",
     ".npz", ".ods",  ".odt",  ".pdf", ".pkl", ".png",  ".pptx",  ".ps",          ".pt",   ".pth", ".py",
     ".rtf", ".tiff", ".tsv",  ".xls", ".xml", ".xlsx", ".yaml",  ".safetensors", ".webp", ".zip"}};

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

}  // namespace

std::string ending_of(const std::string& file) {
  const std::size_t folder = file.find_last_of('/');
  const std::size_t point = file.find_last_of('.');
  if (point == std::string::npos || (folder != std::string::npos && point < folder)) return "";
  std::string ending = file.substr(point);
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending == ".htm" ? ".html" : ending;
}

void refuse_foreign_ending(const std::string& output, const std::vector<std::string>& written,
                           Diagnostics& diagnostics) {
  const std::string ending = ending_of(output);
  const auto is_of_form = [&](const FormatName& form) {
    return form.format != Format::text && ending == form.extension;
  };
  if (std::none_of(kFormats.begin(), kFormats.end(), is_of_form) &&
      std::find(kForeignEndings.begin(), kForeignEndings.end(), ending) == kForeignEndings.end())
    return;
  std::string names;
  for (const std::string& name : written) names += (names.empty() ? "" : " | ") + name;
  diagnostics.error(output, say({"this command does not write {0}", "这个命令不能写 {0}"}, ending),
                    written.size() > 1 ? say({"it writes: {0}; --format text writes text under any name",
                                              "可写：{0}；--format text 可用任何文件名"},
                                             names)
                                       : say({"it writes text, to a name without that ending",
                                              "它只写文本，请换一个没有这个扩展名的文件名"}));
}

void bad_value(const std::string& option, const std::string& value, const std::vector<std::string>& allowed,
               Diagnostics& diagnostics) {
  diagnostics.error("", say({"{0}: unknown value '{1}'", "{0}：无法识别的值“{1}”"}, option, value),
                    did_you_mean_or_one_of(value, allowed));
}

namespace {

constexpr Text kMatrices{"Matrices", "矩阵"};
constexpr Text kSettings{"Settings, as in the file", "设置（与文件中的同名）"};

bool is_yes_or_no(const Key& key) { return key.values == std::string_view("no | yes"); }

}  // namespace

void add_problem_options(const OptionTaker& app, SharedOptions& options, Language language) {
  add_option(app, "FILE", options.file,
             Text{"problem file; - is standard input", "题目文件；- 表示标准输入"}.in(language))
      .type("");
  for (const MatrixOption& m : kMatrixOptions) {
    if (!app.may_name(m.option)) continue;
    add_option(
        app, m.option, [&options, &m](const std::string& file) { options.matrix_files[m.section] = file; },
        say({"matrix file for [{0}]", "[{0}] 的矩阵文件"}, m.section).in(language).c_str())
        .type("FILE")
        .group(kMatrices.in(language));
  }
  add_option(app, "--weights", options.weights,
             Text{"the projections and biases of one layer, from a model's file of tensors",
                  "从模型的张量文件里取一层的投影矩阵和偏置"}
                 .in(language))
      .type("FILE.safetensors")
      .group(kMatrices.in(language));
  add_option(app, "--checkpoint", options.checkpoint,
             Text{"how it names them: q_proj.weight …, in_proj.weight or c_attn.weight, or as "
                  "torch.nn.MultiheadAttention; told by the names when left out",
                  "张量的命名方式：q_proj.weight 等、in_proj.weight 或 c_attn.weight，或 "
                  "torch.nn.MultiheadAttention 的写法；不写则由名称判断"}
                 .in(language))
      .one_of(kCheckpoints)
      .group(kMatrices.in(language));
  add_option(
      app, "--layer", options.layer,
      Text{"which layer of it: a number, or how the names begin", "取其中哪一层：编号，或名称的开头"}.in(
          language))
      .type("N")
      .group(kMatrices.in(language));
  for (const Key& key : keys()) {
    if (!key.as_option) continue;
    const std::string_view name = key.name;
    const std::string flags = name == "decimals" ? "-p," + option_of(key) : option_of(key);
    if (!app.may_name(flags)) continue;
    if (is_yes_or_no(key)) {
      // --gradient is `gradient = yes`; --gradient=no takes back what the file says.
      add_yes_or_no(
          app, flags.c_str(),
          [&options, name](bool is_yes) { options.settings[std::string(name)] = is_yes ? "yes" : "no"; },
          key.meaning.in(language))
          .group(kSettings.in(language));
      continue;
    }
    add_option(
        app, flags.c_str(),
        [&options, name, flags](const std::string& value) {
          if (value.starts_with("--")) value_is_missing(flags.c_str());
          options.settings[std::string(name)] = value;
        },
        key.meaning.in(language))
        .type(allowed_values(key).in(language).c_str())
        .last_counts()
        .group(kSettings.in(language));
  }
}

void add_asking_options(const OptionTaker& app, SharedOptions& options, Language language) {
  add_option(app, "--detail", options.detail,
             Text{"how much is shown: the result, the main steps, every cell's arithmetic, the softmax "
                  "line by line too",
                  "显示多少：只看结果 | 主要步骤 | 每个单元格的算式 | 再加上 softmax 的每一行"}
                 .in(language))
      .one_of(kDetails);
  add_option(app, "--steps", options.steps,
             Text{"only these steps, e.g. scores,weights", "只看这些步骤，例如 scores,weights"}.in(language))
      .type("LIST");
}

void add_arithmetic_options(const OptionTaker& app, SharedOptions& options, Language language) {
  add_flag(
      app, "--exact", options.exact,
      Text{"fractions, roots and powers of e beside the decimals", "在小数旁边写出分数、根式和 e 的幂"}.in(
          language));
  add_option(app, "--arithmetic", options.arithmetic,
             Text{"carry the steps out in this format and show where the digits leave the true ones",
                  "用这种浮点格式计算，并指出从哪里开始偏离真值"}
                 .in(language))
      .one_of(kFloatFormats);
}

void add_telling_options(const OptionTaker& app, SharedOptions& options, Language language) {
  add_asking_options(app, options, language);
  add_option(app, "--row", options.row,
             Text{"only this query: its label or number", "只看这个查询：标签或序号"}.in(language))
      .type("R");
  add_option(app, "--head", options.head,
             Text{"only this head, by its number, and what all heads share",
                  "只看这个头（按编号），以及所有头共有的步骤"}
                 .in(language))
      .type("H");
  add_flag(
      app, "--only-output", options.only_output,
      Text{"the result alone, or the tables of --steps", "只输出结果，或 --steps 选中的表"}.in(language));
  add_flag(app, "--checks", options.checks,
           Text{"what must hold, checked: row sums, hull, masked zeros, the shift by the maximum, gradients",
                "核对必然成立的性质：行和、凸包、被屏蔽的零、减去最大值、梯度"}
               .in(language));
  add_flag(
      app, "--prove", options.prove,
      Text{"run the way this is claimed to be equal to (cache = full causal pass, tiles = plain softmax, "
           "shared = repeated heads …) and show the largest difference",
           "再按声称与之相等的方式算一遍（缓存 = 完整因果，分块 = 普通 softmax，共用 = 复制……），给出最大差"}
          .in(language));
  add_arithmetic_options(app, options, language);
  // For timing the proof against the same trace without it.
  add_flag(app, "--plain-doubles", options.plain_doubles, "").group("");
}

void add_format_option(const OptionTaker& app, SharedOptions& options, Language language,
                       std::span<const Format> offered) {
  options.offered.assign(offered.begin(), offered.end());
  add_option(
      app, "-f,--format", options.format,
      Text{"form of the output; guessed from -o name.json", "输出格式；可由 -o 的扩展名推断"}.in(language))
      .one_of(offered_formats(options));
  if (!is_offered(options, Format::latex)) return;
  add_flag(app, "--standalone", options.is_standalone,
           Text{"LaTeX with its preamble, ready to compile", "带导言区、可直接编译的 LaTeX"}.in(language));
  add_option(app, "--latex-tables", options.latex_tables,
             Text{"tables with labels, or matrices in brackets", "LaTeX 的表：带标签的表格，或方括号矩阵"}.in(
                 language))
      .one_of(kLatexTables);
}

void add_speed_options(const OptionTaker& app, SharedOptions& options, Language language) {
  add_flag(
      app, "--fast", options.is_fast,
      Text{"with --only-output: in tiles, within a bound that is stated; with --arithmetic fp32 in single "
           "precision",
           "与 --only-output 合用：分块计算，误差界会写明；加 --arithmetic fp32 则用单精度"}
          .in(language));
  add_option(
      app, "--threads", options.threads,
      Text{"of a large problem; the digits do not depend on it; as many as the machine has when left out",
           "用于较大的题目；数字不因它而变；不写则与机器的处理器数相同"}
          .in(language))
      .type(kWholeNumber);
  add_option(app, "--isa", options.isa, "").group("");
}

const char* name_of(Format format) {
  return std::find_if(kFormats.begin(), kFormats.end(),
                      [&](const FormatName& f) { return f.format == format; })
      ->name;
}

int threads_of(const SharedOptions& options) {
  return options.threads.value_or(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

// A flag, so that --heat FILE does not take the file for its value.
void add_heat_option(const OptionTaker& app, SharedOptions& options, Language language) {
  const char* flags = "--heat{viridis}";
  if (!app.may_name(flags)) return;
  add_flag(app, flags, options.heat,
           say({"how large each number is: on a background of colour, without colours as a shade beside "
                "it; --heat={0}",
                "用底色显示每个数的大小；没有颜色时在旁边用浓淡表示；--heat={0}"},
               names_of(kColorMaps))
               .in(language)
               .c_str())
      .one_of(kColorMaps);
}

void add_output_options(const OptionTaker& app, SharedOptions& options, Language language) {
  add_option(
      app, "-o,--output",
      [&options](const std::string& file) {
        options.output = file;
        options.has_empty_output = file.empty();
      },
      Text{"write to this file, whole or not at all", "写入文件：要么完整写入，要么不动"}.in(language))
      .type("FILE");
  add_option(app, "--color", options.color, Text{"colour", "颜色"}.in(language))
      .type("auto | always | never");
  add_flag(app, "--ascii", options.ascii,
           Text{"nothing but ASCII in what qkv writes itself", "qkv 自己写的内容只用 ASCII"}.in(language));
  add_option(app, "--lang", options.lang, Text{"language", "语言"}.in(language)).type("auto | en | zh");
  add_flag(app, "-q,--quiet", options.is_quiet,
           Text{"no warnings, notes and progress", "不显示警告、说明和进度"}.in(language));
  add_flag(app, "-v,--verbose", options.is_verbose, Text{"say what was read", "说明读到了什么"}.in(language));
}

namespace {

// What the form that is written has no place for is said, not left out.
void refuse_idle_options(const SharedOptions& options, const Presentation& p, Diagnostics& diagnostics) {
  const std::string form = name_of(p.format);
  if (p.heat && p.format != Format::text && p.format != Format::svg) {
    diagnostics.error("",
                      say({"--heat goes with --format text or svg; this writes {0}",
                           "--heat 要与 --format text 或 svg 一起使用；这里写的是 {0}"},
                          form),
                      p.format == Format::html
                          ? say({"a page in html shows heat without it", "html 页面不用它也有热力色"})
                          : Said{});
  }
  if (p.format == Format::latex) return;
  for (const auto& [option, is_given] : {std::pair{"--standalone", options.is_standalone},
                                         {"--latex-tables", !options.latex_tables.empty()}}) {
    if (!is_given) continue;
    diagnostics.error("", say({"{0} goes with --format latex; this writes {1}",
                               "{0} 要与 --format latex 一起使用；这里写的是 {1}"},
                              option, form));
  }
}

}  // namespace

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
  if (options.has_empty_output) {
    diagnostics.error(
        "", say({"--output: the name of the file is empty", "--output：文件名是空的"}),
        say({"leave it out, or write -o -, for standard output", "要写到标准输出，请去掉它，或写 -o -"}));
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
  if (options.threads && *options.threads < 1) {
    diagnostics.error("", say({"--threads takes a whole number from 1 on, not {0}",
                               "--threads 应为不小于 1 的整数，而不是 {0}"},
                              *options.threads));
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
    const std::string ending = ending_of(options.output);
    const auto form = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const FormatName& f) { return ending == f.extension; });
    if (form != kFormats.end() && is_offered(options, form->format)) {
      p.format = form->format;
    } else {
      refuse_foreign_ending(options.output, names_in(offered), diagnostics);
    }
  }
  p.latex.is_standalone = options.is_standalone;
  if (!options.latex_tables.empty()) {
    const auto tables = row_named(kLatexTables, "--latex-tables", options.latex_tables, diagnostics);
    if (tables != kLatexTables.end()) p.latex.tables = tables->tables;
  }
  if (!diagnostics.has_errors()) refuse_idle_options(options, p, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return p;
}

namespace {

TextStyle text_style(const SharedOptions& options, const Presentation& presentation) {
  const bool goes_to_file = !options.output.empty() && options.output != "-";
  const ColorChoice color = goes_to_file ? ColorChoice::never : presentation.color;
  return {.color = wants_color(color, STDOUT_FILENO),
          .ascii = options.ascii,
          .heat = presentation.heat,
          .depth = color_depth(color, STDOUT_FILENO),
          .threads = options.threads};
}

}  // namespace

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
      return render_text(report, text_style(options, presentation));
  }
}

void write_text(const std::string& text, Format format, const SharedOptions& options,
                const std::vector<std::string>& inputs, Diagnostics& diagnostics) {
  const auto spelt = [&] {
    if (!options.ascii) return text;
    switch (format) {
      case Format::md:
        return signs_in_references(text);
      case Format::html:
      case Format::svg:
        return in_references(text);
      case Format::json:
        return json_in_ascii(text);
      default:
        return in_ascii(text);
    }
  };
  write_output(options.output, spelt(), inputs, diagnostics);
}

void write_report(const Report& report, const SharedOptions& options, const Presentation& presentation,
                  const std::vector<std::string>& inputs, Diagnostics& diagnostics) {
  if (presentation.format != Format::text)
    return write_text(render(report, options, presentation), presentation.format, options, inputs,
                      diagnostics);
  const TextStyle style = text_style(options, presentation);
  const auto produce = [&](const WritePiece& write) { render_text(report, style, write); };
  write_output(options.output, produce, inputs, diagnostics);
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

int leave(int status) {
#ifndef QKV_SANITIZE
  std::_Exit(status);
#endif
  return status;
}

}  // namespace qkv

// qkv diff A B: the first step and number in which two traces, sheets or matrices differ.

#include "check/difference.h"
#include "cli/shared.h"
#include "input/source.h"

namespace qkv {
namespace {

constexpr int kDiffers = 1;

struct DiffOptions : SharedOptions {
  std::string a;
  std::string b;
  std::optional<double> absolute;
  std::optional<double> relative;
};

int run_diff(const DiffOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  for (const auto& [name, value] :
       {std::pair{"--atol", options.absolute}, std::pair{"--rtol", options.relative}}) {
    if (value && !(*value >= 0))
      diagnostics.error("",
                        say({"{0} is a tolerance, and cannot be negative", "{0} 是容差，不能是负数"}, name));
  }
  if (options.a == "-" && options.b == "-")
    diagnostics.error("", say({"standard input (-) can be read only once", "标准输入（-）只能读一次"}));
  if (!presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  const SourcePtr first = read_source(options.a, diagnostics);
  const SourcePtr second = read_source(options.b, diagnostics);
  const auto a = first ? read_steps(first, diagnostics) : std::nullopt;
  const auto b = second ? read_steps(second, diagnostics) : std::nullopt;
  if (!a || !b) return finish(options, diagnostics);
  const SideBySide result = compare_steps(*a, *b, {options.absolute, options.relative});
  if (result.same.empty() && result.different.empty() && result.other_shape.empty()) {
    diagnostics.error("",
                      result.blank.empty()
                          ? say({"the two have no step in common", "两者没有共同的步骤"})
                          : say({"there is nothing to compare: wherever one has a number, the other is blank",
                                 "没有可以比较的数：一份填了数的地方，另一份都没有填"}));
    return finish(options, diagnostics);
  }
  const std::vector<std::string> inputs{options.a, options.b};
  if (presentation->format == Format::json) {
    write_text(as_json(result), Format::json, options, inputs, diagnostics);
  } else {
    write_report(told(result, options.a, options.b, presentation->language), options, *presentation, inputs,
                 diagnostics);
  }
  const int status = finish(options, diagnostics);
  return status != 0 || result.is_equal() ? status : kDiffers;
}

}  // namespace

Command setup_diff(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(app, "diff",
                                          Text{"two traces, sheets or matrices: the first step that differs",
                                               "比较两份轨迹、答卷或矩阵：最先不同的一步"}
                                              .in(language));
  const auto options = std::make_shared<DiffOptions>();
  const Text kind{
      "a trace (text, JSON, CSV or Markdown), a sheet of answers or a matrix (text, .npy, JSON lists); - is "
      "standard input",
      "轨迹（文本、JSON、CSV 或 Markdown）、答卷或矩阵（文本、.npy、JSON 列表）；- 表示标准输入"};
  add_option(command, "A", options->a, kind.in(language)).type("").required();
  add_option(command, "B", options->b, kind.in(language)).type("").required();
  add_option(command, "--atol", options->absolute,
             Text{"absolute tolerance, in place of half a unit of the last digit written; in an .npy file "
                  "the last digit is the 12th of its largest number (f4: 6th, f2: 3rd)",
                  "绝对容差，代替“末位的半个单位”；.npy 文件以最大数的第 12 位为末位（f4 第 6 位，f2 第 3 "
                  "位）"}
                 .in(language))
      .type("X");
  add_option(command, "--rtol", options->relative, Text{"relative tolerance", "相对容差"}.in(language))
      .type("X");
  add_format_option(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_diff(*options); }};
}

}  // namespace qkv

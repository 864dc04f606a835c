// qkv softmax "8 16 24": a quick look at the softmax of one row, in its five lines; or in one line each for
// several scales, temperatures or lengths of the row.

#include <algorithm>

#include "cli/counts.h"
#include "cli/shared.h"
#include "input/source.h"
#include "methods/entropy.h"
#include "methods/methods.h"
#include "report/sweep.h"

namespace qkv {
namespace {

constexpr long long kMostRepeats = 10'000;

struct SoftmaxOptions : SharedOptions {
  std::vector<std::string> numbers;
  std::string decimals;
  // One value, or several with commas between.
  std::string temperature;
  std::string scale;
  std::string repeat;
};

// "1,2, 4"
std::vector<std::string> values_in(const std::string& list) {
  std::vector<std::string> values(1);
  for (const char c : list) {
    if (c == ',') {
      values.emplace_back();
    } else if (c != ' ') {
      values.back() += c;
    }
  }
  return values;
}

// One row of scores, and what is done to it before the softmax.
struct Row {
  std::string numbers;
  std::string decimals;
  std::string scale;
  std::string temperature;
  long long copies = 1;
};

struct RowTrace {
  Problem problem;
  Trace trace;
};

std::optional<RowTrace> trace_of(const Row& row, Diagnostics& diagnostics) {
  std::string text = row.numbers;
  for (long long copy = 1; copy < row.copies; ++copy) text += " " + row.numbers;
  ProblemInput input;
  const SourcePtr source = source_from_text("softmax", text, diagnostics);
  if (!source) return std::nullopt;
  input.matrices.emplace_back("scores", source);
  input.settings = {{"scale", row.scale.empty() ? "none" : row.scale}};
  if (!row.decimals.empty()) input.settings.emplace_back("decimals", row.decimals);
  if (!row.temperature.empty()) input.settings.emplace_back("temperature", row.temperature);
  auto problem = read_problem(input, diagnostics);
  if (!problem) return std::nullopt;
  if (problem->tokens.size() > 1) {
    diagnostics.error("",
                      say({"one row at a time, but {0} were given", "一次只算一行，而这里给了 {0} 行"},
                          problem->tokens.size()),
                      say({"several rows belong in a file: [scores] with scale = none",
                           "多行请写进文件：[scores]，并设 scale = none"}));
    return std::nullopt;
  }
  Trace trace = run(with_entropies(plan_of(*problem)), {});
  return RowTrace{std::move(*problem), std::move(trace)};
}

// The option that has a list, and the rows that it makes of one.
struct Sweep {
  const char* name;
  std::vector<std::string> values;
};

std::optional<Sweep> sweep_of(const SoftmaxOptions& options, Diagnostics& diagnostics) {
  std::optional<Sweep> sweep;
  for (const auto& [name, list] :
       {std::pair{"scale", &options.scale}, std::pair{"temperature", &options.temperature},
        std::pair{"repeat", &options.repeat}}) {
    const bool is_list = list->find(',') != std::string::npos;
    // A long row of equal copies says nothing in five lines.
    const bool is_told_in_a_table = is_list || (name == std::string_view("repeat") && !list->empty());
    if (!is_told_in_a_table) continue;
    if (sweep) {
      diagnostics.error(
          "",
          say({"one list at a time: --{0} has one already, and --{1} has one",
               "一次只能有一个列表：--{0} 和 --{1} 都给了列表"},
              sweep->name, name),
          say({"give --{0} or --{1} a single value", "请让 --{0} 或 --{1} 只取一个值"}, sweep->name, name));
      return std::nullopt;
    }
    sweep = Sweep{name, values_in(*list)};
  }
  return sweep;
}

// The row as one value of the sweep has it.
Row changed(Row row, const std::string& name, const std::string& value, Diagnostics& diagnostics) {
  if (value.empty()) {
    diagnostics.error(
        "", say({"--{0}: a value is missing between the commas", "--{0}：逗号之间缺少一个值"}, name));
  } else if (name == "scale") {
    row.scale = value;
  } else if (name == "temperature") {
    row.temperature = value;
  } else {
    row.copies = count_of("--repeat", value, diagnostics, 1, kMostRepeats).value_or(1);
  }
  return row;
}

void tell_sweep(const Sweep& sweep, const Row& row, const SoftmaxOptions& options,
                const Presentation& presentation, Diagnostics& diagnostics) {
  std::vector<SweepLine> lines;
  std::vector<std::string> scores;
  Telling telling{.language = presentation.language};
  for (const std::string& value : sweep.values) {
    const Row this_row = changed(row, sweep.name, value, diagnostics);
    if (diagnostics.has_errors()) return;
    auto traced = trace_of(this_row, diagnostics);
    if (!traced) return;
    telling.decimals = traced->problem.decimals;
    if (scores.empty()) {
      const std::vector<Number>& cells = traced->problem["scores"].cells;
      const std::size_t count = cells.size() / static_cast<std::size_t>(this_row.copies);
      for (std::size_t j = 0; j < count; ++j) scores.push_back(cells[j].text);
    }
    lines.push_back({fmt::format("{} = {}", sweep.name, value), std::move(traced->trace)});
  }
  write_report(softmax_sweep(lines, scores, telling), options, presentation, {}, diagnostics);
}

// Without the space that keeps "-1" from being taken for an option (main.cpp).
SoftmaxOptions without_guards(SoftmaxOptions options) {
  const auto strip = [](std::string& word) { word.erase(0, word.find_first_not_of(' ')); };
  std::for_each(options.numbers.begin(), options.numbers.end(), strip);
  for (std::string* value : {&options.decimals, &options.temperature, &options.scale, &options.repeat})
    strip(*value);
  return options;
}

int run_softmax(const SoftmaxOptions& given) {
  const SoftmaxOptions options = without_guards(given);
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  if (!presentation) return finish(options, diagnostics);

  Row row{.numbers = "", .decimals = options.decimals, .scale = "", .temperature = ""};
  for (const std::string& part : options.numbers) row.numbers += (row.numbers.empty() ? "" : " ") + part;
  if (row.numbers.find_first_not_of(' ') == std::string::npos) {
    diagnostics.error("", say({"no numbers were given", "没有给出数字"}));
    return finish(options, diagnostics);
  }
  const auto sweep = sweep_of(options, diagnostics);
  if (diagnostics.has_errors()) return finish(options, diagnostics);
  const auto is_swept = [&](std::string_view name) { return sweep && sweep->name == name; };
  if (!is_swept("scale")) row.scale = options.scale;
  if (!is_swept("temperature")) row.temperature = options.temperature;
  if (sweep) {
    tell_sweep(*sweep, row, options, *presentation, diagnostics);
    return finish(options, diagnostics);
  }
  const auto traced = trace_of(row, diagnostics);
  if (!traced) return finish(options, diagnostics);
  const Telling telling{.decimals = traced->problem.decimals, .language = presentation->language};
  write_report(softmax_lines(traced->trace, telling), options, *presentation, {}, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_softmax(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "softmax",
      Text{"the softmax of a row of numbers, line by line", "逐行显示一行数字的 softmax"}.in(language));
  const auto options = std::make_shared<SoftmaxOptions>();
  add_option(command, "NUMBERS", options->numbers,
             Text{"the scores, e.g. \"8 16 24\"", "分数，例如 \"8 16 24\""}.in(language))
      .type("")
      .required();
  add_option(command, "-p,--decimals", options->decimals,
             Text{"digits after the point", "小数位数"}.in(language))
      .type(kWholeNumber);
  add_option(command, "--temperature", options->temperature,
             Text{"divides the scores first; several, 0.5,1,2, make a table with the entropy of each row",
                  "先把分数除以温度；给出几个值（0.5,1,2）就列成表，并给出每行的熵"}
                 .in(language))
      .type("T[,T...]");
  add_option(command, "--scale", options->scale,
             Text{"multiplies the scores first; several, 1,2,4, make a table",
                  "先把分数乘以这个数；几个值（1,2,4）列成表"}
                 .in(language))
      .type("S[,S...]");
  add_option(command, "--repeat", options->repeat,
             Text{"a longer context: the row so many times over; several, 1,10,100, make a table",
                  "更长的上下文：把这一行重复这么多遍；几个值（1,10,100）列成表"}
                 .in(language))
      .type("N[,N...]");
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_softmax(*options); }};
}

}  // namespace qkv

// qkv cost: multiply-adds and bytes of every step, of a problem file or of sizes alone.

#include "calc/cost.h"

#include "base/counted.h"
#include "cli/counts.h"
#include "cli/worked.h"
#include "problem/keys.h"

namespace qkv {
namespace {

struct CostOptions : SharedOptions {
  std::string n;
  std::string d;
  std::string window;
  std::string bytes = "2";

  // The settings that sizes alone have, too, are the options of the problem file.
  std::string setting(const char* name) const {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : found->second;
  }
};

// "64x128"
void read_tile(const std::string& text, TileShape& tile, Diagnostics& diagnostics) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) {
    diagnostics.error(
        "", say({"--tile takes rows and columns, not '{0}'", "--tile 应为行数和列数，而不是“{0}”"}, text),
        say({"for example: --tile 64x64", "例如：--tile 64x64"}));
    return;
  }
  tile.rows = count_of("--tile", text.substr(0, cross), diagnostics).value_or(1);
  tile.cols = count_of("--tile", text.substr(cross + 1), diagnostics).value_or(1);
}

void read_mask(const CostOptions& options, CostQuestion& q, Diagnostics& diagnostics) {
  const std::string mask = options.setting("mask");
  constexpr std::string_view kWindow = "window:";
  std::string window = options.window;
  if (mask == "causal") {
    q.is_causal = true;
  } else if (mask.starts_with(kWindow)) {
    window = mask.substr(kWindow.size());
  } else if (!mask.empty() && mask != "none") {
    bad_value("--mask", mask, {"none", "causal", "window:w"}, diagnostics);
  }
  const bool is_other_window =
      mask.starts_with(kWindow) && !options.window.empty() && window != options.window;
  if (!options.window.empty() && (mask == "none" || is_other_window)) {
    diagnostics.error(
        "", say({"--window {0} and --mask {1} exclude each other", "--window {0} 与 --mask {1} 不能同时使用"},
                options.window, mask));
  }
  if (!window.empty()) q.window = count_of("--window", window, diagnostics);
}

void refuse_other_settings(const CostOptions& options, Diagnostics& diagnostics) {
  for (const auto& [name, value] : options.settings) {
    if (name == "heads" || name == "kv_heads" || name == "layers" || name == "mask" || name == "tile")
      continue;
    diagnostics.error(
        "",
        say({"--n counts from sizes alone: {0} says nothing about them", "--n 只按大小来数：{0} 与大小无关"},
            option_of(*find_key(name))),
        say({"sizes are --n --d --heads --kv-heads --layers --window --mask --tile --bytes",
             "大小有 --n --d --heads --kv-heads --layers --window --mask --tile --bytes"}));
  }
}

std::optional<Cost> cost_of_sizes(const CostOptions& options, long long bits, Diagnostics& diagnostics) {
  if (!options.file.empty() || !options.matrix_files.empty())
    diagnostics.error("", say({"--n and a problem exclude each other", "--n 与题目文件不能同时使用"}));
  refuse_other_settings(options, diagnostics);
  CostQuestion q;
  q.bits = bits;
  const auto read = [&](const char* option, const std::string& text, long long& into) {
    if (!text.empty()) into = count_of(option, text, diagnostics).value_or(1);
  };
  read("--n", options.n, q.n);
  if (options.d.empty())
    diagnostics.error("", say({"--d is missing: the width of the model", "缺少 --d：模型的宽度"}));
  read("--d", options.d, q.d);
  read("--heads", options.setting("heads"), q.heads);
  q.kv_heads = q.heads;
  read("--kv-heads", options.setting("kv_heads"), q.kv_heads);
  read("--layers", options.setting("layers"), q.layers);
  read_mask(options, q, diagnostics);
  if (const std::string tile = options.setting("tile"); !tile.empty()) read_tile(tile, q.tile, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (q.d % q.heads != 0)
    diagnostics.error("",
                      say({"a width of {0} cannot be shared evenly by {1}", "宽度 {0} 无法平分给 {1} 个头"},
                          q.d, counted(q.heads, "head")),
                      say({"--heads divides --d", "--heads 必须整除 --d"}));
  if (q.heads % q.kv_heads != 0)
    diagnostics.error("",
                      say({"{0} cannot share {1} evenly", "{0} 个头无法平分 {1} 个 KV 头"},
                          counted(q.heads, "head"), counted(q.kv_heads, "KV head")),
                      say({"--kv-heads divides --heads", "--kv-heads 必须整除 --heads"}));
  if (diagnostics.has_errors()) return std::nullopt;
  return cost_of(q);
}

std::optional<Cost> cost_of_problem(const CostOptions& options, const Presentation& presentation,
                                    long long bits, std::vector<std::string>& files,
                                    Diagnostics& diagnostics) {
  for (const auto& [option, value] : {std::pair{"--d", options.d}, std::pair{"--window", options.window}}) {
    if (value.empty()) continue;
    diagnostics.error("", say({"{0} belongs to --n, which is missing", "{0} 要与 --n 一起用"}, option),
                      say({"qkv cost FILE takes sizes from the file, and a window as --mask window:w",
                           "qkv cost FILE 的大小来自文件，窗口写作 --mask window:w"}));
  }
  if (options.file.empty() && options.matrix_files.empty()) {
    diagnostics.error("", say({"neither a problem file nor --n was given", "既没有题目文件，也没有 --n"}),
                      say({"try: qkv cost FILE, or qkv cost --n 32768 --d 4096 --heads 32 --layers 32",
                           "用法：qkv cost FILE，或 qkv cost --n 32768 --d 4096 --heads 32 --layers 32"}));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  const auto worked = work_out(options, presentation, diagnostics);
  if (!worked) return std::nullopt;
  files = worked->input_files;
  TileShape tile;
  if (worked->problem.tile) tile = {worked->problem.tile->rows, worked->problem.tile->cols};
  return cost_of(worked->trace.plan(), bits, tile);
}

int run_cost(const CostOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const auto bits = bits_of_bytes("--bytes", options.bytes, diagnostics);
  if (!presentation || !bits) return finish(options, diagnostics);
  std::vector<std::string> files;
  const auto cost = options.n.empty() ? cost_of_problem(options, *presentation, *bits, files, diagnostics)
                                      : cost_of_sizes(options, *bits, diagnostics);
  if (!cost || !is_countable(total_multiply_adds(*cost), diagnostics) ||
      !is_countable(total_bytes(*cost), diagnostics))
    return finish(options, diagnostics);
  if (presentation->format == Format::json) {
    write_text(as_json(*cost), Format::json, options, files, diagnostics);
  } else {
    write_report(told(*cost, presentation->language), options, *presentation, files, diagnostics);
  }
  return finish(options, diagnostics);
}

}  // namespace

Command setup_cost(const OptionTaker& app, Language language) {
  const OptionTaker command =
      add_command(app, "cost",
                  Text{"multiply-adds and bytes of every step, of a file or of sizes alone (--n --d)",
                       "每一步的乘加次数和字节数：题目文件，或只给大小（--n --d）"}
                      .in(language));
  const auto options = std::make_shared<CostOptions>();
  add_problem_options(command, *options, language);
  const auto add = [&](const char* name, std::string& value, const Text& meaning) {
    add_option(command, name, value, meaning.in(language)).type("N");
  };
  add("--n", options->n,
      {"without a file: how many tokens; with --d --heads --kv-heads --layers --window --mask --tile",
       "不用文件：token 数；可配合 --d --heads --kv-heads --layers --window --mask --tile"});
  add("--d", options->d,
      {"with --n: the width of the model, all heads together", "配合 --n：模型的宽度（所有头合计）"});
  add("--window", options->window,
      {"with --n: each query sees the latest N keys, itself counted",
       "配合 --n：每个查询只看最近 N 个键（含自己）"});
  add("--bytes", options->bytes,
      {"bytes a number: 2 (fp16, bf16) when left out; 4, 1, 0.5",
       "每个数的字节数，默认 2（fp16、bf16）；4、1、0.5"});
  add_format_option(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_cost(*options); }};
}

}  // namespace qkv

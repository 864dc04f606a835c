// qkv variance: the dot-product experiment behind √d_k.

#include "calc/variance.h"

#include "cli/counts.h"
#include "cli/shared.h"

namespace qkv {
namespace {

constexpr long long kMostDim = 1'000'000;
constexpr long long kMostPairs = 10'000'000;
constexpr long long kMostProducts = 200'000'000;  // some seconds

struct VarianceOptions : SharedOptions {
  std::string dim = "64";
  std::string pairs = "100000";
  std::string seed = "1";
};

int run_variance(const VarianceOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const auto dim = count_of("--dim", options.dim, diagnostics, 1, kMostDim);
  const auto pairs = count_of("--pairs", options.pairs, diagnostics, 2, kMostPairs);
  const auto seed = count_of("--seed", options.seed, diagnostics, 0);
  if (dim && pairs && *dim * *pairs > kMostProducts) {
    diagnostics.error("",
                      say({"{0} pairs of {1} numbers would take long: {2} products at most",
                           "{0} 对、每个 {1} 维要算很久：最多 {2} 个乘积"},
                          *pairs, *dim, kMostProducts),
                      say({"take fewer pairs", "请减少 --pairs"}));
  }
  if (!presentation || diagnostics.has_errors()) return finish(options, diagnostics);
  const VarianceResult result =
      run_experiment({.dim = *dim, .pairs = *pairs, .seed = static_cast<std::uint64_t>(*seed)});
  if (presentation->format == Format::json) {
    write_text(as_json(result), Format::json, options, {}, diagnostics);
  } else {
    write_report(told(result, presentation->language), options, *presentation, {}, diagnostics);
  }
  return finish(options, diagnostics);
}

}  // namespace

Command setup_variance(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(
      app, "variance",
      Text{"an experiment: why the scores are divided by √d_k", "做个实验：分数为什么要除以 √d_k"}.in(
          language));
  const auto options = std::make_shared<VarianceOptions>();
  const auto add = [&](const char* name, std::string& value, const Text& meaning) {
    add_option(command, name, value, meaning.in(language)).type("N");
  };
  add("--dim", options->dim, {"numbers of a vector, d_k; 64 when left out", "向量的维数 d_k，默认 64"});
  add("--pairs", options->pairs, {"dot products; 100000 when left out", "点积的次数，默认 100000"});
  add("--seed", options->seed,
      {"another seed, other numbers; the same on every machine",
       "换一个种子就换一批数；同一种子在任何机器上都相同"});
  add_format_option(command, *options, language);
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_variance(*options); }};
}

}  // namespace qkv

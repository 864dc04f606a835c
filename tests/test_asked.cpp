// A small problem is computed as far as somebody asks.  What he sees is what the same problem shows whose
// every number was enclosed before: for every example, in every form.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "input/source.h"
#include "methods/methods.h"
#include "render/csv.h"
#include "render/html.h"
#include "render/json.h"
#include "render/latex.h"
#include "render/markdown.h"
#include "render/svg.h"
#include "render/text.h"
#include "support.h"

namespace qkv::test {
namespace {

struct Planned {
  Plan plan;
  std::vector<Printed> printed;
  int decimals;
};

Planned planned(const std::string& name) {
  Diagnostics diagnostics;
  ProblemInput input;
  input.file = read_source(name, diagnostics);
  auto read = read_and_plan(input, diagnostics);
  REQUIRE(read);
  std::vector<Printed> printed;
  for (const Expectation& e : read->problem.expected)
    printed.push_back({e.step, e.printed.shape(), e.printed.cells});
  return {std::move(read->plan), std::move(printed), read->problem.decimals};
}

std::string everything(const Trace& trace, const std::vector<Printed>& printed, const Telling& telling) {
  const std::vector<Comparison> comparisons = compare(trace, printed);
  Telling without_colours = telling;
  without_colours.colours = false;
  const Report report = narrate(trace, {}, comparisons, without_colours);
  const Report coloured = narrate(trace, {}, comparisons, telling);
  std::string all = render_text(report, {}) + render_markdown(report) + render_latex(report, {}) +
                    render_csv(report) + render_json(trace, {}, comparisons, telling) +
                    render_html(trace, {}, comparisons, telling) + render_svg(coloured, ColorMap::viridis) +
                    render_text(coloured, {.heat = ColorMap::viridis});
  for (const Said& warning : trace.warnings()) all += warning.en;
  return all;
}

}  // namespace

TEST_CASE("every example shows in every form what it shows with every number enclosed before") {
  int examples = 0;
  // Where every operation is watched, a fifth of them.
  const int step = std::getenv("QKV_SHEETS") != nullptr ? 5 : 1;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(QKV_SOURCE_DIR "/examples")) {
    if (count++ % step != 0) continue;
    if (entry.path().extension() != ".qkv") continue;
    const std::string name = entry.path().string();
    INFO(name);
    const Planned problem = planned(name);
    const std::vector<Telling> tellings{{.decimals = problem.decimals},
                                        {.detail = Detail::full, .decimals = 0},
                                        {.decimals = 17},
                                        {.decimals = 1, .exact = true, .checks = true}};
    for (const Telling& telling : tellings) {
      INFO("decimals ", telling.decimals);
      // Each of its own: what one telling asked for is known to the next.
      const Trace asked = run(problem.plan, {});
      const Trace at_once = run(problem.plan, {.at_once = true});
      CHECK(everything(asked, problem.printed, telling) == everything(at_once, problem.printed, telling));
    }
    ++examples;
  }
  CHECK(examples > 40 / step);
}

}  // namespace qkv::test

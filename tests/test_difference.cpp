// The first difference between two sets of steps.
//
// The long test holds the trace of the right calculation beside sheets of pupils who make one known
// mistake somewhere and work on correctly: the first difference has to be the mistake, wherever it is made.
//
// QKV_SHEETS sets the number of exercises, for runs longer than the usual few seconds.

#include "check/difference.h"
#include "pupils.h"
#include "reading.h"
#include "render/json.h"
#include "render/text.h"
#include "report/narrate.h"

namespace qkv::test {
namespace {

std::vector<ShownStep> steps_in(const std::string& text) {
  Diagnostics diagnostics;
  const auto steps = read_steps(source("steps", text), diagnostics);
  INFO(text);
  CHECK(render_diagnostics(diagnostics, Language::en, false) == "");
  REQUIRE(steps.has_value());
  return *steps;
}

SideBySide side_by_side(const std::string& a, const std::string& b) {
  return compare_steps(steps_in(a), steps_in(b), {});
}

std::vector<std::string> before(const std::vector<std::string>& names, const std::string& name) {
  return {names.begin(), std::find(names.begin(), names.end(), name)};
}

// "weights | a b | p: 0.40 0.60 (1.00)"
std::string shown(const std::vector<ShownStep>& steps) {
  std::string text;
  for (const ShownStep& step : steps) {
    text += step.id + " |";
    for (const std::string& col : step.cols) text += " " + col;
    for (std::size_t i = 0; i < step.cells.size(); ++i) {
      text += " | " + step.rows[i] + ":";
      for (const ShownNumber& number : step.cells[i]) text += " " + number.text;
      if (i < step.sums.size()) text += " (" + step.sums[i].text + ")";
    }
    text += "\n";
  }
  return text;
}

TEST_CASE("the first difference from a spoiled sheet is the step where the mistake was made") {
  QKV_SAY_SEED();
  Random random(96);
  const std::vector<Slip> all = slips();
  constexpr int kDecimals = 3;
  const double unit = std::pow(10.0, -kDecimals);
  int made = 0;
  int found = 0;
  std::map<std::string, int> by_step;
  std::string examples;
  for (Index run = 0; run < sheets(200); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const Telling telling{.decimals = kDecimals};
    const std::vector<ShownStep> in_json = steps_in(render_json(truth, {}, {}, telling));
    const std::vector<ShownStep> in_text = steps_in(render_text(narrate(truth, {}, {}, telling), {}));
    const Work right = right_work(e);
    std::vector<std::string> order;  // of the steps on a sheet
    for (const Node& node : truth.plan().nodes) {
      if (right.contains(node.id)) order.push_back(node.id);
    }
    for (const Slip& slip : all) {
      const auto work = spoiled_work(e, slip, right, unit);
      if (!work) continue;
      const std::string file = text_of(truth.plan(), sheet(truth.plan(), *work, kDecimals));
      const std::vector<ShownStep> written = steps_in(file);
      for (const std::vector<ShownStep>& trace : {in_json, in_text}) {
        ++made;
        ++by_step[slip.step];
        const SideBySide result = compare_steps(trace, written, {});
        const bool is_at_step = !result.different.empty() && result.different.front().id == slip.step;
        const std::vector<std::string> same = before(order, slip.step);
        const bool is_same_before =
            result.same.size() >= same.size() && std::equal(same.begin(), same.end(), result.same.begin());
        if (is_at_step && is_same_before) {
          ++found;
        } else if (made - found <= 5) {
          examples += fmt::format("{} in {}, found in {}\n", slip.id, slip.step,
                                  result.different.empty() ? "none" : result.different.front().id) +
                      text_of(e) + file;
        }
      }
    }
  }
  std::string table = fmt::format("{} of {} found; made in", found, made);
  for (const auto& [step, count] : by_step) table += fmt::format(" {}: {}", step, count);
  if (std::getenv("QKV_SHEETS") != nullptr) MESSAGE(table);
  INFO(table, "\n", examples);
  CHECK(by_step.size() >= 4);
  CHECK(found == made);
}

TEST_CASE("a right sheet differs from the trace in nothing") {
  QKV_SAY_SEED();
  Random random(97);
  for (Index run = 0; run < sheets(100); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const int decimals = static_cast<int>(random.whole(1, 6));
    const std::string file = text_of(truth.plan(), sheet(truth.plan(), right_work(e), decimals));
    const SideBySide result = side_by_side(render_json(truth, {}, {}, {.decimals = decimals}), file);
    INFO(text_of(e), file);
    CHECK(result.is_equal());
    CHECK(result.different.empty());
    CHECK(result.only_b.empty());
  }
}

const std::string kWeights =
    "    weights (2×2) = softmax(scaled (2×2))\n"
    "\n"
    "          a     b   sum\n"
    "    p  0.40  0.60  1.00\n"
    "    q  0.50  0.50  1.00\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("a printed row sum is compared like any number, where both print one") {
  const SideBySide result = side_by_side(kWeights, with(kWeights, "0.60  1.00", "0.60  1.01"));
  REQUIRE(result.different.size() == 1);
  const StepDifference& d = result.different.front();
  CHECK(d.cell == "weights[p,sum]");
  CHECK(d.a.text == "1.00");
  CHECK(d.b.text == "1.01");
  CHECK(d.differing == 1);
  CHECK(d.compared == 6);
  CHECK(side_by_side(kWeights, "[weights]\n0.40 0.60\n0.50 0.50\n").is_equal());
}

TEST_CASE("a key that is called sum is no row sum") {
  const std::string scores =
      "    scores (1×2)\n"
      "\n"
      "          a   sum\n"
      "    p  0.40  0.60\n";
  CHECK(side_by_side(scores, with(scores, "0.60", "0.70")).different.front().cell == "scores[p,sum]");
  CHECK(steps_in(scores).front().cols == std::vector<std::string>{"a", "sum"});
}

TEST_CASE("labels with spaces in them are labels, of rows and of columns") {
  const std::string weights =
      "    weights (2×2)\n"
      "\n"
      "              New York    Rome     sum\n"
      "    New York    0.6213  0.3787  1.0000\n"
      "    Rome        0.4000  0.6000  1.0000\n";
  CHECK(shown(steps_in(weights)) ==
        "weights | New York Rome | New York: 0.6213 0.3787 (1.0000) | Rome: 0.4000 0.6000 (1.0000)\n");
}

TEST_CASE(
    "a matrix without a name is held against the step that it equals, else against the last of its shape") {
  const std::string heads = "[h1.weights]\n0.25 0.75\n[h2.weights]\n0.5 0.5\n";
  CHECK(side_by_side("0.25 0.75\n", heads).same == std::vector<std::string>{"h1.weights"});
  CHECK(side_by_side("0.25 0.74\n", heads).different.front().id == "h2.weights");
}

TEST_CASE("a problem holds no steps to compare; a sheet with a setting too many does") {
  Diagnostics diagnostics;
  CHECK_FALSE(read_steps(source("p.qkv", "mask = causal\nK = Q\n[Q]\n1\n[V]\n2\n"), diagnostics));
  CHECK(render_diagnostics(diagnostics, Language::en, false) ==
        "p.qkv: error: this is a problem, whose steps are still to be worked out\n"
        "     = hint: give what `qkv trace p.qkv -f json` prints\n");
  Diagnostics of_sheet;
  CHECK(read_steps(source("a.qkv", "mask = causal\n[weights]\n1\n"), of_sheet));
}

TEST_CASE("a trace in heat is read like the same trace without, in every depth of colour") {
  QKV_SAY_SEED();
  Random random(98);
  for (Index run = 0; run < sheets(20); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const bool only_output = run % 3 == 0;
    const Report report =
        narrate(truth, {}, {}, {.detail = Detail::full, .decimals = 2, .only_output = only_output});
    for (const bool ascii : {false, true}) {
      const std::vector<ShownStep> plain = steps_in(render_text(report, {.ascii = ascii}));
      for (const ColorDepth depth : {ColorDepth::none, ColorDepth::palette, ColorDepth::full}) {
        const bool is_colored = depth != ColorDepth::none;
        const std::vector<ShownStep> hot = steps_in(render_text(
            report, {.color = is_colored, .ascii = ascii, .heat = ColorMap::viridis, .depth = depth}));
        CAPTURE(text_of(e));
        CHECK(shown(hot) == shown(plain));
      }
    }
  }
}

TEST_CASE("without a legend nothing is a shade") {
  const std::string table =
      "    scores (1×2)\n"
      "\n"
      "              a     b\n"
      "    1 ++   0.40  0.60\n";
  CHECK(steps_in(table).front().rows == std::vector<std::string>{"1 ++"});
}

TEST_CASE("what is blank on one side is not the same as anything") {
  const std::string sheet = "[scores]\n1 2\n[weights]\n0.3 0.7\n";
  const SideBySide result = side_by_side(sheet, "[scores]\n1 _\n[weights]\n_ _\n");
  CHECK(result.same == std::vector<std::string>{"scores"});
  CHECK(result.blank == std::vector<std::string>{"weights"});
  CHECK(result.is_equal());
  const SideBySide nothing = side_by_side(sheet, "[scores]\n_ _\n[weights]\n_ _\n");
  CHECK(nothing.same.empty());
  CHECK(!nothing.is_equal());
}

}  // namespace
}  // namespace qkv::test

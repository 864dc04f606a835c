// Exercises: the same seed, the same problem; and whatever mistake is made in one, its name comes first.

#include "check/exercise.h"
#include "check/judge.h"
#include "check/mistakes.h"
#include "input/source.h"
#include "problem/read_problem.h"
#include "support.h"

namespace qkv::test {
namespace {

Trace trace_of(const std::string& text) {
  Diagnostics diagnostics;
  ProblemInput input;
  input.file = source_from_text("exercise", text, diagnostics);
  const auto problem = read_problem(input, diagnostics);
  REQUIRE(problem);
  return run(plan_of(*problem), {});
}

// A matrix as somebody writes it down.
Given written_down(const IntervalMatrix& matrix, int decimals) {
  std::string rows;
  for (Index i = 0; i < matrix.rows(); ++i) {
    if (i > 0) rows += " ; ";
    for (Index j = 0; j < matrix.cols(); ++j)
      rows += (j > 0 ? " " : "") + fixed_text_of_tie(matrix(i, j), decimals);
  }
  return rows_of(rows);
}

}  // namespace

TEST_CASE("the same request gives the same exercise, another seed another one") {
  const auto one = make_exercise({.seed = 7}, trace_of);
  REQUIRE(one);
  CHECK(make_exercise({.seed = 7}, trace_of) == one);
  CHECK(make_exercise({.seed = 8}, trace_of) != one);
}

TEST_CASE("in an exercise no score is large and no value lies near a rounding edge") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto text = make_exercise({.seed = seed, .tokens = 4}, trace_of);
    REQUIRE(text);
    const Trace trace = trace_of(*text);
    CHECK(value(trace, "scores").cwiseAbs().maxCoeff() <= 9);
    for (const char* id : {"scaled", "weights", "output"}) {
      const Matrix& values = value(trace, id);
      for (Index k = 0; k < values.size(); ++k) {
        const double hundredths = std::abs(values(k)) * 100;
        CHECK(std::abs(hundredths - std::floor(hundredths) - 0.5) >= 0.05);
      }
    }
  }
}

TEST_CASE("a mistake made in an exercise is the first that is named") {
  for (const bool is_causal : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto text = make_exercise({.seed = seed, .is_causal = is_causal}, trace_of);
      REQUIRE(text);
      INFO(*text);
      const Trace trace = trace_of(*text);
      const Plan& plan = trace.plan();
      Sheet right(trace, {}, 2);
      for (NodeId id = 0; id < plan.nodes.size(); ++id) right.settle(id);
      for (const char* name :
           {"no-scale", "divided-by-d-k", "column-softmax", "softmax-over-all", "weights-transposed"}) {
        for (const Mistake& mistake : mistakes()) {
          if (mistake.name != std::string_view(name)) continue;
          for (const NodeId node : nodes_spoiled(mistake, plan)) {
            for (const IntervalMatrix& result : mistake.results({right, node})) {
              INFO(name, " in ", plan[node].id);
              const Judgement judgement = judge(trace, {{node, written_down(result, 2)}}, 2);
              REQUIRE(judgement.steps.size() == 1);
              CHECK(judgement.steps[0].verdict == Verdict::wrong);
              REQUIRE(!judgement.steps[0].mistakes.empty());
              CHECK(judgement.steps[0].mistakes[0]->name == std::string_view(name));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("where nothing could tell mistakes apart there is no exercise") {
  // One token has one weight, whatever is done.
  CHECK(!make_exercise({.tokens = 1}, trace_of));
}

}  // namespace qkv::test

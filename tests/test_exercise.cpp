// Exercises: the same seed, the same problem; whatever mistake is made in one, its name comes first; and the
// key is right.
//
// QKV_SHEETS sets how many sizes of exercise are tried; usually all.

#include "check/exercise.h"

#include <set>

#include "check/judge.h"
#include "check/mistakes.h"
#include "check/worksheet.h"
#include "input/source.h"
#include "problem/answers.h"
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
  const std::string one = make_exercise({.seed = 7}, trace_of).text;
  CHECK(make_exercise({.seed = 7}, trace_of).text == one);
  CHECK(make_exercise({.seed = 8}, trace_of).text != one);
}

TEST_CASE("in an exercise no score is large and no value lies near a rounding edge") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Trace trace = trace_of(make_exercise({.seed = seed, .tokens = 4}, trace_of).text);
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
      const std::string text = make_exercise({.seed = seed, .is_causal = is_causal}, trace_of).text;
      INFO(text);
      const Trace trace = trace_of(text);
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

// What no numbers of this size can tell apart.  Dividing by √d_k, by d_k and by the root of the m keys are
// three computations unless d_k = 1 (where the first two change nothing), d_k = m or d_k = √m.
std::set<std::string> one_computation(const ExerciseRequest& r) {
  std::set<std::string> lines;
  if (r.d_k == 1) {
    lines = {"right in scaled: no-scale divided-by-d-k times-root",
             "right in weights: no-scale divided-by-d-k times-root scale-after-softmax"};
    if (r.is_causal) lines.insert("right in masked: mask-unscaled");
  } else if (r.d_k == r.tokens) {
    lines = {"right in scaled: root-of-keys", "right in weights: root-of-keys"};
  } else if (r.d_k * r.d_k == r.tokens) {
    lines = {"alike in scaled: divided-by-d-k root-of-keys", "alike in weights: divided-by-d-k root-of-keys"};
  }
  return lines;
}

std::set<std::string> lines_of(const std::vector<Alike>& alike) {
  std::set<std::string> lines;
  for (const Alike& a : alike) {
    std::string line = (a.is_right ? "right in " : "alike in ") + a.step + ":";
    for (const Mistake* mistake : a.mistakes) line += " " + std::string(mistake->name);
    lines.insert(line);
  }
  return lines;
}

TEST_CASE("every size has its exercise, which tells apart what is not one computation") {
  QKV_SAY_SEED();
  Random random(95);
  std::vector<ExerciseRequest> all;
  for (Index tokens = kFewestTokens; tokens <= kMostTokens; ++tokens) {
    for (Index d_k = kLeastKeyWidth; d_k <= kMostKeyWidth; ++d_k) {
      for (const bool is_causal : {false, true}) {
        // One weight of a row says what the other is, and two decimals are few.
        const Index decimals = random.whole(tokens == 2 ? 3 : kFewestDecimals, kMostDecimals);
        all.push_back({.seed = static_cast<std::uint64_t>(random.whole(1, 1000)),
                       .tokens = tokens,
                       .d_k = d_k,
                       .is_causal = is_causal,
                       .decimals = static_cast<int>(decimals)});
      }
    }
  }
  const std::size_t step = all.size() / std::min(all.size(), static_cast<std::size_t>(sheets(1000)));
  for (std::size_t i = 0; i < all.size(); i += step) {
    const ExerciseRequest& r = all[i];
    const Exercise exercise = make_exercise(r, trace_of);
    INFO(exercise.text);
    CHECK(lines_of(exercise.alike) == one_computation(r));
  }
}

TEST_CASE("where not all mistakes can be told apart, an exercise says which") {
  // Two keys and two decimals: dividing by √2 twice or taking powers of 2, e^(s/2) or e^(0.49 s), is much the
  // same.
  const Exercise exercise = make_exercise({.tokens = 2, .d_k = 2, .is_causal = true}, trace_of);
  CHECK(lines_of(exercise.alike) == std::set<std::string>{"right in scaled: root-of-keys",
                                                          "right in weights: root-of-keys",
                                                          "alike in weights: divided-by-d-k other-base"});
}

TEST_CASE("the solved sheet of an exercise is marked all right") {
  for (const bool is_causal : {false, true}) {
    for (const int decimals : {2, 6}) {
      const ExerciseRequest r{.tokens = 4, .d_k = 2, .is_causal = is_causal, .decimals = decimals};
      const Trace trace = trace_of(make_exercise(r, trace_of).text);
      const std::string key = worksheet_text(trace, {}, {}, {.decimals = decimals}, Cells::solved);
      INFO(key);
      Diagnostics diagnostics;
      const AnswerFile file = read_answers(source_from_text("key", key, diagnostics), diagnostics);
      const Judgement judgement = judge(trace, fit_answers(trace.plan(), file, diagnostics), decimals);
      CHECK(diagnostics.list().empty());
      CHECK(judgement.is_right());
      CHECK(judgement.of == (is_causal ? 5 : 4));
      CHECK(judgement.points == judgement.of);
    }
  }
}

TEST_CASE("an exercise of several heads can be done by hand too, and its heads are equally wide") {
  for (const Index heads : {2, 3}) {
    ExerciseRequest request;
    request.heads = heads;
    request.d_k = 4;
    const Exercise exercise = make_exercise(request, trace_of);
    const Trace trace = trace_of(exercise.text);
    CHECK(value(trace, "Q").cols() == heads * 4);
    CHECK(value(trace, "concat").cols() == heads * 2);
    for (Index h = 1; h <= heads; ++h)
      CHECK(value(trace, fmt::format("h{}.scores", h)).cwiseAbs().maxCoeff() <= 9);
  }
}

}  // namespace qkv::test

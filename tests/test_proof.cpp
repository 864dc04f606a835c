// Digits that are proved cell by cell: a cell computed alone is the cell of the whole, a bound is
// a bound, and what must hold in every trace is found to hold, or not.

#include "report/against.h"
#include "run/cells.h"
#include "run/checks.h"
#include "run/proof.h"
#include "run/trace.h"
#include "support.h"

namespace qkv::test {
namespace {

// One problem for each way in which a step can read its inputs.
std::vector<Problem> sample() {
  Random random(61);
  std::vector<Problem> problems;
  const auto matrix = [&](Index rows, Index cols) { return rows_of(random.matrix(rows, cols)); };

  Problem projected = problem_at(Entry::x, {{"X", matrix(4, 3)},
                                            {"W_Q", matrix(3, 2)},
                                            {"W_K", matrix(3, 2)},
                                            {"W_V", matrix(3, 3)},
                                            {"W_O", matrix(3, 2)},
                                            {"b_O", matrix(1, 2)}});
  forbid(projected, causal_mask(4, 4, 0));
  problems.push_back(projected);

  Problem linear = projected;
  linear.layout = Layout::linear;
  for (const char* name : {"W_Q", "W_K", "W_V", "W_O"})
    linear.given[name] = rows_of(Matrix(doubles_of(linear[name]).transpose()));
  linear.softcap = written("2");
  linear.sink_logits = {written("0.5")};
  problems.push_back(linear);

  Problem biased = problem_at(
      Entry::qkv, {{"Q", matrix(3, 2)}, {"K", matrix(4, 2)}, {"V", matrix(4, 2)}, {"bias", matrix(3, 4)}});
  biased.slopes = {written("1/4")};
  biased.temperature = written("1.5");
  biased.empty_row = EmptyRow::nan;
  forbid(biased, mask_of("1 0 1 1 ; 0 0 0 0 ; 1 1 0 0"));
  problems.push_back(biased);

  Problem hard = problem_at(Entry::qkv, {{"Q", matrix(3, 2)}, {"K", matrix(3, 2)}, {"V", matrix(3, 2)}});
  hard.read = ReadKind::hard;
  problems.push_back(hard);

  Problem symbolic =
      problem_at(Entry::qkv, {{"Q", matrix(2, 2)}, {"K", matrix(3, 2)}, {"W_O", matrix(1, 2)}});
  problems.push_back(symbolic);

  Problem general = problem_at(Entry::qkv, {{"Q", matrix(2, 2)}, {"K", matrix(3, 3)}, {"W_a", matrix(2, 3)}});
  general.score = ScoreKind::general;
  general.scale.kind = ScaleKind::none;
  problems.push_back(general);

  Problem additive = problem_at(Entry::qkv, {{"Q", matrix(2, 2)},
                                             {"K", matrix(3, 3)},
                                             {"W_a", matrix(2, 2)},
                                             {"U_a", matrix(3, 2)},
                                             {"v_a", matrix(1, 2)},
                                             {"b_a", matrix(1, 2)}});
  additive.score = ScoreKind::additive;
  additive.scale.kind = ScaleKind::none;
  problems.push_back(additive);

  Problem concat = problem_at(
      Entry::qkv, {{"Q", matrix(2, 2)}, {"K", matrix(3, 3)}, {"W_a", matrix(5, 2)}, {"v_a", matrix(1, 2)}});
  concat.score = ScoreKind::concat;
  concat.scale.kind = ScaleKind::none;
  problems.push_back(concat);
  return problems;
}

Problem large(Index n, Random& random) {
  const auto tenths = [&](Index rows, Index cols) {
    Given given{.rows = rows, .cols = cols, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
    for (Index i = 0; i < rows * cols; ++i)
      given.cells.push_back(
          written(fmt::format("{:.2f}", static_cast<double>(random.whole(-200, 200)) / 100)));
    return given;
  };
  return problem_at(Entry::qkv, {{"Q", tenths(n, 16)}, {"K", tenths(n, 16)}, {"V", tenths(n, 16)}});
}

}  // namespace

TEST_CASE("a cell or a row computed alone is that of the whole, to the last bit") {
  QKV_SAY_SEED();
  for (const Problem& problem : sample()) {
    const Plan plan = plan_of(problem);
    const std::vector<Matrix> whole = in_doubles(plan);
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      INFO("step ", plan[id].id);
      for (Index i = 0; i < whole[id].rows(); ++i) {
        for (Index j = 0; j < whole[id].cols(); ++j) {
          const double alone = Cells<Matrix>(plan).cell(id, i, j);
          CHECK((alone == whole[id](i, j) || (std::isnan(alone) && std::isnan(whole[id](i, j)))));
        }
        Cells<Matrix> rows(plan);
        CHECK(apart(rows.row(id, i), whole[id].row(i), 0) == "");
      }
      Cells<Matrix> fresh(plan);
      CHECK(apart(fresh.whole(id), whole[id], 0) == "");
    }
  }
}

TEST_CASE("a value that was pinned is what later cells are computed from") {
  const Plan plan =
      plan_of(problem_at(Entry::scores, {{"scores", rows_of("0 1 ; 2 3")}, {"V", rows_of("1 ; 2")}}));
  Cells<Matrix> cells(plan);
  CHECK(cells.row(node_named(plan, "weights"), 1)(0, 1) > 0.7);
  cells.pin(node_named(plan, "weights"), std::make_shared<const Matrix>(matrix("1 0 ; 0.5 0.5")));
  CHECK(cells.row(node_named(plan, "weights"), 1)(0, 1) == 0.5);
  CHECK(cells.cell(node_named(plan, "output"), 1, 0) == 1.5);
}

TEST_CASE("every value of a bounded run is the double's, and its bound holds") {
  QKV_SAY_SEED();
  for (const Problem& problem : sample()) {
    const Plan plan = plan_of(problem);
    const std::vector<Matrix> doubles = in_doubles(plan);
    const Trace proved = run(plan, {});
    std::vector<BoundedMatrix> bounded;
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      INFO("step ", plan[id].id);
      bounded.push_back(value_of(plan[id], bounded));
      double largest = 0;
      for (Index k = 0; k < doubles[id].size(); ++k) {
        if (std::isfinite(doubles[id](k))) largest = std::max(largest, std::abs(doubles[id](k)));
      }
      for (Index i = 0; i < doubles[id].rows(); ++i) {
        for (Index j = 0; j < doubles[id].cols(); ++j) {
          const Bounded& x = bounded[id](i, j);
          if (!std::isfinite(doubles[id](i, j))) {
            CHECK(std::isnan(x.value) == std::isnan(doubles[id](i, j)));
            CHECK(x.error == 0);
            continue;
          }
          CHECK(x.value == doubles[id](i, j));
          // The proved value is itself half a unit off.
          CHECK(std::abs(x.value - proved.values(id)(i, j)) <= x.error + std::abs(x.value) * 0x1p-53);
          // Of the size of what was added up, not of what is left of it.
          CHECK(x.error <= 1e-12 * std::max(1.0, largest));
        }
      }
    }
  }
}

TEST_CASE("values, sums, digits, zeros and warnings are those of a run that enclosed everything before") {
  QKV_SAY_SEED();
  std::vector<Problem> problems = sample();
  // Beyond the doubles, an infinite key, rows that cancel, ties.
  const auto scores = [](const char* rows) {
    return problem_at(Entry::scores, {{"scores", rows_of(rows)}, {"V", rows_of("1 0.3 ; 1/3 0.3")}});
  };
  problems.push_back(problem_at(Entry::qkv, {{"Q", rows_of("1e200 1 ; 1 1")},
                                             {"K", rows_of("1e200 1 ; -1e200 0.1")},
                                             {"V", rows_of("0.1 ; 0.3")}}));
  for (const char* rows : {"inf 0 ; 0 1", "0.5 0.5 ; 0 -inf", "0.1 -0.1 ; 1e-320 0", "1e15 -1e15 ; 800 -800"})
    problems.push_back(scores(rows));
  for (const Problem& problem : problems) {
    const Plan plan = plan_of(problem);
    const Trace at_once = run(plan, {.at_once = true});
    const Trace asked = run(plan, {});
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      INFO("step ", plan[id].id);
      // Texts before values and after; the bounds hold.
      const Trace texts = run(plan, {});
      const Matrix& values = at_once.values(id);
      for (Index i = 0; i < values.rows(); ++i) {
        for (Index j = 0; j < values.cols(); ++j) {
          INFO("cell ", i + 1, ",", j + 1);
          for (int decimals = 0; decimals <= 17; ++decimals)
            CHECK(texts.text(id, i, j, decimals) == at_once.text(id, i, j, decimals));
          CHECK(texts.is_exactly_zero(id, i, j) == at_once.is_exactly_zero(id, i, j));
          const Bounded near = texts.computed(id, i, j);
          if (std::isfinite(values(i, j)) && std::isfinite(near.value))
            CHECK(std::abs(near.value - values(i, j)) <= near.error + std::abs(values(i, j)) * 0x1p-53);
          const double value = asked.values(id)(i, j);
          CHECK((value == values(i, j) || (std::isnan(value) && std::isnan(values(i, j)))));
          CHECK(std::signbit(value) == std::signbit(values(i, j)));
        }
        if (!plan[id].has_row_sums) continue;
        CHECK(texts.row_sum_text(id, i, 4) == at_once.row_sum_text(id, i, 4));
        const double sum = asked.row_sum(id, i);
        CHECK((sum == at_once.row_sum(id, i) || std::isnan(sum)));
      }
    }
    CHECK(asked.warnings().size() == at_once.warnings().size());
    if (!asked.warnings().empty()) CHECK(asked.warnings()[0] == at_once.warnings()[0]);
    CHECK(asked.assumed_ties() == at_once.assumed_ties());
  }
}

TEST_CASE("the digits of a large problem are those of the true values, ties too") {
  QKV_SAY_SEED();
  Random random(62);
  const Plan plan = plan_of(large(100, random));
  const Trace trace = run(plan, {});
  REQUIRE(trace.arithmetic() == Arithmetic::doubles);
  // The same plan, every cell asked of intervals and exact values alone.
  Proof proof(std::make_shared<const Plan>(plan));
  for (const char* id : {"scores", "scaled", "weights", "output"}) {
    const NodeId node = node_named(plan, id);
    for (int round = 0; round < 60; ++round) {
      const Index i = random.whole(0, plan[node].shape.rows - 1);
      const Index j = random.whole(0, plan[node].shape.cols - 1);
      const int decimals = static_cast<int>(random.whole(0, 15));
      INFO(id, "[", i + 1, ",", j + 1, "] at ", decimals);
      CHECK(trace.text(node, i, j, decimals) == proof.text({node, i, j}, decimals));
      CHECK(std::abs(trace.values(node)(i, j) - proof.nearest({node, i, j})) <=
            trace.bound(node) + std::abs(trace.values(node)(i, j)) * 0x1p-53);
    }
  }
  // 16 products of two decimals have four; a quarter of them ends in a digit that makes √16 a tie.
  std::size_t before = trace.texts_proved_singly();
  for (Index j = 0; j < 100; ++j) (void)trace.text(node_named(plan, "scaled"), 0, j, 5);
  CHECK(trace.texts_proved_singly() > before);
}

TEST_CASE("sums that cancel are right in a large problem too") {
  // 1e17 + 0.5 − 1e17: a double loses the half.
  const Index n = 200;
  Given q{.rows = n, .cols = 3, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
  Given k = q;
  for (Index i = 0; i < n; ++i) {
    for (const char* text : {"1e17", "0.5", "1e17"}) q.cells.push_back(written(text));
    for (const char* text : {"1", "1", "-1"}) k.cells.push_back(written(text));
  }
  Problem p = problem_at(Entry::qkv, {{"Q", q}, {"K", k}, {"V", rows_of(Matrix(Matrix::Ones(n, 1)))}});
  const Trace trace = traced(p);
  REQUIRE(trace.arithmetic() == Arithmetic::doubles);
  CHECK(trace.text(node_named(trace.plan(), "scores"), 0, 0, 1) == "0.5");
  CHECK(trace.text(node_named(trace.plan(), "weights"), 0, 0, 4) == "0.0050");
  CHECK(trace.text(node_named(trace.plan(), "weights"), 0, 0, 2) == "0.00");  // 1/200: a tie
  CHECK(trace.text(node_named(trace.plan(), "output"), 0, 0, 17) == "1.00000000000000000");
  CHECK(trace.assumed_ties() == 0);
}

TEST_CASE("a number that was taken for a tie is counted once, however often it is asked for") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 2")}, {"V", rows_of("0.25 ; 0.25")}});
  p.softcap = written(
      "2");  // (0.25 e^(2 tanh(1/2)) + 0.25 e^(2 tanh 1)) / their sum: 0.25, and no exact form says so
  const Trace trace = traced(p);
  const NodeId output = node_named(trace.plan(), "output");
  CHECK(trace.text(output, 0, 0, 1) == "0.2");
  CHECK(trace.text(output, 0, 0, 1) == "0.2");
  CHECK(trace.assumed_ties() == 1);
}

// ---- What must hold ---------------------------------------------------------------------------

TEST_CASE("what must hold in a trace holds exactly") {
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of("1 0 ; 0 1 ; 1 1")},
                                      {"K", rows_of("1 0 ; 0 1 ; 1 1")},
                                      {"V", rows_of("1 0 ; 0 1 ; 0.5 0.5")}});
  forbid(p, causal_mask(3, 3, 0));
  const Trace trace = traced(p);
  const auto node = [&](const char* id) { return node_named(trace.plan(), id); };
  const Finding sums = rows_sum_to_one(trace, node("weights"));
  CHECK(sums.outcome == Finding::Outcome::exactly);
  CHECK(sums.count == 3);
  const Finding zeros = forbidden_weights_are_zero(trace, node("weights"));
  CHECK(zeros.outcome == Finding::Outcome::exactly);
  CHECK(zeros.count == 3);
  CHECK(shift_changes_nothing(trace, node("weights"), node("naive.exp"), node("naive.sum")).outcome ==
        Finding::Outcome::exactly);
  CHECK(output_is_in_hull(trace, node("output")).outcome == Finding::Outcome::exactly);
}

TEST_CASE("weights that do not sum to 1 are found, and the row is named") {
  const Trace trace = traced(
      problem_at(Entry::weights, {{"weights", rows_of("0.5 0.5 ; 0.5 0.25")}, {"V", rows_of("1 ; 3")}}));
  const Finding sums = rows_sum_to_one(trace, node_named(trace.plan(), "weights"));
  CHECK(sums.outcome == Finding::Outcome::fails);
  CHECK(sums.row == 1);
  CHECK(sums.by == 0.25);
  const Finding hull =
      output_is_in_hull(trace, node_named(trace.plan(), "output"));  // 1.25 lies between 1 and 3
  CHECK(hull.outcome == Finding::Outcome::exactly);
  const Trace outside =
      traced(problem_at(Entry::weights, {{"weights", rows_of("2 -1")}, {"V", rows_of("1 ; 3")}}));
  CHECK(output_is_in_hull(outside, node_named(outside.plan(), "output")).outcome == Finding::Outcome::fails);
}

TEST_CASE("in fp16 the exponentials overflow without the shift, and the check says so") {
  const Plan plan =
      plan_of(problem_at(Entry::scores, {{"scores", rows_of("10 12 11.5")}, {"V", rows_of("1 ; 2 ; 3")}}));
  const Trace half = run(plan, {.format = &kFp16});
  CHECK(value(half, "naive.exp")(0, 1) == kInfinity);
  CHECK(std::isfinite(value(half, "exp").sum()));
  const Finding shift = shift_changes_nothing(half, node_named(plan, "weights"),
                                              node_named(plan, "naive.exp"), node_named(plan, "naive.sum"));
  CHECK(shift.outcome == Finding::Outcome::fails);
  CHECK(std::isinf(shift.by));
}

// ---- Against the true digits --------------------------------------------------------------------

TEST_CASE("a small format leaves the true digits, and the first cell and the farthest are found") {
  // numpy.float16: 0.3 is 0.300048828125, and 0.3 − 3 is −2.69921875.
  const Plan plan =
      plan_of(problem_at(Entry::scores, {{"scores", rows_of("3 -8 0.3")}, {"V", rows_of("1 ; 2 ; 3")}}));
  const Trace half = run(plan, {.format = &kFp16});
  const Trace truth = run(plan, {});
  CHECK(departures(half, truth, node_named(plan, "scores"), 3).differing == 0);
  CHECK(departures(half, truth, node_named(plan, "scores"), 5).differing == 1);
  const Departures shifted = departures(half, truth, node_named(plan, "shifted"), 4);
  REQUIRE(shifted.first);
  CHECK(shifted.differing == 1);
  CHECK(shifted.first->at.col == 2);
  CHECK(shifted.first->here == "-2.6992");
  CHECK(shifted.first->truly == "-2.7000");
  CHECK(shifted.first->units == 8);
}

TEST_CASE("an overflow is farther than any difference in digits") {
  const Plan plan =
      plan_of(problem_at(Entry::scores, {{"scores", rows_of("10 12")}, {"V", rows_of("1 ; 2")}}));
  const Departures found =
      departures(run(plan, {.format = &kFp16}), run(plan, {}), node_named(plan, "naive.exp"), 1);
  CHECK(found.differing == 2);
  REQUIRE(found.largest);
  CHECK(found.largest->here == "∞");
  CHECK(!found.largest->units);
}

TEST_CASE("rounding on paper moves a last digit, by how much is told") {
  // Three equal scores: 0.33 each, 0.99 in all.
  const Plan plan =
      plan_of(problem_at(Entry::scores, {{"scores", rows_of("1 1 1")}, {"V", rows_of("1 ; 1 ; 1")}}));
  const Departures found =
      departures(run(plan, {.rounds_to = 2}), run(plan, {}), node_named(plan, "output"), 2);
  REQUIRE(found.largest);
  CHECK(found.largest->here == "0.99");
  CHECK(found.largest->truly == "1.00");
  CHECK(found.largest->units == -1);
}

}  // namespace qkv::test

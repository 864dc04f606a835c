// Marking of sheets, tried with pupils: some make one known mistake and then work on correctly, some round
// as one does on paper, some slip in one cell.
//
// Every pupil has a bound within which rounding could explain the difference; a case counts only
// beyond it, so that each verdict is the only fair one.
//
// QKV_SHEETS sets the number of exercises, for runs longer than the usual few seconds.

#include <algorithm>
#include <set>

#include "check/judge.h"
#include "check/mistakes.h"
#include "confusion.h"
#include "pupils.h"
#include "reading.h"
#include "vectors.h"

namespace qkv::test {
namespace {

const JudgedStep& judged(const Judgement& judgement, const Plan& plan, std::string_view id) {
  for (const JudgedStep& step : judgement.steps) {
    if (plan[step.node].id == id) return step;
  }
  FAIL("no such step on the sheet: ", std::string(id));
  return judgement.steps.front();
}

std::set<std::string> some_unwritten(Random& random, const Work& work, const std::string& step) {
  std::set<std::string> unwritten;
  if (step == "weights" && random.whole(0, 1) == 0) unwritten.insert("scaled");
  if (step == "weights" && (unwritten.contains("scaled") || random.whole(0, 1) == 0))
    unwritten.insert("masked");
  if (step == "scaled" && random.whole(0, 1) == 0) unwritten.insert("masked");
  std::erase_if(unwritten, [&](const std::string& name) { return !work.contains(name); });
  return unwritten;
}

TEST_CASE("a mistake is found at its step, called by its name, and held against nobody later on") {
  QKV_SAY_SEED();
  Random random(91);
  const std::vector<Slip> all = slips();
  Confusion confusion;
  constexpr int kDecimals = 3;
  const double unit = std::pow(10.0, -kDecimals);
  for (Index run = 0; run < sheets(40); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const Work right = right_work(e);
    for (const Slip& slip : all) {
      const auto work = spoiled_work(e, slip, right, unit);
      if (!work) continue;
      const auto answers = sheet(truth.plan(), *work, kDecimals, some_unwritten(random, *work, slip.step));
      confusion.add(slip.id, slip.step, truth, judge(truth, answers, kDecimals),
                    [&] { return text_of(e) + text_of(truth.plan(), answers); });
    }
  }
  confusion.check();
}

TEST_CASE("every mistake of the table is made above, but for a few that need another kind of problem") {
  std::set<std::string> made;
  for (const Slip& slip : slips()) made.insert(slip.id);
  std::string others;
  for (const Mistake& mistake : mistakes()) {
    if (!made.contains(mistake.id)) others += std::string(mistake.id) + " ";
  }
  CHECK(others == "M51 M58 M59 M61 M60 M53 M56 M70 M62 M29 M54 M41 M66 M64 M63 M65 M68 M52 ");
}

// ---- Right sheets -------------------------------------------------------------------------------

// Half a unit more or less is a tie; a double is not sure which.
double rounded_to(double value, int decimals) {
  const double tens = std::pow(10.0, decimals);
  return std::isfinite(value) ? std::round(value * tens) / tens : value;
}

// Not what a double lacks to a whole number of units.
Matrix cut_off_to(Matrix m, int decimals) {
  const double tens = std::pow(10.0, decimals);
  for (Index k = 0; k < m.size(); ++k) {
    if (std::isfinite(m(k))) m(k) = std::trunc(m(k) * tens * (1 + 1e-12)) / tens;
  }
  return m;
}

TEST_CASE("a right sheet is not accused, worked exactly, with every step rounded, or with digits cut off") {
  QKV_SAY_SEED();
  Random random(92);
  enum Way { exact, rounded_scaled, rounded_all, rounded_root, cut_off, all_cut_off };
  std::map<std::string, std::pair<int, int>> counts;  // accused, of
  std::vector<std::string> examples;
  int accused = 0;
  for (Index run = 0; run < sheets(300); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const int decimals = static_cast<int>(random.whole(2, 4));
    const Way way = static_cast<Way>(random.whole(0, 5));
    const Matrix scores = right_work(e).at("scores");
    Work work = worked(e, [&](const std::string& step, const Matrix& value) {
      Matrix result = value;
      if (way == all_cut_off) return cut_off_to(value, decimals);
      if (way == rounded_root && step == "scaled") result = scores / rounded_to(e.root(), decimals);
      if (way == exact || way == cut_off || (way == rounded_scaled && step != "scaled")) return result;
      for (Index k = 0; k < result.size(); ++k) result(k) = rounded_to(result(k), decimals);
      return result;
    });
    if (way == cut_off) {
      for (auto& [step, value] : work) value = cut_off_to(value, decimals);
    }
    std::set<std::string> unwritten;
    if (way != rounded_root && way != all_cut_off && random.whole(0, 1) == 0)
      unwritten = {"scaled", "masked"};
    const auto answers = sheet(truth.plan(), work, decimals, unwritten);
    const Judgement judgement = judge(truth, answers, decimals);
    const std::string kind = fmt::format("{}, {} decimals{}",
                                         way == exact            ? "exact"
                                         : way == rounded_scaled ? "scaled step rounded"
                                         : way == rounded_all    ? "every step rounded"
                                         : way == cut_off        ? "exact, digits cut off"
                                         : way == all_cut_off    ? "every step cut off"
                                                                 : "root and every step rounded",
                                         decimals, unwritten.empty() ? "" : ", no scaled step written");
    auto& [bad, of] = counts[kind];
    ++of;
    if (judgement.is_right()) {
      CHECK(judgement.points == judgement.of);
      continue;
    }
    ++accused;
    ++bad;
    if (bad > 1) continue;
    const JudgedStep* wrong = first_wrong(judgement);
    examples.push_back(kind + "\n" + text_of(e) + text_of(truth.plan(), answers) +
                       fmt::format("wrong in {}, row {}, column {}: expected {}; {}\n",
                                   truth.plan()[wrong->node].id, wrong->row + 1, wrong->col + 1,
                                   wrong->expected, list(wrong->mistakes)));
  }
  if (accused > 0) {
    std::string table = "accused, of:\n";
    for (const auto& [kind, count] : counts)
      table += fmt::format("  {:4} {:4}  {}\n", count.first, count.second, kind);
    for (const std::string& example : examples) table += example;
    MESSAGE(table);
  }
  CHECK(accused == 0);
}

// ---- One slip -----------------------------------------------------------------------------------

TEST_CASE("one number that no rounding explains is caught, there and nowhere else") {
  QKV_SAY_SEED();
  Random random(93);
  int altered = 0;
  int caught = 0;
  std::string examples;
  for (Index run = 0; run < sheets(300); ++run) {
    const Exercise e = exercise(random);
    const Trace truth = traced(problem_of(e));
    const int decimals = static_cast<int>(random.whole(2, 4));
    const double unit = std::pow(10.0, -decimals);
    const Work right = right_work(e);
    auto answers = sheet(truth.plan(), right, decimals);

    const auto chosen = std::next(answers.begin(), random.whole(0, static_cast<Index>(answers.size()) - 1));
    const std::string step = truth.plan()[chosen->first].id;
    const Index row = random.whole(0, chosen->second.rows - 1);
    const Index col = random.whole(0, chosen->second.cols - 1);
    Number& cell = chosen->second.cells[static_cast<std::size_t>(row * chosen->second.cols + col)];
    if (cell.kind != Number::Kind::finite) continue;
    const double units = is_of_whole_numbers(step) ? 1 : std::ceil(reach(e, right, step, unit) / unit) + 1;
    const double up = random.whole(0, 1) == 0 ? 1 : -1;
    const double by = up * (units + static_cast<double>(random.whole(0, 3)));
    const double value = cell.value + by * (is_of_whole_numbers(step) ? 1 : unit);
    Matrix numbers = doubles_of(chosen->second);
    numbers(row, col) = value;
    if (step == "scaled" && is_by_rounded_root(e, right.at("scores"), numbers, unit)) continue;
    cell = written(on_paper(value, is_of_whole_numbers(step) ? 0 : decimals));

    ++altered;
    const Judgement judgement = judge(truth, answers, decimals);
    const JudgedStep* wrong = first_wrong(judgement);
    const bool is_caught = wrong != nullptr && truth.plan()[wrong->node].id == step && wrong->row == row &&
                           wrong->col == col && (wrong->cells.array() == Verdict::wrong).count() == 1;
    const bool is_alone = std::count_if(judgement.steps.begin(), judgement.steps.end(),
                                        [](const JudgedStep& s) { return s.verdict == Verdict::wrong; }) <= 1;
    if (is_caught && is_alone) {
      ++caught;
      continue;
    }
    if (altered - caught > 5) continue;
    examples += fmt::format("{} ({}, {}) became {}\n", step, row + 1, col + 1, cell.text) + text_of(e) +
                text_of(truth.plan(), answers);
  }
  INFO(examples);
  CHECK(altered > 0);
  CHECK(caught == altered);
}

// ---- After a slip ---------------------------------------------------------------------------------

// Values up to twenty: two decimals of the weights say little about those of the output.
Exercise exercise_with_large_values(Random& random) {
  for (;;) {
    Exercise e = exercise(random);
    if (e.has_x()) continue;
    e.v = whole_numbers(random, e.v.rows(), e.v.cols(), -20, 20);
    return e;
  }
}

TEST_CASE("after a mistake all digits of a calculator may be kept, however large the values") {
  QKV_SAY_SEED();
  Random random(96);
  int carried = 0;
  for (Index run = 0; run < sheets(20); ++run) {
    const Exercise e = exercise_with_large_values(random);
    const Trace truth = traced(problem_of(e));
    const Work right = right_work(e);
    for (const Slip& slip : slips()) {
      if (slip.step == std::string("output")) continue;
      const auto work = spoiled_work(e, slip, right, 0.01);
      if (!work) continue;
      const auto answers = sheet(truth.plan(), *work, 2, some_unwritten(random, *work, slip.step));
      const Judgement judgement = judge(truth, answers, 2);
      INFO(std::string(slip.id), " in ", std::string(slip.step), "\n", text_of(e),
           text_of(truth.plan(), answers));
      REQUIRE(first_wrong(judgement) != nullptr);
      CHECK(truth.plan()[first_wrong(judgement)->node].id == slip.step);
      CHECK(std::count_if(judgement.steps.begin(), judgement.steps.end(),
                          [](const JudgedStep& s) { return s.verdict == Verdict::wrong; }) == 1);
      ++carried;
    }
  }
  CHECK(carried > 0);
}

TEST_CASE(
    "a mistake in the output is named from the written numbers and from all digits, however large the "
    "values") {
  QKV_SAY_SEED();
  Random random(99);
  int made = 0;
  for (Index run = 0; run < sheets(30); ++run) {
    const Exercise e = exercise_with_large_values(random);
    const Trace truth = traced(problem_of(e));
    const Work right = right_work(e);
    Work on_sheet = right;
    for (auto& [step, value] : on_sheet) {
      for (Index k = 0; k < value.size(); ++k) value(k) = rounded_to(value(k), 2);
    }
    for (const Slip& slip : slips()) {
      if (slip.step != std::string("output")) continue;
      for (const Work& from : {right, on_sheet}) {
        auto work = spoiled_work(e, slip, from, 0.01);
        if (!work) continue;
        Work written = right;
        written["output"] = work->at("output");
        const auto answers = sheet(truth.plan(), written, 2);
        const Judgement judgement = judge(truth, answers, 2);
        const JudgedStep& output = judged(judgement, truth.plan(), "output");
        INFO(std::string(slip.id), " ", list(output.mistakes), "\n", text_of(e),
             text_of(truth.plan(), answers));
        REQUIRE(output.verdict == Verdict::wrong);
        CHECK(names(output.mistakes, slip.id));
        ++made;
      }
    }
  }
  CHECK(made > 0);
}

TEST_CASE("what no weights behind the written ones give is a second mistake") {
  QKV_SAY_SEED();
  Random random(97);
  int caught = 0;
  for (Index run = 0; run < sheets(20); ++run) {
    const Exercise e = exercise_with_large_values(random);
    const Trace truth = traced(problem_of(e));
    const Work right = right_work(e);
    for (const Slip& slip : slips()) {
      if (slip.step != std::string("weights")) continue;
      auto work = spoiled_work(e, slip, right, 0.01);
      if (!work || !work->at("weights").array().isFinite().all()) continue;
      // The largest that weights within half a unit of the written ones can give, and two units more.
      const Index row = random.whole(0, e.n() - 1);
      const Index col = random.whole(0, e.v.cols() - 1);
      double most = 0;
      for (Index j = 0; j < e.m(); ++j) {
        const double weight = std::stod(on_paper(work->at("weights")(row, j), 2));
        most += weight * e.v(j, col) + 0.005 * std::abs(e.v(j, col));
      }
      const double second = most + 0.02;
      if (std::abs(second - right.at("output")(row, col)) <= reach(e, right, "output", 0.01)) continue;
      work->at("output")(row, col) = second;
      const auto answers = sheet(truth.plan(), *work, 2);
      const Judgement judgement = judge(truth, answers, 2);
      INFO(std::string(slip.id), " row ", row, " col ", col, " becomes ", second, "\n", text_of(e),
           text_of(truth.plan(), answers));
      const JudgedStep& output = judged(judgement, truth.plan(), "output");
      CHECK(output.cells(row, col) == Verdict::wrong);
      CHECK((output.cells.array() == Verdict::wrong).count() == 1);
      ++caught;
    }
  }
  CHECK(caught > 0);
}

// ---- By hand ------------------------------------------------------------------------------------

// A sheet from a few lines: marked(problem, {{"scores", "1 2 ; 3 4"}, …})["scores"].
struct Marks {
  Trace truth;
  Judgement judgement;

  // "right rounded ; wrong carried"
  std::string operator[](std::string_view step) const {
    constexpr std::array<const char*, 5> kWords{"right", "rounded", "carried", "wrong", "blank"};
    const JudgedStep& s = judged(judgement, truth.plan(), step);
    std::string text;
    for (Index i = 0; i < s.cells.rows(); ++i) {
      for (Index j = 0; j < s.cells.cols(); ++j)
        text += std::string(j > 0   ? " "
                            : i > 0 ? " ; "
                                    : "") +
                kWords[static_cast<std::size_t>(s.cells(i, j))];
    }
    return text;
  }
  const JudgedStep& at(std::string_view step) const { return judged(judgement, truth.plan(), step); }
};

Marks marked(const Problem& problem, const std::vector<std::pair<std::string, std::string>>& answers) {
  Trace truth = traced(problem);
  std::map<NodeId, Given> given;
  for (const auto& [step, numbers] : answers)
    given.emplace(node_named(truth.plan(), step), rows_of(std::string_view(numbers)));
  Judgement judgement = judge(truth, std::move(given), 2);
  return {std::move(truth), std::move(judgement)};
}

// Scores 1 0 ; 0 2 with d_k = 3.
Problem narrow() {
  return problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 ; 0 1 0")}, {"K", rows_of("1 0 0 ; 0 2 0")}, {"V", rows_of("1 0 ; 0 1")}});
}

TEST_CASE("a whole number for a score is that number") {
  // 3 does not mean 2.5 to 3.5: then 6/√4 = 3 would be explained by any score from 5.5 to 6.5, and
  // the scaled 2.8 after a score of 6 too.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("1 1 1 1")}, {"K", rows_of("2 2 1 1 ; 1 0 0 0")}, {"V", rows_of("1 ; 2")}});
  CHECK(marked(p, {{"scores", "6 1"}, {"scaled", "3 0.5"}})["scaled"] == "right right");
  CHECK(marked(p, {{"scores", "6 1"}, {"scaled", "2.8 0.5"}})["scaled"] == "wrong right");
  CHECK(marked(p, {{"scores", "7 1"}, {"scaled", "3.5 0.5"}})["scaled"] == "carried right");
  CHECK(marked(p, {{"scores", "7 1"}, {"scaled", "3.4 0.5"}})["scaled"] == "wrong right");
}

TEST_CASE("a fraction or a root is exactly what it says") {
  // Scores 1 1 ; 1 1: the scaled ones are 1/√2 = √2/2, the weights a half.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 ; 1 0")}, {"K", rows_of("1 0 ; 1 0")}, {"V", rows_of("1 ; 0")}});
  CHECK(marked(p, {{"scaled", "sqrt(2)/2 1/sqrt(2) ; 0.707 0.71"}})["scaled"] == "right right ; right right");
  CHECK(marked(p, {{"scaled", "7/10 1/sqrt(2) ; 0.7 0.71"}})["scaled"] == "wrong right ; right right");
  CHECK(marked(p, {{"weights", "1/2 0.5 ; 50% 5e-1"}})["weights"] == "right right ; right right");
  CHECK(marked(p, {{"weights", "1/2 51/100 ; 0.50 0.5"}})["weights"] == "right wrong ; right right");

  const Problem thirds = problem_at(
      Entry::qkv,
      {{"Q", rows_of("0 0 ; 0 0")}, {"K", rows_of("1 0 ; 1 0 ; 2 2")}, {"V", rows_of("1 ; 0 ; 0")}});
  CHECK(marked(thirds, {{"weights", "1/3 1/3 1/3 ; 0.33 0.333 0.3"}})["weights"] ==
        "right right right ; right right right");
  CHECK(marked(thirds, {{"weights", "1/3 1/3 33/100 ; 0.33 0.333 0.3"}})["weights"] ==
        "right right wrong ; right right right");
}

TEST_CASE("a tie may go either way") {
  // The output is 1/8 = 0.125 in both rows.
  const Problem p =
      problem_at(Entry::weights, {{"weights", rows_of("1/2 1/2 ; 1/2 1/2")}, {"V", rows_of("1/4 ; 0")}});
  CHECK(marked(p, {{"output", "0.12 ; 0.13"}})["output"] == "right ; right");
  CHECK(marked(p, {{"output", "0.11 ; 0.14"}})["output"] == "wrong ; wrong");
  const Problem below =
      problem_at(Entry::weights, {{"weights", rows_of("1/2 1/2 ; 1/2 1/2")}, {"V", rows_of("-1/4 ; 0")}});
  CHECK(marked(below, {{"output", "-0.12 ; -0.13"}})["output"] == "right ; right");
}

TEST_CASE("one rounding of the root explains a scaled step, and is told") {
  // √3 = 1.7320508: 1/1.7 = 0.58824, 2/1.7 = 1.17647; 1/1.73 = 0.57803, 2/1.73 = 1.15607;
  // 1/√3 = 0.57735, 2/√3 = 1.15470.
  const Marks coarse = marked(narrow(), {{"scores", "1 0 ; 0 2"}, {"scaled", "0.588 0 ; 0 1.176"}});
  CHECK(coarse["scaled"] == "rounded right ; right rounded");
  CHECK(coarse.at("scaled").is_rounded_root);
  CHECK(coarse.at("scaled").root == "1.7");
  CHECK(coarse.judgement.is_right());
  CHECK(coarse.judgement.points == 2);

  const Marks fine = marked(narrow(), {{"scaled", "0.5780 0 ; 0 1.1561"}});
  CHECK(fine["scaled"] == "rounded right ; right rounded");
  CHECK(fine.at("scaled").root == "1.73");

  CHECK_FALSE(marked(narrow(), {{"scaled", "0.577 0 ; 0 1.155"}}).at("scaled").is_rounded_root);
  // One cell by 1.7 and the other by 1.73 is no rounding of one root.
  CHECK_FALSE(marked(narrow(), {{"scaled", "0.5882 0 ; 0 1.1561"}}).judgement.is_right());
  CHECK_FALSE(marked(narrow(), {{"scaled", "0.5774 0 ; 0 1.1561"}}).judgement.is_right());
  // Weights that follow from the coarse root are the pupil's own: e^0.588 / (e^0.588 + 1) = 0.64291.
  const Marks after =
      marked(narrow(), {{"scaled", "0.588 0 ; 0 1.176"}, {"weights", "0.643 0.357 ; 0.236 0.764"}});
  CHECK(after.judgement.is_right());
}

TEST_CASE("digits that were cut off are no mistake, and are told") {
  // 1/√3 = 0.57735, 2/√3 = 1.15470; e^0.57735/(e^0.57735 + 1) = 0.64046, e^1.1547/(e^1.1547 + 1) = 0.76036.
  const Marks cut =
      marked(narrow(), {{"scaled", "0.57 0 ; 0 1.15"}, {"weights", "0.640 0.359 ; 0.239 0.760"}});
  CHECK(cut["scaled"] == "rounded right ; right right");
  CHECK(cut.at("scaled").is_cut_off);
  CHECK(cut.at("scaled").expected == "0.58");
  CHECK(cut["weights"] == "right rounded ; rounded right");
  CHECK(cut.judgement.points == 2);
  // One unit too many is not cut off, and two too few are not either; nor is it a whole number.
  CHECK(marked(narrow(), {{"scaled", "0.57 0 ; 0 1.16"}})["scaled"] == "wrong right ; right wrong");
  CHECK(marked(narrow(), {{"scaled", "0.56 0 ; 0 1.15"}})["scaled"] == "wrong right ; right right");
  CHECK(marked(narrow(), {{"scores", "1 0 ; 0 1"}})["scores"] == "right right ; right wrong");
  // 1 − e^−21 is 0.9999999992 and is cut down to 0.999, but 1 is not.
  const Problem sure = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("42 0 0 0 ; 0 0 0 0")}, {"V", rows_of("1 ; 0")}});
  CHECK(marked(sure, {{"weights", "0.999 0.000"}}).at("weights").is_cut_off);
  CHECK_FALSE(marked(narrow(), {{"scores", "0.9 0 ; 0 2"}}).judgement.is_right());
  // Towards zero.
  Problem p = narrow();
  p.given["K"] = rows_of("-1 0 0 ; 0 -2 0");
  CHECK(marked(p, {{"scaled", "-0.57 0 ; 0 -1.15"}}).at("scaled").is_cut_off);
  CHECK_FALSE(marked(p, {{"scaled", "-0.59 0 ; 0 -1.15"}}).judgement.is_right());
}

TEST_CASE("tokens in columns are a way to write, not a mistake") {
  // Square: scores 1 0 ; 2 2 transposed, and so on; e^0.577/(e^0.577 + 1) = 0.640.
  const Problem p = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 ; 2 2 0")}, {"K", rows_of("1 0 0 ; 0 1 0")}, {"V", rows_of("1 3 ; 2 7")}});
  const Marks square = marked(p, {{"scores", "1 2 ; 0 2"},
                                  {"weights", "0.640 0.500 ; 0.360 0.500"},
                                  {"output", "1.360 1.500 ; 4.438 5.000"}});
  CHECK(square.judgement.is_in_columns);
  CHECK(square.judgement.is_right());
  // One transposed table is the mistake of its step.
  const Marks one = marked(p, {{"scores", "1 2 ; 0 2"}, {"scaled", "0.577 1.155 ; 0 1.155"}});
  CHECK_FALSE(one.judgement.is_in_columns);
  CHECK(list(one.at("scores").mistakes) == "M04");
  CHECK(one["scaled"] == "right carried ; carried right");
}

TEST_CASE("a weight taken the other way round is a habit") {
  // Q, K and V all use their weight transposed, and only the output is handed in.
  const Matrix x = matrix("1 0 ; 0 1 ; 2 1");
  const Matrix w_q = matrix("1 1 ; 0 2");
  const Matrix w_k = matrix("0 1 ; 2 1");
  const Matrix w_v = matrix("2 1 ; 0 1");
  const Matrix scores = x * w_q.transpose() * (x * w_k.transpose()).transpose();
  const Matrix output = softmax(scores / std::sqrt(2.0)) * x * w_v.transpose();
  std::string sheet;
  for (Index i = 0; i < 3; ++i)
    sheet += fmt::format("{}{:.4f} {:.4f}", i > 0 ? " ; " : "", output(i, 0), output(i, 1));
  const Problem p = problem_at(
      Entry::x, {{"X", rows_of(x)}, {"W_Q", rows_of(w_q)}, {"W_K", rows_of(w_k)}, {"W_V", rows_of(w_v)}});
  CHECK(list(marked(p, {{"output", sheet}}).at("output").mistakes) == "M01");
}

TEST_CASE("linear attention without its denominator is known, and not taken for a slip of the softmax") {
  // By hand: φ = elu + 1 makes q 1 into 2 and k 0 1 into 1 2; 2·(1·2 + 2·4) = 20 over 2·(1 + 2) = 6.
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of("1")}, {"K", rows_of("0 ; 1")}, {"V", rows_of("2 ; 4")}});
  p.method = MethodKind::linear;
  CHECK(list(marked(p, {{"output", "20"}}).at("output").mistakes) == "M68");
  CHECK(list(marked(p, {{"output", "120"}}).at("output").mistakes) == "M68");
  CHECK(marked(p, {{"output", "3.333"}}).at("output").verdict == Verdict::right);

  // φ(Q) is symmetric here, so that its transpose times S is the numerator.
  Problem square = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 ; 0 2")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("8 0 ; 0 8 ; 4 4")}});
  square.method = MethodKind::linear;
  CHECK(list(marked(square, {{"output", "64 56 ; 72 88"}}).at("output").mistakes) == "M68");
  Problem causal = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 ; 0 1")}, {"K", rows_of("1 0 ; 0 1")}, {"V", rows_of("1 ; 2")}});
  causal.method = MethodKind::linear;
  forbid(causal, causal_mask(2, 2, 0));
  CHECK(list(marked(causal, {{"output", "5 ; 14"}}).at("output").mistakes) == "M68");
}

TEST_CASE("infinities and nan of a program are known by where they come from") {
  // Scores 800 799: e^800 is beyond double precision, and ∞/∞ is nan.
  const Problem large = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("1600 0 0 0 ; 1598 0 0 0")}, {"V", rows_of("1 ; 3")}});
  const Marks doubles = marked(large, {{"weights", "nan nan"}, {"output", "nan"}});
  CHECK(list(doubles.at("weights").mistakes) == "M41");
  CHECK(doubles["output"] == "carried");
  // 100 is beyond single precision alone, and −1 is not.
  const Problem single = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("200 0 0 0 ; -2 0 0 0")}, {"V", rows_of("1 ; 3")}});
  CHECK(list(marked(single, {{"weights", "nan 0"}}).at("weights").mistakes) == "M41");
  CHECK(list(marked(single, {{"weights", "0 nan"}}).at("weights").mistakes) == "none");

  // 256² = 65536 is beyond half precision.
  const Problem half = problem_at(
      Entry::qkv,
      {{"Q", rows_of("256 0")}, {"K", rows_of("256 0 ; -256 0 ; 1 0")}, {"V", rows_of("1 ; 2 ; 3")}});
  CHECK(list(marked(half, {{"scores", "inf -inf 256"}}).at("scores").mistakes) == "M70");
  CHECK(list(marked(half, {{"scores", "inf -inf inf"}}).at("scores").mistakes) == "none");

  // Where nan is the truth it is right.
  Problem empty = narrow();
  forbid(empty, mask_of("0 0 ; 1 1"));
  empty.empty_row = EmptyRow::nan;
  CHECK(marked(empty, {{"weights", "nan nan ; 0.240 0.760"}})["weights"] == "right right ; right right");
}

TEST_CASE("finite numbers in place of minus infinity are known by whom they let back in") {
  // Scores 10002 1, key 1 hidden by −10000: 2 and 1 remain; e/(e + 1) = 0.731.
  Problem large = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 0 0")}, {"K", rows_of("20004 0 0 0 ; 2 0 0 0")}, {"V", rows_of("1 ; 3")}});
  forbid(large, mask_of("0 1"));
  CHECK(list(marked(large, {{"weights", "0.731 0.269"}}).at("weights").mistakes) == "M28");

  // Three equal scores, key 2 hidden twice, keys 1 and 3 once.
  Problem empty = problem_at(
      Entry::qkv, {{"Q", rows_of("0 0")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("1 ; 2 ; 3")}});
  forbid(empty, mask_of("0 0 0"));
  CHECK(list(marked(empty, {{"weights", "0.5 0 0.5"}}).at("weights").mistakes) == "M29");
}

TEST_CASE("an average lies between the least and the largest of its values") {
  const Problem p = narrow();
  CHECK(list(marked(p, {{"output", "3.11 0.36 ; 0.24 1.87"}}).at("output").mistakes) == "M47");
  CHECK(list(marked(p, {{"output", "0.11 0.36 ; 0.24 0.17"}}).at("output").mistakes) == "none");
}

TEST_CASE("a copy of what is given earns nothing") {
  const Marks marks = marked(narrow(), {{"Q", "1 0 0 ; 0 1 0"}, {"scores", "1 0 ; 0 2"}});
  CHECK(marks["Q"] == "right right right ; right right right");
  CHECK(marks.judgement.points == 1);
  CHECK(marks.judgement.of == 1);
}

TEST_CASE("dividing by a whole number is no rounding of the root") {
  // √2 = 1.41 is not 1: that is the forgotten root; √3 is not 2: that is the root of four keys.
  const Problem two = problem_at(
      Entry::qkv, {{"Q", rows_of("1 0 ; 0 1")}, {"K", rows_of("1 0 ; 0 2")}, {"V", rows_of("1 ; 0")}});
  const Marks unscaled = marked(two, {{"scores", "1 0 ; 0 2"}, {"scaled", "1 0 ; 0 2"}});
  CHECK(unscaled["scaled"] == "wrong right ; right wrong");
  CHECK(list(unscaled.at("scaled").mistakes) == "M09");
  CHECK(marked(narrow(), {{"scaled", "0.5 0 ; 0 1"}})["scaled"] == "wrong right ; right wrong");
}

TEST_CASE("a mistake of a step is not named for the gradient of that step") {
  // Weights 1 and 1/2, 1/2, so that Y is 0 ln 3 and 0 (ln 3)/2: q is 1/4 3/4 and 1/(1 + √3) √3/(1 + √3).
  const Problem p = problem(
      "mask = causal\ngradient = yes\n[Q]\n0\n0\n[K]\n1\n1\n[V]\n1\n0\n[W_O]\n0 "
      "1.09861229\n[target]\n1\n2\n");
  CHECK(marked(p, {{"d.Y", "-0.375 0.375 ; 0.183 -0.183"}}).at("d.Y").verdict == Verdict::right);
  // q in its place: the step before d.Y, as the output is the step before Y, yet no projection is left out.
  const Marks marks = marked(p, {{"d.Y", "0.25 0.75 ; 0.366 0.634"}});
  CHECK(marks.at("d.Y").verdict == Verdict::wrong);
  CHECK(list(marks.at("d.Y").mistakes) == "none");
}

TEST_CASE("no mistake but a slip is looked for in the steps of a gradient") {
  for (const char* name : {"gradient", "gradient-loss", "gradient-layers", "gradient-additive"}) {
    const Plan plan = plan_of(problem(text_of(QKV_SOURCE_DIR "/examples/" + std::string(name) + ".qkv")));
    for (const Mistake& mistake : mistakes()) {
      for (const NodeId node : nodes_spoiled(mistake, plan)) {
        CAPTURE(mistake.id);
        CAPTURE(plan[node].id);
        CHECK_FALSE(plan[node].id.starts_with("d."));
      }
    }
  }
}

TEST_CASE("a blank is not wrong, but earns nothing") {
  const Marks marks =
      marked(narrow(), {{"scores", "1 0 ; 0 2"}, {"scaled", "0.577 _ ; 0 1.155"}, {"weights", "_ _ ; _ _"}});
  CHECK(marks["scaled"] == "right blank ; right right");
  CHECK(marks.at("scaled").verdict == Verdict::right);
  CHECK(marks.at("weights").verdict == Verdict::blank);
  CHECK(marks.judgement.is_right());
  CHECK(marks.judgement.points == 1);
  CHECK(marks.judgement.of == 3);
}

TEST_CASE("what follows from a sheet of zeros shows no work") {
  // All scores 0: uniform weights follow, and the plain mean; right carrying, worth nothing.
  const Marks marks = marked(narrow(), {{"scores", "0 0 ; 0 0"},
                                        {"scaled", "0 0 ; 0 0"},
                                        {"weights", "0.5 0.5 ; 0.5 0.5"},
                                        {"output", "0.5 0.5 ; 0.5 0.5"}});
  CHECK(marks["scores"] == "wrong right ; right wrong");
  CHECK(marks["weights"] == "carried carried ; carried carried");
  CHECK(marks["output"] == "carried carried ; carried carried");
  CHECK(marks.at("scores").is_trivial);
  CHECK(marks.judgement.points == 0);
  CHECK(marks.judgement.of == 4);

  // One wrong score, carried with care, costs one point alone.  1/√3 = 0.577, 3/√3 = 1.732;
  // e^1.732 / (e^1.732 + 1) = 0.850; 0.640 as it was.
  const Marks honest = marked(narrow(), {{"scores", "1 0 ; 0 3"},
                                         {"scaled", "0.577 0 ; 0 1.732"},
                                         {"weights", "0.640 0.360 ; 0.150 0.850"},
                                         {"output", "0.640 0.360 ; 0.150 0.850"}});
  CHECK(honest["scaled"] == "right right ; right carried");
  CHECK(honest["weights"] == "right right ; carried carried");
  CHECK(honest.judgement.points == 3);
  CHECK(honest.at("scores").expected == "2.00");
}

TEST_CASE("minus infinity stands where the mask hides, and only there") {
  // Scores 2 2 ; 2 2 over √4.
  Problem p = problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 1 0 0 ; 1 1 0 0")}, {"K", rows_of("1 1 0 0 ; 1 1 0 0")}, {"V", rows_of("1 ; 3")}});
  forbid(p, causal_mask(2, 2, 0));
  const Marks good =
      marked(p, {{"masked", "1 -inf ; 1 1"}, {"weights", "1 0 ; 0.5 0.5"}, {"output", "1 ; 2"}});
  CHECK(good["masked"] == "right right ; right right");
  CHECK(good["output"] == "right ; right");
  CHECK(marked(p, {{"masked", "1 1 ; 1 1"}})["masked"] == "right wrong ; right right");
  CHECK(marked(p, {{"masked", "1 -inf ; -inf 1"}})["masked"] == "right right ; wrong right");
  CHECK(marked(p, {{"masked", "1 inf ; 1 1"}})["masked"] == "right wrong ; right right");

  // 0 in place of −∞: e / (e + 1) = 0.731 and 0.731 + 3·0.269 = 1.538 follow.
  const Marks zero =
      marked(p, {{"masked", "1 0 ; 1 1"}, {"weights", "0.731 0.269 ; 0.5 0.5"}, {"output", "1.538 ; 2"}});
  CHECK(list(zero.at("masked").mistakes).starts_with("M20"));
  CHECK(zero["weights"] == "carried carried ; right right");
  CHECK(zero["output"] == "carried ; right");
  CHECK(zero.judgement.points == 2);
}

// Weights of base 2 from the scores 1 2 0 are 2/7 4/7 1/7.  As they are the output is 34/7 = 4.857, of the
// written ones 4.88; half a unit in each weight allows 4.80 to 4.96.
TEST_CASE("a step is carried when some numbers behind the written ones give it, and not beyond") {
  Problem p = problem("scale = none\n[scores]\n1 2 0\n[V]\n5\n7\n-4\n");
  const auto output = [&](const char* written) {
    const Marks marks = marked(p, {{"weights", "0.29 0.57 0.14"}, {"output", written}});
    CHECK(list(marks.at("weights").mistakes) == "M37");
    return marks["output"] + ", " + std::to_string(marks.judgement.points);
  };
  CHECK(output("4.86") == "carried, 1");
  CHECK(output("4.88") == "carried, 1");
  CHECK(output("4.80") == "carried, 1");
  CHECK(output("4.96") == "carried, 1");
  CHECK(output("4.79") == "wrong, 0");
  CHECK(output("4.97") == "wrong, 0");

  // Divided by d_k: 1 and 5/3; e^0/(e^0 + e^(2/3)) = 0.33924, and 10·0.33924 + 20·0.66076 = 16.6076.
  const Problem divided = problem("d_k = 3\n[scores]\n3 5\n[V]\n10\n20\n");
  const Marks marks =
      marked(divided, {{"scaled", "1.0 1.67"}, {"weights", "0.34 0.66"}, {"output", "16.608"}});
  CHECK(list(marks.at("scaled").mistakes) == "M11");
  CHECK(marks["weights"] == "carried carried");
  CHECK(marks["output"] == "carried");
  CHECK(marks.judgement.points == 2);
}

TEST_CASE("what follows from a mistake may be rounded at a step that is not handed in") {
  // Scores 3 4 in place of 3 5, no scale: weights 0.2689 0.7311, on paper 0.27 0.73; times 100 and 200 that
  // is 173.1 or 173.0, and 172.6 is neither.
  const Problem p = problem("scale = none\n[Q]\n1 1\n[K]\n1 2\n1 4\n[V]\n100\n200\n");
  CHECK(marked(p, {{"scores", "3 4"}, {"output", "173.11"}})["output"] == "carried");
  CHECK(marked(p, {{"scores", "3 4"}, {"output", "173.00"}})["output"] == "carried");
  CHECK(marked(p, {{"scores", "3 4"}, {"output", "172.60"}})["output"] == "wrong");
}

TEST_CASE("scores of wrongly turned vectors are carried from all their digits") {
  // Position 1 turns (3 4) by 1 radian to (−1.7444 4.6856); the other way round to (4.9868 −0.3632), and its
  // score with itself is 25, with (2 5) turned the same way, (5.2880 1.0186), 6·1 + 20·1 = 26.
  const Problem p =
      problem("rope = half\nscale = none\npositions = 1 1\n[Q]\n3 4\n2 5\n[K]\n3 4\n2 5\n[V]\n1\n2\n");
  const char* turned_back = "4.99 -0.36 ; 5.29 1.02";
  const Marks marks = marked(
      p, {{"Q.rotated", turned_back}, {"K.rotated", turned_back}, {"scores", "25.00 26.00 ; 26.00 29.00"}});
  CHECK(list(marks.at("Q.rotated").mistakes) == "M61");
  CHECK(marks.at("scores").verdict != Verdict::wrong);
  // With the keys turned rightly, (−1.7444 4.6856) and (−3.1268 4.3844), these follow from the queries.
  const Marks mixed = marked(p, {{"Q.rotated", turned_back}, {"scores", "-10.40 -17.18 ; -4.45 -12.07"}});
  CHECK(mixed["scores"] == "carried carried ; carried carried");
  CHECK(marked(p, {{"Q.rotated", turned_back}, {"scores", "-10.50 -17.18 ; -4.45 -12.07"}})["scores"] ==
        "wrong carried ; carried carried");
}

// Weights 0.2689 0.7311 and 0.8808 0.1192; transposed and times V: 0.2689 8.808 and 0.7311 1.192, or of the
// written numbers 0.27 8.80 and 0.73 1.20.
TEST_CASE(
    "a mistake in the output is known by the written numbers and by all digits, however large the values") {
  const Problem p = problem("scale = none\n[scores]\n0 1\n2 0\n[V]\n1 0\n0 10\n");
  for (const char* output : {"0.27 8.80 ; 0.73 1.20", "0.27 8.81 ; 0.73 1.19"}) {
    const Marks marks = marked(p, {{"weights", "0.27 0.73 ; 0.88 0.12"}, {"output", output}});
    CHECK(list(marks.at("output").mistakes) == "M45");
    // 0.27·0 + 0.73·10, as it stands on the sheet.
    CHECK(marks.at("output").expected == "7.30");
  }
  CHECK(list(marked(p, {{"weights", "0.27 0.73 ; 0.88 0.12"}, {"output", "0.27 8.90 ; 0.73 1.10"}})
                 .at("output")
                 .mistakes) == "none");
}

TEST_CASE("only an average is said to lie outside its values") {
  const Problem p = problem("scale = none\n[scores]\n0 1\n2 0\n[V]\n1 4\n2 6\n");
  const auto named = [&](const char* weights, const char* output) {
    return list(marked(p, {{"weights", weights}, {"output", output}}).at("output").mistakes);
  };
  CHECK(named("0.27 0.73 ; 0.88 0.12", "1.73 5.46 ; 9.12 7.90") == "M47");
  // Columns that sum to 1, bare exponentials, a mask after the softmax: these rows share out 0.85 and 1.15,
  // 3.72 and 8.39, 0.73 and 0.88.
  CHECK(named("0.12 0.73 ; 0.88 0.27", "1.58 4.86 ; 9.42 7.90") == "none");
  CHECK(named("1.00 2.72 ; 7.39 1.00", "6.44 20.30 ; 19.39 48.00") == "none");
  CHECK(named("0.00 0.73 ; 0.88 0.00", "0.46 4.38 ; 0.88 2.52") == "none");
}

TEST_CASE("one wrong number is a slip in a cell, two are not") {
  // Divided by d_k = 3: of 0.6667 0 and 1 −0.3333 the weights are 0.6608 0.3392 and 0.7914 0.2086, the
  // outputs 4.929 4 and 6.497 4.
  const Problem p = problem("d_k = 3\n[scores]\n2 0\n3 -1\n[V]\n9 4\n-3 4\n");
  const auto output = [&](const char* written) {
    const Marks marks = marked(
        p, {{"scaled", "0.67 0.00 ; 1.00 -0.33"}, {"weights", "0.66 0.34 ; 0.79 0.21"}, {"output", written}});
    return marks["output"] + ", " + list(marks.at("output").mistakes);
  };
  CHECK(output("4.93 4.00 ; 6.50 4.00") == "carried right ; carried right, none");
  CHECK(output("5.93 4.00 ; 6.50 4.00") == "wrong right ; carried right, M08");
  CHECK(output("5.93 4.00 ; 7.50 4.00") == "wrong right ; wrong right, none");
}

TEST_CASE("weights too coarse to say anything about the output excuse nothing in it") {
  // Weights 0.3 mean 0.25 to 0.35; times 40 the output lies somewhere from 10 to 14, in 40 units of 0.1.
  // True: 40/3 = 13.333; of the weights as written: 12.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("0 0")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("40 ; 0 ; 0")}});
  CHECK(marked(p, {{"weights", "0.3 0.3 0.3"}, {"output", "13.3"}})["output"] == "right");
  CHECK(marked(p, {{"weights", "0.3 0.3 0.3"}, {"output", "12.7"}})["output"] == "wrong");
  // With V = 4 the range is 0.4 wide, four units: 0.3 · 4 = 1.2 is honest.  True: 1.333.
  Problem mild = p;
  mild.given["V"] = rows_of("4 ; 0 ; 0");
  CHECK(marked(mild, {{"weights", "0.3 0.3 0.3"}, {"output", "1.2"}})["output"] == "rounded");
  CHECK(marked(mild, {{"weights", "0.3 0.3 0.3"}, {"output", "1.5"}})["output"] == "wrong");
}

TEST_CASE("weights rounded before use explain the output") {
  // Three equal keys: 0.33 · 3 + 0.33 · 6 + 0.33 · 9 = 5.94; true is 6.
  const Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("0 0")}, {"K", rows_of("1 0 ; 0 1 ; 1 1")}, {"V", rows_of("3 ; 6 ; 9")}});
  const Marks marks = marked(p, {{"weights", "0.33 0.33 0.33"}, {"output", "5.94"}});
  CHECK(marks["weights"] == "right right right");
  CHECK(marks["output"] == "rounded");
  CHECK(marks.judgement.is_right());
  CHECK(marks.judgement.points == 2);
  CHECK(marked(p, {{"weights", "0.33 0.33 0.33"}, {"output", "5.80"}})["output"] == "wrong");
}

}  // namespace
}  // namespace qkv::test

// The result alone, without a table of queries by keys, against the trace of the same problem.

#include <cstring>

#include "base/decimal.h"
#include "methods/exact_numbers.h"
#include "methods/untraced.h"
#include "problem/read_problem.h"
#include "reading.h"
#include "render/npy.h"
#include "support.h"

namespace qkv::test {
namespace {

// Decimals that are no doubles, row by row.
std::string rows_text(Random& random, Index rows, Index cols, double largest = 3, int digits = 3) {
  std::string text;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j)
      text += fmt::format("{:.{}f} ", random.eighths(3) / 3 * largest + 0.1, digits);
    text += "\n";
  }
  return text;
}

std::optional<Problem> read(const std::string& text, bool asks_for_result_alone) {
  Diagnostics diagnostics;
  ProblemInput input;
  input.file = source_from_text("a.qkv", text, diagnostics);
  input.asks_for_result_alone = asks_for_result_alone;
  auto problem = read_problem(input, diagnostics);
  INFO(render_diagnostics(diagnostics, Language::en, false));
  CHECK(problem.has_value());
  return problem;
}

bool have_same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

constexpr std::array kSettings{
    "",
    "mask = causal\n",
    "mask = window:3 sinks:1\nsoftcap = 2.5\n",
    "mask = causal segments:1,1,1,2,2,2,2\nscale = 0.3\ntemperature = 1.7\n",
    "heads = 4\nkv_heads = 2\nmask = window:2,1 global:3\nsink_logit = 0.1 -0.2 0.3 0.7\n",
    "heads = 2\nkv_heads = 1\nalibi = on\nmask = prefix:2\n",
    "scale = none\nmask = padding:1,0,1,1,0,1,1\nempty_row = nan\n"};

std::string problem_text(Random& random, const std::string& settings) {
  const bool has_groups = settings.find("kv_heads = 2") != std::string::npos;
  const bool has_heads = settings.find("heads = ") != std::string::npos;
  const Index d_k = 3;
  const Index d_v = 2;
  const Index groups = has_groups ? 2 : 1;
  const Index heads = has_groups ? 4 : (has_heads ? 2 : 1);
  return settings + "[Q]\n" + rows_text(random, 7, heads * d_k) + "[K]\n" +
         rows_text(random, 7, groups * d_k) + "[V]\n" + rows_text(random, 7, groups * d_v);
}

}  // namespace

TEST_CASE("the result alone has the bits of a trace on doubles, and is within its bound of the truth") {
  QKV_SAY_SEED();
  Random random(seed());
  for (const char* settings : kSettings) {
    CAPTURE(settings);
    const std::string text = problem_text(random, settings);
    const auto alone = read(text, true);
    const auto whole = read(text, false);
    REQUIRE(alone.has_value());
    REQUIRE(whole.has_value());
    CHECK(alone->allowed == nullptr);
    CHECK((alone->mask_rule != nullptr) ==
          (std::string_view(settings).find("mask") != std::string_view::npos));
    REQUIRE(can_be_untraced(*alone));
    const Plan plan = plan_of(*whole);
    const Untraced result = untraced(*alone, {});
    const Trace plain = run(plan, {.plain = true});
    CHECK(have_same_bits(*result.values, plain.values(plan.last_step())));
    const Untraced online = untraced(*alone, {.is_online = true});
    const Untraced floats = untraced_in_floats(*alone, {.is_online = true});
    const Trace truth = run(plan, {});
    const Index width = result.values->cols() / result.bounds.cols();
    for (Index i = 0; i < result.values->rows(); ++i) {
      for (Index j = 0; j < result.values->cols(); ++j) {
        const double true_value = truth.values(plan.last_step())(i, j);
        if (std::isnan(true_value)) continue;
        const Index head = j / width;
        CHECK(std::abs((*result.values)(i, j) - true_value) <= result.bounds(i, head) + 1e-16);
        CHECK(std::abs((*online.values)(i, j) - true_value) <= online.bounds(i, head) + 1e-16);
        CHECK(std::abs((*floats.values)(i, j) - true_value) <= floats.bounds(i, head) + 1e-16);
        CHECK(result.bounds(i, head) < 1e-12);
        CHECK(floats.bounds(i, head) < 1e-3);
      }
    }
  }
}

TEST_CASE("the problem of one query has its row of the result, digit for digit") {
  QKV_SAY_SEED();
  Random random(seed());
  for (const char* settings : kSettings) {
    CAPTURE(settings);
    const std::string text = problem_text(random, settings);
    const Problem whole = *read(text, false);
    const Problem alone = *read(text, true);
    const Trace trace = run(plan_of(whole), {});
    const NodeId last = trace.plan().last_step();
    for (const Index query : {Index{0}, Index{4}, Index{6}}) {
      const Trace one = run(plan_of(problem_of_query(alone, query)), {});
      const NodeId last_of_one = one.plan().last_step();
      REQUIRE(one.plan()[last_of_one].shape.rows == 1);
      for (Index j = 0; j < trace.plan()[last].shape.cols; ++j)
        CHECK(one.text(last_of_one, 0, j, 17) == trace.text(last, query, j, 17));
    }
  }
}

namespace {

// The same numbers as a reader of plain rows, or of an array, leaves them.
void keep_as_numbers(Problem& problem, bool are_doubles) {
  for (auto& [name, given] : problem.given) {
    const auto numbers = std::make_shared<Numbers>();
    numbers->rows = given.rows;
    numbers->cols = given.cols;
    numbers->are_doubles = are_doubles;
    numbers->values.reset(static_cast<double*>(std::malloc(given.cells.size() * sizeof(double))));
    for (std::size_t i = 0; i < given.cells.size(); ++i) {
      numbers->values[i] = given.cells[i].value;
      if (are_doubles) given.cells[i] = exactly(given.cells[i].value);
    }
    given.numbers = numbers;
  }
}

}  // namespace

TEST_CASE("what double-doubles decide of a row is the text of its trace") {
  if (!kDoublesArePlain) return;
  QKV_SAY_SEED();
  Random random(seed());
  Index decided = 0;
  Index open = 0;
  for (const char* settings : kSettings) {
    CAPTURE(settings);
    for (const char* kind : {"cells", "decimals", "doubles"}) {
      CAPTURE(kind);
      const std::string text = problem_text(random, settings);
      Problem whole = *read(text, false);
      Problem alone = *read(text, true);
      if (kind != std::string_view("cells")) {
        const bool are_doubles = kind == std::string_view("doubles");
        keep_as_numbers(whole, are_doubles);
        keep_as_numbers(alone, are_doubles);
        for (const char* name : {"Q", "K", "V"}) whole.given.find(name)->second.numbers = nullptr;
      }
      const Untraced doubles = untraced(alone, {});
      const UntracedRows rows(alone);
      REQUIRE(rows.are_any());
      const Trace trace = run(plan_of(whole), {});
      const NodeId last = trace.plan().last_step();
      for (const Index i : {Index{0}, Index{3}, Index{6}}) {
        for (Index head = 0; head < alone.heads; ++head) {
          if (doubles.bounds(i, head) == 0) continue;  // it sees nothing
          const auto row = rows.row(i, head);
          REQUIRE(row.has_value());
          CHECK(row->bound < 1e-25);
          const auto width = static_cast<Index>(row->values.size());
          for (Index c = 0; c < width; ++c) {
            for (const int decimals : {0, 1, 3, 8, 15, 16, 17}) {
              const auto found = fixed_text(row->values[static_cast<std::size_t>(c)], row->bound, decimals);
              if (found) CHECK(*found == trace.text(last, i, head * width + c, decimals));
              ++(found ? decided : open);
            }
          }
        }
      }
    }
  }
  CHECK(open <= decided / 20);  // a key alone has a value of three decimals: a tie at most
}

TEST_CASE("double-doubles leave to the trace what they do not know") {
  if (!kDoublesArePlain) return;
  const std::string rest = "[K]\n1\n2\n[V]\n1\n2\n";
  CHECK(UntracedRows(*read("[Q]\n1\n" + rest, true)).are_any());
  CHECK_FALSE(UntracedRows(*read("[Q]\n1e-200\n" + rest, true)).are_any());
  CHECK_FALSE(UntracedRows(*read("temperature = 1e-200\n[Q]\n1\n" + rest, true)).are_any());
}

TEST_CASE("a problem with another line is not computed without a trace") {
  Random random(1);
  const std::string matrices = problem_text(random, "");
  for (const char* settings : {"read = hard\n", "tile = 2x2\n", "rope = half\nrope_dims = 2\n",
                               "method = linear\n", "round = paper\n", "gradient = yes\n"}) {
    CAPTURE(settings);
    const auto problem = read(settings + matrices, true);
    REQUIRE(problem.has_value());
    CHECK_FALSE(can_be_untraced(*problem));
  }
  CHECK(can_be_untraced(*read(matrices, true)));
  const std::string projected = "[X]\n1 2\n3 4\n[W_Q]\n1 0\n0 1\n[W_K]\n1 0\n0 1\n[W_V]\n1 0\n0 1\n";
  CHECK(can_be_untraced(*read(projected, true)));
  for (const char* settings : {"decode = yes\n", "pos = sinusoidal\n", "residual = yes\n"}) {
    CAPTURE(settings);
    CHECK_FALSE(can_be_untraced(*read(settings + projected, true)));
  }
  CHECK_FALSE(can_be_untraced(*read("[Q]\n1\n[K]\n1\n", true)));  // V is symbols
  CHECK_FALSE(can_be_untraced(*read("[Q]\n1\n[K]\n1\n[V]\n1\n[bias]\n0.5\n", true)));
}

namespace {

// X and the projections of a layer.  d is the width of X.
std::string projected_text(Random& random, const std::string& settings, int digits = 3) {
  const bool is_cross = random.whole(0, 3) == 0 && settings.find("segments") == std::string::npos;
  const bool is_linear = random.whole(0, 2) == 0;
  const Index groups = random.whole(1, 2);
  const Index heads = groups * random.whole(1, 2);
  const Index d = random.whole(1, 5);
  const Index d_k = random.whole(1, 3);
  const Index d_v = random.whole(1, 3);
  const Index d_y = random.whole(1, 4);
  const bool has_biases = random.whole(0, 1) == 0;
  std::string text = settings + fmt::format("heads = {}\nkv_heads = {}\n", heads, groups);
  if (is_linear) text += "layout = linear\n";
  if (random.whole(0, 2) == 0) {
    text += "sink_logit =";
    for (Index h = 0; h < heads; ++h) text += fmt::format(" {:.2f}", 0.3 * static_cast<double>(h) - 0.25);
    text += "\n";
  }
  text += "[X]\n" + rows_text(random, is_cross ? 5 : 7, d, 3, digits);
  if (is_cross) text += "[X_kv]\n" + rows_text(random, 7, d, 3, digits);
  const auto project = [&](const std::string& role, Index rows, Index cols) {
    if (is_linear) std::swap(rows, cols);
    text += "[W_" + role + "]\n" + rows_text(random, rows, cols, 0.4, digits);
    if (has_biases) text += "[b_" + role + "]\n" + rows_text(random, 1, is_linear ? rows : cols, 1, digits);
  };
  project("Q", d, heads * d_k);
  project("K", d, groups * d_k);
  project("V", d, groups * d_v);
  if (random.whole(0, 2) > 0) project("O", heads * d_v, d_y);
  return text;
}

constexpr std::array kSettingsOfProjected{
    "",
    "mask = causal\n",
    "mask = window:3 sinks:1\nsoftcap = 2.5\n",
    "mask = causal segments:1,1,1,2,2,2,2\nscale = 0.3\ntemperature = 1.7\n",
    "mask = window:2,1 global:3\n",
    "alibi = on\nmask = prefix:2\n",
    "scale = none\nmask = padding:1,0,1,1,0,1,1\n",
    "mask = causal padding:0,1,1,1,0,1,1\nempty_row = nan\n",
    "mask = causal padding:0,1,1,1,0,1,1\n"};

// The texts of a row of the result, by the first means that decides each.
class Texts {
 public:
  explicit Texts(const Problem& problem)
      : problem_(problem), result_(untraced(problem, {})), again_(problem) {}

  std::string text(Index row, Index column, int decimals) {
    const Index width = result_.values->cols() / result_.bounds.cols();
    const Index part = column / width;
    const Bounded number{(*result_.values)(row, column), result_.bounds(row, part)};
    if (decides(number, decimals)) return fixed_text(number.value, decimals);
    ++asked_;
    if (const auto found = again_.row(row, part)) {
      const auto digits =
          fixed_text(found->values[static_cast<std::size_t>(column % width)], found->bound, decimals);
      if (digits) return *digits;
    }
    ++traced_;
    const Trace one = run(plan_of(problem_of_query(problem_, row)), {});
    return one.text(one.plan().last_step(), 0, column, decimals);
  }
  const Untraced& result() const { return result_; }
  Index asked() const { return asked_; }
  Index traced() const { return traced_; }

 private:
  const Problem& problem_;
  Untraced result_;
  UntracedRows again_;
  Index asked_ = 0, traced_ = 0;
};

}  // namespace

TEST_CASE("a projected problem without a trace has the bits of a trace on doubles, and its digits") {
  QKV_SAY_SEED();
  Random random(seed());
  Index asked = 0;
  Index traced = 0;
  for (Index round = 0; round < 108; ++round) {
    const std::string text = projected_text(
        random, kSettingsOfProjected[static_cast<std::size_t>(round) % kSettingsOfProjected.size()]);
    CAPTURE(text);
    const auto alone = read(text, true);
    const auto whole = read(text, false);
    REQUIRE(alone.has_value());
    REQUIRE(whole.has_value());
    REQUIRE(can_be_untraced(*alone));
    const Plan plan = plan_of(*whole);
    const NodeId last = plan.last_step();
    const Trace plain = run(plan, {.plain = true});
    const Trace truth = run(plan, {});
    for (const auto isa : {fast::Isa::baseline, fast::Isa::avx2, fast::Isa::avx512}) {
      for (const int threads : {1, 2, 3}) {
        if (!fast::is_available(isa)) continue;
        CHECK(have_same_bits(*untraced(*alone, {.isa = isa, .threads = threads}).values, plain.values(last)));
      }
    }
    Texts texts(*alone);
    const Untraced online = untraced(*alone, {.is_online = true});
    const Untraced floats = untraced_in_floats(*alone, {.is_online = true});
    for (Index i = 0; i < plain.values(last).rows(); ++i) {
      for (Index j = 0; j < plain.values(last).cols(); ++j) {
        for (const int decimals : {0, 1, 2, 3, 4, 6, 8, 9, 12, 15})
          CHECK(texts.text(i, j, decimals) == truth.text(last, i, j, decimals));
        const double true_value = truth.values(last)(i, j);
        if (std::isnan(true_value)) continue;
        for (const Untraced* result : {&texts.result(), &online, &floats}) {
          const double bound = result->bounds(i, j * result->bounds.cols() / result->values->cols());
          CHECK(std::abs((*result->values)(i, j) - true_value) <= bound + 1.2e-16 * std::abs(true_value));
          CHECK(bound < (result == &floats ? 1e-3 : 1e-12));
        }
      }
    }
    asked += texts.asked();
    traced += texts.traced();
  }
  CHECK(traced > 0);          // the first row of a causal mask is a decimal
  CHECK(asked > 2 * traced);  // most of what doubles leave open, double-doubles decide
}

TEST_CASE("a projected problem of plain decimals or doubles has the digits of its trace") {
  QKV_SAY_SEED();
  Random random(seed());
  for (Index round = 0; round < 27; ++round) {
    const int digits = round % 3 == 0 ? 12 : 3;  // whose products have more than doubles hold
    const std::string text = projected_text(
        random, kSettingsOfProjected[static_cast<std::size_t>(round) % kSettingsOfProjected.size()], digits);
    CAPTURE(text);
    const bool are_doubles = round % 2 == 1;
    Problem whole = *read(text, false);
    Problem alone = *read(text, true);
    keep_as_numbers(whole, are_doubles);
    keep_as_numbers(alone, are_doubles);
    for (auto& [name, given] : whole.given) given.numbers = nullptr;
    for (auto& [name, given] : alone.given) given.cells.clear();
    const Trace truth = run(plan_of(whole), {});
    const NodeId last = truth.plan().last_step();
    Texts texts(alone);
    for (const Index i : {Index{0}, Index{3}, Index{4}}) {
      for (Index j = 0; j < truth.plan()[last].shape.cols; ++j) {
        for (const int decimals : {0, 3, 6, 15, 17})
          CHECK(texts.text(i, j, decimals) == truth.text(last, i, j, decimals));
      }
    }
    if (are_doubles) CHECK(texts.traced() == 0);  // no tie stands among so many digits
  }
}

TEST_CASE("where a query sees one value only, the result is a decimal, ties among them") {
  QKV_SAY_SEED();
  Random random(seed());
  Index found = 0;
  Index asked = 0;
  for (Index round = 0; round < 60; ++round) {
    std::string text = kSettingsOfProjected[static_cast<std::size_t>(round) % kSettingsOfProjected.size()];
    if (round % 4 == 1) text += "sink_logit = 0.5 0.25\n";
    const bool are_equal = round % 3 == 0;  // every token; else each is there twice
    text += "heads = 2\nkv_heads = 1\n[X]\n";
    std::string token;
    for (Index i = 0; i < 7; ++i) {
      if (token.empty() || (!are_equal && i % 2 == 0)) token = rows_text(random, 1, 3);
      text += token;
    }
    text += "[W_Q]\n" + rows_text(random, 3, 4, 0.5) + "[W_K]\n" + rows_text(random, 3, 2, 0.5);
    text += "[W_V]\n0 1.5\n0 -0.25\n0 0.125\n[b_V]\n0.5 2\n";
    if (round % 2 == 1) text += "[W_O]\n" + rows_text(random, 4, 2) + "[b_O]\n0.25 -1.5\n";
    CAPTURE(text);
    const Problem whole = *read(text, false);
    const Problem alone = *read(text, true);
    const Trace truth = run(plan_of(whole), {});
    const NodeId last = truth.plan().last_step();
    const ExactNumbers exact(alone);
    for (Index i = 0; i < 7; ++i) {
      for (Index j = 0; j < truth.plan()[last].shape.cols; ++j) {
        for (const int decimals : {0, 1, 2, 3, 5, 6, 9}) {
          const auto digits = exact.text(i, j, decimals);
          if (digits) CHECK(*digits == truth.text(last, i, j, decimals));
          ++asked;
          if (digits) ++found;
        }
        const bool has_sinks = text.find("sink_logit") != std::string::npos;
        const bool is_nan = std::isnan(truth.values(last)(i, j));
        if (are_equal && !has_sinks && !is_nan) CHECK(exact.text(i, j, 2).has_value());
      }
    }
  }
  CHECK(found > asked / 4);
  CHECK(found < asked);
}

TEST_CASE("no size is too large for the result alone; a table of scores has a limit") {
  std::string column;
  for (int i = 0; i < 1200; ++i) column += fmt::format("{}\n", i % 3);
  const std::string text = "[Q]\n" + column + "[K]\n" + column + "[V]\n" + column;
  Diagnostics diagnostics;
  ProblemInput input;
  input.file = source_from_text("a.qkv", text, diagnostics);
  CHECK_FALSE(read_problem(input, diagnostics).has_value());
  CHECK(render_diagnostics(diagnostics, Language::en, false).find("1200×1200") != std::string::npos);
  const auto alone = read(text, true);
  REQUIRE(alone.has_value());
  // Scores of 0, 1 and 2 times the query: softmax over 400 of each; the middle query by hand.
  const Untraced result = untraced(*alone, {});
  const double e = std::exp(1.0);
  CHECK((*result.values)(1, 0) == doctest::Approx((e + 2 * e * e) / (1 + e + e * e)).epsilon(1e-13));
  CHECK((*result.values)(0, 0) == doctest::Approx(1).epsilon(1e-13));
}

}  // namespace qkv::test

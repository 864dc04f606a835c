// Laws of attention.  Most need no expected numbers at all: two problems that must agree are
// both computed, and because a proved trace gives the double nearest to the true value, they
// must agree in the last bit, although they got there along different ways.

#include <algorithm>

#include "base/decimal.h"
#include "ops/kernels.h"
#include "support.h"

namespace qkv::test {
namespace {

constexpr int kRounds = 8;  // random problems a law

// ---- Random problems --------------------------------------------------------------------

struct Sizes {
  Index queries;
  Index keys;
  Index width = 4;  // √4 = 2, so that scaled scores have few digits
  Index value_width = 2;
};

Problem random_qkv(Random& random, const Sizes& s) {
  return problem_at(Entry::qkv, {{"Q", rows_of(random.matrix(s.queries, s.width, 2))},
                                 {"K", rows_of(random.matrix(s.keys, s.width, 2))},
                                 {"V", rows_of(random.matrix(s.keys, s.value_width))}});
}

Problem from_scores(const Matrix& scores) { return problem_at(Entry::scores, {{"scores", rows_of(scores)}}); }
Problem from_scores(std::string_view text) { return problem_at(Entry::scores, {{"scores", rows_of(text)}}); }

Sizes random_sizes(Random& random) { return {random.whole(1, 4), random.whole(1, 5)}; }

Matrix with_rows(const Matrix& m, const std::vector<Index>& order) {
  Matrix result(m.rows(), m.cols());
  for (Index i = 0; i < m.rows(); ++i) result.row(i) = m.row(order[static_cast<std::size_t>(i)]);
  return result;
}

template <class F>
void many_times(std::uint64_t stream, F law) {
  QKV_SAY_SEED();
  Random random(stream);
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    law(random);
  }
}

// In the last bit.
void check_equal(const Matrix& a, const Matrix& b) { CHECK(apart(a, b, 0) == ""); }

const char* const kHandQ = "1 0 ; 0 1 ; 1 1";  // the three-token example of the second article
const char* const kHandV = "1.0 0.0 ; 0.0 1.0 ; 0.5 0.5";

Problem hand_example() {
  return problem_at(Entry::qkv, {{"Q", rows_of(kHandQ)}, {"K", rows_of(kHandQ)}, {"V", rows_of(kHandV)}});
}

}  // namespace

// ---- Weights ----------------------------------------------------------------------------

TEST_CASE("weights are not negative and every row sums to 1") {
  many_times(1, [](Random& random) {
    const Trace trace = traced(random_qkv(random, random_sizes(random)));
    const NodeId weights = node_named(trace.plan(), "weights");
    for (Index i = 0; i < trace.values(weights).rows(); ++i) {
      CHECK(trace.row_sum(weights, i) == 1);
      CHECK(trace.row_sum_text(weights, i, 10) == "1.0000000000");
      CHECK(trace.values(weights).row(i).minCoeff() > 0);
    }
  });
}

TEST_CASE("a constant added to a row of scores changes no weight") {
  many_times(2, [](Random& random) {
    const Matrix scores = random.matrix(3, 4);
    Matrix moved = scores;
    moved.row(0).array() += 0.375;
    moved.row(1).array() -= 1000;
    moved.row(2).array() += 1e9;
    check_equal(value(traced(from_scores(scores)), "weights"), value(traced(from_scores(moved)), "weights"));
  });
}

TEST_CASE("raising one score raises its weight and lowers every other of the row") {
  many_times(3, [](Random& random) {
    const Matrix scores = random.matrix(1, 4);
    Matrix raised = scores;
    raised(0, 2) += 0.5;
    const Matrix before = value(traced(from_scores(scores)), "weights");
    const Matrix after = value(traced(from_scores(raised)), "weights");
    for (Index j = 0; j < 4; ++j) CHECK((j == 2 ? after(0, j) > before(0, j) : after(0, j) < before(0, j)));
  });
}

TEST_CASE("a temperature of 2 is half the scores") {
  many_times(4, [](Random& random) {
    const Matrix scores = random.matrix(2, 4);
    Problem warm = from_scores(scores);
    warm.temperature = written("2");
    check_equal(value(traced(warm), "weights"), value(traced(from_scores(scores / 2)), "weights"));
    CHECK(apart(value(traced(warm), "weights"), value(traced(from_scores(scores)), "weights"), 1e-3) != "");
  });
}

TEST_CASE("scores scaled by hand with scale none are scaled scores") {
  many_times(5, [](Random& random) {
    Problem p = random_qkv(random, {3, 4});
    const Matrix halves = value(traced(p), "scores") / 2;  // √d_k = 2
    check_equal(value(traced(p), "scaled"), halves);
    check_equal(value(traced(p), "weights"), value(traced(from_scores(halves)), "weights"));
    p.scale = {ScaleKind::factor, written("1/2"), {}};
    check_equal(value(traced(p), "scaled"), halves);
  });
}

TEST_CASE("without a scale there is no scaled step") {
  Problem p = hand_example();
  p.scale.kind = ScaleKind::none;
  const Trace trace = traced(p);
  CHECK_FALSE(trace.plan().find("scaled"));
  // softmax(1, 0, 1) = (e, 1, e) / (2e + 1); mpmath.
  CHECK(shown(trace, "weights", 10).starts_with("0.4223187983 0.1553624035 0.4223187983"));
}

// ---- Tokens and their order -------------------------------------------------------------

TEST_CASE("shuffled tokens shuffle the rows of the output and nothing else") {
  many_times(6, [](Random& random) {
    const Matrix x = random.matrix(4, 3, 1);
    const std::vector<Index> order = random.shuffled(4);
    Sections sections{{"W_Q", rows_of(random.matrix(3, 4, 1))},
                      {"W_K", rows_of(random.matrix(3, 4, 1))},
                      {"W_V", rows_of(random.matrix(3, 2, 1))}};
    const auto output = [&](const Matrix& tokens) {
      sections.insert_or_assign("X", rows_of(tokens));
      return value(traced(problem_at(Entry::x, sections)), "output");
    };
    check_equal(output(with_rows(x, order)), with_rows(output(x), order));
  });
}

TEST_CASE("keys shuffled together with their values change no output") {
  many_times(7, [](Random& random) {
    const Matrix q = random.matrix(2, 4);
    const Matrix k = random.matrix(5, 4);
    const Matrix v = random.matrix(5, 3);
    const std::vector<Index> order = random.shuffled(5);
    const auto output = [&](const Matrix& keys, const Matrix& values) {
      return value(
          traced(problem_at(Entry::qkv, {{"Q", rows_of(q)}, {"K", rows_of(keys)}, {"V", rows_of(values)}})),
          "output");
    };
    check_equal(output(k, v), output(with_rows(k, order), with_rows(v, order)));
  });
}

TEST_CASE("under a causal mask the first tokens do not know that others follow") {
  many_times(8, [](Random& random) {
    const Matrix q = random.matrix(5, 4);
    const Matrix k = random.matrix(5, 4);
    const Matrix v = random.matrix(5, 2);
    const auto output = [&](Index tokens) {
      Problem p = problem_at(Entry::qkv, {{"Q", rows_of(Matrix(q.topRows(tokens)))},
                                          {"K", rows_of(Matrix(k.topRows(tokens)))},
                                          {"V", rows_of(Matrix(v.topRows(tokens)))}});
      forbid(p, causal_mask(tokens, tokens, 0));
      return value(traced(p), "output");
    };
    const Matrix all = output(5);
    for (const Index tokens : {1, 3}) check_equal(output(tokens), all.topRows(tokens));
  });
}

TEST_CASE("the same matrix in both roles gives a symmetric table of scores") {
  Problem p = hand_example();
  p.same_as.emplace("K", "Q");
  const Trace trace = traced(p);
  CHECK(shown(trace, "K", 0) == "1 0 ; 0 1 ; 1 1");
  CHECK(shown(trace, "scores", 0) == "1 0 1 ; 0 1 1 ; 1 1 2");
}

TEST_CASE("keys and values of the other sequence are projected from it") {
  // One query, two keys: Q = 2, K = (3, 6), V = (10, 20) by hand.
  const Trace trace = traced(problem_at(Entry::x, {{"X", rows_of("1 0")},
                                                   {"X_kv", rows_of("0 1 ; 0 2")},
                                                   {"W_Q", rows_of("2 ; 5")},
                                                   {"W_K", rows_of("7 ; 3")},
                                                   {"W_V", rows_of("7 ; 10")}}));
  CHECK(shown(trace, "Q", 0) == "2");
  CHECK(shown(trace, "K", 0) == "3 ; 6");
  CHECK(shown(trace, "V", 0) == "10 ; 20");
  CHECK(shown(trace, "scores", 0) == "6 12");
}

// ---- Masks ------------------------------------------------------------------------------

TEST_CASE("the weight of a forbidden key is zero for certain, whatever its score") {
  many_times(9, [](Random& random) {
    Problem p = random_qkv(random, {3, 5});
    const Mask mask = random.mask(3, 5);
    if (random.whole(0, 1) == 1) p.softcap = written("5");
    if (random.whole(0, 1) == 1) p.sink_logits = {written("0.7")};
    if (random.whole(0, 1) == 1) p.temperature = written("2");
    forbid(p, mask);
    const Trace trace = traced(p);
    const Matrix doubles = in_doubles(trace.plan())[node_named(trace.plan(), "weights")];
    const NodeId weights = node_named(trace.plan(), "weights");
    for (Index i = 0; i < 3; ++i) {
      for (Index j = 0; j < 5; ++j) {
        CHECK(trace.is_exactly_zero(weights, i, j) == !mask(i, j));
        CHECK((trace.values(weights)(i, j) == 0) == !mask(i, j));
        CHECK((doubles(i, j) == 0) == !mask(i, j));
        CHECK((value(trace, "masked")(i, j) == -kInfinity) == !mask(i, j));
      }
    }
  });
}

TEST_CASE("a forbidden key counts as absent") {
  many_times(10, [](Random& random) {
    const Matrix scores = random.matrix(1, 3);
    const Matrix v = random.matrix(3, 2);
    Problem p = problem_at(Entry::scores, {{"scores", rows_of(scores)}, {"V", rows_of(v)}});
    forbid(p, mask_of("1 0 1"));
    Matrix two(1, 2);
    two << scores(0, 0), scores(0, 2);
    const Problem shorter =
        problem_at(Entry::scores,
                   {{"scores", rows_of(two)}, {"V", rows_of(Matrix(with_rows(v, {0, 2, 1}).topRows(2)))}});
    check_equal(value(traced(p), "output"), value(traced(shorter), "output"));
  });
}

TEST_CASE("nothing of a forbidden value leaks into the output") {
  // 1e300 · 0 would be 0, but not if the weight were only small.
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("5 5 900")}, {"V", rows_of("1 ; 3 ; 1e300")}});
  forbid(p, mask_of("1 1 0"));
  CHECK(value(traced(p), "output")(0, 0) == 2);
  CHECK(in_doubles(plan_of(p)).back()(0, 0) == 2);
}

TEST_CASE("a forbidden key takes no part in the read, so not even an infinite value can leak in") {
  // 0 · inf would be NaN.
  Params params;
  params.allowed = std::make_shared<const Mask>(mask_of("1 0"));
  const Matrix v = matrix("3 ; inf");
  CHECK(kernels::weighted_sum<double>(matrix("1 0"), v, params)(0, 0) == 3);
  CHECK(std::isnan(kernels::weighted_sum<double>(matrix("1 0"), v, {})(0, 0)));
}

TEST_CASE("a fully forbidden row gives zero weights and output, not NaN") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 2 ; 0 0")}, {"V", rows_of("1 ; 3")}});
  forbid(p, mask_of("0 0 ; 1 1"));
  const Trace trace = traced(p);
  CHECK(shown(trace, "masked", 1) == "−∞ −∞ ; 0.0 0.0");
  CHECK(shown(trace, "max", 1) == "−∞ ; 0.0");
  CHECK(shown(trace, "exp", 1) == "0 0 ; 1.0 1.0");
  CHECK(shown(trace, "weights", 1) == "0 0 ; 0.5 0.5");
  CHECK(shown(trace, "output", 1) == "0.0 ; 2.0");
}

TEST_CASE("a fully forbidden row gives NaN where the problem asks for it, beside a sink too") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 2 ; 0 0")}, {"V", rows_of("1 ; 3")}});
  forbid(p, mask_of("0 0 ; 1 1"));
  p.empty_row = EmptyRow::nan;
  CHECK(shown(traced(p), "weights", 1) == "nan nan ; 0.5 0.5");
  CHECK(shown(traced(p), "output", 1) == "nan ; 2.0");
  // Whether a row is empty is decided by the mask alone; a sink is no key.
  p.sink_logits = {written("0")};
  CHECK(shown(traced(p), "weights", 2) == "nan nan ; 0.33 0.33");
  CHECK(shown(traced(p), "output", 2) == "nan ; 1.33");
}

TEST_CASE("the cap stands before the mask, or tanh would bring forbidden keys back") {
  Problem p = from_scores("100 100 -100");
  p.softcap = written("5");
  forbid(p, mask_of("1 0 1"));
  const Trace trace = traced(p);
  CHECK(shown(trace, "capped", 4) == "5.0000 5.0000 -5.0000");
  CHECK(shown(trace, "masked", 4) == "5.0000 −∞ -5.0000");
  // 1 / (1 + e^-10) and its rest; mpmath.
  CHECK(shown(trace, "weights", 10) == "0.9999546021 0 0.0000453979");
}

TEST_CASE("given scaled scores are capped too") {
  Problem p = problem_at(Entry::scaled, {{"scaled", rows_of("3 100")}});
  p.softcap = written("5");
  CHECK(shown(traced(p), "capped", 4) == "2.6852 5.0000");  // mpmath: 5·tanh(3/5)
}

TEST_CASE("a minus infinity among given scores outlives scaling, cap and temperature") {
  Problem p = from_scores("1 -inf 2");
  p.scale = {ScaleKind::factor, written("-2"), {}};
  p.softcap = written("5");
  p.temperature = written("2");
  const Trace trace = traced(p);
  for (const char* step : {"scores", "scaled", "capped", "tempered", "shifted"}) {
    INFO(std::string(step));
    CHECK(value(trace, step)(0, 1) == -kInfinity);
    CHECK(shown_cell(trace, {node_named(trace.plan(), step), 0, 1}, 2).role == CellRole::forbidden);
  }
  CHECK(shown(trace, "weights", 2).find(" 0 ") != std::string::npos);
  const CellAt capped{node_named(trace.plan(), "capped"), 0, 1};
  CHECK(expression_in_numbers(trace, capped, 2) == "−∞");
}

TEST_CASE("a minus infinity in the bias forbids its key and is no mask matrix") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 1 1")}, {"bias", rows_of("0 -inf 0")}});
  const Trace trace = traced(p);
  CHECK_FALSE(trace.plan().find("M"));
  CHECK(shown(trace, "masked", 1) == "1.0 −∞ 1.0");
  CHECK(shown(trace, "weights", 1) == "0.5 0 0.5");
}

// ---- Bias, ALiBi, sink --------------------------------------------------------------------

TEST_CASE("ALiBi is the bias of its distances") {
  many_times(11, [](Random& random) {
    const Index n = 3;
    const Index m = 4;
    Problem alibi = random_qkv(random, {n, m});
    alibi.slopes = {written("0.125")};
    alibi.align = random.whole(-2, 2);
    Matrix distances(n, m);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < m; ++j)
        distances(i, j) = -0.125 * static_cast<double>(std::abs(i + alibi.align - j));
    }
    Problem bias = alibi;
    bias.slopes.clear();
    bias.given.emplace("bias", rows_of(distances));
    check_equal(value(traced(alibi), "bias"), distances);
    check_equal(value(traced(alibi), "output"), value(traced(bias), "output"));
    // Both together: twice the distances.
    Problem both = bias;
    both.slopes = alibi.slopes;
    check_equal(value(traced(both), "bias"), 2 * distances);
  });
}

TEST_CASE("a sink is one more key with its score and the value zero") {
  many_times(12, [](Random& random) {
    const Matrix scores = random.matrix(3, 4);
    const Matrix v = random.matrix(4, 2);
    Problem sink = problem_at(Entry::scores, {{"scores", rows_of(scores)}, {"V", rows_of(v)}});
    sink.sink_logits = {written("0.75")};
    Matrix wider(3, 5);
    wider << scores, Matrix::Constant(3, 1, 0.75);
    Matrix taller(5, 2);
    taller << v, Matrix::Zero(1, 2);
    const Trace with_sink = traced(sink);
    const Trace with_key =
        traced(problem_at(Entry::scores, {{"scores", rows_of(wider)}, {"V", rows_of(taller)}}));
    check_equal(value(with_sink, "max"), value(with_key, "max"));
    check_equal(value(with_sink, "sum"), value(with_key, "sum"));
    check_equal(value(with_sink, "weights"), value(with_key, "weights").leftCols(4));
    check_equal(value(with_sink, "output"), value(with_key, "output"));
  });
}

// ---- The read -----------------------------------------------------------------------------

TEST_CASE("every output lies between the smallest and the largest value of its column") {
  many_times(13, [](Random& random) {
    const Trace trace = traced(random_qkv(random, random_sizes(random)));
    const Matrix& v = value(trace, "V");
    const Matrix& output = value(trace, "output");
    for (Index c = 0; c < v.cols(); ++c) {
      CHECK(output.col(c).minCoeff() >= v.col(c).minCoeff());
      CHECK(output.col(c).maxCoeff() <= v.col(c).maxCoeff());
    }
  });
}

TEST_CASE("the coefficients of symbolic values are the weights") {
  many_times(14, [](Random& random) {
    Problem p = from_scores(random.matrix(3, 4));  // no V: v1 v2 v3 v4
    forbid(p, random.mask(3, 4));
    const Trace trace = traced(p);
    check_equal(value(trace, "output"), value(trace, "weights"));
    CHECK(trace.plan()[node_named(trace.plan(), "output")].basis ==
          std::vector<std::string>{"v1", "v2", "v3", "v4"});
  });
}

TEST_CASE("symbols and numbers may stand in one V") {
  // Equal scores: the mean of a and 2, of a and b, of 1 and 3.
  const Problem p = problem_at(Entry::scores, {{"scores", rows_of("7 7")}, {"V", rows_of("a a 1 ; 2 b 3")}});
  CHECK(shown(traced(p), "output", 2) == "1.00 + 0.50·a 0.50·a + 0.50·b 2.00");
}

TEST_CASE("an output projection of symbols agrees with that of the numbers they stand for") {
  many_times(15, [](Random& random) {
    const Matrix v = random.matrix(2, 2);
    Problem p = problem_at(Entry::scores, {{"scores", rows_of(random.matrix(3, 2))},
                                           {"V", rows_of("a b ; c d")},
                                           {"W_O", rows_of(random.matrix(2, 3))},
                                           {"b_O", rows_of(random.matrix(1, 3))}});
    if (random.whole(0, 1) == 1) {
      p.layout = Layout::linear;
      p.given.find("W_O")->second = rows_of(Matrix(doubles_of(p["W_O"]).transpose()));
    }
    const Matrix symbolic = value(traced(p), "Y");
    p.given.find("V")->second = rows_of(v);
    const Matrix numeric = value(traced(p), "Y");
    // The basis is 1, a, b, c, d.
    REQUIRE(symbolic.cols() == 5 * numeric.cols());
    Eigen::Matrix<double, 5, 1> meaning;
    meaning << 1, v(0, 0), v(0, 1), v(1, 0), v(1, 1);
    for (Index i = 0; i < numeric.rows(); ++i) {
      for (Index j = 0; j < numeric.cols(); ++j) {
        CHECK((symbolic.block(i, 5 * j, 1, 5) * meaning)(0, 0) ==
              doctest::Approx(numeric(i, j)).epsilon(1e-13));
      }
    }
  });
}

TEST_CASE("a hard read takes the value of the largest weight, the first of equals") {
  Problem p = problem_at(Entry::scores,
                         {{"scores", rows_of("1 3 2 ; 2 2 1 ; 1 5 5")}, {"V", rows_of("10 ; 20 ; 30")}});
  p.read = ReadKind::hard;
  const Trace trace = traced(p);
  CHECK(shown(trace, "output", 0) == "20 ; 10 ; 20");
  // The soft read stands beside it: by hand for row 1 (e·10 + e³·20 + e²·30) / (e + e³ + e²); mpmath.
  CHECK(shown(trace, "soft.output", 6).starts_with("21.546979"));
}

TEST_CASE("a hard read knows a tie of numbers that no double holds exactly") {
  // 0.1 + 0.2 and 0.3 are equal, as doubles they are not.
  Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("0.1 0.2 0.3")}, {"K", rows_of("0 0 1 ; 1 1 0")}, {"V", rows_of("1 ; 2")}});
  p.read = ReadKind::hard;
  p.scale.kind = ScaleKind::none;
  CHECK(shown(traced(p), "output", 0) == "1");
}

TEST_CASE("a hard read passes forbidden keys by") {
  Problem p =
      problem_at(Entry::scores, {{"scores", rows_of("9 1 2 ; 1 1 1")}, {"V", rows_of("10 ; 20 ; 30")}});
  p.read = ReadKind::hard;
  forbid(p, mask_of("0 1 1 ; 0 0 0"));
  CHECK(shown(traced(p), "output", 0) == "30 ; 0");
}

// ---- Where one enters, how things are stored ----------------------------------------------

TEST_CASE("entering at scores, scaled or masked gives the same output as at Q K V") {
  many_times(16, [](Random& random) {
    Problem p = random_qkv(random, {3, 4});
    forbid(p, random.mask(3, 4));
    const Trace whole = traced(p);
    const auto entered_at = [&](Entry entry, const char* table) {
      // Scores are multiples of 1/64 and √d_k is 2: all digits of these tables are known.
      Problem q = problem_at(entry, {{table, rows_of(value(whole, table))}, {"V", p["V"]}});
      if (entry != Entry::masked) forbid(q, *p.mask);
      if (entry == Entry::scores) q.scale = p.scale;
      return traced(q);
    };
    for (const auto& [entry, table] :
         {std::pair{Entry::scores, "scores"}, {Entry::scaled, "scaled"}, {Entry::masked, "masked"}}) {
      const std::string entered = table;  // clang 14 lets no lambda, and so no INFO, see a structured binding
      INFO("entered at ", entered);
      const Trace part = entered_at(entry, table);
      CHECK_FALSE(part.plan().find("Q"));
      check_equal(value(part, "weights"), value(whole, "weights"));
      check_equal(value(part, "output"), value(whole, "output"));
    }
  });
}

TEST_CASE("entering at weights gives the same output as entering at their scores") {
  // Equal scores under a causal mask: 1, 1/2, 1/3.
  Problem p = problem_at(Entry::scores,
                         {{"scores", rows_of("4 4 4 ; 4 4 4 ; 4 4 4")}, {"V", rows_of("1 0 ; 5 0 ; 0 2")}});
  forbid(p, causal_mask(3, 3, 0));
  const Problem w =
      problem_at(Entry::weights, {{"weights", rows_of("1 0 0 ; 1/2 1/2 0 ; 1/3 1/3 1/3")}, {"V", p["V"]}});
  check_equal(value(traced(w), "weights"), value(traced(p), "weights"));
  check_equal(value(traced(w), "output"), value(traced(p), "output"));
}

TEST_CASE("layout linear is the transposed matrix") {
  many_times(17, [](Random& random) {
    const Matrix x = random.matrix(3, 3);
    const Matrix w = random.matrix(3, 4);  // not square: a wrong transposition would not fit
    const Matrix w_v = random.matrix(3, 2);
    const Matrix w_o = random.matrix(2, 3);
    const auto trace = [&](Layout layout) {
      const auto stored = [&](const Matrix& m) {
        return rows_of(layout == Layout::linear ? Matrix(m.transpose()) : m);
      };
      Problem p = problem_at(Entry::x, {{"X", rows_of(x)},
                                        {"W_Q", stored(w)},
                                        {"W_K", stored(2 * w)},
                                        {"W_V", stored(w_v)},
                                        {"W_O", stored(w_o)}});
      p.layout = layout;
      p.scale.d_k = whole_number(4);
      return traced(p);
    };
    const Trace columns = trace(Layout::columns);
    const Trace linear = trace(Layout::linear);
    for (const char* step : {"Q", "K", "V", "weights", "Y"})
      check_equal(value(columns, step), value(linear, step));
  });
}

TEST_CASE("the general score is the dot product of projected queries") {
  many_times(18, [](Random& random) {
    const Matrix q = random.matrix(2, 3);
    const Matrix k = random.matrix(4, 2);
    const Matrix w = random.matrix(3, 2);
    Problem general = problem_at(Entry::qkv, {{"Q", rows_of(q)}, {"K", rows_of(k)}, {"W_a", rows_of(w)}});
    general.score = ScoreKind::general;
    general.scale.kind = ScaleKind::none;
    check_equal(value(traced(general), "scores"), q * w * k.transpose());  // eighths: exact in doubles
  });
}

TEST_CASE("the concat score is the additive one with its matrix cut in two") {
  many_times(19, [](Random& random) {
    const Matrix w = random.matrix(5, 3, 1);
    Problem p = problem_at(Entry::qkv, {{"Q", rows_of(random.matrix(2, 3, 1))},
                                        {"K", rows_of(random.matrix(4, 2, 1))},
                                        {"v_a", rows_of(random.matrix(1, 3))},
                                        {"W_a", rows_of(w)}});
    p.score = ScoreKind::concat;
    p.scale.kind = ScaleKind::none;
    Problem additive = p;
    additive.score = ScoreKind::additive;
    additive.given.find("W_a")->second = rows_of(Matrix(w.topRows(3)));
    additive.given.emplace("U_a", rows_of(Matrix(w.bottomRows(2))));
    check_equal(value(traced(p), "scores"), value(traced(additive), "scores"));
    Problem biased = additive;
    biased.given.emplace("b_a", rows_of("0 0 0"));
    check_equal(value(traced(biased), "scores"), value(traced(additive), "scores"));
    biased.given.find("b_a")->second = rows_of("1 1 1");
    CHECK(apart(value(traced(biased), "scores"), value(traced(additive), "scores"), 1e-6) != "");
  });
}

// ---- Rounding -----------------------------------------------------------------------------

TEST_CASE("rounding every step to two decimals gives the numbers the second article prints") {
  // On paper: e^-0.71 = 0.49, 1 / 2.49 = 0.40, 0.49 / 2.49 = 0.20; 0.40 + 0.40 / 2 = 0.60 exactly.
  const Trace paper = run(plan_of(hand_example()), {.rounds_to = 2});
  CHECK(shown(paper, "scaled", 2) == "0.71 0.00 0.71 ; 0.00 0.71 0.71 ; 0.71 0.71 1.41");
  CHECK(shown(paper, "exp", 2) == "1.00 0.49 1.00 ; 0.49 1.00 1.00 ; 0.50 0.50 1.00");
  CHECK(shown(paper, "sum", 2) == "2.49 ; 2.49 ; 2.00");
  CHECK(shown(paper, "weights", 2) == "0.40 0.20 0.40 ; 0.20 0.40 0.40 ; 0.25 0.25 0.50");
  CHECK(shown(paper, "output", 4) == "0.6000 0.4000 ; 0.4000 0.6000 ; 0.5000 0.5000");
  CHECK(value(paper, "output")(0, 0) == 0.6);
  // Carried exactly, the third decimal differs: worked-examples.md, B1.
  CHECK(shown(traced(hand_example()), "output", 3) == "0.602 0.398 ; 0.398 0.602 ; 0.500 0.500");
}

TEST_CASE("as many digits as one asks for are right") {
  // 0.4011120926797859103140104, computed with 60 digits: vectors/seed_hand3.json.
  const Trace trace = traced(hand_example());
  CHECK(trace.text(node_named(trace.plan(), "weights"), 0, 0, 17) == "0.40111209267978591");
}

TEST_CASE("a value exactly between two decimals goes to the even one, however it came about") {
  // Binary fractions, and sums of tenths that no double and no interval of finite digits holds.
  const Trace trace = traced(problem_at(
      Entry::qkv,
      {{"Q", rows_of("1 0 ; 0 1")}, {"K", rows_of("0.125 0.375 ; -0.125 0.625")}, {"V", rows_of("1 ; 1")}}));
  CHECK(shown(trace, "scores", 2) == "0.12 -0.12 ; 0.38 0.62");
  const Trace tenths =
      traced(problem_at(Entry::qkv, {{"Q", rows_of("0.1 0.025 ; 0.3 0.075 ; -0.1 -0.025 ; 0.7 0.295")},
                                     {"K", rows_of("1 1")},
                                     {"V", rows_of("1")}}));
  CHECK(shown(tenths, "scores", 2) == "0.12 ; 0.38 ; -0.12 ; 1.00");
}

// ---- The ends of the number line ----------------------------------------------------------

TEST_CASE("0.1 + 0.2 - 0.3 is zero") {
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of("0.1 0.2 -0.3")}, {"K", rows_of("1 1 1 ; 0 0 0")}});
  const Trace trace = traced(p);
  CHECK(value(trace, "scores")(0, 0) == 0);
  CHECK(shown(trace, "weights", 17) == "0.50000000000000000 0.50000000000000000");
}

TEST_CASE("what is left of a cancellation is found, however small it is") {
  // With 40 digits the sums could still be zero or negative.
  const Problem p = problem_at(Entry::qkv, {{"Q", rows_of("1/3 -1/3 1e-45")}, {"K", rows_of("1 1 1")}});
  CHECK(value(traced(p), "scores")(0, 0) == 1e-45);
  // With exponentials: equal weights of 1 and -1, and w = e^0.3 / (2·e^0.1 + e^0.3) of 1e-45; mpmath.
  const Problem q =
      problem_at(Entry::scores, {{"scores", rows_of("0.1 0.1 0.3")}, {"V", rows_of("1 ; -1 ; 1e-45")}});
  CHECK(value(traced(q), "output")(0, 0) == 0.37915245309398876e-45);
}

TEST_CASE("scores of 1e308 give right weights, and what no double holds is said") {
  const Trace trace = traced(from_scores("1e308 1e308 -1e308"));
  CHECK(shown(trace, "shifted", 2) == "0.00 0.00 -2.00e+308");
  CHECK(shown(trace, "weights", 2) == "0.50 0.50 0.00");
  CHECK(value(trace, "shifted")(0, 2) == -kInfinity);
  CHECK_FALSE(trace.is_exactly_zero(node_named(trace.plan(), "weights"), 0, 2));
  REQUIRE(trace.warnings().size() == 1);
  CHECK(trace.warnings()[0].en.starts_with("shifted[t1,k3] is larger than any double"));
}

TEST_CASE("products beyond the doubles do not disturb the weights") {
  // 1e200 · 1e200 = 1e400, the other key 1e400 − 1.
  Problem p = problem_at(
      Entry::qkv, {{"Q", rows_of("1e200 1")}, {"K", rows_of("1e200 0 ; 1e200 -1")}, {"V", rows_of("1 ; 0")}});
  p.scale.kind = ScaleKind::none;
  const Trace trace = traced(p);
  CHECK(shown(trace, "scores", 4) == "1.0000e+400 1.0000e+400");
  CHECK(shown(trace, "output", 10) == "0.7310585786");  // 1 / (1 + 1/e)
  CHECK_FALSE(trace.warnings().empty());
}

TEST_CASE("scores that differ by 1 at 1e16 have the weights of 1 and 0") {
  // No double lies between 10^16 and 10^16 + 2; as written the two differ.
  const Trace trace = traced(from_scores("10000000000000001 10000000000000000"));
  CHECK(shown(trace, "shifted", 1) == "0.0 -1.0");
  CHECK(shown(trace, "weights", 10) == "0.7310585786 0.2689414214");
  CHECK(trace.warnings().empty());
}

TEST_CASE("differences of 1e16 leave the smaller score no digit, but not exactly nothing") {
  const Trace trace = traced(from_scores("1e16 0"));
  CHECK(shown(trace, "weights", 4) == "1.0000 0.0000");
  CHECK_FALSE(trace.is_exactly_zero(node_named(trace.plan(), "weights"), 0, 1));
  CHECK(shown(trace, "shifted", 4) == "0.0000 -1.0000e+16");
}

TEST_CASE("subnormal numbers are numbers") {
  const Problem p =
      problem_at(Entry::scores, {{"scores", rows_of("5e-324 -5e-324")}, {"V", rows_of("3e-310 ; 1e-310")}});
  const Trace trace = traced(p);
  CHECK(value(trace, "scores")(0, 0) == 5e-324);
  CHECK(shown(trace, "weights", 4) == "0.5000 0.5000");
  CHECK(value(trace, "output")(0, 0) == 2e-310);
  CHECK(trace.warnings().empty());
}

TEST_CASE("minus zero is zero, and no rounded number is -0.00") {
  const Problem p =
      problem_at(Entry::scores, {{"scores", rows_of("-0 -0.0 -0.00001")}, {"V", rows_of("-0 ; 0 ; -0.0")}});
  const Trace trace = traced(p);
  CHECK(shown(trace, "scores", 4) == "0.0000 0.0000 0.0000");
  CHECK(shown(trace, "output", 2) == "0.00");
  CHECK_FALSE(std::signbit(value(trace, "scores")(0, 0)));
  CHECK_FALSE(std::signbit(value(trace, "output")(0, 0)));
  CHECK(fixed_text(-0.004, 2) == "0.00");
  CHECK(fixed_text(-0.0, 0) == "0");
}

TEST_CASE("keys with an infinite score share the weight, and that is said") {
  const Trace trace = traced(from_scores("inf 700 inf"));
  CHECK(shown(trace, "weights", 2) == "0.50 0.00 0.50");
  CHECK(value(trace, "weights")(0, 1) == 0);
  REQUIRE(trace.warnings().size() == 1);
  CHECK(trace.warnings()[0].en.starts_with("scores[t1,k1] is +∞"));
}

TEST_CASE("the naive exponentials, computed with more range, divide to the same weights") {
  const Trace trace = traced(from_scores("1000 1001"));
  CHECK(shown(trace, "weights", 10) == "0.2689414214 0.7310585786");
  CHECK(shown(trace, "naive.exp", 4) == "1.9701e+434 5.3552e+434");  // mpmath: e^1000, e^1001
  CHECK(trace.warnings().empty());                                   // nothing is computed from them
}

// ---- Large problems -----------------------------------------------------------------------

TEST_CASE("a large problem is computed in doubles, says so, and agrees with a plain loop") {
  QKV_SAY_SEED();
  Random random(20);
  const Index n = 200;
  const Index d = 8;
  const Matrix q = random.matrix(n, d);
  const Matrix k = random.matrix(n, d);
  const Matrix v = random.matrix(n, 3);
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of(q)}, {"K", rows_of(k)}, {"V", rows_of(v)}});
  forbid(p, causal_mask(n, n, 0));
  const Trace trace = traced(p);
  CHECK(trace.arithmetic() == Arithmetic::doubles);
  CHECK(trace.warnings().empty());

  Matrix expected(n, 3);
  for (Index i = 0; i < n; ++i) {
    long double sum = 0;
    std::vector<long double> read(3, 0);
    for (Index j = 0; j <= i; ++j) {
      long double score = 0;
      for (Index r = 0; r < d; ++r) score += static_cast<long double>(q(i, r)) * k(j, r);
      const long double e = std::exp(score / std::sqrt(8.0L));
      sum += e;
      for (Index c = 0; c < 3; ++c) read[static_cast<std::size_t>(c)] += e * v(j, c);
    }
    for (Index c = 0; c < 3; ++c)
      expected(i, c) = static_cast<double>(read[static_cast<std::size_t>(c)] / sum);
  }
  CHECK(apart(value(trace, "output"), expected, 1e-12) == "");

  // The last five queries alone are few enough to be proved.
  Problem few =
      problem_at(Entry::qkv, {{"Q", rows_of(Matrix(q.bottomRows(5)))}, {"K", p["K"]}, {"V", p["V"]}});
  forbid(few, causal_mask(5, n, few.align));
  const Trace proved = traced(few);
  CHECK(proved.arithmetic() == Arithmetic::proved);
  for (const char* step : {"scaled", "weights", "output"}) {
    CHECK(apart(value(trace, step).bottomRows(5), value(proved, step), 1e-12) == "");
  }
}

TEST_CASE("a large problem that overflows is not passed over in silence") {
  const Index n = 200;
  Matrix q = Matrix::Constant(n, 1, 1e200);
  Problem p = problem_at(Entry::qkv,
                         {{"Q", rows_of(q)}, {"K", rows_of(q)}, {"V", rows_of(Matrix(Matrix::Ones(n, 1)))}});
  const Trace trace = traced(p);
  REQUIRE(trace.arithmetic() == Arithmetic::doubles);
  REQUIRE(trace.warnings().size() == 1);
  CHECK(trace.warnings()[0].en.starts_with("scores[t1,t1] is"));
}

TEST_CASE("a large problem rounds every step when asked to") {
  const Index n = 200;
  const Matrix ones = Matrix::Ones(n, 1);
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of(ones)}, {"K", rows_of(ones)}, {"V", rows_of(ones)}});
  const Trace trace = run(plan_of(p), {.rounds_to = 2});
  REQUIRE(trace.arithmetic() == Arithmetic::doubles);
  // 1/200 lies exactly between 0.00 and 0.01, and 0 is even; the double 0.005 would be a little more.
  CHECK(value(trace, "weights")(0, 0) == 0);
  CHECK(value(trace, "output")(0, 0) == 0);
}

}  // namespace qkv::test

// Linear attention: both orders of multiplication agree, the state of a token is that of the tokens
// up to it, and what a small state cannot do.

#include <Eigen/LU>
#include <set>

#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

struct Case {
  Problem problem;
  Matrix q, k, v;
};

Case random_case(Random& random, Phi phi, bool is_causal, Index heads = 1) {
  const Index n = random.whole(1, 5);
  const Index m = is_causal ? n : random.whole(1, 5);
  const Index d = random.whole(1, 3);
  Case c{.problem = {},
         .q = random.matrix(n, heads * d),
         .k = random.matrix(m, heads * d),
         .v = random.matrix(m, heads * random.whole(1, 3))};
  c.problem = problem_at(Entry::qkv, {{"Q", rows_of(c.q)}, {"K", rows_of(c.k)}, {"V", rows_of(c.v)}});
  c.problem.method = MethodKind::linear;
  c.problem.phi = phi;
  c.problem.heads = c.problem.kv_heads = heads;
  // Relu and identity have sums that may be 0; more than any sum of such small features is added.
  c.problem.eps = written(phi == Phi::elu_plus_1 || phi == Phi::exp ? "0" : "1000");
  if (is_causal) forbid(c.problem, causal_mask(n, n, 0));
  return c;
}

Matrix phi_of(const Matrix& x, Phi phi) {
  return x.unaryExpr([phi](double a) {
    switch (phi) {
      case Phi::elu_plus_1:
        return a > 0 ? a + 1 : std::exp(a);
      case Phi::exp:
        return std::exp(a);
      case Phi::relu:
        return a > 0 ? a : 0;
      case Phi::identity:
        break;
    }
    return a;
  });
}

// The definition, through the table of all queries and keys.
Matrix by_the_table(const Case& c) {
  Matrix kernel = phi_of(c.q, c.problem.phi) * phi_of(c.k, c.problem.phi).transpose();
  if (c.problem.mask) kernel = kernel.array() * c.problem.mask->cast<double>().array();
  const Matrix sums = kernel.rowwise().sum().array() + c.problem.eps.value;
  const Matrix unscaled = kernel * c.v;
  return unscaled.array().colwise() / sums.col(0).array();
}

constexpr std::array kPhis{Phi::elu_plus_1, Phi::exp, Phi::relu, Phi::identity};

Given first_rows(const Given& given, Index count) {
  Given part = given;
  part.rows = count;
  part.cells.resize(static_cast<std::size_t>(count * given.cols));
  return part;
}

// 6 0 and so on: three keys far apart, each the query of its own value.
const std::string kCopy = "Q = K\n[K]\n6 0\n-3 5\n-3 -5\n[V]\n1 0 0\n0 1 0\n0 0 1\n";

}  // namespace

TEST_CASE("reading the state is the same as weighing the values with the table") {
  QKV_SAY_SEED();
  Random random(81);
  for (int round = 0; round < 20; ++round) {
    for (const Phi phi : kPhis) {
      for (const bool is_causal : {false, true}) {
        CAPTURE(round);
        CAPTURE(is_causal);
        const Case c = random_case(random, phi, is_causal);
        const Trace trace = traced(c.problem);
        CHECK(apart(value(trace, "output"), by_the_table(c), 1e-12) == "");
        CHECK(apart(value(trace, "quadratic.output"), value(trace, "output"), 1e-13) == "");
      }
    }
  }
}

TEST_CASE("the state after a token is the state of all tokens up to it") {
  QKV_SAY_SEED();
  Random random(82);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const Case c = random_case(random, Phi::elu_plus_1, true);
    const Trace causal = traced(c.problem);
    for (Index t = 1; t <= c.k.rows(); ++t) {
      Problem prefix = problem_at(Entry::qkv, {{"Q", first_rows(c.problem["Q"], t)},
                                               {"K", first_rows(c.problem["K"], t)},
                                               {"V", first_rows(c.problem["V"], t)}});
      prefix.method = MethodKind::linear;
      const Trace whole = traced(prefix);
      const std::string token = "t" + std::to_string(t) + ".";
      CHECK(apart(value(causal, token + "S"), value(whole, "S"), 1e-15) == "");
      CHECK(apart(value(causal, token + "z"), value(whole, "z"), 1e-15) == "");
      CHECK(apart(value(causal, token + "output"), value(whole, "output").bottomRows(1), 1e-15) == "");
    }
  }
}

TEST_CASE("decoding with a state, after any prefill, reads what one causal pass reads") {
  QKV_SAY_SEED();
  Random random(85);
  for (int round = 0; round < 20; ++round) {
    for (const Phi phi : kPhis) {
      CAPTURE(round);
      Case c = random_case(random, phi, true, random.whole(1, 2));
      c.problem.is_decoded = true;
      c.problem.prefill = random.whole(0, c.q.rows());
      const Trace trace = traced(c.problem);
      const Index d_k = c.q.cols() / c.problem.heads;
      const Index d_v = c.v.cols() / c.problem.heads;
      for (Index h = 0; h < c.problem.heads; ++h) {
        Case one = c;
        one.q = c.q.middleCols(h * d_k, d_k);
        one.k = c.k.middleCols(h * d_k, d_k);
        one.v = c.v.middleCols(h * d_v, d_v);
        const Matrix result = value(trace, c.problem.heads == 1 ? "output" : "concat");
        CHECK(apart(result.middleCols(h * d_v, d_v), by_the_table(one), 1e-12) == "");
      }
    }
  }
}

TEST_CASE("of earlier passes a decode step of linear attention knows S and z, and nothing else") {
  const Plan plan = plan_of(problem(
      "method = linear\ndecode = yes\nprefill = 2\nheads = 4\nkv_heads = 2\n[Q]\n1 2 3 4\n4 3 2 1\n0 1 0 "
      "1\n1 1 0 0\n[K]\n1 0\n0 1\n1 1\n2 1\n[V]\n1 2\n3 4\n5 6\n7 8\n"));
  const auto pass = [](const Node& node) { return node.prefix.substr(0, node.prefix.find('.')); };
  std::set<std::string> known;
  for (const Node& node : plan.nodes) {
    for (const NodeId input : node.inputs) {
      if (pass(node).empty() || pass(plan[input]).empty() || pass(plan[input]) == pass(node)) continue;
      CHECK(plan[input].shape.rows == 1);  // one feature, whatever the number of tokens
      known.emplace(plan[input].name());
    }
  }
  CHECK(known == std::set<std::string>{"S", "z"});
  CHECK(plan.find("t4.g2.S").has_value());  // heads that share keys and values share a state
  CHECK_FALSE(plan.find("t4.h4.S").has_value());
}

TEST_CASE("a decode step adds its token to the state and reads it") {
  // By hand: φ = elu + 1 makes the keys 1 0 / 0 1 / 2 0 into 2 1 / 1 2 / 3 1; the queries are the keys.
  // After two tokens z = 3 3; the third leaves z = 6 4, reads (3·5 + 1·2) / (3·6 + 1·4) = 17/22 …
  const Trace trace = traced(
      problem("method = linear\ndecode = yes\nprefill = 2\nQ = K\n[K]\n1 0\n0 1\n2 0\n[V]\n1 0\n0 1\n1 2\n"));
  CHECK(shown(trace, "prefill.S", 0) == "2 1 ; 1 2");
  CHECK(shown(trace, "prefill.z", 0) == "3 3");
  CHECK(shown(trace, "prefill.output", 4) == "1.0000 0.0000 ; 0.4444 0.5556");
  CHECK(shown(trace, "t3.S", 0) == "5 7 ; 2 4");
  CHECK(shown(trace, "t3.z", 0) == "6 4");
  CHECK(shown(trace, "t3.output", 4) == "0.7727 1.1364");
  CHECK_FALSE(trace.plan().find("t3.kernel").has_value());
}

TEST_CASE("symbols in V and restored keys and values are decoded with a state too") {
  const std::string text = "method = linear\nmask = causal\n";
  const std::string symbols = text + "Q = K\n[K]\n1 0\n0 1\n1 1\n";
  const std::string latents =
      text + "heads = 2\n[X]\n1 2\n0 1\n1 1\n[W_DKV]\n1\n-1\n[W_UK]\n1 2\n[W_UV]\n1 -1\n[W_UQ]\n1 0\n0 1\n";
  for (const char* prefill : {"0", "1", "2", "3"}) {
    CAPTURE(prefill);
    const std::string decode = std::string("decode = yes\nprefill = ") + prefill + "\n";
    CHECK(shown(traced(problem(decode + symbols)), "output", 6) ==
          shown(traced(problem(symbols)), "output", 6));
    CHECK(shown(traced(problem(decode + latents)), "concat", 9) ==
          shown(traced(problem(latents)), "concat", 9));
  }
}

TEST_CASE("states are counted as tokens are, from 0 or from 1") {
  const std::string text = "method = linear\nmask = causal\nQ = K\n[K]\n1\n2\n[V]\n1\n0\n";
  const Trace from_0 = traced(problem("first_index = 0\n" + text));
  const Trace from_1 = traced(problem(text));
  CHECK(shown(from_0, "t0.S", 0) == shown(from_1, "t1.S", 0));
  CHECK(shown(from_0, "t1.S", 0) == shown(from_1, "t2.S", 0));
  CHECK_FALSE(from_0.plan().find("t2.S").has_value());
}

TEST_CASE("each linear head is linear attention of its own columns") {
  QKV_SAY_SEED();
  Random random(83);
  for (const bool is_causal : {false, true}) {
    const Case two = random_case(random, Phi::exp, is_causal, 2);
    const Trace trace = traced(two.problem);
    const Index d_k = two.q.cols() / 2;
    const Index d_v = two.v.cols() / 2;
    for (Index h = 0; h < 2; ++h) {
      Case one = two;
      one.q = two.q.middleCols(h * d_k, d_k);
      one.k = two.k.middleCols(h * d_k, d_k);
      one.v = two.v.middleCols(h * d_v, d_v);
      CHECK(apart(value(trace, "concat").middleCols(h * d_v, d_v), by_the_table(one), 1e-12) == "");
    }
    CHECK(trace.plan().find(is_causal ? "t1.h2.S" : "h2.S").has_value());
  }
}

TEST_CASE("symbols in V come out with the weights as coefficients, causal or not") {
  // By hand: φ = elu + 1 makes 1 0 / 0 1 into 2 1 / 1 2; the second token weighs 4 and 5 of 9.
  const std::string qk = "method = linear\nQ = K\n[K]\n1 0\n0 1\n";
  CHECK(shown(traced(problem("mask = causal\n" + qk)), "output", 4) == "1.0000·v1 ; 0.4444·v1 + 0.5556·v2");
  CHECK(shown(traced(problem(qk)), "output", 4) == "0.5556·v1 + 0.4444·v2 ; 0.4444·v1 + 0.5556·v2");
}

TEST_CASE("a state of two rows cannot hold three values: softmax copies them, no feature map does") {
  CHECK(shown(traced(problem(kCopy)), "output", 4) ==
        "1.0000 0.0000 0.0000 ; 0.0000 1.0000 0.0000 ; 0.0000 0.0000 1.0000");
  // The output is φ(Q)·S with rows divided by numbers, and φ(Q) has two columns: its rank is at most 2.
  QKV_SAY_SEED();
  Random random(84);
  for (const Phi phi : {Phi::elu_plus_1, Phi::exp}) {
    Problem copy = problem("method = linear\n" + kCopy);
    copy.phi = phi;
    CHECK(std::abs(value(traced(copy), "output").determinant()) < 1e-15);
    for (int round = 0; round < 10; ++round) {
      copy.given["Q"] = rows_of(random.matrix(3, 2));
      copy.given["K"] = rows_of(random.matrix(3, 2));
      copy.same_as.clear();
      CHECK(std::abs(value(traced(copy), "output").determinant()) < 1e-13);
    }
  }
}

TEST_CASE("eps keeps a query whose features are all 0 from dividing 0 by 0") {
  const std::string qkv = "phi = relu\n[Q]\n-1 -2\n[K]\n1 2\n3 4\n[V]\n1\n2\n";
  const Trace bare = traced(problem("method = linear\n" + qkv));
  CHECK(shown(bare, "output", 2) == "nan");
  REQUIRE(bare.warnings().size() == 1);
  CHECK(bare.warnings()[0].en ==
        "weights[t1,t1] is not a number: an infinity was subtracted from itself or multiplied by 0, or 0 "
        "divided by 0");
  CHECK(shown(traced(problem("method = linear\neps = 1/8\n" + qkv)), "output", 2) == "0.00");
}

TEST_CASE("what acts on scores is refused beside linear attention, which has none") {
  const std::string qkv = "[Q]\n1 0\n[K]\n1 0\n0 1\n[V]\n1\n2\n";
  const auto told_with = [&](const std::string& line) {
    return messages("method = linear\n" + line + "\n" + qkv);
  };
  for (const char* line :
       {"scale = 1/sqrt(d_k)", "scale = 0.5", "temperature = 2", "softcap = 5", "alibi = 0.5",
        "sink_logit = 1", "read = hard", "rope = half", "mask = window:1"}) {
    CHECK(told_with(line) == "error: `" + std::string(line) + "` does not go with method = linear\n");
  }
  CHECK(told_with("scale = none") == "");
  CHECK(told_with("mask = causal") ==
        "error: causal linear attention goes token by token: query i stands at key i\n");
  CHECK(messages("method = linear\n[scores]\n1 2\n") ==
        "error: method = linear starts at [X] or at [Q], [K] and [V], not at [scores]\n");
  CHECK(messages("method = linear\n" + qkv + "[mask]\n1 0\n[bias]\n1 0\n") ==
        "error: [mask] does not go with method = linear\n"
        "error: [bias] does not go with method = linear\n");
  CHECK(messages("method = linear\n" + qkv + "[past_K]\n1 0\n[past_V]\n3\n") ==
        "error: [past_K] does not go with method = linear\n"
        "error: [past_V] does not go with method = linear\n");
  CHECK(told("method = linear\nscale = 2\n" + qkv, Language::zh) ==
        "t.qkv:2:9: error: `scale = 2` 不能与 method = linear 同用\n"
        "   2 | scale = 2\n"
        "     |         ^\n"
        "     = hint: 线性注意力没有分数可供它作用：φ(q)·φ(k) 取代了 softmax\n");
  CHECK(told("method = linear\nrope = half\n" + qkv).find("the weights no longer sum to 1") !=
        std::string::npos);
  CHECK(messages("phi = exp\neps = 1\n" + qkv) ==
        "warning: 'phi' has no effect: method is softmax\n"
        "warning: 'eps' has no effect: method is softmax\n");
}

TEST_CASE("the header names the feature map and eps, on which programs differ") {
  CHECK(settings_of(problem("method = linear\n[Q]\n1\n[K]\n1\n")) ==
        "scale = none, mask = none, method = linear, phi = elu+1, eps = 0");
}

}  // namespace qkv::test

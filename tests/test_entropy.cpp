// The entropy of rows of weights, beside any softmax.

#include <cmath>
#include <filesystem>

#include "methods/entropy.h"
#include "reading.h"
#include "support.h"
#include "vectors.h"

namespace qkv::test {
namespace {

Trace with_entropy(const Problem& p) { return run(with_entropies(plan_of(p)), {}); }

Problem scored(std::string_view rows) { return problem_at(Entry::scores, {{"scores", rows_of(rows)}}); }

// −Σ w·ln w
double entropy_of(const Matrix& weights, Index row) {
  double entropy = 0;
  for (Index j = 0; j < weights.cols(); ++j) {
    const double w = weights(row, j);
    if (w > 0) entropy -= w * std::log(w);
  }
  return entropy;
}

}  // namespace

TEST_CASE("m keys of equal weight have an entropy of ln m, and of log2 m bits; one key has none") {
  const Trace trace = with_entropy(scored("5 5 5 5"));
  CHECK(shown(trace, "entropy", 6) == "1.386294");
  CHECK(shown(trace, "entropy.bits", 6) == "2.000000");
  CHECK(shown(with_entropy(scored("7")), "entropy", 4) == "0.0000");
  CHECK(shown(with_entropy(scored("7")), "entropy.bits", 4) == "0.0000");
}

TEST_CASE("the entropy of a saturated row is small, and not NaN where a weight has no double") {
  CHECK(shown(with_entropy(scored("0 10000")), "entropy", 4) == "0.0000");
  CHECK(shown(with_entropy(scored("-inf 1 1")), "entropy", 4) == "0.6931");
}

TEST_CASE("a row in which every key is forbidden has an entropy of zero, or NaN when it asks for that") {
  Problem p = scored("1 2 ; 3 3");
  forbid(p, mask_of("0 0 ; 1 1"));
  CHECK(shown(with_entropy(p), "entropy", 2) == "0.00 ; 0.69");
  p.empty_row = EmptyRow::nan;
  CHECK(shown(with_entropy(p), "entropy", 2) == "nan ; 0.69");
}

TEST_CASE("the entropies of the softmax vectors") {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(QKV_SOURCE_DIR "/tests/data/vectors")) {
    if (entry.path().extension() != ".json") continue;
    const Json c = Json::parse(with_quoted_numbers(text_of(entry.path())));
    if (c["op"] != "softmax") continue;
    INFO(entry.path().filename().string());
    Problem p = problem_at(Entry::scores, {{"scores", rows_of(matrix_of(c["inputs"]["scores"]))}});
    if (c["params"].contains("temperature"))
      p.temperature = written(c["params"]["temperature"].get<std::string>());
    CHECK(apart(value(with_entropy(p), "entropy"), matrix_of(c["expected"]["entropy"]), 1e-12) == "");
    ++compared;
  }
  CHECK(compared >= 5);
}

TEST_CASE("the entropy is -sum w ln w, of masked rows and rows with a sink too") {
  QKV_SAY_SEED();
  Random random(7501);
  for (int round = 0; round < 30; ++round) {
    const Index n = random.whole(1, 4);
    const Index m = random.whole(1, 6);
    Problem p = problem_at(Entry::scores, {{"scores", rows_of(random.matrix(n, m))}});
    forbid(p, random.mask(n, m));
    if (round % 3 == 0) p.sink_logits = {written("0.5")};
    const Trace trace = with_entropy(p);
    for (Index i = 0; i < n; ++i) {
      const double expected = entropy_of(value(trace, "weights"), i);
      CHECK(value(trace, "entropy")(i, 0) == doctest::Approx(expected).epsilon(1e-12));
      CHECK(value(trace, "entropy.bits")(i, 0) == doctest::Approx(expected / std::log(2.0)).epsilon(1e-12));
    }
  }
}

TEST_CASE("a row r times over has r-fold smaller weights and ln r more entropy") {
  const Trace once = with_entropy(scored("1 2 3"));
  const Trace often = with_entropy(scored("1 2 3 1 2 3 1 2 3 1 2 3"));
  CHECK(value(often, "weights")(0, 2) * 4 == doctest::Approx(value(once, "weights")(0, 2)).epsilon(1e-14));
  CHECK(value(often, "entropy")(0, 0) ==
        doctest::Approx(value(once, "entropy")(0, 0) + std::log(4.0)).epsilon(1e-14));
}

TEST_CASE("each head has its own entropies, beside the plan as it was") {
  const Problem p =
      problem("heads = 2\n[Q]\n1 0 0 1\n0 1 1 0\n[K]\n1 0 2 0\n0 1 0 2\n[V]\n1 0 0 1\n0 1 1 0\n");
  const Plan before = plan_of(p);
  const Plan after = with_entropies(before);
  CHECK(after.nodes.size() == before.nodes.size() + 4);
  for (const char* id : {"h1.entropy", "h1.entropy.bits", "h2.entropy", "h2.entropy.bits"})
    CHECK(after[node_named(after, id)].role == Role::aside);
  CHECK(after.last_step() == before.last_step());
}

}  // namespace qkv::test

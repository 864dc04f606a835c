// The calculators: cache sizes, costs, the dot-product experiment.

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <random>

#include "calc/cache.h"
#include "calc/cost.h"
#include "calc/sizes.h"
#include "calc/variance.h"
#include "plan/training.h"
#include "reading.h"
#include "support.h"
#include "vectors.h"

namespace qkv::test {
namespace {

Json case_named(const std::string& id) {
  return Json::parse(text_of(QKV_SOURCE_DIR "/tests/data/systems/" + id + ".json"));
}

const CostRow& row_named(const Cost& cost, const std::string& id) {
  const auto row =
      std::find_if(cost.rows.begin(), cost.rows.end(), [&](const auto& r) { return r.id == id; });
  REQUIRE(row != cost.rows.end());
  return *row;
}

// Some of the examples come with warnings.
Problem example(const std::filesystem::path& path) {
  Reading reading = read_text(text_of(path));
  REQUIRE(reading.problem.has_value());
  return std::move(*reading.problem);
}

// Pairs that may look at each other, counted one by one.
long long counted_pairs(long long n, long long window) {
  long long pairs = 0;
  for (long long i = 0; i < n; ++i) {
    for (long long j = 0; j < n; ++j) pairs += j <= i && j > i - window ? 1 : 0;
  }
  return pairs;
}

}  // namespace

// ---- Sizes ------------------------------------------------------------------------------

TEST_CASE("sizes are named in 1,024s and in 1,000s") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(131072) == "131,072");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(binary_size(131072) == "128 KiB");
  CHECK(decimal_size(131072) == "131.072 KB");
  CHECK(binary_size(Integer(1) << 30) == "1 GiB");
  CHECK(decimal_size(Integer(1) << 30) == "1.074 GB");
  CHECK(binary_size(1023) == "1023 bytes");
  CHECK(binary_size(1536) == "1.5 KiB");
  CHECK(binary_size(Integer(1) << 60) == "1 EiB");
}

TEST_CASE("a started byte is a byte") {
  CHECK(bytes_of_bits(16) == 2);
  CHECK(bytes_of_bits(4) == 1);
  CHECK(bytes_of_bits(12) == 2);
}

TEST_CASE("a ratio is whole, a part of 1, or a decimal") {
  CHECK(times(Rational(4)) == "4×");
  CHECK(times(Rational(1, 32)) == "1/32×");
  CHECK(times(Rational(9, 512)) == "0.018×");
}

// ---- The cache --------------------------------------------------------------------------

TEST_CASE("the cache of Llama 3 8B and of a model of 70B is that of the vectors") {
  for (const char* id : {"seed_kv_llama3_8b", "kv_70b"}) {
    INFO(id);
    const Json json = case_named(id);
    const Json& p = json["params"];
    const CacheQuestion q{.layers = p["layers"],
                          .heads = p["q_heads"],
                          .kv_heads = p["kv_heads"],
                          .head_dim = p["head_dim"],
                          .bits = 8 * p["bytes"].get<long long>(),
                          .tokens = p["seq_len"].get<long long>(),
                          .requests = p["requests"].get<long long>()};
    const Integer own = cached_numbers(q, q.kv_heads);
    const Json& expected = json["expected"];
    CHECK(cache_bytes_per_token(q, own) == expected["bytes_per_token"].get<long long>());
    CHECK(cache_bytes_per_request(q, own) == expected["bytes_per_request"].get<long long>());
    CHECK(cache_bytes(q, own) == expected["bytes_total"].get<long long>());
    const Integer plain = cached_numbers(q, q.heads);
    CHECK(cache_bytes_per_token(q, plain) == expected["mha_bytes_per_token"].get<long long>());
    const Json told = Json::parse(as_json(q));
    CHECK(told["bytes_total"] == expected["bytes_total"]);
    CHECK(told["kinds"][0]["name"] == "MHA");
    CHECK(told["kinds"][0]["over_this"] == expected["mha_over_this"]);
  }
}

TEST_CASE("MLA keeps one latent vector and one rotated key for all heads") {
  // DeepSeek-V2: 60 layers, 128 heads of 128, latent 512, rotated key 64: 576 numbers a token and layer.
  const CacheQuestion q{
      .layers = 60, .heads = 128, .kv_heads = 128, .head_dim = 128, .latent = 512, .rope_dim = 64};
  CHECK(latent_numbers(q) == 576);
  CHECK(cache_bytes_per_token(q, latent_numbers(q)) == 69120);
}

TEST_CASE("a number of half a byte halves the cache of one byte") {
  const CacheQuestion q{.layers = 3, .heads = 4, .kv_heads = 2, .head_dim = 5, .bits = 4, .tokens = 7};
  CHECK(cache_bytes(q, cached_numbers(q, 2)) == 3 * 2 * 5 * 7);
}

// ---- Costs ------------------------------------------------------------------------------

TEST_CASE("32K tokens have 2^30 scores in one head of one layer") {
  const Cost cost = cost_of(CostQuestion{.n = 32768, .d = 128});
  const CostRow& scores = row_named(cost, "scores");
  CHECK(scores.cells() == Integer(1) << 30);
  CHECK(scores.multiply_adds() == (Integer(1) << 30) * 128);
  CHECK(row_named(cost, "output").multiply_adds() == scores.multiply_adds());
}

TEST_CASE("twice the tokens: scores and output cost four times as much, projections twice") {
  const auto once = cost_of(CostQuestion{.n = 100, .d = 12, .heads = 3, .kv_heads = 1, .layers = 2});
  const auto twice = cost_of(CostQuestion{.n = 200, .d = 12, .heads = 3, .kv_heads = 1, .layers = 2});
  for (const char* id : {"scores", "output"})
    CHECK(row_named(twice, id).multiply_adds() == 4 * row_named(once, id).multiply_adds());
  for (const char* id : {"Q", "K", "V", "Y"})
    CHECK(row_named(twice, id).multiply_adds() == 2 * row_named(once, id).multiply_adds());
  // n·d² for Q, a third of it for the keys of one of three heads, n²·d in each layer, however many heads
  // share d.
  CHECK(row_named(once, "Q").multiply_adds() == 2 * 100 * 12 * 12);
  CHECK(row_named(once, "K").multiply_adds() == 2 * 100 * 12 * 4);
  CHECK(row_named(once, "scores").multiply_adds() == 2 * 100 * 100 * 12);
}

TEST_CASE("open pairs in a window are n·w but for the first rows") {
  CHECK(open_pairs(CostQuestion{.n = 7, .window = 3}) == 18);  // 7·3 − 3·2/2
  for (const long long n : {1, 2, 5, 12}) {
    for (const long long w : {1, 2, 3, 12, 40})
      CHECK(open_pairs(CostQuestion{.n = n, .window = w}) == counted_pairs(n, w));
    CHECK(open_pairs(CostQuestion{.n = n, .is_causal = true}) == n * (n + 1) / 2);
    CHECK(open_pairs(CostQuestion{.n = n}) == n * n);
  }
}

TEST_CASE("the cost of a file is counted from its plan, hidden pairs apart") {
  const Problem p = problem(
      "mask = window:2\n[X]\n1 0 2\n0 1 1\n1 1 0\n2 1 0\n[W_Q]\n1 0\n0 1\n1 1\n[W_K]\n1 0\n0 1\n1 1\n"
      "[W_V]\n1 0 0 1\n0 1 0 1\n1 1 0 1\n");
  const Cost cost = cost_of(plan_of(p), 16, {});
  CHECK(row_named(cost, "Q").multiply_adds() == 4 * 2 * 3);
  CHECK(row_named(cost, "V").multiply_adds() == 4 * 4 * 3);
  CHECK(row_named(cost, "scores").multiply_adds() == 4 * 4 * 2);
  CHECK(row_named(cost, "scores").open == 7 * 2);  // 4·2 − 1 pairs
  CHECK(row_named(cost, "output").multiply_adds() == 4 * 4 * 4);
  CHECK(row_named(cost, "output").open == 7 * 4);
  CHECK(row_named(cost, "weights").multiply_adds() == 0);
  CHECK(total_multiply_adds(cost) == 24 + 24 + 48 + 32 + 64);
}

TEST_CASE("of sizes and of a file with these sizes the same products are counted") {
  Random random(7401);
  const Problem p = [&] {
    Sections sections;
    sections["X"] = rows_of(random.matrix(5, 6));
    for (const char* w : {"W_Q", "W_K", "W_V", "W_O"}) sections[w] = rows_of(random.matrix(6, 6));
    Problem problem = problem_at(Entry::x, std::move(sections));
    problem.heads = problem.kv_heads = 3;
    problem.scale.d_k = whole_number(2);
    return problem;
  }();
  const Cost of_file = cost_of(plan_of(p), 16, {});
  const Cost of_sizes = cost_of(CostQuestion{.n = 5, .d = 6, .heads = 3, .kv_heads = 3});
  CHECK(total_multiply_adds(of_file) == total_multiply_adds(of_sizes));
}

// ---- Costs of linear attention, of stacks and of heads --------------------------------------

TEST_CASE("a state costs one product a cell and token, in one go, token by token and pass by pass") {
  // Three keys with two features each, values of two numbers: φ(k)ᵀ·v is 2·2 products for each key.
  const std::string problem_text =
      "method = linear\n[Q]\n1 0\n0 1\n1 1\n[K]\n1 0\n0 1\n1 1\n[V]\n1 0\n0 1\n2 2\n";
  const auto state = [](const Cost& cost) {
    Integer products = 0;
    for (const CostRow& row : cost.rows) {
      if (row.id == "S" || row.id.ends_with(".S")) products += row.multiply_adds();
      if (row.id == "z" || row.id.ends_with(".z"))
        CHECK(row.multiply_adds() == 0);  // added up, not multiplied
    }
    return products;
  };
  CHECK(state(cost_of(plan_of(problem(problem_text)), 16, {})) == 12);
  CHECK(state(cost_of(plan_of(problem("mask = causal\n" + problem_text)), 16, {})) == 12);
  CHECK(state(cost_of(plan_of(problem("mask = causal\ndecode = yes\n" + problem_text)), 16, {})) == 12);
}

TEST_CASE("linear attention is not charged for the table that it does without") {
  const Cost cost = cost_of(plan_of(problem("method = linear\nmask = causal\n[Q]\n1 0\n0 1\n1 1\n"
                                            "[K]\n1 0\n0 1\n1 1\n[V]\n1 0\n0 1\n2 2\n")),
                            16, {});
  std::vector<std::string> beside;
  for (const CostRow& row : cost.for_comparison) beside.push_back(row.id);
  CHECK(beside == std::vector<std::string>{"kernel", "denominator", "weights", "quadratic.output"});
  CHECK(cost.for_comparison[0].open == 6 * 2);  // 6 of 9 pairs, 2 features
  CHECK(cost.for_comparison[1].multiply_adds() == 0);
  CHECK(cost.for_comparison[3].open == 6 * 2);
  // Three tokens, each 4 products to update the state, 4 to read it, and 2 for what it is divided by.
  CHECK(total_multiply_adds(cost) == 30);
  for (const CostRow& row : cost.rows) CHECK(row.open == row.multiply_adds());
}

TEST_CASE("a step that is counted in products has as many in the formula of one cell") {
  for (const auto& file : std::filesystem::directory_iterator(QKV_SOURCE_DIR "/examples")) {
    if (file.path().extension() != ".qkv") continue;
    const Plan plan = plan_of(example(file.path()));
    for (const Node& node : plan.nodes) {
      if (node.op->terms == nullptr || node.is_symbolic() || node.role != Role::step || is_gradient(node))
        continue;
      std::vector<Shape> shapes;
      for (const NodeId input : node.inputs) shapes.push_back(plan[input].shape);
      Index most = 0;
      for (Index i = 0; i < node.shape.rows; ++i) {
        for (Index j = 0; j < node.shape.cols; ++j) {
          Index products = 0;
          for (const Term& term : node.op->cell({node.params, shapes, i, j}))
            for (std::size_t at = 0; (at = term.text.find("·", at)) != std::string::npos; ++at) ++products;
          most = std::max(most, products);
        }
      }
      CAPTURE(file.path().string());
      CAPTURE(node.id);
      // The denominator φ(q)·z is in the formula of each cell, yet it is worked out once a query.
      const Index shared = node.op->shared_terms == nullptr ? 0 : node.op->shared_terms(shapes);
      const Index counted = node.op->terms(shapes) + shared;
      // An output leaves the hidden keys out of every formula.
      const bool leaves_out = node.name() == "output" && node.params.allowed;
      CHECK(counted >= most);
      if (!leaves_out) CHECK(counted == most);
    }
  }
}

TEST_CASE("open pairs are at most all pairs, in every step of every example") {
  for (const auto& file : std::filesystem::directory_iterator(QKV_SOURCE_DIR "/examples")) {
    if (file.path().extension() != ".qkv") continue;
    CAPTURE(file.path().string());
    const Cost cost = cost_of(plan_of(example(file.path())), 16, {});
    for (const auto* rows : {&cost.rows, &cost.for_comparison}) {
      for (const CostRow& row : *rows) {
        CAPTURE(row.id);
        CHECK(row.open >= 0);
        CHECK(row.open <= row.multiply_adds());
      }
    }
    const bool is_linear = file.path().filename().string().starts_with("linear");
    if (!is_linear) CHECK(cost.for_comparison.empty());
  }
}

TEST_CASE("each layer, head, pass and tile has the open pairs of its own mask") {
  const auto open = [](const std::string& text) {
    std::vector<std::string> told;
    for (const ScoreTable& scores : cost_of(plan_of(problem(text)), 16, {}).scores)
      told.push_back(scores.place + ": " + scores.open.str() + " of " +
                     Integer(scores.rows * scores.cols).str());
    return told;
  };
  using Told = std::vector<std::string>;
  const std::string x = "[X]\n1 0\n0 1\n1 1\n2 0\n1 2\n";
  const std::string qkv = "Q = X\nK = X\nV = X\n" + x;
  CHECK(open("mask = causal\n" + qkv) == Told{": 15 of 25"});
  CHECK(open("layers = 2\nL1.mask = causal window:2\nL2.mask = causal\n" + qkv) ==
        Told{"L1: 9 of 25", "L2: 15 of 25"});
  CHECK(open("heads = 2\nmask = causal\n" + qkv +
             "[h1.mask]\n1 0 0 0 0\n1 1 0 0 0\n0 1 1 0 0\n"
             "0 0 1 1 0\n0 0 0 1 1\n") == Told{"h1: 9 of 25", "h2: 15 of 25"});
  CHECK(open("mask = causal\ndecode = yes\nprefill = 4\n" + qkv) == Told{"prefill: 10 of 16", "t5: 5 of 5"});
  CHECK(open("mask = causal\ntile = 3x3\n" + qkv) ==
        Told{"b1: 6 of 9", "b2: 6 of 6", "b3: 3 of 4"});  // queries 4 and 5 by keys 1 … 3, then 4 and 5
}

// ---- The experiment ---------------------------------------------------------------------

TEST_CASE("100,000 pairs of 64 numbers: the standard deviation is within 3 standard errors, 0.055, of 8") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const VarianceResult r = run_experiment({.seed = seed});
    CHECK(std::sqrt(r.error_squared.convert_to<double>()) * 3 == doctest::Approx(0.055).epsilon(0.01));
    CHECK(std::abs(std::sqrt(r.variance.convert_to<double>()) - 8) < 0.055);
    CHECK(r.is_within_3_errors());
  }
}

TEST_CASE("the experiment's sums are those of the same draws in doubles") {
  const long long dim = 3;
  const long long pairs = 500;
  std::mt19937_64 bits(42);
  const auto draw = [&] { return (static_cast<double>(std::popcount(bits())) - 32) / 4; };
  std::vector<double> products;
  for (long long i = 0; i < pairs; ++i) {
    double product = 0;
    for (long long r = 0; r < dim; ++r) {
      const double q = draw();
      product += q * draw();
    }
    products.push_back(product);
  }
  double mean = 0;
  for (const double x : products) mean += x / static_cast<double>(pairs);
  double variance = 0;
  std::vector<long long> histogram(kBins, 0);
  for (const double x : products) {
    variance += (x - mean) * (x - mean) / static_cast<double>(pairs);
    const double bin = std::floor(x / (std::sqrt(static_cast<double>(dim)) / 2));
    ++histogram[static_cast<std::size_t>(std::clamp(bin, -8.0, 7.0) + 8)];
  }
  const VarianceResult r = run_experiment({.dim = dim, .pairs = pairs, .seed = 42});
  CHECK(r.mean.convert_to<double>() == doctest::Approx(mean).epsilon(1e-12));
  CHECK(r.variance.convert_to<double>() == doctest::Approx(variance).epsilon(1e-12));
  CHECK(r.histogram == histogram);
  CHECK(r.rows == pairs / kKeysOfARow);
}

TEST_CASE("the standard error is the spread of the standard deviation over seeds") {
  // Within one standard error lie about two thirds, within three nearly all.
  int within_1 = 0;
  int within_3 = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const VarianceResult r = run_experiment({.dim = 16, .pairs = 1000, .seed = seed});
    const double off = std::abs(std::sqrt(r.variance.convert_to<double>()) - 4);
    within_1 += off * off <= r.error_squared.convert_to<double>() ? 1 : 0;
    within_3 += r.is_within_3_errors() ? 1 : 0;
  }
  CHECK(within_1 > 30);
  CHECK(within_1 < 52);
  CHECK(within_3 >= 58);
}

TEST_CASE("scores saturate a softmax, scaled scores do not") {
  const VarianceResult r = run_experiment({.dim = 256, .pairs = 8000});
  CHECK(r.unscaled.saturated > 500);
  CHECK(r.scaled.saturated == 0);
  CHECK(std::stod(r.unscaled.mean_largest) > 0.9);
  CHECK(std::stod(r.scaled.mean_largest) < 0.45);
}

}  // namespace qkv::test

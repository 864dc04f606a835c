// Somebody's output, made by plain loops written here, and the convention that made it.

#include <chrono>

#include "check/detect.h"
#include "support.h"

namespace qkv::test {
namespace {

// As read from a file with so many decimals.
std::vector<ShownStep> written_down(const Matrix& matrix, int decimals, const std::string& id = "") {
  ShownStep step{id, {}, {}, {}};
  for (Index i = 0; i < matrix.rows(); ++i) {
    step.rows.push_back(std::to_string(i + 1));
    std::vector<ShownNumber> row;
    for (Index j = 0; j < matrix.cols(); ++j) {
      const std::string text = fmt::format("{:.{}f}", matrix(i, j), decimals);
      row.push_back({text, std::strtod(text.c_str(), nullptr), std::pow(10, -decimals), false});
    }
    step.cells.push_back(std::move(row));
  }
  return {std::move(step)};
}

struct Script {
  bool down_the_columns = false;
  bool over_everything = false;
};

// exp(s) / sum, as a script would have it; −∞ is no key.
Matrix softmax_by_hand(const Matrix& s, Script script = {}) {
  Matrix weights(s.rows(), s.cols());
  for (Index i = 0; i < s.rows(); ++i) {
    for (Index j = 0; j < s.cols(); ++j) {
      double sum = 0;
      for (Index a = 0; a < s.rows(); ++a) {
        for (Index b = 0; b < s.cols(); ++b) {
          const bool is_counted = script.over_everything || (script.down_the_columns ? b == j : a == i);
          if (is_counted) sum += std::exp(s(a, b));
        }
      }
      weights(i, j) = std::exp(s(i, j)) / sum;
    }
  }
  return weights;
}

Matrix hide(Matrix s, long align, bool inverted = false) {
  for (Index i = 0; i < s.rows(); ++i) {
    for (Index j = 0; j < s.cols(); ++j) {
      if ((j > i + align) != inverted) s(i, j) = -kInfinity;
    }
  }
  return s;
}

std::string found(const Problem& problem, const Matrix& output, int decimals = 5) {
  std::string text;
  for (const Explanation& e : detect(problem, written_down(output, decimals))) {
    text += text.empty() ? "" : " | ";
    text += e.reproduces + ":";
    for (const auto& [name, value] : e.conventions) text += " " + name + "=" + value;
  }
  return text.empty() ? "none" : text;
}

struct Inputs {
  Matrix q, k, v;
};

Inputs inputs(Index n = 4, Index m = 4) {
  Random random(71);
  return {random.matrix(n, 3, 1), random.matrix(m, 3, 1), random.matrix(m, 2, 2)};
}

Problem problem_of(const Inputs& in) {
  return problem_at(Entry::qkv, {{"Q", rows_of(in.q)}, {"K", rows_of(in.k)}, {"V", rows_of(in.v)}});
}

}  // namespace

TEST_CASE("the convention behind an output is named, the simplest alone") {
  const Inputs in = inputs();
  const Problem p = problem_of(in);
  const Matrix s = in.q * in.k.transpose();
  const double root = std::sqrt(3.0);
  CHECK(found(p, softmax_by_hand(s / root) * in.v) == "output:");
  CHECK(found(p, softmax_by_hand(s) * in.v) == "output: scale=none");
  CHECK(found(p, softmax_by_hand(s / 3) * in.v) == "output: scale=1/d_k");
  CHECK(found(p, softmax_by_hand(s * root) * in.v) == "output: scale=sqrt(d_k)");
  CHECK(found(p, softmax_by_hand(s / 2) * in.v) == "output: scale=1/sqrt(keys)");
  CHECK(found(p, softmax_by_hand(s / root, {.down_the_columns = true}) * in.v) == "output: axis=columns");
  CHECK(found(p, softmax_by_hand(s / root, {.over_everything = true}) * in.v) == "output: axis=all");
  CHECK(found(p, softmax_by_hand(hide(s / root, 0)) * in.v) == "output: mask=causal, top-left");
  CHECK(found(p, softmax_by_hand(s.transpose() / root) * in.v) == "output: roles=Q and K exchanged");
  CHECK(found(p, softmax_by_hand(s / root)) == "weights:");
  CHECK(found(p, softmax_by_hand(hide(s, 0)) * in.v) == "output: scale=none mask=causal, top-left");
}

TEST_CASE("corners and polarity of a mask are told apart") {
  const Inputs in = inputs(3, 5);
  Problem p = problem_of(in);
  forbid(p, causal_mask(3, 5, 2));
  const Matrix s = in.q * in.k.transpose() / std::sqrt(3.0);
  CHECK(found(p, softmax_by_hand(hide(s, 2)) * in.v) == "output:");
  CHECK(found(p, softmax_by_hand(hide(s, 0)) * in.v) == "output: mask=causal, top-left");
  CHECK(found(p, softmax_by_hand(s) * in.v) == "output: mask=none");
  CHECK(found(p, softmax_by_hand(hide(s, 1)) * in.v) == "output: mask=causal without the diagonal");
}

TEST_CASE("a weight stored the other way round is seen, also where it is square") {
  Random random(72);
  const Matrix x = random.matrix(4, 3, 1);
  const Matrix wq = random.matrix(3, 3, 1);
  const Matrix wk = random.matrix(3, 3, 1);
  const Matrix wv = random.matrix(3, 3, 1);
  const Problem p = problem_at(
      Entry::x, {{"X", rows_of(x)}, {"W_Q", rows_of(wq)}, {"W_K", rows_of(wk)}, {"W_V", rows_of(wv)}});
  const Matrix q = x * wq.transpose();
  const Matrix k = x * wk.transpose();
  const Matrix v = x * wv.transpose();
  CHECK(found(p, softmax_by_hand(q * k.transpose() / std::sqrt(3.0)) * v) == "output: layout=transposed");
}

TEST_CASE("single and half precision are named where the digits say more than they can") {
  const Inputs in = inputs(6, 6);
  const Problem p = problem_of(in);
  const Matrix output = softmax_by_hand(in.q * in.k.transpose() / std::sqrt(3.0)) * in.v;
  const Matrix single = output.cast<float>().cast<double>();
  CHECK(found(p, single, 15) == "output: precision=fp32");
  CHECK(found(p, output * (1 + 1e-3), 15) == "output: precision=fp16");
}

TEST_CASE("random numbers are explained by nothing, however few they are") {
  QKV_SAY_SEED();
  Random random(73);
  int explained = 0;
  const auto begin = std::chrono::steady_clock::now();
  const int rounds = std::getenv("QKV_SHEETS") != nullptr ? 50 : 1000;  // fewer where every one takes long
  for (int round = 0; round < rounds; ++round) {
    const Index n = random.whole(1, 8);
    const Index m = random.whole(1, 8);
    const Problem p = problem_at(Entry::qkv, {{"Q", rows_of(random.matrix(n, 3))},
                                              {"K", rows_of(random.matrix(m, 3))},
                                              {"V", rows_of(random.matrix(m, 2))}});
    Matrix output(n, 2);
    for (Index k = 0; k < output.size(); ++k)
      output(k) = static_cast<double>(random.whole(-30000, 30000)) / 10000;
    if (!detect(p, written_down(output, 4)).empty()) ++explained;
  }
  CHECK(explained == 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(seconds < rounds);  // a second each, on any machine
}

}  // namespace qkv::test

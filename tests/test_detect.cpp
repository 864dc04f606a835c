// Somebody's output, made by plain loops written here, and the convention that made it.

#include <algorithm>
#include <chrono>
#include <sstream>

#include "check/detect.h"
#include "reading.h"
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
  CHECK(found(p, softmax_by_hand(hide(s / root, 0)) * in.v) == "output: mask=causal");
  CHECK(found(p, softmax_by_hand(s.transpose() / root) * in.v) == "output: roles=Q and K exchanged");
  CHECK(found(p, softmax_by_hand(s / root)) == "weights:");
  CHECK(found(p, softmax_by_hand(hide(s, 0)) * in.v) == "output: scale=none mask=causal");
}

// softmax(S)ᵀ·V is also the softmax down the columns of K·Qᵀ, under the transposed mask: three conventions.
TEST_CASE("weights read the wrong way round are one convention, with a mask too") {
  const Inputs in = inputs();
  Problem p = problem_of(in);
  const Matrix s = in.q * in.k.transpose() / std::sqrt(3.0);
  CHECK(found(p, softmax_by_hand(s).transpose() * in.v) == "output: weights=transposed");
  CHECK(found(p, softmax_by_hand(in.q * in.k.transpose()).transpose() * in.v) ==
        "output: scale=none weights=transposed");
  forbid(p, causal_mask(4, 4, 0));
  CHECK(found(p, softmax_by_hand(hide(s, 0)).transpose() * in.v) == "output: weights=transposed");
  CHECK(found(p, softmax_by_hand(hide(s, 0))) == "weights:");

  // By hand: scores 1 3 ; 2 0 over √2, causal: weights 1 0 and 0.8044 0.1956.
  Problem small = problem("mask = causal\n[Q]\n1 0\n0 1\n[K]\n1 2\n3 0\n[V]\n1 0\n0 1\n");
  CHECK(found(small, matrix("1 0.8044 ; 0 0.1956"), 4) == "output: weights=transposed");
}

TEST_CASE("one wide head in place of several is one convention, whatever root it is divided by") {
  Random random(76);
  const Inputs in{random.matrix(4, 6, 1), random.matrix(4, 6, 1), random.matrix(4, 4, 2)};
  Problem p = problem_of(in);
  p.heads = p.kv_heads = 2;
  p.scale.d_k = written("3");
  const Matrix s = in.q * in.k.transpose();
  CHECK(found(p, softmax_by_hand(s / std::sqrt(6.0)) * in.v) == "concat: heads=one wide head");
  CHECK(found(p, softmax_by_hand(s / std::sqrt(3.0)) * in.v) ==
        "concat: heads=one wide head, scaled as one of several");
  CHECK(found(p, softmax_by_hand(s) * in.v) == "concat: scale=none heads=one wide head");
  CHECK(found(p, softmax_by_hand(hide(s / std::sqrt(6.0), 0)) * in.v) ==
        "concat: mask=causal heads=one wide head");
  CHECK(found(p, softmax_by_hand(s / std::sqrt(6.0))) == "weights: heads=one wide head");
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

TEST_CASE("a floating-point format is named where its digits come out, and 'about' it where they come near") {
  const Inputs in = inputs(6, 6);
  const Problem p = problem_of(in);
  // In C++'s own float, sums from left to right; the exponential rounded once.
  const auto attend = [&](float factor) {
    Matrix output = Matrix::Zero(6, 2);
    for (Index i = 0; i < 6; ++i) {
      std::vector<float> scores;
      for (Index j = 0; j < 6; ++j) {
        float dot = 0;
        for (Index k = 0; k < 3; ++k) dot += static_cast<float>(in.q(i, k)) * static_cast<float>(in.k(j, k));
        scores.push_back(dot / factor);
      }
      const float max = *std::max_element(scores.begin(), scores.end());
      float sum = 0;
      for (float& s : scores) sum += s = static_cast<float>(std::exp(static_cast<double>(s - max)));
      for (Index c = 0; c < 2; ++c) {
        float read = 0;
        for (std::size_t j = 0; j < 6; ++j)
          read += scores[j] / sum * static_cast<float>(in.v(static_cast<Index>(j), c));
        output(i, c) = static_cast<double>(read);
      }
    }
    return output;
  };
  CHECK(found(p, attend(std::sqrt(3.0F)), 15) == "output: precision=fp32");
  CHECK(found(p, attend(1), 15) == "output: scale=none precision=fp32");
  // At six decimals single precision is as good as any.
  CHECK(found(p, attend(std::sqrt(3.0F)), 6) == "output:");

  const Matrix output = softmax_by_hand(in.q * in.k.transpose() / std::sqrt(3.0)) * in.v;
  CHECK(found(p, output.cast<float>().cast<double>(), 15) == "output: precision=about fp32");
  CHECK(found(p, output * (1 + 1e-3), 15) == "output: precision=about fp16");
  CHECK(found(p, output * (1 + 1e-2), 15) == "output: precision=about bf16");
  CHECK(found(p, output * (1 + 1e-1), 15) == "none");
}

TEST_CASE("the root that was rounded on paper is told from the true one") {
  for (const auto& [d_k, roots] : {std::pair{2, "1.4 1.41 1.414"}, std::pair{3, "1.7 1.73 1.732"},
                                   std::pair{5, "2.2 2.24 2.236"}, std::pair{8, "2.8 2.83 2.828"}}) {
    Random random(74);
    const Inputs in{random.matrix(4, d_k, 1), random.matrix(4, d_k, 1), random.matrix(4, 3, 2)};
    std::istringstream words(roots);
    for (std::string root; words >> root;) {
      const Matrix s = in.q * in.k.transpose() / std::strtod(root.c_str(), nullptr);
      CHECK(found(problem_of(in), softmax_by_hand(s) * in.v, 8) == "output: scale=1/" + root);
    }
  }
  // √4 is what it is; nothing is rounded.
  Random random(75);
  const Inputs in{random.matrix(4, 4, 1), random.matrix(4, 4, 1), random.matrix(4, 3, 2)};
  CHECK(found(problem_of(in), softmax_by_hand(in.q * in.k.transpose() / 2) * in.v) == "output:");
}

TEST_CASE("the scale of the textbook is found where the problem has another") {
  const Inputs in = inputs();
  Problem p = problem_of(in);
  p.scale = {ScaleKind::factor, written("0.1"), {}};
  const Matrix s = in.q * in.k.transpose();
  CHECK(found(p, softmax_by_hand(s / 10) * in.v) == "output:");
  CHECK(found(p, softmax_by_hand(s / std::sqrt(3.0)) * in.v) == "output: scale=1/sqrt(d_k)");
  CHECK(found(p, softmax_by_hand(s) * in.v) == "output: scale=none");
}

TEST_CASE("what is done to hidden keys is told apart") {
  const Inputs in = inputs();
  Problem p = problem_of(in);
  forbid(p, causal_mask(4, 4, 0));
  const Matrix s = in.q * in.k.transpose() / std::sqrt(3.0);
  const Matrix open = causal_mask(4, 4, 0).cast<double>();
  CHECK(found(p, softmax_by_hand(hide(s, 0)) * in.v) == "output:");
  CHECK(found(p, softmax_by_hand(s.cwiseProduct(open)) * in.v) == "output: masking=0 in place of -inf");
  const Matrix late = softmax_by_hand(s).cwiseProduct(open);
  CHECK(found(p, late * in.v) == "output: masking=after the softmax");
  // Rows that are made to sum to one again are those of the masked softmax.
  const Matrix renormalised = late.array().colwise() / late.rowwise().sum().array();
  CHECK(found(p, renormalised * in.v) == "output:");
  const Matrix columns = softmax_by_hand(s, {.down_the_columns = true}).cwiseProduct(open);
  CHECK(found(p, Matrix(columns.array().colwise() / columns.rowwise().sum().array()) * in.v) ==
        "output: axis=columns masking=after the softmax, renormalised");
  CHECK(found(p, softmax_by_hand(hide(s.transpose(), 0).transpose()) * in.v) == "output: mask=transposed");
}

TEST_CASE("a cap forgotten, or put after the mask, is seen") {
  const Inputs in = inputs();
  Problem p = problem_of(in);
  p.softcap = written("2");
  forbid(p, causal_mask(4, 4, 0));
  const Matrix s = in.q * in.k.transpose() / std::sqrt(3.0);
  const auto cap = [](const Matrix& x) { return Matrix((x.array() / 2).tanh() * 2); };
  CHECK(found(p, softmax_by_hand(hide(cap(s), 0)) * in.v) == "output:");
  CHECK(found(p, softmax_by_hand(hide(s, 0)) * in.v) == "output: softcap=none");
  CHECK(found(p, softmax_by_hand(cap(hide(s, 0))) * in.v) == "output: softcap=after the mask");
}

TEST_CASE("of two matrices both must be explained, and what is not is said") {
  const Inputs in = inputs();
  const Problem p = problem_of(in);
  const Matrix weights = softmax_by_hand(in.q * in.k.transpose());
  std::vector<ShownStep> both = written_down(weights, 5, "weights");
  both.push_back(written_down(weights * in.v, 5, "output").front());
  const std::vector<Explanation> found = detect(p, both);
  REQUIRE(found.size() == 1);
  CHECK(found[0].conventions == Conventions{{"scale", "none"}});
  CHECK(found[0].reproduces == "weights, output");

  both.back() = written_down(weights * in.v * 2, 5, "output").front();
  const std::vector<Explanation> half = detect(p, both);
  REQUIRE(half.size() == 1);
  CHECK(half[0].reproduces == "weights");
  CHECK(half[0].unexplained == "output");
}

TEST_CASE("a number written short among long ones is exact, not coarse") {
  const Inputs in = inputs();
  const Problem p = problem_of(in);
  std::vector<ShownStep> steps = written_down(softmax_by_hand(in.q * in.k.transpose() / std::sqrt(3.0)), 15);
  for (auto& row : steps.front().cells) row[0] = {"0.5", 0.5, 0.1, false};
  CHECK(detect(p, steps).empty());
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

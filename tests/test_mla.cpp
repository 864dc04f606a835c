// Latent attention is plain attention on the keys and values that it restores, also token by token.

#include <complex>
#include <set>

#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

std::string section(const std::string& name, const Matrix& m) {
  std::string text = "[" + name + "]\n";
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) text += fmt::format("{} ", m(i, j));
    text += "\n";
  }
  return text;
}

// Each pair of columns is a complex number, turned by e^(i·angle).
Matrix turned(const Matrix& x, Index d, bool is_interleaved, long first_position) {
  Matrix result = x;
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index head = 0; head < x.cols(); head += d) {
      for (Index i = 0; i < d / 2; ++i) {
        const Index a = head + (is_interleaved ? 2 * i : i);
        const Index b = is_interleaved ? a + 1 : a + d / 2;
        const double angle = static_cast<double>(first_position + t) *
                             std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
        const auto z = std::complex<double>(x(t, a), x(t, b)) * std::polar(1.0, angle);
        result(t, a) = z.real();
        result(t, b) = z.imag();
      }
    }
  }
  return result;
}

struct Mla {
  Index heads, d_head, d_v, d_rope;
  bool is_interleaved;
  Matrix x, w_dkv, w_uk, w_uv, w_dq, w_uq, w_kr, w_qr;

  bool has_position() const { return d_rope > 0; }

  std::string settings(const std::string& mask = "causal") const {
    std::string text = fmt::format("heads = {}\nmask = {}\n", heads, mask);
    if (has_position()) text += is_interleaved ? "rope = interleaved\n" : "rope = half\n";
    return text;
  }
  std::string sections(bool is_linear = false) const {
    const auto stored = [&](const char* name, const Matrix& w) {
      return section(name, is_linear ? Matrix(w.transpose()) : w);
    };
    std::string text = section("X", x) + stored("W_DKV", w_dkv) + stored("W_UK", w_uk) +
                       stored("W_UV", w_uv) + stored("W_UQ", w_uq);
    if (w_dq.size() > 0) text += stored("W_DQ", w_dq);
    if (has_position()) text += stored("W_KR", w_kr) + stored("W_QR", w_qr);
    return text;
  }
};

Mla random_mla(Random& random) {
  const Index n = random.whole(1, 4);
  const Index d_model = random.whole(1, 4);
  const Index rank = random.whole(1, 3);
  Mla m{.heads = random.whole(1, 3),
        .d_head = random.whole(1, 3),
        .d_v = random.whole(1, 3),
        .d_rope = 2 * random.whole(0, 2),
        .is_interleaved = random.whole(0, 1) == 1,
        .x = random.matrix(n, d_model, 1),
        .w_dkv = random.matrix(d_model, rank, 1),
        .w_uk = {},
        .w_uv = {},
        .w_dq = {},
        .w_uq = {},
        .w_kr = random.matrix(d_model, 1, 1),
        .w_qr = {}};
  Index d_query = d_model;
  if (random.whole(0, 1) == 1) {
    d_query = random.whole(1, 3);
    m.w_dq = random.matrix(d_model, d_query, 1);
  }
  m.w_uk = random.matrix(rank, m.heads * m.d_head, 1);
  m.w_uv = random.matrix(rank, m.heads * m.d_v, 1);
  m.w_uq = random.matrix(d_query, m.heads * m.d_head, 1);
  m.w_kr = random.matrix(d_model, m.d_rope, 1);
  m.w_qr = random.matrix(d_query, m.heads * m.d_rope, 1);
  return m;
}

// Q, K and V of all heads as plain attention would be given them.
std::string restored(const Mla& m, const std::string& mask = "causal", long first_position = 0) {
  const Matrix k_c = m.x * m.w_dkv * m.w_uk;
  const Matrix c_q = m.w_dq.size() > 0 ? Matrix(m.x * m.w_dq) : m.x;
  const Matrix q_c = c_q * m.w_uq;
  const Index width = m.d_head + m.d_rope;
  Matrix q(m.x.rows(), m.heads * width);
  Matrix k(m.x.rows(), m.heads * width);
  for (Index h = 0; h < m.heads; ++h) {
    q.middleCols(h * width, m.d_head) = q_c.middleCols(h * m.d_head, m.d_head);
    k.middleCols(h * width, m.d_head) = k_c.middleCols(h * m.d_head, m.d_head);
    if (!m.has_position()) continue;
    const Matrix q_r = turned(c_q * m.w_qr, m.d_rope, m.is_interleaved, first_position);
    q.middleCols(h * width + m.d_head, m.d_rope) = q_r.middleCols(h * m.d_rope, m.d_rope);
    k.middleCols(h * width + m.d_head, m.d_rope) =
        turned(m.x * m.w_kr, m.d_rope, m.is_interleaved, first_position);
  }
  return fmt::format("heads = {}\nmask = {}\n", m.heads, mask) + section("Q", q) + section("K", k) +
         section("V", m.x * m.w_dkv * m.w_uv);
}

const std::string kX = "[X]\n1 0\n0 1\n";
const std::string kLatentSections = "[W_DKV]\n1\n2\n[W_UK]\n1 0\n[W_UV]\n1 1\n[W_UQ]\n1 0\n0 1\n";
const std::string kPositionSections = "[W_KR]\n1 0\n0 1\n[W_QR]\n1 0\n0 1\n";

}  // namespace

TEST_CASE("latent attention is plain attention on the restored keys and values") {
  QKV_SAY_SEED();
  Random random(91);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const Mla m = random_mla(random);
    const Trace latent = traced(problem(m.settings() + m.sections()));
    const Trace plain = traced(problem(restored(m)));
    for (Index h = 0; h < m.heads; ++h) {
      const std::string prefix = m.heads == 1 ? "" : "h" + std::to_string(h + 1) + ".";
      for (const char* step : {"Q", "K", "V", "scores", "scaled", "weights", "output"}) {
        INFO("step ", prefix, std::string(step));
        CHECK(apart(value(latent, prefix + step), value(plain, prefix + step), 1e-12) == "");
      }
    }
  }
}

TEST_CASE("scores and output can be had from the latent and the shared position part alone") {
  QKV_SAY_SEED();
  Random random(94);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const Mla m = random_mla(random);
    const bool is_linear = round % 2 == 1;
    const Trace trace =
        traced(problem((is_linear ? "layout = linear\n" : "") + m.settings() + m.sections(is_linear)));
    for (Index h = 0; h < m.heads; ++h) {
      const std::string prefix = m.heads == 1 ? "" : "h" + std::to_string(h + 1) + ".";
      for (const char* step : {"scores", "output"}) {
        CHECK(apart(value(trace, prefix + "cached." + step), value(trace, prefix + step), 1e-13) == "");
      }
    }
  }
}

TEST_CASE(
    "decoding with latents: every pass weighs and reads what plain decoding does, and at last the full "
    "pass") {
  QKV_SAY_SEED();
  Random random(95);
  for (int round = 0; round < 30; ++round) {
    for (const char* mask : {"causal", "causal window:2", "causal window:1 sinks:1"}) {
      CAPTURE(round);
      CAPTURE(mask);
      const Mla m = random_mla(random);
      const bool is_linear = round % 2 == 1;
      const std::string stored = is_linear ? "layout = linear\n" : "";
      const std::string decode = fmt::format("decode = yes\nprefill = {}\n", random.whole(0, m.x.rows()));
      const std::string sections = m.sections(is_linear);
      const Trace latent = traced(problem(stored + decode + m.settings(mask) + sections));
      const Trace plain = traced(problem(decode + restored(m, mask)));
      int compared = 0;
      for (const Node& node : plain.plan().nodes) {
        if (node.name() != "scores" && node.name() != "weights" && node.name() != "output") continue;
        INFO("step ", node.id);
        CHECK(apart(value(latent, node.id), value(plain, node.id), 1e-12) == "");
        ++compared;
      }
      CHECK(compared >= 3 * m.heads);
      const Trace whole = traced(problem(stored + m.settings(mask) + sections));
      const std::string last = m.heads == 1 ? "output" : "concat";
      CHECK(apart(value(latent, last), value(whole, last), 1e-15) == "");
    }
  }
}

TEST_CASE("of earlier passes a decode step with latents knows c_KV and K_R, and nothing else") {
  QKV_SAY_SEED();
  Random random(96);
  Mla m = random_mla(random);
  while (!m.has_position() || m.heads == 1 || m.x.rows() < 4) m = random_mla(random);
  const Plan plan =
      plan_of(problem("decode = yes\nprefill = 2\n" + m.settings("causal window:2 sinks:1") + m.sections()));
  const auto pass = [](const Node& node) { return node.prefix.substr(0, node.prefix.find('.')); };
  std::set<std::string> known;
  for (const Node& node : plan.nodes) {
    for (const NodeId input : node.inputs) {
      if (!pass(node).empty() && !pass(plan[input]).empty() && pass(plan[input]) != pass(node))
        known.emplace(plan[input].name());
    }
  }
  CHECK(known == std::set<std::string>{"c_KV", "c_KV.cache", "K_R", "K_R.cache"});
}

TEST_CASE("the latents of tokens that no one may see any more leave the cache") {
  // c_KV = 1 2 3 by hand; a window of 1 and the first token kept.
  const Trace trace =
      traced(problem("decode = yes\nmask = window:1 sinks:1\n[X]\n1 0\n0 1\n1 1\n" + kLatentSections));
  CHECK(shown(trace, "t2.c_KV.cache", 0) == "1 ; 2");
  CHECK(shown(trace, "t3.c_KV.kept", 0) == "1");
  CHECK(shown(trace, "t3.c_KV", 0) == "3");
  CHECK(shown(trace, "t3.c_KV.cache", 0) == "1 ; 3");
  CHECK(shown(trace, "t3.V_C", 0) == "1 1 ; 3 3");
  CHECK(trace.plan()[node_named(trace.plan(), "t3.weights")].cols == std::vector<std::string>{"t1", "t3"});
  // One number a token in place of 2 + 2, which is said once.
  CHECK(shown(trace, "cache", 0) == "1");
  CHECK(shown(trace, "plain.cache", 0) == "2 2");
  CHECK_FALSE(trace.plan().find("t2.cache").has_value());
}

TEST_CASE("weights stored as nn.Linear does are the same latent attention") {
  QKV_SAY_SEED();
  Random random(92);
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    const Mla m = random_mla(random);
    const Trace columns = traced(problem(m.settings() + m.sections()));
    const Trace linear = traced(problem("layout = linear\n" + m.settings() + m.sections(true)));
    const std::string last = m.heads == 1 ? "output" : "concat";
    CHECK(apart(value(linear, last), value(columns, last), 0) == "");
  }
}

TEST_CASE("shifting all positions changes no score, though it turns K_R and Q_R") {
  QKV_SAY_SEED();
  Random random(93);
  Mla m = random_mla(random);
  while (!m.has_position() || m.heads == 1) m = random_mla(random);
  std::string positions = "positions =";
  for (Index t = 0; t < m.x.rows(); ++t) positions += fmt::format(" {}", t + 5);
  const Trace near = traced(problem(m.settings() + m.sections()));
  const Trace far = traced(problem(positions + "\n" + m.settings() + m.sections()));
  CHECK(apart(value(far, "h2.scores"), value(near, "h2.scores"), 1e-13) == "");
  CHECK(apart(value(far, "K_R"), turned(m.x * m.w_kr, m.d_rope, m.is_interleaved, 5), 1e-13) == "");
}

TEST_CASE("the root holds both parts: d_k = d_head + d_rope") {
  const Problem p = problem("rope = half\n" + kX + kLatentSections + kPositionSections);
  CHECK(p.scale.d_k.text == "4");
  CHECK(p.rope.dims == 2);
  CHECK(problem(kX + kLatentSections).scale.d_k.text == "2");
}

TEST_CASE("the sequence of the keys may be another") {
  const std::string text = "[X]\n1 2\n" + kLatentSections + "[X_kv]\n1 0\n0 1\n1 1\n";
  // By hand: c_KV = 1 2 3, V_C = 1 1 / 2 2 / 3 3, Q_C = 1 2, K_C = 1 0 / 2 0 / 3 0, scores 1 2 3.
  const Trace trace = traced(problem(text));
  CHECK(shown(trace, "c_KV", 0) == "1 ; 2 ; 3");
  CHECK(shown(trace, "V", 0) == "1 1 ; 2 2 ; 3 3");
  CHECK(shown(trace, "scores", 0) == "1 2 3");
}

TEST_CASE("what is missing of latent attention, or does not fit, is said where it stands") {
  CHECK(messages(kX + "[W_DKV]\n1\n2\n[W_UK]\n1 0\n") ==
        "error: [W_DKV] is a part of MLA, which needs [W_UV] too\n"
        "error: [W_DKV] is a part of MLA, which needs [W_UQ] too\n");
  CHECK(messages(kX + kLatentSections + "[W_QR]\n1 0\n0 1\n") ==
        "error: [W_QR] needs [W_KR]: query and key have a position part, or neither has\n");
  CHECK(messages(kLatentSections) == "error: [W_DKV] needs [X], which is not given\n");
  CHECK(messages(kX + "[W_DKV]\n1\n2\n3\n[W_UK]\n1 0\n[W_UV]\n1 1\n[W_UQ]\n1 0\n0 1\n") ==
        "error: X is 2×2 but W_DKV is 3×1: X·W_DKV needs 2 rows in W_DKV\n");
  CHECK(messages("heads = 2\n" + kX + "[W_DKV]\n1\n2\n[W_UK]\n1 0 1\n[W_UV]\n1 1\n[W_UQ]\n1 0\n0 1\n") ==
        "error: the 3 columns of K_C cannot be cut into 2 heads\n");
  CHECK(told(kX + "[W_DKV]\n1\n2\n[W_UK]\n1 0 1\n[W_UV]\n1 1\n[W_UQ]\n1 0\n0 1\n", Language::zh) ==
        "t.qkv:11:1: error: Q_C 宽 2，而 K_C 宽 3：每个头里查询与键要一样宽\n"
        "  11 | [W_UQ]\n"
        "     | ^^^^^^\n"
        "     = hint: W_UQ 来自第 11 行的 [W_UQ]；W_UK 来自第 7 行的 [W_UK]\n");
  CHECK(messages("heads = 2\nrope = half\n" + kX + kLatentSections + kPositionSections) ==
        "error: Q_R is 2 wide, but 2 heads, each with a position part of 2, make 4\n");
}

TEST_CASE("what does not go with latent attention is refused, each with its reason") {
  CHECK(messages("rope = half\n" + kX + kLatentSections) ==
        "error: rope turns K_R and Q_R, which [W_KR] and [W_QR] make\n");
  CHECK(messages("heads = 2\nkv_heads = 1\n" + kX + kLatentSections) ==
        "error: kv_heads = 1 does not go with MLA: each of the 2 heads restores keys of its own\n");
  CHECK(messages(kX + kLatentSections + "[past_K]\n1 0\n[past_V]\n1 1\n") ==
        "error: [past_K] does not go with MLA\nerror: [past_V] does not go with MLA\n");
  CHECK(messages(kX + kLatentSections + "[W_Q]\n1 0\n0 1\n") ==
        "error: [W_Q] contradicts [W_DKV]: Q is given in one way only\n");
  CHECK(messages("scale = none\n[scores]\n1 2\n" + kLatentSections)
            .starts_with("error: [W_DKV] contradicts [scores]: the calculation starts at scores"));
  CHECK(messages("rope = half\nrope_dims = 3\n" + kX + kLatentSections + kPositionSections) ==
        "error: 3 columns cannot turn in pairs\n");
  CHECK(messages(kX + kLatentSections + kPositionSections) ==
        "warning: rope is none, so the position parts K_R and Q_R are not turned\n");
}

}  // namespace qkv::test

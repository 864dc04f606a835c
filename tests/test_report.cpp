// What is said of a trace: formulas, cells, their arithmetic, tables, the tree behind a number,
// the comparison with printed numbers, and the JSON that other programs read.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ascii.h"
#include "base/display_width.h"
#include "expression.h"
#include "methods/entropy.h"
#include "ops/rows.h"
#include "render/json.h"
#include "render/text.h"
#include "report/expect.h"
#include "report/formula.h"
#include "report/narrate.h"
#include "run/cells.h"
#include "support.h"

namespace qkv::test {
namespace {

using Json = nlohmann::ordered_json;

Matrix filled(Index rows, Index cols) {
  Matrix m(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) m(i, j) = static_cast<double>((i * 5 + j * 3) % 7 - 3) / 4;
  }
  return m;
}
Given filled_rows(Index rows, Index cols) { return rows_of(filled(rows, cols)); }

// 2 queries and 3 keys; no two widths alike, so that a wrong shape shows.
Sections projections(Layout layout) {
  const auto stored = [&](Index in, Index out) {
    return layout == Layout::columns ? filled_rows(in, out) : filled_rows(out, in);
  };
  return {{"X", filled_rows(2, 6)}, {"X_kv", filled_rows(3, 6)}, {"W_Q", stored(6, 4)},
          {"W_K", stored(6, 4)},    {"W_V", stored(6, 5)},       {"W_O", stored(5, 7)}};
}

void add_biases(Sections& sections) {
  for (const auto& [name, width] : {std::pair{"b_Q", 4}, {"b_K", 4}, {"b_V", 5}, {"b_O", 7}}) {
    sections.emplace(name, filled_rows(1, width));
  }
}

Problem plain_problem() {
  Problem p = problem_at(Entry::x, projections(Layout::columns));
  forbid(p, mask_of("1 1 0 ; 0 0 0"));
  return p;
}

// Everything that may stand between scores and output at once.
Problem rich_problem() {
  Sections sections = projections(Layout::columns);
  add_biases(sections);
  sections.emplace("bias", rows_of("0.5 0 -inf ; 1/3 -1 0"));
  Problem p = problem_at(Entry::x, sections);
  p.scale = {ScaleKind::factor, written("1/3"), {}};
  p.softcap = written("5/2");
  p.slopes = {written("0.5")};
  p.temperature = written("2/3");
  p.sink_logits = {written("-0.7")};
  forbid(p, mask_of("1 1 0 ; 1 1 1"));
  return p;
}

Problem linear_problem() {
  Problem p = problem_at(Entry::x, projections(Layout::linear));
  p.layout = Layout::linear;
  p.scale.d_k = whole_number(4);
  p.slopes = {written("1/2")};
  p.read = ReadKind::hard;
  return p;
}

Problem linear_biased_problem() {
  Sections sections = projections(Layout::linear);
  add_biases(sections);
  Problem p = problem_at(Entry::x, sections);
  p.layout = Layout::linear;
  p.scale.kind = ScaleKind::none;
  return p;
}

Problem scored_problem(ScoreKind kind, bool biased = false) {
  Sections sections{{"Q", filled_rows(2, 4)}, {"K", filled_rows(3, 5)}, {"v_a", filled_rows(1, 6)}};
  if (kind == ScoreKind::general) sections.emplace("W_a", filled_rows(4, 5));
  if (kind == ScoreKind::concat) sections.emplace("W_a", filled_rows(9, 6));
  if (kind == ScoreKind::additive) {
    sections.emplace("W_a", filled_rows(4, 6));
    sections.emplace("U_a", filled_rows(5, 6));
  }
  if (biased) sections.emplace("b_a", filled_rows(1, 6));
  Problem p = problem_at(Entry::qkv, sections);
  p.score = kind;
  p.scale.kind = ScaleKind::none;
  return p;
}

Problem same_problem() {
  Problem p = problem_at(Entry::qkv, {{"Q", rows_of("1 0 ; 0 1 ; 1 1")},
                                      {"K", rows_of("1 0 ; 0 1 ; 1 1")},
                                      {"V", rows_of("1.0 0.0 ; 0.0 1.0 ; 0.5 0.5")}});
  p.same_as.emplace("K", "Q");
  return p;
}

Problem symbolic_problem() {
  Problem p =
      problem_at(Entry::scores, {{"scores", rows_of("0 0 ; -inf 0 ; 0 1")}, {"V", rows_of("a 2 ; -3 b")}});
  p.scale.kind = ScaleKind::none;
  return p;
}

// Four heads share two keys and values; one is dropped.
Problem heads_problem() {
  Problem p =
      problem_at(Entry::qkv, {{"Q", filled_rows(2, 8)}, {"K", filled_rows(2, 4)}, {"V", filled_rows(2, 4)}});
  p.heads = 4;
  p.kv_heads = 2;
  p.is_dropped = {false, true, false, false};
  return p;
}

// A bias of all heads, one of a head alone, and distances.
Problem biased_heads_problem(bool has_alibi) {
  Problem p = heads_problem();
  p.given["bias"] = filled_rows(2, 2);
  p.given["h2.bias"] = rows_of("0 1 ; 1/3 0");
  if (has_alibi) p.slopes.assign(4, written("1/4"));
  return p;
}

// A cache of one token, and rotations.
Problem cached_problem(Rope::Pairs pairs) {
  Problem p = problem_at(Entry::qkv, {{"Q", filled_rows(2, 4)},
                                      {"K", filled_rows(2, 4)},
                                      {"V", filled_rows(2, 1)},
                                      {"past_K", filled_rows(1, 4)},
                                      {"past_V", filled_rows(1, 1)}});
  p.kv_tokens = labels("k", 3);
  p.rope = {pairs, whole_number(10000), 4};
  p.positions = {1, 2};
  p.kv_positions = {1, 2};
  return p;
}

Problem sinusoidal_problem() {
  Problem p = problem_at(Entry::x, projections(Layout::columns));
  p.adds_sinusoids = true;
  p.positions = {0, 1};
  p.kv_positions = {0, 1, 2};
  return p;
}

// Two tokens one after the other, of which the second no longer sees the first.
Problem decoded_problem() {
  Problem p =
      problem_at(Entry::qkv, {{"Q", filled_rows(3, 2)}, {"K", filled_rows(3, 2)}, {"V", filled_rows(3, 1)}});
  forbid(p, mask_of("1 0 0 ; 1 1 0 ; 0 1 1"));
  p.is_decoded = true;
  return p;
}

Problem decoded_from_x() {
  Problem p = problem_at(Entry::x, {{"X", filled_rows(2, 3)},
                                    {"W_Q", filled_rows(3, 2)},
                                    {"W_K", filled_rows(3, 2)},
                                    {"W_V", filled_rows(3, 1)}});
  forbid(p, mask_of("1 0 ; 1 1"));
  p.is_decoded = true;
  return p;
}

Problem tiled_problem() {
  Problem p =
      problem_at(Entry::qkv, {{"Q", filled_rows(2, 2)}, {"K", filled_rows(3, 2)}, {"V", filled_rows(3, 1)}});
  p.tile = Tile{1, 2};
  return p;
}

Problem stacked_problem() {
  Problem p = decoded_from_x();
  p.is_decoded = false;
  p.given["W_V"] = filled_rows(3, 3);
  p.has_residual = true;
  p.stack = {p, p};
  return p;
}

Problem hopping_problem() {
  Problem p =
      problem_at(Entry::qkv, {{"Q", filled_rows(1, 2)}, {"K", filled_rows(3, 2)}, {"V", filled_rows(3, 2)}});
  p.hops = 2;
  return p;
}

// Backwards, from the sum of the result or, with targets, from the cross-entropy.
Problem learning(Problem p, const char* target = nullptr) {
  p.wants_gradient = true;
  if (target != nullptr) p.given.emplace("target", rows_of(target));
  return p;
}

Problem scored_problem_with_values(ScoreKind score, bool is_biased = false) {
  Problem p = scored_problem(score, is_biased);
  p.given.insert_or_assign("V", filled_rows(3, 2));
  return p;
}

// Linear attention of two tokens; causal it is recurrent.
Problem linear_attention_problem(Phi phi, bool is_causal, const char* eps) {
  Problem p =
      problem_at(Entry::qkv, {{"Q", filled_rows(2, 3)}, {"K", filled_rows(2, 3)}, {"V", filled_rows(2, 1)}});
  p.method = MethodKind::linear;
  p.phi = phi;
  p.eps = written(eps);
  if (is_causal) forbid(p, causal_mask(2, 2, 0));
  return p;
}

// Three tokens, the first two in one pass.
Problem decoded_linearly(const char* eps) {
  Problem p = linear_attention_problem(Phi::relu, false, eps);
  for (const char* name : {"Q", "K"}) p.given.insert_or_assign(name, filled_rows(3, 3));
  p.given.insert_or_assign("V", filled_rows(3, 1));
  p.tokens = p.kv_tokens = labels("t", 3);
  forbid(p, causal_mask(3, 3, 0));
  p.is_decoded = true;
  p.prefill = 2;
  return p;
}

// Two latent heads, 2 wide, with a position part of 2 that all heads share.
Problem latent_problem(Layout layout) {
  const auto stored = [&](Index in, Index out) {
    return layout == Layout::columns ? filled_rows(in, out) : filled_rows(out, in);
  };
  // W_Q and V only help problem_at to its usual settings.
  Problem p = problem_at(Entry::x, {{"X", filled_rows(2, 4)},
                                    {"W_Q", filled_rows(4, 4)},
                                    {"W_DKV", stored(4, 3)},
                                    {"W_UK", stored(3, 4)},
                                    {"W_UV", stored(3, 2)},
                                    {"W_DQ", stored(4, 5)},
                                    {"W_UQ", stored(5, 4)},
                                    {"W_KR", stored(4, 2)},
                                    {"W_QR", stored(5, 4)},
                                    {"V", filled_rows(2, 2)}});
  p.given.erase("W_Q");
  p.given.erase("V");
  p.layout = layout;
  p.heads = p.kv_heads = 2;
  p.rope = {Rope::Pairs::interleaved, whole_number(10000), 2};
  p.positions = p.kv_positions = {0, 1};
  return p;
}

// Three tokens one after the other, of which the last no longer sees the first.
Problem decoded_latents(Layout layout) {
  Problem p = latent_problem(layout);
  p.given["X"] = filled_rows(3, 4);
  p.tokens = p.kv_tokens = labels("t", 3);
  p.positions = p.kv_positions = {0, 1, 2};
  forbid(p, mask_of("1 0 0 ; 1 1 0 ; 0 1 1"));
  p.is_decoded = true;
  return p;
}

// Self-attention whose three parameters were given as one.
Problem fused_problem(Layout layout) {
  Sections sections = projections(layout);
  sections.erase("X_kv");
  sections.erase("W_O");
  sections.emplace("W_QKV", layout == Layout::columns ? filled_rows(6, 13) : filled_rows(13, 6));
  Problem p = problem_at(Entry::x, sections);
  p.layout = layout;
  return p;
}

// The second query sees the first key only because the window keeps it.
Problem sinks_problem() {
  Problem p =
      problem_at(Entry::qkv, {{"Q", filled_rows(2, 3)}, {"K", filled_rows(3, 3)}, {"V", filled_rows(3, 2)}});
  forbid(p, mask_of("1 1 0 ; 1 0 1"));
  p.seen_by_sinks = std::make_shared<const Mask>(mask_of("0 0 0 ; 1 0 0"));
  return p;
}

std::vector<Problem> all_problems() {
  return {plain_problem(),
          sinks_problem(),
          decoded_problem(),
          decoded_from_x(),
          tiled_problem(),
          stacked_problem(),
          hopping_problem(),
          learning(rich_problem(), "2 7"),
          learning(linear_biased_problem()),
          learning(heads_problem()),
          learning(cached_problem(Rope::Pairs::half)),
          learning(cached_problem(Rope::Pairs::interleaved)),
          learning(fused_problem(Layout::columns)),
          learning(fused_problem(Layout::linear)),
          learning(scored_problem_with_values(ScoreKind::general)),
          learning(scored_problem_with_values(ScoreKind::additive, true)),
          learning(scored_problem_with_values(ScoreKind::concat)),
          learning(stacked_problem()),
          learning(latent_problem(Layout::columns)),
          learning(latent_problem(Layout::linear)),
          learning(linear_attention_problem(Phi::elu_plus_1, false, "0")),
          learning(linear_attention_problem(Phi::exp, false, "1/4")),
          learning(linear_attention_problem(Phi::relu, true, "1/4")),
          learning(linear_attention_problem(Phi::identity, true, "0")),
          heads_problem(),
          biased_heads_problem(false),
          biased_heads_problem(true),
          cached_problem(Rope::Pairs::half),
          cached_problem(Rope::Pairs::interleaved),
          sinusoidal_problem(),
          latent_problem(Layout::columns),
          latent_problem(Layout::linear),
          decoded_latents(Layout::columns),
          decoded_latents(Layout::linear),
          linear_attention_problem(Phi::elu_plus_1, false, "0"),
          linear_attention_problem(Phi::exp, false, "1/4"),
          linear_attention_problem(Phi::relu, true, "1/4"),
          linear_attention_problem(Phi::identity, true, "0"),
          decoded_linearly("0"),
          decoded_linearly("1/4"),
          rich_problem(),
          linear_problem(),
          linear_biased_problem(),
          same_problem(),
          symbolic_problem(),
          scored_problem(ScoreKind::general),
          scored_problem(ScoreKind::additive),
          scored_problem(ScoreKind::additive, true),
          scored_problem(ScoreKind::concat),
          problem_at(Entry::weights,
                     {{"weights", rows_of("0.25 3/4 ; -1 2")}, {"V", rows_of("5% ; sqrt(2)/2")}})};
}

About about_of(const Problem& p) {
  About about;
  about.title = "An example";
  about.tokens = p.tokens;
  about.settings = {{"mask", "causal"}};
  return about;
}

// "id (shape) = …" of every computed step.
std::string formulas(const Problem& p, bool brief) {
  const Plan plan = plan_of(p);
  std::string lines;
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    if (plan[id].given.empty()) lines += formula_with_shapes(plan, id, brief) + "\n";
  }
  return lines;
}

std::string scores_formula(const Problem& p) {
  const Plan plan = plan_of(p);
  return formula_with_shapes(plan, node_named(plan, "scores"));
}

std::optional<CellAt> cell(const Plan& plan, const std::string& text) {
  Said reason;
  Said hint;
  return find_cell(plan, text, reason, hint);
}

CellAt cell_of(const Plan& plan, const std::string& text) {
  INFO("cell ", text);
  const auto found = cell(plan, text);
  REQUIRE(found);
  return *found;
}

TableCell shown_at(const Trace& trace, const std::string& text, int decimals = 2) {
  return shown_cell(trace, cell_of(trace.plan(), text), decimals);
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

// ---- Formulas -----------------------------------------------------------------------------

TEST_CASE("formulas with shapes: projections, a mask, the softmax line by line") {
  CHECK(formulas(plain_problem(), false) ==
        "Q (2×4) = X (2×6) · W_Q (6×4)\n"
        "K (3×4) = X_kv (3×6) · W_K (6×4)\n"
        "V (3×5) = X_kv (3×6) · W_V (6×5)\n"
        "scores (2×3) = Q (2×4) · Kᵀ (4×3)\n"
        "scaled (2×3) = scores (2×3) / √d_k\n"
        "masked (2×3) = scaled (2×3) + M (2×3)\n"
        "max (2×1) = max_j masked (2×3)\n"
        "shifted (2×3) = masked (2×3) − max (2×1)\n"
        "exp (2×3) = e^(shifted (2×3))\n"
        "sum (2×1) = Σ_j exp (2×3)\n"
        "naive.exp (2×3) = e^(masked (2×3))\n"
        "naive.sum (2×1) = Σ_j naive.exp (2×3)\n"
        "weights (2×3) = exp (2×3) / sum (2×1)\n"
        "output (2×5) = weights (2×3) · V (3×5)\n"
        "Y (2×7) = output (2×5) · W_O (5×7)\n");
}

TEST_CASE("formulas with shapes: biases, a factor, cap, ALiBi, temperature and sink") {
  CHECK(formulas(rich_problem(), false) ==
        "Q (2×4) = X (2×6) · W_Q (6×4) + b_Q (1×4)\n"
        "K (3×4) = X_kv (3×6) · W_K (6×4) + b_K (1×4)\n"
        "V (3×5) = X_kv (3×6) · W_V (6×5) + b_V (1×5)\n"
        "scores (2×3) = Q (2×4) · Kᵀ (4×3)\n"
        "scaled (2×3) = 1/3 · scores (2×3)\n"
        "capped (2×3) = 5/2 · tanh(scaled (2×3) / (5/2))\n"
        "bias (2×3) = [bias] (2×3) − 0.5 · |p_i − p_j|\n"
        "masked (2×3) = capped (2×3) + bias (2×3) + M (2×3)\n"
        "tempered (2×3) = masked (2×3) / (2/3)\n"
        "max (2×1) = max(max_j tempered (2×3), -0.7)\n"
        "shifted (2×3) = tempered (2×3) − max (2×1)\n"
        "exp (2×3) = e^(shifted (2×3))\n"
        "sum (2×1) = Σ_j exp (2×3) + e^(-0.7 − max (2×1))\n"
        "naive.exp (2×3) = e^(tempered (2×3))\n"
        "naive.sum (2×1) = Σ_j naive.exp (2×3) + e^-0.7\n"
        "weights (2×3) = exp (2×3) / sum (2×1)\n"
        "output (2×5) = weights (2×3) · V (3×5)\n"
        "Y (2×7) = output (2×5) · W_O (5×7) + b_O (1×7)\n");
}

TEST_CASE("formulas with shapes: stored as nn.Linear does, hard reading, in brief") {
  CHECK(formulas(linear_problem(), true) ==
        "Q (2×4) = X (2×6) · W_Qᵀ (6×4)\n"
        "K (3×4) = X_kv (3×6) · W_Kᵀ (6×4)\n"
        "V (3×5) = X_kv (3×6) · W_Vᵀ (6×5)\n"
        "scores (2×3) = Q (2×4) · Kᵀ (4×3)\n"
        "scaled (2×3) = scores (2×3) / √d_k\n"
        "bias (2×3) = −1/2 · |p_i − p_j|\n"
        "masked (2×3) = scaled (2×3) + bias (2×3)\n"
        "max (2×1) = max_j masked (2×3)\n"
        "shifted (2×3) = masked (2×3) − max (2×1)\n"
        "exp (2×3) = e^(shifted (2×3))\n"
        "sum (2×1) = Σ_j exp (2×3)\n"
        "naive.exp (2×3) = e^(masked (2×3))\n"
        "naive.sum (2×1) = Σ_j naive.exp (2×3)\n"
        "weights (2×3) = softmax(masked (2×3))\n"
        "output (2×5) = V (3×5)[argmax_j weights (2×3)]\n"
        "soft.output (2×5) = weights (2×3) · V (3×5)\n"
        "Y (2×7) = output (2×5) · W_Oᵀ (5×7)\n");
  CHECK(formulas(linear_biased_problem(), true).starts_with("Q (2×4) = X (2×6) · W_Qᵀ (6×4) + b_Q (1×4)\n"));
}

TEST_CASE("formulas with shapes: linear attention, at once and token by token") {
  CHECK(formulas(linear_attention_problem(Phi::elu_plus_1, false, "0"), true) ==
        "phi.Q (2×3) = elu(Q (2×3)) + 1\n"
        "phi.K (2×3) = elu(K (2×3)) + 1\n"
        "S (3×1) = phi.Kᵀ (3×2) · V (2×1)\n"
        "z (1×3) = Σ_j phi.K (2×3)\n"
        "kernel (2×2) = phi.Q (2×3) · phi.Kᵀ (3×2)\n"
        "denominator (2×1) = Σ_j kernel (2×2)\n"
        "weights (2×2) = kernel (2×2) / denominator (2×1)\n"
        "output (2×1) = (phi.Q (2×3) · S (3×1)) / (phi.Q (2×3) · zᵀ (3×1))\n"
        "quadratic.output (2×1) = weights (2×2) · V (2×1)\n");
  CHECK(formulas(linear_attention_problem(Phi::relu, true, "1/4"), true) ==
        "phi.Q (2×3) = max(Q (2×3), 0)\n"
        "phi.K (2×3) = max(K (2×3), 0)\n"
        "t1.S (3×1) = phi.K (2×3)[1, :]ᵀ · V (2×1)[1, :]\n"
        "t1.z (1×3) = phi.K (2×3)[1, :]\n"
        "t1.output (1×1) = (phi.Q (2×3)[1, :] · t1.S (3×1)) / (phi.Q (2×3)[1, :] · t1.zᵀ (3×1) + 1/4)\n"
        "t2.S (3×1) = t1.S (3×1) + phi.K (2×3)[2, :]ᵀ · V (2×1)[2, :]\n"
        "t2.z (1×3) = t1.z (1×3) + phi.K (2×3)[2, :]\n"
        "t2.output (1×1) = (phi.Q (2×3)[2, :] · t2.S (3×1)) / (phi.Q (2×3)[2, :] · t2.zᵀ (3×1) + 1/4)\n"
        "kernel (2×2) = phi.Q (2×3) · phi.Kᵀ (3×2)\n"
        "denominator (2×1) = Σ_j kernel (2×2) + 1/4\n"
        "weights (2×2) = kernel (2×2) / denominator (2×1)\n"
        "output (2×1) = rows(t1.output (1×1), t2.output (1×1))\n"
        "quadratic.output (2×1) = weights (2×2) · V (2×1)\n");
}

TEST_CASE("formulas with shapes: latent attention, up to the scores of its first head") {
  const std::string all = formulas(latent_problem(Layout::columns), true);
  CHECK(all.substr(0, all.find("h1.scaled")) ==
        "c_KV (2×3) = X (2×4) · W_DKV (4×3)\n"
        "K_C (2×4) = c_KV (2×3) · W_UK (3×4)\n"
        "V_C (2×2) = c_KV (2×3) · W_UV (3×2)\n"
        "K_R.unrotated (2×2) = X (2×4) · W_KR (4×2)\n"
        "angles (2×1) = positions (2×1) / (10000^(2i/2))\n"
        "K_R (2×2) = rotate(K_R.unrotated (2×2); angles (2×1))\n"
        "c_Q (2×5) = X (2×4) · W_DQ (4×5)\n"
        "Q_C (2×4) = c_Q (2×5) · W_UQ (5×4)\n"
        "Q_R.unrotated (2×4) = c_Q (2×5) · W_QR (5×4)\n"
        "Q_R (2×4) = rotate(Q_R.unrotated (2×4); angles (2×1))\n"
        "cached.K (2×5) = [c_KV (2×3)[:, 1..3], K_R (2×2)[:, 1..2]]\n"
        "cache (1×2) = width(c_KV (2×3), K_R (2×2))\n"
        "plain.cache (1×2) = width(K_C (2×4), V_C (2×2))\n"
        "h1.Q (2×4) = [Q_C (2×4)[:, 1..2], Q_R (2×4)[:, 1..2]]\n"
        "h1.K (2×4) = [K_C (2×4)[:, 1..2], K_R (2×2)[:, 1..2]]\n"
        "h1.V (2×1) = V_C (2×2)[:, 1..1]\n"
        "h1.scores (2×2) = h1.Q (2×4) · h1.Kᵀ (4×2)\n");
  const auto beside_head_1 = [](Layout layout) {
    const std::string lines = formulas(latent_problem(layout), true);
    const std::size_t from = lines.find("h1.absorbed.Q_C");
    return lines.substr(from, lines.find("h2.Q") - from);
  };
  CHECK(beside_head_1(Layout::columns) ==
        "h1.absorbed.Q_C (2×3) = Q_C (2×4)[:, 1..2] · W_UK (3×4)[:, 1..2]ᵀ\n"
        "h1.absorbed.Q (2×5) = [h1.absorbed.Q_C (2×3)[:, 1..3], Q_R (2×4)[:, 1..2]]\n"
        "h1.cached.scores (2×2) = h1.absorbed.Q (2×5) · cached.Kᵀ (5×2)\n"
        "h1.cached.output (2×1) = h1.weights (2×2) · c_KV (2×3) · W_UV (3×2)[:, 1..1]\n");
  CHECK(beside_head_1(Layout::linear) ==
        "h1.absorbed.Q_C (2×3) = Q_C (2×4)[:, 1..2] · W_UK (4×3)[1..2, :]\n"
        "h1.absorbed.Q (2×5) = [h1.absorbed.Q_C (2×3)[:, 1..3], Q_R (2×4)[:, 1..2]]\n"
        "h1.cached.scores (2×2) = h1.absorbed.Q (2×5) · cached.Kᵀ (5×2)\n"
        "h1.cached.output (2×1) = h1.weights (2×2) · c_KV (2×3) · W_UV (2×3)[1..1, :]ᵀ\n");
}

TEST_CASE("formulas with shapes: other scores, one matrix in two roles, symbols") {
  CHECK(scores_formula(scored_problem(ScoreKind::general)) ==
        "scores (2×3) = Q (2×4) · W_a (4×5) · Kᵀ (5×3)");
  CHECK(scores_formula(scored_problem(ScoreKind::additive)) ==
        "scores (2×3) = v_a (1×6) · tanh(Q (2×4) · W_a (4×6) + K (3×5) · U_a (5×6))");
  CHECK(scores_formula(scored_problem(ScoreKind::additive, true)) ==
        "scores (2×3) = v_a (1×6) · tanh(Q (2×4) · W_a (4×6) + K (3×5) · U_a (5×6) + b_a (1×6))");
  CHECK(scores_formula(scored_problem(ScoreKind::concat)) ==
        "scores (2×3) = v_a (1×6) · tanh([Q (2×4); K (3×5)] · W_a (9×6))");
  CHECK(formulas(same_problem(), true).starts_with("K (3×2) = Q (3×2)\nscores (3×3) = Q (3×2) · Kᵀ (2×3)\n"));
  // Each cell of V is two matrix columns and more; what is shown counts.
  CHECK(formulas(symbolic_problem(), true).ends_with("output (3×2) = weights (3×2) · V (2×2)\n"));
  CHECK(formulas(rich_problem(), true).find("weights (2×3) = softmax(tempered (2×3); -0.7)\n") !=
        std::string::npos);
}

TEST_CASE("the problems of these tests meet every op") {
  std::set<std::string> met;
  for (const Problem& p : all_problems()) {
    for (const Node& node : with_entropies(plan_of(p)).nodes) {
      met.insert(node.op->name);
      if (node.brief) met.insert(node.brief->op->name);
    }
  }
  for (const Op* op : ops::all()) {
    INFO("op ", std::string(op->name));
    CHECK(met.contains(op->name));
  }
}

TEST_CASE("any cell computed alone is that cell of the whole, in every step") {
  for (const Problem& p : all_problems()) {
    const Plan plan = plan_of(p);
    const std::vector<Matrix> whole = in_doubles(plan);
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      INFO("step ", plan[id].id);
      Matrix alone(whole[id].rows(), whole[id].cols());
      for (Index i = 0; i < alone.rows(); ++i) {
        for (Index j = 0; j < alone.cols(); ++j) alone(i, j) = Cells<Matrix>(plan).cell(id, i, j);
      }
      CHECK(apart(alone, whole[id], 0) == "");
    }
  }
}

TEST_CASE("formulas without shapes, and in TeX with step ids as names") {
  const Plan plan = plan_of(rich_problem());
  const auto plain = [&](const char* id) { return plain_formula(plan, node_named(plan, id)); };
  const auto tex = [&](const char* id) { return tex_formula(plan, node_named(plan, id)); };
  CHECK(plain("scores") == "Q · Kᵀ");
  CHECK(tex("scores") == "Q K^T");
  CHECK(plain("capped") == "5/2 · tanh(scaled / (5/2))");
  CHECK(tex("capped") == R"(5/2 \cdot \tanh(\frac{scaled}{5/2}))");
  CHECK(plain("exp") == "e^shifted");
  CHECK(tex("exp") == "e^{shifted}");
  CHECK(plain("sum") == "Σ_j exp + e^(-0.7 − max)");
  CHECK(tex("sum") == R"(\sum_j exp + e^{-0.7 - max})");
  CHECK(plain("M").empty());
  CHECK(tex("M").empty());
  CHECK(tex_formula(plan, node_named(plan, "weights"), true) == "softmax(tempered; -0.7)");
}

// ---- Cells ----------------------------------------------------------------------------------

TEST_CASE("a cell shows its digits, its infinity or that the mask decided it") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("0 -50 9 ; 0 0 inf")}});
  p.scale.kind = ScaleKind::none;
  forbid(p, mask_of("1 1 0 ; 1 0 1"));
  const Trace trace = traced(p);
  const auto is = [&](const char* name, const char* text, CellRole role) {
    INFO("cell ", std::string(name));
    const TableCell cell = shown_at(trace, name);
    CHECK(cell.text == text);
    CHECK(cell.role == role);
  };
  is("scores[t1,k2]", "-50.00", CellRole::number);
  is("scores[t2,k3]", "∞", CellRole::infinite);
  is("M[t1,k3]", "−∞", CellRole::forbidden);
  is("M[t1,k1]", "0.00", CellRole::number);
  is("masked[t1,k3]", "−∞", CellRole::forbidden);
  is("weights[t1,k3]", "0", CellRole::forbidden);  // zero because the mask says so
  is("weights[t1,k2]", "0.00", CellRole::number);  // e^-50, rounded
  is("output[t1,1]", "1.00·v1 + 0.00·v2", CellRole::symbolic);
}

TEST_CASE("a symbolic cell shows its terms with their signs") {
  Problem p = problem_at(Entry::weights,
                         {{"weights", rows_of("-0.25 1.5 ; 0 0 ; 0 1")}, {"V", rows_of("a 2 ; b c")}});
  const Trace trace = traced(p);
  CHECK(shown_at(trace, "V[k1,1]").text == "a");
  CHECK(shown_at(trace, "V[k1,2]", 1).text == "2.0");
  CHECK(shown_at(trace, "output[t1,1]").text == "-0.25·a + 1.50·b");
  CHECK(shown_at(trace, "output[t1,2]").text == "-0.50 + 1.50·c");
  CHECK(shown_at(trace, "output[t2,1]").text == "0");
  CHECK(shown_at(trace, "output[t3,2]").text == "1.00·c");
}

TEST_CASE("the arithmetic of a cell puts negative numbers and ratios into brackets") {
  const Problem p = problem_at(Entry::qkv, {{"Q", rows_of("-1 2/3")}, {"K", rows_of("-4 -0.5 ; 5% 0")}});
  const Trace trace = traced(p);
  const auto numbers = [&](const char* name) {
    return expression_in_numbers(trace, cell_of(trace.plan(), name), 2);
  };
  const auto names = [&](const char* name) {
    return expression_in_names(trace.plan(), cell_of(trace.plan(), name));
  };
  CHECK(numbers("scores[t1,k1]") == "-1·(-4) + (2/3)·(-0.5)");  // inputs as written
  CHECK(names("scores[t1,k1]") == "Q[t1,1]·K[k1,1] + Q[t1,2]·K[k1,2]");
  CHECK(numbers("scores[t1,k2]") == "-1·5% + (2/3)·0");
  CHECK(numbers("scaled[t1,k2]") == "-0.05 / √2");
  CHECK(numbers("shifted[t1,k2]") == "-0.04 − 2.59");  // scaled: 3.6667/√2 = 2.5927, -0.05/√2 = -0.0354
  CHECK(names("exp[t1,k1]") == "e^(shifted[t1,k1])");
  CHECK(names("weights[t1,k2]") == "exp[t1,k2] / sum[t1]");
  CHECK(numbers("max[t1]") == "max(2.59, -0.04)");
  CHECK(numbers("Q[t1,1]").empty());
}

TEST_CASE("the arithmetic of every cell of a trace, read by somebody else, is the cell's value") {
  for (const Problem& p : all_problems()) {
    const Trace trace = traced(p);
    for (NodeId id = 0; id < trace.plan().nodes.size(); ++id) {
      const Node& node = trace.plan()[id];
      if (!node.given.empty() || node.is_symbolic()) continue;
      for (Index i = 0; i < node.shape.rows; ++i) {
        for (Index j = 0; j < node.shape.cols; ++j) {
          for (const bool brief : {false, true}) {
            const std::string text = expression_in_numbers(trace, {id, i, j}, 17, brief);
            INFO(cell_name(trace.plan(), {id, i, j}), " = ", text);
            Matrix read(1, 1);
            REQUIRE_NOTHROW(read(0, 0) = static_cast<double>(ExpressionReader::value_of(text)));
            CHECK(apart(read, trace.values(id).block(i, j, 1, 1), 1e-9) == "");
          }
        }
      }
    }
  }
}

TEST_CASE("a cell is found by labels first, then by numbers from 1") {
  Problem p = same_problem();
  p.tokens = {"a,b", "2", "1"};
  p.kv_tokens = p.tokens;
  const Plan plan = plan_of(p);
  const NodeId scores = node_named(plan, "scores");
  CHECK(cell(plan, "scores[a,b,1]") == CellAt{scores, 0, 2});  // labels "a,b" and "1"
  CHECK(cell(plan, "scores[\"a,b\",\"a,b\"]") == CellAt{scores, 0, 0});
  CHECK(cell(plan, "scores[2,2]") == CellAt{scores, 1, 1});
  CHECK(cell(plan, "scores[1, 3]") == CellAt{scores, 2, 2});  // label "1" is the third; no label "3"
  CHECK(cell(plan, " output [ a,b , 2 ]") == CellAt{node_named(plan, "output"), 0, 1});
  CHECK(cell(plan, "max[a,b]") == CellAt{node_named(plan, "max"), 0, 0});
  CHECK(cell(plan, "sum[1]") == CellAt{node_named(plan, "sum"), 2, 0});
}

TEST_CASE("the given bias beside ALiBi has cells too") {
  const Plan plan = plan_of(rich_problem());
  CHECK(cell(plan, "[bias][t2,k3]") == CellAt{node_named(plan, "[bias]"), 1, 2});
}

TEST_CASE("a cell that is not there is answered with those that are") {
  const Plan plan = plan_of(same_problem());
  const auto answer = [&](const char* text) {
    Said reason;
    Said hint;
    CHECK_FALSE(find_cell(plan, text, reason, hint));
    CHECK(reason.zh != reason.en);
    return reason.en + " | " + hint.en;
  };
  CHECK(answer("scroes[t1,t1]") == "this problem has no step 'scroes' | did you mean 'scores'?");
  CHECK(answer("scores") == "'scores' names a step, not a cell | write it as scores[t1,t1]");
  CHECK(answer("max") == "'max' names a step, not a cell | write it as max[t1]");
  CHECK(answer("scores[t1,t4]") == "scores has no cell [t1,t4] | rows: t1 t2 t3; columns: t1 t2 t3");
  CHECK(answer("scores[t1]") == "scores has no cell [t1] | rows: t1 t2 t3; columns: t1 t2 t3");
  CHECK(answer("output[0,1]") == "output has no cell [0,1] | rows: t1 t2 t3; columns: 1 … 2");
  CHECK(answer("output[4,1]") == "output has no cell [4,1] | rows: t1 t2 t3; columns: 1 … 2");
}

// ---- The tree behind a number ---------------------------------------------------------------

TEST_CASE("the tree from an output down to the inputs, whole") {
  // Scores 2 and 0; weights 1 / (1 + e^-2) = 0.8808 and 0.1192; output 1.5·0.8808 − 0.5·0.1192.
  Problem p =
      problem_at(Entry::qkv, {{"Q", rows_of("1")}, {"K", rows_of("2 ; 0")}, {"V", rows_of("1.5 ; -1/2")}});
  p.scale.kind = ScaleKind::none;
  const Trace trace = traced(p);
  const CellAt at = cell_of(trace.plan(), "output[t1,1]");
  CHECK(render_text(explain(trace, at, {}), {}) ==
        "output[t1] = 1.2616\n"
        "│  = weights[t1,k1]·V[k1] + weights[t1,k2]·V[k2]\n"
        "│  = 0.8808·1.5 + 0.1192·(-1/2)\n"
        "├─ weights[t1,k1] = 0.8808\n"
        "│  │  = exp[t1,k1] / sum[t1]\n"
        "│  │  = 1.0000 / 1.1353\n"
        "│  ├─ exp[t1,k1] = 1.0000\n"
        "│  │  │  = e^(shifted[t1,k1])\n"
        "│  │  │  = e^(0.0000)\n"
        "│  │  └─ shifted[t1,k1] = 0.0000\n"
        "│  │     │  = scores[t1,k1] − max[t1]\n"
        "│  │     │  = 2.0000 − 2.0000\n"
        "│  │     ├─ scores[t1,k1] = 2.0000\n"
        "│  │     │  │  = Q[t1]·K[k1]\n"
        "│  │     │  │  = 1·2\n"
        "│  │     │  ├─ Q[t1] = 1.0000   given as 1\n"
        "│  │     │  └─ K[k1] = 2.0000   given as 2\n"
        "│  │     └─ max[t1] = 2.0000\n"
        "│  │        │  = max(scores[t1,k1], scores[t1,k2])\n"
        "│  │        │  = max(2.0000, 0.0000)\n"
        "│  │        ├─ scores[t1,k1] = 2.0000   (see above)\n"
        "│  │        └─ scores[t1,k2] = 0.0000\n"
        "│  │           │  = Q[t1]·K[k2]\n"
        "│  │           │  = 1·0\n"
        "│  │           ├─ Q[t1] = 1.0000   given as 1\n"
        "│  │           └─ K[k2] = 0.0000   given as 0\n"
        "│  └─ sum[t1] = 1.1353\n"
        "│     │  = exp[t1,k1] + exp[t1,k2]\n"
        "│     │  = 1.0000 + 0.1353\n"
        "│     ├─ exp[t1,k1] = 1.0000   (see above)\n"
        "│     └─ exp[t1,k2] = 0.1353\n"
        "│        │  = e^(shifted[t1,k2])\n"
        "│        │  = e^(-2.0000)\n"
        "│        └─ shifted[t1,k2] = -2.0000\n"
        "│           │  = scores[t1,k2] − max[t1]\n"
        "│           │  = 0.0000 − 2.0000\n"
        "│           ├─ scores[t1,k2] = 0.0000   (see above)\n"
        "│           └─ max[t1] = 2.0000   (see above)\n"
        "├─ V[k1] = 1.5000   given as 1.5\n"
        "├─ weights[t1,k2] = 0.1192\n"
        "│  │  = exp[t1,k2] / sum[t1]\n"
        "│  │  = 0.1353 / 1.1353\n"
        "│  ├─ exp[t1,k2] = 0.1353   (see above)\n"
        "│  └─ sum[t1] = 1.1353   (see above)\n"
        "└─ V[k2] = -0.5000   given as -1/2\n");
}

TEST_CASE("the tree of a masked cell, in Chinese") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 2")}});
  forbid(p, mask_of("1 0"));
  const Trace trace = traced(p);
  const Report report = explain(trace, cell_of(trace.plan(), "masked[t1,k2]"), {.language = Language::zh});
  CHECK(render_text(report, {}) ==
        "masked[t1,k2] = −∞\n"
        "│  = scores[t1,k2] + M[t1,k2]\n"
        "│  = 2 + (−∞)\n"
        "├─ scores[t1,k2] = 2.0000   题目给定：2\n"
        "└─ M[t1,k2] = −∞   被掩码屏蔽\n");
}

TEST_CASE("every cell of every step has a tree that ends in what is given") {
  for (const Problem& p : all_problems()) {
    const Trace trace = traced(p);
    for (NodeId id = 0; id < trace.plan().nodes.size(); ++id) {
      const Report report = explain(trace, {id, 0, 0}, {});
      REQUIRE(report.blocks.size() == 1);
      const Tree& tree = std::get<Tree>(report.blocks[0]);
      REQUIRE_FALSE(tree.items.empty());
      CHECK(tree.items[0].text.starts_with(cell_name(trace.plan(), {id, 0, 0}) + " = "));
      // Whatever has no arithmetic below it says where it comes from.
      for (const Tree::Item& item : tree.items) {
        INFO(item.text);
        CHECK((!item.more.empty() || item.text.find("   ") != std::string::npos));
      }
    }
  }
}

// ---- Every node, everywhere -------------------------------------------------------------------

TEST_CASE("every node of a trace is in the text at full detail, in both languages") {
  for (const Problem& p : all_problems()) {
    const Trace trace = traced(p);
    for (const Language language : {Language::en, Language::zh}) {
      const Report report = narrate(trace, about_of(p), {}, {.detail = Detail::full, .language = language});
      const std::string text = render_text(report, {});
      std::vector<std::string> headed;
      std::vector<const Table*> tables;
      for (const Block& block : report.blocks) {
        if (const auto* heading = std::get_if<Heading>(&block); heading && !heading->id.empty())
          headed.push_back(heading->id);
        if (const auto* table = std::get_if<Table>(&block)) tables.push_back(table);
      }
      REQUIRE(headed.size() == trace.plan().nodes.size());
      REQUIRE(tables.size() == trace.plan().nodes.size());
      for (NodeId id = 0; id < trace.plan().nodes.size(); ++id) {
        const Node& node = trace.plan()[id];
        INFO("step ", node.id);
        CHECK(headed[id] == node.id);
        CHECK(tables[id]->id == node.id);
        CHECK(text.find(node.op->title.in(language)) != std::string::npos);
        CHECK(text.find(formula_with_shapes(trace.plan(), id)) != std::string::npos);
        REQUIRE(static_cast<Index>(tables[id]->rows.size()) == node.shape.rows);
        for (Index i = 0; i < node.shape.rows; ++i) {
          for (Index j = 0; j < node.shown_cols(); ++j) {
            const auto at = [](Index k) { return static_cast<std::size_t>(k); };
            CHECK(tables[id]->rows[at(i)][at(j)].text == shown_cell(trace, {id, i, j}, 4).text);
            // The arithmetic of every cell; K = Q has none.
            if (!node.given.empty() || std::string_view(node.op->name) == "same") continue;
            CHECK(text.find(cell_name(trace.plan(), {id, i, j}) + " ") != std::string::npos);
          }
        }
      }
    }
  }
}

TEST_CASE("each detail shows its steps and no more") {
  const Problem p = plain_problem();
  const Trace trace = traced(p);
  const auto headed = [&](const Telling& telling) {
    std::string ids;
    for (const Block& block : narrate(trace, about_of(p), {}, telling).blocks) {
      const auto* heading = std::get_if<Heading>(&block);
      if (heading && !heading->id.empty()) ids += heading->id + " ";
    }
    return ids;
  };
  CHECK(headed({.detail = Detail::summary}) == "Y ");
  const std::string main = headed({.detail = Detail::steps});
  CHECK(main.ends_with("scores scaled M masked weights output W_O Y "));
  CHECK(headed({.detail = Detail::cells}) == main);
  CHECK(headed({.detail = Detail::full}).find("masked max shifted exp sum naive.exp naive.sum weights ") !=
        std::string::npos);
  CHECK(headed({.steps = {"exp", "scores"}}) == "scores exp ");
  CHECK(headed({.only_output = true}).empty());
}

TEST_CASE("one row of a table is that query's, and keys keep theirs") {
  const Problem p = same_problem();
  const Trace trace = traced(p);
  std::map<std::string, std::vector<std::string>> rows;
  for (const Block& block : narrate(trace, about_of(p), {}, {.row = 1}).blocks) {
    if (const auto* table = std::get_if<Table>(&block)) rows[table->id] = table->row_labels;
  }
  CHECK(rows["scores"] == std::vector<std::string>{"t2"});
  CHECK(rows["output"] == std::vector<std::string>{"t2"});
  CHECK(rows["V"] == std::vector<std::string>{"t1", "t2", "t3"});
  CHECK(rows["K"] == std::vector<std::string>{"t1", "t2", "t3"});
}

TEST_CASE("every node of a trace is in the JSON, with the keys of the schema in their order") {
  for (const Problem& p : all_problems()) {
    const Trace trace = traced(p);
    const Json json = Json::parse(render_json(trace, about_of(p), {}, {}));
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    CHECK(keys == std::vector<std::string>{"schema", "title", "settings", "arithmetic", "assumed_ties",
                                           "given", "steps", "asides", "expect", "warnings"});
    CHECK(json["schema"] == "qkv/trace-1");
    CHECK(json["title"] == "An example");
    CHECK(json["settings"] == Json{{"mask", "causal"}});
    std::size_t nodes = 0;
    for (const char* list : {"given", "steps", "asides"}) {
      for (const Json& step : json[list]) {
        ++nodes;
        const std::string id = step["id"];
        INFO("step ", id);
        std::vector<std::string> step_keys;
        for (const auto& [key, value] : step.items()) step_keys.push_back(key);
        CHECK(step_keys == std::vector<std::string>{"id", "op", "title", "formula", "inputs", "level",
                                                    "shape", "rows", "cols", "values", "shown"});
        const NodeId node_id = node_named(trace.plan(), id);
        const Node& node = trace.plan()[node_id];
        const Role role = list == std::string("given")   ? Role::given
                          : list == std::string("steps") ? Role::step
                                                         : Role::aside;
        CHECK(node.role == role);
        CHECK(step["op"] == node.op->name);
        CHECK(step["shape"] == Json{node.shape.rows, node.shown_cols()});
        CHECK(step["inputs"].size() == node.inputs.size());
        REQUIRE(step["values"].size() == static_cast<std::size_t>(node.shape.rows));
        REQUIRE(step["shown"].size() == static_cast<std::size_t>(node.shape.rows));
        for (Index i = 0; i < node.shape.rows; ++i) {
          const Json& row = step["values"][static_cast<std::size_t>(i)];
          for (Index j = 0; j < node.shown_cols(); ++j) {
            const auto at = static_cast<std::size_t>(j);
            CHECK(step["shown"][static_cast<std::size_t>(i)][at] ==
                  shown_cell(trace, {node_id, i, j}, 4).text);
            if (node.is_symbolic()) continue;
            const double value = trace.values(node_id)(i, j);
            if (std::isfinite(value)) CHECK(row[at] == value);
          }
        }
      }
    }
    CHECK(nodes == trace.plan().nodes.size());
  }
}

TEST_CASE("a step as JSON, whole") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("0 -inf ; 0 0")}});
  p.empty_row = EmptyRow::nan;
  forbid(p, mask_of("1 1 ; 0 0"));
  const Trace trace = traced(p);
  const std::string text = render_json(trace, about_of(p), {}, {.decimals = 2, .language = Language::zh});
  const Json json = Json::parse(text);
  const auto step = [&](const char* id) {
    for (const Json& s : json["steps"]) {
      if (s["id"] == id) return s;
    }
    FAIL("no such step");
    return Json();
  };
  CHECK(step("masked") == Json::parse(R"({
    "id": "masked", "op": "add_mask", "title": "掩码后的分数", "formula": "scores + M", "inputs": ["scores", "M"],
    "level": "main", "shape": [2, 2], "rows": ["t1", "t2"], "cols": ["t1", "t2"],
    "values": [[0.0, "-inf"], ["-inf", "-inf"]], "shown": [["0.00", "−∞"], ["−∞", "−∞"]]})"));
  CHECK(step("max") == Json::parse(R"({
    "id": "max", "op": "row_max", "title": "每行的最大值", "formula": "\\max_j masked", "inputs": ["masked"],
    "level": "full", "shape": [2, 1], "rows": ["t1", "t2"], "cols": ["1"],
    "values": [[0.0], ["-inf"]], "shown": [["0.00"], ["−∞"]]})"));
  CHECK(step("weights")["values"] == Json::parse(R"([[1.0, 0.0], ["nan", "nan"]])"));
  CHECK(step("weights")["shown"] == Json::parse(R"([["1.00", "0"], ["nan", "nan"]])"));
  CHECK(step("output")["values"] == Json::parse(R"([[{"v1": 1.0}], [{"v1": "nan", "v2": "nan"}]])"));
  CHECK(text.find("null") == std::string::npos);
}

TEST_CASE("JSON keeps every digit of a double") {
  const Problem p = problem_at(Entry::scores, {{"scores", rows_of("0 -0.1 1e300 5e-324")}});
  const std::string text = render_json(traced(p), about_of(p), {}, {});
  CHECK(text.find("[0.0,-0.1,1e+300,5e-324]") != std::string::npos);
}

// ---- The terminal -------------------------------------------------------------------------------

TEST_CASE("a table of 我 and t1 is aligned by columns of the terminal") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 -2.5 ; 10 0")}});
  p.tokens = {"我", "t1"};
  p.kv_tokens = {"喜欢吃苹果", "t1"};
  const Trace trace = traced(p);
  const Report report = narrate(trace, about_of(p), {}, {.decimals = 2, .steps = {"scores", "weights"}});
  std::vector<Table> tables;
  for (const Block& block : report.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) tables.push_back(*table);
  }
  REQUIRE(tables.size() == 2);
  CHECK(render_text({{tables[0]}}, {}) ==
        "    喜欢吃苹果     t1\n"
        "我        1.00  -2.50\n"
        "t1       10.00   0.00\n");
  // e^-3.5 / (1 + e^-3.5) = 0.0293, e^-10 / (1 + e^-10) = 0.00005; mpmath.
  CHECK(render_text({{tables[1]}}, {}) ==
        "    喜欢吃苹果    t1   sum\n"
        "我        0.97  0.03  1.00\n"
        "t1        1.00  0.00  1.00\n");
}

TEST_CASE("symbolic cells stand at the left of their column") {
  const Trace trace = traced(symbolic_problem());
  const Report report = narrate(trace, {}, {}, {.decimals = 1, .only_output = true});
  // Row 2 reads the second value alone; row 3 with weights 1/(1+e) and e/(1+e).
  CHECK(render_text(report, {}) ==
        "    1             2\n"
        "t1  -1.5 + 0.5·a  1.0 + 0.5·b\n"
        "t2  -3.0          1.0·b\n"
        "t3  -2.2 + 0.3·a  0.5 + 0.7·b\n");
}

TEST_CASE("with --ascii qkv writes nothing but ASCII itself") {
  for (const Problem& p : all_problems()) {
    const Trace trace = traced(p);
    const std::string text =
        render_text(narrate(trace, about_of(p), {}, {.detail = Detail::full}), {.ascii = true});
    CHECK(is_ascii(text));
    CHECK(is_ascii(render_text(explain(trace, {trace.plan().last_step(), 0, 0}, {}), {.ascii = true})));
  }
  CHECK(in_ascii("scaled (3×3) = scores (3×3) / √d_k") == "scaled (3x3) = scores (3x3) / sqrt(d_k)");
  CHECK(in_ascii("Q · Kᵀ, 0.27·v0 − 1 → −∞") == "Q * K^T, 0.27*v0 - 1 -> -inf");
  CHECK(json_in_ascii(R"({"a": "a “b” of √2"})") == R"_({"a": "a \"b\" of sqrt(2)"})_");
  CHECK(signs_in_references("√2 <b>我") == "&#x221a;2 <b>我");
  CHECK(in_references("√2 <b>我") == "&#x221a;2 <b>&#x6211;");
}

TEST_CASE("colours are added to the text and change nothing else") {
  const Problem p = rich_problem();
  const Report report = narrate(traced(p), about_of(p), {}, {.detail = Detail::full});
  std::string coloured = render_text(report, {.color = true});
  CHECK(coloured.find('\x1b') != std::string::npos);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  const std::string plain = render_text(report, {});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(coloured == plain);
}

TEST_CASE("a label cannot steer the terminal") {
  Problem p = same_problem();
  p.tokens = {"a\x1b[2Jb", "t\n2", "\xE2\x80\xAEt3"};  // escape, line feed, right-to-left override
  p.kv_tokens = p.tokens;
  const Trace trace = traced(p);
  const std::string text = render_text(narrate(trace, about_of(p), {}, {.detail = Detail::full}), {}) +
                           render_text(explain(trace, {node_named(trace.plan(), "output"), 0, 0}, {}), {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("t\n2") == std::string::npos);
  CHECK(text.find("\xE2\x80\xAE") == std::string::npos);
  CHECK(text.find("\\u{1b}") != std::string::npos);
}

TEST_CASE("the softmax of one row in its five lines") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("8 16 24")}});
  // As the second article prints it: 0.0000 0.0003 0.9997; e^-8 = 0.0003355; mpmath.
  CHECK(render_text(softmax_lines(traced(p), {}), {}) ==
        "max       24.0000\n"
        "shifted  -16.0000  -8.0000  0.0000\n"
        "exp        0.0000   0.0003  1.0000\n"
        "sum        1.0003\n"
        "weights    0.0000   0.0003  0.9997\n");
}

// ---- Printed numbers ----------------------------------------------------------------------------

namespace {

Printed printed(const char* step, const char* rows) {
  const Given given = rows_of(rows);
  return {step, given.shape(), given.cells};
}

std::vector<Comparison> compared(const Problem& p, const std::vector<Printed>& numbers) {
  return compare(run(plan_of(p), {}), numbers);
}

// "step: exact 9" or "step: differs 3, [1,2] printed 0.35 is 0.33 by 0.016667"
std::string summary(const Problem& p, const Printed& numbers) {
  const auto list = compared(p, {numbers});
  REQUIRE(list.size() == 1);
  const Comparison& c = list[0];
  std::string text = c.step + ": ";
  if (c.agreement == Agreement::exact) text += "exact";
  if (c.agreement == Agreement::on_paper) text += "on paper at " + std::to_string(c.paper_decimals);
  if (c.agreement == Agreement::differs) text += "differs";
  text += " " + std::to_string(c.compared);
  for (const Difference& d : c.differences) {
    text += fmt::format(", [{},{}] printed {} is {} by {}", d.at.row + 1, d.at.col + 1, d.printed,
                        d.calculated, d.by);
  }
  return text;
}

}  // namespace

TEST_CASE("printed numbers agree when the true value rounds to them") {
  const Problem p = same_problem();  // numbers as the second article prints them
  CHECK(summary(p, printed("scaled", "0.71 0 0.71 ; 0 0.71 0.71 ; 0.71 0.71 1.41")) == "scaled: exact 9");
  CHECK(summary(p, printed("weights", "0.40 0.20 0.40 ; 0.20 0.40 0.40 ; 0.25 0.25 0.50")) ==
        "weights: exact 9");
  CHECK(summary(p, printed("output", "0.6 0.4 ; 0.4 0.6 ; 0.5 0.5")) == "output: exact 6");
  CHECK(summary(p, printed("output", "0.602 _ ; _ _ ; _ 1/2")) == "output: exact 2");
  CHECK(summary(p, printed("scaled", "sqrt(2)/2 0 _ ; _ _ _ ; _ _ 1.4142135624")) == "scaled: exact 3");
}

TEST_CASE("printed numbers may come of rounding every step on paper") {
  // Three equal scores: 0.33 each, and 0.33 + 0.33 + 0.33 = 0.99.
  const Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 1 1")}, {"V", rows_of("1 ; 1 ; 1")}});
  CHECK(summary(p, printed("output", "0.99")) ==
        "output: on paper at 2 1, [1,1] printed 0.99 is 1.00 by -0.010000");
  CHECK(summary(p, printed("output", "1.00")) == "output: exact 1");
}

TEST_CASE("printed numbers that differ are told with how much") {
  const Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 1 1")}, {"V", rows_of("1 ; 1 ; 1")}});
  CHECK(summary(p, printed("weights", "0.33 0.35 1/3")) ==
        "weights: differs 3, [1,2] printed 0.35 is 0.33 by 0.016667");
  CHECK(summary(p, printed("weights", "1/4 0.3 0.33333")) ==
        "weights: differs 3, [1,1] printed 1/4 is 0.3333 by -0.08333333");
}

TEST_CASE("a printed minus infinity agrees with a forbidden score and nothing else") {
  Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 2")}});
  forbid(p, mask_of("1 0"));
  CHECK(summary(p, printed("masked", "1.0 -inf")) == "masked: exact 2");
  CHECK(compared(p, {printed("masked", "-inf -inf")})[0].differences.size() == 1);
  CHECK(compared(p, {printed("masked", "1.0 -1000000000.0")})[0].agreement == Agreement::differs);
}

TEST_CASE("the comparison is told line by line, and stands in the JSON") {
  const Problem p = problem_at(Entry::scores, {{"scores", rows_of("1 1 1")}, {"V", rows_of("1 ; 1 ; 1")}});
  const Plan plan = plan_of(p);
  const std::vector<Printed> numbers{printed("scores", "1 1 1"), printed("weights", "0.33 0.35 0.33"),
                                     printed("output", "0.99")};
  const Trace trace = run(plan, {});
  const auto comparisons = compare(trace, numbers);
  const std::string text =
      render_text(narrate(trace, about_of(p), comparisons, {.detail = Detail::summary}), {});
  CHECK(text.find("scores: agrees, all 3 numbers\n") != std::string::npos);
  CHECK(text.find("weights: differs in 1 of 3 numbers\n") != std::string::npos);
  CHECK(text.find("weights[t1,k2]: printed 0.35, calculated 0.33; printed − true = 0.016667\n") !=
        std::string::npos);
  CHECK(text.find("output: agrees, the one number, when every step is rounded to 2 decimals") !=
        std::string::npos);
  const Json json = Json::parse(render_json(trace, about_of(p), comparisons, {}));
  CHECK(json["expect"] == Json::parse(R"([
    {"id": "scores", "verdict": "agrees", "compared": 3, "differences": []},
    {"id": "weights", "verdict": "differs", "compared": 3,
     "differences": [{"cell": [1, 2], "printed": "0.35", "calculated": "0.33", "by": "0.016667"}]},
    {"id": "output", "verdict": "agrees on paper", "compared": 1,
     "differences": [{"cell": [1, 1], "printed": "0.99", "calculated": "1.00", "by": "-0.010000"}]}])"));
}

}  // namespace qkv::test

// The backward pass: against the vectors, against differences of the loss itself, and what must hold.

#include <boost/multiprecision/eigen.hpp>

#include "base/interval.h"
#include "ops/rows.h"
#include "plan/training.h"
#include "reading.h"
#include "report/formula.h"
#include "run/apply.h"
#include "run/slope.h"
#include "support.h"
#include "vectors.h"

namespace qkv::test {
namespace {

constexpr double kTolerance = 1e-12;

// ---- The vectors --------------------------------------------------------------------------

Json case_named(const std::string& id) {
  return Json::parse(with_quoted_numbers(text_of(QKV_SOURCE_DIR "/tests/data/systems/" + id + ".json")));
}

// G is the gradient that arrives at the last step.
std::string sections_of(const Json& c, const std::string& last) {
  std::string text;
  for (const auto& [name, json] : c["inputs"].items())
    text += section_text(name == "G" ? "d." + last : name, json);
  return text;
}

std::string settings_of(const Json& params) {
  std::string text = "gradient = yes\n";
  if (params.contains("n_heads")) text += "heads = " + params["n_heads"].get<std::string>() + "\n";
  if (params.contains("n_kv_heads")) text += "kv_heads = " + params["n_kv_heads"].get<std::string>() + "\n";
  if (params.value("causal", false)) text += "mask = causal\n";
  return text;
}

void check_step(const Trace& trace, const std::string& id, const Json& expected) {
  INFO("step ", id);
  CHECK(apart(value(trace, id), matrix_of(expected), kTolerance) == "");
}

// ---- Random problems ----------------------------------------------------------------------

std::string section_of(const char* name, const Matrix& m) {
  std::string text = fmt::format("[{}]\n", name);
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) text += fmt::format("{} ", m(i, j));
    text += "\n";
  }
  return text;
}

// "name rows cols, …": sections full of chance.
struct Wanted {
  const char* name;
  Index rows;
  Index cols;
};
std::string random_sections(const std::vector<Wanted>& wanted, Random& random) {
  std::string text;
  for (const Wanted& w : wanted) text += section_of(w.name, random.matrix(w.rows, w.cols, 1));
  return text;
}

struct Kind {
  const char* settings;
  std::vector<Wanted> sections;
  const char* written = "";  // further sections
};

// Every step that has a rule, at shapes that a transposition would not fit.
const std::vector<Kind> kKinds{
    {"mask = causal\nsoftcap = 2\ntemperature = 3/2\nsink_logit = 0.5\nscale = 0.7\n",
     {{"X", 3, 2},
      {"W_Q", 2, 3},
      {"W_K", 2, 3},
      {"W_V", 2, 4},
      {"W_O", 4, 5},
      {"b_Q", 1, 3},
      {"b_K", 1, 3},
      {"b_V", 1, 4},
      {"b_O", 1, 5}},
     "[target]\n2\n5\n1\n"},
    {"layout = linear\nheads = 4\nkv_heads = 2\nrope = half\n",
     {{"X", 2, 3},
      {"W_Q", 8, 3},
      {"W_K", 4, 3},
      {"W_V", 6, 3},
      {"W_O", 2, 12},
      {"b_V", 1, 6},
      {"d.Y", 2, 2}}},
    {"heads = 2\ndrop_heads = 2\nrope = interleaved\nrope_dims = 2\npositions = 1 2\nalibi = on\n",
     {{"Q", 2, 6}, {"K", 3, 6}, {"V", 3, 4}, {"bias", 2, 3}, {"d.concat", 2, 4}}},
    {"heads = 2\n", {{"Q", 2, 4}, {"K", 2, 4}, {"V", 2, 2}, {"bias", 2, 2}, {"d.concat", 2, 2}}},
    {"heads = 2\n",
     {{"Q", 2, 4}, {"K", 2, 4}, {"V", 2, 2}, {"bias", 2, 2}, {"h2.bias", 2, 2}, {"d.concat", 2, 2}},
     "[h1.mask]\n1 0\n1 1\n"},
    {"score = general\n", {{"Q", 2, 3}, {"K", 3, 2}, {"V", 3, 2}, {"W_a", 3, 2}, {"d.output", 2, 2}}},
    {"score = additive\nmask = causal\nscale = 0.7\n",
     {{"Q", 3, 2}, {"K", 3, 4}, {"V", 3, 2}, {"W_a", 2, 3}, {"U_a", 4, 3}, {"v_a", 1, 3}, {"b_a", 1, 3}}},
    {"score = additive\nV = K\n",
     {{"Q", 2, 3}, {"K", 4, 2}, {"W_a", 3, 2}, {"U_a", 2, 2}, {"v_a", 1, 2}, {"d.output", 2, 2}}},
    {"score = concat\nK = Q\nmask = causal\n",
     {{"Q", 3, 2}, {"V", 3, 1}, {"W_a", 4, 3}, {"v_a", 1, 3}, {"d.output", 3, 1}}},
    {"score = concat\n",
     {{"X", 2, 3},
      {"X_kv", 4, 2},
      {"W_Q", 3, 3},
      {"W_K", 2, 2},
      {"W_V", 2, 2},
      {"W_a", 5, 2},
      {"v_a", 1, 2},
      {"d.output", 2, 2}}},
    {"method = linear\nmask = causal\n", {{"Q", 3, 2}, {"K", 3, 2}, {"V", 3, 1}, {"d.output", 3, 1}}},
    {"method = linear\nphi = exp\neps = 1/4\n", {{"Q", 2, 3}, {"K", 4, 3}, {"V", 4, 2}, {"d.output", 2, 2}}},
    // Away from 0, where max(x, 0) has a corner.
    {"method = linear\nphi = relu\neps = 1/4\nmask = causal\nQ = K\n",
     {{"V", 3, 2}},
     "[K]\n0.5 -1\n-0.25 1\n2 0.75\n[target]\n2\n1\n2\n"},
    {"method = linear\nphi = identity\neps = 40\nheads = 2\nkv_heads = 1\n",
     {{"X", 2, 3},
      {"X_kv", 3, 2},
      {"W_Q", 3, 4},
      {"W_K", 2, 2},
      {"W_V", 2, 1},
      {"W_O", 2, 3},
      {"d.Y", 2, 3}}},
    {"heads = 2\nrope = interleaved\nmask = causal\n",
     {{"X", 3, 4},
      {"W_DKV", 4, 3},
      {"W_UK", 3, 4},
      {"W_UV", 3, 2},
      {"W_DQ", 4, 2},
      {"W_UQ", 2, 4},
      {"W_KR", 4, 2},
      {"W_QR", 2, 4},
      {"W_O", 2, 3},
      {"d.Y", 3, 3}}},
    {"layout = linear\nrope = half\n",
     {{"X", 2, 3},
      {"W_DKV", 2, 3},
      {"W_UK", 3, 2},
      {"W_UV", 2, 2},
      {"W_UQ", 3, 3},
      {"W_KR", 4, 3},
      {"W_QR", 4, 3},
      {"d.output", 2, 2}}},
    {"heads = 2\n",
     {{"X", 2, 3}, {"W_DKV", 3, 2}, {"W_UK", 2, 4}, {"W_UV", 2, 2}, {"W_UQ", 3, 4}, {"d.concat", 2, 2}}},
    {"", {{"X", 2, 3}, {"W_DKV", 3, 2}, {"W_UK", 2, 2}, {"W_UV", 2, 1}, {"W_UQ", 3, 2}, {"d.output", 2, 1}}},
    {"residual = yes\n", {{"X", 2, 2}, {"W_Q", 2, 3}, {"W_K", 2, 3}, {"W_V", 2, 2}, {"d.residual", 2, 2}}},
    {"layers = 2\nresidual = yes\nL2.mask = causal\nheads = 2\npos = sinusoidal\n",
     {{"X", 2, 4},
      {"W_Q", 4, 4},
      {"W_K", 4, 4},
      {"W_V", 4, 2},
      {"W_O", 2, 4},
      {"L2.W_Q", 4, 4},
      {"d.L2.residual", 2, 4}}},
    {"layers = 3\nL2.score = additive\n",
     {{"X", 2, 2},
      {"W_Q", 2, 2},
      {"W_K", 2, 2},
      {"W_V", 2, 2},
      {"L2.W_V", 2, 3},
      {"L2.W_a", 2, 1},
      {"L2.U_a", 2, 1},
      {"L2.v_a", 1, 1},
      {"L3.W_Q", 3, 1},
      {"L3.W_K", 3, 1},
      {"L3.W_V", 3, 2}},
     "[target]\n1\n2\n"},
    {"layers = 2\nresidual = yes\nQ = X\nK = X\nV = X\n", {{"X", 3, 2}, {"P", 3, 2}}},
    {"K = Q\nV = Q\n", {{"Q", 3, 2}, {"d.output", 3, 2}}},
    {"K = Q\nheads = 2\nmask = window:1,0\n", {{"Q", 3, 4}, {"V", 3, 2}, {"d.concat", 3, 2}}},
    {"Q = X\nK = X\nV = X\nheads = 2\n", {{"X", 2, 4}, {"P", 2, 4}, {"W_O", 4, 3}, {"d.Y", 2, 3}}},
    {"pos = sinusoidal\n",
     {{"X", 2, 2}, {"X_kv", 3, 2}, {"W_Q", 2, 2}, {"W_K", 2, 2}, {"W_V", 2, 1}, {"d.output", 2, 1}}},
    {"mask = causal\nrope = half\n",
     {{"Q", 2, 2}, {"K", 2, 2}, {"V", 2, 3}, {"past_K", 1, 2}, {"past_V", 1, 3}, {"d.output", 2, 3}}},
    {"heads = 2\n", {{"X", 2, 3}, {"W_QKV", 3, 12}, {"d.concat", 2, 4}}},
    {"d_k = 2\n", {{"V", 3, 2}, {"d.output", 2, 2}}, "[scores]\n1 -inf 0.5\n-0.25 2 1\n"},
    {"", {{"V", 2, 2}, {"d.output", 1, 2}}, "[weights]\n0.25 0.75\n"},
};

// p ∘ dp
Op softmax_without_mean() {
  Op op = ops::d_softmax;
  op.kernel.intervals = [](const InputsOf<IntervalMatrix>& in, const Params&) {
    return IntervalMatrix(in[0].get().cwiseProduct(in[1].get()));
  };
  op.kernel.exacts = [](const InputsOf<ExactMatrix>& in, const Params&) {
    return ExactMatrix(in[0].get().cwiseProduct(in[1].get()));
  };
  return op;
}

// ---- The lines beside ----

// scores = v_a·hidden, the hidden layer a row a pair.
Op scores_of_hidden() {
  Op op = ops::additive_scores;
  op.kernel.intervals = [](const InputsOf<IntervalMatrix>& in, const Params& p) {
    const IntervalMatrix of_pairs = in[0].get() * in[1].get().transpose();
    IntervalMatrix scores(p.shape.rows, p.shape.cols);
    for (Index k = 0; k < scores.size(); ++k) scores(k / p.shape.cols, k % p.shape.cols) = of_pairs(k);
    return scores;
  };
  return op;
}

// The same plan, but made of the lines that otherwise stand beside it, so that they too move the loss.
Plan by_the_lines_beside(Plan plan) {
  static const Op kScores = scores_of_hidden();
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    Node& node = plan.nodes[id];
    if (node.id == "scores" && plan.find("scores.hidden")) {
      node.op = &kScores;
      node.inputs = {node_named(plan, "scores.hidden"), node_named(plan, "v_a")};
      node.params.shape = node.shape;
    }
    if (const auto table = plan.find(node.prefix + "quadratic.output"); table && node.name() == "output") {
      node.op = plan[*table].op;
      node.inputs = plan[*table].inputs;
      node.params = plan[*table].params;
    }
  }
  return plan;
}

// ---- Differences of the loss ----------------------------------------------------------------

// The loss when every step after `from` is computed again from `values`.
Interval loss_from(const Plan& plan, NodeId from, std::vector<IntervalMatrix> values) {
  const auto loss = plan.find("loss");
  const NodeId last = loss ? *loss : plan.last_step();
  for (NodeId id = from + 1; id <= last; ++id) values[id] = value_of(plan[id], values);
  if (loss) return values[*loss](0, 0);
  const NodeId arriving = *plan.find("d." + plan[last].id);
  Interval sum = 0;
  for (Index k = 0; k < values[last].size(); ++k) sum += values[last](k) * values[arriving](k);
  return sum;
}

// A forbidden weight takes no part in the output, so moving it says nothing about its gradient.
void leave_out_forbidden(const Node& weights, Matrix& m) {
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j)
      if (!is_allowed(weights.params, i, j)) m(i, j) = 0;
  }
}

// Lines that stand beside the calculation have a gradient as well, but are no way to its result.
constexpr std::array kBeside{"scores.hidden", "scores.queries", "scores.keys", "kernel",
                             "denominator",   "weights",        "h2.kernel",   "h2.denominator"};

bool moves_the_result(const Plan& plan, NodeId of) {
  std::vector<bool> moves(plan.nodes.size(), false);
  moves[of] = true;
  for (NodeId id = of + 1; id <= plan.last_step(); ++id) {
    for (const NodeId input : plan[id].inputs) moves[id] = moves[id] || moves[input];
  }
  return moves[plan.last_step()];
}

// (loss(x + h) − loss(x − h)) / 2h of every cell x of a step.  With 60 digits and h = 1e-20 the
// formula's own error, of the order h², is far below that of the doubles compared with it.
Matrix differences(const Plan& plan, NodeId of, const std::vector<IntervalMatrix>& values) {
  const Interval h = enclose_decimal("1e-20");
  Matrix result(plan[of].shape.rows, plan[of].shape.cols);
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < result.cols(); ++j) {
      const auto moved = [&](const Interval& by) {
        std::vector<IntervalMatrix> around = values;
        around[of](i, j) += by;
        return loss_from(plan, of, std::move(around));
      };
      const Interval slope = (moved(h) - moved(Interval(-h))) / (2 * h);
      result(i, j) = middle_double(slope);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("gradients of the vectors: one head, shared keys and values, saturated") {
  struct Case {
    const char* id;
    const char* last;
    std::vector<const char*> parameters;
  };
  for (const Case& of :
       {Case{"grad_causal", "output", {"Q", "K", "V"}}, Case{"grad_saturated", "output", {"Q", "K", "V"}},
        Case{"grad_gqa", "Y", {"Q", "K", "V", "X", "W_Q", "W_K", "W_V", "W_O"}}}) {
    INFO("vector ", std::string(of.id));
    const Json c = case_named(of.id);
    const Json& expected = c["expected"];
    const Trace trace = traced(problem(settings_of(c["params"]) + sections_of(c, of.last)));
    for (const char* name : of.parameters)
      check_step(trace, fmt::format("d.{}", name), expected[fmt::format("d{}", name)]);
    const bool is_one = expected["heads"].size() == 1;
    for (std::size_t h = 0; h < expected["heads"].size(); ++h) {
      const Json& head = expected["heads"][h];
      const std::string prefix = is_one ? "d." : fmt::format("d.h{}.", h + 1);
      check_step(trace, prefix + "weights", head["dweights"]);
      check_step(trace, prefix + "scaled", head["dscores_scaled"]);
      check_step(trace, prefix + "scores", head["dscores_raw"]);
      if (trace.plan().find(prefix + "masked")) check_step(trace, prefix + "masked", head["dscores_masked"]);
    }
  }
}

TEST_CASE("cross-entropy of the vectors: q, the losses and q − p") {
  const Json c = case_named("ce_batch");
  std::string text = "gradient = yes\nfirst_index = 0\n[weights]\n1 0 0\n0 1 0\n0 0 1\n";
  text += section_text("V", c["inputs"]["logits"]) + "[target]\n";
  for (const Json& target : c["inputs"]["targets"]) text += target.get<std::string>() + "\n";
  const Trace trace = traced(problem(text));
  check_step(trace, "q", c["expected"]["q"]);
  check_step(trace, "losses", c["expected"]["loss"]);
  CHECK(apart(3 * value(trace, "loss"), Matrix::Constant(1, 1, number(c["expected"]["loss_sum"])),
              kTolerance) == "");
  CHECK(apart(3 * value(trace, "d.output"), matrix_of(c["expected"]["grad"]), kTolerance) == "");
}

TEST_CASE("the gradient of every line beside is the slope of the loss that is made of these lines") {
  QKV_SAY_SEED();
  Random random(61);
  const PrecisionScope precision(60);
  int compared = 0;
  for (const Kind& kind : kKinds) {
    const std::string text = fmt::format("gradient = yes\n{}{}{}", kind.settings,
                                         random_sections(kind.sections, random), kind.written);
    INFO("problem:\n", text);
    const Trace trace = traced(problem(text));
    const Plan plan = by_the_lines_beside(trace.plan());
    std::vector<IntervalMatrix> values;
    for (const Node& node : plan.nodes) values.push_back(value_of(node, values));
    for (const char* name : kBeside) {
      const auto step = plan.find(name);
      const auto gradient = plan.find(fmt::format("d.{}", name));
      if (!step || !gradient || moves_the_result(trace.plan(), *step)) continue;
      INFO("step ", std::string(name));
      Matrix slopes = differences(plan, *step, values);
      if (plan[*step].name() == "kernel") leave_out_forbidden(plan[*step], slopes);
      CHECK(apart(trace.values(*gradient), slopes, kTolerance) == "");
      ++compared;
    }
  }
  CHECK(compared == 19);
}

TEST_CASE("tanh hands back 1 − tanh² of what arrives") {
  // By hand: one query and two keys, tanh(1.5) and tanh(−0.5); v_a = 2.
  const Trace trace =
      traced(problem("gradient = yes\nscore = additive\n[Q]\n1\n[K]\n1\n-3\n[V]\n1\n0\n[W_a]\n1\n[U_a]\n0.5\n"
                     "[v_a]\n2\n"));
  const double p = 1 / (1 + std::exp(2 * (std::tanh(-0.5) - std::tanh(1.5))));
  const double of_score = p * (1 - p);
  const auto slope = [](double x) { return 1 - std::tanh(x) * std::tanh(x); };
  Matrix inside(2, 1);
  inside << 2 * of_score * slope(1.5), -2 * of_score * slope(-0.5);
  CHECK(apart(value(trace, "d.scores.inside"), inside, kTolerance) == "");
  CHECK(apart(value(trace, "d.Q"), Matrix::Constant(1, 1, inside.sum()), kTolerance) == "");
  CHECK(apart(value(trace, "d.v_a"), Matrix::Constant(1, 1, of_score * (std::tanh(1.5) - std::tanh(-0.5))),
              kTolerance) == "");
}

TEST_CASE("the gradient of every step and parameter is the slope of the loss") {
  QKV_SAY_SEED();
  Random random(60);
  const PrecisionScope precision(60);
  for (const Kind& kind : kKinds) {
    const std::string text = fmt::format("gradient = yes\n{}{}{}", kind.settings,
                                         random_sections(kind.sections, random), kind.written);
    INFO("problem:\n", text);
    const Trace trace = traced(problem(text));
    const Plan& plan = trace.plan();
    std::vector<IntervalMatrix> values;
    for (const Node& node : plan.nodes) values.push_back(value_of(node, values));
    int compared = 0;
    for (NodeId id = 0; id <= plan.last_step(); ++id) {
      const auto gradient = plan.find("d." + plan[id].id);
      if (!gradient || !moves_the_result(plan, id)) continue;
      INFO("step ", plan[id].id);
      Matrix found = trace.values(*gradient);
      if (plan[id].name() == "weights") leave_out_forbidden(plan[id], found);
      CHECK(apart(found, differences(plan, id, values), kTolerance) == "");
      ++compared;
    }
    CHECK(compared >= 3);
  }
}

TEST_CASE("the check of a gradient finds a wrong one out") {
  const std::string text = "gradient = yes\n[Q]\n1 0\n[K]\n1 2\n0 1\n[V]\n1\n3\n";
  Plan plan = plan_of(problem(text));
  const NodeId q = node_named(plan, "Q");
  const NodeId d_q = node_named(plan, "d.Q");
  const Finding right = gradient_is_slope(run(plan, {}), q, d_q);
  CHECK(right.outcome == Finding::Outcome::within);
  CHECK(right.count == 2);
  CHECK(right.by < 1e-30);
  // A student's mistake: p ∘ dp, without taking the mean off.
  const Op wrong = softmax_without_mean();
  plan.nodes[node_named(plan, "d.scaled")].op = &wrong;
  CHECK(gradient_is_slope(run(plan, {}), q, d_q).outcome == Finding::Outcome::fails);
}

TEST_CASE("the slope of a feature map: 1 or φ(x) of elu + 1, 0 of relu at 0") {
  // By hand: one feature, so the output of one query and one key is v, and with eps it moves.
  const auto d_q = [](const char* phi, const char* q) {
    return value(
        traced(problem(fmt::format("gradient = yes\nmethod = linear\nphi = {}\neps = 1\n[Q]\n{}\n[K]\n1\n"
                                   "[V]\n1\n",
                                   phi, q))),
        "d.Q")(0, 0);
  };
  // output = a / (a + 1) with a = φ(q)·φ(1), so d.Q = φ(1)·φ'(q) / (a + 1)².
  CHECK(d_q("identity", "3") == doctest::Approx(1 / 16.0));
  CHECK(d_q("relu", "3") == doctest::Approx(1 / 16.0));
  CHECK(d_q("relu", "-3") == 0);
  CHECK(d_q("relu", "0") == 0);
  CHECK(d_q("elu+1", "3") == doctest::Approx(2 / 81.0));
  CHECK(d_q("elu+1", "0") == doctest::Approx(2 / 9.0));
  CHECK(d_q("elu+1", "-1") == doctest::Approx(2 * std::exp(-1) / std::pow(2 * std::exp(-1) + 1, 2)));
  CHECK(d_q("exp", "-1") == doctest::Approx(1 / 4.0));
}

TEST_CASE("the check of a gradient leaves a corner out, and takes a bent slope for what it is") {
  const auto finding = [](const char* phi) {
    const Trace trace = traced(problem(fmt::format(
        "gradient = yes\nmethod = linear\nphi = {}\neps = 1\n[Q]\n0 2\n[K]\n1 1\n[V]\n1\n", phi)));
    return gradient_is_slope(trace, node_named(trace.plan(), "Q"), node_named(trace.plan(), "d.Q"));
  };
  CHECK(finding("relu").outcome == Finding::Outcome::within);
  CHECK(finding("relu").count == 1);  // max(0 ± h, 0)
  CHECK(finding("elu+1").outcome == Finding::Outcome::within);
  CHECK(finding("elu+1").count == 2);
}

TEST_CASE("the gradient of a layer's X is handed to the layer below, and adds up with the residual") {
  const Trace trace =
      traced(problem("gradient = yes\nlayers = 2\nresidual = yes\nV = X\n[X]\n1 0\n0 2\n[W_Q]\n1 1\n0 "
                     "1\n[W_K]\n1 0\n1 1\n"));
  const Matrix sum = value(trace, "d.L2.X.Q") + value(trace, "d.L2.X.K") + value(trace, "d.L2.V") +
                     value(trace, "d.L2.residual");
  CHECK(apart(value(trace, "d.L1.residual"), sum, kTolerance) == "");
  CHECK(formula_with_shapes(trace.plan(), node_named(trace.plan(), "d.X")) ==
        "d.X (2×2) = d.L1.X.Q (2×2) + d.L1.X.K (2×2) + d.L1.V (2×2) + d.L1.residual (2×2)");
}

TEST_CASE("everything given has a gradient, but for what is fixed by the place of a token") {
  const Trace trace = traced(problem(
      "gradient = yes\nmask = causal\nrope = half\n[X]\n1 0\n0 1\n[P]\n1 1\n0 1\n[W_Q]\n1 0\n0 1\n[W_K]\n"
      "1 0\n0 1\n[W_V]\n1\n1\n[W_O]\n1 2\n"));
  std::string without;
  for (const Node& node : trace.plan().nodes) {
    if (!node.given.empty() && !is_gradient(node) && !trace.plan().find("d." + node.id))
      without += node.id + " ";
  }
  CHECK(without == "positions M ");
}

// [W_QKV] given as W_Q, W_K and W_V, one, one and two wide: by columns, or by rows as nn.Linear stores it.
struct Fused {
  const char* layout;
  Index rows;
  Index cols;
};

TEST_CASE("the gradient of W_QKV is the slope of the loss, its parts where they lie in W_QKV") {
  for (const Fused& fused : {Fused{"columns", 2, 4}, Fused{"linear", 4, 2}}) {
    INFO("layout ", std::string(fused.layout));
    Matrix w(fused.rows, fused.cols);
    for (Index k = 0; k < w.size(); ++k) w(k) = 0.25 * static_cast<double>(k * k % 7) - 0.5;
    const auto trace_with = [&](const Matrix& w_qkv) {
      std::string text =
          fmt::format("gradient = yes\nd_k = 1\nlayout = {}\n[X]\n1 0.5\n-1 2\n[W_QKV]\n", fused.layout);
      for (Index i = 0; i < w_qkv.rows(); ++i) {
        for (Index j = 0; j < w_qkv.cols(); ++j) text += fmt::format("{:.17f} ", w_qkv(i, j));
        text += "\n";
      }
      return traced(problem(text + "[d.output]\n1 -2\n0.5 3\n"));
    };
    const auto loss = [&](const Matrix& w_qkv) {
      const Trace trace = trace_with(w_qkv);
      return trace.values(node_named(trace.plan(), "output")).cwiseProduct(value(trace, "d.output")).sum();
    };
    Matrix slopes(w.rows(), w.cols());
    constexpr double kStep = 1e-5;  // leaves an error of the order kStep²
    for (Index k = 0; k < w.size(); ++k) {
      Matrix more = w;
      Matrix less = w;
      more(k) += kStep;
      less(k) -= kStep;
      slopes(k) = (loss(more) - loss(less)) / (2 * kStep);
    }
    CHECK(slopes.cwiseAbs().minCoeff() > 1e-3);  // every cell says something
    CHECK(apart(value(trace_with(w), "d.W_QKV"), slopes, 1e-8) == "");
  }
}

TEST_CASE("a forbidden key and a key that stands alone get exactly 0") {
  const Trace trace = traced(problem(
      "gradient = yes\nmask = causal\n[Q]\n0.1 0.7\n0.3 1/3\n[K]\n0.9 0.2\n0.3 0.1\n[V]\n0.7\n0.1\n"));
  CHECK(shown(trace, "d.scores", 3).starts_with("0.000 0 ; "));
  const NodeId scores = node_named(trace.plan(), "d.scores");
  CHECK(trace.is_exactly_zero(scores, 0, 0));
  CHECK(trace.is_exactly_zero(scores, 0, 1));
  CHECK(trace.is_exactly_zero(node_named(trace.plan(), "d.Q"), 0, 1));
}

TEST_CASE("an empty row sends nothing back, even when it is NaN") {
  const std::string text =
      "gradient = yes\nempty_row = nan\n[Q]\n1\n2\n[K]\n1\n2\n[V]\n1\n2\n[mask]\n0 0\n1 1\n";
  const Trace trace = run(plan_of(*read_text(text).problem), {});
  for (const char* id : {"d.scores", "d.Q", "d.K", "d.V"}) CHECK(value(trace, id).allFinite());
  CHECK(value(trace, "d.scores").row(0).isZero(0));
}

TEST_CASE("where the softmax is saturated nearly nothing gets through") {
  // The first article: softmax(1, 2, 3) against softmax(10, 20, 30).
  const Trace trace = traced(
      problem("gradient = yes\nscale = none\n[scores]\n1 2 3\n10 20 30\n[V]\n1\n0\n2\n[d.output]\n1\n1\n"));
  const Matrix& d = value(trace, "d.scores");
  CHECK(d.row(0).cwiseAbs().minCoeff() > 0.03);
  CHECK(d.row(1).cwiseAbs().maxCoeff() < 1e-4);
}

TEST_CASE("the Jacobian times the gradient of the weights is that of the scores") {
  const Trace trace = traced(
      problem("gradient = yes\nscale = none\n[scores]\n1 2 3\n0 1 -1\n[V]\n1\n0\n2\n[d.output]\n2\n1\n"));
  const Matrix& jacobian = value(trace, "d.jacobian");
  CHECK(apart(value(trace, "d.weights").row(1) * jacobian, value(trace, "d.scores").row(1), 1e-15) == "");
  CHECK(jacobian.rowwise().sum().cwiseAbs().maxCoeff() < 1e-15);
}

TEST_CASE("the result stays the last step, and nothing is added unless it is asked for") {
  const std::string text = "[Q]\n1\n[K]\n1\n[V]\n1\n[W_O]\n1 2\n";
  const Plan plain = plan_of(problem(text));
  const Plan both = plan_of(problem("gradient = yes\n" + text + "[target]\n1\n"));
  CHECK(both[both.last_step()].id == "Y");
  CHECK(both.last_step() == plain.nodes.size() - 1);
  for (NodeId id = 0; id < plain.nodes.size(); ++id) CHECK(both[id].id == plain[id].id);
  CHECK(both[plain.nodes.size()].id == "q");
}

TEST_CASE("what has no gradient is refused with the reason") {
  const std::string qkv = "[Q]\n1\n[K]\n1\n[V]\n1\n";
  CHECK(messages("gradient = yes\nread = hard\n" + qkv) ==
        "error: a hard read has no gradient: argmax does not change with small changes of the scores\n");
  CHECK(messages("gradient = yes\n[Q]\n1\n[K]\n1\n[V]\na\n") ==
        "error: a gradient needs numbers in V, not symbols such as a\n");
  CHECK(messages("gradient = yes\n[Q]\n1\n[K]\n1\n") ==
        "error: a gradient needs numbers in V, which is not given\n");
  CHECK(messages("gradient = yes\n" + qkv + "[d.Y]\n1\n") ==
        "error: [d.Y] does not arrive at the last step, which is output\n");
  const std::string stack = "layers = 2\nQ = X\nK = X\nV = X\n[X]\n1 2\n";
  CHECK(messages("gradient = yes\n" + stack + "[d.output]\n1 2\n") ==
        "error: in layer 2: [d.output] does not arrive at the last step, which is L2.output\n");
  CHECK(messages("gradient = yes\n" + stack + "[d.L1.output]\n1 2\n") ==
        "error: in layer 2: [d.L1.output] does not arrive at the last step, which is L2.output\n");
  CHECK(messages("gradient = yes\n" + stack + "[L1.target]\n1\n") ==
        "error: in layer 1: the backward pass starts at the last layer, not at this one\n");
  CHECK(messages("gradient = yes\n" + stack + "[d.L2.output]\n1\n") ==
        "error: in layer 2: [d.L2.output] is 1×1, but L2.output is 1×2\n");
  CHECK(messages(stack + "[d.L2.output]\n1 2\n") ==
        "note: in layer 2: [d.L2.output] is for the backward pass: --gradient, or gradient = yes\n");
  CHECK(messages("gradient = yes\nresidual = yes\nQ = X\nK = X\nV = X\n[X]\n1 2\n[d.output]\n1 2\n") ==
        "error: [d.output] does not arrive at the last step, which is residual\n");
  CHECK(messages("gradient = yes\n" + qkv + "[d.h1.output]\n1\n") ==
        "error: [d.h1.output] does not arrive at the last step, which is output\n");
  for (const char* pass : {"decode = yes", "tile = 1x1", "hops = 2"}) {
    CHECK(messages(fmt::format("gradient = yes\n{}\n{}", pass, qkv)) ==
          fmt::format(
              "error: the backward pass goes through attention that is computed at once; '{}' does not go "
              "with it\n",
              std::string(pass).substr(0, std::string(pass).find(' '))));
  }
  CHECK(messages("gradient = yes\n" + qkv + "[d.output]\n1 2\n") ==
        "error: [d.output] is 1×2, but output is 1×1\n");
  CHECK(messages("gradient = yes\n" + qkv + "[d.output]\n1\n[target]\n1\n") ==
        "error: [target] contradicts [d.output]: the backward pass starts in one way only\n");
  CHECK(messages("gradient = yes\n" + qkv + "[target]\n1 1\n") ==
        "error: [target] names 2 classes, but output has 1 row: one for each row\n");
  CHECK(messages("gradient = yes\n" + qkv + "[target]\n0\n") ==
        "error: there is no class 0: output has 1 column, the classes 1 to 1\n");
  CHECK(messages(qkv + "[target]\n1\n") ==
        "note: [target] is for the backward pass: --gradient, or gradient = yes\n");
  CHECK(messages(qkv + "[expect.d.Q]\n1\n") ==
        "error: this problem has no step 'd.Q': gradient is no, or nothing flows back to it\n");
  CHECK(messages(qkv + "[expect.d.nonsense]\n1\n").starts_with("error: unknown step 'd.nonsense'"));
}

}  // namespace qkv::test

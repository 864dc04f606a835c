// Work in pieces gives what the whole gives: decoding with a cache, tiles, layers and hops.  And what
// --prove claims is true on random problems, and is noticed where it is not.

#include <array>
#include <set>

#include "methods/claims.h"
#include "reading.h"
#include "run/equality.h"
#include "run/proof.h"
#include "support.h"

namespace qkv::test {
namespace {

std::string last_id(const Trace& trace) { return trace.plan()[trace.plan().last_step()].id; }

std::string section(const std::string& name, const Matrix& m) {
  std::string text = "[" + name + "]\n";
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) text += fmt::format("{} ", m(i, j));
    text += "\n";
  }
  return text;
}

// Self-attention with everything that may be combined, sometimes.
std::string random_problem(Random& random) {
  const Index n = random.whole(1, 5);
  const Index kv_heads = random.whole(1, 2);
  const Index heads = kv_heads * random.whole(1, 2);
  const Index d_k = 2 * random.whole(1, 2);
  const Index d_v = random.whole(1, 2);
  std::string text;
  if (heads > 1) text += fmt::format("heads = {}\nkv_heads = {}\n", heads, kv_heads);
  const Index mask = random.whole(0, 3);
  text += mask == 0   ? "mask = causal\n"
          : mask == 1 ? "mask = causal window:2 sinks:1\n"
          : mask == 2 ? "mask = causal window:3\n"
                      : "mask = causal\n";
  if (random.whole(0, 1) == 1) text += "rope = half\n";
  if (random.whole(0, 2) == 0) text += "softcap = 3\n";
  if (random.whole(0, 2) == 0) {
    text += "sink_logit =";
    for (Index h = 0; h < heads; ++h) text += " 0.5";
    text += "\n";
  }
  const Index d = 3;
  text += section("X", random.matrix(n, d));
  text += section("W_Q", random.matrix(d, heads * d_k)) + section("W_K", random.matrix(d, kv_heads * d_k)) +
          section("W_V", random.matrix(d, kv_heads * d_v));
  if (random.whole(0, 1) == 1) text += section("W_O", random.matrix(heads * d_v, 2));
  return text;
}

// The rows of the last step, of both.
std::string apart_at_the_end(const Trace& a, const Trace& b, double tolerance) {
  return apart(value(a, last_id(a)), value(b, last_id(b)), tolerance);
}

constexpr double kNear = 1e-15;

}  // namespace

TEST_CASE("decoding with a cache, after any prefill, gives the rows of the full causal pass") {
  QKV_SAY_SEED();
  Random random(61);
  for (int round = 0; round < 40; ++round) {
    const std::string text = random_problem(random);
    INFO(text);
    const Problem whole = problem(text);
    const Index n = static_cast<Index>(whole.tokens.size());
    for (const Index prefill : {Index{0}, random.whole(0, n), n}) {
      const Trace decoded = traced(problem(fmt::format("decode = yes\nprefill = {}\n", prefill) + text));
      CHECK(apart_at_the_end(decoded, traced(whole), kNear) == "");
    }
  }
}

TEST_CASE("the softmax in tiles of any size is the plain softmax") {
  QKV_SAY_SEED();
  Random random(62);
  for (int round = 0; round < 40; ++round) {
    const std::string text = random_problem(random);
    INFO(text);
    const std::string tile = fmt::format("tile = {}x{}\n", random.whole(1, 6), random.whole(1, 6));
    CHECK(apart_at_the_end(traced(problem(tile + text)), traced(problem(text)), kNear) == "");
  }
}

TEST_CASE("each decode step holds its own row only, and the cache stops growing with a window and a sink") {
  const Trace trace = traced(problem(
      "decode = yes\nmask = window:2 sinks:1\ntokens = a b c d e\n[Q]\n1\n2\n3\n4\n5\n[K]\n1\n0\n1\n0\n1\n"
      "[V]\n1\n2\n3\n4\n5\n"));
  const auto cols = [&](const char* id) { return trace.plan()[node_named(trace.plan(), id)].cols; };
  CHECK(cols("t1.weights") == std::vector<std::string>{"a"});
  CHECK(cols("t3.weights") == std::vector<std::string>{"a", "b", "c"});
  CHECK(cols("t4.weights") == std::vector<std::string>{"a", "c", "d"});
  CHECK(cols("t5.weights") == std::vector<std::string>{"a", "d", "e"});
  CHECK(trace.plan()[node_named(trace.plan(), "t5.scores")].shape == Shape{1, 3});
  CHECK(trace.plan().find("t5.K.kept").has_value());
  CHECK_FALSE(trace.plan().find("t3.K.kept").has_value());
}

TEST_CASE("a cache that nobody may look at any more is emptied, also one that was given") {
  const std::string two = "[Q]\n1 2\n2 1\n[K]\n1 0\n0 1\n[V]\n1 4\n2 5\n[past_K]\n1 1\n[past_V]\n9 9\n";
  for (const char* settings : {"mask = causal window:1\n", "heads = 2\nmask = causal window:1\n",
                               "mask = causal window:2\n", "heads = 2\nmask = causal\n"}) {
    INFO("settings ", std::string(settings));
    const Trace decoded = traced(problem(settings + ("decode = yes\n" + two)));
    CHECK(apart_at_the_end(decoded, traced(problem(settings + two)), kNear) == "");
  }
}

TEST_CASE("the online softmax rescales what came before when the maximum grows") {
  // Scores 0 1 | 3 2 in blocks of two: m = 3, l = (e^-1 + 1)·e^-2 + 1 + e^-1.
  const Trace trace = traced(problem("scale = none\ntile = 1x2\n[Q]\n1\n[K]\n0\n1\n3\n2\n[V]\n1\n2\n3\n4\n"));
  CHECK(apart(value(trace, "b2.max"), matrix("3"), 0) == "");
  CHECK(apart(value(trace, "b2.rescale"), matrix("0.1353352832366127"), 1e-15) == "");
  CHECK(apart(value(trace, "b2.sum"), matrix("1.5530017"), 1e-6) == "");
  CHECK(apart(value(trace, "output"), matrix("3.085621"), 1e-6) == "");
}

TEST_CASE("a cell of the accumulator can be proved by itself") {
  // The same scores with values of two columns: acc = (1·e^-1 + 2)·e^-2 + 3 + 4·e^-1, and the same of −V.
  const Trace trace =
      traced(problem("scale = none\ntile = 1x2\n[Q]\n1\n[K]\n0\n1\n3\n2\n[V]\n1 -1\n2 -2\n3 -3\n4 -4\n"));
  const NodeId acc = node_named(trace.plan(), "b2.acc");
  CHECK(middle_double(trace.proof().enclosure({acc, 0, 1})) == doctest::Approx(-4.791975).epsilon(1e-6));
  const Exact exact = trace.proof().exact({acc, 0, 1});
  CHECK(compare(exact, Exact(-4.791976)) == 1);
  CHECK(compare(exact, Exact(-4.791974)) == -1);
}

TEST_CASE("a tile in which every key is hidden is skipped; a row that sees nothing is still empty") {
  const Trace causal = traced(problem("mask = causal\ntile = 1x1\n[Q]\n1\n1\n[K]\n1\n2\n[V]\n1\n2\n"));
  CHECK(causal.plan().find("b3.scores").has_value());
  CHECK_FALSE(causal.plan().find("b4.scores").has_value());
  Reading empty = read_text("tile = 1x1\n[Q]\n1\n1\n[K]\n1\n2\n[V]\n1\n2\n[mask]\n0 0\n1 1\n");
  REQUIRE(empty.problem);
  CHECK(apart(value(traced(*empty.problem), "output").row(0), matrix("0"), 0) == "");
}

TEST_CASE("a stack runs each layer on what the layer before it made") {
  const std::string x = "[X]\n1 0\n0 1\n";
  const std::string w1 = "[L1.W_Q]\n1 0\n0 1\n[L1.W_K]\n1 1\n0 1\n[L1.W_V]\n2 0\n0 1\n";
  const std::string w2 = "[L2.W_Q]\n0 1\n1 0\n[L2.W_K]\n1 0\n0 1\n[L2.W_V]\n1 0\n1 1\n";
  const Trace stack = traced(problem("layers = 2\nresidual = yes\nL2.mask = causal\n" + x + w1 + w2));
  const auto alone = [](std::string text, const std::string& layer) {
    for (std::size_t at = text.find(layer); at != std::string::npos; at = text.find(layer))
      text.erase(at, layer.size());
    return text;
  };
  const Trace first = traced(problem(x + alone(w1, "L1.")));
  const Matrix middle = value(first, "X") + value(first, "output");
  CHECK(apart(value(stack, "L1.residual"), middle, kNear) == "");
  Problem second = problem("mask = causal\n" + x + alone(w2, "L2."));
  second.given["X"] = rows_of(middle);
  CHECK(apart(value(stack, "L2.output"), value(traced(second), "output"), 1e-14) == "");
  CHECK(last_id(stack) == "L2.residual");
}

TEST_CASE("decoding through layers, each with a cache of its own, gives the rows of the full stack") {
  QKV_SAY_SEED();
  Random random(64);
  for (int round = 0; round < 25; ++round) {
    const Index n = random.whole(1, 5);
    const Index layers = random.whole(2, 3);
    const Index d = 4;
    const Index kv_heads = random.whole(1, 2);
    std::string text = fmt::format("layers = {}\nheads = 2\nkv_heads = {}\n", layers, kv_heads);
    if (random.whole(0, 1) == 1) text += "residual = yes\n";
    if (random.whole(0, 1) == 1) text += "rope = half\n";
    if (random.whole(0, 1) == 1) text += "pos = sinusoidal\n";
    const std::array masks{"causal", "causal window:1", "causal window:2 sinks:1"};
    std::string sections = section("X", random.matrix(n, d));
    for (Index layer = 1; layer <= layers; ++layer) {
      const std::string own = fmt::format("L{}.", layer);
      text += own + "mask = " + masks[static_cast<std::size_t>(random.whole(0, 2))] + "\n";
      sections +=
          section(own + "W_Q", random.matrix(d, 4)) + section(own + "W_K", random.matrix(d, 2 * kv_heads)) +
          section(own + "W_V", random.matrix(d, kv_heads)) + section(own + "W_O", random.matrix(2, d));
    }
    text += sections;
    INFO(text);
    for (const Index prefill : {Index{0}, random.whole(0, n)}) {
      const Trace decoded = traced(problem(fmt::format("decode = yes\nprefill = {}\n", prefill) + text));
      const Trace whole = traced(problem(text));
      CHECK(last_id(decoded) == last_id(whole));
      CHECK(apart_at_the_end(decoded, whole, 1e-14) == "");
    }
  }
}

TEST_CASE("a layer knows of earlier tokens what its own cache holds, whatever kind of layer it is") {
  const std::string text =
      "layers = 3\nresidual = yes\nmask = causal\nL1.method = linear\n[X]\n1 0\n0 1\n1 1\n2 1\n"
      "[L1.W_Q]\n1 0\n0 1\n[L1.W_K]\n1 1\n0 1\n[L1.W_V]\n1 0\n0 1\n"
      "[L2.W_DKV]\n1\n2\n[L2.W_UK]\n1 0\n[L2.W_UV]\n1 1\n[L2.W_UQ]\n1 0\n0 1\n"
      "[L3.W_Q]\n1 0\n0 1\n[L3.W_K]\n1 1\n0 1\n[L3.W_V]\n1 0\n0 1\n";
  const Trace decoded = traced(problem("decode = yes\nprefill = 2\n" + text));
  CHECK(apart_at_the_end(decoded, traced(problem(text)), 1e-15) == "");
  // "t3." "L2." of a prefix.
  const auto pass = [](const Node& node) { return node.prefix.substr(0, node.prefix.find('.')); };
  const auto layer = [](const Node& node) { return node.prefix.substr(node.prefix.find('L')); };
  std::set<std::string> known;
  for (const Node& node : decoded.plan().nodes) {
    if (node.prefix.find('.') + 1 >= node.prefix.size()) continue;  // of no pass, or of no layer
    for (const NodeId input : node.inputs) {
      const Node& from = decoded.plan()[input];
      if (from.prefix.find('.') + 1 >= from.prefix.size() || pass(from) == pass(node)) continue;
      CHECK(layer(from) == layer(node));
      known.insert(layer(from) + std::string(from.name()));
    }
  }
  CHECK(known == std::set<std::string>{"L1.S", "L1.z", "L2.c_KV", "L2.c_KV.cache", "L3.K", "L3.V",
                                       "L3.K.cache", "L3.V.cache"});
}

TEST_CASE("one layer has a residual too") {
  const std::string text = "Q = X\nK = X\nV = X\n[X]\n1 2\n3 4\n";
  const Trace trace = traced(problem("residual = yes\n" + text));
  CHECK(apart(value(trace, "residual"), value(trace, "X") + value(trace, "output"), kNear) == "");
}

TEST_CASE("every hop adds what was read to the query") {
  const std::string memory = "[K]\n1 0\n0 1\n[V]\n0 2\n3 0\n";
  const Trace trace = traced(problem("hops = 2\n[Q]\n1 2\n" + memory));
  const Trace first = traced(problem("[Q]\n1 2\n" + memory));
  CHECK(apart(value(trace, "hop1.output"), value(first, "output"), 0) == "");
  const Matrix next = value(first, "Q") + value(first, "output");
  CHECK(apart(value(trace, "hop2.Q"), next, kNear) == "");
  Problem second = problem("[Q]\n1 2\n" + memory);
  second.given["Q"] = rows_of(next);
  CHECK(apart(value(trace, "hop2.output"), value(traced(second), "output"), 1e-14) == "");
}

TEST_CASE("heads may be written one by one, as columns of the whole") {
  const std::string x = "heads = 2\n[X]\n1 2\n3 4\n";
  const Trace whole = traced(problem(x + "[W_Q]\n1 2\n3 4\n[W_K]\n0 1\n1 0\n[W_V]\n1 0\n0 1\n"));
  const Trace parts = traced(
      problem(x + "[h1.W_Q]\n1\n3\n[h2.W_Q]\n2\n4\n[h1.W_K]\n0\n1\n[h2.W_K]\n1\n0\n[W_V]\n1 0\n0 1\n"));
  CHECK(apart(value(whole, "concat"), value(parts, "concat"), 0) == "");
  CHECK(messages(x + "[h1.W_Q]\n1\n3\n[W_K]\n0 1\n1 0\n[W_V]\n1 0\n0 1\n") ==
        "error: the other heads are missing: [h2.W_Q]\n");
}

TEST_CASE("what a method claims to equal is equal, number by number") {
  QKV_SAY_SEED();
  Random random(63);
  int claims = 0;
  for (int round = 0; round < 30; ++round) {
    std::string text = random_problem(random);
    const Index kind = random.whole(0, 2);
    if (kind == 1) text = "decode = yes\n" + text;
    if (kind == 2) text = "tile = 2x2\n" + text;
    INFO(text);
    const Problem p = problem(text);
    const Trace trace = traced(p);
    for (const Claim& claim : claims_of(p, trace.plan())) {
      INFO(claim.sentence.en);
      Equality found;
      for (const Claim::Part& part : claim.parts) {
        const Trace other = run(part.other, {});
        for (const RowPair& rows : part.rows) found.add(compare_rows(trace, other, rows));
      }
      CHECK_FALSE(found.differs);
      CHECK(found.largest < 1e-30);
      ++claims;
    }
  }
  CHECK(claims > 40);
}

TEST_CASE("a claim that does not hold is found out") {
  const Problem p = problem("order = 2 1\nmask = causal\n[Q]\n1\n2\n[K]\n1\n0\n[V]\n1\n5\n");
  const Trace trace = traced(p);
  bool is_refuted = false;
  for (const Claim& claim : claims_of(p, trace.plan())) {
    for (const Claim::Part& part : claim.parts) {
      const Trace other = run(part.other, {});
      for (const RowPair& rows : part.rows)
        is_refuted = is_refuted || compare_rows(trace, other, rows).differs;
    }
  }
  CHECK(is_refuted);
}

TEST_CASE("what cannot be taken in pieces is refused with the reason") {
  CHECK(messages("decode = yes\n[scores]\n1\n").find("decoding needs Q, K and V") != std::string::npos);
  CHECK(messages("decode = yes\n[Q]\n1\n[K]\n1\n2\n[V]\n1\n2\n") ==
        "error: decoding is self-attention: one key per query\n");
  CHECK(messages("decode = yes\nprefill = 3\n[Q]\n1\n[K]\n1\n[V]\n1\n") ==
        "error: prefill = 3, but the problem has 1 token\n");
  CHECK(messages("decode = yes\nmask = prefix:2\n[Q]\n1\n1\n[K]\n1\n2\n[V]\n1\n2\n") ==
        "error: prefix:2 lets the first 2 tokens see one another, so they must come in one pass\n");
  CHECK(messages("heads = 3\n[Q]\n1 2 3\n[K]\n1 2 3\n[V]\n1 2\n") ==
        "error: the 2 columns of V cannot be cut into 3 heads\n");
  CHECK(messages("hops = 2\n[Q]\n1 2\n[K]\n1 2\n[V]\n1\n") ==
        "error: what a hop reads is 1 wide, but Q is 2: it is added to the query of the next hop\n");
  CHECK(messages("layers = 2\nQ = X\nK = X\nV = X\n[X]\n1\n[past_K]\n1\n[past_V]\n1\n") ==
        "error: a stack of layers is self-attention from the first token on: no [X_kv], no [past_K], one "
        "hop\n");
  CHECK(messages("layers = 2\n[Q]\n1\n[K]\n1\n") == "error: a stack of layers starts at [X]\n");
  for (const char* v : {"", "[V]\na\nb\n"}) {
    CHECK(
        messages(std::string("layers = 2\nQ = X\nK = X\n[X]\n1\n2\n") + v) ==
        "error: a stack of layers needs numbers in V: what one layer reads is what the next one works on\n");
  }
  CHECK(messages("hops = 2\n[Q]\n1\n[K]\n1\n2\n[V]\na\nb\n") == "error: several hops need numbers in V\n");
  // What one layer says is told of that layer, what all say of the file.
  const std::string tokens = "Q = X\nK = X\nV = X\n[X]\n1\n2\n";
  CHECK(messages("layers = 2\nL2.mask = padding:1,0,0\n" + tokens) ==
        "error: in layer 2: padding names 3 keys, but the problem has 2\n");
  CHECK(messages("layers = 2\nmask = padding:1,0,0\n" + tokens) ==
        "error: padding names 3 keys, but the problem has 2\n");
  CHECK(messages("layers = 2\nL1.mask = sinks:1\nmask = causal sinks:1\n" + tokens) ==
        "warning: in layer 1: sinks and global have no effect without a window\n"
        "warning: in layer 2: sinks and global have no effect without a window\n");
  CHECK(messages("layers = 2\nL2.order = 2 1\nQ = X\nK = X\nV = X\n[X]\n1\n2\n") ==
        "error: 'order' is the same for all layers: write it without 'L2.'\n");
  CHECK(messages("heads = 2\nkv_heads = 3\n[Q]\n1 2\n[K]\n1 2 3\n[V]\n1 2 3\n[W_O]\n1\n2\n") ==
        "error: 2 heads cannot share 3 heads of keys and values evenly\n");
  CHECK(messages("L2.mask = causal\n[Q]\n1\n[K]\n1\n") ==
        "error: 'L2.mask' belongs to a layer that is not there: layers = 1\n");
  CHECK(messages("layers = 2\nresidual = yes\nQ = X\nK = X\nV = X\n[X]\n1 2\n[W_O]\n1\n1\n") ==
        "error: X is 2 wide, but what is read is 1: the residual adds one to the other\n");
}

}  // namespace qkv::test

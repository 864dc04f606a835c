// From a file to a problem: where the calculation starts, what is the same as what, which
// shapes fit, what everything is called.
#include <doctest/doctest.h>

#include <string>

#include "problem/keys.h"
#include "reading.h"

using namespace qkv;
using namespace qkv::test;

namespace {

const std::string kQK = "[Q]\n1 0\n0 1\n[K]\n1 1\n2 2\n";

std::string scale_of(const Problem& p) {
  switch (p.scale.kind) {
    case ScaleKind::root:
      return "root of " + p.scale.d_k.text;
    case ScaleKind::none:
      return "none";
    case ScaleKind::factor:
      break;
  }
  return "times " + p.scale.factor.text;
}

}  // namespace

// ---- the samples of the problem file's description ----

TEST_CASE("a scale that names d_k is the factor of that width, of one head") {
  const std::string rows = "[Q]\n1 0 2 0\n[K]\n1 1 0 3\n[V]\n1 2\n";
  CHECK(problem("scale = 1/d_k\n" + rows).scale.factor.text == "1/4");
  CHECK(problem("scale = 1/d_k\nheads = 2\n" + rows).scale.factor.text == "1/2");
  CHECK(problem("scale = 1/d_k\nd_k = 9\n[scores]\n1\n").scale.factor.text == "1/9");
}

TEST_CASE("the example worked by hand is read as it stands") {
  const Problem p = problem(
      "# worked by hand: 3 tokens, d_k = 2, Q = K\n"
      "title  = 手算一个例子\n"
      "tokens = t1 t2 t3\n"
      "K      = Q                # the same matrix\n"
      "\n"
      "[Q]\n1 0\n0 1\n1 1\n\n"
      "[V]\n1.0 0.0\n0.0 1.0\n0.5 0.5\n\n"
      "[expect.weights]          # as printed in the text\n"
      "0.40 0.20 0.40\n0.20 0.40 0.40\n0.25 0.25 0.50\n");
  CHECK(p.entry == Entry::qkv);
  CHECK(p.title == "手算一个例子");
  CHECK(joined(p.tokens) == "t1 t2 t3");
  CHECK(joined(p.kv_tokens) == "t1 t2 t3");
  CHECK(cells(p["K"]) == "1 0 ; 0 1 ; 1 1");
  CHECK(p.same_as.at("K") == "Q");
  CHECK(scale_of(p) == "root of 2");
  CHECK(settings_of(p) == "K = Q, scale = 1/sqrt(d_k), mask = none");
  REQUIRE(p.expected.size() == 1);
  CHECK(p.expected[0].step == "weights");
  CHECK(p.expected[0].printed.at(2, 2).decimals == 2);
  CHECK(p.allowed == nullptr);
}

TEST_CASE("projections, a causal mask and Chinese labels") {
  const Problem p = problem(
      "title  = 我喜欢吃苹果\ntokens = 我 喜欢 吃 苹果\nmask   = causal\n\n"
      "[X]                      # n × d_model\n我   | 1 0 0\n喜欢 | 0 1 0\n吃   | 0 1 1\n苹果 | 1 0 1\n\n"
      "[W_Q]\n1 0\n0 1\n1 1\n\n[W_K]\n0 1\n1 0\n1 1\n\n[W_V]\n1   0\n0   1\n0.5 0.5\n");
  CHECK(p.entry == Entry::x);
  CHECK(joined(p.tokens) == "我 喜欢 吃 苹果");
  CHECK(pattern(p.allowed) == "1000 ; 1100 ; 1110 ; 1111");
  CHECK(p.mask_meaning.zh == "causal：每个查询只看自己及之前的键");
}

TEST_CASE("from given scores with values as symbols, counted from 0") {
  const Problem p =
      problem("first_index = 0\nmask  = causal\nscale = none\n\n[scores]\n1 2 3\n1 2 3\n1 2 3\n");
  CHECK(p.entry == Entry::scores);
  CHECK(cells(p["V"]) == "v0 ; v1 ; v2");
  CHECK(joined(p.tokens) == "t0 t1 t2");
  CHECK(scale_of(p) == "none");
  CHECK(settings_of(p) == "first_index = 0, scale = none, mask = causal");
}

// ---- where the calculation starts ----

TEST_CASE("the calculation may start at any table") {
  CHECK(problem("d_k = 4\n[scores]\n1 2\n").entry == Entry::scores);
  CHECK(problem("[scaled]\n1 2\n").entry == Entry::scaled);
  CHECK(problem("[masked]\n1 -inf\n").entry == Entry::masked);
  CHECK(problem("[weights]\n0.5 1/2\n[V]\n1\n2\n").entry == Entry::weights);
}

TEST_CASE("[scores] with neither scale nor d_k is asked about") {
  CHECK(told("[scores]\n1 2\n") ==
        "t.qkv:1:1: error: [scores] does not show d_k, so 1/sqrt(d_k) is not known\n"
        "   1 | [scores]\n"
        "     | ^^^^^^^^\n"
        "     = hint: write d_k = …, or scale = none if the scores are scaled already\n");
  CHECK(scale_of(problem("d_k = 64\n[scores]\n1 2\n")) == "root of 64");
  CHECK(scale_of(problem("scale = 1/8\n[scores]\n1 2\n")) == "times 1/8");
}

TEST_CASE("V left out is a symbol for every key") {
  CHECK(cells(problem(kQK)["V"]) == "v1 ; v2");
  CHECK(cells(problem("Q = X\nK = X\n[X]\n1\n2\n")["V"]) == "v1 ; v2");
  CHECK(cells(problem(kQK + "[V]\nv0 1\n0.5 b\n")["V"]) == "v0 1 ; 0.5 b");
}

TEST_CASE("one matrix may have two roles") {
  const Problem p = problem("K = X\nQ = K\nV = X_kv\nX_kv = X\n[X]\n1 0\n0 1\n");
  CHECK(cells(p["Q"]) == "1 0 ; 0 1");
  CHECK(cells(p["V"]) == "1 0 ; 0 1");
  CHECK(p.same_as == std::map<std::string, std::string, std::less<>>{
                         {"K", "X"}, {"Q", "K"}, {"V", "X_kv"}, {"X_kv", "X"}});
}

TEST_CASE("what is the same as a computed matrix has no copy of its own") {
  const Problem p = problem("K = Q\n[X]\n1 0\n0 1\n[W_Q]\n1\n2\n");
  CHECK_FALSE(p.has("K"));
  CHECK(p.same_as.at("K") == "Q");
  CHECK(scale_of(p) == "root of 1");
}

TEST_CASE("the fused matrix is split by its layout") {
  const Problem columns = problem("[X]\n1 2\n[W_QKV]\n1 2 3\n4 5 6\n");
  CHECK(cells(columns["W_Q"]) == "1 ; 4");
  CHECK(cells(columns["W_K"]) == "2 ; 5");
  CHECK(cells(columns["W_V"]) == "3 ; 6");
  CHECK(cells(columns["W_QKV"]) == "1 2 3 ; 4 5 6");
  const Problem linear = problem("layout = linear\nd_k = 1\n[X]\n1 2\n[W_QKV]\n1 2\n3 4\n5 6\n7 8\n");
  CHECK(cells(linear["W_K"]) == "3 4");
  CHECK(cells(linear["W_V"]) == "5 6 ; 7 8");
  CHECK(told("[X]\n1 2\n[W_QKV]\n1 2 3 4\n1 2 3 4\n") ==
        "t.qkv:3:1: error: W_QKV has 4 columns, which are not d_k + d_k + d_v\n"
        "   3 | [W_QKV]\n"
        "     | ^^^^^^^\n"
        "     = hint: without the setting d_k three equal parts are expected\n");
}

TEST_CASE("vectors may be written as a row or as a column") {
  const Problem p = problem(kQK + "[V]\n1 2\n3 4\n[W_O]\n1 0 0\n0 1 0\n[b_O]\n1\n2\n3\n");
  CHECK(cells(p["b_O"]) == "1 2 3");
  CHECK(messages(kQK + "[V]\n1\n3\n[W_O]\n1 0\n[b_O]\n1 2\n3 4\n") ==
        "error: b_O is 2×2, but it is one row or one column of numbers\n");
}

// ---- contradictions, and what is missing ----

TEST_CASE("two sections that contradict each other are named with their lines") {
  CHECK(told("[Q]\n1\n[W_Q]\n1\n[X]\n1\n[K]\n1\n") ==
        "t.qkv:3:1: error: [W_Q] contradicts [Q]: Q is given in one way only\n"
        "   3 | [W_Q]\n"
        "     | ^^^^^\n"
        "     = hint: [Q] is on line 1, [W_Q] on line 3\n");
  CHECK(told("[scores]\n1\n\n[Q]\n1\n") ==
        "t.qkv:4:1: error: [Q] contradicts [scores]: the calculation starts at scores, so Q and K are not "
        "used\n"
        "   4 | [Q]\n"
        "     | ^^^\n"
        "     = hint: [scores] is on line 1, [Q] on line 4\n");
  CHECK(told("K = Q\n[Q]\n1\n[K]\n1\n") ==
        "t.qkv:4:1: error: [K] contradicts `K = Q`: K is given in one way only\n"
        "   4 | [K]\n"
        "     | ^^^\n"
        "     = hint: `K = Q` is on line 1, [K] on line 4\n");
  CHECK(messages("[scaled]\n1\n[weights]\n1\n") ==
        "error: [weights] contradicts [scaled]: the calculation starts at one of them\n");
  CHECK(messages("[weights]\n1\n[mask]\n1\n") ==
        "error: [mask] contradicts [weights]: the calculation starts after the mask and the bias\n");
  CHECK(messages("[X]\n1\n[W_QKV]\n1 1 1\n[W_V]\n1\n") ==
        "error: [W_V] contradicts [W_QKV]: V is given in one way only\n");
}

TEST_CASE("X alone needs W_Q or Q = X") {
  CHECK(told("[X]\n1 0\n") ==
        "t.qkv:1:1: error: [X] alone does not say what Q and K are\n"
        "   1 | [X]\n"
        "     | ^^^\n"
        "     = hint: add [W_Q] and [W_K], or write 'Q = X' and 'K = X' above the sections\n");
  CHECK(told("Q = X\n[X]\n1 0\n") ==
        "t.qkv:2:1: error: [X] is given, but neither [W_K] nor 'K = X' says what K is\n"
        "   2 | [X]\n"
        "     | ^^^\n"
        "     = hint: add [W_K], or write 'K = X' above the sections\n");
}

TEST_CASE("what is missing is said once") {
  CHECK(messages("[W_Q]\n1\n[W_K]\n1\n[W_V]\n1\n") == "error: [W_Q] needs [X], which is not given\n");
  CHECK(messages("[Q]\n1\n") == "error: K is not given\n");
  CHECK(messages("[V]\n1\n") == "error: neither Q nor K is given\n");
  CHECK(messages("# nothing\n") == "error: there is no matrix to calculate with\n");
  CHECK(messages(kQK + "[b_V]\n1\n") == "error: [b_V] needs [W_V], which is not given\n");
  CHECK(messages("K = V\n[Q]\n1\n") == "error: `K = V`, but V is not given\n");
  CHECK(messages("K = V\n[Q]\n1\n[V]\na\n") == "error: `K = V`, but V holds symbols\n");
  CHECK(messages("Q = K\nK = Q\n") == "error: `Q = K` goes round in a circle: no matrix is ever given\n");
}

TEST_CASE("nothing is called missing when something was not understood") {
  CHECK(messages("[q]\n1\n[K]\n1\n") == "error: unknown section 'q'\n");
  CHECK(messages("K == Q\n[Q]\n1\n") == "error: 'K' names another matrix (X, X_kv, Q, K or V), not '= Q'\n");
}

TEST_CASE("a matrix that is not used is an error") {
  CHECK(messages("[X]\n1\n" + kQK) == "error: [X] is not used: Q, K and V are given without it\n");
  CHECK(messages(kQK + "[W_a]\n1 0\n0 1\n") == "error: [W_a] is not used by score = dot\n");
}

// ---- shapes ----

TEST_CASE("Q and K of different width are named with their lines") {
  CHECK(told("# x\n\n\n\n\n[Q]\n1 2\n3 4\n5 6\n\n[K]\n1 2 3\n4 5 6\n7 8 9\n") ==
        "t.qkv: error: Q is 3×2 but K is 3×3: a dot product needs equal widths (d_k)\n"
        "     = hint: Q comes from [Q], line 6; K from [K], line 11\n");
  CHECK(told("[X]\n1\n[W_Q]\n1\n[W_K]\n1 2\n", Language::zh) ==
        "t.qkv: error: Q 是 1×1，而 K 是 1×2：点积要求两者宽度相同（d_k）\n"
        "     = hint: Q 来自第 1 行的 [X] 和第 3 行的 [W_Q]；K 来自第 1 行的 [X] 和第 5 行的 [W_K]\n");
}

TEST_CASE("every pair of shapes that does not fit has its own sentence") {
  CHECK(messages("[Q]\n1\n[K]\n1\n2\n[V]\n1\n") ==
        "error: K is 2×1 but V is 1×1: every key needs one value, so equal numbers of rows\n");
  CHECK(messages("[weights]\n1 0\n[V]\n1\n") ==
        "error: weights is 1×2 but V is 1×1: every column of weights needs one row of V\n");
  CHECK(messages("K = Q\n[X]\n1 2\n[W_Q]\n1\n2\n3\n") ==
        "error: X is 1×2 but W_Q is 3×1: X·W_Q needs 2 rows in W_Q\n");
  CHECK(messages("layout = linear\nK = Q\n[X]\n1 2\n[W_Q]\n1\n2\n") ==
        "error: X is 1×2 but W_Q is 2×1: X·W_Qᵀ needs 2 columns in W_Q (layout = linear)\n");
  CHECK(messages("K = Q\n[X]\n1 2\n[W_Q]\n1\n2\n[b_Q]\n1 2\n") ==
        "error: b_Q has 2 numbers, but W_Q makes rows of 1\n");
  CHECK(messages(kQK + "[mask]\n1 1\n") ==
        "error: mask is 1×2, but the scores are 2×2: one row per query, one column per key\n");
  CHECK(messages(kQK + "[bias]\n1\n1\n") ==
        "error: bias is 2×1, but the scores are 2×2: one row per query, one column per key\n");
  CHECK(messages(kQK + "[V]\n1 2\n3 4\n[W_O]\n1\n2\n3\n") ==
        "error: W_O is 3×1, but the output is 2 wide: output·W_O needs as many rows in W_O\n");
}

TEST_CASE("a transposed weight is suspected where turning it would fit") {
  CHECK(told("K = Q\n[X]\n1 2\n[W_Q]\n1 2\n3 4\n5 6\n") ==
        "t.qkv: error: X is 1×2 but W_Q is 3×2: X·W_Q needs 2 rows in W_Q\n"
        "     = hint: X comes from [X], line 2; W_Q from [W_Q], line 4. If W is stored as nn.Linear does, "
        "write "
        "'layout = linear'\n");
}

TEST_CASE("the parameters of a score fit its formula") {
  const std::string qk = "[Q]\n1 2\n[K]\n1\n2\n";  // q has 2 numbers, k has 1
  CHECK(problem("score = general\n" + qk + "[W_a]\n1\n2\n").score == ScoreKind::general);
  CHECK(scale_of(problem("score = general\n" + qk + "[W_a]\n1\n2\n")) == "none");
  CHECK(messages("score = general\n" + qk + "[W_a]\n1 2\n") == "error: W_a is 1×2, but 2×1 is expected\n");
  CHECK(problem("score = concat\n" + qk + "[W_a]\n1 2\n1 2\n1 2\n[v_a]\n1\n2\n").has("v_a"));
  CHECK(messages("score = concat\n" + qk + "[W_a]\n1 2\n1 2\n[v_a]\n1\n2\n") ==
        "error: W_a is 2×2, but 3×2 is expected\n");
  CHECK(problem("score = additive\n" + qk + "[W_a]\n1\n1\n[U_a]\n1\n[v_a]\n1\n[b_a]\n0\n").has("b_a"));
  CHECK(told("score = additive\n" + qk + "[W_a]\n1\n1\n[U_a]\n1\n[b_a]\n0 1\n") ==
        "t.qkv:1:1: error: score = additive needs [v_a]\n"
        "   1 | score = additive\n"
        "     | ^^^^^\n"
        "     = hint: score = additive is v_a·tanh(q·W_a + k·U_a + b_a)\n"
        "t.qkv:12:1: error: b_a is 1×2, but 1×1 is expected\n"
        "  12 | [b_a]\n"
        "     | ^^^^^\n"
        "     = hint: score = additive is v_a·tanh(q·W_a + k·U_a + b_a); q has 2 numbers, k has 1\n");
}

TEST_CASE("a trace of more than a million cells is refused") {
  std::string text = "[Q]\n";
  for (int i = 0; i < 1001; ++i) text += "1\n";
  CHECK(messages("K = Q\n" + text) ==
        "error: scores would be 1001×1001: more than 1,000,000 cells, the most that are traced\n");
}

// ---- labels ----

TEST_CASE("in self-attention one list of tokens names queries and keys") {
  CHECK(joined(problem("tokens = a b\n" + kQK).kv_tokens) == "a b");
  CHECK(joined(problem("[Q]\nq1: 1\nq2: 2\n[K]\n1\n2\n").kv_tokens) == "q1 q2");
  CHECK(joined(problem("K = X\nQ = X\n[X]\n我: 1\n爱: 2\n").tokens) == "我 爱");
}

TEST_CASE("rows of K, or else of V, name the keys") {
  const Problem p = problem("tokens = q\n[Q]\n1 0\n[K]\nA: 2 0\nB: 0 2\nC: 1 1\n[V]\n1\n2\n3\n");
  CHECK(joined(p.tokens) == "q");
  CHECK(joined(p.kv_tokens) == "A B C");
  CHECK(joined(problem("scale = none\n[scores]\n1 2\n[V]\nA: 1\nB: 2\n").kv_tokens) == "A B");
  CHECK(joined(problem("[Q]\n1\n[K]\n1\n2\n").kv_tokens) == "t1 t2");
}

TEST_CASE("the other sequence has names of its own") {
  const Problem p = problem("tokens = a\nkv_tokens = \"x y\" ，\nQ = X\nK = X_kv\n[X]\n1\n[X_kv]\n1\n2\n");
  CHECK(p.kv_tokens == std::vector<std::string>{"x y", "，"});
  CHECK(joined(problem("tokens = [CLS] = \n" + kQK).tokens) == "[CLS] =");
  CHECK(joined(problem("Q = X\nK = X_kv\n[X]\na: 1\n[X_kv]\nb: 1\n").kv_tokens) == "b");
}

TEST_CASE("labels that say something else than the setting are warned of") {
  CHECK(told("tokens = a b\nQ = X\nK = X\n[X]\nx: 1\ny: 2\n") ==
        "t.qkv:1:1: warning: tokens says 'a' where [X], line 4 says 'x'; tokens is used\n"
        "   1 | tokens = a b\n"
        "     | ^^^^^^\n");
}

TEST_CASE("the number of labels fits") {
  CHECK(told("tokens = a b c\n" + kQK) ==
        "t.qkv:1:10: error: tokens names 3, but the number of queries is 2\n"
        "   1 | tokens = a b c\n"
        "     |          ^^^^^\n");
  CHECK(messages("kv_tokens = a\n" + kQK) == "error: kv_tokens names 1, but the number of keys is 2\n");
  CHECK(messages("tokens = a \"b\n" + kQK) == "error: the quote is never closed on this line\n");
}

// ---- settings ----

TEST_CASE("a title keeps what elsewhere would begin a comment") {
  CHECK(problem("title = # 3, by hand\n" + kQK).title == "# 3, by hand");
  CHECK(problem("title = % of attention\nsource=#7\n" + kQK).title == "% of attention");
  CHECK(problem("title = 100 % # attention\n" + kQK).title == "100 % # attention");
  CHECK(messages("title =\n" + kQK) == "error: 'title' has no value\n");
  CHECK(messages("mask = # causal\n" + kQK) == "error: 'mask' has no value\n");
}

TEST_CASE("every setting arrives in the problem") {
  const Problem p = problem(
      "title = T # 1\nsource = 论文 [2]\nscale = 0.5\ntemperature = 2\nsoftcap = 5\nsink_logit = -1\nalibi = "
      "1/4\n"
      "read = hard\nempty_row = nan\ndecimals = 2\nround = paper\nmask = causal window：2\n" +
      kQK);
  CHECK(p.title == "T # 1");
  CHECK(p.source == "论文 [2]");
  CHECK(scale_of(p) == "times 0.5");
  CHECK(p.temperature->text == "2");
  CHECK(p.softcap->text == "5");
  CHECK(p.sink_logits[0].text == "-1");
  CHECK(p.slopes[0].value == 0.25);
  CHECK(p.read == ReadKind::hard);
  CHECK(p.empty_row == EmptyRow::nan);
  CHECK(p.decimals == 2);
  CHECK(p.round == Rounding::paper);
  CHECK(settings_of(p) ==
        "scale = 0.5, softcap = 5, alibi = 1/4, mask = causal window:2, empty_row = nan, temperature = 2, "
        "sink_logit = -1, read = hard, decimals = 2, round = paper");
}

TEST_CASE("alibi = on is the slope of one head") {
  CHECK(problem("alibi = on\n" + kQK).slopes[0].text == "1/256");
  CHECK(problem("alibi = off\n" + kQK).slopes.empty());
  CHECK(messages("alibi = -1\n" + kQK) == "error: a slope is not negative\n");
}

TEST_CASE("a value that is not understood is told with what is allowed") {
  CHECK(told("read = sofd\nscale = 1/2x\ndecimals = 18\n" + kQK) ==
        "t.qkv:1:8: error: 'sofd' is not a value of 'read'\n"
        "   1 | read = sofd\n"
        "     |        ^^^^\n"
        "     = hint: did you mean 'soft'?\n"
        "t.qkv:2:9: error: '1/2x' is not a number\n"
        "   2 | scale = 1/2x\n"
        "     |         ^^^^\n"
        "     = hint: values of 'scale': 1/sqrt(d_k) | 1/d_k | none | a number\n"
        "t.qkv:3:12: error: 'decimals' takes a whole number from 0 to 17, not '18'\n"
        "   3 | decimals = 18\n"
        "     |            ^^\n");
  CHECK(told("temperature = 0\nmask =\n" + kQK) ==
        "t.qkv:1:15: error: 'temperature' must be positive, not 0\n"
        "   1 | temperature = 0\n"
        "     |               ^\n"
        "t.qkv:2:1: error: 'mask' has no value\n"
        "   2 | mask =\n"
        "     | ^^^^\n"
        "     = hint: values of 'mask': none | causal | window:w | window:L,R | prefix:N | padding:1,1,0 | "
        "segments:1,1,2 | sinks:N | global:1,5\n");
}

TEST_CASE("d_k must not contradict the shapes") {
  CHECK(problem("d_k = 2\n" + kQK).scale.d_k.text == "2");
  CHECK(told("d_k = 64\n" + kQK) ==
        "t.qkv:1:7: error: d_k = 64, but Q has 2 columns\n"
        "   1 | d_k = 64\n"
        "     |       ^^\n"
        "     = hint: for another divisor write scale = 1/sqrt(64)\n");
  CHECK(messages("scale = none\nd_k = 2\n" + kQK) == "warning: 'd_k' has no effect with scale = none\n");
}

TEST_CASE("a setting that lies before the start has no effect, and is not in the header") {
  const Reading r = read_text("mask = causal\ntemperature = 2\ndecimals = 1\n[weights]\n1\n");
  CHECK(r.messages() ==
        "warning: 'mask' has no effect: the calculation starts at [weights]\n"
        "warning: 'temperature' has no effect: the calculation starts at [weights]\n");
  CHECK(settings_of(*r.problem) == "decimals = 1");
}

TEST_CASE("a setting that says what is so anyway changes nothing") {
  CHECK(messages("rope = sideways\n" + kQK) == "error: 'sideways' is not a value of 'rope'\n");
  CHECK(problem("heads = 1\nrope = none\ntile = off\nlayers = 1\nphi = elu+1\n" + kQK).entry == Entry::qkv);
}

TEST_CASE("the table of keys holds no name twice and every row has both languages") {
  for (const Key& key : keys()) {
    CHECK(find_key(key.name) == &key);
    CHECK(std::string(key.meaning.zh) != "");
    CHECK(std::string(key.values) != "");
  }
  CHECK(find_key("tokns") == nullptr);
}

// ---- names ----

TEST_CASE("a misspelt name gets a suggestion") {
  CHECK(told("tokns = a b\n\n[Q]\n1\n[w_k]\n1\n") ==
        "t.qkv:1:1: error: unknown setting 'tokns'\n"
        "   1 | tokns = a b\n"
        "     | ^^^^^\n"
        "     = hint: did you mean 'tokens'?\n"
        "t.qkv:5:1: error: unknown section 'w_k'\n"
        "   5 | [w_k]\n"
        "     | ^^^^^\n"
        "     = hint: did you mean 'W_K'?\n");
  CHECK(told("X = 1\n" + kQK + "[mask_values]\n1\n[v0]\n1\n") ==
        "t.qkv:1:1: error: unknown setting 'X'\n"
        "   1 | X = 1\n"
        "     | ^\n"
        "     = hint: 'X' is a matrix: write [X] on a line of its own, and its rows below\n"
        "t.qkv:8:1: error: unknown section 'mask_values'\n"
        "   8 | [mask_values]\n"
        "     | ^^^^^^^^^^^^^\n"
        "     = hint: 'mask_values' is a setting: write 'mask_values = …' above the first section\n"
        "t.qkv:10:1: error: unknown section 'v0'\n"
        "  10 | [v0]\n"
        "     | ^^^^\n"
        "     = hint: a row of [V] that holds one symbol is written without brackets: v0\n");
}

TEST_CASE("what is given twice is told with both lines") {
  CHECK(told("scale = none\nscale = 1\n[Q]\n1\n[K]\n1\n[Q]\n1\n") ==
        "t.qkv:2:1: error: 'scale' is given twice: on line 1 and on line 2\n"
        "   2 | scale = 1\n"
        "     | ^^^^^\n"
        "t.qkv:7:1: error: [Q] is given twice: on line 3 and on line 7\n"
        "   7 | [Q]\n"
        "     | ^^^\n");
}

TEST_CASE("what stands outside its place is told with its place") {
  CHECK(told("mask causal window:2\n1 0\n0 1\n[Q]\n1\n[K]\n1\nmask = causal\n") ==
        "t.qkv:1:1: error: '=' is missing\n"
        "   1 | mask causal window:2\n"
        "     | ^^^^^^^^^^^^^^^^^^^^\n"
        "     = hint: did you mean 'mask = causal window:2'?\n"
        "t.qkv:2:1: error: numbers before the first section\n"
        "   2 | 1 0\n"
        "     | ^^^\n"
        "     = hint: put the name of the matrix on a line of its own above them, such as [Q]\n"
        "t.qkv:8:1: error: the setting 'mask' stands after a section\n"
        "   8 | mask = causal\n"
        "     | ^^^^^^^^^^^^^\n"
        "     = hint: settings stand above the first section\n");
}

TEST_CASE("a setting below a section is the only fault it causes") {
  CHECK(messages("[Q]\n1 0\nK = Q\n") == "error: the setting 'K' stands after a section\n");
}

TEST_CASE("a matrix pasted above all sections is asked to stand below its name") {
  CHECK(told("K = [[1, 0],\n     [0, 1]]\n") ==
        "t.qkv:1:5: error: 'K' names another matrix (X, X_kv, Q, K or V), not '[[1, 0],'\n"
        "   1 | K = [[1, 0],\n"
        "     |     ^^^^^^^^\n"
        "     = hint: a matrix itself is written below [K], on lines of its own\n"
        "t.qkv:2:6: error: numbers before the first section\n"
        "   2 |      [0, 1]]\n"
        "     |      ^^^^^^^\n"
        "     = hint: put the name of the matrix on a line of its own above them, such as [Q]\n");
}

TEST_CASE("a header that is not quite one does not hide the rows above it") {
  CHECK(told("[Q]\n1\n[K\n1\n2\n[ V ]\n1\n[W_O] 1\n") ==
        "t.qkv:3:1: error: the section name has no closing ']'\n"
        "   3 | [K\n"
        "     | ^^\n"
        "     = hint: a section begins with its name alone on a line, as in [Q]\n"
        "t.qkv:6:1: error: a section name has no spaces around it\n"
        "   6 | [ V ]\n"
        "     | ^^^^^\n"
        "     = hint: a section begins with its name alone on a line, as in [Q]\n"
        "t.qkv:8:1: error: a section name stands alone on its line\n"
        "   8 | [W_O] 1\n"
        "     | ^^^^^^^\n"
        "     = hint: a section begins with its name alone on a line, as in [Q]\n");
}

TEST_CASE("all faults of a file are told in one run, in the order of its lines") {
  CHECK(messages("tokns = a\nread = sofd\n[Q]\n1 O\n2\n[K]\n1e999 1\n1 nan\n[zz]\n1\n") ==
        "error: unknown setting 'tokns'\n"
        "error: 'sofd' is not a value of 'read'\n"
        "error: 'O' is not a number\n"
        "error: row 2 of [Q] has 1 number, but row 1 has 2\n"
        "error: '1e999' is too large: a double ends at about 1.8e308\n"
        "error: 'nan' (not a number) cannot be calculated with\n"
        "error: unknown section 'zz'\n");
}

TEST_CASE("a file of noise is not told of without end") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "a" + std::to_string(i) + " = 1\n";
  const std::string said = messages(text);
  CHECK(std::count(said.begin(), said.end(), '\n') == 101);
  CHECK(said.ends_with("error: there are more errors; these were the first 100\n"));
}

// ---- expectations ----

TEST_CASE("an expectation has the shape of its step") {
  CHECK(problem("temperature = 2\n" + kQK + "[expect.max]\n1\n_\n[expect.tempered]\n1 2\n3 4\n")
            .expected.size() == 2);
  CHECK(told(kQK + "[V]\n1\n2\n[expect.output]\n1 2\n") ==
        "t.qkv:10:1: error: [expect.output] is 1×2, but output is 2×1\n"
        "  10 | [expect.output]\n"
        "     | ^^^^^^^^^^^^^^^\n");
}

TEST_CASE("an expectation of a step that is not there says why") {
  CHECK(messages(kQK + "[expect.masked]\n1 2\n3 4\n[expect.Y]\n1\n") ==
        "error: this problem has no step 'masked': there is no mask and no bias\n"
        "error: this problem has no step 'Y': [W_O] is not given\n");
  CHECK(messages("[weights]\n1\n[V]\n2\n[expect.scores]\n1\n") ==
        "error: this problem has no step 'scores': the calculation starts at [weights]\n");
  // Not that it starts later: these ways have no such step at all.
  CHECK(messages("tile = 1x1\n" + kQK + "[V]\n1\n2\n[expect.weights]\n1 2\n3 4\n") ==
        "error: this problem has no step 'weights': with tile the softmax goes over the keys tile by tile, "
        "and no "
        "row of weights is ever whole\n");
  CHECK(messages("method = linear\n" + kQK + "[V]\n1\n2\n[expect.exp]\n1 2\n3 4\n") ==
        "error: this problem has no step 'exp': method is linear, which has no softmax\n");
  CHECK(messages(kQK + "[expect.output]\n1\n2\n") ==
        "error: 'output' is symbolic here, and cannot be compared with numbers\n");
  CHECK(told(kQK + "[expect.wieghts]\n1\n2\n") ==
        "t.qkv:7:1: error: unknown step 'wieghts'\n"
        "   7 | [expect.wieghts]\n"
        "     | ^^^^^^^^^^^^^^^^\n"
        "     = hint: did you mean 'weights'?\n");
}

TEST_CASE("weights that are no distribution are warned of and used") {
  const Reading r =
      read_text("tokens = a b c\n[weights]\n0.05 0.10 0.75 0.10\n0.5 0.5 0.1 0\n1.5 -0.5 0 0\n");
  CHECK(r.told() ==
        "t.qkv:2:1: warning: these rows of weights do not sum to 1: b; they are used as they stand\n"
        "   2 | [weights]\n"
        "     | ^^^^^^^^^\n"
        "t.qkv:5:5: warning: a negative weight; it is used as it stands\n"
        "   5 | 1.5 -0.5 0 0\n"
        "     |     ^^^^\n");
  CHECK(r.problem.has_value());
}

// ---- options ----

TEST_CASE("matrix files stand alone, or take the place of a section") {
  const SourcePtr q = source("q.txt", "1 2\n");
  const SourcePtr k = source("k.txt", "3 4\n5 6\n");
  const Reading alone = read({nullptr, {{"Q", q}, {"K", k}}, {{"mask", "causal"}}});
  REQUIRE(alone.problem.has_value());
  CHECK(cells((*alone.problem)["K"]) == "3 4 ; 5 6");
  CHECK(alone.problem->file == "");
  const Reading instead = read({source("t.qkv", "K = Q\n[Q]\n7 7\n"), {{"Q", q}, {"K", k}}, {}});
  REQUIRE(instead.problem.has_value());
  CHECK(cells((*instead.problem)["Q"]) == "1 2");
  CHECK(cells((*instead.problem)["K"]) == "3 4 ; 5 6");
}

TEST_CASE("errors of options name the option or its file") {
  const SourcePtr q = source("q.txt", "1 2\n3\n");
  const SourcePtr k = source("k.txt", "3 4 5\n");
  CHECK(read({nullptr, {{"Q", q}, {"K", k}}, {{"mask_values", "hyde"}, {"sacle", "1"}}}).told() ==
        "qkv: error: --mask-values: 'hyde' is not a value of 'mask_values'\n"
        "     = hint: did you mean 'hide'?\n"
        "qkv: error: --sacle: unknown setting 'sacle'\n"
        "     = hint: did you mean 'scale'?\n"
        "q.txt:2:1: error: row 2 of Q has 1 number, but row 1 has 2\n"
        "   2 | 3\n"
        "     | ^\n");
  CHECK(read({nullptr, {{"Q", source("q.txt", "1 2\n")}, {"K", k}}, {}}).told() ==
        "qkv: error: Q is 1×2 but K is 1×3: a dot product needs equal widths (d_k)\n"
        "     = hint: Q comes from q.txt; K from k.txt\n");
}

TEST_CASE("an option takes the place of the setting, right or wrong") {
  const Reading r = read({source("t.qkv", "decimals = many\n" + kQK), {}, {{"decimals", "3"}}});
  CHECK(r.told() == "");
  CHECK(r.problem->decimals == 3);
}

// ---- what is meant, and written in another way ----

TEST_CASE("the name of a mask under [mask] is told where it belongs, and nothing else is said") {
  const std::string q = "[Q]\n1 0\n0 1\n[K]\n1 0\n0 1\n";
  CHECK(told(q + "[mask]\n\ncausal  # look back\n") ==
        "t.qkv:9:1: error: 'causal' names a mask, and [mask] holds its matrix\n"
        "   9 | causal  # look back\n"
        "     | ^^^^^^\n"
        "     = hint: write 'mask = causal' above the first section\n");
  for (const std::string mask : {"none", "window:2", "causal window:2", "padding:1,1,0"}) {
    CAPTURE(mask);
    CHECK(messages(q + "[mask]\n" + mask + "\n") ==
          "error: '" + mask + "' names a mask, and [mask] holds its matrix\n");
  }
  CHECK(told("mask = causal，window:2\n" + q) ==
        "t.qkv:1:8: error: the parts of a mask are joined by spaces, not by ','\n"
        "   1 | mask = causal，window:2\n"
        "     |        ^^^^^^^^^^^^^^^^\n"
        "     = hint: write 'mask = causal window:2'\n");
  CHECK(messages("mask = window:1,0 causal\n" + q) == "");
}

TEST_CASE("a colon for '=' and other brackets around a section's name are told with what to write") {
  const std::string q = "[Q]\n1 0\n0 1\n[K]\n1 0\n0 1\n";
  for (const std::string line : {"mask: causal", "mask：causal"}) {
    CAPTURE(line);
    CHECK(messages(line + "\n" + q) == "error: '=' is missing\n");
    CHECK(told(line + "\n" + q).find("hint: did you mean 'mask = causal'?\n") != std::string::npos);
  }
  CHECK(messages("t1: 1 0\n" + q) == "error: numbers before the first section\n");
  CHECK(told("【Q】\n1 0\n0 1\n【K】\n1 0\n0 1\n") ==
        "t.qkv:1:1: error: the name of a section stands in [ ]\n"
        "   1 | 【Q】\n"
        "     | ^^^^^\n"
        "     = hint: write [Q]\n");
}

TEST_CASE("a setting may hold a root as cells do") {
  CHECK(scale_of(problem("scale = 1/√2\n[Q]\n1 0\n[K]\n1 0\n")) == "times 1/sqrt(2)");
  CHECK(scale_of(problem("scale = ½\n[Q]\n1 0\n[K]\n1 0\n")) == "times 1/2");
}

TEST_CASE("what a setting takes is said in the language of the message") {
  const std::string said = told("scale = inf\nscale = 2\ntokens=\n[Q]\n1 0\n[K]\n1 0\n", Language::zh);
  CHECK(said.find("“scale”的取值：1/sqrt(d_k) | 1/d_k | none | 数\n") != std::string::npos);
  CHECK(said.find("“tokens”的取值：标签，用空格隔开\n") != std::string::npos);
  CHECK(said.find("“scale”给出了两次：第 1 行和第 2 行\n") != std::string::npos);
}

// Several heads are several problems of one head, cut out by columns and joined again.

#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

Given columns_of(const Given& wide, Index from, Index count) {
  Given part{.rows = wide.rows, .cols = count, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
  for (Index i = 0; i < wide.rows; ++i) {
    for (Index j = from; j < from + count; ++j) part.cells.push_back(wide.at(i, j));
  }
  return part;
}

Given beside(const Given& a, const Given& b) {
  Given both{
      .rows = a.rows, .cols = a.cols + b.cols, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < both.cols; ++j) both.cells.push_back(j < a.cols ? a.at(i, j) : b.at(i, j - a.cols));
  }
  return both;
}

struct Wide {
  Index heads;
  Index kv_heads;
  Index d_k;
  Index d_v;
  Problem problem;
};

Wide random_wide(Random& random) {
  Wide w{.heads = random.whole(1, 3),
         .kv_heads = random.whole(1, 2),
         .d_k = random.whole(1, 3),
         .d_v = random.whole(1, 3),
         .problem = {}};
  w.heads *= w.kv_heads;
  if (w.heads == 1) w.heads = 2;
  const Index n = random.whole(1, 4);
  const Index m = random.whole(1, 4);
  w.problem = problem_at(Entry::qkv, {{"Q", rows_of(random.matrix(n, w.heads * w.d_k))},
                                      {"K", rows_of(random.matrix(m, w.kv_heads * w.d_k))},
                                      {"V", rows_of(random.matrix(m, w.kv_heads * w.d_v))}});
  Problem& p = w.problem;
  p.heads = w.heads;
  p.kv_heads = w.kv_heads;
  p.scale.d_k = whole_number(w.d_k);
  if (random.whole(0, 1) == 1) forbid(p, causal_mask(n, m, p.align));
  for (Index h = 0; h < w.heads; ++h) {
    p.slopes.push_back(exactly(static_cast<double>(random.whole(0, 4)) / 8));
    p.sink_logits.push_back(exactly(static_cast<double>(random.whole(-4, 4)) / 4));
  }
  if (random.whole(0, 1) == 1) p.slopes.clear();
  if (random.whole(0, 1) == 1) p.sink_logits.clear();
  return w;
}

Problem one_head(const Wide& w, Index h) {
  const Index g = h / (w.heads / w.kv_heads);
  Problem p = w.problem;
  p.heads = p.kv_heads = 1;
  p.given["Q"] = columns_of(p["Q"], h * w.d_k, w.d_k);
  p.given["K"] = columns_of(p["K"], g * w.d_k, w.d_k);
  p.given["V"] = columns_of(p["V"], g * w.d_v, w.d_v);
  const auto own = [&](std::vector<Number>& list) {
    if (!list.empty()) list = {list[static_cast<std::size_t>(h)]};
  };
  own(p.slopes);
  own(p.sink_logits);
  return p;
}

const std::string kTwoHeads =
    "heads = 2\n[Q]\n1 0 1 2\n0 2 1 0\n1 1 0 0\n[K]\n1 1 0 1\n0 1 2 0\n2 0 1 1\n"
    "[V]\n1 0 2 1\n0 2 1 0\n3 1 0 1\n";

}  // namespace

TEST_CASE("each head is the one-head problem of its columns, and concat stands them side by side") {
  QKV_SAY_SEED();
  Random random(51);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const Wide w = random_wide(random);
    const Trace all = traced(w.problem);
    for (Index h = 0; h < w.heads; ++h) {
      const Trace one = traced(one_head(w, h));
      const std::string prefix = "h" + std::to_string(h + 1) + ".";
      for (const Node& node : one.plan().nodes) {
        if (node.name() == "K" || node.name() == "V" || node.name() == "M") continue;
        INFO("step ", prefix, node.id);
        CHECK(apart(value(all, prefix + node.id), value(one, node.id), 0) == "");
        CHECK(shown(all, prefix + node.id, 3) == shown(one, node.id, 3));
      }
      CHECK(apart(value(all, "concat").middleCols(h * w.d_v, w.d_v), value(one, "output"), 0) == "");
    }
  }
}

TEST_CASE("sharing keys and values is the same as repeating them") {
  QKV_SAY_SEED();
  Random random(52);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    Wide w = random_wide(random);
    const Trace shared = traced(w.problem);
    Problem p = w.problem;
    for (const auto& [name, width] : {std::pair{"K", w.d_k}, {"V", w.d_v}}) {
      Given repeated = columns_of(w.problem[name], 0, 0);
      for (Index h = 0; h < w.heads; ++h) {
        repeated = beside(repeated, columns_of(w.problem[name], h / (w.heads / w.kv_heads) * width, width));
      }
      p.given[name] = repeated;
    }
    p.kv_heads = p.heads;
    CHECK(apart(value(shared, "concat"), value(traced(p), "concat"), 0) == "");
  }
}

TEST_CASE("a dropped head leaves zeros in its place, and the distance is that of the rows") {
  const Trace trace = traced(problem("drop_heads = 2\n" + kTwoHeads + "[W_O]\n1 0\n0 1\n1 0\n0 2\n"));
  const Matrix& concat = value(trace, "concat");
  CHECK(concat.rightCols(2).isZero(0));
  CHECK(apart(concat.leftCols(2), value(trace, "h1.output"), 0) == "");
  const Matrix moved = value(trace, "whole.Y") - value(trace, "Y");
  // W_O keeps the columns of head 2, the second one doubled.
  Matrix expected = value(trace, "h2.output");
  expected.col(1) *= 2;
  CHECK(apart(moved, expected, 1e-15) == "");
  CHECK(apart(value(trace, "distance"), expected.rowwise().norm(), 1e-15) == "");
}

TEST_CASE("without the transpose a head holds pieces of several tokens") {
  // The example of base H: the flat list 1 0 1 2 0 2 1 0 1 1 0 0 in two halves of three rows.
  const Trace trace = traced(problem(kTwoHeads));
  CHECK(apart(value(trace, "h1.Q"), matrix("1 0 ; 0 2 ; 1 1"), 0) == "");
  CHECK(apart(value(trace, "h1.Q.view"), matrix("1 0 ; 1 2 ; 0 2"), 0) == "");
  CHECK(apart(value(trace, "h2.Q.view"), matrix("1 0 ; 1 1 ; 0 0"), 0) == "");
  const Matrix& view = value(trace, "concat.view");
  CHECK(apart(view.row(0).leftCols(2), value(trace, "h1.output").row(0), 0) == "");
  CHECK(apart(view.row(0).rightCols(2), value(trace, "h1.output").row(1), 0) == "");
  CHECK(apart(view.row(2).rightCols(2), value(trace, "h2.output").row(2), 0) == "");
}

TEST_CASE("a head's own mask and bias act on that head alone, on top of what all heads have") {
  const std::string common = "[mask]\n1 1 0\n1 1 1\n1 0 1\n[bias]\n0 1 0\n-inf 0 2\n0 0 1/2\n";
  const std::string own =
      "[h1.mask]\n0 -inf 0\n0 0 0\n0 0 -inf\n[h1.bias]\n1 0 0\n0 0.5 -1\n0 0 3\n"
      "[h2.bias]\n0 0 0\n0 0 -inf\n2 0 0\n";
  // Each head as a problem of its own: masks put together and biases added by hand.
  const std::string alone[] = {
      "[Q]\n1 0\n0 2\n1 1\n[K]\n1 1\n0 1\n2 0\n[V]\n1 0\n0 2\n3 1\n"
      "[mask]\n1 0 0\n1 1 1\n1 0 0\n[bias]\n1 1 0\n-inf 0.5 1\n0 0 3.5\n",
      "[Q]\n1 2\n1 0\n0 0\n[K]\n0 1\n2 0\n1 1\n[V]\n2 1\n1 0\n0 1\n"
      "[mask]\n1 1 0\n1 1 1\n1 0 1\n[bias]\n0 1 0\n-inf 0 -inf\n2 0 1/2\n"};
  for (const std::string settings : {"", "tile = 2x2\n", "alibi = 1/2\n", "mask = causal\ndecode = yes\n"}) {
    CAPTURE(settings);
    const std::string for_two = settings.starts_with("alibi") ? "alibi = 1/2 1/2\n" : settings;
    const Trace all = traced(problem(for_two + kTwoHeads + common + own));
    for (const Index h : {0, 1}) {
      const Trace one = traced(problem(settings + alone[h]));
      CHECK(apart(value(all, "concat").middleCols(2 * h, 2), value(one, "output"), 1e-15) == "");
    }
  }
}

TEST_CASE("with one head, h1.mask is the mask") {
  const std::string qk = "[Q]\n1\n1\n[K]\n1\n1\n";
  CHECK(pattern(problem(qk + "[h1.mask]\n1 0\n1 1\n").mask) == "10 ; 11");
  CHECK(messages(qk + "[mask]\n1 0\n1 1\n[h1.mask]\n1 0\n1 1\n") ==
        "error: mask is given twice: as a whole and head by head\n");
}

TEST_CASE("a layer may have masks of single heads") {
  const std::string text =
      "layers = 2\nheads = 2\nQ = X\nK = X\nV = X\n[X]\n1 0\n0 1\n[L2.h2.mask]\n1 0\n1 1\n";
  const Problem p = problem(text);
  CHECK(p.stack[0].head_masks.empty());
  CHECK(pattern(p.stack[1].allowed_to(0)) == "all");
  CHECK(pattern(p.stack[1].allowed_to(1)) == "10 ; 11");
}

TEST_CASE("a cached key that one head still sees stays for all") {
  // Head 1 sees itself alone, head 2 all that came before: nothing leaves the cache.
  const Trace trace =
      traced(problem("decode = yes\nK = Q\nheads = 2\n[Q]\n1 0\n0 1\n1 1\n[V]\n1 0\n0 1\n2 2\n"
                     "[h1.mask]\n1 0 0\n0 1 0\n0 0 1\n"));
  CHECK_FALSE(trace.plan().find("t3.h1.K.kept").has_value());
  CHECK(apart(value(trace, "concat").col(0), matrix("1 ; 0 ; 2"), 0) == "");
}

TEST_CASE("what cannot be cut into heads is refused, each fault with its reason") {
  CHECK(messages("heads = 3\n[Q]\n1 2 3 4\n[K]\n1 2 3 4\n") ==
        "error: several heads need [V]: symbols in its place cannot be cut into heads\n"
        "error: the 4 columns of Q cannot be cut into 3 heads\n");
  CHECK(messages("heads = 3\nkv_heads = 2\n[Q]\n1 2 3\n[K]\n1 2\n[V]\n1 2\n") ==
        "error: 3 heads cannot share 2 heads of keys and values evenly\n");
  CHECK(messages("heads = 2\nkv_heads = 1\n[Q]\n1 2 3 4\n[K]\n1 2 3\n[V]\n1\n") ==
        "error: Q has 2 heads of width 2, K has 1 head of width 3: a dot product needs equal widths (d_k)\n");
  CHECK(messages("heads = 2\nsink_logit = 1\nalibi = 1 2 3\ndrop_heads = 3\n" + kTwoHeads.substr(10)) ==
        "error: 'sink_logit' has 1 number for 2 heads\n"
        "error: 'alibi' has 3 numbers for 2 heads\n"
        "error: there is no head 3: the heads are 1 to 2\n");
  CHECK(
      messages("heads = 2\n[scores]\n1\n[V]\n1 2\n")
          .starts_with(
              "error: heads = 2, but the calculation starts at [scores], which is the table of one head\n"));
  CHECK(messages("heads = 0\n" + kTwoHeads.substr(10)).find("error") != std::string::npos);
}

TEST_CASE("the usual slopes of alibi are 2^(-8h/heads)") {
  const auto slopes = [](const std::string& heads, int width) {
    std::string row;
    for (int i = 0; i < width; ++i) row += "1 ";
    std::string text;
    for (const Number& slope :
         problem("heads = " + heads + "\nalibi = on\n[Q]\n" + row + "\n[K]\n" + row + "\n[V]\n" + row).slopes)
      text += slope.text + " ";
    return text;
  };
  CHECK(slopes("2", 2) == "1/16 1/256 ");
  CHECK(slopes("8", 8) == "1/2 1/4 1/8 1/16 1/32 1/64 1/128 1/256 ");
  CHECK(slopes("16", 16).starts_with("sqrt(2)/2 1/2 sqrt(2)/4 1/4 "));
  CHECK(messages("heads = 3\nalibi = on\n[Q]\n1 2 3\n[K]\n1 2 3\n[V]\n1 2 3\n") ==
        "error: the slopes 2^(-8h/3) are usual for 1, 2, 4, 8 and 16 heads only\n");
}

}  // namespace qkv::test

// Positions: rotations of Q and K, vectors added to X, the order of tokens, and the rows of a cache.

#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

const std::string kThree =
    "[Q]\n1 0 2 1\n0 1 1 -1\n2 1 0 1\n[K]\n1 1 0 2\n0 2 1 0\n1 0 1 1\n[V]\n1 0\n0 1\n2 2\n";

}  // namespace

TEST_CASE("a pair turns by position / base^(2i/d): halves and neighbours") {
  // q = (1, 0, 2, 1) at position 2, base 10000: the angles are 2 and 2/100.
  //   halves      (1, 2) turned by 2, (0, 1) by 0.02
  //   neighbours  (1, 0) turned by 2, (2, 1) by 0.02
  const std::string one = "positions = 2\nkv_positions = 0\n[Q]\n1 0 2 1\n[K]\n0 1 1 2\n[V]\n1\n";
  const Trace half = traced(problem("rope = half\n" + one));
  CHECK(apart(value(half, "Q.rotated"), matrix("-2.234742 -0.019999 0.077004 0.999800"), 1e-6) == "");
  CHECK(apart(value(half, "Q.angles"), matrix("2 0.02"), 0) == "");
  CHECK(apart(value(half, "K.rotated"), matrix("0 1 1 2"), 0) == "");
  const Trace interleaved = traced(problem("rope = interleaved\n" + one));
  CHECK(apart(value(interleaved, "Q.rotated"), matrix("-0.416147 0.909297 1.979601 1.039797"), 1e-6) == "");
}

TEST_CASE("only the first rope_dims columns turn, by angles of their own width") {
  const Trace trace = traced(problem(
      "rope = half\nrope_dims = 2\npositions = 3\nkv_positions = 0\n[Q]\n1 0 2 1\n[K]\n0 1 1 2\n[V]\n1\n"));
  CHECK(apart(value(trace, "Q.rotated"), matrix("-0.9899924966 0.1411200081 2 1"), 1e-10) == "");
}

TEST_CASE("a score depends only on how far apart query and key stand") {
  const std::string rope = "rope = interleaved\nmask = causal\n";
  const Trace here = traced(problem(rope + "positions = 0 1 2\n" + kThree));
  const Trace there = traced(problem(rope + "positions = 1000 1001 1002\n" + kThree));
  for (const char* id : {"scores", "weights", "output"})
    CHECK(apart(value(here, id), value(there, id), 1e-15) == "");
  const Trace apart_by_two = traced(problem(rope + "positions = 0 2 4\n" + kThree));
  CHECK(apart(value(here, "scores"), value(apart_by_two, "scores"), 1e-3) != "");
}

TEST_CASE("each head turns by the same angles") {
  const Trace trace = traced(problem("heads = 2\nrope = half\n" + kThree));
  CHECK(apart(value(trace, "angles"), matrix("0 ; 1 ; 2"), 0) == "");
  CHECK(apart(value(trace, "h2.Q.rotated").row(1), matrix("1.3817732907 0.3011686789"), 1e-9) ==
        "");  // (1, -1) turned by 1
}

TEST_CASE("sinusoidal positions are sin and cos of position / 10000^(2i/d)") {
  const Trace trace = traced(problem("pos = sinusoidal\nQ = X\nK = X\nV = X\n[X]\n1 1 1 1\n0 0 0 0\n"));
  CHECK(apart(value(trace, "X.positioned"),
              matrix("1 2 1 2 ; 0.8414709848 0.5403023059 0.0099998333 0.9999500004"), 1e-10) == "");
  CHECK(apart(value(trace, "V"), value(trace, "X.positioned"), 0) == "");
}

TEST_CASE("learned positions are added row by row") {
  const Trace trace = traced(problem("Q = X\nK = X\nV = X\n[X]\n1 2\n3 4\n[P]\n0.5 0\n0 -1\n"));
  CHECK(apart(value(trace, "X.positioned"), matrix("1.5 2 ; 3 3"), 0) == "");
}

TEST_CASE("shuffled tokens take their outputs along, unless something knows the order") {
  const std::string qkv = "tokens = a b c\n" + kThree;
  const Trace plain = traced(problem(qkv));
  const Trace shuffled = traced(problem("order = 3 1 2\n" + qkv));
  CHECK(shuffled.plan()[node_named(shuffled.plan(), "output")].rows ==
        std::vector<std::string>{"c", "a", "b"});
  Matrix expected(3, 2);
  expected << value(plain, "output").row(2), value(plain, "output").row(0), value(plain, "output").row(1);
  CHECK(apart(value(shuffled, "output"), expected, 0) == "");
  for (const char* setting : {"mask = causal\n", "rope = half\n"}) {
    INFO("setting ", std::string(setting));
    const Trace before = traced(problem(setting + qkv));
    const Trace after = traced(problem(setting + ("order = 3 1 2\n" + qkv)));
    CHECK(apart(value(after, "output").row(0), value(before, "output").row(2), 1e-3) != "");
  }
}

TEST_CASE("with a cache the last row of a pass is that of the whole") {
  // Tokens count on from those of the cache, in `global` too.
  for (const std::string mask : {"causal", "causal window:1", "causal window:1 global:1",
                                 "causal window:1 global:3", "window:1 sinks:1"}) {
    CAPTURE(mask);
    const Trace whole = traced(problem("mask = " + mask + "\n" + kThree));
    const Trace last = traced(problem("mask = " + mask +
                                      "\n[Q]\n2 1 0 1\n[K]\n1 0 1 1\n[V]\n2 2\n"
                                      "[past_K]\n1 1 0 2\n0 2 1 0\n[past_V]\n1 0\n0 1\n"));
    CHECK(apart(value(last, "output"), value(whole, "output").row(2), 0) == "");
    CHECK(last.plan()[node_named(last.plan(), "weights")].cols ==
          std::vector<std::string>{"past1", "past2", "t1"});
  }
}

TEST_CASE("a query that the mask puts behind the keys is asked for its position, unless that is said") {
  const std::string later = "[Q]\n2 1\n[K]\n1 0\n0 1\n1 1\n[V]\n1\n2\n3\n";
  const std::string warning =
      "warning: the first query stands at position 2 of the keys, but is turned as position 0\n";
  CHECK(messages("rope = half\nmask = causal\n" + later) == warning);
  CHECK(messages("rope = half\nalibi = 0.5\n" + later) == warning);
  CHECK(messages("rope = half\n" + later) == "");
  CHECK(messages("rope = half\nmask = causal\npositions = 2\n" + later) == "");
  CHECK(messages("rope = half\nalibi = 0.5\npositions = 2\n" + later) == "");
  CHECK(messages("rope = half\nmask = causal\nalign = top-left\n" + later) == "");
}

TEST_CASE("what positions cannot be is refused with the reason") {
  CHECK(messages("rope = half\n[Q]\n1 2 3\n[K]\n1 2 3\n") == "error: 3 columns cannot turn in pairs\n");
  CHECK(messages("rope = half\nrope_dims = 6\n[Q]\n1 2\n[K]\n1 2\n") ==
        "error: rope_dims = 6, but a head is 2 wide\n");
  CHECK(messages("rope = half\npositions = 1 2\n[Q]\n1 2\n[K]\n1 2\n") ==
        "error: 'positions' has 2 numbers for 1 token\n");
  CHECK(messages("rope = half\n[scores]\n1\n") != "");
  CHECK(messages("order = 1 1 2\n" + kThree) ==
        "error: order names each of the 3 tokens once, by the numbers 1 to 3\n");
  CHECK(messages("[Q]\n1\n[K]\n1\n[V]\n1\n[past_K]\n1\n") ==
        "error: [past_K] needs [past_V]: the cache holds a key and a value per token\n");
  CHECK(messages("[Q]\n1\n[K]\n1\n[V]\n1\n[past_K]\n1\n2\n[past_V]\n1 2\n") ==
        "error: [past_V] has 1 row, but [past_K] has 2\n"
        "error: [past_V] is 2 wide, but V is 1\n");
  CHECK(messages("pos = sinusoidal\n[Q]\n1\n[K]\n1\n") ==
        "error: pos = sinusoidal is added to [X], which is not given\n");
}

}  // namespace qkv::test

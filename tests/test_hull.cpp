// In or out of the convex hull of the tokens: V = X against W_V.

#include <algorithm>
#include <cmath>

#include "reading.h"
#include "render/text.h"
#include "report/narrate.h"
#include "run/hull.h"
#include "support.h"

namespace qkv::test {
namespace {

// The points are X; the point looked at is what one key of weight 1 hands over.
Trace plane_of(const Matrix& points, const Matrix& looked_at) {
  Problem p =
      problem_at(Entry::x, {{"X", rows_of(points)}, {"W_Q", rows_of("1 ; 1")}, {"W_K", rows_of("1 ; 1")}});
  p.given["V"] = rows_of(looked_at);
  return traced(p);
}

std::optional<bool> is_inside(const Matrix& points, const Matrix& looked_at, Index row = 0) {
  Matrix padded = looked_at;
  padded.conservativeResize(points.rows(), Eigen::NoChange);
  for (Index i = looked_at.rows(); i < points.rows(); ++i) padded.row(i) = looked_at.row(0);
  const Trace trace = plane_of(points, padded);
  return lies_in_hull(trace, node_named(trace.plan(), "V"), row, node_named(trace.plan(), "X"));
}

double cross(const Matrix& m, Index a, Index b, double x, double y) {
  return (m(b, 0) - m(a, 0)) * (y - m(a, 1)) - (m(b, 1) - m(a, 1)) * (x - m(a, 0));
}

// Carathéodory: a point of the hull lies in a triangle, a segment or a point of it.  All numbers are eighths,
// so doubles are exact.
bool lies_in_some_triangle(const Matrix& m, double x, double y) {
  const auto is_in_box = [&](Index a, Index b, Index c) {
    const auto [left, right] = std::minmax({m(a, 0), m(b, 0), m(c, 0)});
    const auto [low, high] = std::minmax({m(a, 1), m(b, 1), m(c, 1)});
    return x >= left && x <= right && y >= low && y <= high;
  };
  for (Index a = 0; a < m.rows(); ++a) {
    for (Index b = 0; b < m.rows(); ++b) {
      for (Index c = 0; c < m.rows(); ++c) {
        const double p = cross(m, a, b, x, y);
        const double q = cross(m, b, c, x, y);
        const double r = cross(m, c, a, x, y);
        const bool is_on_one_side = (p >= 0 && q >= 0 && r >= 0) || (p <= 0 && q <= 0 && r <= 0);
        if (is_on_one_side && is_in_box(a, b, c)) return true;
      }
    }
  }
  return false;
}

std::string output_of(const std::string& text) {
  const Problem p = problem(text);
  const Trace trace = traced(p);
  About about;
  about.tokens = p.tokens;
  return render_text(narrate(trace, about, {}, {.decimals = 2, .steps = {"output"}}), {});
}

}  // namespace

TEST_CASE("the triangle of the article: corners, edges and the middle are inside, the rest is not") {
  const Matrix triangle = matrix("0 1 ; 1 1 ; 1 0");
  for (const char* inside : {"0 1", "1 1", "1 0", "0.5 0.5", "1 0.5", "0.75 0.75"}) {
    INFO(inside);
    CHECK(is_inside(triangle, matrix(inside)) == true);
  }
  for (const char* outside : {"0 0", "0.5 0.499", "1.001 0.5", "2 2", "-1 1"}) {
    INFO(outside);
    CHECK(is_inside(triangle, matrix(outside)) == false);
  }
}

TEST_CASE("a hull that is a segment or a single point") {
  const Matrix segment = matrix("0 0 ; 1 1 ; 3 3");
  CHECK(is_inside(segment, matrix("2 2")) == true);
  CHECK(is_inside(segment, matrix("2 2.001")) == false);
  CHECK(is_inside(segment, matrix("4 4")) == false);
  CHECK(is_inside(matrix("1 2 ; 1 2"), matrix("1 2")) == true);
  CHECK(is_inside(matrix("1 2 ; 1 2"), matrix("1 2.1")) == false);
  CHECK(is_inside(matrix("1 0 ; 1 2 ; 1 1"), matrix("1 0.5")) == true);
  CHECK(is_inside(matrix("1 0 ; 1 2 ; 1 1"), matrix("1 2.5")) == false);
}

TEST_CASE("random points lie in the hull exactly when they lie in a triangle of its points") {
  QKV_SAY_SEED();
  Random random(7601);
  int inside = 0;
  int outside = 0;
  for (int round = 0; round < 60; ++round) {
    const Index n = random.whole(1, 6);
    const Matrix points = random.matrix(n, 2, 1);
    const Matrix looked_at = random.matrix(n, 2, 1);
    for (Index i = 0; i < n; ++i) {
      const bool expected = lies_in_some_triangle(points, looked_at(i, 0), looked_at(i, 1));
      CHECK(is_inside(points, looked_at, i) == expected);
      ++(expected ? inside : outside);
    }
  }
  CHECK(inside > 20);
  CHECK(outside > 20);
}

TEST_CASE("outputs of V = X never leave the hull of X, whatever the weights") {
  QKV_SAY_SEED();
  Random random(7602);
  for (int round = 0; round < 15; ++round) {
    const Index d = random.whole(1, 2);
    Problem p = problem_at(Entry::x, {{"X", rows_of(random.matrix(random.whole(1, 5), d))},
                                      {"W_Q", rows_of(random.matrix(d, 2))},
                                      {"W_K", rows_of(random.matrix(d, 2))},
                                      {"W_V", rows_of("1")}});
    p.given.erase("W_V");
    p.same_as["V"] = "X";
    if (round % 2 == 0) forbid(p, random.mask(p["X"].rows, p["X"].rows));
    const Trace trace = traced(p);
    for (Index i = 0; i < p["X"].rows; ++i)
      CHECK(lies_in_hull(trace, node_named(trace.plan(), "output"), i, node_named(trace.plan(), "X")) ==
            true);
  }
}

TEST_CASE("an output exactly on the edge of the hull is inside it") {
  // Equal weights halve the way between two corners.
  const std::string text = output_of("K = Q\nV = X\n[X]\n0 0\n1/3 1\n[Q]\n0\n0\n");
  CHECK(text.find("Against the hull of the X rows: inside it: t1 t2.") != std::string::npos);
}

TEST_CASE("the hull is named after X where the values are its rows, and after V where they are not") {
  const std::string qkv = "mask = causal\nQ = X\nK = X\nV = X\n";
  const std::string x = "[X]\n0 1\n1 1\n1 0\n";
  const auto hulls = [](const std::string& text) {
    std::string names;
    for (std::size_t at = 0; (at = text.find("hull of the ", at)) != std::string::npos; ++at) {
      const std::size_t from = at + std::string_view("hull of the ").size();
      names += text.substr(from, text.find(" rows", from) - from) + " ";
    }
    return names;
  };
  CHECK(hulls(output_of(qkv + x)) == "X X ");  // what is told of its bounds, and of each row
  CHECK(hulls(output_of("decode = yes\nprefill = 3\n" + qkv + x)) == "X ");
  CHECK(hulls(output_of("layers = 2\n" + qkv + x)) == "X X L2.V ");
  CHECK(hulls(output_of("Q = X\nK = X_kv\nV = X_kv\n[X_kv]\n1 2\n" + x)) == "X_kv X_kv ");
  CHECK(hulls(output_of("[Q]\n1\n[K]\n1\n[V]\n1\n")) == "V ");
}

TEST_CASE("the trace says what an output is made of, and whether W_V took it out of the hull of X") {
  const std::string text = output_of("Q = X\nK = X\n[X]\n0 1\n1 1\n1 0\n[W_V]\n2 -1\n0 3\n");
  CHECK(text.find("output[t1] = 0.40·V[t1] + 0.40·V[t2] + 0.20·V[t3]\n") != std::string::npos);
  CHECK(text.find("which V = X could not leave: outside it: t1 t2 t3.") != std::string::npos);
  const std::string line = output_of("Q = X\nK = X\n[X]\n1\n2\n[W_V]\n0.75\n");
  CHECK(line.find("inside it: t1 t2") != std::string::npos);
}

TEST_CASE("values of another width than the tokens are not compared with them") {
  CHECK(output_of("Q = X\nK = X\n[X]\n0 1\n1 1\n[W_V]\n2\n1\n").find("Against") == std::string::npos);
  CHECK(output_of("Q = X\nK = X\nV = X\n[X]\n0 1 1\n1 1 0\n").find("Against") == std::string::npos);
}

}  // namespace qkv::test

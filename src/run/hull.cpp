// The hull of points in a plane is found by Andrew's monotone chain: sorted from left to right, points where
// the way does not turn left are dropped, once below and once above.  A point is inside when it lies to the
// right of no edge, and within the smallest and largest coordinates, which settles hulls that are a segment
// or one point.

#include "run/hull.h"

#include <algorithm>
#include <vector>

#include "base/interval.h"
#include "run/proof.h"

namespace qkv {
namespace {

using Sign = std::optional<int>;

// Intervals decide nearly everything; exact values the points on an edge.
class Plane {
 public:
  Plane(const Trace& trace, NodeId points) : proof_(trace.proof()), points_(points) {}

  // Of coordinate c of a place, less that of another.
  Sign difference(const CellPlace& a, const CellPlace& b) {
    const PrecisionScope precision(Proof::kFirstPrecision);
    if (const Sign sign = certain_sign(Interval(proof_.enclosure(a) - proof_.enclosure(b)))) return sign;
    return compare(proof_.exact(a), proof_.exact(b));
  }

  // > 0 when p lies to the left of the way from vertex a to vertex b.
  Sign turn(Index a, Index b, NodeId p, Index row) {
    const PrecisionScope precision(Proof::kFirstPrecision);
    const auto enclosed = [&](NodeId node, Index r, Index c) { return proof_.enclosure({node, r, c}); };
    if (const Sign sign = certain_sign(cross<Interval>(enclosed, a, b, p, row))) return sign;
    const auto exact = [&](NodeId node, Index r, Index c) { return proof_.exact({node, r, c}); };
    return compare(cross<Exact>(exact, a, b, p, row), Exact(0));
  }

 private:
  static Sign certain_sign(const Interval& x) {
    if (certainly_exceeds(x, Interval(0))) return 1;
    if (certainly_exceeds(Interval(0), x)) return -1;
    return std::nullopt;
  }

  template <class T, class At>
  T cross(At at, Index a, Index b, NodeId p, Index row) const {
    const T x = at(points_, a, 0);
    const T y = at(points_, a, 1);
    const T left = T(T(at(points_, b, 0) - x) * T(at(p, row, 1) - y));
    const T right = T(T(at(points_, b, 1) - y) * T(at(p, row, 0) - x));
    return T(left - right);
  }

  Proof& proof_;
  NodeId points_;
};

// One half of the hull, along `order`; nullopt when a turn cannot be decided.
std::optional<std::vector<Index>> chain(Plane& plane, NodeId points, const std::vector<Index>& order) {
  std::vector<Index> hull;
  for (const Index next : order) {
    while (hull.size() > 1) {
      const Sign turn = plane.turn(hull[hull.size() - 2], hull.back(), points, next);
      if (!turn) return std::nullopt;
      if (*turn > 0) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

// From left to right, and upwards where two stand above one another.
std::optional<std::vector<Index>> sorted(Plane& plane, NodeId points, Index count) {
  std::vector<Index> order;
  bool is_decided = true;
  for (Index next = 0; next < count; ++next) {
    std::size_t at = 0;
    for (; at < order.size(); ++at) {
      const Sign x = plane.difference({points, next, 0}, {points, order[at], 0});
      const Sign y = plane.difference({points, next, 1}, {points, order[at], 1});
      is_decided = is_decided && x && y;
      if (x.value_or(0) < 0 || (x == 0 && y.value_or(0) < 0)) break;
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), next);
  }
  if (!is_decided) return std::nullopt;
  return order;
}

// Whether coordinate c lies between the smallest and the largest of the points.
std::optional<bool> lies_between(Plane& plane, NodeId point, Index row, NodeId points, Index count, Index c) {
  bool is_above_one = false;
  bool is_below_one = false;
  bool is_decided = true;
  for (Index i = 0; i < count; ++i) {
    const Sign sign = plane.difference({point, row, c}, {points, i, c});
    is_decided = is_decided && sign;
    is_above_one = is_above_one || sign.value_or(-1) >= 0;
    is_below_one = is_below_one || sign.value_or(1) <= 0;
  }
  if (is_above_one && is_below_one) return true;
  return is_decided ? std::optional(false) : std::nullopt;
}

}  // namespace

std::optional<bool> lies_in_hull(const Trace& trace, NodeId point, Index row, NodeId points) {
  const Shape shape = trace.plan()[points].shape;
  Plane plane(trace, points);
  for (Index c = 0; c < shape.cols; ++c) {
    const auto is_between = lies_between(plane, point, row, points, shape.rows, c);
    if (!is_between || !*is_between) return is_between;
  }
  if (shape.cols == 1) return true;

  auto order = sorted(plane, points, shape.rows);
  if (!order) return std::nullopt;
  const auto below = chain(plane, points, *order);
  std::reverse(order->begin(), order->end());
  const auto above = chain(plane, points, *order);
  if (!below || !above) return std::nullopt;
  bool is_decided = true;
  for (const std::vector<Index>& half : {*below, *above}) {
    for (std::size_t v = 0; v + 1 < half.size(); ++v) {
      const Sign turn = plane.turn(half[v], half[v + 1], point, row);
      if (turn && *turn < 0) return false;
      is_decided = is_decided && turn;
    }
  }
  return is_decided ? std::optional(true) : std::nullopt;
}

}  // namespace qkv

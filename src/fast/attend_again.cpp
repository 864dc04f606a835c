#include "fast/attend_again.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace qkv::fast {
namespace {

using namespace double_double;

// Of 16 bytes, which every processor with vectors has.
typedef double Vector __attribute__((vector_size(16)));
typedef std::uint64_t VectorBits __attribute__((vector_size(16)));
constexpr Index kLanes = 2;
using Vectors = DoubleDoubleOf<Vector>;

template <class T>
T load(const double* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

template <class T>
DoubleDoubleOf<T> load(const double* hi, const double* lo) {
  return {load<T>(hi), load<T>(lo)};
}

Vectors all(DoubleDouble x) { return {x.hi + Vector{}, x.lo + Vector{}}; }
DoubleDouble lane(const Vectors& x, Index i) { return {x.hi[i], x.lo[i]}; }

std::vector<KeyRun> keys_of(const Job<double>& job, Index query) {
  if (job.visible == nullptr) return {{0, job.keys}};
  const auto at = [&](Index i) {
    const std::size_t run = job.visible->first[static_cast<std::size_t>(i)];
    return job.visible->runs.begin() + static_cast<std::ptrdiff_t>(run);
  };
  return {at(query), at(query + 1)};
}

// The products of a query with kKeys keys, beginning with key j.  Several at once do not wait for one
// another.
template <Index kKeys>
std::array<DoubleDouble, kKeys> products(const AgainJob& job, Index query, Index j) {
  const Job<double>& upper = job.upper;
  const double* q_hi = upper.q + query * upper.q_stride;
  const double* q_lo = job.q + query * job.q_stride;
  const double* k_hi = upper.k + j * upper.k_stride;
  const double* k_lo = job.k + j * job.k_stride;
  std::array<Vectors, kKeys> sums{};
  Index r = 0;
  for (; r + kLanes <= upper.d_k; r += kLanes) {
    const Vectors q = load<Vector>(q_hi + r, q_lo + r);
    for (Index i = 0; i < kKeys; ++i) {
      const Vectors k = load<Vector>(k_hi + i * upper.k_stride + r, k_lo + i * job.k_stride + r);
      Vectors& sum = sums[static_cast<std::size_t>(i)];
      sum = add(sum, multiply(q, k));
    }
  }
  std::array<DoubleDouble, kKeys> result{};
  for (Index i = 0; i < kKeys; ++i) {
    const Vectors& sum = sums[static_cast<std::size_t>(i)];
    DoubleDouble total = add(lane(sum, 0), lane(sum, 1));
    if (r < upper.d_k) {
      const DoubleDouble q{q_hi[r], q_lo[r]};
      const DoubleDouble k{k_hi[i * upper.k_stride + r], k_lo[i * job.k_stride + r]};
      total = add(total, multiply(q, k));
    }
    result[static_cast<std::size_t>(i)] = total;
  }
  return result;
}

DoubleDouble adjusted(const AgainJob& job, Index query, Index j, DoubleDouble score) {
  const Job<double>& upper = job.upper;
  if (upper.scale == Job<double>::Scale::divide) score = divide(score, job.by);
  if (upper.scale == Job<double>::Scale::multiply) score = multiply(score, job.by);
  if (upper.slope) {
    const auto distance = static_cast<double>(std::abs(query + upper.align - j));
    score = add(score, negated(multiply(job.slope, {distance, 0})));
  }
  return upper.temperature ? divide(score, job.temperature) : score;
}

// The sum of weight · value over the keys for so many vectors of components from the first on; T: one vector,
// or a single number.
template <class T, Index kCount>
void read(const AgainJob& job, const std::vector<KeyRun>& keys, const AgainRoom& room, Index first,
          std::array<DoubleDoubleOf<T>, kCount>& sums) {
  constexpr Index kWidth = sizeof(T) / sizeof(double);
  std::size_t at = 0;
  for (const KeyRun& run : keys) {
    const double* hi = job.upper.v + run.begin * job.upper.v_stride + first;
    const double* lo = job.v + run.begin * job.v_stride + first;
    for (Index j = run.begin; j < run.end; ++j, ++at) {
      const DoubleDoubleOf<T> weight{T{} + room.hi[at], T{} + room.lo[at]};
      for (Index c = 0; c < kCount; ++c) {
        DoubleDoubleOf<T>& sum = sums[static_cast<std::size_t>(c)];
        sum = add(sum, multiply(weight, load<T>(hi + c * kWidth, lo + c * kWidth)));
      }
      hi += job.upper.v_stride;
      lo += job.v_stride;
    }
  }
}

}  // namespace

// As on paper, but that the sum divides the result and not each weight.  A rounding the less.
void attend_again(const AgainJob& job, Index query, DoubleDouble* output, AgainRoom& room) {
  const Job<double>& upper = job.upper;
  const std::vector<KeyRun> keys = keys_of(upper, query);
  room.hi.clear();
  room.lo.clear();
  std::optional<DoubleDouble> most = upper.sink ? std::optional(job.sink) : std::nullopt;
  const auto take = [&](Index j, DoubleDouble product) {
    const DoubleDouble score = adjusted(job, query, j, product);
    if (!most || exceeds(score, *most)) most = score;
    room.hi.push_back(score.hi);
    room.lo.push_back(score.lo);
  };
  for (const KeyRun& run : keys) {
    constexpr Index kAtOnce = 4;
    Index j = run.begin;
    for (; j + kAtOnce <= run.end; j += kAtOnce) {
      const auto several = products<kAtOnce>(job, query, j);
      for (Index i = 0; i < kAtOnce; ++i) take(j + i, several[static_cast<std::size_t>(i)]);
    }
    for (; j < run.end; ++j) take(j, products<1>(job, query, j)[0]);
  }

  DoubleDouble sum{0, 0};
  if (upper.sink) sum = double_double::exp<double, std::uint64_t>(add(job.sink, negated(*most)));
  const std::size_t count = room.hi.size();
  room.hi.resize(count + kLanes);  // whole vectors
  room.lo.resize(count + kLanes);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Vectors score = load<Vector>(&room.hi[i], &room.lo[i]);
    const Vectors e = double_double::exp<Vector, VectorBits>(add(score, all(negated(*most))));
    std::memcpy(&room.hi[i], &e.hi, sizeof e.hi);
    std::memcpy(&room.lo[i], &e.lo, sizeof e.lo);
    sum = add(sum, lane(e, 0));
    if (i + 1 < count) sum = add(sum, lane(e, 1));
  }

  constexpr Index kVectors = 4;
  Index c = 0;
  for (; c + kVectors * kLanes <= upper.d_v; c += kVectors * kLanes) {
    std::array<Vectors, kVectors> sums{};
    read<Vector, kVectors>(job, keys, room, c, sums);
    for (Index i = 0; i < kVectors * kLanes; ++i)
      output[c + i] = divide(lane(sums[static_cast<std::size_t>(i / kLanes)], i % kLanes), sum);
  }
  for (; c < upper.d_v; ++c) {
    std::array<DoubleDouble, 1> one{};
    read<double, 1>(job, keys, room, c, one);
    output[c] = divide(one[0], sum);
  }
}

}  // namespace qkv::fast

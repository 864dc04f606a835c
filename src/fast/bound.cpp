// The proof, with u half a unit in the last place of 1, and γ(n) = nu / (1 − nu): n roundings make of a
// product or a term of a sum at most (1 ± γ(n)) times itself (Higham, Accuracy and Stability of Numerical
// Algorithms, 3.1). Products fused into sums, or sums in another order, round no more often.  Nothing here
// asks what T is: of double-doubles u is what base/double_double.h proves of each operation, and of a sum it
// is enough that its terms are off by u each.
//
// Projections.  Each term of a component of x·W + b meets 2 roundings of the inputs, one of the product and
// at most depth + 1 of the sum, and by Cauchy and Schwarz the terms' sizes add up to at most ‖x‖·‖w‖ + |b|,
// where w is its column of W.  All components together are off by a vector no longer than γ(depth +
// 4)·(‖x‖·‖W‖ + ‖b‖), ‖W‖ the length of all those columns as one vector.
//
// Scores.  Each term of q·k meets 2 roundings of the inputs, one of the product and at most d_k of the sum,
// and by Cauchy and Schwarz the terms' sizes add up to at most A = ‖q‖·max‖k‖:      E = γ(d_k + 3)·A. Let S
// bound the size of the score, true or computed, from here on.
//   projected    q and k off by δq and δk as vectors:      E → E + ‖δq‖·‖k‖ + ‖q‖·‖δk‖ + ‖δq‖·‖δk‖
//   scale        a rounding of it, of √d_k in it, of the factor itself:      E → |f|·(E + 4uS)
//   soft cap     c·tanh(s/c) has a slope of at most 1.  Its roundings: the quotient, 4 units for tanh,
//                the product, c in two places:                               E → E + 16u·min(S, c)
//   ALiBi        B = slope·distance: slope, product, sum:                    E → E + 4uB + 2u(S + B)
//   temperature  as the scale:                                               E → (E + 4uS) / τ
//   sink         its own rounding:                                           E → max(E, 2u·|sink|)
//
// Weights.  The softmax is the same whatever is subtracted, so nothing is lost by a maximum that is not the
// true one. A shifted score is off by E and by its rounding, at most 2uS, and then exp by 4u: e is (1 ± φ)
// times what it should be,
//   φ = e^(E + 2uS + 4u) − 1,
// online with another 2uS for what maxima the sum went through, which only grow, and 5u for each.  Of m
// terms, the sum is (1 ± φ)(1 ± γ(m)) times the true one, and a weight (1 ± ρ) times the true weight,
//   ρ = 2φ + γ(m + 2), and terms of second order.
//
// Output.  True weights add up to 1 and |v| ≤ V, so weights that are off make ρV, and the sum over m keys
// with the roundings of the division and of v makes γ(m + 3)·V more.  Weights below what T can hold make next
// to nothing, which is added. Nobody is ever off by more than 2V: the true output and the computed one are
// averages of values.  Where the values themselves are off by δv, so is their average, by as much at most.

#include "fast/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/bounded.h"
#include "base/double_double.h"
#include "base/threads.h"
#include "fast/kernel.h"

namespace qkv::fast {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Pays for the terms of second order while those of first order are below 1/100, and for the roundings of a
// bound.
constexpr double kSlack = 1.05;

double gamma(double n, double u) { return n * u < 0.01 ? n * u / (1 - n * u) : kInfinity; }

// The keys that a query sees, and the blocks in which online may find a new maximum.
struct Seen {
  Index keys = 0, blocks = 0;
};

template <class T>
Seen seen_by(const Job<T>& job, Index i) {
  Seen seen;
  const auto add = [&](Index keys) {
    seen.keys += keys;
    seen.blocks += keys / kBlock + 2;
  };
  if (job.visible == nullptr) {
    add(job.keys);
  } else {
    const auto at = static_cast<std::size_t>(i);
    for (std::size_t r = job.visible->first[at]; r < job.visible->first[at + 1]; ++r) {
      add(job.visible->runs[r].end - job.visible->runs[r].begin);
    }
  }
  return seen;
}

}  // namespace

template <class T>
RoundingUnits units_of() {
  constexpr double kOften = kDoublesArePlain ? 1 : 2;  // an x87 may round a number twice
  return {.unit = kOften * std::numeric_limits<T>::epsilon() / 2,
          .least = std::numeric_limits<T>::denorm_min(),
          .nearly_nothing = sizeof(T) == 8 ? 0x1p-1000 : 0x1p-114,  // e^−700 and e^−80 are less
          .most = std::numeric_limits<T>::max() / 4};
}

RoundingUnits units_of_double_doubles() {
  return {.unit = double_double::kRounding,
          .least = double_double::kLeast,
          .nearly_nothing = 0x1p-860,  // e^−600 is less
          .most = double_double::kMost};
}

template <class T>
double length_of(const T* numbers, Index count, Index step) {
  double sum = 0;
  for (Index r = 0; r < count; ++r) {
    const auto x = static_cast<double>(numbers[r * step]);
    sum += x * x;
  }
  return std::sqrt(sum) * (1 + 1e-6) + 1e-150;  // the squares may have underflowed
}

double projection_error(double x_length, const ProjectionPart& part, const RoundingUnits& units) {
  const double size = x_length * part.w_length + part.b_length;
  if (!(size < units.most)) return kInfinity;
  const auto depth = static_cast<double>(part.depth);
  const double underflow =
      (depth + 1) * (static_cast<double>(part.count) + x_length + part.w_length) * units.least;
  return (gamma(depth + 4, units.unit) * size + underflow) * kSlack;
}

template <class T>
std::vector<double> error_bounds(const Job<T>& job, bool is_online, const InputErrors& inputs,
                                 const RoundingUnits& units) {
  const double u = units.unit;
  const double least = units.least;
  const auto gamma = [u](double n) { return fast::gamma(n, u); };
  const double input = inputs.are_rounded ? 1 : 0;

  double longest = 0;
  double largest = 0;
  std::mutex mutex;
  share_rows(job.keys, job.d_k + job.d_v, [&](Index begin, Index end) {
    double longest_here = 0;
    double largest_here = 0;
    for (Index j = begin; j < end; ++j) {
      longest_here = std::max(longest_here, length_of(job.k + j * job.k_stride, job.d_k));
      for (Index c = 0; c < job.d_v; ++c) {
        largest_here = std::max(largest_here, static_cast<double>(std::abs(job.v[j * job.v_stride + c])));
      }
    }
    const std::lock_guard lock(mutex);
    longest = std::max(longest, longest_here);
    largest = std::max(largest, largest_here);
  });

  const auto bound_of = [&](Index i) {
    const Seen seen = seen_by(job, i);
    if (seen.keys == 0) return 0.0;
    const auto d_k = static_cast<double>(job.d_k);
    const double query = length_of(job.q + i * job.q_stride, job.d_k);
    const double query_error = inputs.queries.empty() ? 0 : inputs.queries[static_cast<std::size_t>(i)];
    double size = query * longest;
    double error = (gamma(d_k + 1 + 2 * input) * size + d_k * least + query_error * longest +
                    (query + query_error) * inputs.keys) *
                   kSlack;
    size = (size + error) * (1 + 1e-6);
    double most = size;
    if (job.scale != Job<T>::Scale::none) {
      const double by = std::abs(static_cast<double>(job.by));
      const double factor = job.scale == Job<T>::Scale::multiply ? by : 1 / by;
      error = factor * (error + 4 * u * size) + least;
      size *= factor * (1 + 1e-6);
      most = std::max(most, size);
    }
    if (job.softcap) {
      error += 16 * u * std::min<double>(size, *job.softcap) + least * (1 + *job.softcap);
      size = std::min<double>(size, *job.softcap) * (1 + 1e-6);
    }
    if (job.slope) {
      const double position = static_cast<double>(i + job.align);
      const double distance =
          std::max(std::abs(position), std::abs(position - static_cast<double>(job.keys - 1)));
      const double bias = *job.slope * distance;
      error += 4 * u * bias + 2 * u * (size + bias);
      size = (size + bias) * (1 + 1e-6);
      most = std::max(most, size);
    }
    if (job.temperature) {
      error = (error + 4 * u * size) / *job.temperature + least;
      size = size / *job.temperature * (1 + 1e-6);
      most = std::max(most, size);
    }
    if (job.sink) {
      const double sink = std::abs(static_cast<double>(*job.sink));
      error = std::max(error, 2 * u * sink);
      size = std::max(size, sink);
    }
    if (!(std::max(most, size) < units.most)) return kInfinity;
    const auto keys = static_cast<double>(seen.keys);
    double exponent = error + 2 * u * size + 4 * u;
    if (is_online) exponent += 2 * u * size + 5 * u * static_cast<double>(seen.blocks);
    const double off = std::expm1(exponent * kSlack);
    const double of_weights = 2 * off + gamma(keys + 3);  // and a sink
    const double bound =
        kSlack * largest * (of_weights + gamma(keys + 2 + input) + keys * units.nearly_nothing) +
        keys * least + kSlack * inputs.values;
    const double trivial = 2.01 * largest + kSlack * inputs.values;
    return of_weights < 0.01 ? std::min(bound, trivial) : trivial;
  };
  std::vector<double> bounds(static_cast<std::size_t>(job.queries));
  share_rows(job.queries, job.d_k, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) bounds[static_cast<std::size_t>(i)] = bound_of(i);
  });
  return bounds;
}

template RoundingUnits units_of<double>();
template RoundingUnits units_of<float>();
template std::vector<double> error_bounds(const Job<double>&, bool, const InputErrors&, const RoundingUnits&);
template std::vector<double> error_bounds(const Job<float>&, bool, const InputErrors&, const RoundingUnits&);
template double length_of(const double*, Index, Index);
template double length_of(const float*, Index, Index);

}  // namespace qkv::fast

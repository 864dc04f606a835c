// Large attention against the trace: in its exact order the bits are those of a trace on plain doubles,
// whatever the processor and the number of threads; online, and both against the truth, the proved bound
// holds.  The truth is computed in long doubles, whose own error is a 2000th of the bounds.

#include <sys/resource.h>

#include <boost/multiprecision/mpfr.hpp>
#include <cfloat>
#include <cstring>

#include "base/bounded.h"
#include "fast/attend.h"
#include "fast/attend_again.h"
#include "fast/bound.h"
#include "ops/kernels.h"
#include "problem/mask.h"
#include "support.h"

namespace qkv::test {
namespace {

using fast::How;
using fast::Isa;

std::vector<Isa> processors() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (fast::is_available(isa)) found.push_back(isa);
  }
  return found;
}

// Numbers whose sums round: Random's own are eighths.
Matrix thirds(Random& random, Index rows, Index cols, double size = 1) {
  Matrix m = random.matrix(rows, cols, 6);
  for (Index i = 0; i < m.size(); ++i) m(i) = m(i) * size / 3 + random.eighths(1) / 7;
  return m;
}

// What a mask of these words lets each query see.
KeyRuns seen(std::string_view mask, Index queries, Index keys, long align = 0) {
  std::vector<ValueFault> faults;
  const auto setting = parse_mask(mask, faults);
  REQUIRE(setting.has_value());
  return visible_keys(*setting, align, 1, queries, keys);
}

// Empty where they have the same bits; NaN is NaN.
std::string differing_bits(const Matrix& a, const Matrix& b) {
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      const double x = a(i, j);
      const double y = b(i, j);
      if (std::memcmp(&x, &y, sizeof x) != 0 && !(std::isnan(x) && std::isnan(y))) {
        return fmt::format("cell ({}, {}) is {:.17g} instead of {:.17g}", i + 1, j + 1, x, y);
      }
    }
  }
  return "";
}

// A problem, and the same as a job: matrices that stand in wider ones.
struct Both {
  Problem problem;
  Matrix q, k, v;
  KeyRuns visible;
  fast::Job<double> job;

  Both(const Matrix& queries, const Matrix& keys, const Matrix& values)
      : problem(
            problem_at(Entry::qkv, {{"Q", rows_of(queries)}, {"K", rows_of(keys)}, {"V", rows_of(values)}})),
        q(queries.rows(), queries.cols() + 3),
        k(keys.rows(), keys.cols() + 1),
        v(values) {
    q.setConstant(99);
    k.setConstant(99);
    q.leftCols(queries.cols()) = queries;
    k.leftCols(keys.cols()) = keys;
    job.q = q.data();
    job.k = k.data();
    job.v = v.data();
    job.queries = queries.rows();
    job.keys = keys.rows();
    job.d_k = queries.cols();
    job.d_v = values.cols();
    job.q_stride = q.cols();
    job.k_stride = k.cols();
    job.v_stride = v.cols();
    job.scale = fast::Job<double>::Scale::divide;
    job.by = std::sqrt(static_cast<double>(queries.cols()));
    job.align = keys.rows() - queries.rows();
  }
  Both(const Both&) = delete;

  void see(const Mask& mask) {
    forbid(problem, mask);
    visible = key_runs(mask);
    job.visible = &visible;
  }

  Matrix traced() const {
    const Trace trace = run(plan_of(problem), {.plain = true});
    return value(trace, "output");
  }
  Matrix attended(const How& how) const {
    Matrix output(job.queries, job.d_v + 2);
    output.setConstant(7);
    fast::attend(job, output.data(), output.cols(), how);
    CHECK((output.rightCols(2).array() == 7).all());
    return output.leftCols(job.d_v);
  }
};

Mask random_mask(Random& random, Index n, Index m) {
  const long align = m - n;
  Mask mask(n, m);
  const Index window = random.whole(1, m);
  const Index sinks = random.whole(0, 3);
  const Index padding = random.whole(0, m - 1);
  const Index segment = random.whole(1, m);
  const Index kind = random.whole(0, 5);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) {
      const bool is_causal = j <= i + align;
      switch (kind) {
        case 0:
          mask(i, j) = is_causal;
          break;
        case 1:
          mask(i, j) = is_causal && (j > i + align - window || j < sinks);
          break;
        case 2:
          mask(i, j) = j < m - padding;
          break;
        case 3:
          mask(i, j) = j / segment == i / segment;
          break;
        case 4:
          mask(i, j) = random.whole(0, 1) == 1;
          break;
        default:
          mask(i, j) = is_causal && i % 5 != 2;
      }
    }
  }
  return mask;
}

void set_at_random(Random& random, Both& both) {
  Problem& p = both.problem;
  fast::Job<double>& job = both.job;
  switch (random.whole(0, 3)) {
    case 0:
      p.scale.kind = ScaleKind::none;
      job.scale = fast::Job<double>::Scale::none;
      break;
    case 1:
      p.scale.kind = ScaleKind::factor;
      p.scale.factor = written("0.3");
      job.scale = fast::Job<double>::Scale::multiply;
      job.by = 0.3;
      break;
    default:
      break;
  }
  if (random.whole(0, 3) == 0) {
    p.softcap = written("5.5");
    job.softcap = 5.5;
  }
  if (random.whole(0, 2) == 0) {
    p.slopes = {written("0.7")};
    job.slope = 0.7;
  }
  if (random.whole(0, 3) == 0) {
    p.temperature = written("0.9");
    job.temperature = 0.9;
  }
  if (random.whole(0, 2) == 0) {
    p.sink_logits = {written("0.35")};
    job.sink = 0.35;
  }
  if (random.whole(0, 1) == 0) {
    p.empty_row = EmptyRow::nan;
    job.empty_row_is_nan = true;
  }
  if (random.whole(0, 4) > 0) both.see(random_mask(random, job.queries, job.keys));
}

// Attention in long doubles, [queries, d_v].
template <class T>
std::vector<std::vector<long double>> truth(const fast::Job<T>& job, const MatrixOf<long double>& q,
                                            const MatrixOf<long double>& k, const MatrixOf<long double>& v,
                                            long double by) {
  std::vector<std::vector<long double>> output;
  for (Index i = 0; i < job.queries; ++i) {
    std::vector<Index> keys;
    for (Index j = 0; j < job.keys && job.visible == nullptr; ++j) keys.push_back(j);
    if (job.visible != nullptr) {
      const auto at = static_cast<std::size_t>(i);
      for (std::size_t r = job.visible->first[at]; r < job.visible->first[at + 1]; ++r) {
        for (Index j = job.visible->runs[r].begin; j < job.visible->runs[r].end; ++j) keys.push_back(j);
      }
    }
    std::vector<long double> e;
    long double most = job.sink ? static_cast<long double>(*job.sink) : -INFINITY;
    for (const Index j : keys) {
      long double s = 0;
      for (Index r = 0; r < job.d_k; ++r) s += q(i, r) * k(j, r);
      if (job.scale == fast::Job<T>::Scale::divide) s /= by;
      if (job.scale == fast::Job<T>::Scale::multiply) s *= by;
      if (job.softcap) s = *job.softcap * std::tanh(s / *job.softcap);
      if (job.slope)
        s -= static_cast<long double>(*job.slope) * static_cast<long double>(std::abs(i + job.align - j));
      if (job.temperature) s /= *job.temperature;
      most = std::max(most, s);
      e.push_back(s);
    }
    long double sum = 0;
    for (long double& x : e) sum += x = std::exp(x - most);
    if (job.sink) sum += std::exp(*job.sink - most);
    std::vector<long double> row(static_cast<std::size_t>(job.d_v),
                                 keys.empty() && job.empty_row_is_nan ? NAN : 0);
    for (std::size_t j = 0; j < keys.size(); ++j) {
      for (Index c = 0; c < job.d_v; ++c) row[static_cast<std::size_t>(c)] += e[j] / sum * v(keys[j], c);
    }
    output.push_back(row);
  }
  return output;
}

// The largest error as a part of its bound; above 1 the bound is wrong.
template <class T>
double part_of_bound(const fast::Job<T>& job, const std::vector<std::vector<long double>>& expected,
                     const How& how, bool are_inputs_exact) {
  std::vector<T> output(static_cast<std::size_t>(job.queries * job.d_v));
  fast::attend(job, output.data(), job.d_v, how);
  const std::vector<double> bounds =
      fast::error_bounds(job, how.is_online, {.are_rounded = !are_inputs_exact});
  double worst = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(job.d_v); ++c) {
      const long double is = output[i * static_cast<std::size_t>(job.d_v) + c];
      const long double should = expected[i][c];
      if (std::isnan(should) ? std::isnan(is) : is == should) continue;
      worst = std::max(worst, static_cast<double>(std::abs(is - should)) / bounds[i]);
    }
  }
  return worst;
}

MatrixOf<long double> part(const Matrix& m, Index cols) { return m.leftCols(cols).cast<long double>(); }

double part_of_bound(const Both& both, const How& how) {
  const fast::Job<double>& job = both.job;
  const long double by = job.scale == fast::Job<double>::Scale::divide
                             ? std::sqrt(static_cast<long double>(job.d_k))
                             : static_cast<long double>(job.by);
  return part_of_bound(
      job, truth(job, part(both.q, job.d_k), part(both.k, job.d_k), part(both.v, job.d_v), by), how, true);
}

}  // namespace

TEST_CASE(
    "large attention: the exact order has the bits of the trace, on every processor, with any settings") {
  QKV_SAY_SEED();
  Random random(81);
  const Index rounds = sheets(120);
  for (Index round = 0; round < rounds; ++round) {
    const Index queries = random.whole(0, 3) == 0 ? random.whole(1, 6) : random.whole(1, 70);
    const Index keys = random.whole(0, 1) == 0 ? queries : random.whole(1, 300);
    const Index d_k = random.whole(1, 21);
    Both both(thirds(random, queries, d_k), thirds(random, keys, d_k),
              thirds(random, keys, random.whole(1, random.whole(0, 1) == 0 ? 12 : 70)));
    set_at_random(random, both);
    INFO("round ", round, ": ", queries, " queries, ", keys, " keys, d_k ", d_k, ", d_v ", both.job.d_v);
    const Matrix expected = both.traced();
    for (const Isa isa : processors()) {
      for (const int threads : {1, 2, 3}) {
        INFO("isa ", static_cast<int>(isa), ", threads ", threads);
        CHECK(differing_bits(both.attended({.isa = isa, .threads = threads}), expected) == "");
      }
    }
  }
}

TEST_CASE(
    "large attention: weights that are next to nothing, and scores that overflow, have the bits of the "
    "trace") {
  QKV_SAY_SEED();
  Random random(82);
  for (const double size : {1e3, 1e5, 1e80, 1e154, 3e154, 1e200, 1e-160, 1e-200}) {
    for (const Index queries : {1, 3, 30}) {
      Both both(thirds(random, queries, 5, size), thirds(random, 40, 5, size), thirds(random, 40, 9));
      set_at_random(random, both);
      INFO("size ", size, ", ", queries, " queries");
      const Matrix expected = both.traced();
      for (const Isa isa : processors()) {
        INFO("isa ", static_cast<int>(isa));
        CHECK(differing_bits(both.attended({.isa = isa}), expected) == "");
        CHECK(apart(both.attended({.isa = isa, .is_online = true}), expected, 1e-9) == "");
      }
    }
  }
}

TEST_CASE("large attention: a single key has all the weight") {
  Both both(matrix("1 2 ; 3 4 ; 5 6 ; 7 8 ; 9 1"), matrix("1 1"), matrix("0.25 -3"));
  for (const bool is_online : {false, true}) {
    CHECK(both.attended({.is_online = is_online}) ==
          matrix("0.25 -3 ; 0.25 -3 ; 0.25 -3 ; 0.25 -3 ; 0.25 -3"));
  }
}

TEST_CASE("large attention: both ways keep to their bound") {
  QKV_SAY_SEED();
  Random random(83);
  for (Index round = 0; round < sheets(60); ++round) {
    const Index queries = random.whole(5, 60);
    const Index keys = random.whole(1, 500);
    const Index d_k = random.whole(1, 40);
    Both both(thirds(random, queries, d_k), thirds(random, keys, d_k), thirds(random, keys, 5));
    set_at_random(random, both);
    for (const Isa isa : processors()) {
      for (const bool is_online : {false, true}) {
        CHECK(part_of_bound(both, {.isa = isa, .is_online = is_online}) <= 1);
      }
    }
  }
}

TEST_CASE_TEMPLATE("large attention: the bound counts the rounding of the inputs", T, double, float) {
  QKV_SAY_SEED();
  Random random(84);
  const auto thirds_of = [&](Index rows, Index cols) {
    return MatrixOf<long double>(random.matrix(rows, cols, 6).template cast<long double>() / 3.0L);
  };
  const Index n = 40;
  const Index keys = 300;
  const Index d = 24;
  const MatrixOf<long double> q = thirds_of(n, d);
  const MatrixOf<long double> k = thirds_of(keys, d);
  const MatrixOf<long double> v = thirds_of(keys, d);
  const MatrixOf<T> q_rounded = q.cast<T>();
  const MatrixOf<T> k_rounded = k.cast<T>();
  const MatrixOf<T> v_rounded = v.cast<T>();
  const KeyRuns visible = seen("causal", n, keys, keys - n);
  fast::Job<T> job;
  job.q = q_rounded.data();
  job.k = k_rounded.data();
  job.v = v_rounded.data();
  job.queries = n;
  job.keys = keys;
  job.d_k = job.d_v = job.q_stride = job.k_stride = job.v_stride = d;
  job.scale = fast::Job<T>::Scale::divide;
  job.by = std::sqrt(static_cast<T>(d));
  job.visible = &visible;
  const auto expected = truth(job, q, k, v, std::sqrt(static_cast<long double>(d)));
  for (const Isa isa : processors()) {
    for (const bool is_online : {false, true}) {
      const double part = part_of_bound(job, expected, {.isa = isa, .is_online = is_online}, false);
      CHECK(part <= 1);
      CHECK(part > 0.0001);  // the truth here is no better than the bound's subject
    }
  }
}

TEST_CASE("large attention: the bound of 16384 keys of 64 numbers is about 10^-11") {
  Random random(85);
  const Index n = 16384;
  const Matrix k = thirds(random, n, 64, 0.25);
  fast::Job<double> job;
  job.q = job.k = job.v = k.data();
  job.queries = 1;
  job.keys = n;
  job.d_k = job.d_v = job.q_stride = job.k_stride = job.v_stride = 64;
  job.scale = fast::Job<double>::Scale::divide;
  job.by = 8;
  CHECK(fast::error_bounds(job, false)[0] < 2e-11);
  CHECK(fast::error_bounds(job, true)[0] < 2e-11);
  CHECK(fast::error_bounds(job, true)[0] > 1e-13);
}

TEST_CASE("large attention: 40000 queries and keys need no table of 40000 times 40000") {
  const Index n = 40'000;  // such a table of doubles would have 12.8 GB, one of bits 200 MB
  Random random(86);
  const Matrix x = thirds(random, n, 2);
  Both both(x.topRows(5), x.topRows(5), x.topRows(5));
  fast::Job<double> job = both.job;
  job.q = job.k = job.v = x.data();
  job.queries = job.keys = n;
  job.q_stride = job.k_stride = job.v_stride = 2;
  job.align = 0;
  const KeyRuns visible = seen("causal window:16 sinks:4", n, n);
  job.visible = &visible;
  const auto most_kilobytes = [] {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
  };
  const long before = most_kilobytes();
  Matrix output(n, 2);
  fast::attend(job, output.data(), 2, {.threads = 2});
  CHECK(most_kilobytes() - before < 100'000);
  CHECK(output.row(0) == x.row(0));
  CHECK(output.allFinite());
}

TEST_CASE("large attention: causal keys, with a window, and with the first ones kept") {
  const auto text = [](const KeyRuns& visible) {
    std::string all;
    for (std::size_t i = 0; i + 1 < visible.first.size(); ++i) {
      if (i > 0) all += " ; ";
      for (std::size_t r = visible.first[i]; r < visible.first[i + 1]; ++r) {
        all += fmt::format("[{},{})", visible.runs[r].begin, visible.runs[r].end);
      }
    }
    return all;
  };
  CHECK(text(seen("causal", 3, 3)) == "[0,1) ; [0,2) ; [0,3)");
  CHECK(text(seen("causal", 2, 4, 2)) == "[0,3) ; [0,4)");
  CHECK(text(seen("causal", 3, 2, -1)) == " ; [0,1) ; [0,2)");
  CHECK(text(seen("causal window:2", 5, 5)) == "[0,1) ; [0,2) ; [1,3) ; [2,4) ; [3,5)");
  CHECK(text(seen("causal window:2 sinks:1", 5, 5)) == "[0,1) ; [0,2) ; [0,3) ; [0,1)[2,4) ; [0,1)[3,5)");
  CHECK(text(key_runs(mask_of("1 0 1 ; 0 0 0 ; 1 1 0"))) == "[0,1)[2,3) ;  ; [0,2)");
}

TEST_CASE("large products and exponentials have the bits of the trace's kernels") {
  QKV_SAY_SEED();
  Random random(87);
  for (int round = 0; round < 20; ++round) {
    const Index n = random.whole(1, 60);
    const Index m = random.whole(1, 60);
    const Index d = random.whole(1, 40);
    const Matrix x = thirds(random, n, d);
    const Matrix k = thirds(random, m, d);
    const Matrix w = thirds(random, d, m);
    Matrix e = thirds(random, n, d, 60);
    const Matrix expected = kernels::exponential<double>(e, {});
    for (const Isa isa : processors()) {
      for (const int threads : {1, 3}) {
        const How how{.isa = isa, .threads = threads};
        CHECK(differing_bits(fast::dot_rows(x, k, how), kernels::dot_rows<double>(x, k)) == "");
        CHECK(differing_bits(fast::project(x, w, how), kernels::project<double>(x, w)) == "");
      }
      Matrix in_place = e;
      fast::exp_all(in_place.data(), in_place.size(), {.isa = isa});
      CHECK(differing_bits(in_place, expected) == "");
    }
  }
}

TEST_CASE("projections keep to their bound, in doubles and in double-doubles") {
  if (!kDoublesArePlain) return;
  using True = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<100>>;
  QKV_SAY_SEED();
  Random random(seed());
  for (int round = 0; round < 24; ++round) {
    const Index n = random.whole(1, 40);
    const Index d = random.whole(1, 40);
    const Index e = random.whole(1, 40);
    const bool has_bias = round % 2 == 0;
    const Matrix x = thirds(random, n, d), w = thirds(random, d, e), b = thirds(random, 1, e);
    const auto rest_of = [&](const Matrix& m) { return Matrix(m * 0x1p-55); };
    const Matrix x_rest = rest_of(x), w_rest = rest_of(w), b_rest = rest_of(b);
    const auto both = [](const Matrix& hi, const Matrix& lo) {
      return fast::AgainMatrix{hi.data(), lo.data(), hi.cols(), lo.cols()};
    };
    const fast::AgainMatrix bias = both(b, b_rest);
    Matrix hi(n, e), lo(n, e);
    fast::project_again(both(x, x_rest), n, both(w, w_rest), d, e, has_bias ? &bias : nullptr, hi.data(),
                        lo.data());
    for (const Isa isa : processors()) {
      for (const int threads : {1, 2}) {
        Matrix other_hi(n, e), other_lo(n, e);
        fast::project_again(both(x, x_rest), n, both(w, w_rest), d, e, has_bias ? &bias : nullptr,
                            other_hi.data(), other_lo.data(), {.isa = isa, .threads = threads});
        CHECK(differing_bits(other_hi, hi) == "");
        CHECK(differing_bits(other_lo, lo) == "");
      }
    }
    Matrix plain = fast::project(x, w);
    if (has_bias) plain.rowwise() += b.row(0);

    fast::ProjectionPart part{.depth = d, .count = e};
    part.w_length = fast::length_of(w.data(), w.size());
    if (has_bias) part.b_length = fast::length_of(b.data(), e);
    for (Index i = 0; i < n; ++i) {
      True squares = 0;
      True squares_again = 0;
      for (Index c = 0; c < e; ++c) {
        const auto true_of = [](double upper, double lower) { return True(True(upper) + True(lower)); };
        True sum = has_bias ? true_of(b(0, c), b_rest(0, c)) : True(0);
        for (Index r = 0; r < d; ++r) sum += true_of(x(i, r), x_rest(i, r)) * true_of(w(r, c), w_rest(r, c));
        squares += pow(True(True(plain(i, c)) - sum), 2);
        squares_again += pow(True(true_of(hi(i, c), lo(i, c)) - sum), 2);
      }
      const double x_length = fast::length_of(x.data() + i * d, d);
      const double bound = fast::projection_error(x_length, part, fast::units_of<double>());
      const double bound_again = fast::projection_error(x_length, part, fast::units_of_double_doubles());
      CHECK(sqrt(squares) <= True(bound));
      CHECK(sqrt(squares_again) <= True(bound_again));
      CHECK(bound < 1e-11);
      CHECK(bound_again < 1e-25);
    }
  }
  CHECK(std::isinf(
      fast::projection_error(1e200, {.depth = 1, .count = 1, .w_length = 1e200}, fast::units_of<double>())));
}

TEST_CASE("a row in double-doubles keeps to its bound, which is narrow") {
  if (!kDoublesArePlain) return;
  using True = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<100>>;
  QKV_SAY_SEED();
  Random random(seed());
  for (int round = 0; round < 24; ++round) {
    const Index d = random.whole(1, 20);
    const Index d_v = random.whole(1, 37);
    const Index keys = random.whole(1, 40);
    const double large = round % 3 == 2 ? 100 : 1;  // scores of 10^4
    Both both(thirds(random, 3, d, large), thirds(random, keys, d, large), thirds(random, keys, d_v));
    const auto rest_of = [&](const Matrix& m) {
      Matrix rest = thirds(random, m.rows(), m.cols()) * 0x1p-58;
      for (Index i = 0; i < m.size(); ++i) rest(i) *= round % 2 == 0 ? m(i) : 0;
      return rest;
    };
    const Matrix q_rest = rest_of(both.q), k_rest = rest_of(both.k), v_rest = rest_of(both.v);
    if (round % 4 == 1) both.see(random_mask(random, 3, keys));
    fast::AgainJob job{.upper = both.job,
                       .q = q_rest.data(),
                       .k = k_rest.data(),
                       .v = v_rest.data(),
                       .q_stride = q_rest.cols(),
                       .k_stride = k_rest.cols(),
                       .v_stride = v_rest.cols()};
    const auto setting = [&](double size) {
      const double hi = size + random.eighths(1) / 9;
      return DoubleDouble{hi, hi * 0x1p-56};
    };
    job.by = setting(3);
    job.upper.by = job.by.hi;
    if (round % 5 == 1) job.upper.scale = fast::Job<double>::Scale::multiply;
    if (round % 3 == 0) {
      job.slope = setting(0.5);
      job.upper.slope = job.slope.hi;
      job.sink = setting(2);
      job.upper.sink = job.sink.hi;
    }
    if (round % 6 >= 4) {
      job.softcap = setting(round % 6 == 4 ? 3 : 3e4);
      job.upper.softcap = job.softcap.hi;
    }
    if (round % 3 == 1) {
      job.temperature = setting(1.5);
      job.upper.temperature = job.temperature.hi;
    }
    const auto true_of = [](double hi, double lo) { return True(True(hi) + True(lo)); };
    const auto setting_of = [&](const DoubleDouble& x) { return true_of(x.hi, x.lo); };
    const std::vector<double> bounds =
        fast::error_bounds(job.upper, false, {}, fast::units_of_double_doubles());
    for (Index i = 0; i < 3; ++i) {
      True sum = job.upper.sink ? exp(setting_of(job.sink)) : True(0);
      std::vector<True> read(static_cast<std::size_t>(d_v), True(0));
      Index seen = 0;
      for (Index j = 0; j < keys; ++j) {
        bool is_seen = job.upper.visible == nullptr;
        if (!is_seen) {
          const KeyRuns& runs = *job.upper.visible;
          for (std::size_t r = runs.first[static_cast<std::size_t>(i)];
               r < runs.first[static_cast<std::size_t>(i) + 1]; ++r)
            is_seen = is_seen || (j >= runs.runs[r].begin && j < runs.runs[r].end);
        }
        if (!is_seen) continue;
        ++seen;
        True score = 0;
        for (Index r = 0; r < d; ++r)
          score += true_of(both.q(i, r), q_rest(i, r)) * true_of(both.k(j, r), k_rest(j, r));
        if (job.upper.scale == fast::Job<double>::Scale::divide) score /= setting_of(job.by);
        if (job.upper.scale == fast::Job<double>::Scale::multiply) score *= setting_of(job.by);
        if (job.upper.softcap) score = setting_of(job.softcap) * tanh(True(score / setting_of(job.softcap)));
        if (job.upper.slope) score -= setting_of(job.slope) * std::abs(i + job.upper.align - j);
        if (job.upper.temperature) score /= setting_of(job.temperature);
        const True e = exp(score);
        sum += e;
        for (Index c = 0; c < d_v; ++c)
          read[static_cast<std::size_t>(c)] += e * true_of(both.v(j, c), v_rest(j, c));
      }
      if (seen == 0) continue;
      std::vector<DoubleDouble> output(static_cast<std::size_t>(d_v));
      fast::attend_again(job, i, output.data(), Isa::baseline);
      for (const Isa isa : processors()) {
        std::vector<DoubleDouble> other(output.size());
        fast::attend_again(job, i, other.data(), isa);
        CHECK(std::memcmp(output.data(), other.data(), output.size() * sizeof(DoubleDouble)) == 0);
      }
      const double bound = bounds[static_cast<std::size_t>(i)];
      CHECK(bound < (large > 1 ? 1e-22 : 1e-26));
      for (std::size_t c = 0; c < output.size(); ++c)
        CHECK(abs(setting_of(output[c]) - read[c] / sum) <= bound);
    }
  }
}

TEST_CASE("large attention tells its progress, a step for each query") {
  Random random(88);
  Both both(thirds(random, 50, 3), thirds(random, 60, 3), thirds(random, 60, 3));
  Progress progress(50);
  Matrix output(50, 3);
  fast::attend(both.job, output.data(), 3, {.threads = 2}, &progress);
  CHECK(Progress::percent() == 100);
}

}  // namespace qkv::test

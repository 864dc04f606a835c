#include "fast/attend.h"

// It has C's _Bool in it, which clang++ does not take.
#if defined(QKV_X86_KERNELS) && !defined(__clang__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <queue>

#include "base/exp.h"
#include "base/threads.h"
#include "fast/attend_again.h"
#include "fast/kernel.h"

namespace qkv::fast {
namespace {

// ---- Which kernels ---------------------------------------------------------------------------

#ifdef QKV_X86_KERNELS  // CMakeLists.txt, which compiles them
constexpr bool kHasX86 = true;
#ifdef CPU_FEATURE_ACTIVE
// The C library has asked the processor.  What the compiler offers asks again, before main() and in every
// run: on a virtual machine, which has to answer each question, that takes a twentieth of the time of a small
// problem.
bool runs_avx2() { return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA); }
bool runs_avx512() { return runs_avx2() && CPU_FEATURE_ACTIVE(AVX512F); }
#else
bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool runs_avx512() { return runs_avx2() && __builtin_cpu_supports("avx512f"); }
#endif
#else
constexpr bool kHasX86 = false;
bool runs_avx2() { return false; }
bool runs_avx512() { return false; }
#endif

const Table& table_of(Isa isa) {
  if constexpr (kHasX86) {
    if (isa == Isa::avx512) return avx512::kTable;
    if (isa == Isa::avx2) return avx2::kTable;
  }
  return baseline::kTable;
}

template <class T>
const Kernels<T>& kernels_of(Isa isa) {
  assert(is_available(isa));
  if constexpr (std::is_same_v<T, double>) {
    return table_of(isa).doubles;
  } else {
    return table_of(isa).floats;
  }
}

// ---- Room ------------------------------------------------------------------------------------

// Numbers that begin at a cache line.  Not set to anything: pages that are never used are never there.
template <class T>
class Room {
 public:
  explicit Room(Index count)
      : numbers_(static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), kLine))) {}
  T* get() const { return numbers_.get(); }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(T* numbers) const { ::operator delete(numbers, kLine); }
  };
  std::unique_ptr<T, Free> numbers_;
};

Index rounded_up(Index count, Index to) { return (count + to - 1) / to * to; }

// A matrix cut for the kernels.  What takes less time than a thread to wake is done by one.
constexpr Index kPanelsAtOnce = 64;
constexpr Index kWorthAThread = 100'000;

template <class Cut>
void share_panels(Index panels, Index numbers, int threads, Cut cut) {
  const Index pieces = (panels + kPanelsAtOnce - 1) / kPanelsAtOnce;
  const Index most = std::clamp<Index>(std::min<Index>(threads, pieces), 1, 1 + numbers / kWorthAThread);
  share(pieces, static_cast<std::size_t>(most), [&](Index piece, std::size_t) {
    const Index end = std::min(panels, (piece + 1) * kPanelsAtOnce);
    for (Index panel = piece * kPanelsAtOnce; panel < end; ++panel) cut(panel);
  });
}

// [depth][kWidth] from kWidth rows of a stride: the loops that the compiler can unroll.
template <Index kWidth, class T>
void turn(const T* rows, Index depth, Index stride, T* to) {
  for (Index r = 0; r < depth; ++r, to += kWidth) {
    for (Index i = 0; i < kWidth; ++i) to[i] = rows[i * stride + r];
  }
}

// [rows, depth] → panels of `width` rows, each [depth][width]; zeros where there are no more rows.
template <class T>
Room<T> panels_of_rows(const T* rows, Index count, Index depth, Index stride, Index width, int threads) {
  Room<T> room(rounded_up(count, width) * depth);
  share_panels((count + width - 1) / width, count * depth, threads, [&](Index panel) {
    const Index first = panel * width;
    const T* from = rows + first * stride;
    T* to = room.get() + first * depth;
    const Index there = std::min(width, count - first);
    if (there == 8 && width == 8) {
      turn<8>(from, depth, stride, to);
    } else if (there == 4 && width == 4) {
      turn<4>(from, depth, stride, to);
    } else {
      for (Index r = 0; r < depth; ++r, to += width) {
        for (Index i = 0; i < width; ++i) to[i] = i < there ? from[i * stride + r] : T(0);
      }
    }
  });
  return room;
}

// [depth, columns] → panels of `width` columns, each [depth][width]; zeros where there are no more columns.
template <class T>
Room<T> panels_of_columns(const T* rows, Index depth, Index count, Index stride, Index width, int threads) {
  Room<T> room(rounded_up(count, width) * depth);
  share_panels((depth + width - 1) / width, count * depth, threads, [&](Index band) {
    const Index end = std::min(depth, (band + 1) * width);
    for (Index first = 0; first < count; first += width) {
      const Index there = std::min(width, count - first);
      T* to = room.get() + first * depth + band * width * width;
      for (Index k = band * width; k < end; ++k, to += width) {
        const T* from = rows + k * stride + first;
        if (there == 8 && width == 8) {
          std::copy_n(from, 8, to);
        } else if (there == 4 && width == 4) {
          std::copy_n(from, 4, to);
        } else {
          std::copy_n(from, there, to);
          std::fill_n(to + there, width - there, T(0));
        }
      }
    }
  });
  return room;
}

// ---- Who sees what ---------------------------------------------------------------------------

// The keys that queries [first, first + rows) see, cut wherever a run of any of them begins or ends.  Rows
// that a strip has no query for count as seeing what the others see.
std::vector<Piece> pieces_of(const KeyRuns* visible, Index keys, Index first, Index rows, Index most_rows) {
  const std::uint64_t all = (std::uint64_t{1} << most_rows) - 1;
  if (visible == nullptr) return {{0, keys, all}};
  // Where what a row sees changes next, and the run that begins or ends there.
  struct Change {
    Index at;
    std::size_t row;
    const KeyRun* run;
    bool operator<(const Change& other) const { return at > other.at; }  // the nearest is on top
  };
  std::priority_queue<Change> changes;
  const auto begins = [&](std::size_t row, const KeyRun* run) {
    const KeyRun* end = visible->runs.data() + visible->first[static_cast<std::size_t>(first) + row + 1];
    if (run != end) changes.push({run->begin, row, run});
  };
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    begins(row, visible->runs.data() + visible->first[static_cast<std::size_t>(first) + row]);
  }
  const std::uint64_t missing = all & ~((std::uint64_t{1} << rows) - 1);
  std::vector<Piece> pieces;
  std::uint64_t seeing = 0;
  while (!changes.empty()) {
    const Index at = changes.top().at;
    while (!changes.empty() && changes.top().at == at) {
      const Change change = changes.top();
      changes.pop();
      seeing ^= std::uint64_t{1} << change.row;
      if ((seeing >> change.row & 1) != 0) {
        changes.push({change.run->end, change.row, change.run});
      } else {
        begins(change.row, change.run + 1);
      }
    }
    if (seeing != 0) pieces.push_back({at, changes.top().at, seeing | missing});
  }
  return pieces;
}

// ---- One query, in the words of ops/kernels.h --------------------------------------------------

double exp_of(double x) { return exp(x); }
float exp_of(float x) { return exp_detail::exp_of<float, float, std::uint32_t>(x); }

// What infinite scores become is decided cell by cell there, and here.
template <class T>
void attend_one(const Job<T>& job, Index i, T* output) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<Index> keys;
  if (job.visible == nullptr) {
    for (Index j = 0; j < job.keys; ++j) keys.push_back(j);
  } else {
    const auto at = static_cast<std::size_t>(i);
    for (std::size_t r = job.visible->first[at]; r < job.visible->first[at + 1]; ++r) {
      for (Index j = job.visible->runs[r].begin; j < job.visible->runs[r].end; ++j) keys.push_back(j);
    }
  }

  T most = job.sink.value_or(-kInfinity);
  std::vector<T> scores;
  for (const Index j : keys) {
    T s = 0;
    for (Index r = 0; r < job.d_k; ++r) s += job.q[i * job.q_stride + r] * job.k[j * job.k_stride + r];
    const auto map = [&](auto f) { s = s == -kInfinity ? s : f(s); };
    if (job.scale == Job<T>::Scale::divide) map([&](T x) { return x / job.by; });
    if (job.scale == Job<T>::Scale::multiply) map([&](T x) { return x * job.by; });
    if (job.softcap) map([&](T x) { return *job.softcap * std::tanh(x / *job.softcap); });
    if (job.slope && i + job.align != j) s += -(*job.slope * static_cast<T>(std::abs(i + job.align - j)));
    if (job.temperature) map([&](T x) { return x / *job.temperature; });
    most = std::max(most, s);
    scores.push_back(s);
  }
  // The only key that may have the maximum has it, and is 0 after the shift even where that is infinite.
  const auto may_be_most = [&](T s) { return !(most > s) && !(s > most); };
  const auto candidates = std::count_if(scores.begin(), scores.end(), may_be_most);
  const bool is_single = candidates == 1 && !(job.sink && !(most > *job.sink));
  T sum = 0;
  for (T& s : scores) {
    const bool is_zero = (is_single && may_be_most(s)) || s == kInfinity;
    s = exp_of(is_zero ? T(0) : s - most);
    sum += s;
  }
  if (job.sink) sum += exp_of(*job.sink - most);
  for (Index c = 0; c < job.d_v; ++c) {
    T read = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) read += scores[j] / sum * job.v[keys[j] * job.v_stride + c];
    output[c] = read;
  }
}

// ---- Strips, and threads -------------------------------------------------------------------------

template <class T>
T tanh_of(T x) {
  return std::tanh(x);
}

template <class T>
Adjust<T> adjust_of(const Job<T>& job) {
  Adjust<T> adjust;
  adjust.by = job.by;
  if (job.scale == Job<T>::Scale::multiply) adjust.scale = ScaleBy::factor;
  if (job.scale == Job<T>::Scale::divide) {
    adjust.scale = ScaleBy::divisor;
    // Of a power of two the reciprocal is exact, and to multiply is quicker.
    int exponent = 0;
    if (std::abs(std::frexp(job.by, &exponent)) == T(0.5) && std::isnormal(1 / job.by)) {
      adjust.scale = ScaleBy::factor;
      adjust.by = 1 / job.by;
    }
  }
  adjust.has_cap = job.softcap.has_value();
  adjust.cap = job.softcap.value_or(T(1));
  adjust.tanh = tanh_of<T>;
  adjust.has_slope = job.slope.has_value();
  adjust.slope = job.slope.value_or(T(0));
  adjust.has_temperature = job.temperature.has_value();
  adjust.temperature = job.temperature.value_or(T(1));
  adjust.has_sink = job.sink.has_value();
  adjust.sink = job.sink.value_or(T(0));
  return adjust;
}

template <class T>
void finish_rows(const Job<T>& job, Index first, Index rows, std::uint64_t undecided, T* output,
                 Index output_stride, Progress* progress) {
  for (Index i = 0; i < rows; ++i) {
    if ((undecided >> i & 1) != 0) attend_one(job, first + i, output + (first + i) * output_stride);
    if (progress != nullptr) progress->step();
  }
}

template <class T>
void attend_few(const Job<T>& job, T* output, Index output_stride, const Kernels<T>& kernels,
                Progress* progress) {
  constexpr Index kVector = 64 / sizeof(T);  // the widest there is
  const Adjust<T> adjust = adjust_of(job);
  const std::vector<Piece> pieces = pieces_of(job.visible, job.keys, 0, job.queries, job.queries);
  const Index stride = rounded_up(job.keys + kVector, kVector);
  const Room<T> scores(job.queries * stride);
  std::fill_n(scores.get(), job.queries * stride, T(0));
  Few<T> few{};
  few.q = job.q;
  few.k = job.k;
  few.v = job.v;
  few.q_stride = job.q_stride;
  few.k_stride = job.k_stride;
  few.v_stride = job.v_stride;
  few.queries = job.queries;
  few.key_count = job.keys;
  few.d_k = job.d_k;
  few.d_v = job.d_v;
  few.pieces = pieces.data();
  few.piece_count = static_cast<Length>(pieces.size());
  few.position = job.align;
  few.adjust = &adjust;
  few.empty_row_is_nan = job.empty_row_is_nan;
  few.scores = scores.get();
  few.score_stride = stride;
  few.output = output;
  few.output_stride = output_stride;
  finish_rows(job, 0, job.queries, kernels.few(few), output, output_stride, progress);
}

// Whether some q·k may overflow, or a part of its sum.  What is then a number, infinite or undefined depends
// on how often it is rounded.
template <class T>
bool may_overflow(const Job<T>& job) {
  // A maximum for each lane, or every comparison would wait for the one before.
  const auto largest = [&](const T* rows, Index count, Index stride) {
    constexpr Index kLanes = 16;
    T most[kLanes] = {};
    const Index whole = job.d_k / kLanes * kLanes;
    for (Index i = 0; i < count; ++i, rows += stride) {
      for (Index r = 0; r < whole; r += kLanes) {
        for (Index l = 0; l < kLanes; ++l) {
          const T size = std::abs(rows[r + l]);
          most[l] = most[l] < size ? size : most[l];  // not std::max, which compilers leave one by one
        }
      }
      for (Index r = whole; r < job.d_k; ++r) most[0] = std::max(most[0], std::abs(rows[r]));
    }
    return static_cast<double>(*std::max_element(most, most + kLanes));
  };
  const double most = largest(job.q, job.queries, job.q_stride) * largest(job.k, job.keys, job.k_stride);
  return !(most * static_cast<double>(job.d_k) < static_cast<double>(std::numeric_limits<T>::max() / 4));
}

// What one thread works in.
template <class T>
struct Bench {
  Bench(const Job<T>& job, const Kernels<T>& kernels, bool is_online)
      : q_columns(job.d_k * kernels.rows),
        scores((is_online ? kBlock + kernels.columns : rounded_up(job.keys, kernels.columns)) * kernels.rows),
        weights(kBlock * kernels.rows),
        sums(rounded_up(job.d_v, kernels.columns) * kernels.rows) {}
  Room<T> q_columns, scores, weights, sums;
};

}  // namespace

bool is_available(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return true;
    case Isa::avx2:
      return runs_avx2();
    case Isa::avx512:
      return runs_avx512();
  }
  return false;
}

Isa best_isa() {
  if (is_available(Isa::avx512)) return Isa::avx512;
  return is_available(Isa::avx2) ? Isa::avx2 : Isa::baseline;
}

template <class T>
void attend(const Job<T>& job, T* output, Index output_stride, const How& how, Progress* progress) {
  const Kernels<T>& kernels = kernels_of<T>(how.isa);
  if (job.queries <= kMostFew) {
    attend_few(job, output, output_stride, kernels, progress);
    return;
  }
  const bool is_online = how.is_online && !may_overflow(job);
  const Adjust<T> adjust = adjust_of(job);
  const Room<T> keys = panels_of_rows(job.k, job.keys, job.d_k, job.k_stride, kernels.columns, how.threads);
  const bool are_whole = job.d_v % kernels.columns == 0;  // columns that need no zeros beside them
  const Room<T> values =
      are_whole ? Room<T>(0)
                : panels_of_columns(job.v, job.keys, job.d_v, job.v_stride, kernels.columns, how.threads);
  const Index strips = (job.queries + kernels.rows - 1) / kernels.rows;
  const auto threads = static_cast<std::size_t>(std::clamp<Index>(how.threads, 1, strips));
  std::vector<Bench<T>> benches;
  for (std::size_t i = 0; i < threads; ++i) benches.emplace_back(job, kernels, is_online);

  // The last queries see most keys: they go first, so that no thread is left with a long strip at the end.
  share(strips, threads, [&](Index nth, std::size_t thread) {
    const Index first = (strips - 1 - nth) * kernels.rows;
    const Index rows = std::min(kernels.rows, job.queries - first);
    const std::vector<Piece> pieces = pieces_of(job.visible, job.keys, first, rows, kernels.rows);
    const Bench<T>& bench = benches[thread];
    Strip<T> strip{};
    strip.q = job.q + first * job.q_stride;
    strip.q_stride = job.q_stride;
    strip.rows = rows;
    strip.keys = keys.get();
    strip.values = are_whole ? job.v : values.get();
    strip.value_panel = are_whole ? kernels.columns : job.keys * kernels.columns;
    strip.value_step = are_whole ? job.v_stride : kernels.columns;
    strip.key_count = job.keys;
    strip.d_k = job.d_k;
    strip.d_v = job.d_v;
    strip.pieces = pieces.data();
    strip.piece_count = static_cast<Length>(pieces.size());
    strip.position = first + job.align;
    strip.adjust = &adjust;
    strip.empty_row_is_nan = job.empty_row_is_nan;
    strip.q_columns = bench.q_columns.get();
    strip.scores = bench.scores.get();
    strip.weights = bench.weights.get();
    strip.sums = bench.sums.get();
    strip.output = output + first * output_stride;
    strip.output_stride = output_stride;
    const std::uint64_t undecided = is_online ? kernels.online(strip) : kernels.strip(strip);
    finish_rows(job, first, rows, undecided, output, output_stride, progress);
  });
}

template void attend(const Job<double>&, double*, Index, const How&, Progress*);
template void attend(const Job<float>&, float*, Index, const How&, Progress*);

// ---- Again ---------------------------------------------------------------------------------------

void attend_again(const AgainJob& job, Index query, DoubleDouble* output, Isa isa) {
  const Job<double>& upper = job.upper;
  const std::vector<Piece> pieces = pieces_of(upper.visible, upper.keys, query, 1, 1);
  Index keys = kMostLanesAgain;
  for (const Piece& piece : pieces) keys += piece.end - piece.begin;
  const Room<double> hi(keys);
  const Room<double> lo(keys);
  Again again{};
  again.q = {upper.q, job.q, upper.q_stride, job.q_stride};
  again.k = {upper.k, job.k, upper.k_stride, job.k_stride};
  again.v = {upper.v, job.v, upper.v_stride, job.v_stride};
  again.query = query;
  again.d_k = upper.d_k;
  again.d_v = upper.d_v;
  again.pieces = pieces.data();
  again.piece_count = static_cast<Length>(pieces.size());
  again.position = query + upper.align;
  if (upper.scale == Job<double>::Scale::multiply) again.scale = ScaleBy::factor;
  if (upper.scale == Job<double>::Scale::divide) again.scale = ScaleBy::divisor;
  again.has_cap = upper.softcap.has_value();
  again.has_slope = upper.slope.has_value();
  again.has_temperature = upper.temperature.has_value();
  again.has_sink = upper.sink.has_value();
  again.by = job.by;
  again.cap = job.softcap;
  again.slope = job.slope;
  again.temperature = job.temperature;
  again.sink = job.sink;
  again.hi = hi.get();
  again.lo = lo.get();
  again.output = output;
  table_of(isa).again(again);
}

void project_again(const AgainMatrix& x, Index rows, const AgainMatrix& w, Index depth, Index columns,
                   const AgainMatrix* b, double* hi, double* lo, const How& how) {
  const auto view = [](const AgainMatrix& m) {
    return DoubleDoubleRows{m.hi, m.lo, m.hi_stride, m.lo_stride};
  };
  ProjectAgain work{.x = view(x),
                    .w = view(w),
                    .b = b != nullptr ? view(*b) : DoubleDoubleRows{},
                    .begin = 0,
                    .end = rows,
                    .depth = depth,
                    .columns = columns,
                    .hi = hi,
                    .lo = lo};
  constexpr Index kRowsAtOnce = 32;
  const Index pieces = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  share(pieces, static_cast<std::size_t>(std::clamp<Index>(how.threads, 1, std::max<Index>(pieces, 1))),
        [&, project = table_of(how.isa).project_again](Index piece, std::size_t) {
          ProjectAgain part = work;
          part.begin = piece * kRowsAtOnce;
          part.end = std::min(rows, part.begin + kRowsAtOnce);
          project(part);
        });
}

// ---- For traces ----------------------------------------------------------------------------------

namespace {

// `lanes` in panels of kernels.rows, `rows` in panels of kernels.columns → result [rows, lanes].
Matrix product(const Room<double>& of_rows, Index rows, const Room<double>& of_lanes, Index lanes,
               Index depth, const Kernels<double>& kernels, const How& how) {
  Matrix result(rows, lanes);
  const Index bands = (lanes + kernels.rows - 1) / kernels.rows;
  const auto threads = static_cast<std::size_t>(std::clamp<Index>(how.threads, 1, std::max<Index>(bands, 1)));
  const Index square = kernels.rows * kernels.columns;
  const Room<double> squares(square * static_cast<Index>(threads));
  share(bands, threads, [&](Index band, std::size_t thread) {
    double* const tile = squares.get() + square * static_cast<Index>(thread);
    const Index lane = band * kernels.rows;
    const Index width = std::min(kernels.rows, lanes - lane);
    for (Index row = 0; row < rows; row += kernels.columns) {
      kernels.product(of_lanes.get() + lane * depth, of_rows.get() + row * depth, depth, tile);
      for (Index j = 0; j < std::min(kernels.columns, rows - row); ++j) {
        std::copy_n(tile + j * kernels.rows, width, &result(row + j, lane));
      }
    }
  });
  return result;
}

}  // namespace

Matrix dot_rows(const Matrix& q, const Matrix& k, const How& how) {
  const Kernels<double>& kernels = kernels_of<double>(how.isa);
  return product(panels_of_rows(q.data(), q.rows(), q.cols(), q.cols(), kernels.columns, how.threads),
                 q.rows(), panels_of_rows(k.data(), k.rows(), k.cols(), k.cols(), kernels.rows, how.threads),
                 k.rows(), q.cols(), kernels, how);
}

Matrix project(const Eigen::Ref<const Matrix>& x, const Eigen::Ref<const Matrix>& w, const How& how) {
  const Kernels<double>& kernels = kernels_of<double>(how.isa);
  return product(panels_of_rows(x.data(), x.rows(), x.cols(), x.outerStride(), kernels.columns, how.threads),
                 x.rows(),
                 panels_of_columns(w.data(), w.rows(), w.cols(), w.outerStride(), kernels.rows, how.threads),
                 w.cols(), w.rows(), kernels, how);
}

void exp_all(double* x, Index count, const How& how) { kernels_of<double>(how.isa).exp_all(x, count); }

}  // namespace qkv::fast

// Attention of one head for sizes that no trace could hold: nothing as large as the table of scores is ever
// made.
//
// Two ways.  The exact order is the arithmetic of a trace on plain doubles (run/trace.h, RunOptions::plain)
// bit for bit, on every processor and with any number of threads.  Online is faster; its last digits may
// differ.  bound.h says by how much at most either is off from the true real numbers.
//
// Room: the keys once more (and the values, when d_v is no multiple of 8), and for each thread the scores of
// at most 24 queries (48 in floats).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/key_runs.h"
#include "base/matrix.h"
#include "base/progress.h"

namespace qkv::fast {

enum class Isa { baseline, avx2, avx512 };

bool is_available(Isa isa);  // in this build, on this processor
Isa best_isa();

// One head.  All numbers are finite; at least one key.  Matrices are row-major, with a stride in numbers, so
// that a head can stand in a wide matrix.
template <class T>
struct Job {
  const T* q = nullptr;  // [queries, d_k]
  const T* k = nullptr;  // [keys, d_k]
  const T* v = nullptr;  // [keys, d_v]
  Index queries = 0, keys = 0, d_k = 0, d_v = 0;
  Index q_stride = 0, k_stride = 0, v_stride = 0;

  enum class Scale { none, divide, multiply };
  Scale scale = Scale::none;
  T by = 1;
  std::optional<T> softcap;
  std::optional<T> slope;  // ALiBi: −slope·|i + align − j|
  Index align = 0;
  std::optional<T> temperature;
  std::optional<T> sink;             // the logit of a key without a value
  const KeyRuns* visible = nullptr;  // null: every key to every query
  bool empty_row_is_nan = false;     // else a query that sees nothing reads zeros
};

struct How {
  Isa isa = best_isa();
  int threads = 1;
  bool is_online = false;
};

// → output [queries, d_v].  One step of progress for each query.
// Online keeps to the exact order where a product of a query and a key might overflow, and for four queries
// or fewer, which wait for memory and not for arithmetic.
template <class T>
void attend(const Job<T>& job, T* output, Index output_stride, const How& how = {},
            Progress* progress = nullptr);

// ---- For traces: the products and exponentials of a large problem, in the bits of ops/kernels.h.

Matrix dot_rows(const Matrix& q, const Matrix& k, const How& how = {});  // Q·Kᵀ, [n, m]
Matrix project(const Eigen::Ref<const Matrix>& x, const Eigen::Ref<const Matrix>& w,
               const How& how = {});  // X·W, [n, e]
void exp_all(double* x, Index count, const How& how = {});

}  // namespace qkv::fast

// The arithmetic of attention for one width of vectors; compiled once for each by kernel_*.cpp.
//
// Everything is a loop over the keys, in their order, and every sum is added up from left to right as on
// paper; how wide a vector is, or how many rows are computed together, changes no bit.
#include "fast/kernel_again.h"
#include "fast/kernel_few.h"
#include "fast/kernel_strips.h"

namespace qkv::fast::QKV_LANES {
namespace {

template <class T>
void exp_all(T* x, Length count) {
  constexpr Length kLanes = Sizes<T>::kLanes;
  Length i = 0;
  for (; i + kLanes <= count; i += kLanes) store<T>(x + i, exponential<T, Range::any, Separate>(load(x + i)));
  for (; i < count; ++i) x[i] = exponential<T, Range::any, Separate>(all<T>(x[i]))[0];
}

template <class T>
constexpr Kernels<T> kKernels{Sizes<T>::kRows, Sizes<T>::kColumns, strip<T>,  online<T>,
                              few<T>,          product<T>,         exp_all<T>};

}  // namespace

const Table kTable{kKernels<double>, kKernels<float>, again, project_again};

}  // namespace qkv::fast::QKV_LANES

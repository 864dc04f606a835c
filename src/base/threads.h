// Work shared by several threads.
//
// A thread that was just made stands on the processor of the one that made it, and is moved to a free one
// only milliseconds later: in a job of ten, too late.  So those that help are made before a large input is
// read, and kept.  Between two pieces of work they look out for the next one for a moment, and then sleep;
// who has work begins at once and never waits for a helper that has not begun.
#pragma once

#include <cstddef>
#include <type_traits>

namespace qkv {

// So many threads, this one included, may work at once from now on; the others stand ready.   count ≥ 1
void use_threads(int count);
// As many as were asked for last; 1 before.
int threads();

namespace threads_detail {
using Call = void (*)(void* work, std::ptrdiff_t piece, std::size_t thread);
void share(std::ptrdiff_t count, std::size_t threads, Call call, void* work);
}  // namespace threads_detail

// work(i, thread) for i = 0 … count − 1, begun in this order, each by one of the threads 0 … threads − 1, of
// which this one is 0.  Back when all is done.  What a piece of work throws is thrown here, and no further
// one is begun.  Within a piece of work everything is done by its own thread, as its thread 0.
template <class Work>
void share(std::ptrdiff_t count, std::size_t threads, Work&& work) {
  using Own = std::remove_reference_t<Work>;
  threads_detail::share(
      count, threads,
      [](void* own, std::ptrdiff_t piece, std::size_t thread) { (*static_cast<Own*>(own))(piece, thread); },
      const_cast<void*>(static_cast<const void*>(&work)));
}

// rows(begin, end) for consecutive ranges that make up [0, count), shared where that is worth it.
//   numbers_each  how many numbers a row looks at
template <class Rows>
void share_rows(std::ptrdiff_t count, std::ptrdiff_t numbers_each, Rows&& rows) {
  constexpr std::ptrdiff_t kWorthwhile = 1 << 15;  // numbers; less is done before a helper wakes
  constexpr std::ptrdiff_t kRangesEach = 4;        // so that no thread waits long for another
  const std::ptrdiff_t most = threads();
  if (most == 1 || count * numbers_each < kWorthwhile) return rows(std::ptrdiff_t{0}, count);
  const std::ptrdiff_t ranges = count < most * kRangesEach ? count : most * kRangesEach;
  share(ranges, static_cast<std::size_t>(most),
        [&](std::ptrdiff_t i, std::size_t) { rows(count * i / ranges, count * (i + 1) / ranges); });
}

}  // namespace qkv

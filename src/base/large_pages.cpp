#include "base/large_pages.h"

#include <cstdint>
#include <cstdlib>  // tells __GLIBC__ too

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace qkv {

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)

// The heap grows once by as much as is needed, and large blocks are taken from it instead of being mapped one
// by one, so that pages that were freed are used again.
void expect_large_matrices(std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{8} << 20;
  constexpr std::size_t kMost = std::size_t{1} << 30;
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  constexpr int kMostInHeap = 32 << 20;  // what glibc allows
  constexpr int kUsualPad = 128 << 10;
  if (bytes < kLeast || bytes > kMost) return;
  mallopt(M_MMAP_THRESHOLD, kMostInHeap);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(kMost - 1));
  mallopt(M_TOP_PAD, static_cast<int>(bytes));
  void* const first = std::malloc(kLeast);
  const auto begin = (reinterpret_cast<std::uintptr_t>(first) + kLargePage - 1) / kLargePage * kLargePage;
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0)) / kLargePage * kLargePage;
  if (first != nullptr && begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  std::free(first);
  mallopt(M_TOP_PAD, kUsualPad);
}

#else

void expect_large_matrices(std::size_t) {}

#endif

}  // namespace qkv

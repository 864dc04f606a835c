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

namespace {
constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
}

// The heap grows once by as much as is needed, and large blocks are taken from it instead of being mapped one
// by one, so that pages that were freed are used again.
void expect_large_matrices(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  constexpr int kMostInHeap = 32 << 20;  // what glibc allows
  constexpr int kUsualPad = 128 << 10;
  if (bytes < kLargePage || bytes > kMost) return;
  mallopt(M_MMAP_THRESHOLD, kMostInHeap);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(kMost - 1));
  mallopt(M_ARENA_MAX, 1);  // threads take theirs from there too
  mallopt(M_TOP_PAD, static_cast<int>(bytes + kLargePage));
  const auto heap_end = [] { return reinterpret_cast<std::uintptr_t>(sbrk(0)); };
  // A large page of which a small one was touched stays small: what lies before the first is taken and never
  // used, and more than the heap has left, so that it grows.
  const std::uintptr_t before = heap_end();
  const std::uintptr_t begin = (before + 2 * kUsualPad + kLargePage - 1) / kLargePage * kLargePage;
  [[maybe_unused]] static void* volatile never_touched = nullptr;
  never_touched = std::malloc(begin - before);
  const std::uintptr_t end = heap_end() / kLargePage * kLargePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  mallopt(M_TOP_PAD, kUsualPad);
}

#else

void expect_large_matrices(std::size_t) {}

#endif

}  // namespace qkv

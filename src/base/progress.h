// How far a long piece of work has come: its loops count, and whoever likes may look, from another thread
// too. Counting costs nothing worth measuring, and the work does not care whether anybody looks.
#pragma once

#include <algorithm>
#include <atomic>

namespace qkv {

// A piece of work of so many steps, as long as it lives.  Only the outermost counts: of a class of sheets
// each makes traces of its own, and what is told is how many sheets are done.
class Progress {
 public:
  explicit Progress(long long steps) : is_outermost_(pieces_++ == 0) {
    if (!is_outermost_) return;
    done_ = 0;
    steps_ = steps;
  }
  ~Progress() {
    --pieces_;
    if (is_outermost_) steps_ = 0;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step() {
    if (is_outermost_) done_.fetch_add(1, std::memory_order_relaxed);
  }

  // Of the piece that lives now, from 0 to 100; -1 when there is none.
  static int percent() {
    const long long steps = steps_;
    return steps <= 0 ? -1 : static_cast<int>(std::min<long long>(done_, steps) * 100 / steps);
  }

 private:
  static inline int pieces_ = 0;  // all of one thread
  static inline std::atomic<long long> done_ = 0;
  static inline std::atomic<long long> steps_ = 0;
  bool is_outermost_;
};

}  // namespace qkv

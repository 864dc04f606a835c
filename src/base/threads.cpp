#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace qkv {
namespace {

// Longer than it takes to be woken; shorter than anyone notices.
constexpr auto kLookout = std::chrono::microseconds(100);

thread_local bool is_working = false;

struct Job {
  std::ptrdiff_t count;
  threads_detail::Call call;
  void* work;
  std::atomic<std::ptrdiff_t> next = 0;
  std::atomic<bool> has_failed = false;
  std::exception_ptr why = nullptr;

  void run(std::size_t thread) {
    is_working = true;
    try {
      for (std::ptrdiff_t i = next++; i < count; i = next++) call(work, i, thread);
    } catch (...) {
      if (!has_failed.exchange(true)) why = std::current_exception();
      next = count;
    }
    is_working = false;
  }
};

// Whether `is_so` came true while looking out.  On a processor that others want too they go first: perhaps it
// is they who make it true.
template <class IsSo>
bool look_out(IsSo is_so) {
  constexpr int kLooks = 16;
  const auto until = std::chrono::steady_clock::now() + kLookout;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (is_so()) return true;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

// Begins elsewhere: a thread starts on the processor of its maker, and the system is slow to move it.
void leave_processor([[maybe_unused]] int processor) {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2 || processor < 0) return;
  CPU_CLR(static_cast<std::size_t>(processor), &allowed);
  sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

int own_processor() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

class Helpers {
 public:
  void make(std::size_t count) {
    // Signals are for the thread that cleans up after them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; count_ < count; ++count_) {
        std::thread([this, nth = count_, maker = own_processor()] {
          leave_processor(maker);
          help(nth);
        }).detach();
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: there are fewer helpers.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void share(Job& job, std::size_t helpers) {
    make(helpers);
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      wanted_ = helpers;
      ++jobs_;
    }
    begun_.notify_all();
    job.run(0);
    // Who has not begun need not.
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    if (working_ == 0) return;
    lock.unlock();
    if (look_out([this] { return working_ == 0; })) {
      lock.lock();  // the last one has let go of the job
      return;
    }
    lock.lock();
    ended_.wait(lock, [this] { return working_ == 0; });
  }

 private:
  void help(std::size_t nth) {
    for (long seen = 0;;) {
      look_out([&] { return jobs_ != seen; });
      std::unique_lock lock(mutex_);
      begun_.wait(lock, [&] { return jobs_ != seen; });
      seen = jobs_;
      Job* const job = job_;
      if (job == nullptr || nth >= wanted_) continue;
      ++working_;
      lock.unlock();
      job->run(nth + 1);
      lock.lock();
      if (--working_ == 0) ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  // Changed with the mutex held.
  std::atomic<long> jobs_ = 0;
  std::atomic<int> working_ = 0;  // helpers at the job
  Job* job_ = nullptr;
  std::size_t wanted_ = 0;
  std::size_t count_ = 0;  // of this thread alone
};

// Never destroyed: helpers wait in it until the process ends.
Helpers& helpers() {
  static Helpers& all = *new Helpers;
  return all;
}

int used = 1;

}  // namespace

void use_threads(int count) {
  used = std::max(1, count);
  if (used > 1) helpers().make(static_cast<std::size_t>(used) - 1);
}

int threads() { return used; }

namespace threads_detail {

void share(std::ptrdiff_t count, std::size_t threads, Call call, void* work) {
  const auto most = std::min(threads, static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0)));
  if (most < 2 || is_working) {
    for (std::ptrdiff_t i = 0; i < count; ++i) call(work, i, 0);
    return;
  }
  Job job{count, call, work};
  helpers().share(job, most - 1);
  if (job.why) std::rethrow_exception(job.why);
}

}  // namespace threads_detail
}  // namespace qkv

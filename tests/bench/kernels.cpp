// What tests/bench.sh cannot measure by itself: the kernels without a process around them, how fast memory is
// read, and programs, with their peak memory.  Every figure is a median.
//
//   qkv_bench isa                              the best instruction set here
//   qkv_bench attend double|float N D causal|full exact|online THREADS [ISA]
//                                              seconds
//   qkv_bench decode double|float KEYS D       seconds for one query
//   qkv_bench read BYTES                       bytes a second, read and added up by one thread
//   qkv_bench print ROWS COLS                  numbers a second: looked at, laid out and thrown away by one
//   thread qkv_bench data ROWS COLS SEED              a matrix as text, three decimals qkv_bench time COUNT
//   PROGRAM ARGUMENT...   seconds and peak KiB of a program, its output thrown away

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "fast/attend.h"
#include "problem/mask.h"
#include "render/number_rows.h"

extern char** environ;

using namespace qkv;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

// At least three times, and for about half a second; once before that, to fill the caches.
template <class F>
double seconds(F work) {
  work();
  std::vector<double> times;
  const double until = now() + 0.5;
  while (times.size() < 3 || (now() < until && times.size() < 1000)) {
    const double start = now();
    work();
    times.push_back(now() - start);
  }
  return median(times);
}

template <class T>
std::vector<T> numbers(Index count, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& number : x) number = static_cast<T>(static_cast<double>(bits() % 2001) / 1000 - 1);
  return x;
}

template <class T>
double attend(Index queries, Index keys, Index d, bool is_causal, const fast::How& how) {
  const std::vector<T> q = numbers<T>(queries * d, 1);
  const std::vector<T> k = numbers<T>(keys * d, 2);
  const std::vector<T> v = numbers<T>(keys * d, 3);
  std::vector<T> output(q.size());
  KeyRuns visible;
  fast::Job<T> job;
  job.q = q.data();
  job.k = k.data();
  job.v = v.data();
  job.queries = queries;
  job.keys = keys;
  job.d_k = job.d_v = job.q_stride = job.k_stride = job.v_stride = d;
  job.scale = fast::Job<T>::Scale::divide;
  job.by = std::sqrt(static_cast<T>(d));
  if (is_causal) {
    MaskSetting mask;
    mask.is_causal = true;
    visible = visible_keys(mask, 0, 1, queries, keys);
    job.visible = &visible;
  }
  return seconds([&] { fast::attend(job, output.data(), d, how); });
}

// Eight sums, so that an addition does not wait for the one before; what comes is asked for ahead, without
// which a core of some machines reads a quarter less.
double read(Index bytes) {
  const std::vector<std::uint64_t> memory(static_cast<std::size_t>(bytes) / 8, 1);
  volatile std::uint64_t result = 0;
  const double time = seconds([&] {
    std::uint64_t sum[8] = {};
    for (std::size_t i = 0; i + 8 <= memory.size(); i += 8) {
      __builtin_prefetch(memory.data() + i + 512);
      for (std::size_t j = 0; j < 8; ++j) sum[j] += memory[i + j];
    }
    for (const std::uint64_t part : sum) result = result + part;
  });
  return static_cast<double>(memory.size() * 8) / time;
}

double print(Index rows, Index cols) {
  const std::vector<double> numbers = ::numbers<double>(rows * cols, 1);
  NumberTable table;
  table.values = std::make_shared<const Matrix>(Eigen::Map<const Matrix>(numbers.data(), rows, cols) / 7);
  table.columns = static_cast<std::size_t>(cols);
  table.decimals = FixedDecimals(4);
  for (Index i = 0; i < rows; ++i) table.rows.push_back(i);
  table.first.assign(table.rows.size() + 1, 0);
  const NumberLayout layout{.minus_infinity = "-inf", .gap = "  ", .before_faint = "", .after_faint = ""};
  const std::vector<std::string> begins(table.rows.size());
  std::size_t bytes = 0;
  const double time = seconds([&] {
    std::vector<Index> open;
    for (Index i = 0; i < rows; ++i) {
      table.decimals.find_open(&(*table.values)(i, 0), table.columns, {1e-15, 0}, open);
    }
    const std::vector<std::size_t> widths =
        column_widths(table, layout, std::vector<std::size_t>(table.columns, 1));
    write_rows(table, layout, begins, widths, 1, [&](std::string_view piece) { bytes += piece.size(); });
  });
  if (bytes < numbers.size() * 8) std::abort();  // not everything was written
  return static_cast<double>(numbers.size()) / time;
}

void print_data(Index rows, Index cols, unsigned seed) {
  std::mt19937 bits(seed);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      std::printf("%s%.3f", j > 0 ? " " : "", static_cast<double>(bits() % 2001) / 1000 - 1);
    }
    std::putchar('\n');
  }
}

int time_program(int count, char** command) {
  std::vector<double> times;
  long peak = 0;
  for (int i = 0; i < count; ++i) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const double start = now();
    if (posix_spawnp(&child, command[0], &actions, nullptr, command, environ) != 0) return 1;
    int status = 0;
    rusage use{};
    wait4(child, &status, 0, &use);
    times.push_back(now() - start);
    posix_spawn_file_actions_destroy(&actions);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
    peak = std::max(peak, use.ru_maxrss);
  }
  std::printf("%.6f %ld\n", median(times), peak);
  return 0;
}

const char* const kIsaNames[] = {"baseline", "avx2", "avx512"};

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> word(words, words + count);
  const auto number = [&](std::size_t i) { return std::atoll(word.at(i).c_str()); };
  const std::string what = count > 1 ? word[1] : "";
  if (what == "isa") {
    std::puts(kIsaNames[static_cast<int>(fast::best_isa())]);
  } else if (what == "attend") {
    fast::How how{.threads = static_cast<int>(number(7)), .is_online = word.at(6) == "online"};
    if (count > 8) {
      for (int i = 0; i < 3; ++i) {
        if (word[8] == kIsaNames[i]) how.isa = static_cast<fast::Isa>(i);
      }
      if (!fast::is_available(how.isa)) return 1;
    }
    const Index n = number(3);
    const bool is_causal = word.at(5) == "causal";
    std::printf("%.6f\n", word.at(2) == "float" ? attend<float>(n, n, number(4), is_causal, how)
                                                : attend<double>(n, n, number(4), is_causal, how));
  } else if (what == "decode") {
    std::printf("%.9f\n", word.at(2) == "float" ? attend<float>(1, number(3), number(4), false, {})
                                                : attend<double>(1, number(3), number(4), false, {}));
  } else if (what == "read") {
    std::printf("%.0f\n", read(number(2)));
  } else if (what == "print") {
    std::printf("%.0f\n", print(number(2), number(3)));
  } else if (what == "data") {
    print_data(number(2), number(3), static_cast<unsigned>(number(4)));
  } else if (what == "time" && count > 3) {
    return time_program(static_cast<int>(number(2)), words + 3);
  } else {
    std::fputs("what it does stands at the head of tests/bench/kernels.cpp\n", stderr);
    return 2;
  }
  return 0;
}

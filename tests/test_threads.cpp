// Work shared by several threads: all of it is done, once, whoever does it.

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/threads.h"

namespace qkv::test {

TEST_CASE("every piece of work is done once, by one of as many threads as are asked for") {
  for (const std::size_t most : {1U, 2U, 5U}) {
    for (const std::ptrdiff_t count : {0, 1, 2, 1000}) {
      CAPTURE(most);
      CAPTURE(count);
      std::vector<int> done(static_cast<std::size_t>(count), 0);
      std::atomic<bool> are_known = true;
      share(count, most, [&](std::ptrdiff_t i, std::size_t thread) {
        ++done[static_cast<std::size_t>(i)];
        if (thread >= most) are_known = false;
      });
      CHECK(done == std::vector<int>(static_cast<std::size_t>(count), 1));
      CHECK(are_known);
    }
  }
}

TEST_CASE("what a piece of work throws arrives where the work was shared, and work can be shared again") {
  for (int round = 0; round < 100; ++round) {
    CHECK_THROWS_WITH_AS(share(50, 3,
                               [](std::ptrdiff_t i, std::size_t) {
                                 if (i == 20) throw std::runtime_error("piece 20");
                               }),
                         "piece 20", std::runtime_error);
    std::atomic<int> done = 0;
    share(50, 3, [&](std::ptrdiff_t, std::size_t) { ++done; });
    CHECK(done == 50);
  }
}

TEST_CASE("work within a piece of work is done by its own thread") {
  std::atomic<int> done = 0;
  share(4, 2, [&](std::ptrdiff_t, std::size_t) {
    int inside = 0;  // of one thread, or it would be lost
    share(100, 2, [&](std::ptrdiff_t, std::size_t thread) { inside += thread == 0 ? 1 : 0; });
    done += inside;
  });
  CHECK(done == 400);
}

TEST_CASE("ranges of rows make up all rows, whether they are shared or not") {
  for (const int count : {1, 3}) {
    use_threads(count);
    CHECK(threads() == count);
    for (const std::ptrdiff_t rows : {0, 1, 5, 1000}) {
      std::vector<int> seen(static_cast<std::size_t>(rows), 0);
      share_rows(rows, 100'000, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        for (std::ptrdiff_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      CHECK(seen == std::vector<int>(static_cast<std::size_t>(rows), 1));
    }
  }
  use_threads(1);
}

}  // namespace qkv::test

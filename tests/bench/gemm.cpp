// The rate of Eigen's matrix product, in operations a second: what a multiplication of matrices reaches on
// this machine. CMakeLists.txt compiles it for several instruction sets, each a program of its own.
//
//   qkv_gemm_avx2 double|float THREADS      the best of several, which is what a share should be compared
//   with

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

template <class T>
double rate() {
  using Square = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  constexpr int kSize = 2048;
  const Square a = Square::Random(kSize, kSize);
  const Square b = Square::Random(kSize, kSize);
  Square c(kSize, kSize);
  double best = 1e9;
  for (int i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    c.noalias() = a * b;
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * kSize * kSize * kSize / best;
}

}  // namespace

int main(int count, char** words) {
  const bool is_float = count > 1 && std::strcmp(words[1], "float") == 0;
  const int threads = count > 2 ? std::atoi(words[2]) : 1;
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::thread> others;
  for (double& mine : rates) others.emplace_back([&] { mine = is_float ? rate<float>() : rate<double>(); });
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double mine : rates) sum += mine;
  std::printf("%.0f\n", sum);
}

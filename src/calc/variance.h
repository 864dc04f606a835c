// Why the scores are divided by √d_k, as an experiment: many dot products of random vectors.
//
// If the numbers of q and k are independent with mean 0 and variance 1, each product has variance 1, and the
// sum of d of them variance d: a standard deviation of √d.  The softmax of such scores puts nearly everything
// on one key; divided by √d they have standard deviation 1 whatever d is.
//
// The same numbers on every machine: a random number is the count of ones among 64 random bits, less 32,
// over 4. That is a binomial distribution, so near to the normal one that nobody sees the difference
// (kurtosis 2.97 instead of 3), with mean 0 and variance 1 exactly; and all sums are sums of whole numbers.
// The bits come from the Mersenne Twister (std::mt19937_64), which the C++ standard fixes to the last bit,
// unlike its distributions and unlike the logarithms that normal deviates are usually made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/algebraic.h"
#include "base/text.h"
#include "report/report.h"

namespace qkv {

inline constexpr long long kKeysOfARow = 8;   // scores that one softmax shares out
inline constexpr long long kMostRows = 1000;  // softmaxes that are computed

struct VarianceQuestion {
  long long dim = 64;
  long long pairs = 100'000;
  std::uint64_t seed = 1;
};

struct VarianceResult {
  VarianceQuestion question;
  Rational mean;      // of q·k
  Rational variance;  // of q·k: the mean square distance from the mean, ÷ pairs as in np.std
  // The squared standard error of the standard deviation, (fourth moment − variance²) / (4·variance·pairs),
  // of the true distribution.
  Rational error_squared;
  std::vector<long long>
      histogram;  // [kBins] of q·k, each half a √d wide, from −4√d to 4√d, the rest in the ends
  // Of softmaxes over kKeysOfARow scores each: the mean of the largest weight, and rows where it exceeds
  // 0.99.
  struct Rows {
    std::string mean_largest;  // four decimals
    long long saturated = 0;
  };
  long long rows = 0;  // how many
  Rows unscaled;
  Rows scaled;

  bool is_within_3_errors() const;
};

inline constexpr int kBins = 16;

VarianceResult run_experiment(const VarianceQuestion& question);

Report told(const VarianceResult& result, Language language);
std::string as_json(const VarianceResult& result);  // schema qkv/variance-1

}  // namespace qkv

#include "calc/variance.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <random>

#include "base/interval.h"
#include "base/progress.h"
#include "calc/sizes.h"

namespace qkv {
namespace {

constexpr int kBits = 64;        // coins of one random number
constexpr long long kUnit = 16;  // a product of two numbers is a multiple of 1/16
constexpr int kDecimals = 4;
constexpr int kBarWidth = 40;
constexpr unsigned kPrecision = 30;  // decimal digits: far more than four decimals can be in doubt about
constexpr const char* kSaturated = "0.99";

// 4 times a random number of mean 0 and variance 1.
long long draw(std::mt19937_64& bits) { return std::popcount(bits()) - kBits / 2; }

// 16·(q·k) of the next two vectors.
long long dot_product(std::mt19937_64& bits, long long dim) {
  long long sum = 0;
  for (long long r = 0; r < dim; ++r) {
    const long long q = draw(bits);  // the order of two operands is the compiler's, the order of lines is not
    const long long k = draw(bits);
    sum += q * k;
  }
  return sum;
}

// ⌊x / (√d / 2)⌋ for x = product / 16, in whole numbers: ⌊√(product² / (64·d))⌋ for x ≥ 0.
int bin_of(long long product, long long dim) {
  const Integer square = Integer(product) * product;
  const Integer step = Integer(64) * dim;
  Integer halves = sqrt(Integer(square / step));
  if (product < 0) halves = -halves - (halves * halves * step == square ? 0 : 1);
  const Integer last = kBins / 2 - 1;
  const Integer first = -kBins / 2;
  return std::clamp(halves, first, last).convert_to<int>() + kBins / 2;
}

// Proved: both ends of the interval print alike.
std::string root_text(const Rational& of, int decimals) {
  const PrecisionScope precision(kPrecision);
  const Interval root = sqrt(enclose(of));
  return fixed_text(root, Exact(Algebraic::root(of)), decimals).value();
}

// The largest weight of one softmax: 1 / Σ e^(s − max).
Interval largest_weight(const long long* products, const Interval& unit) {
  const long long most = *std::max_element(products, products + kKeysOfARow);
  Interval sum = 0;
  for (long long j = 0; j < kKeysOfARow; ++j) sum += exp(Interval(Interval(products[j] - most) / unit));
  return Interval(1) / sum;
}

// `unit`: what a score of 1 is in the whole numbers at hand.
VarianceResult::Rows softmax_rows(const std::vector<long long>& products, const Interval& unit) {
  VarianceResult::Rows rows;
  const std::size_t width = static_cast<std::size_t>(kKeysOfARow);
  const Interval limit = enclose_decimal(kSaturated);
  Interval total = 0;
  for (std::size_t at = 0; at < products.size(); at += width) {
    const Interval weight = largest_weight(&products[at], unit);
    total += weight;
    rows.saturated += certainly_exceeds(weight, limit) ? 1 : 0;
  }
  const Interval mean = total / Interval(static_cast<double>(products.size() / width));
  rows.mean_largest = fixed_text(mean, kDecimals).value_or("");
  return rows;
}

// Labels of rows are written as they are, also with --ascii.
constexpr Text kDotProduct{"q.k", "q·k"};
constexpr Text kScaled{"q.k / sqrt(d)", "q·k / √d"};

class Teller {
 public:
  Teller(const VarianceResult& result, Language language) : r_(result), language_(language) {}

  Report report() {
    const VarianceQuestion& q = r_.question;
    add(Heading{0,
                say({"{0} dot products of vectors of {1} random numbers, seed {2}",
                     "{0} 次点积，向量各有 {1} 个随机数，种子 {2}"},
                    grouped(q.pairs), q.dim, q.seed)
                    .in(language_),
                "moments"});
    add(Paragraph{in({"A random number is the count of ones among 64 random bits, less 32, over 4: mean 0, "
                      "variance 1, nearly normal, and the same on every machine.",
                      "每个随机数是 64 个随机比特中 1 的个数，减 32，再除以 4：均值 0，方差 1，近似正态，"
                      "在任何机器上都相同。"}),
                  Tone::faint});
    moments();
    judgement();
    add(Heading{0, in({"How the dot products spread", "点积的分布"}), "histogram"});
    add(histogram());
    if (r_.rows > 0) {
      add(Heading{0, in({"What a softmax makes of such scores", "这样的分数经过 softmax"}), "softmax"});
      softmaxes();
    }
    return std::move(report_);
  }

 private:
  void add(Block block) { report_.blocks.push_back(std::move(block)); }
  std::string in(const Text& text) const { return text.in(language_); }

  void moments() {
    const Rational d = r_.question.dim;
    Table table;
    table.columns = {in({"mean", "均值"}), in({"std", "标准差"}), in({"expected std", "理论标准差"})};
    table.row_labels = {in(kDotProduct), in(kScaled)};
    const std::string mean = fixed_text(Exact(r_.mean), kDecimals).value();
    const Rational variance = r_.variance;
    table.rows.push_back({{mean}, {root_text(variance, kDecimals)}, {root_text(d, kDecimals)}});
    table.rows.push_back({{scaled_mean()}, {root_text(variance / d, kDecimals)}, {root_text(1, kDecimals)}});
    add(std::move(table));
  }

  std::string scaled_mean() const {
    const std::string size = root_text(r_.mean * r_.mean / r_.question.dim, kDecimals);
    const bool is_negative = r_.mean < 0 && size.find_first_not_of("0.") != std::string::npos;
    return (is_negative ? "-" : "") + size;
  }

  void judgement() {
    const std::string error = root_text(r_.error_squared, kDecimals);
    const std::string thrice = root_text(r_.error_squared * 9, kDecimals);
    const long long d = r_.question.dim;
    if (r_.is_within_3_errors()) {
      add(Paragraph{
          say({"The standard error of the std is {0}: it lies within 3 of them, {1}, of √{2} = {3}.",
               "标准差的标准误是 {0}；它与 √{2} = {3} 之差在 3 个标准误（{1}）之内。"},
              error, thrice, d, root_text(d, kDecimals))
              .in(language_),
          Tone::good});
    } else {
      add(Paragraph{
          say({"The standard error of the std is {0}: it lies farther than 3 of them, {1}, from √{2} = {3}. "
               "That happens to about 3 seeds in 1,000.",
               "标准差的标准误是 {0}；它与 √{2} = {3} 之差超过 3 个标准误（{1}）。"
               "大约每 1,000 个种子会有 3 个这样。"},
              error, thrice, d, root_text(d, kDecimals))
              .in(language_),
          Tone::note});
    }
  }

  // The left edge of a bin, in halves of √d.
  std::string edge(int halves, const Rational& unit_squared) const {
    const Rational half(halves, 2);
    return (halves < 0 ? "-" : "") + root_text(half * half * unit_squared, 1);
  }

  Table histogram() const {
    Table table;
    table.columns = {in({"q.k from", "q·k 起"}), in({"q.k / sqrt(d) from", "q·k / √d 起"}),
                     in({"pairs", "对数"}), ""};
    const long long most = *std::max_element(r_.histogram.begin(), r_.histogram.end());
    for (int bin = 0; bin < kBins; ++bin) {
      const long long count = r_.histogram[static_cast<std::size_t>(bin)];
      const int halves = bin - kBins / 2;
      // To the nearest, a started one for a bin that is not empty.
      const long long length = std::max(count > 0 ? 1LL : 0LL, (2 * kBarWidth * count + most) / (2 * most));
      std::string bar;
      for (long long i = 0; i < length; ++i) bar += "█";
      const bool is_first = bin == 0;
      table.rows.push_back({{is_first ? "−∞" : edge(halves, r_.question.dim)},
                            {is_first ? "−∞" : edge(halves, 1)},
                            {grouped(count)},
                            {bar, CellRole::symbolic}});
    }
    return table;
  }

  void softmaxes() {
    add(Paragraph{say({"{0} rows of {1} scores each. A row whose largest weight is near 1 is saturated: the "
                       "gradient p·(1 − p) "
                       "is nearly 0, and nothing is learned through it.",
                       "共 {0} 行，每行 {1} 个分数。最大权重接近 1 的行就是饱和：梯度 p·(1 − p) 几乎为 "
                       "0，学不到东西。"},
                      grouped(r_.rows), kKeysOfARow)
                      .in(language_),
                  Tone::faint});
    Table table;
    table.columns = {in({"mean largest weight", "最大权重的均值"}),
                     in({"rows above 0.99", "超过 0.99 的行"})};
    table.row_labels = {in(kDotProduct), in(kScaled)};
    for (const VarianceResult::Rows& rows : {r_.unscaled, r_.scaled})
      table.rows.push_back({{rows.mean_largest}, {grouped(rows.saturated)}});
    add(std::move(table));
  }

  const VarianceResult& r_;
  Language language_;
  Report report_;
};

}  // namespace

bool VarianceResult::is_within_3_errors() const {
  // |√variance − √d| ≤ 3·error, in intervals: equality would be a miracle.
  const PrecisionScope precision(kPrecision);
  const Interval off = sqrt(enclose(variance)) - sqrt(enclose(Rational(question.dim)));
  const Interval limit = sqrt(enclose(Rational(error_squared * 9)));
  return !certainly_exceeds(Interval(off * off), Interval(limit * limit));
}

VarianceResult run_experiment(const VarianceQuestion& q) {
  VarianceResult result;
  result.question = q;
  result.histogram.assign(kBins, 0);
  std::mt19937_64 bits(q.seed);
  Integer sum = 0;
  Integer squares = 0;
  std::vector<long long> kept;  // for the softmaxes
  const long long rows = std::min(kMostRows, q.pairs / kKeysOfARow);
  Progress progress(q.pairs);
  for (long long pair = 0; pair < q.pairs; ++pair) {
    progress.step();
    const long long product = dot_product(bits, q.dim);
    sum += product;
    squares += Integer(product) * product;
    ++result.histogram[static_cast<std::size_t>(bin_of(product, q.dim))];
    if (pair < rows * kKeysOfARow) kept.push_back(product);
  }
  result.mean = Rational(sum, Integer(kUnit) * q.pairs);
  result.variance = Rational(squares, Integer(kUnit * kUnit) * q.pairs) - result.mean * result.mean;
  // A number has kurtosis 3 − 2/64, a product of two the square of that; what exceeds 3 shrinks as 1/d.
  const Rational kurtosis = 3 - Rational(2, kBits);
  result.error_squared = (2 * Rational(q.dim) + kurtosis * kurtosis - 3) / (4 * Rational(q.pairs));
  result.rows = rows;
  if (rows > 0) {
    const PrecisionScope precision(kPrecision);
    const Interval unit = static_cast<double>(kUnit);
    result.unscaled = softmax_rows(kept, unit);
    result.scaled = softmax_rows(kept, Interval(unit * sqrt(enclose(Rational(q.dim)))));
  }
  return result;
}

Report told(const VarianceResult& result, Language language) { return Teller(result, language).report(); }

std::string as_json(const VarianceResult& r) {
  const auto number = [](const std::string& text) { return std::stod(text); };
  constexpr int kJsonDecimals = 12;
  nlohmann::ordered_json json;
  json["schema"] = "qkv/variance-1";
  json["dim"] = r.question.dim;
  json["pairs"] = r.question.pairs;
  json["seed"] = r.question.seed;
  json["mean"] = number(fixed_text(Exact(r.mean), kJsonDecimals).value());
  json["std"] = number(root_text(r.variance, kJsonDecimals));
  json["std_scaled"] = number(root_text(r.variance / r.question.dim, kJsonDecimals));
  json["expected_std"] = number(root_text(r.question.dim, kJsonDecimals));
  json["standard_error"] = number(root_text(r.error_squared, kJsonDecimals));
  json["within_3_standard_errors"] = r.is_within_3_errors();
  json["histogram"] = r.histogram;
  if (r.rows == 0) return json.dump(2) + "\n";
  json["softmax"] = {{"rows", r.rows},
                     {"keys", kKeysOfARow},
                     {"mean_largest_weight", number(r.unscaled.mean_largest)},
                     {"mean_largest_weight_scaled", number(r.scaled.mean_largest)},
                     {"saturated", r.unscaled.saturated},
                     {"saturated_scaled", r.scaled.saturated}};
  return json.dump(2) + "\n";
}

}  // namespace qkv

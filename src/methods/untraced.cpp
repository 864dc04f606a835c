#include "methods/untraced.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/bounded.h"
#include "base/decimal.h"
#include "fast/attend_again.h"
#include "fast/bound.h"
#include "input/float_bytes.h"
#include "input/low_parts.h"

namespace qkv {
namespace {

// A given matrix as the kernels want it: where it stands, or converted.
template <class T>
class Values {
 public:
  explicit Values(const Given& given) : cols_(given.cols) {
    if constexpr (std::is_same_v<T, double>) {
      if (given.numbers) {
        at_ = given.numbers->values.get();
        return;
      }
    }
    own_.reserve(static_cast<std::size_t>(given.rows * given.cols));
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j)
        own_.push_back(static_cast<T>(given.numbers ? given.numbers->at(i, j) : given.at(i, j).value));
    }
    at_ = own_.data();
  }

  const T* column(Index j) const { return at_ + j; }
  Index stride() const { return cols_; }

 private:
  Index cols_;
  std::vector<T> own_;
  const T* at_ = nullptr;
};

std::optional<KeyRuns> visible_keys_of(const Problem& problem) {
  if (problem.mask_rule) {
    return visible_keys(*problem.mask_rule, problem.align, problem.first_index, problem["Q"].rows,
                        problem["K"].rows);
  }
  return problem.allowed ? std::optional(key_runs(*problem.allowed)) : std::nullopt;
}

template <class T>
std::optional<T> value_in(const std::optional<Number>& number) {
  return number ? std::optional(static_cast<T>(number->value)) : std::nullopt;
}

// A problem as jobs of its heads.
template <class T>
class Heads {
 public:
  explicit Heads(const Problem& problem)
      : problem_(problem),
        q_(problem["Q"]),
        k_(problem["K"]),
        v_(problem["V"]),
        visible_(visible_keys_of(problem)) {
    using Scale = typename fast::Job<T>::Scale;
    common_.queries = problem["Q"].rows;
    common_.keys = problem["K"].rows;
    common_.d_k = problem["Q"].cols / problem.heads;
    common_.d_v = problem["V"].cols / problem.kv_heads;
    common_.q_stride = q_.stride();
    common_.k_stride = k_.stride();
    common_.v_stride = v_.stride();
    common_.visible = visible_ ? &*visible_ : nullptr;
    switch (problem.scale.kind) {
      case ScaleKind::none:
        break;
      case ScaleKind::root:
        common_.scale = Scale::divide;
        common_.by = std::sqrt(static_cast<T>(problem.scale.d_k.value));
        break;
      case ScaleKind::factor:
        common_.scale = Scale::multiply;
        common_.by = static_cast<T>(problem.scale.factor.value);
        break;
    }
    common_.softcap = value_in<T>(problem.softcap);
    common_.temperature = value_in<T>(problem.temperature);
    common_.align = problem.align;
    common_.empty_row_is_nan = problem.empty_row == EmptyRow::nan;
  }
  Heads(const Heads&) = delete;
  Heads& operator=(const Heads&) = delete;

  // Where head h has its columns: of Q, and of what it shares with its group.
  Index query_column(Index h) const { return h * common_.d_k; }
  Index key_column(Index h) const { return group(h) * common_.d_k; }
  Index value_column(Index h) const { return group(h) * common_.d_v; }

  fast::Job<T> job(Index h) const {
    const auto head = static_cast<std::size_t>(h);
    fast::Job<T> job = common_;
    job.q = q_.column(query_column(h));
    job.k = k_.column(key_column(h));
    job.v = v_.column(value_column(h));
    if (!problem_.slopes.empty()) job.slope = static_cast<T>(problem_.slopes[head].value);
    if (!problem_.sink_logits.empty()) job.sink = static_cast<T>(problem_.sink_logits[head].value);
    return job;
  }

 private:
  Index group(Index h) const { return h / (problem_.heads / problem_.kv_heads); }

  const Problem& problem_;
  Values<T> q_, k_, v_;
  std::optional<KeyRuns> visible_;
  fast::Job<T> common_;
};

template <class T>
Untraced run(const Problem& problem, const fast::How& how) {
  const Heads<T> heads(problem);
  const Index queries = problem["Q"].rows;
  const Index d_v = problem["V"].cols / problem.kv_heads;
  MatrixOf<T> result(queries, problem.heads * d_v);
  Untraced untraced;
  untraced.bounds.resize(queries, problem.heads);
  Progress progress(queries * problem.heads);
  for (Index h = 0; h < problem.heads; ++h) {
    const fast::Job<T> job = heads.job(h);
    fast::attend(job, result.data() + h * d_v, result.cols(), how, &progress);
    const std::vector<double> bounds = fast::error_bounds(job, how.is_online);
    for (Index i = 0; i < queries; ++i) untraced.bounds(i, h) = bounds[static_cast<std::size_t>(i)];
  }
  if constexpr (std::is_same_v<T, double>) {
    untraced.values = std::make_shared<const Matrix>(std::move(result));
  } else {
    untraced.values = std::make_shared<const Matrix>(result.template cast<double>());
  }
  return untraced;
}

Number as_written(const Numbers& numbers, Index row, Index col) {
  const double value = numbers.at(row, col) + 0.0;  // no −0: it is the number 0
  Number number;
  number.text = numbers.are_doubles ? all_digits(value) : shortest_text(value);
  number.value = value;
  number.is_decimal = number.text.find('e') == std::string::npos;
  const std::size_t point = number.text.find('.');
  if (number.is_decimal && point != std::string::npos)
    number.decimals = static_cast<int>(number.text.size() - point - 1);
  return number;
}

// Rows [first, last) with their cells.
Given rows_with_cells(const Given& given, Index first, Index last) {
  Given part = given;
  part.rows = last - first;
  part.numbers = nullptr;
  part.row_labels.clear();
  part.cells.clear();
  for (Index i = first; i < last; ++i) {
    for (Index j = 0; j < given.cols; ++j)
      part.cells.push_back(given.numbers ? as_written(*given.numbers, i, j) : given.at(i, j));
  }
  return part;
}

}  // namespace

bool can_be_untraced(const Problem& p) {
  const auto is_known = [](const auto& matrix) {
    return matrix.first == "Q" || matrix.first == "K" || matrix.first == "V" || matrix.first == "mask";
  };
  const auto holds_numbers = [](const Given& given) {
    return given.numbers || std::all_of(given.cells.begin(), given.cells.end(), [](const Number& number) {
             return number.kind == Number::Kind::finite;
           });
  };
  return p.entry == Entry::qkv && p.has("Q") && p.has("K") && p.has("V") &&
         std::all_of(p.given.begin(), p.given.end(), is_known) && holds_numbers(p["Q"]) &&
         holds_numbers(p["K"]) && holds_numbers(p["V"]) && p.method == MethodKind::softmax &&
         p.score == ScoreKind::dot && p.read == ReadKind::soft && p.rope.pairs == Rope::Pairs::none &&
         !p.tile && !p.wants_gradient && !p.has_residual && p.stack.empty() && p.hops == 1 &&
         p.is_dropped.empty() && p.head_masks.empty() && p.round == Rounding::exact;
}

double untraced_work(const Problem& p) {
  const double pairs = static_cast<double>(p["Q"].rows) * static_cast<double>(p["K"].rows);
  const Index widths = p["Q"].cols + p["V"].cols / p.kv_heads * p.heads;
  return pairs * static_cast<double>(widths);
}

double untraced_bytes(const Problem& p, int threads) {
  constexpr double kRowsAtOnce = 48;  // of queries whose scores a thread holds
  const double strips = std::ceil(static_cast<double>(p["Q"].rows) / kRowsAtOnce);
  const auto size = [](const Given& given) {
    return static_cast<double>(given.rows) * static_cast<double>(given.cols);
  };
  const double result =
      static_cast<double>(p["Q"].rows) * static_cast<double>(p["V"].cols / p.kv_heads * p.heads);
  const double scores =
      kRowsAtOnce * static_cast<double>(p["K"].rows) * std::min(strips, static_cast<double>(threads));
  return static_cast<double>(sizeof(double)) * (result + size(p["K"]) + size(p["V"]) + scores);
}

Untraced untraced(const Problem& problem, const fast::How& how) { return run<double>(problem, how); }
Untraced untraced_in_floats(const Problem& problem, const fast::How& how) { return run<float>(problem, how); }

namespace {

// The lower parts of a given matrix.
class LowParts {
 public:
  explicit LowParts(const Given& given) : cols_(given.cols) {
    const bool are_doubles = given.numbers && given.numbers->are_doubles;
    if (are_doubles) {
      constexpr double kLarge = 0x1p500;
      const double* const values = given.numbers->values.get();
      are_known_ = std::all_of(values, values + given.rows * given.cols,
                               [](double x) { return std::abs(x) < kLarge; });
      rests_.assign(static_cast<std::size_t>(cols_), 0);
      stride_ = 0;
      return;
    }
    auto rests = given.numbers ? low_parts(*given.numbers) : low_parts(given.cells);
    are_known_ = rests.has_value();
    if (rests) rests_ = std::move(*rests);
    stride_ = cols_;
  }

  bool are_known() const { return are_known_; }
  const double* column(Index j) const { return rests_.data() + j; }
  Index stride() const { return stride_; }

 private:
  Index cols_;
  Index stride_ = 0;  // of doubles one row of zeros, for all
  bool are_known_ = false;
  std::vector<double> rests_;
};

}  // namespace

struct UntracedRows::Own {
  explicit Own(const Problem& problem) : heads(problem), q(problem["Q"]), k(problem["K"]), v(problem["V"]) {}

  Heads<double> heads;
  LowParts q, k, v;
  std::vector<fast::AgainJob> jobs;  // of each head
  std::vector<std::vector<double>> bounds;
};

UntracedRows::UntracedRows(const Problem& problem) {
  if (!kDoublesArePlain || !are_numbers_known(problem)) return;
  auto own = std::make_unique<Own>(problem);
  if (!own->q.are_known() || !own->k.are_known() || !own->v.are_known()) return;
  bool are_known = true;
  const auto take = [&](DoubleDouble& into, const std::optional<DoubleDouble>& setting) {
    are_known = are_known && setting;
    if (setting) into = *setting;
  };
  for (Index h = 0; h < problem.heads; ++h) {
    const auto head = static_cast<std::size_t>(h);
    fast::AgainJob job{.upper = own->heads.job(h),
                       .q = own->q.column(own->heads.query_column(h)),
                       .k = own->k.column(own->heads.key_column(h)),
                       .v = own->v.column(own->heads.value_column(h)),
                       .q_stride = own->q.stride(),
                       .k_stride = own->k.stride(),
                       .v_stride = own->v.stride()};
    if (problem.scale.kind == ScaleKind::root) take(job.by, double_double_of_root(problem.scale.d_k));
    if (problem.scale.kind == ScaleKind::factor) take(job.by, double_double_of(problem.scale.factor));
    if (problem.softcap) take(job.softcap, double_double_of(*problem.softcap));
    if (problem.temperature) take(job.temperature, double_double_of(*problem.temperature));
    if (!problem.slopes.empty()) take(job.slope, double_double_of(problem.slopes[head]));
    if (!problem.sink_logits.empty()) take(job.sink, double_double_of(problem.sink_logits[head]));
    own->bounds.push_back(fast::error_bounds(job.upper, false, false, fast::units_of_double_doubles()));
    own->jobs.push_back(job);
  }
  if (are_known) own_ = std::move(own);
}

UntracedRows::~UntracedRows() = default;

std::optional<UntracedRow> UntracedRows::row(Index query, Index head) const {
  if (!own_) return std::nullopt;
  const auto at = static_cast<std::size_t>(head);
  UntracedRow row{{}, own_->bounds[at][static_cast<std::size_t>(query)]};
  if (!std::isfinite(row.bound)) return std::nullopt;
  const fast::AgainJob& job = own_->jobs[at];
  row.values.resize(static_cast<std::size_t>(job.upper.d_v));
  fast::attend_again(job, query, row.values.data());
  return row;
}

Problem problem_of_query(const Problem& problem, Index query) {
  Problem one;
  one.title = problem.title;
  one.entry = problem.entry;
  one.heads = problem.heads;
  one.kv_heads = problem.kv_heads;
  one.scale = problem.scale;
  one.temperature = problem.temperature;
  one.softcap = problem.softcap;
  one.sink_logits = problem.sink_logits;
  one.slopes = problem.slopes;
  one.empty_row = problem.empty_row;
  one.decimals = problem.decimals;
  one.first_index = problem.first_index;

  // From the first key it sees to the last; those between that it does not see stay forbidden.
  const std::optional<KeyRuns> visible = visible_keys_of(problem);
  Index begin = 0;
  Index end = problem["K"].rows;
  std::vector<KeyRun> seen{{begin, end}};
  if (visible) {
    const auto row = static_cast<std::size_t>(query);
    const auto at = [&](std::size_t i) { return visible->runs.begin() + static_cast<std::ptrdiff_t>(i); };
    seen.assign(at(visible->first[row]), at(visible->first[row + 1]));
    begin = seen.empty() ? 0 : seen.front().begin;
    end = seen.empty() ? 1 : seen.back().end;
  }
  if (seen.size() != 1) {
    Mask allowed = Mask::Constant(1, end - begin, false);
    for (const KeyRun& run : seen)
      allowed.middleCols(run.begin - begin, run.end - run.begin).setConstant(true);
    one.allowed = std::make_shared<const Mask>(std::move(allowed));
  }
  one.given.emplace("Q", rows_with_cells(problem["Q"], query, query + 1));
  one.given.emplace("K", rows_with_cells(problem["K"], begin, end));
  one.given.emplace("V", rows_with_cells(problem["V"], begin, end));
  one.align = problem.align + query - begin;
  one.tokens = {problem.tokens[static_cast<std::size_t>(query)]};
  one.kv_tokens.assign(problem.kv_tokens.begin() + begin, problem.kv_tokens.begin() + end);
  return one;
}

bool are_numbers_known(const Problem& problem) {
  return std::all_of(problem.given.begin(), problem.given.end(), [](const auto& matrix) {
    return !matrix.second.numbers || matrix.second.numbers->are_doubles || matrix.second.numbers->are_short;
  });
}

}  // namespace qkv

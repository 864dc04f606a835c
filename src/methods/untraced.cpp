#include "methods/untraced.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/decimal.h"
#include "fast/bound.h"
#include "input/float_bytes.h"

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

// What all heads have in common.
template <class T>
fast::Job<T> job_of(const Problem& problem) {
  using Scale = typename fast::Job<T>::Scale;
  fast::Job<T> job;
  job.queries = problem["Q"].rows;
  job.keys = problem["K"].rows;
  job.d_k = problem["Q"].cols / problem.heads;
  job.d_v = problem["V"].cols / problem.kv_heads;
  switch (problem.scale.kind) {
    case ScaleKind::none:
      break;
    case ScaleKind::root:
      job.scale = Scale::divide;
      job.by = std::sqrt(static_cast<T>(problem.scale.d_k.value));
      break;
    case ScaleKind::factor:
      job.scale = Scale::multiply;
      job.by = static_cast<T>(problem.scale.factor.value);
      break;
  }
  job.softcap = value_in<T>(problem.softcap);
  job.temperature = value_in<T>(problem.temperature);
  job.align = problem.align;
  job.empty_row_is_nan = problem.empty_row == EmptyRow::nan;
  return job;
}

template <class T>
Untraced run(const Problem& problem, const fast::How& how) {
  const Values<T> q(problem["Q"]);
  const Values<T> k(problem["K"]);
  const Values<T> v(problem["V"]);
  const std::optional<KeyRuns> visible = visible_keys_of(problem);
  fast::Job<T> job = job_of<T>(problem);
  job.q_stride = q.stride();
  job.k_stride = k.stride();
  job.v_stride = v.stride();
  job.visible = visible ? &*visible : nullptr;

  MatrixOf<T> result(job.queries, problem.heads * job.d_v);
  Untraced untraced;
  untraced.bounds.resize(job.queries, problem.heads);
  Progress progress(job.queries * problem.heads);
  for (Index h = 0; h < problem.heads; ++h) {
    const Index group = h / (problem.heads / problem.kv_heads);
    const auto head = static_cast<std::size_t>(h);
    job.q = q.column(h * job.d_k);
    job.k = k.column(group * job.d_k);
    job.v = v.column(group * job.d_v);
    if (!problem.slopes.empty()) job.slope = static_cast<T>(problem.slopes[head].value);
    if (!problem.sink_logits.empty()) job.sink = static_cast<T>(problem.sink_logits[head].value);
    fast::attend(job, result.data() + h * job.d_v, result.cols(), how, &progress);
    const std::vector<double> bounds = fast::error_bounds(job, how.is_online);
    for (Index i = 0; i < job.queries; ++i) untraced.bounds(i, h) = bounds[static_cast<std::size_t>(i)];
  }
  if constexpr (std::is_same_v<T, double>) {
    untraced.values = std::make_shared<const Matrix>(std::move(result));
  } else {
    untraced.values = std::make_shared<const Matrix>(result.template cast<double>());
  }
  return untraced;
}

Number as_written(const Numbers& numbers, Index row, Index col) {
  const double value = numbers.at(row, col);
  NumberError ignored;
  return parse_number(numbers.are_doubles ? all_digits(value) : shortest_text(value), ignored)
      .value_or(Number{});
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

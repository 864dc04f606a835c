#include "methods/untraced.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/bounded.h"
#include "base/decimal.h"
#include "base/threads.h"
#include "fast/attend_again.h"
#include "fast/bound.h"
#include "input/float_bytes.h"
#include "input/short_decimal.h"
#include "methods/operands.h"

namespace qkv {
namespace {

template <class T>
std::optional<T> value_in(const std::optional<Number>& number) {
  return number ? std::optional(static_cast<T>(number->value)) : std::nullopt;
}

bool sees_nothing(const std::optional<KeyRuns>& visible, Index query) {
  const auto at = static_cast<std::size_t>(query);
  return visible && visible->first[at] == visible->first[at + 1];
}

template <class T>
struct Rows {
  const T* at;
  Index stride;
};

// A problem as jobs of its heads.   q, k, v  those of all heads side by side
template <class T>
class Heads {
 public:
  Heads(const Problem& problem, const std::optional<KeyRuns>& visible, Rows<T> q, Rows<T> k, Rows<T> v)
      : problem_(problem), q_(q), k_(k), v_(v) {
    using Scale = typename fast::Job<T>::Scale;
    const Sizes sizes = sizes_of(problem);
    common_.queries = sizes.queries;
    common_.keys = sizes.keys;
    common_.d_k = sizes.d_k;
    common_.d_v = sizes.d_v;
    common_.q_stride = q.stride;
    common_.k_stride = k.stride;
    common_.v_stride = v.stride;
    common_.visible = visible ? &*visible : nullptr;
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

  // Where head h has its columns: of Q, and of what it shares with its group.
  Index query_column(Index h) const { return h * common_.d_k; }
  Index key_column(Index h) const { return group(h) * common_.d_k; }
  Index value_column(Index h) const { return group(h) * common_.d_v; }

  fast::Job<T> job(Index h) const {
    const auto head = static_cast<std::size_t>(h);
    fast::Job<T> job = common_;
    job.q = q_.at + query_column(h);
    job.k = k_.at + key_column(h);
    job.v = v_.at + value_column(h);
    if (!problem_.slopes.empty()) job.slope = static_cast<T>(problem_.slopes[head].value);
    if (!problem_.sink_logits.empty()) job.sink = static_cast<T>(problem_.sink_logits[head].value);
    return job;
  }

 private:
  Index group(Index h) const { return h / (problem_.heads / problem_.kv_heads); }

  const Problem& problem_;
  Rows<T> q_, k_, v_;
  fast::Job<T> common_;
};

// Q, K or V: given, or projected in doubles.
template <class T>
class Operand {
 public:
  Operand(const Problem& problem, const char* name, const fast::How& how) {
    const Origin origin = origin_of(problem, name);
    if (origin.given != nullptr) {
      given_.emplace(*origin.given);
      return;
    }
    projection_.emplace(origin, problem.layout);
    Matrix product = projection_->weights().applied_to(projection_->x().matrix(), how);
    if constexpr (std::is_same_v<T, double>) {
      computed_ = std::move(product);
    } else {
      computed_ = product.template cast<T>();
    }
  }

  Rows<T> rows() const {
    if (given_) return {given_->matrix().data(), given_->matrix().cols()};
    return {computed_.data(), computed_.cols()};
  }
  const Projection* projection() const { return projection_ ? &*projection_ : nullptr; }

 private:
  std::optional<Values<T>> given_;
  std::optional<Projection> projection_;
  MatrixOf<T> computed_;
};

// How far the numbers of a head are off before it is computed.   Null: those of a given matrix
template <class T>
fast::InputErrors input_errors(const Heads<T>& heads, const fast::Job<T>& job, Index head,
                               const Projection* q, const Projection* k, const Projection* v,
                               const fast::RoundingUnits& units) {
  fast::InputErrors errors;
  if (q != nullptr) errors.queries = q->errors_of_rows(heads.query_column(head), job.d_k, units);
  if (k != nullptr) errors.keys = k->largest_error_of_row(heads.key_column(head), job.d_k, units);
  if (v != nullptr) errors.values = v->largest_error_of_number(heads.value_column(head), job.d_v, units);
  return errors;
}

// The heads side by side.
template <class T>
Untraced read_by_heads(const Problem& problem, const std::optional<KeyRuns>& visible, const fast::How& how) {
  const Operand<T> q(problem, "Q", how);
  const Operand<T> k(problem, "K", how);
  const Operand<T> v(problem, "V", how);
  const Heads<T> heads(problem, visible, q.rows(), k.rows(), v.rows());
  const Sizes sizes = sizes_of(problem);
  MatrixOf<T> result(sizes.queries, problem.heads * sizes.d_v);
  Untraced untraced;
  untraced.bounds.resize(sizes.queries, problem.heads);
  Progress progress(sizes.queries * problem.heads);
  for (Index h = 0; h < problem.heads; ++h) {
    const fast::Job<T> job = heads.job(h);
    fast::attend(job, result.data() + h * sizes.d_v, result.cols(), how, &progress);
    const std::vector<double> bounds =
        fast::error_bounds(job, how.is_online,
                           input_errors(heads, job, h, q.projection(), k.projection(), v.projection(),
                                        fast::units_of<double>()));
    for (Index i = 0; i < sizes.queries; ++i) untraced.bounds(i, h) = bounds[static_cast<std::size_t>(i)];
  }
  if constexpr (std::is_same_v<T, double>) {
    untraced.values = std::make_shared<const Matrix>(std::move(result));
  } else {
    untraced.values = std::make_shared<const Matrix>(result.template cast<double>());
  }
  return untraced;
}

template <class T>
Untraced run(const Problem& problem, const fast::How& how) {
  const std::optional<KeyRuns> visible = visible_keys_of(problem);
  Untraced heads = read_by_heads<T>(problem, visible, how);
  if (!problem.has("W_O")) return heads;
  const OutputProjection output(problem);
  Untraced projected;
  projected.values = std::make_shared<const Matrix>(output.weights().applied_to(*heads.values, how));
  projected.bounds.resize(heads.bounds.rows(), 1);
  share_rows(heads.bounds.rows(), output.weights().columns() * problem.heads, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const bool is_certain = problem.empty_row == EmptyRow::nan && sees_nothing(visible, i);
      projected.bounds(i, 0) = is_certain
                                   ? 0
                                   : output.bound(heads.values->row(i).data(), heads.bounds.row(i).data(),
                                                  fast::units_of<double>());
    }
  });
  return projected;
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
  Given part;
  part.rows = last - first;
  part.cols = given.cols;
  for (Index i = first; i < last; ++i) {
    for (Index j = 0; j < given.cols; ++j)
      part.cells.push_back(given.numbers ? as_written(*given.numbers, i, j) : given.at(i, j));
  }
  return part;
}

}  // namespace

bool can_be_untraced(const Problem& p) {
  constexpr std::array<std::string_view, 15> kKnown{"Q",   "K",     "V",   "X",   "X_kv", "W_Q", "W_K", "W_V",
                                                    "W_O", "W_QKV", "b_Q", "b_K", "b_V",  "b_O", "mask"};
  const auto is_known = [&](const auto& matrix) {
    return std::find(kKnown.begin(), kKnown.end(), matrix.first) != kKnown.end();
  };
  const auto holds_numbers = [](const auto& matrix) {
    const Given& given = matrix.second;
    return matrix.first == "mask" || given.numbers ||
           std::all_of(given.cells.begin(), given.cells.end(),
                       [](const Number& number) { return number.kind == Number::Kind::finite; });
  };
  if (p.entry != Entry::qkv && p.entry != Entry::x) return false;
  const Origin k = origin_of(p, "K");
  const Origin v = origin_of(p, "V");
  const bool have_one_source = k.x == nullptr || v.x == nullptr || k.x == v.x;
  return origin_of(p, "Q").is_known() && k.is_known() && v.is_known() && have_one_source &&
         std::all_of(p.given.begin(), p.given.end(), is_known) &&
         std::all_of(p.given.begin(), p.given.end(), holds_numbers) && p.method == MethodKind::softmax &&
         p.score == ScoreKind::dot && p.read == ReadKind::soft && p.rope.pairs == Rope::Pairs::none &&
         !p.adds_sinusoids && !p.is_decoded && !p.tile && !p.wants_gradient && !p.has_residual &&
         p.stack.empty() && p.hops == 1 && p.is_dropped.empty() && p.head_masks.empty() &&
         p.round == Rounding::exact;
}

double untraced_work(const Problem& p) {
  const Sizes sizes = sizes_of(p);
  const auto product = [](Index rows, Index depth, Index cols) {
    return static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(cols);
  };
  double work = product(sizes.queries, sizes.keys, (sizes.d_k + sizes.d_v) * p.heads);
  for (const char* name : {"Q", "K", "V"}) {
    const Origin origin = origin_of(p, name);
    if (origin.given == nullptr) work += product(origin.rows(), origin.x->cols, origin.cols(p.layout));
  }
  if (p.has("W_O")) work += product(sizes.queries, sizes.d_v * p.heads, sizes.result);
  return work;
}

double untraced_bytes(const Problem& p, int threads) {
  constexpr double kRowsAtOnce = 48;  // of queries whose scores a thread holds
  const Sizes sizes = sizes_of(p);
  const double strips = std::ceil(static_cast<double>(sizes.queries) / kRowsAtOnce);
  const auto size = [](Index rows, Index cols) {
    return static_cast<double>(rows) * static_cast<double>(cols);
  };
  double numbers =
      size(sizes.queries, sizes.result) + size(sizes.keys, (sizes.d_k + sizes.d_v) * p.kv_heads) +
      kRowsAtOnce * static_cast<double>(sizes.keys) * std::min(strips, static_cast<double>(threads));
  for (const char* name : {"Q", "K", "V"}) {
    const Origin origin = origin_of(p, name);
    if (origin.given == nullptr)  // X once more while it is projected, where K and V as such are not yet
      numbers += size(origin.rows(), origin.cols(p.layout) + (name[0] == 'V' ? origin.x->cols : 0));
  }
  if (p.has("W_O")) numbers += size(sizes.queries, sizes.d_v * p.heads);
  return static_cast<double>(sizeof(double)) * numbers;
}

Untraced untraced(const Problem& problem, const fast::How& how) { return run<double>(problem, how); }
Untraced untraced_in_floats(const Problem& problem, const fast::How& how) { return run<float>(problem, how); }

namespace {

// Q, K or V in double-doubles; those of short decimals without an error of the projection.
class OperandAgain {
 public:
  OperandAgain(const Problem& problem, const char* name, const fast::How& how) {
    const Origin origin = origin_of(problem, name);
    if (origin.given != nullptr) {
      given_.emplace(*origin.given);
      numbers_.emplace(*given_, *origin.given, false);
      are_known_ = numbers_->are_known();
      return;
    }
    if (const auto exact = scaled_operand(problem, name);
        exact && exact->decimals <= static_cast<int>(kMostShortDecimals)) {
      numbers_.emplace(*exact);
      are_known_ = true;
      return;
    }
    projection_.emplace(origin, problem.layout);
    const DoubleDoubles x(projection_->x(), *origin.x, false);
    const Weights& weights = projection_->weights();
    const ProjectionAgain again(weights, *origin.w, origin.b, problem.layout);
    are_known_ = x.are_known() && again.are_known();
    numbers_.emplace(origin.rows(), weights.columns());
    if (are_known_) again.apply(x.view(), origin.rows(), numbers_->hi(), numbers_->lo(), how);
  }

  bool are_known() const { return are_known_; }
  fast::AgainMatrix view() const { return numbers_->view(); }
  Rows<double> upper() const { return {view().hi, view().hi_stride}; }
  const Projection* projection() const { return projection_ ? &*projection_ : nullptr; }  // with an error

 private:
  std::optional<Values<double>> given_;
  std::optional<Projection> projection_;
  std::optional<DoubleDoubles> numbers_;
  bool are_known_ = false;
};

}  // namespace

struct UntracedRows::Own {
  Own(const Problem& problem, const fast::How& how)
      : visible(visible_keys_of(problem)),
        q(problem, "Q", how),
        k(problem, "K", how),
        v(problem, "V", how),
        heads(problem, visible, q.upper(), k.upper(), v.upper()) {
    if (!problem.has("W_O")) return;
    output.emplace(problem);
    again.emplace(output->weights(), problem["W_O"], problem.has("b_O") ? &problem["b_O"] : nullptr,
                  problem.layout);
  }
  bool are_known() const {
    return q.are_known() && k.are_known() && v.are_known() && (!again || again->are_known());
  }

  std::optional<KeyRuns> visible;
  OperandAgain q, k, v;
  Heads<double> heads;
  std::optional<OutputProjection> output;
  std::optional<ProjectionAgain> again;  // of the output
  std::vector<fast::AgainJob> jobs;      // of each head
  std::vector<std::vector<double>> bounds;
};

UntracedRows::UntracedRows(const Problem& problem) {
  if (!kDoublesArePlain || !are_numbers_known(problem)) return;
  auto own = std::make_unique<Own>(problem, fast::How{.threads = threads()});
  if (!own->are_known()) return;
  const fast::RoundingUnits units = fast::units_of_double_doubles();
  bool are_known = true;
  const auto take = [&](DoubleDouble& into, const std::optional<DoubleDouble>& setting) {
    are_known = are_known && setting;
    if (setting) into = *setting;
  };
  for (Index h = 0; h < problem.heads; ++h) {
    const auto head = static_cast<std::size_t>(h);
    fast::AgainJob job{.upper = own->heads.job(h),
                       .q = own->q.view().lo + own->heads.query_column(h),
                       .k = own->k.view().lo + own->heads.key_column(h),
                       .v = own->v.view().lo + own->heads.value_column(h),
                       .q_stride = own->q.view().lo_stride,
                       .k_stride = own->k.view().lo_stride,
                       .v_stride = own->v.view().lo_stride};
    if (problem.scale.kind == ScaleKind::root) take(job.by, double_double_of_root(problem.scale.d_k));
    if (problem.scale.kind == ScaleKind::factor) take(job.by, double_double_of(problem.scale.factor));
    if (problem.softcap) take(job.softcap, double_double_of(*problem.softcap));
    if (problem.temperature) take(job.temperature, double_double_of(*problem.temperature));
    if (!problem.slopes.empty()) take(job.slope, double_double_of(problem.slopes[head]));
    if (!problem.sink_logits.empty()) take(job.sink, double_double_of(problem.sink_logits[head]));
    own->bounds.push_back(fast::error_bounds(job.upper, false,
                                             input_errors(own->heads, job.upper, h, own->q.projection(),
                                                          own->k.projection(), own->v.projection(), units),
                                             units));
    own->jobs.push_back(job);
  }
  if (are_known) own_ = std::move(own);
}

UntracedRows::~UntracedRows() = default;

namespace {

std::optional<UntracedRow> row_of_head(const fast::AgainJob& job, double bound, Index query) {
  if (!std::isfinite(bound)) return std::nullopt;
  UntracedRow row{std::vector<DoubleDouble>(static_cast<std::size_t>(job.upper.d_v)), bound};
  fast::attend_again(job, query, row.values.data());
  return row;
}

}  // namespace

std::optional<UntracedRow> UntracedRows::row(Index query, Index part) const {
  if (!own_) return std::nullopt;
  const auto bound_of = [&](std::size_t head) { return own_->bounds[head][static_cast<std::size_t>(query)]; };
  if (!own_->output) {
    const auto head = static_cast<std::size_t>(part);
    return row_of_head(own_->jobs[head], bound_of(head), query);
  }
  const fast::RoundingUnits units = fast::units_of_double_doubles();
  const Weights& weights = own_->output->weights();
  std::vector<double> hi, lo, bounds;  // of concat
  for (std::size_t head = 0; head < own_->jobs.size(); ++head) {
    std::optional<UntracedRow> read;
    if (sees_nothing(own_->visible, query)) {
      read = UntracedRow{std::vector<DoubleDouble>(static_cast<std::size_t>(own_->jobs[head].upper.d_v)), 0};
    } else {
      read = row_of_head(own_->jobs[head], bound_of(head), query);
    }
    if (!read) return std::nullopt;
    for (const DoubleDouble& number : read->values) {
      hi.push_back(number.hi);
      lo.push_back(number.lo);
    }
    bounds.push_back(read->bound);
  }
  const double bound = own_->output->bound(hi.data(), bounds.data(), units);
  if (!std::isfinite(bound)) return std::nullopt;
  std::vector<double> upper(static_cast<std::size_t>(weights.columns()));
  std::vector<double> lower(upper.size());
  own_->again->apply({hi.data(), lo.data(), weights.depth(), weights.depth()}, 1, upper.data(), lower.data(),
                     {});
  UntracedRow row{{}, bound};
  for (std::size_t c = 0; c < upper.size(); ++c) row.values.push_back({upper[c], lower[c]});
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
  one.layout = problem.layout;

  // From the first key it sees to the last; those between that it does not see stay forbidden.
  const std::optional<KeyRuns> visible = visible_keys_of(problem);
  Index begin = 0;
  Index end = sizes_of(problem).keys;
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
  const auto give = [&](const std::string& name, const Given& given, Index first, Index last) {
    one.given.emplace(name, rows_with_cells(given, first, last));
  };
  for (const std::string name : {"Q", "K", "V"}) {
    const Origin origin = origin_of(problem, name);
    const Index first = name == "Q" ? query : begin;
    const Index last = name == "Q" ? query + 1 : end;
    if (origin.given != nullptr) {
      give(name, *origin.given, first, last);
      continue;
    }
    one.entry = Entry::x;
    give(name == "Q" ? "X" : "X_kv", *origin.x, first, last);  // K and V have one source
    give("W_" + name, *origin.w, 0, origin.w->rows);
    if (origin.b != nullptr) give("b_" + name, *origin.b, 0, 1);
  }
  for (const std::string name : {"W_O", "b_O"}) {
    if (problem.has(name)) give(name, problem[name], 0, problem[name].rows);
  }
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

#include "run/trace.h"

#include <array>
#include <cmath>

#include "base/decimal.h"
#include "base/interval.h"
#include "base/scalar.h"
#include "run/range.h"

namespace qkv {

struct Trace::Enclosures {
  std::vector<IntervalMatrix> values;
  std::vector<IntervalMatrix> row_sums;
};

namespace {

// In decimal digits.  Nearly everything is decided at the first; the last is for sums that
// cancel hundreds of digits, and for values that lie exactly between two decimals.
constexpr std::array<unsigned, 4> kPrecisions{40, 160, 640, kMostDigits};

// Interval work that takes about a second, in multiplications.  An exponential costs about 40.
constexpr Index kMostIntervalWork = 1'500'000;
constexpr Index kCellWork = 40;

Index interval_work(const Plan& plan) {
  Index work = 0;
  for (const Node& node : plan.nodes) {
    Index per_cell = kCellWork;
    if (node.op->terms != nullptr) {
      std::vector<Shape> shapes;
      for (const NodeId input : node.inputs) shapes.push_back(plan[input].shape);
      per_cell += node.op->terms(shapes);
    }
    work += node.shape.rows * node.shape.cols * per_cell;
  }
  return work;
}

template <class M>
M value_of(const Node& node, const std::vector<M>& earlier) {
  if (node.op->kernel.doubles == nullptr) {
    M matrix(node.shape.rows, node.shape.cols);
    for (Index i = 0; i < matrix.rows(); ++i) {
      for (Index j = 0; j < matrix.cols(); ++j) {
        const Number& number = node.given[static_cast<std::size_t>(i * matrix.cols() + j)];
        matrix(i, j) = scalar_of<typename M::Scalar>(number);
      }
    }
    return matrix;
  }
  InputsOf<M> inputs;
  for (const NodeId id : node.inputs) inputs.emplace_back(earlier[id]);
  if constexpr (std::is_same_v<M, Matrix>) {
    return node.op->kernel.doubles(inputs, node.params);
  } else if constexpr (std::is_same_v<M, SurdMatrix>) {
    return node.op->kernel.surds(inputs, node.params);
  } else {
    return node.op->kernel.intervals(inputs, node.params);
  }
}

template <class M>
M row_sums_of(const Node& node, const M& value) {
  if (!node.has_row_sums) return M(0, 0);
  M sums(value.rows(), 1);
  for (Index i = 0; i < value.rows(); ++i) {
    typename M::Scalar sum(0);
    for (Index j = 0; j < value.cols(); ++j) sum += value(i, j);
    sums(i, 0) = sum;
  }
  return sums;
}

std::string decided_text(const Interval& x, int decimals) {
  const auto text = fixed_text(x, decimals);
  return text ? *text : fixed_text_of_tie(x, decimals);
}

// Whether everything that will be shown of a matrix is decided; at the last precision it is.
class Decision {
 public:
  explicit Decision(bool is_last) : is_last_(is_last) {}

  // `exact` says where an interval that leaves a choice is a true tie.
  bool texts(const IntervalMatrix& matrix, const SurdMatrix& exact, int decimals) const {
    if (is_last_) return true;
    for (Index i = 0; i < matrix.rows(); ++i) {
      for (Index j = 0; j < matrix.cols(); ++j) {
        if (!fixed_text(matrix(i, j), decimals) && !is_tie(exact(i, j), decimals)) return false;
      }
    }
    return true;
  }

  bool nearest(const IntervalMatrix& from, Matrix& to) const {
    to.resize(from.rows(), from.cols());
    for (Index i = 0; i < from.rows(); ++i) {
      for (Index j = 0; j < from.cols(); ++j) {
        const auto value = nearest_double(from(i, j));
        if (!value && !is_last_) return false;
        to(i, j) = value ? *value : middle_double(from(i, j));
      }
    }
    return true;
  }

 private:
  bool is_last_;
};

// Where a value is known exactly, the interval around it is as narrow as can be.
void tighten(IntervalMatrix& matrix, const SurdMatrix& exact) {
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) {
      if (exact(i, j).is_finite()) matrix(i, j) = enclose(exact(i, j));
    }
  }
}

void round_cells(IntervalMatrix& matrix, SurdMatrix& exact, int decimals) {
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) {
      const std::string text = decided_text(matrix(i, j), decimals);
      if (text == "nan" || text == "inf" || text == "-inf") continue;
      exact(i, j) = exact_decimal(text);
      matrix(i, j) = enclose(exact(i, j));
    }
  }
}

void round_cells(Matrix& matrix, int decimals) {
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) {
      if (std::isfinite(matrix(i, j))) matrix(i, j) = std::stod(fixed_text(matrix(i, j), decimals));
    }
  }
}

}  // namespace

std::string Trace::text(NodeId id, Index row, Index col, int decimals) const {
  if (!enclosures_) return fixed_text(values_[id](row, col), decimals);
  return decided_text(enclosures_->values[id](row, col), decimals);
}

std::string Trace::row_sum_text(NodeId id, Index row, int decimals) const {
  if (!enclosures_) return fixed_text(row_sums_[id](row, 0), decimals);
  return decided_text(enclosures_->row_sums[id](row, 0), decimals);
}

double Trace::row_sum(NodeId id, Index row) const { return row_sums_[id](row, 0); }

bool Trace::is_exactly_zero(NodeId id, Index row, Index col) const {
  if (!enclosures_) return values_[id](row, col) == 0;
  return is_point_zero(enclosures_->values[id](row, col));
}

namespace {

// All exact values that can be had; they do not depend on a precision.
std::vector<SurdMatrix> run_exactly(const Plan& plan) {
  std::vector<SurdMatrix> exact;
  for (const Node& node : plan.nodes) exact.push_back(value_of(node, exact));
  return exact;
}

// All nodes on intervals of one precision; false when a digit is still open.
bool run_on_intervals(const Plan& plan, const RunOptions& options, bool is_last,
                      std::vector<SurdMatrix> exact, std::vector<IntervalMatrix>& enclosures,
                      std::vector<IntervalMatrix>& sums, std::vector<Matrix>& values,
                      std::vector<Matrix>& row_sums) {
  const Decision decided(is_last);
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    IntervalMatrix value = value_of(node, enclosures);
    if (options.rounds_each_step) exact[id] = value_of(node, exact);
    tighten(value, exact[id]);
    if (!decided.texts(value, exact[id], options.decimals)) return false;
    for (const auto& [wanted, decimals] : options.also) {
      if (wanted == id && !decided.texts(value, exact[id], decimals)) return false;
    }
    if (options.rounds_each_step && !node.inputs.empty()) round_cells(value, exact[id], options.decimals);
    Matrix nearest;
    if (!decided.nearest(value, nearest)) return false;
    IntervalMatrix sum = row_sums_of(node, value);
    SurdMatrix exact_sum = row_sums_of(node, exact[id]);
    tighten(sum, exact_sum);
    if (!decided.texts(sum, exact_sum, options.decimals)) return false;
    Matrix nearest_sum;
    if (!decided.nearest(sum, nearest_sum)) return false;
    enclosures.push_back(std::move(value));
    values.push_back(std::move(nearest));
    sums.push_back(std::move(sum));
    row_sums.push_back(std::move(nearest_sum));
  }
  return true;
}

}  // namespace

Trace run(Plan plan, const RunOptions& options) {
  Trace trace;
  trace.plan_ = std::move(plan);
  if (interval_work(trace.plan_) <= kMostIntervalWork) {
    const std::vector<SurdMatrix> exact = run_exactly(trace.plan_);
    for (const unsigned digits : kPrecisions) {
      const PrecisionScope precision(digits);
      auto enclosures = std::make_shared<Trace::Enclosures>();
      trace.values_.clear();
      trace.row_sums_.clear();
      if (run_on_intervals(trace.plan_, options, digits == kMostDigits, exact, enclosures->values,
                           enclosures->row_sums, trace.values_, trace.row_sums_)) {
        trace.enclosures_ = std::move(enclosures);
        break;
      }
    }
  } else {
    trace.arithmetic_ = Arithmetic::doubles;
    for (const Node& node : trace.plan_.nodes) {
      Matrix value = value_of(node, trace.values_);
      if (options.rounds_each_step && !node.inputs.empty()) round_cells(value, options.decimals);
      trace.row_sums_.push_back(row_sums_of(node, value));
      trace.values_.push_back(std::move(value));
    }
  }
  trace.warnings_ = range_warnings(trace.plan_, trace.values_, trace.arithmetic_);
  return trace;
}

}  // namespace qkv

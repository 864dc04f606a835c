#include "run/trace.h"

#include <cassert>
#include <cmath>

#include "base/decimal.h"
#include "base/progress.h"
#include "run/asked.h"
#include "run/proof.h"
#include "run/range.h"

namespace qkv {
namespace {

// Interval work that takes about half a second, in multiplications.  An exponential costs about 40.
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
M row_sums_of(const Node& node, const M& value) {
  if (!node.has_row_sums) return M(0, 0);
  M sums(value.rows(), 1);
  for (Index i = 0; i < value.rows(); ++i) sums(i, 0) = sum_of_row(value, i);
  return sums;
}

Exact exact_of_text(const std::string& text) {
  if (text == "nan") return Exact::unknown();
  if (text == "inf" || text == "-inf") return Exact::infinity(text == "inf" ? 1 : -1);
  return exact_decimal(text);
}

// What stands on the paper after a step: every cell as it is printed.
ExactMatrix rounded(const Node& node, NodeId id, int decimals, const Trace& trace) {
  ExactMatrix result(node.shape.rows, node.shape.cols);
  for (Index i = 0; i < result.rows(); ++i) {
    for (Index j = 0; j < result.cols(); ++j) result(i, j) = exact_of_text(trace.text(id, i, j, decimals));
  }
  return result;
}

template <class M, class Get>
Matrix part_of(const M& matrix, Get get) {
  Matrix part(matrix.rows(), matrix.cols());
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) part(i, j) = get(matrix(i, j));
  }
  return part;
}

Matrix values_in(const BoundedMatrix& m) {
  return part_of(m, [](const Bounded& x) { return x.value; });
}
Matrix errors_in(const BoundedMatrix& m) {
  return part_of(m, [](const Bounded& x) { return x.error; });
}
Matrix values_in(const RoundedMatrix& m) {
  return part_of(m, [](const Rounded& x) { return x.value(); });
}
Matrix values_in(const Matrix& m) { return m; }

}  // namespace

double Trace::bound(NodeId id) const {
  return arithmetic_ == Arithmetic::doubles && bounds_[id].size() > 0 ? bounds_[id].maxCoeff() : 0;
}

double Trace::bound_at(NodeId id, Index row, Index col) const {
  return arithmetic_ == Arithmetic::doubles ? bounds_[id](row, col) : 0;
}

double Trace::row_sum_bound(NodeId id, Index row) const {
  return arithmetic_ == Arithmetic::doubles ? sum_bounds_[id](row, 0) : 0;
}

std::string Trace::exact_text(NodeId id, Index row, Index col) const {
  return arithmetic_ == Arithmetic::proved ? qkv::exact_text(proof_->exact({id, row, col})) : "";
}

bool Trace::is_exactly(NodeId id, Index row, Index col, const std::string& decimal) const {
  if (arithmetic_ != Arithmetic::proved) return false;
  const Exact value = exact_of_text(decimal);
  return value.is_finite() && compare(proof_->exact({id, row, col}), value) == 0;
}

const Matrix& Trace::values(NodeId id) const { return asked_ ? asked_->nearest(id) : values_[id]; }

Bounded Trace::computed(NodeId id, Index row, Index col) const {
  return asked_ ? asked_->cell(id, row, col) : Bounded(values_[id](row, col));
}

Bounded Trace::computed_row_sum(NodeId id, Index row) const {
  return asked_ ? asked_->row_sum(id, row) : Bounded(row_sums_[id](row, 0));
}

Proof& Trace::proof() const {
  assert(proof_ != nullptr);
  if (asked_) proof_->enclose_up_to(plan_->nodes.size() - 1);
  return *proof_;
}

std::string Trace::text(NodeId id, Index row, Index col, int decimals) const {
  switch (arithmetic_) {
    case Arithmetic::proved:
      if (!asked_ || !decides(asked_->cell(id, row, col), decimals)) break;
      return fixed_text(asked_->cell(id, row, col).value, decimals);
    case Arithmetic::doubles:
      if (!decides({values_[id](row, col), bounds_[id](row, col)}, decimals)) break;
      [[fallthrough]];
    case Arithmetic::format:
    case Arithmetic::plain:
      return fixed_text(values_[id](row, col), decimals);
  }
  return proof_->text({id, row, col}, decimals);
}

std::string Trace::row_sum_text(NodeId id, Index row, int decimals) const {
  switch (arithmetic_) {
    case Arithmetic::proved:
      if (!asked_ || !decides(asked_->row_sum(id, row), decimals)) break;
      return fixed_text(asked_->row_sum(id, row).value, decimals);
    case Arithmetic::doubles:
      if (!decides({row_sums_[id](row, 0), sum_bounds_[id](row, 0)}, decimals)) break;
      [[fallthrough]];
    case Arithmetic::format:
    case Arithmetic::plain:
      return fixed_text(row_sums_[id](row, 0), decimals);
  }
  return proof_->text({id, row, kRowSum}, decimals);
}

std::string Trace::difference_text(const Number& printed, NodeId id, Index row, Index col,
                                   int decimals) const {
  if (proof_) return proof_->difference_text(printed, {id, row, col}, decimals);
  return fixed_text(printed.value - values_[id](row, col), decimals);
}

double Trace::row_sum(NodeId id, Index row) const {
  return (asked_ ? asked_->nearest_row_sums(id) : row_sums_[id])(row, 0);
}

bool Trace::is_exactly_zero(NodeId id, Index row, Index col) const {
  switch (arithmetic_) {
    case Arithmetic::proved:
      if (asked_) {
        const Bounded& x = asked_->cell(id, row, col);
        if (std::abs(x.value) > x.error) return false;
        if (x.error == 0) return x.value == 0;
      }
      return proof_->is_zero({id, row, col});
    case Arithmetic::doubles:
      if (std::abs(values_[id](row, col)) > bounds_[id](row, col)) return false;
      return bounds_[id](row, col) == 0 || proof_->is_zero({id, row, col});
    case Arithmetic::format:
    case Arithmetic::plain:
      break;
  }
  return values_[id](row, col) == 0;
}

std::size_t Trace::texts_proved_singly() const {
  return arithmetic_ == Arithmetic::doubles ? proof_->texts() : 0;
}

std::size_t Trace::assumed_ties() const { return proof_ ? proof_->assumed_ties() : 0; }

void Trace::run_on_intervals(const RunOptions& options) {
  Progress progress(static_cast<long long>(plan_->nodes.size()));
  std::vector<IntervalMatrix> enclosures;
  for (NodeId id = 0; id < plan_->nodes.size(); ++id) {
    const Node& node = plan()[id];
    {
      const PrecisionScope precision(Proof::kFirstPrecision);
      enclosures.push_back(value_of(node, enclosures));
    }
    proof_->pin(id, enclosures.back());
    if (options.rounds_to && !is_given(node)) {
      proof_->pin(id, rounded(node, id, *options.rounds_to, *this));
      enclosures.back() = proof_->whole(id);
    }
    Matrix nearest(node.shape.rows, node.shape.cols);
    for (Index i = 0; i < nearest.rows(); ++i) {
      for (Index j = 0; j < nearest.cols(); ++j) nearest(i, j) = proof_->nearest({id, i, j});
    }
    values_.push_back(std::move(nearest));
    progress.step();
    Matrix sums(node.has_row_sums ? node.shape.rows : 0, 1);
    for (Index i = 0; i < sums.rows(); ++i) sums(i, 0) = proof_->nearest({id, i, kRowSum});
    row_sums_.push_back(std::move(sums));
  }
}

void Trace::run_on_bounded_doubles(const RunOptions& options) {
  Progress progress(static_cast<long long>(plan_->nodes.size()));
  std::vector<BoundedMatrix> matrices;
  for (NodeId id = 0; id < plan_->nodes.size(); ++id) {
    const Node& node = plan()[id];
    BoundedMatrix value = value_of(node, matrices);
    values_.push_back(values_in(value));
    bounds_.push_back(errors_in(value));
    if (options.rounds_to && !is_given(node)) {
      const ExactMatrix on_paper = rounded(node, id, *options.rounds_to, *this);
      for (Index i = 0; i < value.rows(); ++i) {
        for (Index j = 0; j < value.cols(); ++j)
          if (on_paper(i, j).is_finite()) value(i, j) = bounded(on_paper(i, j).rational());
      }
      proof_->pin(id, on_paper);
      values_.back() = values_in(value);
      bounds_.back() = errors_in(value);
    }
    const BoundedMatrix sums = row_sums_of(node, value);
    row_sums_.push_back(values_in(sums));
    sum_bounds_.push_back(errors_in(sums));
    matrices.push_back(std::move(value));
    progress.step();
  }
}

template <class M>
void Trace::run_without_proof() {
  Progress progress(static_cast<long long>(plan_->nodes.size()));
  std::vector<M> matrices;
  for (const Node& node : plan_->nodes) {
    matrices.push_back(value_of(node, matrices));
    values_.push_back(values_in(matrices.back()));
    row_sums_.push_back(values_in(row_sums_of(node, matrices.back())));
    progress.step();
  }
}

Trace run(Plan plan, const RunOptions& options) {
  Trace trace;
  trace.plan_ = std::make_shared<const Plan>(std::move(plan));
  if (options.format != nullptr) {
    trace.arithmetic_ = Arithmetic::format;
    trace.format_ = options.format;
    const FormatScope format(*options.format);
    trace.run_without_proof<RoundedMatrix>();
  } else if (options.plain) {
    trace.arithmetic_ = Arithmetic::plain;
    trace.run_without_proof<Matrix>();
  } else {
    trace.proof_ = std::make_shared<Proof>(trace.plan_);
    if (interval_work(trace.plan()) <= kMostIntervalWork) {
      // A step that is rounded is a proved text, and the next is computed from it.
      if (options.rounds_to || options.at_once) {
        trace.run_on_intervals(options);
      } else {
        trace.asked_ = std::make_shared<Asked>(trace.plan(), *trace.proof_);
      }
    } else {
      trace.arithmetic_ = Arithmetic::doubles;
      trace.run_on_bounded_doubles(options);
    }
  }
  const auto warnings = [&](const std::vector<Matrix>& values) {
    return range_warnings(trace.plan(), values, trace.arithmetic_);
  };
  trace.warnings_ = trace.asked_ ? warnings(trace.asked_->kinds()) : warnings(trace.values_);
  return trace;
}

}  // namespace qkv

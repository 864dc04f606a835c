#include "run/trace.h"

#include <cassert>
#include <cmath>

#include "base/decimal.h"
#include "base/large_pages.h"
#include "base/open_runs.h"
#include "base/progress.h"
#include "run/asked.h"
#include "run/doubles.h"
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

// A bound for each number, [rows, cols] and [rows, 1]: tighter than what the digits of a table need.
struct Trace::CellBounds {
  std::vector<Matrix> cells;
  std::vector<Matrix> row_sums;
};

const Trace::CellBounds& Trace::cell_bounds() const {
  if (!cell_bounds_) {
    CellBounds bounds;
    std::vector<BoundedMatrix> matrices;
    for (const Node& node : plan_->nodes) {
      matrices.push_back(value_of(node, matrices));
      bounds.cells.push_back(errors_in(matrices.back()));
      bounds.row_sums.push_back(errors_in(BoundedMatrix(row_sums_of(node, matrices.back()))));
    }
    cell_bounds_ = std::make_shared<const CellBounds>(std::move(bounds));
  }
  return *cell_bounds_;
}

double Trace::near(NodeId id, Index row, Index col) const {
  return doubles_ ? doubles_->bound(id, row, col) : bound_at(id, row, col);
}

const Matrix& Trace::values(NodeId id) const {
  if (asked_) return asked_->nearest(id);
  return doubles_ ? doubles_->values(id) : values_[id];
}

std::shared_ptr<const Matrix> Trace::shared_values(NodeId id) const {
  return doubles_ ? std::shared_ptr<const Matrix>(doubles_, &doubles_->values(id)) : nullptr;
}

double Trace::bound(NodeId id) const {
  if (arithmetic_ != Arithmetic::doubles || cell_bounds().cells[id].size() == 0) return 0;
  return cell_bounds().cells[id].maxCoeff();
}

double Trace::bound_at(NodeId id, Index row, Index col) const {
  return arithmetic_ == Arithmetic::doubles ? cell_bounds().cells[id](row, col) : 0;
}

double Trace::row_sum_bound(NodeId id, Index row) const {
  return arithmetic_ == Arithmetic::doubles ? cell_bounds().row_sums[id](row, 0) : 0;
}

std::string Trace::exact_text(NodeId id, Index row, Index col) const {
  return arithmetic_ == Arithmetic::proved ? qkv::exact_text(proof_->exact({id, row, col})) : "";
}

bool Trace::is_exactly(NodeId id, Index row, Index col, const std::string& decimal) const {
  if (arithmetic_ != Arithmetic::proved) return false;
  const Exact value = exact_of_text(decimal);
  return value.is_finite() && compare(proof_->exact({id, row, col}), value) == 0;
}

Bounded Trace::computed(NodeId id, Index row, Index col) const {
  return asked_ ? asked_->cell(id, row, col) : Bounded(values(id)(row, col));
}

Bounded Trace::computed_row_sum(NodeId id, Index row) const {
  return asked_ ? asked_->row_sum(id, row) : Bounded(this->row_sum(id, row));
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
      if (!decides({values(id)(row, col), near(id, row, col)}, decimals)) break;
      [[fallthrough]];
    case Arithmetic::format:
    case Arithmetic::plain:
      return fixed_text(values(id)(row, col), decimals);
  }
  return proof_->text({id, row, col}, decimals);
}

bool Trace::is_surely_finite(NodeId id) const { return doubles_ && !doubles_->row_bounds(id).empty(); }

void Trace::find_open(NodeId id, Index row, const FixedDecimals& decimals,
                      std::vector<Index>& columns) const {
  const Matrix& all = doubles_->values(id);
  if (const auto bounds = doubles_->row_bounds(id); !bounds.empty()) {
    const Node& node = plan()[id];
    const Mask* const mask =
        !node.cols.empty() && node.params.allowed ? node.params.allowed.get() : node.given.mask().get();
    each_open_run(mask, row, all.cols(), [&](Index begin, Index end) {
      const std::size_t before = columns.size();
      decimals.find_open(&all(row, begin), static_cast<std::size_t>(end - begin),
                         bounds[static_cast<std::size_t>(row)], columns);
      for (std::size_t k = before; k < columns.size(); ++k) columns[k] += begin;
    });
    return;
  }
  for (Index j = 0; j < all.cols(); ++j) {
    if (is_closed(plan()[id], row, j)) {
      columns.push_back(j);
      continue;
    }
    const std::size_t before = columns.size();
    decimals.find_open(&all(row, j), 1, {doubles_->bound(id, row, j), 0}, columns);
    if (columns.size() > before) columns.back() = j;
  }
}

std::string Trace::row_sum_text(NodeId id, Index row, int decimals) const {
  switch (arithmetic_) {
    case Arithmetic::proved:
      if (!asked_ || !decides(asked_->row_sum(id, row), decimals)) break;
      return fixed_text(asked_->row_sum(id, row).value, decimals);
    case Arithmetic::doubles:
      if (!decides(
              doubles_ ? doubles_->row_sum(id, row) : Bounded(row_sums_[id](row, 0), row_sum_bound(id, row)),
              decimals))
        break;
      [[fallthrough]];
    case Arithmetic::format:
    case Arithmetic::plain:
      return fixed_text(row_sum(id, row), decimals);
  }
  return proof_->text({id, row, kRowSum}, decimals);
}

std::string Trace::difference_text(const Number& printed, NodeId id, Index row, Index col,
                                   int decimals) const {
  if (proof_) return proof_->difference_text(printed, {id, row, col}, decimals);
  return fixed_text(printed.value - values(id)(row, col), decimals);
}

double Trace::row_sum(NodeId id, Index row) const {
  if (asked_) return asked_->nearest_row_sums(id)(row, 0);
  return doubles_ ? doubles_->row_sum(id, row).value : row_sums_[id](row, 0);
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
      if (std::abs(values(id)(row, col)) > near(id, row, col)) return false;
      return near(id, row, col) == 0 || proof_->is_zero({id, row, col});
    case Arithmetic::format:
    case Arithmetic::plain:
      break;
  }
  return values(id)(row, col) == 0;
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

void Trace::run_on_doubles() {
  Progress progress(static_cast<long long>(plan_->nodes.size()));
  Index cells = 0;
  for (const Node& node : plan_->nodes) cells += node.shape.rows * node.shape.cols;
  expect_large_matrices(static_cast<std::size_t>(cells) * sizeof(double));
  doubles_ = std::make_shared<Doubles>(*plan_);
  for (NodeId id = 0; id < plan_->nodes.size(); ++id) {
    // What stands beside a step is computed when somebody looks at it.
    if (plan()[id].role != Role::aside) doubles_->values(id);
    progress.step();
  }
}

// Every step rounded as on paper: the next one starts from the printed numbers, which are exact.
void Trace::run_on_bounded_doubles(int decimals) {
  Progress progress(static_cast<long long>(plan_->nodes.size()));
  const auto bounds = std::make_shared<CellBounds>();
  cell_bounds_ = bounds;
  std::vector<BoundedMatrix> matrices;
  for (NodeId id = 0; id < plan_->nodes.size(); ++id) {
    const Node& node = plan()[id];
    BoundedMatrix value = value_of(node, matrices);
    values_.push_back(values_in(value));
    bounds->cells.push_back(errors_in(value));
    if (!is_given(node)) {
      const ExactMatrix on_paper = rounded(node, id, decimals, *this);
      for (Index i = 0; i < value.rows(); ++i) {
        for (Index j = 0; j < value.cols(); ++j)
          if (on_paper(i, j).is_finite()) value(i, j) = bounded(on_paper(i, j).rational());
      }
      proof_->pin(id, on_paper);
      values_.back() = values_in(value);
      bounds->cells.back() = errors_in(value);
    }
    const BoundedMatrix sums = row_sums_of(node, value);
    row_sums_.push_back(values_in(sums));
    bounds->row_sums.push_back(errors_in(sums));
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
      if (options.rounds_to) {
        trace.run_on_bounded_doubles(*options.rounds_to);
      } else {
        trace.run_on_doubles();
      }
    }
  }
  if (trace.asked_) {
    const std::vector<Matrix> kinds = trace.asked_->kinds();
    trace.warnings_ = range_warnings(trace, [&](NodeId id) -> const Matrix& { return kinds[id]; });
  } else {
    trace.warnings_ = range_warnings(trace, [&](NodeId id) -> const Matrix& { return trace.values(id); });
  }
  return trace;
}

}  // namespace qkv

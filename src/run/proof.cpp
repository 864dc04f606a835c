#include "run/proof.h"

#include <algorithm>

#include "base/bounded_number.h"
#include "base/decimal.h"
#include "run/trace.h"

namespace qkv {

static_assert(kMostDigits == kDigitsOfAssumedTies);

namespace {

Interval enclose_exact(const Exact& x) {
  switch (x.kind()) {
    case Exact::Kind::decimal:
    case Exact::Kind::fraction:
      return enclose(x.rational());
    case Exact::Kind::plus_infinity:
      return infinity<Interval>(1);
    case Exact::Kind::minus_infinity:
      return infinity<Interval>(-1);
    case Exact::Kind::unknown:
    case Exact::Kind::quotient:
      break;
  }
  return not_a_number<Interval>();
}

std::shared_ptr<const IntervalMatrix> enclose_all(const ExactMatrix& value) {
  IntervalMatrix enclosed(value.rows(), value.cols());
  for (Index i = 0; i < enclosed.rows(); ++i) {
    for (Index j = 0; j < enclosed.cols(); ++j) enclosed(i, j) = enclose_exact(value(i, j));
  }
  return std::make_shared<const IntervalMatrix>(std::move(enclosed));
}

// The last is for sums that cancel hundreds of digits.
constexpr std::array<unsigned, 4> kPrecisions{Proof::kFirstPrecision, 160, 640, kMostDigits};
static_assert(kPrecisions.size() == Proof::kLevels);

// Encloses with more and more digits until `decide(enclosure)` or `decide(enclosure, exact value)` has
// an answer; `assume` gives one at last.
template <class Enclose, class Value, class Decide, class Assume>
auto decided(Enclose enclose, Value exact, Decide decide, Assume assume) {
  std::optional<Exact> value;
  for (std::size_t i = 0;; ++i) {
    const PrecisionScope precision(kPrecisions[i]);
    const Interval x = enclose(i);
    if (auto found = decide(x)) return *found;
    if (!value) value = exact();
    if (auto found = decide(x, *value)) return *found;
    // The hard read of keys that no interval can tell apart is as wide as their values differ.
    if (const auto known = value->algebraic()) {
      if (auto found = decide(qkv::enclose(*known), *value)) return *found;
    }
    if (i + 1 == kPrecisions.size()) return assume(x);
  }
}

template <class Enclose, class Value>
std::string decided_text(Enclose enclose, Value exact, int decimals, bool* is_assumed = nullptr) {
  return decided(
      enclose, exact,
      [&](const Interval& x, const auto&... value) { return fixed_text(x, value..., decimals); },
      [&](const Interval& x) {
        if (is_assumed != nullptr) *is_assumed = true;
        return fixed_text_of_tie(x, decimals);
      });
}

}  // namespace

Proof::Proof(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), exact_cells_(*plan_), decimal_cells_(*plan_) {
  for (const Node& node : plan_->nodes) {
    const bool from_algebraic = std::all_of(node.inputs.begin(), node.inputs.end(),
                                            [&](NodeId input) { return is_algebraic_[input]; });
    is_algebraic_.push_back(node.op->is_algebraic && from_algebraic);
  }
}

void Proof::pin(NodeId id, IntervalMatrix enclosure) {
  has_enclosure_ = true;
  level(0).pin(id, std::make_shared<const IntervalMatrix>(std::move(enclosure)));
}

void Proof::enclose_up_to(NodeId id) {
  const PrecisionScope precision(kFirstPrecision);
  for (; enclosed_ <= id; ++enclosed_) {
    const Node& node = (*plan_)[enclosed_];
    if (is_given(node)) {
      pin(enclosed_, given_rows<IntervalMatrix>(node, 0, node.shape.rows));
      continue;
    }
    InputsOf<IntervalMatrix> inputs;
    for (const NodeId input : node.inputs) inputs.emplace_back(level(0).whole(input));
    pin(enclosed_, kernel_of<IntervalMatrix>(*node.op)(inputs, node.params));
  }
}

void Proof::pin(NodeId id, ExactMatrix value) {
  const auto shared = std::make_shared<const ExactMatrix>(std::move(value));
  exact_cells_.pin(id, shared);
  pinned_[id] = shared;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const PrecisionScope precision(kPrecisions[i]);
    if (levels_[i]) levels_[i]->pin(id, enclose_all(*shared));
  }
}

Cells<IntervalMatrix>& Proof::level(std::size_t i) {
  if (levels_[i]) return *levels_[i];
  const PrecisionScope precision(kPrecisions[i]);
  Cells<IntervalMatrix>& cells = levels_[i].emplace(*plan_);
  cells.know([this](NodeId id, Index row) { return row_around_exact_values(id, row); });
  for (const auto& [id, value] : pinned_) cells.pin(id, enclose_all(*value));
  return cells;
}

// What is known exactly is enclosed as narrowly as can be, whatever cancelled on the way.
std::optional<IntervalMatrix> Proof::row_around_exact_values(NodeId id, Index row) {
  if (!is_algebraic_[id]) return std::nullopt;
  const ExactMatrix& exact = exact_cells_.row(id, row);
  IntervalMatrix enclosed(1, exact.cols());
  for (Index j = 0; j < exact.cols(); ++j) {
    const auto known = exact(0, j).is_finite() ? exact(0, j).algebraic() : std::nullopt;
    if (!known) return std::nullopt;
    enclosed(0, j) = enclose(*known);
  }
  return enclosed;
}

Interval Proof::enclosure(std::size_t i, const CellPlace& at) {
  const PrecisionScope precision(kPrecisions[i]);
  if (at.col == kRowSum) return sum_of_row(level(i).row(at.node, at.row), 0);
  return level(i).cell(at.node, at.row, at.col);
}

const IntervalMatrix& Proof::whole(NodeId id) {
  const PrecisionScope precision(kFirstPrecision);
  return level(0).whole(id);
}

Exact Proof::exact(const CellPlace& at) {
  return at.col == kRowSum ? sum_of_row(exact_cells_.row(at.node, at.row), 0)
                           : exact_cells_.cell(at.node, at.row, at.col);
}

std::string Proof::text(const CellPlace& at, int decimals) {
  ++texts_;
  // Without an enclosure at hand, a fraction is had more quickly than an interval.
  if (!has_enclosure_ && is_algebraic_[at.node]) {
    if (pinned_.empty() && at.col != kRowSum) {
      if (auto found = decimal_cells_.text(at.node, at.row, at.col, decimals)) return *found;
    }
    if (auto found = fixed_text(exact(at), decimals)) return *found;
  }
  bool is_assumed = false;
  std::string text = decided_text([&](std::size_t i) { return enclosure(i, at); }, [&] { return exact(at); },
                                  decimals, &is_assumed);
  // Of what is not a number, nothing can be a tie.
  if (is_assumed && text != "nan") assumed_ties_.emplace(at.node, at.row, at.col);
  return text;
}

std::string Proof::difference_text(const Number& from, const CellPlace& at, int decimals) {
  return decided_text([&](std::size_t i) { return Interval(enclose(from) - enclosure(i, at)); },
                      [&] { return exact_value(from) - exact(at); }, decimals);
}

std::string root_text(const Number& of, int decimals) {
  if (const Bounded near = sqrt(bounded(of)); decides(near, decimals))
    return fixed_text(near.value, decimals);
  return decided_text([&](std::size_t) { return Interval(sqrt(enclose(of))); },
                      [&] { return sqrt(exact_value(of)); }, decimals);
}

double Proof::nearest(const CellPlace& at) {
  return decided([&](std::size_t i) { return enclosure(i, at); }, [&] { return exact(at); },
                 [](const Interval& x, const auto&... value) { return nearest_double(x, value...); },
                 [](const Interval& x) { return middle_double(x); });
}

bool Proof::is_zero(const CellPlace& at) {
  const Interval x = enclosure(at);
  return is_point_zero(x) || (contains_zero(x) && exact(at).is_zero());
}

}  // namespace qkv

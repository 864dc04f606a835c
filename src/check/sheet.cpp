#include "check/sheet.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "run/apply.h"
#include "run/proof.h"

namespace qkv {
namespace {

// The place of the last digit of a decimal, as an exponent of ten: 0.58 → -2, 5.8e-3 → -4, 12% → -2.
std::optional<int> last_place(const Number& number) {
  const std::string& text = number.text;
  if (text.find_first_of("*/s") != std::string::npos) return std::nullopt;
  int place = 0;
  const std::size_t e = text.find_first_of("eE");
  const std::size_t point = text.find('.');
  std::size_t end = std::min(e, text.find('%'));
  end = std::min(end, text.size());
  if (point != std::string::npos) place -= static_cast<int>(end - point - 1);
  if (e != std::string::npos) place += std::stoi(text.substr(e + 1));
  if (text.ends_with('%')) place -= 2;
  return place;
}

Rational power_of_ten(int exponent) { return exact_decimal("1e" + std::to_string(exponent)).rational(); }

// An interval hardly wider than a point around a whole number of units.
bool is_multiple_of(const Interval& x, const Rational& unit) {
  const Interval in_units = x / enclose(unit);
  const auto text = fixed_text(in_units, 12);
  return text && text->find('e') == std::string::npos && text->ends_with(".000000000000");
}

// An image of more units of the last digit than this says nothing about that digit.
constexpr int kWidestImage = 10;

bool may_be_rounded(const Node& node) {
  return !is_given(node) && node.role == Role::step && node.level == Level::main && node.name() != "masked";
}

bool is_nan(const Interval& x) { return !(lower(x) == lower(x)); }

}  // namespace

bool meets(const Interval& a, const Interval& b) {
  return !certainly_exceeds(a, b) && !certainly_exceeds(b, a);
}

bool allows(const Written& written, const Interval& image) {
  if (is_nan(image) || is_nan(written.range)) return is_nan(image) && is_nan(written.range);
  return meets(image, written.range);
}

bool follows(const Written& written, const Interval& image) {
  if (!allows(written, image)) return false;
  if (is_nan(image) || !written.unit) return true;
  const Interval width = Interval(upper(image)) - Interval(lower(image));
  return !certainly_exceeds(width, enclose(Rational(*written.unit * kWidestImage)));
}

Written written_range(const Number& number, int decimals) {
  const Interval middle = enclose(number);
  if (number.kind != Number::Kind::finite) return {middle, std::nullopt};
  auto place = last_place(number);
  if (place == 0 && number.is_decimal) place = -decimals;
  if (!place) return {middle, std::nullopt};
  const Rational unit = power_of_ten(*place);
  const Interval half = enclose(Rational(unit / 2));
  return {hull(Interval(middle - half), Interval(middle + half)), unit};
}

std::optional<Written> cut_off_range(const Number& number) {
  const auto place = last_place(number);
  if (number.kind != Number::Kind::finite || number.decimals == 0 || !place) return std::nullopt;
  const Rational unit = power_of_ten(*place);
  const Interval x = enclose(number);
  // Towards zero; what is cut down to zero may have had either sign.  The next digit itself is not cut down
  // to this one.
  const Interval most = enclose(Rational(unit - unit * power_of_ten(-30)));
  const Interval up = number.value < 0 ? x : Interval(x + most);
  const Interval down = number.value > 0 ? x : Interval(x - most);
  return Written{hull(down, up), unit};
}

Sheet::Sheet(const Trace& truth, std::map<NodeId, Given> answers, int decimals)
    : truth_(truth), answers_(std::move(answers)), decimals_(decimals) {
  for (const auto& [id, given] : answers_) {
    for (const Number& number : given.cells) decimals_ = std::max(decimals_, number.decimals);
  }
}

const Given* Sheet::answer(NodeId id) const {
  const auto found = answers_.find(id);
  return found == answers_.end() ? nullptr : &found->second;
}

bool Sheet::is_answered_between(NodeId after, NodeId before) const {
  const auto next = answers_.upper_bound(after);
  return next != answers_.end() && next->first < before;
}

IntervalMatrix Sheet::compute(NodeId id, const Values& values, bool has_own_mask) const {
  const PrecisionScope precision(Proof::kFirstPrecision);
  const Node& node = plan()[id];
  if (is_given(node)) return given_rows<IntervalMatrix>(node, 0, node.shape.rows);
  const bool is_brief = node.brief && !is_answered_between(node.brief->inputs[0], id);
  // A step after `masked` finds −∞ where its input hides a key.
  const auto masked = plan().find_beside(node, "masked");
  const bool is_after_mask = masked && *masked < id;
  const auto fitting = [&](Params params) {
    if (has_own_mask && is_after_mask) params.allowed = nullptr;
    return params;
  };
  if (is_brief) return softmax_of_ranges(values[node.brief->inputs[0]], fitting(node.brief->params));
  InputsOf<IntervalMatrix> inputs;
  for (const NodeId input : node.inputs) inputs.emplace_back(values[input]);
  return node.op->kernel.intervals(inputs, fitting(node.params));
}

IntervalMatrix Sheet::image(NodeId id, Chain which) const {
  return compute(id, chain(which), has_own_mask(id, which));
}

IntervalMatrix Sheet::image(NodeId id, Chain which, const Changes& changes) const {
  Values values = chain(which);
  values.resize(id + 1);
  for (NodeId next = changes.begin()->first; next <= id; ++next) {
    if (const auto changed = changes.find(next); changed != changes.end()) {
      values[next] = changed->second;
    } else if (next == id || !answers_.contains(next)) {
      values[next] = compute(next, values, true);
    }
  }
  return std::move(values[id]);
}

const IntervalMatrix& Sheet::value(NodeId id, Chain which) const { return chain(which)[id]; }

bool Sheet::has_departed_before(NodeId id) const {
  const auto& inputs = plan()[id].inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](NodeId input) { return departed_[input]; });
}

// A step that was worked out and not handed in was rounded too, to some number near; a mask changes no
// digits.
void Sheet::widen_unwritten(IntervalMatrix& value) const {
  const Rational unit = power_of_ten(-decimals_);
  const Interval half = enclose(Rational(unit / 2));
  for (Index k = 0; k < value.size(); ++k) {
    Interval& x = value(k);
    if (is_minus_infinity(x) || is_nan(x) || is_multiple_of(x, unit)) continue;
    x = hull(Interval(x - half), Interval(x + half));
  }
}

// The same to the nearest.
void Sheet::round_unwritten(IntervalMatrix& value) const {
  for (Index k = 0; k < value.size(); ++k) {
    const double middle = middle_double(value(k));
    if (std::isfinite(middle)) value(k) = enclose_decimal(fixed_text(middle, decimals_));
  }
}

void Sheet::settle(NodeId id) {
  const Mask none = Mask::Constant(plan()[id].shape.rows, plan()[id].shape.cols, false);
  settle(id, none, none);
}

void Sheet::settle(NodeId id, const Mask& is_untrue, const Mask& is_wrong) {
  const PrecisionScope precision(Proof::kFirstPrecision);
  bool departs = has_departed_before(id);
  const Given* given = answer(id);
  for (const Chain which : kChains) {
    IntervalMatrix value = compute(id, chain(which), has_own_mask(id, which));
    const bool is_widening = which == Chain::mended || which == Chain::theirs;
    if (given == nullptr && may_be_rounded(plan()[id])) {
      if (is_widening) widen_unwritten(value);
      if (which == Chain::paper) round_unwritten(value);
    }
    const bool is_range = is_widening || which == Chain::printed;
    for (Index i = 0; given != nullptr && i < value.rows(); ++i) {
      for (Index j = 0; j < value.cols(); ++j) {
        const Number& number = given->at(i, j);
        const bool is_blank = number.kind == Number::Kind::blank;
        if (is_blank || (which == Chain::mended && is_untrue(i, j))) continue;
        departs = departs || is_untrue(i, j);
        if (which == Chain::continued && !is_wrong(i, j)) continue;
        const Written written = this->written(number);
        // A value that is a point, and has no more digits than were written, is written exactly: a score of 3
        // is 3.
        // Where a table has wrong numbers, only whole ones are taken to be exact.
        const bool is_exact = !is_range || (written.unit && is_multiple_of(value(i, j), *written.unit) &&
                                            (number.decimals == 0 || !is_untrue.any()));
        value(i, j) = is_exact ? enclose(number) : written.range;
      }
    }
    chain(which).push_back(std::move(value));
  }
  departed_.push_back(departs);
}

IntervalMatrix softmax_of_ranges(const IntervalMatrix& scores, const Params& params) {
  IntervalMatrix weights(scores.rows(), scores.cols());
  const auto is_open = [&](Index i, Index j) {
    return is_allowed(params, i, j) && !is_minus_infinity(scores(i, j));
  };
  for (Index i = 0; i < scores.rows(); ++i) {
    for (Index j = 0; j < scores.cols(); ++j) {
      if (!is_open(i, j)) {
        const bool is_nan = row_is_empty(params, i) && params.empty_row_is_nan;
        weights(i, j) = is_nan ? not_a_number<Interval>() : Interval(0);
        continue;
      }
      Interval sum = 1;
      for (Index k = 0; k < scores.cols(); ++k) {
        if (k != j && is_open(i, k)) sum += exp(scores(i, k) - scores(i, j));
      }
      if (!params.numbers.empty()) sum += exp(enclose(params.numbers[0]) - scores(i, j));
      weights(i, j) = 1 / sum;
    }
  }
  return weights;
}

}  // namespace qkv

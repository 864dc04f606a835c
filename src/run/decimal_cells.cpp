#include "run/decimal_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/decimal.h"
#include "run/apply.h"

namespace qkv {
namespace {

constexpr int kMostDecimals = 17;
constexpr std::array<std::int64_t, kMostDecimals + 1> kPowers = [] {
  std::array<std::int64_t, kMostDecimals + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

// A decimal in units of 10^-decimals.  Its double is off by half a unit in the last place, and so is that
// product: below 2^49 the nearest whole number is the right one.
std::optional<std::int64_t> units(const Number& number, int decimals) {
  if (number.kind != Number::Kind::finite || !number.is_decimal) return std::nullopt;
  const double scaled = number.value * static_cast<double>(kPowers[static_cast<std::size_t>(decimals)]);
  if (!(std::abs(scaled) < 0x1p49)) return std::nullopt;
  return static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
}

// The digits of a Row stay below this, so that a sum of 2^20 products fits in 128 bits.
constexpr std::int64_t kMostUnits = std::int64_t{1} << 50;
constexpr std::size_t kMostTerms = std::size_t{1} << 20;

// a·b, or false when it does not fit.  Not __builtin_mul_overflow: for 128 bits clang++ makes a call of it
// that libgcc has no function for.
template <class Wide>
bool multiply(Wide& a, Wide b) {
  constexpr Wide kMost = ~(Wide{1} << (8 * sizeof(Wide) - 1));
  const Wide size = a < 0 ? -a : a;
  if (b != 0 && size > kMost / (b < 0 ? -b : b)) return false;
  a *= b;
  return true;
}

// √d of a square number, below 2^26.
std::optional<std::int64_t> whole_root(const Number& d) {
  const auto size = units(d, 0);
  if (!size || *size <= 0 || d.decimals != 0 || *size >= std::int64_t{1} << 52) return std::nullopt;
  const std::int64_t root = std::llround(std::sqrt(static_cast<double>(*size)));
  return root * root == *size ? std::optional(root) : std::nullopt;
}

}  // namespace

const DecimalCells::Row* DecimalCells::row(NodeId id, Index row) {
  const auto [kept, is_new] = rows_.try_emplace({id, row});
  if (is_new) {
    std::optional<Row> made = make_row(id, row);  // may ask for other rows
    kept->second = std::move(made);
  }
  return kept->second ? &*kept->second : nullptr;
}

std::optional<DecimalCells::Row> DecimalCells::make_row(NodeId id, Index row) {
  const Node& node = plan_[id];
  if (node.is_symbolic()) return std::nullopt;
  Row made;
  if (is_given(node)) {
    const auto at = [&](Index j) -> const Number& {
      return node.given[static_cast<std::size_t>(row * node.shape.cols + j)];
    };
    for (Index j = 0; j < node.shape.cols; ++j) made.decimals = std::max(made.decimals, at(j).decimals);
    if (made.decimals > kMostDecimals) return std::nullopt;
    made.digits.reserve(static_cast<std::size_t>(node.shape.cols));
    for (Index j = 0; j < node.shape.cols; ++j) {
      const auto whole = units(at(j), made.decimals);
      if (!whole) return std::nullopt;
      made.digits.push_back(*whole);
    }
    return made;
  }
  // Of what is computed, on a common denominator where that is a power of ten.
  std::vector<Ratio> cells;
  for (Index j = 0; j < node.shape.cols; ++j) {
    const auto value = cell(id, row, j);
    if (!value) return std::nullopt;
    cells.push_back(*value);
    while (made.decimals < kMostDecimals && kPowers[static_cast<std::size_t>(made.decimals)] < value->below)
      ++made.decimals;
  }
  for (const Ratio& value : cells) {
    const Wide scale = Wide{kPowers[static_cast<std::size_t>(made.decimals)]};
    Wide whole = value.above;
    if (scale % value.below != 0 || !multiply(whole, scale / value.below) || whole >= kMostUnits ||
        whole <= -kMostUnits)
      return std::nullopt;
    made.digits.push_back(static_cast<std::int64_t>(whole));
  }
  return made;
}

// Row `row` of x times a row of w, or a column of it; and a bias [1, e].
std::optional<DecimalCells::Ratio> DecimalCells::product(NodeId x, Index row, NodeId w, Index at,
                                                         bool is_row_of_w, std::optional<NodeId> bias) {
  const Row* const left = this->row(x, row);
  if (left == nullptr) return std::nullopt;
  if (left->digits.size() > kMostTerms) return std::nullopt;
  Wide sum = 0;
  int decimals = 0;
  const Row* const whole = is_row_of_w ? this->row(w, at) : nullptr;
  if (is_row_of_w && whole == nullptr) return std::nullopt;
  if (!is_row_of_w) {
    for (Index k = 0; k < plan_[w].shape.rows; ++k) {
      const Row* const right = this->row(w, k);
      if (right == nullptr) return std::nullopt;
      decimals = std::max(decimals, right->decimals);
    }
  } else {
    decimals = whole->decimals;
  }
  for (std::size_t k = 0; k < left->digits.size(); ++k) {
    Wide term = 0;
    if (is_row_of_w) {
      term = whole->digits[k];
    } else {
      const Row* const right = this->row(w, static_cast<Index>(k));
      term = right->digits[static_cast<std::size_t>(at)];
      if (!multiply(term, Wide{kPowers[static_cast<std::size_t>(decimals - right->decimals)]}) ||
          term >= kMostUnits || term <= -kMostUnits)
        return std::nullopt;
    }
    if constexpr (sizeof(Wide) >= 16) {
      sum += term * left->digits[k];
    } else if (!multiply(term, Wide{left->digits[k]}) || __builtin_add_overflow(sum, term, &sum)) {
      return std::nullopt;
    }
  }
  decimals += left->decimals;
  if (decimals > kMostDecimals) return std::nullopt;
  Ratio result{sum, kPowers[static_cast<std::size_t>(decimals)]};
  if (!bias) return result;
  const Row* const added = this->row(*bias, 0);
  if (added == nullptr || added->decimals > decimals) return std::nullopt;
  const std::int64_t scale = kPowers[static_cast<std::size_t>(decimals - added->decimals)];
  Wide term = added->digits[static_cast<std::size_t>(at)];
  if (!multiply(term, Wide{scale}) || __builtin_add_overflow(result.above, term, &result.above))
    return std::nullopt;
  return result;
}

std::optional<DecimalCells::Ratio> DecimalCells::cell(NodeId id, Index row, Index col) {
  const Node& node = plan_[id];
  if (node.is_symbolic()) return std::nullopt;
  if (is_given(node)) {
    const Number& number = node.given[static_cast<std::size_t>(row * node.shape.cols + col)];
    if (number.decimals > kMostDecimals) return std::nullopt;
    const auto whole = units(number, number.decimals);
    if (!whole) return std::nullopt;
    return Ratio{*whole, kPowers[static_cast<std::size_t>(number.decimals)]};
  }
  const std::string_view op = node.op->name;
  const auto input = [&](std::size_t k) { return node.inputs[k]; };
  const auto bias = [&]() { return node.inputs.size() > 2 ? std::optional(input(2)) : std::nullopt; };
  if (op == "same") return cell(input(0), row, col);
  if (op == "dot_rows") return product(input(0), row, input(1), col, true, std::nullopt);
  if (op == "project" || op == "project_biased") return product(input(0), row, input(1), col, false, bias());
  if (op == "linear" || op == "linear_biased") return product(input(0), row, input(1), col, true, bias());
  if (op == "head") {
    const Row* const whole = this->row(input(0), row);
    const auto at =
        static_cast<std::size_t>(node.params.numbers[0].value) - 1 + static_cast<std::size_t>(col);
    if (whole == nullptr) return std::nullopt;
    return Ratio{whole->digits[at], kPowers[static_cast<std::size_t>(whole->decimals)]};
  }
  if (op == "scale") {
    const auto root = whole_root(node.params.numbers[0]);
    auto value = root ? cell(input(0), row, col) : std::nullopt;
    if (!value || !multiply(value->below, Wide{*root})) return std::nullopt;
    return value;
  }
  if (op == "add_mask") {
    if (is_closed(node, row, col)) return std::nullopt;  // −∞
    return cell(input(0), row, col);                     // + 0
  }
  return std::nullopt;
}

std::optional<std::string> DecimalCells::text(NodeId id, Index row, Index col, int decimals) {
  const auto value = cell(id, row, col);
  if (!value) return std::nullopt;
  Wide scaled = value->above;
  if (!multiply(scaled, Wide{kPowers[static_cast<std::size_t>(decimals)]})) return std::nullopt;
  const bool is_negative = scaled < 0;
  if (is_negative) scaled = -scaled;
  Wide whole = scaled / value->below;
  const Wide rest = scaled % value->below;
  const Wide other = value->below - rest;
  if (rest > other || (rest == other && whole % 2 != 0)) ++whole;
  // From 10^15 on numbers are written with an exponent.
  if (whole / kPowers[static_cast<std::size_t>(decimals)] >= std::int64_t{999'999'999'999'999})
    return std::nullopt;
  std::string text;
  for (int i = 0; whole > 0 || i <= decimals; ++i) {
    if (i == decimals && decimals > 0) text += '.';
    text += static_cast<char>('0' + static_cast<int>(whole % 10));
    whole /= 10;
  }
  if (is_negative && text.find_first_of("123456789") != std::string::npos) text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace qkv

// What the numeric tests share: matrices and problems in a few characters, a second walk over
// a plan in plain doubles, seeded random numbers, and a comparison that says where two
// matrices differ.
//
// A problem is made here as the reader would leave it, without the reader, so that these tests
// are about the arithmetic alone.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/matrix.h"
#include "base/number.h"
#include "methods/methods.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "report/cell_text.h"
#include "run/trace.h"

namespace qkv::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- Numbers and matrices ---------------------------------------------------------------

// A number as it would be written in a file: "0.40", "1/3", "-inf", "v0", "_".
inline Number written(std::string_view text) {
  NumberError error;
  const auto number = parse_number(text, error);
  INFO("number: ", std::string(text));
  REQUIRE(number);
  return *number;
}

// All digits of a double; the shortest text that reads back as it would be another number.
inline Number exactly(double value) {
  if (std::isinf(value)) return written(value > 0 ? "inf" : "-inf");
  std::string text = fmt::format("{:.1074f}", value);  // 2^-1074 has so many decimals
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  Number number;
  number.decimals =
      static_cast<int>(text.find('.') == std::string::npos ? 0 : text.size() - text.find('.') - 1);
  number.text = std::move(text);
  number.value = value;
  return number;
}

// "1 0 ; 0 1"
inline Given rows_of(std::string_view text) {
  Given given;
  std::size_t at = 0;
  Index in_row = 0;
  const auto end_row = [&] {
    ++given.rows;
    given.cols = in_row;
    in_row = 0;
  };
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word == ";") {
      end_row();
    } else if (!word.empty()) {
      given.cells.push_back(written(word));
      ++in_row;
    }
    at = end + 1;
  }
  end_row();
  REQUIRE(static_cast<Index>(given.cells.size()) == given.rows * given.cols);
  return given;
}

inline Given rows_of(const Matrix& matrix) {
  Given given{
      .rows = matrix.rows(), .cols = matrix.cols(), .cells = {}, .row_labels = {}, .source = {}, .span = {}};
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) given.cells.push_back(exactly(matrix(i, j)));
  }
  return given;
}

inline Matrix doubles_of(const Given& given) {
  Matrix matrix(given.rows, given.cols);
  for (Index i = 0; i < given.rows; ++i) {
    for (Index j = 0; j < given.cols; ++j) matrix(i, j) = given.at(i, j).value;
  }
  return matrix;
}

inline Matrix matrix(std::string_view text) { return doubles_of(rows_of(text)); }

inline Mask mask_of(std::string_view text) { return matrix(text).array() == 1; }

// Empty when equal to within tolerance · max(1, |b|), infinities and NaN where b has them;
// else the first difference.
inline std::string apart(const Matrix& a, const Matrix& b, double tolerance) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) {
    return fmt::format("{}x{} instead of {}x{}", a.rows(), a.cols(), b.rows(), b.cols());
  }
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < a.cols(); ++j) {
      const double x = a(i, j);
      const double y = b(i, j);
      const bool is_same = x == y || (std::isnan(x) && std::isnan(y)) ||
                           std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
      if (!is_same || (std::isinf(x) != std::isinf(y))) {
        return fmt::format("cell ({}, {}) is {:.17g} instead of {:.17g}", i + 1, j + 1, x, y);
      }
    }
  }
  return "";
}

// ---- Problems ---------------------------------------------------------------------------

inline std::vector<std::string> labels(const char* letter, Index count) {
  std::vector<std::string> names;
  for (Index i = 1; i <= count; ++i) names.push_back(letter + std::to_string(i));
  return names;
}

// Closes the keys that the mask forbids, as the setting `mask` or the section [mask] does.
inline void forbid(Problem& problem, const Mask& mask) {
  problem.mask = std::make_shared<const Mask>(mask);
  const Mask all = problem.allowed ? Mask(problem.allowed->array() && mask.array()) : mask;
  problem.allowed = std::make_shared<const Mask>(all);
}

// Closes every key whose number in this section is -inf.
inline void forbid_minus_infinities(Problem& problem, const char* section) {
  const Matrix numbers = doubles_of(problem[section]);
  Mask mask = numbers.array() != -kInfinity;
  if (mask.all()) return;
  if (problem.allowed) mask = mask.array() && problem.allowed->array();
  problem.allowed = std::make_shared<const Mask>(std::move(mask));
}

inline Mask causal_mask(Index n, Index m, long align) {
  Mask mask(n, m);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) mask(i, j) = j <= i + align;
  }
  return mask;
}

using Sections = std::map<std::string, Given, std::less<>>;

// Everything else at its default: bottom-right, 1/√d_k for Q K V and X, no scale for tables.
inline Problem problem_at(Entry entry, Sections sections) {
  Problem p;
  p.entry = entry;
  p.given = std::move(sections);
  const char* table = entry == Entry::scores    ? "scores"
                      : entry == Entry::scaled  ? "scaled"
                      : entry == Entry::masked  ? "masked"
                      : entry == Entry::weights ? "weights"
                                                : nullptr;
  Index n = 0;
  Index m = 0;
  if (table != nullptr) {
    n = p[table].rows;
    m = p[table].cols;
    p.scale.kind = ScaleKind::none;
    if (entry != Entry::weights) forbid_minus_infinities(p, table);
  } else {
    n = p[p.has("Q") ? "Q" : "X"].rows;
    m = p[p.has("K") ? "K" : (p.has("X_kv") ? "X_kv" : "X")].rows;
    const Index d_k = p.has("Q") ? p["Q"].cols : p["W_Q"].cols;
    p.scale.d_k = whole_number(d_k);
  }
  if (p.has("bias")) forbid_minus_infinities(p, "bias");
  p.tokens = labels("t", n);
  p.kv_tokens = n == m ? p.tokens : labels("k", m);
  p.align = m - n;
  if (!p.has("V") && !p.has("W_V")) {
    Given v{.rows = m, .cols = 1, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
    for (Index j = 1; j <= m; ++j) v.cells.push_back(written("v" + std::to_string(j)));
    p.given.emplace("V", std::move(v));
  }
  return p;
}

// ---- Running ----------------------------------------------------------------------------

inline Trace traced(const Problem& problem) { return run(plan_of(problem), {}); }

inline NodeId node_named(const Plan& plan, std::string_view id) {
  INFO("step ", std::string(id));
  const auto node = plan.find(id);
  REQUIRE(node.has_value());
  return *node;
}

inline const Matrix& value(const Trace& trace, std::string_view id) {
  return trace.values(node_named(trace.plan(), id));
}

// The table of a step as it is shown: "0.40 0.60 ; 1.00 0".
inline std::string shown(const Trace& trace, std::string_view id, int decimals) {
  const NodeId node = node_named(trace.plan(), id);
  std::string text;
  for (Index i = 0; i < trace.plan()[node].shape.rows; ++i) {
    if (i > 0) text += " ; ";
    for (Index j = 0; j < trace.plan()[node].shown_cols(); ++j) {
      if (j > 0) text += " ";
      text += shown_cell(trace, {node, i, j}, decimals).text;
    }
  }
  return text;
}

// The plan computed with the kernels for doubles alone, whatever its size.
inline std::vector<Matrix> in_doubles(const Plan& plan) {
  std::vector<Matrix> values;
  for (const Node& node : plan.nodes) {
    if (node.op->kernel.doubles == nullptr) {
      Matrix given(node.shape.rows, node.shape.cols);
      for (Index i = 0; i < given.rows(); ++i) {
        for (Index j = 0; j < given.cols(); ++j) {
          given(i, j) = node.given[static_cast<std::size_t>(i * given.cols() + j)].value;
        }
      }
      values.push_back(std::move(given));
      continue;
    }
    InputsOf<Matrix> inputs;
    for (const NodeId id : node.inputs) inputs.emplace_back(values[id]);
    values.push_back(node.op->kernel.doubles(inputs, node.params));
  }
  return values;
}

// ---- Chance -----------------------------------------------------------------------------

// Random tests take their seed from the environment and say it when they fail.
inline std::uint64_t seed() {
  const char* text = std::getenv("QKV_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20171206;
}

#define QKV_SAY_SEED() INFO("repeat with QKV_SEED=", qkv::test::seed())

// How many sheets or exercises a random test takes: QKV_SHEETS, for runs longer or shorter than usual.
inline Index sheets(Index usually) {
  const char* text = std::getenv("QKV_SHEETS");
  return text != nullptr ? std::atol(text) : usually;
}

// Multiples of 1/8: doubles and decimals are then the same numbers.
class Random {
 public:
  // `stream` keeps two tests from sharing their numbers.
  explicit Random(std::uint64_t stream) : bits_(seed() * 1000 + stream) {}

  Index whole(Index least, Index most) {
    return least + static_cast<Index>(bits_() % static_cast<std::uint64_t>(most - least + 1));
  }
  double eighths(Index most) { return static_cast<double>(whole(-8 * most, 8 * most)) / 8; }
  Matrix matrix(Index rows, Index cols, Index most = 3) {
    Matrix m(rows, cols);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) m(i, j) = eighths(most);
    }
    return m;
  }
  // Every key is open with even chance; one key of each row stays open.
  Mask mask(Index rows, Index cols) {
    Mask m(rows, cols);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) m(i, j) = whole(0, 1) == 1;
      m(i, whole(0, cols - 1)) = true;
    }
    return m;
  }
  std::vector<Index> shuffled(Index count) {
    std::vector<Index> order;
    for (Index i = 0; i < count; ++i) order.push_back(i);
    for (Index i = count - 1; i > 0; --i) {
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(whole(0, i))]);
    }
    return order;
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace qkv::test

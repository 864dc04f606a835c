// What makes large traces quick, each against a slower and simpler way to the same thing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/decimal.h"
#include "base/fixed.h"
#include "base/threads.h"
#include "input/plain_numbers.h"
#include "matrix_rows.h"
#include "methods/methods.h"
#include "render/text.h"
#include "report/narrate.h"
#include "run/decimal_cells.h"
#include "run/doubles.h"
#include "run/proof.h"
#include "support.h"

using namespace qkv;
using namespace qkv::test;

namespace {

std::optional<MatrixText> plain_numbers(const std::string& text) {
  const SourcePtr file = source("m.txt", text);
  return read_plain_numbers({file, {0, file->text.size()}, {0, 0}, say({"[X]", "[X]"})});
}

double real(Random& random, double least, double most) {
  return least + (most - least) * static_cast<double>(random.whole(0, Index{1} << 40)) * 0x1p-40;
}

// A matrix of numbers with so many decimals, as somebody would write them.
Given decimals(Random& random, Index rows, Index cols, int places, double most = 3) {
  Given given{.rows = rows, .cols = cols, .cells = {}, .row_labels = {}, .source = {}, .span = {}};
  for (Index k = 0; k < rows * cols; ++k)
    given.cells.push_back(written(fmt::format("{:.{}f}", real(random, -most, most), places)));
  return given;
}

}  // namespace

// ---- reading ----

TEST_CASE("a matrix of nothing but decimals is read as every other form would read it") {
  QKV_SAY_SEED();
  Random random(311);
  for (int round = 0; round < 200; ++round) {
    const Index cols = random.whole(1, 5);
    std::string text;
    std::string in_brackets;  // read in the general way
    const Index rows_count = random.whole(1, 5);
    for (Index i = 0; i < rows_count; ++i) {
      for (Index j = 0; j < cols; ++j) {
        const int places = static_cast<int>(random.whole(0, 25));
        std::string number = fmt::format(
            "{:.{}f}", real(random, -1, 1) * std::pow(10.0, static_cast<double>(random.whole(-8, 12))),
            places);
        if (random.whole(0, 9) == 0) number = number[0] == '-' ? number : "+" + number;
        text += (j > 0 ? "  " : " ") + number;
        in_brackets += (j > 0 ? " " : "[") + number;
      }
      text += i % 2 == 0 ? "\n" : " \r\n\n";
      in_brackets += "]\n";
    }
    const auto quick = plain_numbers(text);
    const auto slow = rows(in_brackets).matrix;
    INFO(text);
    REQUIRE(quick);
    REQUIRE(slow);
    CHECK(quick->rows == slow->rows);
    CHECK(quick->cols == slow->cols);
    CHECK(quick->cells == slow->cells);
    CHECK(quick->row_spans.size() == slow->row_spans.size());
    for (std::size_t k = 0; k < quick->cells.size(); ++k) {
      const Span span = quick->cell_spans[k];
      CHECK(text.substr(span.begin, span.end - span.begin) == quick->cells[k].text);
    }
  }
}

TEST_CASE("whatever is more than decimals is left to the general way") {
  for (const char* text :
       {"\n \n", "1 2\n3\n", "1,2\n", "1 2 # three\n", "t1: 1 2\n", "1e5 2\n", "1 .\n", "- 1\n", "1 2;\n",
        "inf 1\n", "1-2 3\n", "1.2.3 4\n", "1/2 1\n", "[1 2]\n", "_ 1\n", "5% 1\n"}) {
    INFO(text);
    CHECK(!plain_numbers(text));
  }
  CHECK(plain_numbers("1 2\n3 4")->cells.size() == 4);
  CHECK(plain_numbers(".5 5. -0")->cells == std::vector<Number>{written(".5"), written("5."), written("-0")});
}

// ---- digits ----

TEST_CASE("what is not left open is written as printf writes it") {
  QKV_SAY_SEED();
  Random random(312);
  std::vector<double> values{0,
                             -0.0,
                             0.5,
                             1.5,
                             2.5,
                             -0.5,
                             0.05,
                             0.125,
                             0.375,
                             1e-300,
                             -1e-300,
                             5e-324,
                             9.99995,
                             99999.5,
                             0.1,
                             1e14,
                             -1e14,
                             123456789.123456789,
                             4503599627370495.5,
                             1e15,
                             2e15,
                             -1e300};
  for (int k = 0; k < 20'000; ++k) {
    values.push_back(real(random, -2, 2) * std::pow(10.0, static_cast<double>(random.whole(-18, 15))));
    const double near =
        static_cast<double>(random.whole(-2'000'000, 2'000'000)) / 2e4;  // ties, and beside them
    values.push_back(near);
    values.push_back(std::nextafter(near, 1e9));
    values.push_back(std::nextafter(near, -1e9));
  }
  for (int decimals = 0; decimals <= 17; ++decimals) {
    const FixedDecimals fixed(decimals);
    std::vector<Index> open;
    fixed.find_open(values.data(), values.size(), {}, open);
    std::size_t next = 0;
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::string expected = without_negative_zero(fmt::format("{:.{}f}", values[k], decimals));
      if (const auto exact = fixed.exact_text(values[k]); exact && *exact != expected) ++wrong;
      if (next < open.size() && open[next] == static_cast<Index>(k)) {
        ++next;
        continue;
      }
      std::array<char, FixedDecimals::kMostCharacters> text;
      char* const end = text.data() + text.size();
      const std::string shown(fixed.write_before(end, fixed.units(values[k])), end);
      if (shown != expected || fixed.width(fixed.units(values[k])) != shown.size()) ++wrong;
    }
    INFO(decimals, " decimals");
    CHECK(wrong == 0);
    if (decimals < 8) CHECK(open.size() < values.size() / 2);  // most are settled
  }
}

TEST_CASE("a number is left open when some number within its bound has another text") {
  const FixedDecimals fixed(2);
  const auto is_open = [&](double value, RowBound bound) {
    std::vector<Index> open;
    fixed.find_open(&value, 1, bound, open);
    return !open.empty();
  };
  CHECK(!is_open(0.1049, {0.00005, 0}));
  CHECK(is_open(0.1049, {0.0002, 0}));
  CHECK(is_open(-0.1049, {0.0002, 0}));
  CHECK(!is_open(0.1049, {0, 0.0005}));
  CHECK(is_open(0.1049, {0, 0.002}));
  CHECK(is_open(0.125, {}));  // its own tie: the careful way decides
  CHECK(is_open(qkv::test::kInfinity, {}));
  CHECK(is_open(-qkv::test::kInfinity, {}));
  CHECK(is_open(std::nan(""), {}));
}

TEST_CASE("cells of short decimals have the text of their exact value, ties too") {
  QKV_SAY_SEED();
  Random random(313);
  for (const Index d : {1, 4, 7, 16}) {
    Problem p = problem_at(Entry::x, {{"X", decimals(random, 6, 5, 2)},
                                      {"W_Q", decimals(random, 5, d, 1)},
                                      {"W_K", decimals(random, 5, d, 2)},
                                      {"W_V", decimals(random, 5, 3, 2)},
                                      {"b_Q", decimals(random, 1, d, 1)}});
    forbid(p, causal_mask(6, 6, 0));
    const Plan plan = plan_of(p);
    DecimalCells quick(plan);
    Proof proof(std::make_shared<const Plan>(plan));
    int found = 0;
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      for (Index i = 0; i < plan[id].shape.rows; ++i) {
        for (Index j = 0; j < plan[id].shape.cols; ++j) {
          for (const int decimals : {0, 1, 2, 3, 4, 6}) {
            const auto text = quick.text(id, i, j, decimals);
            if (!text) continue;
            ++found;
            INFO(plan[id].id, "[", i + 1, ",", j + 1, "] at ", decimals, ", d = ", d);
            const Interval x = proof.enclosure({id, i, j});
            const auto exact = fixed_text(proof.exact({id, i, j}), decimals);
            CHECK(*text == exact.value_or(fixed_text_of_tie(x, decimals)));
          }
        }
      }
    }
    CHECK(found > 500);
  }
}

// ---- bounds ----

namespace {

// Every setting that has bounds of rows.
std::vector<Problem> large_problems(Random& random, Index n, Index d) {
  std::vector<Problem> problems;
  const auto base = [&] {
    return problem_at(Entry::qkv, {{"Q", decimals(random, n, d, 3)},
                                   {"K", decimals(random, n, d, 3)},
                                   {"V", decimals(random, n, 3, 3)}});
  };
  problems.push_back(base());
  problems.push_back(base());
  forbid(problems.back(), causal_mask(n, n, 0));
  problems.push_back(base());
  Mask some = causal_mask(n, n, 0);
  for (Index k = 0; k < some.size(); ++k) some.data()[k] = random.whole(0, 2) > 0;
  some.row(2).setConstant(false);
  forbid(problems.back(), some);
  problems.back().softcap = written("2.5");
  problems.back().temperature = written("1/3");
  problems.push_back(base());
  forbid(problems.back(), causal_mask(n, n, 0));
  problems.back().slopes = {written("0.3")};
  problems.back().sink_logits = {written("0.7")};
  problems.push_back(base());
  problems.back().scale.kind = ScaleKind::factor;
  problems.back().scale.factor = written("1/7");
  Problem heads = problem_at(Entry::x, {{"X", decimals(random, n, 8, 2, 0.5)},
                                        {"W_Q", decimals(random, 8, 8, 2, 0.5)},
                                        {"W_K", decimals(random, 8, 8, 2, 0.5)},
                                        {"W_V", decimals(random, 8, 8, 2, 0.5)},
                                        {"W_O", decimals(random, 8, 8, 2, 0.5)},
                                        {"b_Q", decimals(random, 1, 8, 2, 0.5)}});
  heads.heads = heads.kv_heads = 2;
  heads.scale.d_k = whole_number(4);
  problems.push_back(std::move(heads));
  return problems;
}

}  // namespace

TEST_CASE(
    "the doubles of a large problem are those of the general kernels, within bounds that hold and are "
    "narrow") {
  QKV_SAY_SEED();
  Random random(314);
  for (const Problem& p : large_problems(random, 13, 9)) {
    const auto plan = std::make_shared<const Plan>(plan_of(p));
    Doubles quick(*plan);
    std::vector<BoundedMatrix> slow;
    Proof proof(plan);
    std::size_t by_rows = 0;
    for (NodeId id = 0; id < plan->nodes.size(); ++id) {
      const Node& node = (*plan)[id];
      slow.push_back(value_of(node, slow));
      by_rows += quick.row_bounds(id).empty() ? 0 : 1;
      for (Index i = 0; i < node.shape.rows; ++i) {
        for (Index j = 0; j < node.shape.cols; ++j) {
          const double value = quick.values(id)(i, j);
          INFO(node.id, "[", i + 1, ",", j + 1, "]");
          CHECK(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(slow[id](i, j).value));
          if (!std::isfinite(value)) continue;
          const double bound = quick.bound(id, i, j);
          CHECK(bound >= 0);
          CHECK(bound <= 1e-11 * std::max(1.0, std::abs(value)));
          const PrecisionScope precision(Proof::kFirstPrecision);
          const Interval off = abs(Interval(proof.enclosure({id, i, j}) - Interval(value)));
          CHECK(!certainly_exceeds(off, Interval(bound)));
        }
      }
    }
    CHECK(by_rows + 2 >= plan->nodes.size());
  }
}

TEST_CASE("an overflow, a NaN and a tiny number leave the bounds of rows, or are within them") {
  for (const char* scale : {"1e200", "1e-200", "1e-320"}) {
    const Matrix x = Matrix::Constant(3, 2, written(scale).value);
    const Problem p =
        problem_at(Entry::qkv, {{"Q", rows_of(x)}, {"K", rows_of(x)}, {"V", rows_of("1 ; 2 ; 4")}});
    const auto plan = std::make_shared<const Plan>(plan_of(p));
    Doubles quick(*plan);
    Proof proof(plan);
    for (NodeId id = 0; id < plan->nodes.size(); ++id) {
      for (Index i = 0; i < 3; ++i) {
        INFO(scale, " ", (*plan)[id].id, " ", i);
        const double value = quick.values(id)(i, 0);
        const double bound = quick.bound(id, i, 0);
        if (!std::isfinite(value)) CHECK(bound == qkv::test::kInfinity);
        if (!std::isfinite(value) || bound == qkv::test::kInfinity) continue;
        const PrecisionScope precision(Proof::kFirstPrecision);
        const Interval off = abs(Interval(proof.enclosure({id, i, 0}) - Interval(value)));
        CHECK(!certainly_exceeds(off, Interval(bound)));
      }
    }
  }
}

TEST_CASE("with several threads every step of a large problem has the same bits and the same bounds") {
  QKV_SAY_SEED();
  Random random(317);
  for (const Problem& p : large_problems(random, 230, 9)) {
    const Plan plan = plan_of(p);
    Doubles one(plan);
    for (NodeId id = 0; id < plan.nodes.size(); ++id) one.values(id);
    use_threads(3);
    Doubles three(plan);
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      INFO(plan[id].id);
      const Matrix& values = three.values(id);
      const auto bytes = static_cast<std::size_t>(values.size()) * sizeof(double);
      CHECK(std::memcmp(values.data(), one.values(id).data(), bytes) == 0);
      REQUIRE(three.row_bounds(id).size() == one.row_bounds(id).size());
      for (std::size_t i = 0; i < one.row_bounds(id).size(); ++i) {
        CHECK(three.row_bounds(id)[i].absolute == one.row_bounds(id)[i].absolute);
        CHECK(three.row_bounds(id)[i].relative == one.row_bounds(id)[i].relative);
      }
    }
    use_threads(1);
  }
}

// ---- tables ----

TEST_CASE("a large table shows its cells as a small one does, in every column of the screen") {
  QKV_SAY_SEED();
  Random random(315);
  // Fifteen are proved number by number, which takes minutes where every operation is watched.
  const bool is_watched = std::getenv("QKV_SHEETS") != nullptr;
  const std::vector<int> shown_decimals = is_watched ? std::vector{4} : std::vector{0, 3, 4, 15};
  for (Problem& p : large_problems(random, is_watched ? 84 : 120, 16)) {
    for (std::size_t i = 0; i < p.tokens.size(); i += 7) p.tokens[i] = "词" + std::to_string(i);
    p.kv_tokens = p.tokens;
    const Trace trace = traced(p);
    REQUIRE(trace.arithmetic() == Arithmetic::doubles);
    for (const int decimals : shown_decimals) {
      Telling telling;
      telling.decimals = decimals;
      telling.detail = Detail::steps;
      Report large = narrate(trace, {}, {}, telling);
      Report small = large;
      for (Block& block : small.blocks) {
        auto* table = std::get_if<Table>(&block);
        if (table == nullptr || table->rows.numbers() == nullptr) continue;
        std::vector<TableRows::Cells> cells;
        for (std::size_t i = 0; i < table->rows.size(); ++i) {
          cells.emplace_back();
          for (std::size_t j = 0; j < table->rows[i].size(); ++j) {
            const Index col = static_cast<Index>(j);
            const bool is_sum = col == trace.plan()[*table->node].shape.cols;
            const Index row = table->node_rows[i];
            cells.back().push_back(
                is_sum ? TableCell{trace.row_sum_text(*table->node, row, decimals), CellRole::sum}
                       : shown_cell(trace, {*table->node, row, col}, decimals));
          }
        }
        table->rows = std::move(cells);
      }
      for (const TextStyle& style : {TextStyle{}, TextStyle{.color = true}, TextStyle{.ascii = true}})
        CHECK(render_text(large, style) == render_text(small, style));
    }
  }
}

TEST_CASE("several threads lay out the same bytes in the same order, and pieces join to the whole") {
  QKV_SAY_SEED();
  Random random(316);
  const Index n = 460;  // more than 200,000 cells
  Problem p = problem_at(
      Entry::qkv,
      {{"Q", decimals(random, n, 2, 2)}, {"K", decimals(random, n, 2, 2)}, {"V", decimals(random, n, 2, 2)}});
  forbid(p, causal_mask(n, n, 0));
  const Trace trace = traced(p);
  const Report report = narrate(trace, {}, {}, {});
  const std::string one = render_text(report, {});
  CHECK(render_text(report, {.threads = 2}) == one);
  CHECK(render_text(report, {.threads = 5}) == one);
  use_threads(3);  // who lays out is asked for, but who narrates is not
  CHECK(render_text(narrate(trace, {}, {}, {}), {.threads = 3}) == one);
  use_threads(1);
  std::string joined;
  int pieces = 0;
  render_text(report, {.threads = 3}, [&](std::string_view piece) {
    joined += piece;
    ++pieces;
  });
  CHECK(joined == one);
  CHECK(pieces > 10);
}

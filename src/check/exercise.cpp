#include "check/exercise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "base/decimal.h"

namespace qkv {
namespace {

constexpr int kMostAttempts = 200;
constexpr int kMostRounds = 100;
constexpr double kLargestScore = 9;
// Nearer to the middle between two decimals than this part of a unit, a slip of the pencil decides.
constexpr double kEdge = 0.05;

// Distributions of the standard library differ between libraries; the generator does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  int between(int least, int most) {
    return least + static_cast<int>(bits_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::mt19937_64 bits_;
};

std::vector<std::string> drawn_rows(Dice& dice, Index rows, Index cols, int least, int most) {
  std::vector<std::string> drawn;
  for (Index i = 0; i < rows; ++i) {
    std::string row;
    for (Index j = 0; j < cols; ++j) row += (j == 0 ? "" : " ") + std::to_string(dice.between(least, most));
    drawn.push_back(std::move(row));
  }
  return drawn;
}

struct Draft {
  std::vector<std::string> q, k, v;  // their rows
};

// Not of zeros alone: such a query looks for nothing, and reads the plain mean.
std::string drawn_query(const ExerciseRequest& r, Dice& dice) {
  for (;;) {
    std::string row = drawn_rows(dice, 1, r.heads * r.d_k, -1, 2).front();
    if (row.find_first_not_of(" 0") != std::string::npos) return row;
  }
}

Draft drawn(const ExerciseRequest& r, Dice& dice) {
  Draft draft;
  for (Index i = 0; i < r.tokens; ++i) draft.q.push_back(drawn_query(r, dice));
  draft.k = drawn_rows(dice, r.tokens, r.heads * r.d_k, -1, 2);
  draft.v = drawn_rows(dice, r.tokens, r.heads * r.d_v, 0, 3);
  return draft;
}

std::string problem_text(const ExerciseRequest& r, const Draft& draft) {
  std::string text = say({"title = Exercise {0}", "title = 练习 {0}"}, r.seed).in(r.language) + "\n";
  if (r.heads > 1) text += "heads = " + std::to_string(r.heads) + "\n";
  if (r.is_causal) text += "mask = causal\n";
  text += "decimals = " + std::to_string(r.decimals) + "\n";
  const auto add = [&](const char* name, const std::vector<std::string>& rows) {
    text += std::string("\n[") + name + "]\n";
    for (const std::string& row : rows) text += row + "\n";
  };
  add("Q", draft.q);
  add("K", draft.k);
  add("V", draft.v);
  return text;
}

bool is_near_an_edge(double value, int decimals) {
  if (!std::isfinite(value)) return false;
  const double scaled = std::abs(value) * std::pow(10, decimals);
  const double rest = scaled - std::floor(scaled);
  return std::abs(rest - 0.5) < kEdge;
}

// The queries with a large score or a value near an edge somewhere on their way.
std::set<Index> awkward_queries(const Trace& trace, int decimals) {
  const Plan& plan = trace.plan();
  std::set<Index> awkward;
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    if (node.role != Role::step || node.level != Level::main || !node.given.empty()) continue;
    const Matrix& values = trace.values(id);
    for (Index i = 0; i < values.rows(); ++i) {
      for (Index j = 0; j < values.cols(); ++j) {
        const bool is_large = node.name() == "scores" && std::abs(values(i, j)) > kLargestScore;
        if (is_large || is_near_an_edge(values(i, j), decimals)) awkward.insert(i);
      }
    }
  }
  return awkward;
}

// Each query goes its way through the steps without the others, so only the awkward ones are drawn again:
// six at once would hardly ever be easy together.
bool make_easy(Draft& draft, const ExerciseRequest& r, Dice& dice,
               const std::function<Trace(const std::string&)>& trace_of) {
  for (int round = 0; round < kMostRounds; ++round) {
    const std::set<Index> awkward = awkward_queries(trace_of(problem_text(r, draft)), r.decimals);
    if (awkward.empty()) return true;
    for (const Index i : awkward) draft.q[static_cast<std::size_t>(i)] = drawn_query(r, dice);
  }
  return false;
}

std::string fingerprint(const IntervalMatrix& matrix, int decimals) {
  std::string text;
  for (Index k = 0; k < matrix.size(); ++k) text += fixed_text(middle_double(matrix(k)), decimals) + " ";
  return text;
}

bool is_named(const Mistake& mistake, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), mistake.name) != names.end();
}

// A mistake among numbers far beyond those of an exercise, and none among these.
bool needs_large_numbers(const Mistake& mistake) {
  return is_named(mistake, {"finite-fill", "overflow", "half-overflow"});
}

std::vector<Alike> mistakes_alike(const Trace& trace, int decimals) {
  const Plan& plan = trace.plan();
  Sheet sheet(trace, {}, decimals);
  for (NodeId id = 0; id < plan.nodes.size(); ++id) sheet.settle(id);
  std::map<std::pair<NodeId, std::string>, std::vector<const Mistake*>> by_numbers;
  for (const Mistake& mistake : mistakes()) {
    if (needs_large_numbers(mistake)) continue;
    for (const NodeId node : nodes_spoiled(mistake, plan)) {
      for (const IntervalMatrix& result : mistake.results({sheet, node})) {
        if (Shape{result.rows(), result.cols()} != plan[node].shape) continue;
        std::vector<const Mistake*>& same = by_numbers[{node, fingerprint(result, decimals)}];
        if (same.empty() || same.back()->id != std::string_view(mistake.id)) same.push_back(&mistake);
      }
    }
  }
  std::vector<Alike> alike;
  for (auto& [place, same] : by_numbers) {
    const auto& [node, numbers] = place;
    const bool is_right = numbers == fingerprint(sheet.value(node, Chain::literal), decimals);
    if (is_right || same.size() > 1) alike.push_back({plan[node].id, std::move(same), is_right});
  }
  return alike;
}

// Whether a mistake is none at this size, whatever the numbers.
bool changes_nothing(const Mistake& mistake, const ExerciseRequest& r) {
  if (is_named(mistake, {"root-of-keys"})) return r.tokens == r.d_k;
  return r.d_k == 1 && is_named(mistake, {"no-scale", "divided-by-d-k", "times-root", "scale-after-softmax",
                                          "mask-unscaled"});
}

// Whether the two are one computation at this size, whatever the numbers.
bool are_one(const Mistake& a, const Mistake& b, const ExerciseRequest& r) {
  const bool divide_alike = r.d_k * r.d_k == r.tokens;
  return divide_alike && is_named(a, {"divided-by-d-k"}) && is_named(b, {"root-of-keys"});
}

// How many mistakes an exercise should tell from others, or from a right answer, and does not.
std::size_t confusions(const std::vector<Alike>& alike, const ExerciseRequest& r) {
  std::size_t count = 0;
  for (const Alike& a : alike) {
    const Mistake& first = *a.mistakes.front();
    for (const Mistake* mistake : a.mistakes) {
      const bool is_expected =
          a.is_right ? changes_nothing(*mistake, r) : mistake == &first || are_one(first, *mistake, r);
      if (!is_expected) ++count;
    }
  }
  return count;
}

}  // namespace

Exercise make_exercise(const ExerciseRequest& request,
                       const std::function<Trace(const std::string&)>& trace_of) {
  Dice dice(request.seed);
  Exercise best;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (int attempt = 0; attempt < kMostAttempts && fewest > 0; ++attempt) {
    Draft draft = drawn(request, dice);
    if (!make_easy(draft, request, dice, trace_of)) continue;
    std::string text = problem_text(request, draft);
    std::vector<Alike> alike = mistakes_alike(trace_of(text), request.decimals);
    const std::size_t confused = confusions(alike, request);
    if (confused >= fewest) continue;
    fewest = confused;
    best = {std::move(text), std::move(alike)};
  }
  if (best.text.empty()) throw std::logic_error("no easy exercise of this size");
  return best;
}

}  // namespace qkv

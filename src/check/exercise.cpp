#include "check/exercise.h"

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/decimal.h"
#include "check/mistakes.h"

namespace qkv {
namespace {

constexpr int kMostAttempts = 2000;
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

std::string rows_text(Dice& dice, Index rows, Index cols, int least, int most) {
  std::string text;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) text += (j == 0 ? "" : " ") + std::to_string(dice.between(least, most));
    text += "\n";
  }
  return text;
}

std::string problem_text(const ExerciseRequest& r, Dice& dice) {
  std::string text = say({"title = Exercise {0}", "title = 练习 {0}"}, r.seed).in(r.language) + "\n";
  if (r.is_causal) text += "mask = causal\n";
  text += "decimals = " + std::to_string(r.decimals) + "\n";
  text += "\n[Q]\n" + rows_text(dice, r.tokens, r.d_k, -1, 2);
  text += "\n[K]\n" + rows_text(dice, r.tokens, r.d_k, -1, 2);
  text += "\n[V]\n" + rows_text(dice, r.tokens, r.d_v, 0, 3);
  return text;
}

bool is_near_an_edge(double value, int decimals) {
  if (!std::isfinite(value)) return false;
  const double scaled = std::abs(value) * std::pow(10, decimals);
  const double rest = scaled - std::floor(scaled);
  return std::abs(rest - 0.5) < kEdge;
}

bool is_easy(const Trace& trace, int decimals) {
  const Plan& plan = trace.plan();
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    if (node.role != Role::step || node.level != Level::main || !node.given.empty()) continue;
    const Matrix& values = trace.values(id);
    for (Index k = 0; k < values.size(); ++k) {
      if (is_near_an_edge(values(k), decimals)) return false;
      if (node.name() == "scores" && std::abs(values(k)) > kLargestScore) return false;
    }
  }
  return true;
}

std::string fingerprint(const IntervalMatrix& matrix, int decimals) {
  std::string text;
  for (Index k = 0; k < matrix.size(); ++k) text += fixed_text(middle_double(matrix(k)), decimals) + " ";
  return text;
}

// The mistakes that every exercise should be able to show.
bool must_show(const Mistake& mistake) {
  const std::set<std::string_view> names{"no-scale", "divided-by-d-k", "column-softmax", "softmax-over-all",
                                         "weights-transposed"};
  return names.contains(mistake.name);
}

bool tells_mistakes_apart(const Trace& trace, int decimals) {
  const Plan& plan = trace.plan();
  Sheet sheet(trace, {}, decimals);
  for (NodeId id = 0; id < plan.nodes.size(); ++id) sheet.settle(id);
  std::map<std::pair<NodeId, std::string>, std::string> seen;
  for (const Mistake& mistake : mistakes()) {
    for (const NodeId node : nodes_spoiled(mistake, plan)) {
      const std::string right = fingerprint(sheet.value(node, Chain::literal), decimals);
      for (const IntervalMatrix& result : mistake.results({sheet, node})) {
        if (Shape{result.rows(), result.cols()} != plan[node].shape) continue;
        const std::string wrong = fingerprint(result, decimals);
        if (wrong == right) {
          if (must_show(mistake)) return false;
          continue;
        }
        const auto [other, is_new] = seen.try_emplace({node, wrong}, mistake.id);
        if (!is_new && other->second != mistake.id) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> make_exercise(const ExerciseRequest& request,
                                         const std::function<Trace(const std::string&)>& trace_of) {
  Dice dice(request.seed);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::string text = problem_text(request, dice);
    const Trace trace = trace_of(text);
    if (is_easy(trace, request.decimals) && tells_mistakes_apart(trace, request.decimals)) return text;
  }
  return std::nullopt;
}

}  // namespace qkv

// Every convention that the problem could have had in place of its own is tried, in every combination, and
// what comes out is held against the output.  Two things keep that honest and quick:
//
// * A combination is named only if no smaller one explains as much, and if numbers that come by chance
//   would hardly agree so well: the more combinations were tried, the better they must agree.
// * Rows do not depend on each other once the weights are there, so the first row tells nearly all
//   combinations apart.
//
// Where no combination agrees in true arithmetic, the simplest are carried out in the small floating-point
// formats, each operation rounded; and where that does not give the very digits either, because sums may
// stand in another order, whatever is as near as the format reaches.

#include "check/detect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/progress.h"
#include "base/rounded.h"
#include "check/chosen.h"

namespace qkv {
namespace {

// ---- Comparing -------------------------------------------------------------------------------------

// The rounding of the comparison itself, as a part of the numbers' size.
constexpr double kDoubleNoise = 1e-12;

// Chance must not explain what a convention does: among so many choices some come near a few coarse
// numbers whatever they are.
constexpr double kMostChance = 1e-3;

Matrix values_in(const Matrix& m) { return m; }
Matrix values_in(const MatrixOf<Rounded>& m) {
  return m.unaryExpr([](const Rounded& x) { return x.value(); });
}

// Somebody's matrix, ready to be compared.
class Theirs {
 public:
  explicit Theirs(const ShownStep& step) : id_(step.id) {
    const std::size_t cols = step.cells.empty() ? 0 : step.cells.front().size();
    for (const auto& row : step.cells) {
      if (row.size() != cols) return;  // no matrix
    }
    numbers_ = MatrixOf<double>(static_cast<Index>(step.cells.size()), static_cast<Index>(cols));
    units_ = numbers_;
    is_blank_ = Mask(numbers_.rows(), numbers_.cols());
    // Who writes 0.5 among numbers with sixteen decimals means one half.
    double finest = kInfinity;
    for (const auto& row : step.cells) {
      for (const ShownNumber& n : row) {
        if (n.unit > 0) finest = std::min(finest, n.unit);
      }
    }
    for (Index i = 0; i < numbers_.rows(); ++i) {
      for (Index j = 0; j < numbers_.cols(); ++j) {
        const ShownNumber& n = step.cells[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        const bool has_exponent = n.text.find_first_of("eE") != std::string::npos;
        numbers_(i, j) = n.value;
        units_(i, j) = has_exponent ? n.unit : std::isinf(finest) ? 0 : finest;
        is_blank_(i, j) = n.is_blank;
      }
    }
  }

  bool may_be(const std::string& id, Shape shape) const {
    return (id_.empty() || id_ == id) && shape == Shape{numbers_.rows(), numbers_.cols()} &&
           numbers_.size() > 0;
  }
  const std::string& id() const { return id_; }

  // Whether the first rows of ours agree with theirs, beside the digits written within `reach` of our size.
  // `chance`: about how likely numbers of this size would agree anyhow.
  bool agree(const Matrix& ours, double reach, double& chance) const {
    const double size = ours.array().isFinite().select(ours.array().abs(), 0).maxCoeff();
    chance = 1;
    for (Index i = 0; i < ours.rows(); ++i) {
      for (Index j = 0; j < ours.cols(); ++j) {
        if (is_blank_(i, j) || (std::isnan(ours(i, j)) && std::isnan(numbers_(i, j)))) continue;
        const double allowed = units_(i, j) / 2 * (1 + 1e-9) + size * (kDoubleNoise + reach);
        if (!(std::abs(ours(i, j) - numbers_(i, j)) <= allowed)) return false;
        chance *= std::min(1.0, allowed / std::max(size, 1e-300));
      }
    }
    return true;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  std::string id_;
  MatrixOf<double> numbers_;
  MatrixOf<double> units_;
  Mask is_blank_;
};

// Names of matrices that come out as theirs, and of those that do not.
struct Reproduced {
  std::vector<std::string> names;
  std::vector<std::string> others;
};

//   tried  how many combinations as simple as this one there are
template <class T>
Reproduced reproduced(Calculation<T>& calculation, const Choice& choice, const std::vector<Theirs>& theirs,
                      double reach, double tried) {
  Reproduced result;
  std::vector<MatrixOf<T>> weights;  // by head
  bool is_read = true;
  for (Index head = 0; head < calculation.heads(choice); ++head) {
    auto of_head = calculation.weights(choice, head);
    if (!of_head) return result;
    const auto& v = calculation.values(choice, head);
    is_read = is_read && v && v->rows() == of_head->cols();
    weights.push_back(*std::move(of_head));
  }
  const Index n = weights.front().rows();
  const auto read_with = [&](const MatrixOf<T>& of_head, Index rows) -> MatrixOf<T> {
    return choice.are_weights_transposed ? MatrixOf<T>(of_head.leftCols(rows).transpose())
                                         : MatrixOf<T>(of_head.topRows(rows));
  };
  const auto output = [&](Index rows) -> std::optional<MatrixOf<T>> {
    if (!is_read) return std::nullopt;
    // Joined without the transpose, the first row holds numbers of other rows.
    const Index needed = choice.is_joined_flat ? n : rows;
    std::vector<MatrixOf<T>> outputs;
    for (std::size_t head = 0; head < weights.size(); ++head) {
      const MatrixOf<T>& v = *calculation.values(choice, static_cast<Index>(head));
      outputs.push_back(calculation.is_dropped(choice, static_cast<Index>(head))
                            ? MatrixOf<T>(MatrixOf<T>::Constant(needed, v.cols(), T(0)))
                            : kernels::weighted_sum<T>(read_with(weights[head], needed), v, Params{}));
    }
    if (outputs.size() == 1) return outputs.front();
    return MatrixOf<T>(calculation.joined(outputs, choice).topRows(rows));
  };
  const auto y = [&](Index rows) -> std::optional<MatrixOf<T>> {
    const auto read = output(rows);
    return read ? calculation.projected_output(*read, choice) : std::nullopt;
  };
  const auto try_one = [&](const std::string& name, const auto& first_rows, const Theirs& their) {
    const auto first = first_rows(1);
    if (!first || !their.may_be(name, {n, first->cols()})) return false;
    double chance = 1;
    if (!their.agree(values_in(*first), reach, chance)) return false;
    if (!their.agree(values_in(*first_rows(n)), reach, chance)) return false;
    if (chance * tried >= kMostChance) return false;
    result.names.emplace_back(name);
    return true;
  };
  const bool is_one_head = weights.size() == 1;
  const auto try_weights = [&](const Theirs& their) {
    for (std::size_t head = 0; head < weights.size(); ++head) {
      const auto first_weights = [&](Index rows) -> std::optional<MatrixOf<T>> {
        return MatrixOf<T>(weights[head].topRows(rows));
      };
      const std::string prefix = is_one_head ? "" : "h" + std::to_string(head + 1) + ".";
      if (try_one(prefix + "weights", first_weights, their)) return true;
    }
    return false;
  };
  for (const Theirs& their : theirs) {
    // A matrix without a name is more likely a result than a table on the way.
    if (!try_one(calculation.has_heads() ? "concat" : "output", output, their) && !try_one("Y", y, their) &&
        !try_weights(their))
      result.others.push_back(their.id());
  }
  return result;
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// What was found, simplest first: the most matrices explained, and no change that is not needed.
class Found {
 public:
  explicit Found(std::size_t given) : given_(given) {}

  bool empty() const { return found_.empty(); }

  // Whether fewer conventions explain everything already.
  bool is_settled(const Conventions& conventions) const {
    return most_ == given_ && holds_simpler(conventions);
  }

  void add(Conventions conventions, const Reproduced& reproduced) {
    const std::size_t count = reproduced.names.size();
    if (count == 0 || count < most_) return;
    if (count > most_) found_.clear();
    most_ = count;
    if (holds_simpler(conventions)) return;
    found_.push_back({std::move(conventions), joined(reproduced.names), joined(reproduced.others)});
  }

  std::vector<Explanation> take() { return std::move(found_); }

 private:
  bool holds_simpler(const Conventions& conventions) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const Explanation& e) { return e.conventions.size() < conventions.size(); });
  }

  std::vector<Explanation> found_;
  std::size_t given_;  // how many matrices there are to explain
  std::size_t most_ = 0;
};

// ---- Precision -------------------------------------------------------------------------------------

struct Precision {
  const FloatFormat& format;
  double reach;  // what a program in this format can be expected to reach, as a part of the numbers' size
};
constexpr std::array<Precision, 3> kPrecisions{{{kFp32, 4e-6}, {kFp16, 6e-3}, {kBf16, 4e-2}}};

// A format is one change; who changed more than two things beside it is not looked for.
constexpr std::size_t kMostChangesBesideFormat = 2;

// A result in a format is at most so many units of its last digit from the true one, as a part of its size;
// for scores of about a hundred.
constexpr double kUnitsInFormat = 128;

// The matrices that can be explained.
std::vector<Theirs> explicable(const std::vector<ShownStep>& output) {
  std::vector<Theirs> theirs;
  for (const ShownStep& step : output) {
    const std::string_view id = step.id;
    const bool is_of_head = id.starts_with('h') && id.ends_with(".weights");
    if (id.empty() || id == "weights" || id == "output" || id == "concat" || id == "Y" || is_of_head)
      theirs.emplace_back(step);
  }
  return theirs;
}

class Detection {
 public:
  Detection(const Problem& problem, const std::vector<ShownStep>& output)
      : problem_(problem),
        combinations_(combinations(problem)),
        theirs_(explicable(output)),
        in_doubles_(problem),
        found_(theirs_.size()) {}

  std::vector<Explanation> run() {
    Progress progress(static_cast<long long>(combinations_.size()));
    for (const Combination& c : combinations_) {
      progress.step();
      if (!found_.is_settled(c.changes))
        found_.add(c.changes, reproduced(in_doubles_, c.choice, theirs_, 0, as_simple_as(c)));
    }
    if (found_.empty()) {
      for (const Precision& precision : kPrecisions) try_in_format(precision.format);
    }
    // A coarser format explains nearly anything that a finer one does.
    for (const Precision& precision : kPrecisions) {
      if (found_.empty()) try_within(precision);
    }
    return found_.take();
  }

 private:
  // How many combinations have no more changes.
  double as_simple_as(const Combination& c) const {
    const auto end = std::upper_bound(
        combinations_.begin(), combinations_.end(), c.changes.size(),
        [](std::size_t changes, const Combination& other) { return changes < other.changes.size(); });
    return static_cast<double>(end - combinations_.begin());
  }

  // Calls try_one(choice, changes with this precision, how many are as simple).
  template <class F>
  void for_simple_combinations(const std::string& precision, F try_one) {
    for (const Combination& c : combinations_) {
      if (c.changes.size() > kMostChangesBesideFormat) break;
      Conventions changes = c.changes;
      changes.emplace_back("precision", precision);
      if (found_.is_settled(changes)) continue;
      try_one(c.choice, std::move(changes), as_simple_as(c) * static_cast<double>(kPrecisions.size()));
    }
  }

  void try_in_format(const FloatFormat& format) {
    const FormatScope scope(format);
    Calculation<Rounded> calculation(problem_);
    const double vicinity = std::ldexp(kUnitsInFormat, -format.digits);
    for_simple_combinations(format.name, [&](const Choice& choice, Conventions changes, double tried) {
      // Arithmetic in a format is slow; what is nowhere near need not be tried in it.
      if (reproduced(in_doubles_, choice, theirs_, vicinity, 0).names.empty()) return;
      found_.add(std::move(changes), reproduced(calculation, choice, theirs_, 0, tried));
    });
  }

  void try_within(const Precision& precision) {
    const std::string name = std::string("about ") + precision.format.name;
    for_simple_combinations(name, [&](const Choice& choice, Conventions changes, double tried) {
      found_.add(std::move(changes), reproduced(in_doubles_, choice, theirs_, precision.reach, tried));
    });
  }

  const Problem& problem_;
  std::vector<Combination> combinations_;
  std::vector<Theirs> theirs_;
  Calculation<double> in_doubles_;
  Found found_;
};

}  // namespace

std::vector<NotDetected> not_detected(const Problem& problem) {
  std::vector<NotDetected> reasons;
  const auto add = [&](bool is_so, const char* name, Text what) {
    if (is_so) reasons.push_back({name, what});
  };
  add(problem.method == MethodKind::linear, "method",
      {"linear attention has no softmax", "线性注意力没有 softmax"});
  add(problem.score != ScoreKind::dot, "score",
      {"the scores are not plain dot products", "分数不是普通的点积"});
  add(problem.read == ReadKind::hard, "read", {"the read is hard, not a weighted sum", "硬读取，不是加权和"});
  add(!problem.stack.empty(), "layers", {"there are several layers", "有好几层"});
  add(problem.hops > 1, "hops", {"the memory is read several times", "记忆要读好几遍"});
  add(problem.has_residual, "residual", {"the input is added to the output", "输出还要加上输入"});
  add(problem.has("past_K"), "past_K", {"keys come from a cache", "有的键来自缓存"});
  add(problem.has("W_DKV"), "W_DKV", {"keys and values come from a latent (MLA)", "键和值来自隐向量（MLA）"});
  const Text is_later{"the calculation starts after the scores", "计算从分数之后才开始"};
  add(problem.entry == Entry::scaled, "scaled", is_later);
  add(problem.entry == Entry::masked, "masked", is_later);
  add(problem.entry == Entry::weights, "weights", is_later);
  return reasons;
}

std::vector<Explanation> detect(const Problem& problem, const std::vector<ShownStep>& output) {
  return Detection(problem, output).run();
}

Report told(const std::vector<Explanation>& found, Language language) {
  Report report;
  const auto paragraph = [&](const Said& said, Tone tone) {
    report.blocks.emplace_back(Paragraph{said.in(language), tone});
  };
  if (found.empty()) {
    paragraph(say({"No combination of the known conventions reproduces these numbers.",
                   "已知的约定无论怎样组合，都得不到这些数。"}),
              Tone::note);
  }
  for (const Explanation& e : found) {
    std::string list;
    for (const auto& [name, value] : e.conventions) list += (list.empty() ? "" : "; ") + name + " = " + value;
    paragraph(list.empty()
                  ? say({"{0}: as the problem says, nothing changed", "{0}：与题目完全一致"}, e.reproduces)
                  : say({"{0}: reproduced with {1}", "{0}：用 {1} 可以得到"}, e.reproduces, list),
              Tone::good);
    if (!e.unexplained.empty())
      paragraph(say({"  not reproduced by it: {0}", "  但得不到：{0}"}, e.unexplained), Tone::note);
  }
  return report;
}

std::string as_json(const std::vector<Explanation>& found) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["schema"] = "qkv/detect-1";
  json["found"] = Json::array();
  for (const Explanation& e : found) {
    Json conventions = Json::object();
    for (const auto& [name, value] : e.conventions) conventions[name] = value;
    json["found"].push_back({{"conventions", std::move(conventions)}, {"reproduces", e.reproduces}});
    if (!e.unexplained.empty()) json["found"].back()["unexplained"] = e.unexplained;
  }
  return json.dump() + "\n";
}

}  // namespace qkv

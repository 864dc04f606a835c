#include "check/detect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "ops/kernels.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Matrix doubles_of(const Given& given) {
  Matrix matrix(given.rows, given.cols);
  for (Index i = 0; i < given.rows; ++i) {
    for (Index j = 0; j < given.cols; ++j) matrix(i, j) = given.at(i, j).value;
  }
  return matrix;
}

// One choice in each dimension; the first of each is what the problem says.
enum class ScaleBy { problem, none, d_k, times_root, root_of_keys, root_of_model };
enum class Axis { rows, columns, all };
enum class MaskIs { problem, none, top_left, bottom_right, inverted, without_diagonal };
enum class WeightsAre { problem, other };
enum class Roles { problem, exchanged };
enum class Values { v, k, x };
enum class CapIs { problem, after_mask };

struct Choice {
  ScaleBy scale = ScaleBy::problem;
  Axis axis = Axis::rows;
  MaskIs mask = MaskIs::problem;
  WeightsAre layout = WeightsAre::problem;
  Roles roles = Roles::problem;
  Values values = Values::v;
  CapIs cap = CapIs::problem;
};

constexpr std::array<const char*, 6> kScaleNames{"",          "none",         "1/d_k",
                                                 "sqrt(d_k)", "1/sqrt(keys)", "1/sqrt(d_model)"};
constexpr std::array<const char*, 3> kAxisNames{"", "columns", "all"};
constexpr std::array<const char*, 6> kMaskNames{
    "", "none", "causal, top-left", "causal, bottom-right", "inverted", "causal without the diagonal"};

std::vector<std::pair<std::string, std::string>> names_of(const Choice& c) {
  std::vector<std::pair<std::string, std::string>> names;
  if (c.scale != ScaleBy::problem)
    names.emplace_back("scale", kScaleNames[static_cast<std::size_t>(c.scale)]);
  if (c.axis != Axis::rows) names.emplace_back("axis", kAxisNames[static_cast<std::size_t>(c.axis)]);
  if (c.mask != MaskIs::problem) names.emplace_back("mask", kMaskNames[static_cast<std::size_t>(c.mask)]);
  if (c.layout != WeightsAre::problem) names.emplace_back("layout", "transposed");
  if (c.roles != Roles::problem) names.emplace_back("roles", "Q and K exchanged");
  if (c.values == Values::k) names.emplace_back("values", "K");
  if (c.values == Values::x) names.emplace_back("values", "X");
  if (c.cap != CapIs::problem) names.emplace_back("softcap", "after the mask");
  return names;
}

// ---- The calculation, under a choice --------------------------------------------------------------

struct Outcome {
  std::optional<Matrix> weights, output, y;
};

class Calculation {
 public:
  Calculation(const Problem& problem, const Choice& choice) : problem_(problem), choice_(choice) {}

  // Nothing where the choice makes no sense here: shapes that do not fit, a mask that is the problem's own.
  Outcome run() {
    Outcome outcome;
    const auto weights = weights_of_all();
    if (!weights) return outcome;
    outcome.weights = *weights;
    const auto v = values();
    if (!v || v->rows() != weights->cols()) return outcome;
    outcome.output = kernels::weighted_sum(*weights, *v, Params{});
    if (problem_.has("W_O")) outcome.y = projected(*outcome.output, "W_O", "b_O");
    return outcome;
  }

 private:
  std::optional<Matrix> given(const char* name) const {
    if (!problem_.has(name)) return std::nullopt;
    for (const Number& n : problem_[name].cells) {
      if (n.kind == Number::Kind::symbol) return std::nullopt;
    }
    return doubles_of(problem_[name]);
  }

  std::optional<Matrix> projected(const Matrix& x, const std::string& w_name,
                                  const std::string& b_name) const {
    Matrix w = doubles_of(problem_[w_name]);
    const bool is_linear = (problem_.layout == Layout::linear) != (choice_.layout == WeightsAre::other);
    if (is_linear) w.transposeInPlace();
    if (x.cols() != w.rows()) return std::nullopt;
    Matrix result = kernels::project(x, w);
    if (!problem_.has(b_name)) return result;
    const Matrix b = doubles_of(problem_[b_name]);
    if (b.cols() != result.cols()) return std::nullopt;
    return kernels::add_row(std::move(result), b);
  }

  std::optional<Matrix> role(const std::string& name) const {
    if (const auto same = problem_.same_as.find(name); same != problem_.same_as.end()) {
      const std::string& other = same->second;
      return other == "Q" || other == "K" || other == "V" ? role(other) : given(other.c_str());
    }
    if (problem_.has(name)) return given(name.c_str());
    const auto x = given(name != "Q" && problem_.has("X_kv") ? "X_kv" : "X");
    if (!x || !problem_.has("W_" + name)) return std::nullopt;
    return projected(*x, "W_" + name, "b_" + name);
  }

  std::optional<Matrix> values() const {
    switch (choice_.values) {
      case Values::v:
        return role("V");
      case Values::k:
        return role("K");
      case Values::x:
        return given(problem_.has("X_kv") ? "X_kv" : "X");
    }
    return std::nullopt;
  }

  std::optional<Matrix> scores() const {
    if (problem_.entry == Entry::scores) return given("scores");
    const auto q = role(choice_.roles == Roles::problem ? "Q" : "K");
    const auto k = role(choice_.roles == Roles::problem ? "K" : "Q");
    if (!q || !k || q->cols() != k->cols()) return std::nullopt;
    return kernels::dot_rows(*q, *k);
  }

  std::optional<double> factor(const Matrix& scores) const {
    const double d_k = problem_.scale.kind == ScaleKind::root ? problem_.scale.d_k.value
                       : problem_.has("Q")                    ? static_cast<double>(problem_["Q"].cols)
                                                              : 0;
    switch (choice_.scale) {
      case ScaleBy::problem:
        if (problem_.scale.kind == ScaleKind::none) return 1;
        return problem_.scale.kind == ScaleKind::root ? 1 / std::sqrt(d_k) : problem_.scale.factor.value;
      case ScaleBy::none:
        return 1;
      case ScaleBy::d_k:
        return d_k > 0 ? std::optional(1 / d_k) : std::nullopt;
      case ScaleBy::times_root:
        return d_k > 0 ? std::optional(std::sqrt(d_k)) : std::nullopt;
      case ScaleBy::root_of_keys:
        return 1 / std::sqrt(static_cast<double>(scores.cols()));
      case ScaleBy::root_of_model:
        return problem_.has("X") ? std::optional(1 / std::sqrt(static_cast<double>(problem_["X"].cols)))
                                 : std::nullopt;
    }
    return std::nullopt;
  }

  static Mask triangle(Index n, Index m, Index align) {
    Mask open(n, m);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < m; ++j) open(i, j) = j <= i + align;
    }
    return open;
  }

  std::optional<Mask> mask(Index n, Index m) const {
    const Mask all = Mask::Constant(n, m, true);
    const Mask own = problem_.allowed ? *problem_.allowed : all;
    if (own.rows() != n || own.cols() != m) return std::nullopt;
    Mask other = own;
    switch (choice_.mask) {
      case MaskIs::problem:
        return own;
      case MaskIs::none:
        other = all;
        break;
      case MaskIs::top_left:
        other = triangle(n, m, 0);
        break;
      case MaskIs::bottom_right:
        if (n == m) return std::nullopt;  // the same as top-left
        other = triangle(n, m, m - n);
        break;
      case MaskIs::inverted:
        other = !own.array();
        break;
      case MaskIs::without_diagonal:
        other = triangle(n, m, m - n - 1);
        break;
    }
    return other == own ? std::nullopt : std::optional(other);
  }

  // The mistake itself: tanh turns −∞ into −cap, which the kernel for the cap takes care not to do.
  Matrix capped_with_mask(Matrix masked) const {
    const double cap = problem_.softcap->value;
    for (Index k = 0; k < masked.size(); ++k) masked(k) = cap * std::tanh(masked(k) / cap);
    return masked;
  }

  std::optional<Matrix> weights_of_all() const {
    auto s = scores();
    if (!s) return std::nullopt;
    const auto c = factor(*s);
    const auto open = mask(s->rows(), s->cols());
    if (!c || !open) return std::nullopt;
    *s *= *c;
    if (problem_.softcap && choice_.cap == CapIs::problem) *s = kernels::soft_cap(*s, *problem_.softcap);
    if (const auto bias = given("bias")) *s += *bias;
    if (!problem_.slopes.empty())
      *s += kernels::distance_bias<double>({s->rows(), s->cols()}, problem_.slopes[0], problem_.align);
    const Params visible{.allowed = std::make_shared<const Mask>(*open)};
    *s = kernels::add_all<double>({*s}, visible);
    if (problem_.softcap && choice_.cap == CapIs::after_mask) *s = capped_with_mask(*s);
    if (problem_.temperature) *s = kernels::divide(*s, *problem_.temperature);
    switch (choice_.axis) {
      case Axis::rows:
        return softmax(*s);
      case Axis::columns:
        return Matrix(softmax(s->transpose()).transpose());
      case Axis::all:
        break;
    }
    return Matrix(
        softmax(s->reshaped<Eigen::RowMajor>(1, s->size())).reshaped<Eigen::RowMajor>(s->rows(), s->cols()));
  }

  // Of each row; zeros where every key is hidden.
  Matrix softmax(const Matrix& s) const {
    const Number* sink = problem_.sink_logits.empty() ? nullptr : &problem_.sink_logits[0];
    const Params visible{.allowed = std::make_shared<const Mask>(s.array() != -kInfinity)};
    const Matrix max = kernels::row_max(s, sink, visible);
    const Matrix e = kernels::exponential(kernels::shift(s, max, sink, visible), visible);
    return kernels::normalise_rows(e, kernels::row_sum(e, sink, &max), visible);
  }

  const Problem& problem_;
  const Choice& choice_;
};

// ---- Comparing ------------------------------------------------------------------------------------

// What a program in such a format can be expected to reach, as a part of the numbers' size.
struct Precision {
  const char* name;  // "": as many digits as are written
  double relative;
};
constexpr std::array<Precision, 4> kPrecisions{{{"", 0}, {"fp32", 4e-6}, {"fp16", 6e-3}, {"bf16", 4e-2}}};
constexpr double kDoubleNoise = 1e-12;

// Chance must not explain what a convention does: among so many choices some come near a few coarse
// numbers whatever they are.
constexpr double kMostChance = 1e-3;

// Whether the numbers agree; `chance` is about how likely numbers of this size would agree anyhow.
bool matches(const Matrix& ours, const ShownStep& theirs, const Precision& precision, double& chance) {
  if (static_cast<std::size_t>(ours.rows()) != theirs.cells.size() || theirs.cells.empty() ||
      static_cast<std::size_t>(ours.cols()) != theirs.cells[0].size())
    return false;
  const double size = std::max(1e-300, ours.cwiseAbs().maxCoeff());
  chance = 1;
  for (Index i = 0; i < ours.rows(); ++i) {
    for (Index j = 0; j < ours.cols(); ++j) {
      const ShownNumber& cell = theirs.cells[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      if (cell.is_blank) continue;
      const double allowed = cell.unit / 2 * (1 + 1e-9) + size * (kDoubleNoise + precision.relative);
      if (!(std::abs(ours(i, j) - cell.value) <= allowed)) return false;
      chance *= std::min(1.0, allowed / size);
    }
  }
  return true;
}

std::vector<Choice> all_choices(const Problem& problem) {
  std::vector<Choice> choices;
  const bool has_layout =
      problem.has("W_Q") || problem.has("W_K") || problem.has("W_V") || problem.has("W_O");
  for (const ScaleBy scale : {ScaleBy::problem, ScaleBy::none, ScaleBy::d_k, ScaleBy::times_root,
                              ScaleBy::root_of_keys, ScaleBy::root_of_model}) {
    for (const Axis axis : {Axis::rows, Axis::columns, Axis::all}) {
      for (const MaskIs mask : {MaskIs::problem, MaskIs::none, MaskIs::top_left, MaskIs::bottom_right,
                                MaskIs::inverted, MaskIs::without_diagonal}) {
        for (const WeightsAre layout : {WeightsAre::problem, WeightsAre::other}) {
          if (layout == WeightsAre::other && !has_layout) continue;
          for (const Roles roles : {Roles::problem, Roles::exchanged}) {
            for (const Values values : {Values::v, Values::k, Values::x}) {
              for (const CapIs cap : {CapIs::problem, CapIs::after_mask}) {
                if (cap == CapIs::after_mask && !problem.softcap) continue;
                choices.push_back({scale, axis, mask, layout, roles, values, cap});
              }
            }
          }
        }
      }
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return names_of(a).size() < names_of(b).size(); });
  return choices;
}

using Conventions = std::vector<std::pair<std::string, std::string>>;

bool is_part_of(const Conventions& small, const Conventions& large) {
  return std::all_of(small.begin(), small.end(),
                     [&](const auto& c) { return std::find(large.begin(), large.end(), c) != large.end(); });
}

}  // namespace

bool can_detect(const Problem& problem) {
  const bool has_scores =
      problem.entry == Entry::x || problem.entry == Entry::qkv || problem.entry == Entry::scores;
  return has_scores && problem.score == ScoreKind::dot && problem.read == ReadKind::soft;
}

std::vector<Explanation> detect(const Problem& problem, const std::vector<ShownStep>& output) {
  std::vector<Explanation> found;
  const std::vector<Choice> choices = all_choices(problem);
  std::vector<Outcome> outcomes;
  for (const Choice& choice : choices) outcomes.push_back(Calculation(problem, choice).run());
  // A coarser precision explains nearly anything that a finer one does: only when none of those does it
  // count.
  for (const Precision& precision : kPrecisions) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      Conventions conventions = names_of(choices[i]);
      if (*precision.name != '\0') conventions.emplace_back("precision", precision.name);
      const bool is_more_than_needed = std::any_of(found.begin(), found.end(), [&](const Explanation& e) {
        return is_part_of(e.conventions, conventions);
      });
      if (is_more_than_needed) continue;
      for (const auto& [name, result] :
           {std::pair{"output", &outcomes[i].output}, std::pair{"Y", &outcomes[i].y},
            std::pair{"weights", &outcomes[i].weights}}) {
        if (!*result) continue;
        const bool is_theirs = std::any_of(
            output.begin(), output.end(), [&, name = name, result = result](const ShownStep& step) {
              double chance = 1;
              return (step.id.empty() || step.id == name) && matches(**result, step, precision, chance) &&
                     chance * static_cast<double>(choices.size()) < kMostChance;
            });
        if (!is_theirs) continue;
        found.push_back({std::move(conventions), name});
        break;
      }
    }
    if (!found.empty()) return found;
  }
  return found;
}

Report told(const std::vector<Explanation>& found, Language language) {
  Report report;
  const auto paragraph = [&](const Said& said, Tone tone) {
    report.blocks.emplace_back(Paragraph{said.in(language), tone});
  };
  if (found.empty()) {
    paragraph(say({"none: no combination of the known conventions reproduces these numbers",
                   "none：已知的各种约定怎么组合都得不到这些数"}),
              Tone::note);
  }
  for (const Explanation& e : found) {
    std::string list;
    for (const auto& [name, value] : e.conventions) list += (list.empty() ? "" : "; ") + name + " = " + value;
    paragraph(list.empty()
                  ? say({"{0}: as the problem says, nothing changed", "{0}：与题目完全一致"}, e.reproduces)
                  : say({"{0}: reproduced with {1}", "{0}：用 {1} 可以得到"}, e.reproduces, list),
              Tone::good);
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
  }
  return json.dump() + "\n";
}

}  // namespace qkv

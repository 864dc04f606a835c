#include "problem/steps.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "problem/shapes.h"

namespace qkv {
namespace {

// What is there to decide about a step, besides where the calculation starts.
struct Facts {
  const Draft& draft;
  const Roles& roles;
  const Problem& problem;

  bool has_bias() const { return draft.has("bias") || problem.alibi; }
  std::optional<Shape> given(std::string_view name) const {
    const DraftMatrix* matrix = draft.find(name);
    return matrix && matrix->has_shape ? std::optional(matrix->given.shape()) : std::nullopt;
  }
  // [n, m], [n, 1] and [n, d_v]
  std::optional<Shape> table() const {
    if (!roles.queries || !roles.keys) return std::nullopt;
    return Shape{*roles.queries, *roles.keys};
  }
  std::optional<Shape> column() const {
    return roles.queries ? std::optional(Shape{*roles.queries, 1}) : std::nullopt;
  }
  std::optional<Shape> output() const {
    if (!roles.queries || !roles.v.shape) return std::nullopt;
    return Shape{*roles.queries, roles.v.shape->cols};
  }
  std::optional<Shape> projected_output() const {
    const auto w = given("W_O");
    if (!roles.queries || !w) return std::nullopt;
    return Shape{*roles.queries, as_columns(draft.settings, *w).cols};
  }
};

struct StepRule {
  std::string_view id;
  Entry last;  // the latest entry at which the step still exists
  bool (*exists)(const Facts&);
  Text absent;  // why it does not
  std::optional<Shape> (*shape)(const Facts&);
};

bool always(const Facts&) { return true; }
constexpr Text kNothing{"", ""};
std::optional<Shape> table(const Facts& f) { return f.table(); }
std::optional<Shape> column(const Facts& f) { return f.column(); }

const std::array kSteps{
    StepRule{"X",
             Entry::weights,
             [](const Facts& f) { return f.draft.has("X"); },
             {"[X] is not given", "没有给出 [X]"},
             [](const Facts& f) { return f.given("X"); }},
    StepRule{"Q", Entry::qkv, always, kNothing, [](const Facts& f) { return f.roles.q.shape; }},
    StepRule{"K", Entry::qkv, always, kNothing, [](const Facts& f) { return f.roles.k.shape; }},
    StepRule{"V", Entry::weights, always, kNothing, [](const Facts& f) { return f.roles.v.shape; }},
    StepRule{"scores", Entry::scores, always, kNothing, table},
    StepRule{"scaled",
             Entry::scaled,
             [](const Facts& f) {
               return f.roles.entry == Entry::scaled || f.problem.scale.kind != ScaleKind::none;
             },
             {"scale is none", "scale 为 none"},
             table},
    StepRule{"capped",
             Entry::scaled,
             [](const Facts& f) { return f.problem.softcap.has_value(); },
             {"softcap is not set", "没有设置 softcap"},
             table},
    StepRule{"bias",
             Entry::scaled,
             [](const Facts& f) { return f.has_bias(); },
             {"there is no [bias] and no alibi", "没有 [bias]，也没有 alibi"},
             table},
    StepRule{"M",
             Entry::scaled,
             [](const Facts& f) { return f.problem.mask != nullptr; },
             {"there is no mask", "没有掩码"},
             table},
    StepRule{"masked",
             Entry::masked,
             [](const Facts& f) {
               return f.roles.entry == Entry::masked || f.problem.mask != nullptr || f.has_bias();
             },
             {"there is no mask and no bias", "没有掩码，也没有偏置"},
             table},
    StepRule{"tempered",
             Entry::masked,
             [](const Facts& f) { return f.problem.temperature.has_value(); },
             {"temperature is not set", "没有设置 temperature"},
             table},
    StepRule{"max", Entry::masked, always, kNothing, column},
    StepRule{"shifted", Entry::masked, always, kNothing, table},
    StepRule{"exp", Entry::masked, always, kNothing, table},
    StepRule{"sum", Entry::masked, always, kNothing, column},
    StepRule{"weights", Entry::weights, always, kNothing, table},
    StepRule{"output", Entry::weights, always, kNothing, [](const Facts& f) { return f.output(); }},
    StepRule{"Y",
             Entry::weights,
             [](const Facts& f) { return f.draft.has("W_O"); },
             {"[W_O] is not given", "没有给出 [W_O]"},
             [](const Facts& f) { return f.projected_output(); }},
};

bool v_is_symbolic(const Facts& f) {
  if (f.roles.v.from == Role::From::nothing) return true;
  const DraftMatrix* v = f.roles.v.from == Role::From::given ? f.draft.find("V") : nullptr;
  return v && std::any_of(v->given.cells.begin(), v->given.cells.end(),
                          [](const Number& n) { return n.kind == Number::Kind::symbol; });
}

}  // namespace

std::vector<std::string_view> step_ids() {
  std::vector<std::string_view> ids;
  ids.reserve(kSteps.size());
  for (const StepRule& step : kSteps) ids.push_back(step.id);
  return ids;
}

namespace {

bool is_changed_by_options(const Draft& draft) {
  return std::any_of(draft.settings.given.begin(), draft.settings.given.end(),
                     [](const auto& setting) { return setting.second.place.source == nullptr; }) ||
         std::any_of(draft.matrices.begin(), draft.matrices.end(),
                     [](const auto& matrix) { return matrix.second.is_from_option; });
}

}  // namespace

void check_expectations(Draft& draft, const Roles& roles, const Problem& problem, Diagnostics& diagnostics) {
  const bool steps_are_known = !diagnostics.has_errors();
  const Facts facts{draft, roles, problem};
  const bool is_changed = is_changed_by_options(draft);
  std::vector<std::string> left_out;
  for (const DraftExpectation& expected : draft.expected) {
    const std::string& id = expected.step;
    const Place place = expected.printed.place();
    const auto rule =
        std::find_if(kSteps.begin(), kSteps.end(), [&](const StepRule& s) { return s.id == id; });
    const auto error = [&](Said message, Said hint = {}) {
      if (is_changed) {
        message = say({"not compared: {0}", "不作比较：{0}"}, message);
        left_out.push_back(id);
      }
      report(is_changed ? Severity::warning : Severity::error, place, std::move(message), std::move(hint),
             diagnostics);
    };
    const bool starts_later = roles.entry > rule->last;
    const bool exists = !starts_later && rule->exists(facts);
    if (!exists) {
      if (!steps_are_known) continue;
      const Said why = starts_later ? say({"the calculation starts at [{0}]", "计算从 [{0}] 开始"},
                                          entry_name(roles.entry))
                                    : say(rule->absent);
      error(say({"this problem has no step '{0}': {1}", "这道题没有步骤“{0}”：{1}"}, id, why));
      continue;
    }
    const bool shows_v = id == "V" || id == "output" || id == "Y";
    if (shows_v && v_is_symbolic(facts)) {
      if (!steps_are_known) continue;
      error(say({"'{0}' is symbolic here, and cannot be compared with numbers",
                 "“{0}”在这里是符号，不能与数比较"},
                id),
            say({"[expect.weights] compares its coefficients", "可用 [expect.weights] 比较它的系数"}));
      continue;
    }
    const std::optional<Shape> shape = rule->shape(facts);
    const Shape printed = expected.printed.given.shape();
    if (!shape || !expected.printed.has_shape || printed == *shape) continue;
    error(say({"[expect.{0}] is {1}, but {0} is {2}", "[expect.{0}] 是 {1}，而 {0} 是 {2}"}, id,
              size_text(printed), size_text(*shape)));
  }
  std::erase_if(draft.expected, [&](const DraftExpectation& e) {
    return std::find(left_out.begin(), left_out.end(), e.step) != left_out.end();
  });
}

}  // namespace qkv

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "methods/methods.h"
#include "plan/training.h"
#include "problem/steps.h"

namespace qkv {
namespace {

// The calculation starts behind the step, or its method goes another way.
Said why_absent(std::string_view name, const StepName& step, const Problem& problem) {
  if (step.absent) return say(*step.absent);
  const std::string_view first = entry_name(problem.entry);
  const std::vector<std::string_view> order = step_names();
  if (std::find(order.begin(), order.end(), name) < std::find(order.begin(), order.end(), first))
    return say({"the calculation starts at [{0}]", "计算从 [{0}] 开始"}, first);
  if (problem.method == MethodKind::linear)
    return say({"method is linear, which has no softmax", "method 为 linear，没有 softmax"});
  if (problem.tile) {
    return say({"with tile the softmax goes over the keys tile by tile, and no row of weights is ever whole",
                "设置了 tile，softmax 逐块处理键，不会写出完整的一行权重"});
  }
  return say({"its calculation goes another way", "这种计算不经过它"});
}

// Why an expectation cannot be compared, and what to do; empty when it can.
std::pair<Said, Said> objection(const Expectation& expected, const Problem& problem, const Plan& plan) {
  const std::string& id = expected.step;
  const auto found = plan.find(id);
  if (!found) {
    const std::string_view name = behind_prefixes(id);
    std::vector<std::string> others;  // the same step under other prefixes
    for (const Node& node : plan.nodes) {
      if (node.role == Role::step && name_in_every_head(node) == name) others.push_back(node.id);
    }
    if (!others.empty()) {
      return {say({"this problem has no step '{0}'", "这道题没有步骤“{0}”"}, id),
              say({"it has {0}", "它有 {0}"}, fmt::format("{}", fmt::join(others, ", ")))};
    }
    const Said why = why_absent(name, *find_step_name(name), problem);
    return {say({"this problem has no step '{0}': {1}", "这道题没有步骤“{0}”：{1}"}, id, why), {}};
  }
  const Node& node = plan[*found];
  if (node.is_symbolic()) {
    return {say({"'{0}' is symbolic here, and cannot be compared with numbers",
                 "“{0}”在这里是符号，不能与数比较"},
                id),
            say({"[expect.weights] compares its coefficients", "可用 [expect.weights] 比较它的系数"})};
  }
  if (expected.printed.shape() != node.shape) {
    return {say({"[expect.{0}] is {1}, but {0} is {2}", "[expect.{0}] 是 {1}，而 {0} 是 {2}"}, id,
                size_text(expected.printed.shape()), size_text(node.shape)),
            {}};
  }
  return {};
}

}  // namespace

void check_expectations(Problem& problem, const Plan& plan, Diagnostics& diagnostics) {
  std::erase_if(problem.expected, [&](const Expectation& expected) {
    auto [message, hint] = objection(expected, problem, plan);
    if (message.empty()) return false;
    if (problem.is_changed_by_options) message = say({"not compared: {0}", "不作比较：{0}"}, message);
    diagnostics.add({problem.is_changed_by_options ? Severity::warning : Severity::error,
                     expected.printed.source->name, expected.printed.source, expected.printed.span,
                     std::move(message), std::move(hint)});
    return true;
  });
}

std::optional<Planned> read_and_plan(const ProblemInput& input, Diagnostics& diagnostics) {
  std::optional<Problem> problem = read_problem(input, diagnostics);
  if (!problem) return std::nullopt;
  Plan plan = plan_of(*problem);
  check_expectations(*problem, plan, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return Planned{std::move(*problem), std::move(plan)};
}

}  // namespace qkv

#include "problem/gradient.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "problem/origin.h"
#include "problem/shapes.h"
#include "problem/steps.h"

namespace qkv {
namespace {

class GradientSettler {
 public:
  GradientSettler(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics)
      : draft_(draft),
        settings_(draft.settings),
        roles_(roles),
        problem_(problem),
        diagnostics_(diagnostics) {}

  void settle() {
    problem_.wants_gradient = settings_.wants_gradient;
    find_starts();
    if (!problem_.wants_gradient) return say_what_is_not_used();
    refuse_what_has_no_gradient();
    if (!one_start()) return;
    arrives_at_last_step();
    targets();
  }

 private:
  void error(const Place& place, Said message, Said hint = {}) {
    report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
  }

  // A file may serve both ways; a plain trace of it is no mistake.
  void say_what_is_not_used() {
    for (const std::string& name : starts_) {
      report(Severity::note, draft_.find(name)->place(),
             say({"[{0}] is for the backward pass: --gradient, or gradient = yes",
                  "[{0}] 用于反向传播：请用 --gradient 或 gradient = yes"},
                 name),
             {}, diagnostics_);
    }
  }

  // "d.Y", "d.L2.Y", "target", as they stand in the file.
  void find_starts() {
    for (const auto& [name, matrix] : draft_.matrices) {
      if (name == "target" || name.starts_with("d.")) starts_.push_back(name);
    }
    std::sort(starts_.begin(), starts_.end(), [&](const std::string& a, const std::string& b) {
      return draft_.find(a)->given.span.begin < draft_.find(b)->given.span.begin;
    });
  }

  // ---- what flows back ----

  void refuse_what_has_no_gradient() {
    if (settings_.read == ReadKind::hard) {
      refuse("read",
             say({"a hard read has no gradient: argmax does not change with small changes of the scores",
                  "硬读取没有梯度：分数微小变化时 argmax 不变，梯度在选择这一步断了"}),
             say({"read = soft lets the gradient flow back into every weight",
                  "read = soft 让梯度流回每一个权重"}));
    }
    const auto one_pass = [&](const char* key, bool is_usual) {
      if (is_usual) return;
      refuse(
          key,
          say({"the backward pass goes through attention that is computed at once; '{0}' does not go with it",
               "反向传播只支持一次算完的注意力，不能与“{0}”同用"},
              key));
    };
    one_pass("decode", !settings_.is_decoded);
    one_pass("tile", !settings_.tile);
    one_pass("hops", settings_.hops == 1);
    refuse_symbols();
  }

  void refuse(const char* key, Said message, Said hint = {}) {
    error(settings_.find(key)->value_place, std::move(message), std::move(hint));
  }

  void refuse_symbols() {
    const Place& place = settings_.find("gradient")->value_place;
    if (roles_.v.from == Role::From::nothing) {
      if (!roles_.is_settled) return;
      error(place,
            say({"a gradient needs numbers in V, which is not given", "求梯度要有 V 的数值，但没有给出 V"}),
            say({"add [V], or [W_V]", "请加上 [V] 或 [W_V]"}));
      return;
    }
    const DraftMatrix* v = draft_.find("V");
    if (v == nullptr) return;
    const auto symbol = std::find_if(v->given.cells.begin(), v->given.cells.end(),
                                     [](const Number& n) { return n.kind == Number::Kind::symbol; });
    if (symbol == v->given.cells.end()) return;
    const Index at = symbol - v->given.cells.begin();
    error(v->cell_place(at / v->given.cols, at % v->given.cols),
          say({"a gradient needs numbers in V, not symbols such as {0}",
               "求梯度时 V 要是数，不能是 {0} 这样的符号"},
              symbol->text));
  }

  // ---- where it starts ----

  bool one_start() {
    if (!draft_.is_last_layer && !starts_.empty()) {
      error(draft_.find(starts_[0])->place(),
            say({"the backward pass starts at the last layer, not at this one",
                 "反向传播从最后一层开始，而不是从这一层"}));
      return false;
    }
    if (starts_.size() < 2) return true;
    const DraftMatrix* second = draft_.find(starts_[1]);
    error(second->place(),
          say({"[{0}] contradicts [{1}]: the backward pass starts in one way only",
               "[{0}] 与 [{1}] 矛盾：反向传播只能从一处开始"},
              starts_[1], starts_[0]),
          lines_of(*section_of(draft_, starts_[0]), *section_of(draft_, starts_[1])));
    return false;
  }

  std::string last_step() const {
    if (settings_.has_residual) return draft_.layer + "residual";
    if (draft_.has("W_O")) return draft_.layer + "Y";
    return draft_.layer + (problem_.heads > 1 ? "concat" : "output");
  }

  void arrives_at_last_step() {
    const std::string last = "d." + last_step();
    for (const std::string& name : starts_) {
      if (name == "target") continue;
      const DraftMatrix* start = draft_.find(name);
      if (name != last) {
        error(start->place(),
              say({"[{0}] does not arrive at the last step, which is {1}",
                   "[{0}] 不是最后一步的梯度；最后一步是 {1}"},
                  name, last_step()),
              say({"write [{0}]", "请写 [{0}]"}, last));
        continue;
      }
      const auto width = width_of_result(draft_, roles_);
      if (!width || !roles_.queries || !start->has_shape) continue;
      const Shape expected{*roles_.queries, *width};
      if (start->given.shape() == expected) continue;
      error(start->place(), say({"[{0}] is {1}, but {2} is {3}", "[{0}] 是 {1}，而 {2} 是 {3}"}, name,
                                size_text(start->given.shape()), last_step(), size_text(expected)));
    }
  }

  // One class for each row.
  void targets() {
    const DraftMatrix* target = draft_.find("target");
    const auto classes = width_of_result(draft_, roles_);
    if (!target || !target->has_shape || target->has_faults || !classes || !roles_.queries) return;
    const Given& given = target->given;
    if (given.cols != *roles_.queries) {
      return error(target->place(),
                   say({"[target] names {0}, but {1} has {2}: one for each row",
                        "[target] 给出 {0} 个类别，而 {1} 有 {2} 行：每行一个"},
                       counted(given.cols, "class"), last_step(), counted(*roles_.queries, "row")));
    }
    const double first = settings_.first_index;
    const double last = first + static_cast<double>(*classes - 1);
    for (Index i = 0; i < given.cols; ++i) {
      const Number& number = given.at(0, i);
      const bool is_whole =
          number.is_decimal && number.value == static_cast<double>(static_cast<long>(number.value));
      if (is_whole && number.value >= first && number.value <= last) continue;
      error(target->cell_place(0, i),
            say({"there is no class {0}: {1} has {2}, the classes {3} to {4}",
                 "没有类别 {0}：{1} 有 {2} 列，类别从 {3} 到 {4}"},
                number.text, last_step(), counted(*classes, "column"), settings_.first_index,
                settings_.first_index + *classes - 1),
            say({"first_index = 0 counts classes from 0", "first_index = 0 时类别从 0 数起"}));
    }
  }

  const Draft& draft_;
  const Settings& settings_;
  const Roles& roles_;
  Problem& problem_;
  Diagnostics& diagnostics_;
  std::vector<std::string> starts_;  // sections that say where the backward pass starts
};

}  // namespace

void settle_gradient(const Draft& draft, const Roles& roles, Problem& problem, Diagnostics& diagnostics) {
  GradientSettler(draft, roles, problem, diagnostics).settle();
}

}  // namespace qkv

// How well mistakes that were made on purpose are found.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check/judge.h"
#include "check/mistakes.h"
#include "support.h"

namespace qkv::test {

inline const JudgedStep* first_wrong(const Judgement& judgement) {
  for (const JudgedStep& step : judgement.steps) {
    if (step.verdict == Verdict::wrong) return &step;
  }
  return nullptr;
}

inline std::string list(const std::vector<const Mistake*>& mistakes) {
  std::string text;
  for (const Mistake* mistake : mistakes) text += (text.empty() ? "" : " ") + std::string(mistake->id);
  return text.empty() ? "none" : text;
}

// A slip that knows nothing of attention is named when no mistake of attention gives the same numbers.
inline bool names(const std::vector<const Mistake*>& mistakes, const std::string& id) {
  const bool is_general = id == "M08" || id == "S2" || id == "S3" || id == "S4" || id == "S9";
  return std::any_of(mistakes.begin(), mistakes.end(),
                     [&](const Mistake* mistake) { return is_general || mistake->id == id; });
}

// How often a mistake that was made was found, and what was found instead.
class Confusion {
 public:
  // A sheet with one mistake, made in `step`; `told` says which sheet, when it is the first of its kind that
  // fails.
  void add(const std::string& id, const std::string& step, const Trace& truth, const Judgement& judgement,
           const std::function<std::string()>& told) {
    const JudgedStep* wrong = first_wrong(judgement);
    const bool at_step = wrong != nullptr && truth.plan()[wrong->node].id == step;
    const bool is_named = at_step && names(wrong->mistakes, id);
    const bool is_first = is_named && wrong->mistakes.front()->id == id;
    const bool is_clean = std::count_if(judgement.steps.begin(), judgement.steps.end(),
                                        [](const JudgedStep& s) { return s.verdict == Verdict::wrong; }) <= 1;
    const std::string name = std::string(truth.plan()[node_named(truth.plan(), step)].name());
    for (Count* count : {&counts_[id + " in " + name], &total_}) {
      ++count->made;
      count->at_step += at_step;
      count->named += is_named;
      count->first += is_first;
      count->clean += is_clean;
      if (!is_first)
        ++count->instead[wrong == nullptr ? "nothing wrong"
                         : !at_step       ? "wrong in " + truth.plan()[wrong->node].id
                                          : list(wrong->mistakes)];
    }
    if (at_step && is_named && is_clean) return;
    const std::string kind = fmt::format("{} in {}: {}{}{}", id, name, at_step ? "" : "not found there ",
                                         is_named ? "" : "not named ", is_clean ? "" : "wrong later");
    if (!kinds_.insert(kind).second) return;
    std::string verdicts;
    for (const JudgedStep& s : judgement.steps)
      verdicts += fmt::format(" {}:{}", truth.plan()[s.node].id, static_cast<int>(s.verdict));
    examples_.push_back(kind + " (" + step + ")\n" + told() + verdicts + "\n" +
                        (wrong != nullptr ? list(wrong->mistakes) : "") + "\n");
  }

  // Found at its step, called by its name (first of all in 95 of 100), and nothing wrong after it.
  void check() const {
    const bool is_good = total_.at_step == total_.made && total_.named == total_.made &&
                         total_.clean == total_.made && total_.first * 100 >= total_.made * 95;
    if (!is_good || std::getenv("QKV_SHEETS") != nullptr) {
      for (const std::string& example : examples_) MESSAGE(example);
      MESSAGE(table());
    }
    CHECK(total_.made > 0);
    CHECK(total_.at_step == total_.made);
    CHECK(total_.named == total_.made);
    CHECK(total_.clean == total_.made);
    CHECK(total_.first * 100 >= total_.made * 95);
  }

 private:
  struct Count {
    int made = 0;
    int at_step = 0;
    int named = 0;
    int first = 0;
    int clean = 0;  // nothing wrong afterwards
    std::map<std::string, int> instead;
  };

  std::string table() const {
    std::string text = "made, found at the step, named, named first, no wrong step later:\n";
    for (const auto& [name, c] : counts_) {
      text +=
          fmt::format("  {:16} {:5} {:5} {:5} {:5} {:5}", name, c.made, c.at_step, c.named, c.first, c.clean);
      for (const auto& [instead, times] : c.instead) text += fmt::format("  {}× {}", times, instead);
      text += "\n";
    }
    return text + fmt::format("  {:16} {:5} {:5} {:5} {:5} {:5}\n", "all", total_.made, total_.at_step,
                              total_.named, total_.first, total_.clean);
  }

  std::map<std::string, Count> counts_;  // by id and step
  Count total_;
  std::vector<std::string> examples_;  // the first failure of each kind
  std::set<std::string> kinds_;
};

}  // namespace qkv::test

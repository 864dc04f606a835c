// What a teacher writes under a sheet: what is right, the first real error, what to do about it.
#pragma once

#include <string>
#include <vector>

#include "check/judge.h"
#include "report/narrate.h"

namespace qkv {

// How much is given away.
enum class Hint {
  none,  // everything: what was expected, the likely mistake
  step,  // only which step to look at again
  cell,  // only which cell
  rule,  // only the rule to follow there
};

Report feedback(const Judgement& judgement, const Trace& truth, const std::string& title, Language language,
                Hint hint);

// Schema qkv/check-1.
std::string feedback_json(const Judgement& judgement, const Plan& plan, Language language);

// One line a sheet: file, points, of, verdict, first wrong step, mistake; with a header line.
struct Marked {
  std::string file;
  Judgement judgement;
  bool is_read = true;  // false: blank, or not to be understood; an error has said why
};
// A list of feedback_json, each with its `file`; a sheet that could not be read has the verdict "unread".
std::string marks_json(const std::vector<Marked>& sheets, const Plan& plan, Language language);
std::string marks_csv(const std::vector<Marked>& sheets, const Plan& plan);
Report marks_table(const std::vector<Marked>& sheets, const Plan& plan, Language language);

}  // namespace qkv

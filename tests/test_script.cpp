// The table of lines that scripts are made of.  That scripts compute what the trace holds, tests/export.py
// finds by running them.

#include <set>
#include <string>

#include "ops/rows.h"
#include "render/script.h"
#include "render/script_lines.h"
#include "support.h"

namespace qkv::test {
namespace {

// "13" of "#1 #3^T", "*" of all.
std::set<char> inputs_named(std::string_view text) {
  std::set<char> named;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] == '#') named.insert(text[at + 1] == ';' ? '*' : text[at + 1]);
  }
  return named;
}

std::string text_of(const std::set<char>& signs) { return {signs.begin(), signs.end()}; }

}  // namespace

TEST_CASE("every op that computes has a line in every language, and no line is without an op") {
  std::set<std::string_view> computing;
  for (const Op* op : ops::all()) {
    if (op->kernel.doubles == nullptr) continue;
    INFO("op ", std::string(op->name));
    computing.insert(op->name);
    CHECK(script_line(op->name) != nullptr);
  }
  std::set<std::string_view> written;
  for (const ScriptLine& line : script_lines()) {
    INFO("op ", std::string(line.op));
    CHECK(computing.contains(line.op));
    CHECK(written.insert(line.op).second);
    CHECK((line.guard != Guard::none) == (line.guarded_python != nullptr));
    CHECK((line.guard != Guard::none) == (line.guarded_octave != nullptr));
  }
}

TEST_CASE("a line computes from the inputs that the op's formula names") {
  for (const Op* op : ops::all()) {
    const ScriptLine* line = script_line(op->name);
    if (line == nullptr) continue;
    INFO("op ", std::string(op->name));
    const std::string named = text_of(inputs_named(op->formula));
    if (std::string_view(op->name) == "append") continue;  // of both, which a line writes as of all
    for (const char* text : {line->python, line->octave, line->guarded_python, line->guarded_octave}) {
      if (text != nullptr) CHECK(text_of(inputs_named(text)) == named);
    }
  }
}

TEST_CASE("a step's name in a script is the step's own, no two alike, and none hides a function") {
  Builder builder;
  for (const char* id :
       {"scores", "h1.scores", "h1_scores", "d.W_Q", "max", "lambda", "check", "visible", "visible_2"})
    builder.given(id, ops::given_scores, {1, 1}, std::vector{written("1")}, {});
  CHECK(script_names(builder.take()) == std::vector<std::string>{"scores", "h1_scores", "h1_scores_", "d_W_Q",
                                                                 "max_", "lambda_", "check_", "visible_",
                                                                 "visible_2_"});
}

TEST_CASE("NumPy in the words of PyTorch") {
  CHECK(in_torch("np.concatenate([a, b], axis=1) / np.sqrt(2)") == "torch.cat([a, b], dim=1) / math.sqrt(2)");
  CHECK(in_torch("np.exp(x - x.max(axis=1, keepdims=True))") == "torch.exp(x - x.amax(dim=1, keepdim=True))");
}

}  // namespace qkv::test

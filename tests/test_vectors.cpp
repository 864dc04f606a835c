// The shared test vectors: small problems with every intermediate, computed by somebody else
// with 60 digits in real arithmetic (tests/data/vectors, format in its README).
//
// Their inputs are doubles, so each is handed over with all its digits.  Then a trace that is
// proved must give the double nearest to the expected number, without any tolerance, also in
// group `extreme`: of the answers that its `accept` field allows, qkv gives the exact one,
// because it computes on intervals whose exponents do not end at 1e308.  Plain doubles, which
// large problems are computed in, are held to 1e-12·max(1, |x|) outside `extreme`, and inside
// it to the vectors' `ieee_sequential` numbers where those are finite.  A third time the cases
// are written down as problem files and read; decimals are then not the doubles, but near.

#include <set>

#include "ops/kernels.h"
#include "reading.h"
#include "support.h"
#include "vectors.h"

namespace qkv::test {
namespace {

constexpr std::size_t kCases = 61;  // files in tests/data/vectors
constexpr double kTolerance = 1e-12;

// ---- Reading ----------------------------------------------------------------------------

std::vector<Json> all_cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(QKV_SOURCE_DIR "/tests/data/vectors")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Json> cases;
  for (const auto& path : paths) cases.push_back(Json::parse(with_quoted_numbers(text_of(path))));
  return cases;
}

std::string name_of(const Json& c) {
  return c["group"].get<std::string>() + "/" + c["id"].get<std::string>();
}
bool is_extreme(const Json& c) { return c["group"] == "extreme"; }

// ---- From a case to a problem -----------------------------------------------------------

std::optional<long> whole_param(const Json& params, const char* name) {
  if (!params.contains(name)) return std::nullopt;
  return std::stol(params[name].get<std::string>());
}

// The README's rule, written out a second time.  Null where the case hides nothing.
std::optional<Mask> mask_of_case(const Json& c, Index n, Index m) {
  const Json& params = c["params"];
  const bool is_causal = params.value("causal", false);
  const auto left = whole_param(params, "window_left");
  const auto right = whole_param(params, "window_right");
  const bool has_bools = c["inputs"].contains("mask_bool");
  if (!is_causal && !left && !right && !params.contains("segments") && !has_bools) return std::nullopt;
  std::set<long> global;
  if (params.contains("global_tokens")) {
    for (const Json& token : params["global_tokens"]) global.insert(std::stol(token.get<std::string>()));
  }
  const long offset = whole_param(params, "causal_offset").value_or(0);
  Mask mask(n, m);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) {
      const long distance = static_cast<long>(j - i) - offset;  // below 0: the key stands before the query
      bool open = (!left || distance >= -*left) && (!right || distance <= *right);
      open = open || global.contains(i) || global.contains(j);
      if (is_causal && distance > 0) open = false;
      const auto at = [](const Json& list, Index k) { return list[static_cast<std::size_t>(k)]; };
      if (params.contains("segments") && at(params["segments"], i) != at(params["segments"], j)) open = false;
      if (has_bools && !at(at(c["inputs"]["mask_bool"], i), j).get<bool>()) open = false;
      mask(i, j) = open;
    }
  }
  return mask;
}

Entry entry_of(const std::string& op) {
  if (op == "self_attention") return Entry::x;
  if (op == "softmax") return Entry::scores;
  if (op == "weighted_read") return Entry::weights;
  REQUIRE((op == "attention" || op == "score"));
  return Entry::qkv;
}

Sections sections_of(const Json& inputs, bool is_additive_or_alike) {
  Sections sections;
  for (const auto& [name, json] : inputs.items()) {
    if (name == "mask_bool") continue;
    const Matrix m = matrix_of(json);
    if (name == "S") {
      sections.emplace("Q", rows_of(m));
    } else if (name == "H") {
      sections.emplace("K", rows_of(m));
      sections.emplace("V", rows_of(m));
    } else if (name == "mask_add") {
      sections.emplace("bias", rows_of(m));
    } else if (name == "W_qkv_linear") {
      // As nn.Linear stores it: rows are outputs, those of Q first.
      const Index d = m.rows() / 3;
      sections.emplace("W_Q", rows_of(Matrix(m.topRows(d))));
      sections.emplace("W_K", rows_of(Matrix(m.middleRows(d, d))));
      sections.emplace("W_V", rows_of(Matrix(m.bottomRows(d))));
    } else if (name == "W_O_linear") {
      sections.emplace("W_O", rows_of(m));
    } else if (name == "v_a") {
      sections.emplace(name, rows_of(Matrix(m.transpose())));
    } else {
      sections.emplace(name, rows_of(m));
    }
  }
  REQUIRE(sections.contains("v_a") == is_additive_or_alike);
  return sections;
}

Problem problem_of(const Json& c) {
  const Json& params = c["params"];
  const std::string op = c["op"];
  const std::string score = params.value("score", std::string("dot"));
  Problem p = problem_at(entry_of(op), sections_of(c["inputs"], score == "additive" || score == "concat"));
  const Index n = static_cast<Index>(p.tokens.size());
  const Index m = static_cast<Index>(p.kv_tokens.size());
  p.align = whole_param(params, "causal_offset").value_or(0);
  if (score == "additive") p.score = ScoreKind::additive;
  if (score == "concat") p.score = ScoreKind::concat;
  if (op == "score") p.scale.kind = ScaleKind::none;
  if (c["inputs"].contains("W_qkv_linear")) {
    p.layout = Layout::linear;
    p.scale.d_k = whole_number(p["W_Q"].rows);
  }
  if (params.contains("scale")) p.scale = {ScaleKind::factor, exactly(number(params["scale"])), {}};
  if (params.contains("temperature")) p.temperature = exactly(number(params["temperature"]));
  if (params.contains("softcap")) p.softcap = exactly(number(params["softcap"]));
  if (params.contains("sink_logit")) p.sink_logits = {exactly(number(params["sink_logit"]))};
  if (params.contains("alibi_slope")) p.slopes = {exactly(number(params["alibi_slope"]))};
  if (const auto mask = mask_of_case(c, n, m)) forbid(p, *mask);
  return p;
}

// ---- Comparing --------------------------------------------------------------------------

// The steps by id; a Trace or plain doubles.
class Values {
 public:
  Values(const Plan& plan, std::vector<Matrix> values) : plan_(plan), values_(std::move(values)) {}
  const Matrix* find(std::string_view id) const {
    const auto node = plan_.find(id);
    return node ? &values_[*node] : nullptr;
  }

 private:
  const Plan& plan_;
  std::vector<Matrix> values_;
};

Values values_of(const Trace& trace) {
  std::vector<Matrix> values;
  for (NodeId id = 0; id < trace.plan().nodes.size(); ++id) values.push_back(trace.values(id));
  return {trace.plan(), std::move(values)};
}

// The vectors' bias holds ALiBi, mask_add and the -inf of hidden keys; qkv keeps those in M.
std::optional<Matrix> bias_and_mask(const Values& values) {
  const Matrix* bias = values.find("bias");
  const Matrix* mask = values.find("M");
  if (bias != nullptr && mask != nullptr) return Matrix(*bias + *mask);
  if (bias == nullptr && mask == nullptr) return std::nullopt;
  return bias != nullptr ? *bias : *mask;
}

// Not steps of qkv; the first two follow from steps below, `hidden` and the projections of the
// additive score have a test of their own.
const std::set<std::string, std::less<>> kNoSteps{
    "scale",         "lse",    "entropy", "fully_masked_rows", "log_weights", "jacobian", "query_projected",
    "key_projected", "hidden", "heads"};

// How many steps were compared; each difference is a failure of its own.
int compare_steps(const Json& expected, const Values& values, double tolerance) {
  int compared = 0;
  for (const auto& item : expected.items()) {
    const std::string& key = item.key();
    const Json& json = item.value();
    if (kNoSteps.contains(key)) continue;
    INFO("expected ", key);
    Matrix calculated;
    if (key == "bias") {
      const auto sum = bias_and_mask(values);
      REQUIRE(sum);
      calculated = *sum;
    } else {
      const auto step = kStepOf.find(key);
      REQUIRE(step != kStepOf.end());  // a key nobody has thought about
      const bool is_last = key == "output" && values.find("Y") != nullptr;
      const Matrix* found = values.find(is_last ? "Y" : step->second);
      if (found == nullptr && key == "row_sum") continue;  // of given weights: see below
      REQUIRE(found);
      calculated = *found;
    }
    CHECK(apart(calculated, matrix_of(json), tolerance) == "");
    ++compared;
  }
  return compared;
}

// log(Σ e^s) = max + log(sum): the vectors know it, qkv's steps imply it.
void check_log_sum(const Json& expected, const Values& values) {
  if (!expected.contains("lse")) return;
  const Matrix lse = values.find("max")->array() + values.find("sum")->array().log();
  CHECK(apart(lse, matrix_of(expected["lse"]), kTolerance) == "");
}

int compare_case(const Json& c, const Values& values, double tolerance) {
  const Json& expected = c["expected"];
  int compared = compare_steps(expected, values, tolerance);
  if (expected.contains("heads")) {
    REQUIRE(expected["heads"].size() == 1);
    Json head = expected["heads"][0];
    head.erase("head");
    head.erase("kv_head");
    const bool is_last = values.find("Y") == nullptr;
    if (!is_last) head.erase("output");  // stands as `concat` too, and "output" means Y above
    compared += compare_steps(head, values, tolerance);
    check_log_sum(head, values);
  } else {
    check_log_sum(expected, values);
  }
  return compared;
}

// Steps that each op's cases bring at least, so that none is passed over in silence.
int least_steps(const std::string& op) {
  if (op == "weighted_read") return 1;  // output
  if (op == "softmax") return 4;        // max exp sum weights
  if (op == "score") return 6;
  return op == "attention" ? 7 : 11;  // self_attention: Q K V concat output and 6 of the head
}

}  // namespace

namespace {

// ---- The same case as somebody would write it down ----------------------------------------

std::string mask_setting(const Json& params) {
  std::string text;
  if (params.value("causal", false)) text += " causal";
  const auto left = whole_param(params, "window_left");
  const auto right = whole_param(params, "window_right");
  if (left || right) {
    text += fmt::format(" window:{},{}", left ? std::to_string(*left) : "inf",
                        right ? std::to_string(*right) : "inf");
  }
  const auto list = [&](const char* param, const char* word, long counted_from) {
    if (!params.contains(param)) return;
    std::string numbers;
    for (const Json& n : params[param]) {
      numbers +=
          (numbers.empty() ? "" : ",") + std::to_string(std::stol(n.get<std::string>()) + counted_from);
    }
    text += fmt::format(" {}:{}", word, numbers);
  };
  list("global_tokens", "global", 1);
  list("segments", "segments", 0);
  return text;
}

std::string problem_file_of(const Json& c) {
  const Json& params = c["params"];
  const std::string op = c["op"];
  std::string text;
  const std::string mask = mask_setting(params);
  if (!mask.empty()) text += "mask =" + mask + "\n";
  const bool uses_positions = params.value("causal", false) || params.contains("alibi_slope") ||
                              params.contains("window_left") || params.contains("window_right");
  if (uses_positions) text += fmt::format("align = {}\n", whole_param(params, "causal_offset").value_or(0));
  for (const auto& [param, key] : {std::pair{"scale", "scale"},
                                   {"temperature", "temperature"},
                                   {"softcap", "softcap"},
                                   {"sink_logit", "sink_logit"},
                                   {"alibi_slope", "alibi"},
                                   {"score", "score"}}) {
    if (params.contains(param)) text += fmt::format("{} = {}\n", key, params[param].get<std::string>());
  }
  if (op == "softmax" || (op == "score" && params.value("score", std::string()) == "dot"))
    text += "scale = none\n";
  if (c["inputs"].contains("mask_bool")) text += "mask_values = look\n";
  if (c["inputs"].contains("W_qkv_linear")) text += "layout = linear\n";
  const std::map<std::string, std::string> names{
      {"mask_bool", "mask"},     {"mask_add", "bias"}, {"S", "Q"}, {"H", "K"},
      {"W_qkv_linear", "W_QKV"}, {"W_O_linear", "W_O"}};
  for (const auto& [name, json] : c["inputs"].items()) {
    const auto other = names.find(name);
    text += section_text(other == names.end() ? name : other->second, json);
    if (name == "H") text += section_text("V", json);
  }
  return text;
}

}  // namespace

TEST_CASE("the vectors written as problem files give every expected number to 1e-12") {
  std::size_t cases = 0;
  for (const Json& c : all_cases()) {
    if (is_extreme(c)) continue;
    const std::string text = problem_file_of(c);
    INFO("vector ", name_of(c), "\n", text);
    const Reading reading = read_text(text);
    INFO(reading.messages());
    const auto& problem = reading.problem;
    REQUIRE(problem);
    const auto mask = mask_of_case(c, static_cast<Index>(problem->tokens.size()),
                                   static_cast<Index>(problem->kv_tokens.size()));
    REQUIRE((problem->mask != nullptr) == mask.has_value());
    if (mask) CHECK(*problem->mask == *mask);
    const Trace trace = traced(*problem);
    CHECK(compare_case(c, values_of(trace), kTolerance) >= least_steps(c["op"]));
    ++cases;
  }
  CHECK(cases == kCases - 9);
}

TEST_CASE("every vector of one head is there") {
  std::map<std::string, int> count;
  const auto cases = all_cases();
  for (const Json& c : cases) ++count[c["group"]];
  CHECK(cases.size() == kCases);
  std::string groups;
  for (const auto& [group, n] : count) groups += fmt::format("{} {}, ", group, n);
  CHECK(groups ==
        "alibi 2, bidirectional 2, causal 4, cross 1, extreme 9, mask 5, mha 1, projection 3, property 3, "
        "scale 2, "
        "scoring 4, seed 17, softcap 1, softmax 2, window 5, ");
}

TEST_CASE("a trace gives the double nearest to every expected number of the vectors") {
  std::size_t cases = 0;
  for (const Json& c : all_cases()) {
    INFO("vector ", name_of(c));
    const Trace trace = traced(problem_of(c));
    REQUIRE(trace.arithmetic() == Arithmetic::proved);
    const Values values = values_of(trace);
    CHECK(compare_case(c, values, 0) >= least_steps(c["op"]));
    if (c["op"] == "weighted_read") {
      const NodeId weights = node_named(trace.plan(), "weights");
      // seed_raw_read sums to the middle of two doubles, which 25 digits do not tell: hence the tolerance.
      const Matrix sums = matrix_of(c["expected"]["row_sum"]);
      for (Index i = 0; i < sums.rows(); ++i) CHECK(std::abs(trace.row_sum(weights, i) - sums(i, 0)) < 1e-15);
    }
    if (c["expected"].contains("fully_masked_rows")) {
      for (const Json& row : c["expected"]["fully_masked_rows"]) {
        const Index i = std::stol(row.get<std::string>());
        CHECK_FALSE(trace.plan()[node_named(trace.plan(), "exp")].params.allowed->row(i).any());
      }
    }
    ++cases;
  }
  CHECK(cases == kCases);
}

TEST_CASE("the kernels for doubles give every expected number of the vectors to 1e-12") {
  std::size_t cases = 0;
  for (const Json& c : all_cases()) {
    if (is_extreme(c)) continue;
    INFO("vector ", name_of(c));
    const Plan plan = plan_of(problem_of(c));
    CHECK(compare_case(c, {plan, in_doubles(plan)}, kTolerance) >= least_steps(c["op"]));
    ++cases;
  }
  CHECK(cases == kCases - 9);
}

TEST_CASE("in extreme vectors the kernels for doubles do as sequential IEEE arithmetic does") {
  std::size_t cases = 0;
  for (const Json& c : all_cases()) {
    if (!is_extreme(c)) continue;
    INFO("vector ", name_of(c));
    const Plan plan = plan_of(problem_of(c));
    const Values values(plan, in_doubles(plan));
    for (const auto& [key, id] :
         {std::pair{"scores_raw", "scores"}, {"weights", "weights"}, {"output", "output"}}) {
      const Matrix expected = matrix_of(c["ieee_sequential"][key]);
      if (expected.array().isNaN().any()) continue;
      CHECK(apart(*values.find(id), expected, kTolerance) == "");
    }
    ++cases;
  }
  CHECK(cases == 9);
}

TEST_CASE("the hidden layer of the additive and the concat score is that of the vectors") {
  int cases = 0;
  for (const Json& c : all_cases()) {
    const Json& expected = c["expected"];
    if (!expected.contains("hidden")) continue;
    INFO("vector ", name_of(c));
    Problem p = problem_of(c);
    if (expected.contains("query_projected")) {
      CHECK(apart(value(traced(p), "scores.queries"), matrix_of(expected["query_projected"]), 0) == "");
      CHECK(apart(value(traced(p), "scores.keys"), matrix_of(expected["key_projected"]), 0) == "");
    }
    const Matrix hidden = value(traced(p), "scores.hidden");
    const std::size_t keys = expected["hidden"][0].size();
    for (Index i = 0; i < hidden.rows(); ++i) {
      for (Index h = 0; h < hidden.cols(); ++h) {
        const auto pair = static_cast<std::size_t>(i);
        CHECK(hidden(i, h) ==
              number(expected["hidden"][pair / keys][pair % keys][static_cast<std::size_t>(h)]));
      }
    }
    // With v_a = (0 … 1 … 0) the score is one hidden unit.
    const Index units = p["v_a"].cols;
    for (Index h = 0; h < units; ++h) {
      p.given.find("v_a")->second = rows_of(Matrix(Matrix::Identity(units, units).row(h)));
      const Matrix score = value(traced(p), "scores");
      for (Index i = 0; i < score.rows(); ++i) {
        for (Index j = 0; j < score.cols(); ++j) {
          const auto at = [](Index k) { return static_cast<std::size_t>(k); };
          CHECK(score(i, j) == number(expected["hidden"][at(i)][at(j)][at(h)]));
        }
      }
    }
    ++cases;
  }
  CHECK(cases == 3);
}

}  // namespace qkv::test

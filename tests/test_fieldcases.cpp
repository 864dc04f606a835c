// Mistakes that people really made: worked pages, homework threads and bug reports, each with the numbers
// it printed (tests/data/fieldcases, one file a case, with its public source).
//
// A case becomes a problem file and a sheet, and the sheet is marked as `qkv check` marks it.  What the
// mistake was, the case's own text says; here stands its id.

#include <fstream>
#include <nlohmann/json.hpp>

#include "check/judge.h"
#include "check/mistakes.h"
#include "reading.h"
#include "support.h"

namespace qkv::test {
namespace {

using Json = nlohmann::json;

// A matrix of a problem or a sheet: where it stands in the case's file, "/wrong/weights", with ^ in front
// when the file keeps it transposed; or its rows themselves, for what the case tells in words.
struct Part {
  const char* section;
  std::string_view numbers;
};

struct FieldCase {
  const char* id;
  const char* settings;
  std::vector<Part> problem;
  std::vector<Part> sheet;
  const char* found;  // the first wrong step and its likeliest mistake, or "right", and what else is told
};

const std::vector<Part> kScores{{"scores", "/inputs/scores"}};
const std::vector<Part> kScoresAndV{{"scores", "/inputs/scores"}, {"V", "/inputs/V"}};
const std::vector<Part> kQKV{{"Q", "/inputs/Q"}, {"K", "/inputs/K"}, {"V", "/inputs/V"}};

const std::vector<Part> kHeads{
    {"X", "/inputs/X"}, {"W_Q", "/inputs/Wq"}, {"W_K", "/inputs/Wk"}, {"W_V", "/inputs/Wv"}};
const std::vector<Part> kStoredHeads{{"X", "/inputs/X"},
                                     {"W_Q", "/inputs/Wq_stored"},
                                     {"W_K", "/inputs/Wk_stored"},
                                     {"W_V", "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1"}};
const std::vector<Part> kOneScore{{"Q", "/inputs/q"}, {"K", "/inputs/k"}, {"V", "1"}};
constexpr const char* kPlaced = "rope = interleaved\npositions = 3\nkv_positions = 1";
const std::vector<Part> kTiledScores{{"Q", "1"}, {"K", "^/inputs/scores"}, {"V", "/inputs/V"}};
constexpr const char* kTwoTiles = "scale = none\ntile = 1x2";

const std::vector<FieldCase> kCases{
    // Projections
    {"A06",
     "layout = linear",
     {{"X", "/inputs/X"},
      {"W_Q", "/inputs/Wq_stored_out_by_in"},
      {"W_K", "/inputs/Wk_stored_out_by_in"},
      {"W_V", "/inputs/Wv_stored_out_by_in"}},
     {{"output", "/extra/if_stored_weights_are_used_without_transposing"}},
     "output M01"},
    {"A33",
     "",
     {{"X", "/inputs/X"}, {"W_Q", "/inputs/Wq"}, {"W_K", "/inputs/Wk"}, {"W_V", "/inputs/Wv"}},
     {{"K", "/published/K"}, {"V", "1 0\n2 2\n1 1"}},
     "V M08"},
    {"B19",
     "layout = linear",
     {{"X", "/inputs/X"},
      {"W_Q", "/inputs/stored_weight_out_by_in"},
      {"b_Q", "/inputs/bias"},
      {"W_K", "/inputs/stored_weight_out_by_in"},
      {"W_V", "/inputs/stored_weight_out_by_in"}},
     {{"Q", "/wrong/XW+b"}},
     "Q M01"},
    {"B57",
     "layout = linear",
     {{"X", "^/inputs/X_columns_are_tokens"},
      {"W_Q", "/inputs/Wq"},
      {"W_K", "/inputs/Wk"},
      {"W_V", "/inputs/Wv"}},
     {{"Q", "/right/Q_columns"}, {"scores", "/right/scores_KT_Q (column j = query j)"}},
     "right, in columns"},

    // Scores and scaling
    {"A41",
     "scale = none",
     {{"Q", "/inputs/q"}, {"K", "/inputs/k"}, {"V", "1"}},
     {{"scores", "/published/dot"}, {"weights", "/published/weight"}},
     "scores M08"},
    {"A20", "", kQKV, {{"weights", "/published/weights"}}, "weights M09"},
    {"A20",
     "scale = none",
     kQKV,
     {{"weights", "/published/weights"}, {"output", "/published/output"}},
     "right"},
    {"B16", "", kQKV, {{"scores", "/wrong/scores"}, {"scaled", "/wrong/scaled"}}, "scaled M11"},
    {"B16", "", kQKV, {{"output", "/wrong/output"}}, "output M11"},
    {"B18",
     "d_k = 4",
     {{"scores", "/inputs/scores"}, {"bias", "/inputs/additive_bias"}},
     {{"weights", "/wrong/weights"}},
     "weights M16"},

    // Masks
    {"B01",
     "scale = none",
     {{"scores", "/inputs/scores"}, {"V", "/inputs/V"}, {"mask", "/inputs/keep"}},
     {{"weights", "0.731 0.269 0\nnan nan nan\n0.269 0 0.731"},
      {"output", "0.731 0.269\nnan nan\n1.731 1.462"}},
     "weights M30"},
    {"B03",
     "scale = none\nmask_values = hide",
     {{"scores", "/inputs/scores"}, {"mask", "/inputs/mask_bool_upper_triangle"}},
     {{"weights", "/wrong/reading_true_keeps"}},
     "weights M18"},
    {"B05", "scale = none\nmask = causal", kScores, {{"weights", "/wrong/weights"}}, "weights M19"},
    {"B07", "scale = none\nmask = causal", kScores, {{"weights", "/wrong/weights"}}, "weights M20"},
    {"B27", "scale = none\nmask = causal", kScores, {{"weights", "/right/bottom_right_weights"}}, "right"},
    {"B27", "scale = none\nmask = causal", kScores, {{"weights", "/right/top_left_weights"}}, "weights M25"},
    {"B30", "scale = none\nmask = causal", kScores, {{"weights", "/wrong/weights"}}, "weights M22"},
    {"B32",
     "scale = none\nmask = window:2",
     kScores,
     {{"weights", "/right/self_and_two_before"}},
     "weights M26"},
    {"B33",
     "scale = none\nmask = padding:1,1,0",
     kScores,
     {{"weights", "/wrong/weights_with_finite_fill"}},
     "weights M24"},
    {"B33",
     "scale = none\nmask = padding:1,1,0",
     kScores,
     {{"weights", "0.6652 0.2447 0.0900\n0.0900 0.6652 0.2447\nnan nan nan"}},
     "weights M24"},
    {"B35",
     "scale = none\nmask_values = look",
     {{"scores", "/inputs/scores"}, {"mask", "0 0 0"}},
     {{"weights", "/wrong/float64"}},
     "weights M27"},
    {"B35",
     "scale = none\nmask_values = look",
     {{"scores", "/inputs/scores"}, {"mask", "0 0 0"}},
     {{"weights", "/wrong/float32"}},
     "weights M27"},
    {"B52",
     "scale = none\nsoftcap = 1",
     {{"scores", "/inputs/scores"}, {"mask", "/inputs/keep"}},
     {{"weights", "/wrong/cap_after_mask_gives_hidden_key_tanh_-inf=-1"}},
     "weights M69"},
    {"B52",
     "scale = none\nsoftcap = 1",
     {{"scores", "/inputs/scores"}, {"mask", "/inputs/keep"}},
     {{"weights", "/wrong/x*tanh(x~1cap)"}},
     "weights none"},
    {"B60",
     "scale = none\nmask_values = look",
     {{"scores", "/inputs/scores"}, {"mask", "0 0 0"}},
     {{"weights", "/wrong/weights"}},
     "weights M29"},

    // Softmax
    // The columns of this table hold the numbers of its rows: nobody can tell.
    {"B08", "scale = none", kScores, {{"weights", "/wrong/weights"}}, "right"},
    {"B39", "scale = none", kScores, {{"weights", "/wrong/weights"}}, "weights M41"},
    {"B54", "scale = none\nsink_logit = 0", kScores, {{"weights", "/right/softmax1"}}, "right"},
    {"B54", "scale = none\nsink_logit = 0", kScores, {{"weights", "/wrong/1_not_shifted"}}, "weights M42"},
    {"B68", "scale = none", kScores, {{"weights", "/wrong/example_unnormalised"}}, "weights M36"},
    {"B69", "scale = none", kScores, {{"weights", "/wrong/weights"}}, "weights M43"},

    // The weighted sum
    {"A09", "", kQKV, {{"output", "/published/output"}}, "output none"},
    {"A10", "", kQKV, {{"output", "/published/output"}}, "output M47"},
    {"B24", "scale = none", kScoresAndV, {{"output", "/wrong/output"}}, "output M45"},
    {"B62",
     "scale = none",
     kScoresAndV,
     {{"weights", "/wrong/weights_2_decimals"}, {"output", "/wrong/output_from_rounded"}},
     "right"},
    // The output of a dropped key alone does not show the dropout, but that it is no average.
    {"B73",
     "scale = none",
     {{"scores", "0 0"}, {"V", "/inputs/V"}},
     {{"output", "/wrong/one_draw_key_2_dropped"}},
     "output M47"},

    // Heads
    {"B11",
     "heads = 2",
     kHeads,
     {{"h1.weights", "/wrong/heads/0"}, {"h2.weights", "/wrong/heads/1"}},
     "h1.weights M10"},
    {"B11", "heads = 2", kHeads, {{"concat", "/wrong/output"}}, "concat M10"},
    {"B11", "heads = 2", kHeads, {{"h2.weights", "/right/heads/1"}, {"concat", "/right/output"}}, "right"},
    {"B13", "heads = 2", kHeads, {{"concat", "/wrong/output"}}, "concat M12"},
    {"B21",
     "heads = 2",
     kHeads,
     {{"h1.weights", "/right/head1"}, {"h2.weights", "/right/mean"}},
     "h2.weights M54"},
    {"B21", "heads = 2", kHeads, {{"h1.weights", "/wrong/one_head_of_width_4"}}, "h1.weights M53"},
    {"B22", "heads = 2", kHeads, {{"h1.Q", "/wrong/Q_head1"}, {"h2.Q", "/wrong/Q_head2"}}, "h1.Q M51"},
    {"B22", "heads = 2", kHeads, {{"h1.weights", "/wrong/head1_weights"}}, "h1.weights M51"},
    {"B43",
     "heads = 4\nkv_heads = 2",
     {{"Q", "1 0 1 0 1 0 1 0"}, {"K", "1 0 0 1\n0 1 1 0"}, {"V", "1 3\n2 4"}},
     {{"concat", "/wrong/outputs"}},
     "concat M56"},
    // Three mistakes at once have no name.
    {"B66",
     "heads = 2\nlayout = linear",
     kStoredHeads,
     {{"h1.weights", "/wrong/weights"}},
     "h1.weights none"},
    {"B66",
     "heads = 2\nlayout = linear",
     kStoredHeads,
     {{"h1.weights", "/right/mean_weights"}},
     "h1.weights M54"},

    // Positions
    {"B46",
     kPlaced,
     kOneScore,
     {{"Q.rotated", "/right/interleaved/q"}, {"K.rotated", "/right/half_split/k"}},
     "K.rotated M58"},
    {"B46", kPlaced, kOneScore, {{"scores", "/wrong/q_interleaved_k_half"}}, "scores M58"},
    {"B48", kPlaced, kOneScore, {{"scores", "/wrong/both_shifted_by_1"}}, "right"},
    {"B48", kPlaced, kOneScore, {{"scores", "/wrong/only_query_shifted"}}, "scores M59"},
    // At position 0 nothing turns.
    {"B48", kPlaced, kOneScore, {{"scores", "/wrong/decode_position_0"}}, "scores M61"},
    {"B50",
     "heads = 8\nalibi = on",
     {{"Q", "1 1 1 1 1 1 1 1\n0 0 0 0 0 0 0 0"},
      {"K", "1 1 1 1 1 1 1 1\n0 0 0 0 0 0 0 0"},
      {"V", "1 1 1 1 1 1 1 1\n0 0 0 0 0 0 0 0"}},
     {{"h1.bias", "0 -1\n-1 0"}, {"h2.bias", "0 -0.5\n-0.5 0"}},
     "h1.bias M62"},

    // Tiles
    {"B38",
     "scale = none\ntile = 1x2",
     {{"Q", "1"}, {"K", "^/inputs/scores"}, {"V", "/inputs/V"}},
     {{"output", "/wrong/output"}},
     "output none"},
    {"B41", kTwoTiles, kTiledScores, {{"b2.sum", "/wrong/l_without_correction"}}, "b2.sum M63"},
    {"B41", kTwoTiles, kTiledScores, {{"output", "/wrong/output_without_correction"}}, "output M63"},
    {"B41", kTwoTiles, kTiledScores, {{"output", "/wrong/output_if_only_l_is_rescaled"}}, "output M64"},
    {"B41",
     kTwoTiles,
     kTiledScores,
     {{"b2.max", "/right/m"}, {"b2.sum", "/right/l"}, {"output", "/right/output"}},
     "right"},
};

Json file_of(const std::string& id) {
  std::ifstream in(QKV_SOURCE_DIR "/tests/data/fieldcases/" + id + ".json");
  INFO("case: ", id);
  REQUIRE(in);
  return Json::parse(in);
}

// No more than six decimals: who prints more prints those of a float.
std::string written_number(const Json& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_boolean()) return cell.get<bool>() ? "1" : "0";
  if (cell.is_number_integer()) return std::to_string(cell.get<long>());
  const std::string text = cell.dump();
  const std::size_t point = text.find('.');
  const bool is_short = text.find('e') == std::string::npos && text.size() - point <= 7;
  return is_short ? text : fmt::format("{:.6f}", cell.get<double>());
}

// A number alone is a matrix, and so is one row.
std::vector<std::vector<std::string>> cells_of(const Json& table) {
  if (!table.is_array()) return {{written_number(table)}};
  std::vector<std::vector<std::string>> rows;
  for (const Json& row : table) {
    if (!row.is_array()) {
      if (rows.empty()) rows.emplace_back();
      rows.front().push_back(written_number(row));
      continue;
    }
    rows.emplace_back();
    for (const Json& cell : row) rows.back().push_back(written_number(cell));
  }
  return rows;
}

std::string text_of(const Json& file, const std::vector<Part>& parts) {
  std::string text;
  for (const auto& [section, numbers] : parts) {
    text += fmt::format("[{}]\n", section);
    const bool is_transposed = numbers.starts_with('^');
    if (!is_transposed && !numbers.starts_with('/')) {
      text += std::string(numbers) + "\n";
      continue;
    }
    const Json::json_pointer place(std::string(numbers.substr(is_transposed ? 1 : 0)));
    const auto rows = cells_of(file.at(place));
    const std::size_t lines = is_transposed ? rows.front().size() : rows.size();
    const std::size_t columns = is_transposed ? rows.size() : rows.front().size();
    for (std::size_t i = 0; i < lines; ++i) {
      for (std::size_t j = 0; j < columns; ++j)
        text += (j > 0 ? " " : "") + (is_transposed ? rows[j][i] : rows[i][j]);
      text += "\n";
    }
  }
  return text;
}

struct Marked {
  Trace truth;
  Judgement judgement;
};

Marked marked(const std::string& problem_text, const std::string& sheet_text) {
  const Reading reading = read_text(problem_text);
  INFO(problem_text, reading.told());
  REQUIRE(reading.problem);
  Trace truth = traced(*reading.problem);
  Diagnostics diagnostics;
  const AnswerFile file = read_answers(source("sheet.qkv", sheet_text), diagnostics);
  auto answers = fit_answers(truth.plan(), file, diagnostics);
  INFO(sheet_text, render_diagnostics(diagnostics, Language::en, false));
  REQUIRE_FALSE(diagnostics.has_errors());
  Judgement judgement = judge(truth, std::move(answers), 4);
  return {std::move(truth), std::move(judgement)};
}

// "weights M32", "weights none", "right", "right, in columns"
std::string found(const Marked& marks) {
  for (const JudgedStep& step : marks.judgement.steps) {
    if (step.verdict != Verdict::wrong) continue;
    return marks.truth.plan()[step.node].id + " " +
           (step.mistakes.empty() ? "none" : step.mistakes.front()->id);
  }
  return marks.judgement.is_in_columns ? "right, in columns" : "right";
}

TEST_CASE("mistakes found in public are found again, and named") {
  for (const FieldCase& field_case : kCases) {
    const Json file = file_of(field_case.id);
    const std::string problem = std::string(field_case.settings) + "\n" + text_of(file, field_case.problem);
    const std::string sheet = text_of(file, field_case.sheet);
    INFO(std::string(field_case.id), ": ", file.at("title").get<std::string>(), "\n", problem, sheet);
    CHECK(found(marked(problem, sheet)) == std::string(field_case.found));
  }
}

TEST_CASE("a printed weight is marked by its own digits") {
  // A54: ten people's softmax of 1/√2 and 0, of which the first weight is 0.66976.
  const Json file = file_of("A54");
  const std::string problem = "scale = none\n" + text_of(file, kScores);
  std::string verdicts;
  for (const Json& weight : file.at("published").at("first_weight")) {
    const Marked marks = marked(problem, "[weights]\n" + weight.dump() + " _\n");
    verdicts += marks.judgement.steps.front().is_cut_off ? "cut off, " : found(marks) + ", ";
  }
  // 0.6697 is 0.66976 cut off, and also what rounding to four decimals on the way gives: 1/1.4931.
  CHECK(verdicts ==
        "right, right, right, right, weights M08, weights M08, cut off, weights M08, weights M08, weights "
        "M08, ");
}

}  // namespace
}  // namespace qkv::test

// The shared test vectors of whole systems (tests/data/systems, format in the README of
// tests/data/vectors): several heads, positions, caches, … Each is written down as a problem file
// and read; every expected number must come out to 1e-12.

#include <algorithm>
#include <vector>

#include "reading.h"
#include "support.h"
#include "vectors.h"

namespace qkv::test {
namespace {

constexpr double kTolerance = 1e-12;

Json case_named(const std::string& id) {
  return Json::parse(with_quoted_numbers(text_of(QKV_SOURCE_DIR "/tests/data/systems/" + id + ".json")));
}

std::string sections_of(const Json& c) {
  std::string text;
  for (const auto& [name, json] : c["inputs"].items()) text += section_text(name, json);
  return text;
}

std::string numbers_of(const Json& list) {
  std::string text;
  for (const Json& number : list) text += " " + number.get<std::string>();
  return text;
}

// Compares one expected matrix with a step.
void check_step(const Trace& trace, const std::string& id, const Json& expected) {
  INFO("step ", id);
  CHECK(apart(value(trace, id), matrix_of(expected), kTolerance) == "");
}

std::string settings_of_rope(const Json& rope) {
  std::string text = "rope = " + rope["style"].get<std::string>() + "\n";
  if (rope.contains("base")) text += "rope_base = " + rope["base"].get<std::string>() + "\n";
  if (rope.contains("dims") && !rope["dims"].is_null())
    text += "rope_dims = " + rope["dims"].get<std::string>() + "\n";
  if (rope.contains("positions")) text += "positions =" + numbers_of(rope["positions"]) + "\n";
  return text;
}

std::string settings_of_heads(const Json& params) {
  std::string text;
  if (params.contains("n_heads")) text += "heads = " + params["n_heads"].get<std::string>() + "\n";
  if (params.contains("rope")) text += settings_of_rope(params["rope"]);
  if (params.contains("n_kv_heads")) text += "kv_heads = " + params["n_kv_heads"].get<std::string>() + "\n";
  if (params.value("causal", false)) text += "mask = causal\n";
  if (params.contains("alibi_slopes")) text += "alibi =" + numbers_of(params["alibi_slopes"]) + "\n";
  return text;
}

// Q, K, V, every line of every head, concat and the result; returns how many matrices were compared.
int check_heads(const Json& c, const Trace& trace) {
  const Json& expected = c["expected"];
  int compared = 0;
  const bool is_one = expected["heads"].size() == 1;
  for (const char* id : {"Q", "K", "V", "concat"}) {
    check_step(trace, is_one && id == std::string("concat") ? "output" : id, expected[id]);
    ++compared;
  }
  check_step(trace, trace.plan()[trace.plan().last_step()].id, expected["output"]);
  for (const Json& head : expected["heads"]) {
    const std::string prefix =
        is_one ? "" : "h" + std::to_string(std::stol(head["head"].get<std::string>()) + 1) + ".";
    if (head.contains("Q_rot")) check_step(trace, prefix + "Q.rotated", head["Q_rot"]);
    for (const auto& [key, json] : head.items()) {
      const auto step = kStepOf.find(key);
      if (step == kStepOf.end()) continue;
      const bool is_masked = trace.plan().find(prefix + "masked").has_value();
      if (key == "scores_masked" && !is_masked) continue;
      check_step(trace, prefix + step->second, json);
      ++compared;
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("several heads, also sharing keys and values: every step of the vectors") {
  for (const char* id :
       {"mha_2", "mha_alibi", "gqa_4_2", "gqa_6_3", "gqa_6_2_rope", "rope_attn_half", "rope_attn_shift"}) {
    INFO("vector ", std::string(id));
    const Json c = case_named(id);
    const Problem p = problem(settings_of_heads(c["params"]) + sections_of(c));
    CHECK(check_heads(c, traced(p)) >= 4 + 7 * static_cast<int>(c["expected"]["heads"].size()));
  }
}

TEST_CASE("rotations: angles and turned rows of the vectors") {
  for (const char* id : {"rope_half", "rope_inter", "rope_partial_inter"}) {
    INFO("vector ", std::string(id));
    const Json c = case_named(id);
    const std::string x = section_text("X", c["inputs"]["X"]);
    const Trace trace = traced(problem(settings_of_rope(c["params"]) + "Q = X\nK = X\nV = X\n" + x));
    check_step(trace, "angles", c["expected"]["angles"]);
    check_step(trace, "Q.rotated", c["expected"]["output"]);
    check_step(trace, "K.rotated", c["expected"]["output"]);
  }
}

TEST_CASE("latent attention: latents, restored matrices, every head and the cache of the vectors") {
  for (const char* id : {"mla_basic", "mla_qrank"}) {
    INFO("vector ", std::string(id));
    const Json c = case_named(id);
    const Json& expected = c["expected"];
    const Trace trace = traced(problem(settings_of_heads(c["params"]) + sections_of(c)));
    for (const char* step : {"c_KV", "K_C", "V_C", "Q_C", "concat"}) check_step(trace, step, expected[step]);
    if (expected.contains("c_Q")) check_step(trace, "c_Q", expected["c_Q"]);
    check_step(trace, "K_R", expected["K_R_rot"]);
    check_step(trace, "Y", expected["output"]);
    REQUIRE(expected["heads"].size() == 2);
    for (std::size_t h = 0; h < 2; ++h) {
      const Json& head = expected["heads"][h];
      const std::string prefix = "h" + std::to_string(h + 1) + ".";
      check_step(trace, prefix + "Q", head["Q_full"]);
      check_step(trace, prefix + "K", head["K_full"]);
      for (const auto& [key, json] : head.items()) {
        const auto step = kStepOf.find(key);
        if (step != kStepOf.end()) check_step(trace, prefix + step->second, json);
      }
    }
    const auto total = [&](const char* step) { return fmt::format("{}", value(trace, step).sum()); };
    CHECK(total("cache") == expected["cache_numbers_per_token"].get<std::string>());
    CHECK(total("plain.cache") == expected["mha_cache_numbers_per_token"].get<std::string>());
  }
}

TEST_CASE("linear attention: features, kernel, states and outputs of the vectors") {
  for (const char* id : {"linear_elu1_cross", "linear_exp_causal"}) {
    INFO("vector ", std::string(id));
    const Json c = case_named(id);
    const bool is_elu = c["params"]["phi"] == "elu1";
    const bool is_causal = c["params"]["causal"];
    const Trace trace = traced(problem(std::string("method = linear\nphi = ") + (is_elu ? "elu+1" : "exp") +
                                       (is_causal ? "\nmask = causal\n" : "\n") + sections_of(c)));
    const Json& expected = c["expected"];
    check_step(trace, "phi.Q", expected["phi_Q"]);
    check_step(trace, "phi.K", expected["phi_K"]);
    check_step(trace, "kernel", expected["kernel_scores"]);
    check_step(trace, "denominator", expected["denominator"]);
    check_step(trace, "weights", expected["weights"]);
    check_step(trace, "output", expected["output"]);
    check_step(trace, "quadratic.output", expected["output"]);
    if (!is_causal) {
      check_step(trace, "S", expected["KV"]);
      check_step(trace, "z", Json::array({expected["z"]}));
      continue;
    }
    REQUIRE(expected["states"].size() == 4);
    for (std::size_t t = 0; t < 4; ++t) {
      const Json& state = expected["states"][t];
      const std::string prefix = "t" + std::to_string(t + 1) + ".";
      check_step(trace, prefix + "S", state["S"]);
      check_step(trace, prefix + "z", Json::array({state["z"]}));
      check_step(trace, prefix + "output", Json::array({state["output"]}));
    }
  }
}

TEST_CASE("decoding: what every token asks, caches, weighs and gets in the vectors") {
  for (const char* id : {"decode_mha_prefill", "decode_window_sinks", "decode_rope"}) {
    INFO("vector ", std::string(id));
    const Json c = case_named(id);
    const Json& params = c["params"];
    std::string text = "decode = yes\nprefill = " + params["prefill"].get<std::string>() + "\n";
    text += "heads = " + params["n_heads"].get<std::string>() + "\n";
    if (!params["window"].is_null()) {
      text += fmt::format("mask = window:{} sinks:{}\n", params["window"].get<std::string>(),
                          params["sinks"].get<std::string>());
    }
    if (params.contains("rope")) text += settings_of_rope(params["rope"]);
    const Trace trace = traced(problem(text + sections_of(c)));
    check_step(trace, "Y", c["expected"]["output"]);
    const Index prefill = std::stol(params["prefill"].get<std::string>());
    for (const Json& step : c["expected"]["steps"]) {
      const Index t = std::stol(step["t"].get<std::string>());
      const bool is_prefilled = t < prefill;
      const std::string pass = is_prefilled ? "prefill." : "t" + std::to_string(t + 1) + ".";
      for (std::size_t h = 0; h < step["heads"].size(); ++h) {
        const Json& head = step["heads"][h];
        const std::string prefix = step["heads"].size() > 1 ? pass + "h" + std::to_string(h + 1) + "." : pass;
        for (const auto& [key, name] :
             {std::pair{"scores_scaled", "scaled"}, {"weights", "weights"}, {"output", "output"}}) {
          const std::string step_id = prefix + name;
          INFO("step ", step_id);
          const Matrix expected = matrix_of(head[key]).transpose();
          const Matrix found = value(trace, step_id).row(is_prefilled ? t : 0).leftCols(expected.cols());
          CHECK(apart(found, expected, kTolerance) == "");
        }
      }
      if (is_prefilled) continue;
      const std::string cache = pass + (step["heads"].size() > 1 ? "h1.K.cache" : "K.cache");
      CHECK(value(trace, cache).rows() == std::stol(step["cache_rows"].get<std::string>()));
    }
  }
}

TEST_CASE("the online softmax: every running number of every tile of the vectors") {
  for (const char* id : {"flash_causal", "flash_causal_tall", "flash_wide"}) {
    INFO("vector ", std::string(id));
    const Json c = case_named(id);
    const Json& params = c["params"];
    std::string text = fmt::format("tile = {}x{}\n", params["block_q"].get<std::string>(),
                                   params["block_k"].get<std::string>());
    if (params["causal"].get<bool>()) text += "mask = causal\nalign = 0\n";
    const Trace trace = traced(problem(text + sections_of(c)));
    check_step(trace, "output", c["expected"]["output"]);
    int tile = 0;
    for (const Json& step : c["expected"]["trace"]) {
      if (step["skipped"].get<bool>()) continue;
      const std::string prefix = "b" + std::to_string(++tile) + ".";
      check_step(trace, prefix + (params["causal"].get<bool>() ? "masked" : "scaled"), step["scores"]);
      check_step(trace, prefix + "max", step["m"]);
      check_step(trace, prefix + "exp", step["p"]);
      check_step(trace, prefix + "sum", step["l"]);
      check_step(trace, prefix + "acc", step["acc"]);
      if (trace.plan().find(prefix + "rescale")) check_step(trace, prefix + "rescale", step["alpha"]);
    }
    CHECK_FALSE(trace.plan().find("b" + std::to_string(tile + 1) + ".scores").has_value());
  }
}

}  // namespace qkv::test

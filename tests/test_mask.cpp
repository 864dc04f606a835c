// The setting `mask`, the section [mask], and what they forbid together.
#include <doctest/doctest.h>

#include <string>

#include "problem/mask.h"
#include "reading.h"

using namespace qkv;
using namespace qkv::test;

namespace {

MaskSetting mask(std::string_view value) {
  std::vector<ValueFault> faults;
  const auto result = parse_mask(value, faults);
  INFO("mask = ", std::string(value), ": ", faults.empty() ? "" : faults[0].message.en);
  REQUIRE(result.has_value());
  return *result;
}

// Which keys are visible: "110 ; 111".
std::string seen(std::string_view value, Index n, Index m, long align) {
  const MaskSetting setting = mask(value);
  std::string text;
  for (Index i = 0; i < n; ++i) {
    if (i > 0) text += " ; ";
    for (Index j = 0; j < m; ++j) text += is_visible(setting, align, 1, i, j) ? '1' : '0';
  }
  return text;
}

std::string faults_of(std::string_view value) {
  std::vector<ValueFault> faults;
  CHECK_FALSE(parse_mask(value, faults).has_value());
  std::string text;
  for (const ValueFault& f : faults) {
    text += std::to_string(f.span.begin) + ".." + std::to_string(f.span.end) + " " + f.message.en;
    if (!f.hint.empty()) text += " / " + f.hint.en;
    text += "\n";
  }
  return text;
}

// Q and K of these many rows, and a mask.
std::string two_by_two(const std::string& settings, const std::string& sections) {
  return settings + "[Q]\n1\n1\n[K]\n1\n1\n" + sections;
}

}  // namespace

TEST_CASE("causal: a query sees the keys up to its own position") {
  CHECK(seen("causal", 3, 3, 0) == "100 ; 110 ; 111");
  CHECK(seen("causal", 2, 4, 2) == "1110 ; 1111");
  CHECK(seen("causal", 3, 2, -1) == "00 ; 10 ; 11");
}

TEST_CASE("window:w sees the w latest keys, its own counted, and none after") {
  CHECK(seen("window:2", 4, 4, 0) == "1000 ; 1100 ; 0110 ; 0011");
  CHECK(seen("window:1", 3, 3, 0) == "100 ; 010 ; 001");
  CHECK(seen("window:inf", 3, 3, 0) == "100 ; 110 ; 111");
}

TEST_CASE("window:L,R sees L before and R after its own position") {
  CHECK(seen("window:1,1", 4, 4, 0) == "1100 ; 1110 ; 0111 ; 0011");
  CHECK(seen("window:0,inf", 3, 3, 0) == "111 ; 011 ; 001");
  CHECK(seen("window:inf,0", 2, 3, 1) == "110 ; 111");
}

TEST_CASE("prefix shows its first keys to all and implies causal") {
  CHECK(seen("prefix:2", 4, 4, 0) == "1100 ; 1100 ; 1110 ; 1111");
  CHECK(seen("prefix:0", 2, 2, 0) == "10 ; 11");
}

TEST_CASE("sinks and global tokens are seen outside the window, but not against causal") {
  CHECK(seen("window:1 sinks:1", 3, 3, 0) == "100 ; 110 ; 101");
  CHECK(seen("window:0,0 global:2", 3, 3, 0) == "110 ; 111 ; 011");
  CHECK(seen("causal window:0,0 global:2", 3, 3, 0) == "100 ; 110 ; 011");
}

TEST_CASE("segments keep tokens apart and padding hides keys") {
  CHECK(seen("segments:1,1,2", 3, 3, 0) == "110 ; 110 ; 001");
  CHECK(seen("padding:1,1,0", 2, 3, 1) == "110 ; 110");
  CHECK(seen("causal padding:0,1,1", 3, 3, 0) == "000 ; 010 ; 011");
}

TEST_CASE("a mask is named in one order and spelling") {
  CHECK(mask("none").text == "none");
  CHECK(mask(" sinks:1   window: 3 causal").text == "causal window:3 sinks:1");
  CHECK(mask("padding：1, 1, 0").text == "padding:1,1,0");
  CHECK(mask("global:5,1").text == "global:1,5");
  CHECK(mask("window:3").meaning.en == "window:3: the 3 latest keys, its own position counted");
  CHECK(mask("window:2,inf causal").meaning.zh ==
        "causal：每个查询只看自己及之前的键；window:2,inf：自己，之前 2 个键，之后 inf 个键");
}

TEST_CASE("every fault of a mask is told at its place") {
  CHECK(faults_of("cauzal window:0 sinks") ==
        "0..6 unknown mask 'cauzal' / did you mean 'causal'?\n"
        "7..15 'window' takes a whole number from 1 on, not '0'\n"
        "16..21 'sinks' needs a number / write sinks:1\n");
  CHECK(faults_of("none causal") == "0..4 'none' stands alone\n");
  CHECK(faults_of("causal:1 causal") ==
        "0..8 'causal' takes nothing after it\n9..15 'causal' stands twice in this mask\n");
  CHECK(faults_of("padding:1,2") == "0..11 padding is written with 1 (a real key) and 0 (padding)\n");
  CHECK(faults_of("window:1,2,3") ==
        "0..12 a window has one or two sizes / window:3 is the 3 latest keys; window:2,1 is 2 before, 1 "
        "after\n");
}

TEST_CASE("[mask] with a 1 says which keys may be looked at") {
  const Problem p = problem(two_by_two("", "[mask]\n1 0\n1 1\n"));
  CHECK(pattern(p.mask) == "10 ; 11");
  CHECK(pattern(p.allowed) == "10 ; 11");
  CHECK(p.mask_meaning.en == "[mask]: 1 = may look, 0 = may not");
}

TEST_CASE("[mask] with -inf is added, and 0 means visible") {
  const Problem p = problem(two_by_two("", "[mask]\n0 −∞\n0 0\n"));
  CHECK(pattern(p.mask) == "10 ; 11");
  CHECK(p.mask_meaning.en == "[mask]: 0 = may look, -inf = may not");
}

TEST_CASE("mask_values says what zeros and ones mean") {
  CHECK(pattern(problem(two_by_two("mask_values = hide\n", "[mask]\n0 1\n0 0\n")).mask) == "10 ; 11");
  CHECK(pattern(problem(two_by_two("mask_values = hide\n", "[mask]\n0 0\n0 0\n")).mask) == "11 ; 11");
  CHECK(pattern(problem(two_by_two("mask_values = add\n", "[mask]\n0 0\n0 0\n")).mask) == "11 ; 11");
}

TEST_CASE("a mask whose meaning cannot be told is asked about") {
  CHECK(told(two_by_two("", "[mask]\n0 -inf\n1 0\n")) ==
        "t.qkv:9:1: error: [mask] holds both 1 and -inf: what does 0 mean?\n"
        "   9 | 1 0\n"
        "     | ^\n"
        "     = hint: use 0 and 1, or 0 and -inf\n");
  CHECK(told(two_by_two("", "[mask]\n0 0\n0 0\n")) ==
        "t.qkv:7:1: error: [mask] holds zeros alone: are all keys visible, or none?\n"
        "   7 | [mask]\n"
        "     | ^^^^^^\n"
        "     = hint: write mask_values = add (0 = visible), hide (0 = visible) or look (0 = hidden)\n");
  CHECK(told(two_by_two("", "[mask]\n0 -1\n0 0\n")) ==
        "t.qkv:8:3: error: a mask holds 0 and 1, or 0 and -inf, not '-1'\n"
        "   8 | 0 -1\n"
        "     |   ^^\n"
        "     = hint: numbers that are added to the scores belong in [bias]\n");
  CHECK(messages(two_by_two("mask_values = look\n", "[mask]\n1 -inf\n1 1\n")) ==
        "error: -inf stands only in a mask that is added (mask_values = add)\n");
  CHECK(messages(two_by_two("mask_values = add\n", "[mask]\n0 1\n0 0\n")) ==
        "error: a mask that is added holds 0 and -inf, not 1\n");
}

TEST_CASE("the setting and the section may both stand") {
  const Problem p = problem(two_by_two("mask = causal\n", "[mask]\n1 1\n0 1\n"));
  CHECK(pattern(p.mask) == "10 ; 01");
  CHECK(p.mask_meaning.en ==
        "causal: a query sees the keys up to its own position; [mask]: 1 = may look, 0 = may not");
}

TEST_CASE("-inf in a bias or in given scores forbids, but is no mask") {
  const Problem bias = problem(two_by_two("", "[bias]\n0 -inf\n1 0\n"));
  CHECK(bias.mask == nullptr);
  CHECK(pattern(bias.allowed) == "10 ; 11");
  CHECK(pattern(problem("[masked]\n1 -inf\n2 3\n").allowed) == "10 ; 11");
  CHECK(pattern(problem("scale = none\n[scores]\n1 -inf\n").allowed) == "10");
  CHECK(pattern(problem("[scaled]\n1 2\n").allowed) == "all");
}

TEST_CASE("a causal mask of one token is a mask that hides nothing") {
  const Problem p = problem("mask = causal\n[Q]\n1\n[K]\n1\n");
  CHECK(pattern(p.mask) == "1");
  CHECK(pattern(problem("mask = none\n[Q]\n1\n[K]\n1\n").mask) == "all");
}

TEST_CASE("align says where the first query stands among the keys") {
  const std::string sections = "[Q]\n1\n1\n[K]\n1\n1\n1\n";
  CHECK(problem("mask = causal\n" + sections).align == 1);
  CHECK(pattern(problem("mask = causal\n" + sections).mask) == "110 ; 111");
  CHECK(pattern(problem("mask = causal\nalign = top-left\n" + sections).mask) == "100 ; 110");
  CHECK(problem("mask = window:1\nalign = 1\n" + sections).align == 1);
  CHECK(messages("mask = causal\nalign = -1\n" + sections) ==
        "warning: every key is forbidden to t1: weights and output are zero there\n");
}

TEST_CASE("an empty row is a warning that names it, unless the setting says otherwise") {
  const std::string text = "tokens = 我 爱\nmask = padding:0,0\n[Q]\n1\n2\n[K]\n1\n2\n";
  CHECK(told(text) ==
        "t.qkv:2:1: warning: every key is forbidden to 我, 爱: weights and output are zero there\n"
        "   2 | mask = padding:0,0\n"
        "     | ^^^^\n"
        "     = hint: empty_row = nan or error treats such a row otherwise\n");
  CHECK(messages("empty_row = nan\n" + text) == "");
  CHECK(messages("empty_row = error\n" + text) == "error: every key is forbidden to 我, 爱\n");
}

TEST_CASE("parts of a mask that speak of single tokens fit the number of tokens") {
  CHECK(told(two_by_two("mask = padding:1,0,1 segments:1 global:3\n", "")) ==
        "t.qkv:1:8: error: padding names 3 keys, but the problem has 2\n"
        "   1 | mask = padding:1,0,1 segments:1 global:3\n"
        "     |        ^^^^^^^^^^^^^\n"
        "t.qkv:1:22: error: segments name 1 token, but the problem has 2\n"
        "   1 | mask = padding:1,0,1 segments:1 global:3\n"
        "     |                      ^^^^^^^^^^\n"
        "t.qkv:1:33: error: there is no token 3: tokens are numbered 1 to 2\n"
        "   1 | mask = padding:1,0,1 segments:1 global:3\n"
        "     |                                 ^^^^^^^^\n"
        "     = hint: the setting first_index says where numbering begins\n");
}

TEST_CASE("a setting that cannot act gets a warning") {
  CHECK(messages(two_by_two("mask = sinks:1\n", "")) ==
        "warning: sinks and global have no effect without a window\n");
  CHECK(messages(two_by_two("align = 1\n", "")) ==
        "warning: 'align' has no effect without causal, window or alibi\n");
  CHECK(messages(two_by_two("mask_values = hide\n", "")) ==
        "warning: 'mask_values' has no effect: there is no [mask]\n");
}

TEST_CASE("the runs of a rule are the pairs of which the rule says that they are visible") {
  for (const char* value :
       {"causal", "window:3", "window:2,1", "window:inf,0 sinks:2", "causal window:2 sinks:1 global:4",
        "prefix:3", "padding:1,1,0,1,0,1,1", "segments:1,1,2,2,1,3,3",
        "causal segments:1,1,2,2,1,3,3 padding:0,1,1,1,1,1,0", "window:1,2 global:1,7 padding:1,0,1,1,0,1,1",
        "window:2 sinks:9", "window:0,0 global:3,4,5"}) {
    for (const long align : {-3L, -1L, 0L, 2L, 9L}) {
      for (const Index queries : {Index{7}, Index{3}}) {
        const MaskSetting setting = mask(value);
        if (!setting.segments.empty() && queries != 7) continue;
        CAPTURE(value);
        CAPTURE(align);
        const KeyRuns runs = visible_keys(setting, align, 1, queries, 7);
        REQUIRE(runs.queries() == queries);
        std::string from_runs;
        for (Index i = 0; i < queries; ++i) {
          std::string row(7, '0');
          Index last = -1;  // apart: a gap between two runs
          for (std::size_t r = runs.first[static_cast<std::size_t>(i)];
               r < runs.first[static_cast<std::size_t>(i) + 1]; ++r) {
            const KeyRun run = runs.runs[r];
            CHECK(run.begin > last);
            CHECK(run.begin < run.end);
            last = run.end;
            for (Index j = run.begin; j < run.end; ++j) row[static_cast<std::size_t>(j)] = '1';
          }
          from_runs += (i > 0 ? " ; " : "") + row;
        }
        CHECK(from_runs == seen(value, queries, 7, align));
      }
    }
  }
}

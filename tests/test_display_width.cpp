#include <doctest/doctest.h>
#include <utf8proc.h>

#include "base/counted.h"
#include "base/display_width.h"
#include "base/position.h"
#include "base/suggest.h"

using namespace qkv;

TEST_CASE("a Chinese character takes two columns, a mathematical sign one, a combining mark none") {
  CHECK(column_width("我") == 2);
  CHECK(column_width("√∞α·") == 4);
  CHECK(column_width("e\u0301") == 1);
  CHECK(column_width("t1 苹果") == 7);
}

TEST_CASE("the table of widths agrees where it is not asked") {
  for (utf8proc_int32_t c = 0x2200; c < 0x2300; ++c) CHECK(utf8proc_charwidth(c) == 1);
  for (utf8proc_int32_t c = 0x20; c < 0x7f; ++c) CHECK(utf8proc_charwidth(c) == 1);
}

TEST_CASE("padding counts columns, not bytes") {
  CHECK(fill_right("我", 4) + "|" == "我  |");
  CHECK(fill_left("吃 ", 4) == " 吃 ");
  CHECK(fill_left("too wide", 3) == "too wide");
}

TEST_CASE("whatever could move the cursor or turn the line is spelt out") {
  CHECK(visible("a\x1b[31m\n") == "a\\u{1b}[31m\\u{a}");
  CHECK(visible("\x7f\u0085\u2028\u2029") == "\\u{7f}\\u{85}\\u{2028}\\u{2029}");
  CHECK(visible("\u202eabc\u2066\u200f\u061c") == "\\u{202e}abc\\u{2066}\\u{200f}\\u{61c}");
  CHECK(visible("我 · −∞") == "我 · −∞");
}

TEST_CASE("the first byte that is not UTF-8 is found") {
  CHECK_FALSE(invalid_utf8_at("我 abc").has_value());
  CHECK(invalid_utf8_at("ab\xff") == 2U);
  CHECK(invalid_utf8_at("\xe6\x88") == 0U);      // 我 cut short
  CHECK(invalid_utf8_at("a\xc0\xaf") == 1U);     // an overlong '/'
  CHECK(invalid_utf8_at("\xed\xa0\x80") == 0U);  // a surrogate
}

TEST_CASE("columns are counted in characters and lines may end with CRLF") {
  const std::string_view text = "a\r\n我 b\n";
  CHECK(position_of(text, 0).line == 1);
  CHECK(position_of(text, 0).whole_line == Span{0, 1});
  CHECK(position_of(text, 7).line == 2);
  CHECK(position_of(text, 7).column == 3);
  CHECK(position_of(text, 7).whole_line == Span{3, 8});
  CHECK(position_of(text, text.size()).line == 3);
}

TEST_CASE("a misspelt word is near the word that was meant") {
  CHECK(nearest_word("tokns", {"title", "tokens", "kv_tokens"}) == "tokens");
  CHECK(nearest_word("w_q", {"W_K", "W_Q"}) == "W_Q");
  CHECK(nearest_word("sacle", {"score", "scale"}) == "scale");  // neighbours swapped: one edit
}

TEST_CASE("a label with another number is another label, not a misspelt one") {
  CHECK(nearest_label("T1", {"t1", "t2"}) == "t1");
  CHECK(nearest_label("喜换", {"我", "喜欢"}) == "喜欢");
  CHECK_FALSE(nearest_label("t9", {"t1", "t2"}).has_value());
  CHECK_FALSE(nearest_label("t11", {"t1", "t2"}).has_value());
}

TEST_CASE("a word that is near nothing gets no suggestion") {
  CHECK_FALSE(nearest_word("banana", {"mask", "scale"}).has_value());
  CHECK_FALSE(nearest_word("Z", {"Q", "K"}).has_value());
  CHECK_FALSE(nearest_word(std::string(100000, 'a'), {"mask"}).has_value());
}

TEST_CASE("one thing has no plural, and the Chinese sentence brings the noun itself") {
  const Said one = say({"Q has {0}", "Q 有 {0} 列"}, counted(1, "column"));
  CHECK(one.en == "Q has 1 column");
  CHECK(one.zh == "Q 有 1 列");
  CHECK(counted(0, "row").en == "0 rows");
  CHECK(counted(2, "class").en == "2 classes");
  CHECK(counted(2, "query").en == "2 queries");
  CHECK(counted(2, "key").en == "2 keys");
}

TEST_CASE("what cannot be seen is spelt out, and joiners only where nothing can be joined") {
  CHECK(visible("\u200b0.5") == "\\u{200b}0.5");
  CHECK(visible("1\ufeff\u2060") == "1\\u{feff}\\u{2060}");
  CHECK(visible("a\u200db") == "a\\u{200d}b");
  CHECK(visible("👨\u200d👩") == "👨\u200d👩");
  CHECK(quotable("a\u200d👨\u200d👩") == "a\\u{200d}👨\u200d👩");
}

TEST_CASE("signs are no letters, digits or pictures") {
  for (const char32_t sign : U"≈~<=£—“•") CHECK((sign == 0 || is_sign(sign)));
  for (const char32_t other : U"aZ0_我π½🐱") CHECK(!is_sign(other));
}

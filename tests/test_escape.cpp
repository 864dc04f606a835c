// Text that users wrote, in each target: a reader that knows the target, and refuses what has a meaning
// there, gets the same text back.

#include <array>
#include <functional>
#include <map>
#include <optional>

#include "base/display_width.h"
#include "base/escape.h"
#include "support.h"

namespace qkv::test {
namespace {

// What the target's own reader makes of it; nullopt when something is not text any more.
using Reader = std::optional<std::string> (*)(const std::string&);

std::optional<std::string> xml_text(const std::string& markup) {
  const std::map<std::string, char> entities{
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"#39", '\''}};
  std::string text;
  for (std::size_t i = 0; i < markup.size(); ++i) {
    if (std::string("<>\"'").find(markup[i]) != std::string::npos) return std::nullopt;
    if (markup[i] != '&') {
      text += markup[i];
      continue;
    }
    const std::size_t end = markup.find(';', i);
    const auto entity = entities.find(markup.substr(i + 1, end - i - 1));
    if (entity == entities.end()) return std::nullopt;
    text += entity->second;
    i = end;
  }
  return text;
}

// A backslash makes the next sign of ASCII text; &#NN; is a character.
std::optional<std::string> markdown_text(const std::string& markup) {
  std::string text;
  if (!markup.empty() && std::string("+-=").find(markup[0]) != std::string::npos) return std::nullopt;
  for (std::size_t i = 0; i < markup.size(); ++i) {
    if (markup[i] == '\\') {
      text += markup[++i];
    } else if (markup.compare(i, 2, "&#") == 0) {
      const std::size_t end = markup.find(';', i);
      text += static_cast<char>(std::stoi(markup.substr(i + 2, end)));
      i = end;
    } else if (std::string("`*_[]<>#|$&~@").find(markup[i]) != std::string::npos ||
               markup.compare(i, 3, "://") == 0 || markup.compare(i, 4, "www.") == 0) {
      return std::nullopt;
    } else {
      text += markup[i];
    }
  }
  return text;
}

std::optional<std::string> latex_text(const std::string& markup) {
  const std::map<std::string, std::string> commands{{"textbackslash{}", "\\"},
                                                    {"textasciitilde{}", "~"},
                                                    {"textasciicircum{}", "^"},
                                                    {"#", "#"},
                                                    {"$", "$"},
                                                    {"%", "%"},
                                                    {"&", "&"},
                                                    {"_", "_"},
                                                    {"{", "{"},
                                                    {"}", "}"}};
  const std::map<std::string, std::string> signs{{"$\\surd$", "√"}, {"$-$", "−"}, {"$\\infty$", "∞"}};
  std::string text;
  for (std::size_t i = 0; i < markup.size();) {
    const auto starts = [&](const std::string& word) { return markup.compare(i, word.size(), word) == 0; };
    bool is_known = false;
    for (const auto& [word, means] : signs) {
      if (!starts(word)) continue;
      text += means;
      i += word.size();
      is_known = true;
      break;
    }
    if (is_known) continue;
    if (markup[i] == '\\') {
      const auto command = std::find_if(commands.begin(), commands.end(), [&](const auto& entry) {
        return markup.compare(i + 1, entry.first.size(), entry.first) == 0;
      });
      if (command == commands.end()) return std::nullopt;
      text += command->second;
      i += 1 + command->first.size();
    } else if (markup[i] == '{') {  // a group of one sign
      if (markup.size() < i + 3 || markup[i + 2] != '}') return std::nullopt;
      text += markup[i + 1];
      i += 3;
    } else if (std::string("~^#$%&_}").find(markup[i]) != std::string::npos || starts("--")) {
      return std::nullopt;
    } else {
      text += markup[i++];
    }
  }
  return text;
}

// RFC 4180: one field.  What a spreadsheet would calculate begins with = + - @.
std::optional<std::string> csv_field(const std::string& markup) {
  std::string text = markup;
  if (markup.starts_with('"')) {
    text.clear();
    for (std::size_t i = 1; i + 1 < markup.size(); ++i) {
      if (markup[i] == '"' && markup[++i] != '"') return std::nullopt;
      text += markup[i];
    }
    if (markup.size() < 2 || !markup.ends_with('"')) return std::nullopt;
  } else if (text.find_first_of(",\"\n") != std::string::npos) {
    return std::nullopt;
  }
  if (!text.empty() && std::string("=+-@").find(text[0]) != std::string::npos) return std::nullopt;
  return text.starts_with('\'') ? text.substr(1) : text;
}

// "…" with \\ and \" alone.
std::optional<std::string> string_literal(const std::string& markup) {
  if (markup.size() < 2 || !markup.starts_with('"') || !markup.ends_with('"')) return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i + 1 < markup.size(); ++i) {
    if (markup[i] == '"' || markup[i] == '\n') return std::nullopt;
    if (markup[i] == '\\' &&
        (++i + 1 >= markup.size() || std::string("\\\"").find(markup[i]) == std::string::npos))
      return std::nullopt;
    text += markup[i];
  }
  return text;
}

struct Target {
  const char* name;
  std::string (*escape)(std::string_view);
  Reader read;
};
const std::array<Target, 6> kTargets{{{"XML", escape_xml, xml_text},
                                      {"Markdown", escape_markdown, markdown_text},
                                      {"LaTeX", escape_latex, latex_text},
                                      {"CSV", csv_text, csv_field},
                                      {"Python", python_string, string_literal},
                                      {"Octave", octave_string, string_literal}}};

TEST_CASE("a hostile label is text in every target, and the same text") {
  const std::array<std::string, 44> pieces{"<script>alert(1)</script>",
                                           "</script>",
                                           "<!--",
                                           "]]>",
                                           "&amp;",
                                           "\"",
                                           "'",
                                           "`",
                                           "```",
                                           "|",
                                           "\\",
                                           "\\input{x}",
                                           "\\end{document}",
                                           "$",
                                           "$$",
                                           "%",
                                           "#",
                                           "_",
                                           "^",
                                           "~",
                                           "{",
                                           "}",
                                           "*",
                                           "**",
                                           "[a](b)",
                                           "![i](j)",
                                           "https://x.y",
                                           "www.x.y",
                                           "@you",
                                           "=1+1",
                                           "+1",
                                           "-1",
                                           "--",
                                           "---",
                                           "1.",
                                           "1)",
                                           ",",
                                           ";",
                                           "\n",
                                           "\x1b[31m",
                                           "\xe2\x80\xae",
                                           "我",
                                           "√−∞",
                                           " "};
  std::mt19937_64 random(seed());
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 2000; ++round) {
    std::string label;
    for (std::size_t k = below(5) + 1; k > 0; --k) label += pieces[below(pieces.size())];
    for (const Target& target : kTargets) {
      const std::string markup = target.escape(label);
      INFO("seed ", seed(), ", ", std::string(target.name), " of ", label, " is ", markup);
      CHECK(target.read(markup) == visible(label));
    }
  }
}

TEST_CASE("a label is written as a reader of the form would write it") {
  CHECK(escape_markdown("d_k * 2") == "d\\_k \\* 2");
  CHECK(escape_latex("50% of d_k") == "50\\% of d\\_k");
  CHECK(escape_latex("√2 ≤ x") == "$\\surd$2 $\\le$ x");
  CHECK(escape_xml("a < b & c") == "a &lt; b &amp; c");
  CHECK(csv_text("t1") == "t1");
  CHECK(csv_text("a,b") == "\"a,b\"");
  CHECK(csv_text("=A1") == "'=A1");
  CHECK(csv_text("say \"I\"") == "\"say \"\"I\"\"\"");
  CHECK(python_string("a\"b\\") == R"("a\"b\\")");
}

TEST_CASE("JSON in a page cannot end its element") {
  CHECK(escape_json_in_html(R"({"a": "</script><!--&"})") ==
        R"({"a": "\u003c/script\u003e\u003c!--\u0026"})");
}

}  // namespace
}  // namespace qkv::test

#include "input/forms.h"

#include <algorithm>
#include <array>
#include <utility>

#include "input/fold.h"
#include "input/lines.h"
#include "input/plain_rows.h"
#include "input/separators.h"

namespace qkv {
namespace {

// Tried in this order: a Markdown table may hold LaTeX, a named matrix may be of any form.
constexpr std::array<const Form*, 7> kForms{&kMarkdownForm, &kCsvForm,    &kNamedForm, &kLatexForm,
                                            &kCodeForm,     &kGroupsForm, &kPrintForm};

struct Names {
  std::string_view section;
  std::vector<std::string_view> written;  // in lower case, without "_"
};

const std::vector<Names>& other_names() {
  static const std::vector<Names> names{
      {"Q", {"query", "queries", "查询", "查询矩阵", "查询向量"}},
      {"K", {"key", "keys", "键", "键矩阵", "键向量"}},
      {"V", {"value", "values", "值", "值矩阵", "值向量"}},
      {"X", {"input", "inputs", "embedding", "embeddings", "输入", "输入矩阵"}},
      {"W_Q", {"queryweight", "queryweights", "wquery"}},
      {"W_K", {"keyweight", "keyweights", "wkey"}},
      {"W_V", {"valueweight", "valueweights", "wvalue"}},
      {"scores", {"score", "attentionscores", "s", "分数", "打分", "得分", "注意力分数"}},
      {"scaled", {"scaledscores", "缩放后", "缩放后的分数"}},
      {"masked", {"maskedscores", "遮罩后", "掩码后的分数"}},
      {"weights",
       {"weight", "attention", "attentionweights", "attn", "attnweights", "alpha", "权重", "注意力权重"}},
      {"output", {"out", "context", "z", "输出"}},
      {"mask", {"m", "attnmask", "attentionmask", "掩码", "遮罩", "掩码矩阵"}},
  };
  return names;
}

// Without "_", "^", "$", braces and capitals, and without LaTeX's commands.
std::string simplified(std::string_view name) {
  std::string result;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '\\') {
      while (at + 1 < name.size() &&
             ((name[at + 1] >= 'a' && name[at + 1] <= 'z') || (name[at + 1] >= 'A' && name[at + 1] <= 'Z')))
        ++at;
      continue;
    }
    if (std::string_view("_^$*`{}()\"' \t").find(c) != std::string_view::npos) continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

bool is_same_name(std::string_view written, std::string_view wanted) {
  const std::string name = simplified(written);
  if (name.empty()) return false;
  if (name == simplified(wanted)) return true;
  for (const Names& names : other_names()) {
    if (names.section != wanted) continue;
    return std::find(names.written.begin(), names.written.end(), name) != names.written.end();
  }
  return false;
}

}  // namespace

void RowBuilder::add(Word word) {
  if (!is_open_) {
    is_open_ = true;
    row_ = {.span = word.span, .first = table_.words.size()};
  }
  row_.span.end = std::max(row_.span.end, word.span.end);
  table_.words.push_back(word);
}

void RowBuilder::label(Word word) {
  add(word);
  row_.label = Label::marked;
}

void RowBuilder::cell(Word word) { add(word); }

void RowBuilder::end_row() {
  if (!is_open_) return;
  row_.last = table_.words.size();
  table_.rows.push_back(row_);
  is_open_ = false;
}

Word missing_word(const Paste& paste, Span here) {
  paste.faults.error(here, say({"a number is missing here", "这里缺少一个数"}),
                     say({"write 0 for a zero", "零也要写成 0"}));
  return {.span = here, .is_missing = true};
}

bool is_name_of(std::string_view written, std::string_view wanted) {
  if (wanted.empty()) return false;
  const std::size_t equals = written.find('=');
  if (equals != std::string_view::npos)
    return is_name_of(written.substr(0, equals), wanted) || is_name_of(written.substr(equals + 1), wanted);
  if (is_same_name(written, wanted)) return true;
  // "查询矩阵 Q": the last word is the name, and so may be the first.
  const std::size_t last = written.find_last_of(" \t", written.find_last_not_of(" \t"));
  return last != std::string_view::npos && is_same_name(written.substr(last), wanted);
}

std::string usual_name(std::string_view written) {
  for (const Names& names : other_names()) {
    if (is_name_of(written, names.section)) return std::string(names.section);
  }
  return std::string(written);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) list += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? list + " …" : list;
}

std::size_t end_of_bracket(std::string_view text, std::size_t at, std::size_t end) {
  int depth = 0;
  while (at < end) {
    const Folded c = fold_at(text, at);
    if (c.value == '"') {
      const std::size_t close = text.find('"', at + 1);
      if (close >= end) return end;
      at = close + 1;
      continue;
    }
    if (is_open_bracket(c.value)) ++depth;
    at += c.length;
    if (is_close_bracket(c.value) && --depth <= 0) return at;
  }
  return end;
}

namespace {

// Of a terminal's prompt that asks for code, "julia> " and "octave:1> ", or that alone is left at the end,
// its bytes; else 0.  Python's ">>> " is for those who read lines: its input may go on.
std::size_t prompt_length(std::string_view line) {
  std::string_view sign = line.substr(0, line.find('>') + 1);  // npos + 1 is 0
  if (sign.empty()) return 0;
  while (line.substr(sign.size()).starts_with('>')) sign = line.substr(0, sign.size() + 1);
  const std::size_t digits = sign.find_first_not_of("0123456789", std::min<std::size_t>(7, sign.size()));
  const bool is_octave =
      sign.starts_with("octave:") && digits != std::string_view::npos && sign.substr(digits) == ">";
  if (sign != ">" && sign != ">>" && sign != ">>>" && sign != "julia>" && !is_octave) return 0;
  const std::string_view rest = line.substr(sign.size());
  const bool is_code =
      rest.size() > 1 && rest[0] == ' ' && sign != ">>>" &&
      ((rest[1] >= 'a' && rest[1] <= 'z') || (rest[1] >= 'A' && rest[1] <= 'Z') || rest[1] == '[');
  return rest.empty() ? sign.size() : is_code ? sign.size() + 1 : 0;
}

bool closes_its_brackets(std::string_view line) {
  long open = 0;
  for (const char c : line) open += is_open_bracket(c) - is_close_bracket(c);
  return open == 0;
}

// Without the prompts around a matrix.  Code is dropped where what it printed stands below.
Span without_prompts(std::string_view text, Span body) {
  for (;;) {
    const std::size_t last = text.substr(0, body.end).find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos || last < body.begin || text[last] != '>') break;
    const std::size_t above = text.substr(0, last).rfind('\n');
    const std::size_t begin = above == std::string_view::npos || above < body.begin ? body.begin : above + 1;
    const std::string_view line = text.substr(begin, last + 1 - begin);
    if (prompt_length(line) != line.size()) break;
    body.end = begin;
  }
  for (;;) {
    Line line = line_at(text, body.begin, body.end);
    while (line.is_blank() && line.next < body.end) line = line_at(text, line.next, body.end);
    const std::string_view code = text.substr(line.content.begin, line.content.end - line.content.begin);
    const std::size_t prompt = prompt_length(code);
    if (prompt == 0) return body;
    Line below = line_at(text, line.next, body.end);
    while (below.is_blank() && below.next < body.end) below = line_at(text, below.next, body.end);
    const std::string_view next = text.substr(below.content.begin, below.content.end - below.content.begin);
    // "> A" below the code is what prints it.
    const std::size_t prompt_below = prompt_length(next);
    const bool is_printed = !next.empty() && closes_its_brackets(code) &&
                            (prompt_below == 0 || is_plain_name(next.substr(prompt_below)));
    body.begin = is_printed ? line.next : line.content.begin + prompt;
    if (!is_printed) return body;
  }
}

}  // namespace

void read_words(const Paste& paste, Span body, WordTable& table) {
  body = without_prompts(paste.text(), body);
  const Line first = line_at(paste.text(), body.begin, body.end);
  const char separator = separator_of_excel(paste.written(first.content));
  if (separator == ';') return read_plain_rows(paste, body, table);
  if (separator != 0) body.begin = first.next;  // read as it is without
  for (const Form* form : kForms) {
    if (!form->recognises(paste, body)) continue;
    const int faults = paste.faults.count();
    const Said name = form->read(paste, body, table);
    if (!name.empty() && !table.rows.empty() && paste.faults.count() == faults) {
      paste.faults.note(table.rows.front().span,
                        say({"{0} is read as {1}", "{0} 按{1}读取"}, paste.place.called, name));
    }
    return;
  }
  read_plain_rows(paste, body, table);
}

}  // namespace qkv

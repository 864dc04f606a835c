// Matrices side by side, row by row, as the articles print them:
//
//           Q = K            V                   t1     t2                  t1     t2
//   t1   [1, 0]        [1.0, 0.0]         t1   [ 1      0 ]     / √2   [ 0.71   0    ]
//   t2   [0, 1]        [0.0, 1.0]         t2   [ 0      1 ]    ────►   [ 0      0.71 ]
//
// The heading that is the section's name chooses; without headings, [scores] is what is divided by a root,
// and [scaled] what comes of it.

#include <algorithm>
#include <utility>

#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/plain_rows.h"
#include "input/spelling.h"

namespace qkv {
namespace {

struct GroupRow {
  Span label;  // may be empty
  std::vector<Span> groups;
  std::vector<Span> between;  // what stands between a group and the next
};

// A row of two or more brackets that no comma separates; nullopt for any other line.
std::optional<GroupRow> group_row(std::string_view text, const Line& line) {
  GroupRow row;
  std::size_t after = line.content.begin;
  for (std::size_t at = line.content.begin; at < line.content.end;) {
    const Folded c = fold_at(text, at);
    if (!is_open_bracket(c.value)) {
      at += c.length;
      continue;
    }
    const std::size_t end = end_of_bracket(text, at, line.content.end);
    if (begins_number_call(text.substr(after, at - after), c.value)) {  // "sqrt(2)"
      at = end;
      continue;
    }
    const Span before = trimmed(text, {after, at});
    if (row.groups.empty()) {
      row.label = before;
    } else {
      row.between.push_back(before);
    }
    row.groups.push_back({at, end});
    at = after = end;
  }
  if (row.groups.size() < 2 || after < line.content.end) return std::nullopt;
  if (row.label.begin == row.label.end) return std::nullopt;  // "[1, 0] [0, 1]": rows
  for (const Span between : row.between) {
    const std::string_view written = text.substr(between.begin, between.end - between.begin);
    // "t1 → [1, 0]   t2 → [0, 1]" are rows, and so are "[1, 0], [0, 1]"
    const bool is_of_rows = written.ends_with(':') || written.ends_with("：") || written.ends_with("→") ||
                            written.ends_with("->") || written.ends_with(',') || written.ends_with(';');
    if (is_of_rows) return std::nullopt;
  }
  return row;
}

struct Groups {
  std::vector<Span> headings;  // lines above the rows
  std::vector<GroupRow> rows;
};

// nullopt when some line after the first row of groups is none.
std::optional<Groups> groups_of(std::string_view text, Span body) {
  Groups found;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (line.is_blank()) continue;
    if (auto row = group_row(text, line)) {
      found.rows.push_back(std::move(*row));
    } else if (found.rows.empty()) {
      found.headings.push_back(line.content);
    } else {
      return std::nullopt;
    }
  }
  return found.rows.empty() || found.headings.size() > 2 ? std::nullopt : std::optional(std::move(found));
}

bool is_divided(std::string_view between) { return between.starts_with('/') || between.starts_with("÷"); }

// Fields that two spaces or a tab separate.
std::vector<Span> fields(std::string_view text, Span line) {
  std::vector<Span> found;
  std::size_t begin = line.begin;
  for (std::size_t at = line.begin; at <= line.end; ++at) {
    const bool is_gap =
        at == line.end || text[at] == '\t' || text.substr(at, line.end - at).starts_with("  ");
    if (!is_gap) continue;
    const Span field = trimmed(text, {begin, at});
    if (field.begin < field.end) found.push_back(field);
    begin = at;
  }
  return found;
}

bool recognises(const Paste& paste, Span body) {
  const std::string_view written = paste.written(body);
  if (written.find_first_of("[({") == std::string_view::npos &&
      written.find("［") == std::string_view::npos && written.find("（") == std::string_view::npos)
    return false;
  return groups_of(paste.text(), body).has_value();
}

// The headings of `count` columns: fields that wide gaps separate, or else words; one more stands above the
// labels.  Empty where their number is another.
std::vector<Span> headings_of(std::string_view text, Span line, std::size_t count) {
  std::vector<Span> names = fields(text, line);
  if (names.size() != count && names.size() != count + 1) {
    names.clear();
    for (std::size_t at = line.begin; at < line.end;) {
      const std::size_t begin = std::min(text.find_first_not_of(" \t", at), line.end);
      at = std::min(text.find_first_of(" \t", begin), line.end);
      if (begin < at) names.push_back({begin, at});
    }
  }
  if (names.size() == count + 1) names.erase(names.begin());
  if (names.size() != count) names.clear();
  return names;
}

std::optional<std::size_t> chosen(const Paste& paste, const Groups& groups) {
  const std::size_t count = groups.rows.front().groups.size();
  for (const Span heading : groups.headings) {
    const std::vector<Span> names = headings_of(paste.text(), heading, count);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (is_name_of(paste.written(names[i]), paste.place.wanted)) return i;
    }
  }
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (!is_divided(paste.written(groups.rows.front().between[i]))) continue;
    if (paste.place.wanted == "scores") return i;
    if (paste.place.wanted == "scaled") return i + 1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (paste.place.wanted == std::to_string(i + 1)) return i;
  }
  return std::nullopt;
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const Groups groups = *groups_of(paste.text(), body);
  const auto group = chosen(paste, groups);
  if (!group) {
    const Span second = groups.rows.front().groups[1];
    paste.faults.error(
        {second.begin, second.begin + fold_at(paste.text(), second.begin).length},
        say({"two bracketed rows after one label", "一个标签后面有两组括号"}),
        say({"a line above names the matrices, such as 'token  K  V'; or each has a section of its own",
             "请在上面写一行名称，例如“token  K  V”；或者让每个矩阵有自己的小节"}));
    return {};
  }
  for (const GroupRow& row : groups.rows) {
    Span label = row.label;
    while (label.end > label.begin &&
           (paste.text()[label.end - 1] == ':' || paste.text()[label.end - 1] == '|'))
      --label.end;
    const Word word{.span = trimmed(paste.text(), label)};
    if (*group >= row.groups.size()) {
      paste.faults.error({row.label.begin, row.groups.back().end},
                         say({"this row has {0} groups of numbers, but the first has {1}",
                              "这一行有 {0} 组数，而第一行有 {1} 组"},
                             row.groups.size(), groups.rows.front().groups.size()));
      continue;
    }
    read_bracketed_row(paste, &word, row.groups[*group], table);
  }
  paste.faults.note(groups.rows.front().groups[*group],
                    say({"of {0} matrices side by side number {1} is read as {2}",
                         "并排的 {0} 个矩阵中，第 {1} 个读作 {2}"},
                        groups.rows.front().groups.size(), *group + 1, paste.place.called));
  return {};
}

}  // namespace

namespace {

// "Out[3]: array([[1, 0]])" and "Q = [1, 0] K = [0, 1]" have brackets too: between matrices side by side
// stands nothing, an arrow or a division, and their labels are no code.
bool are_side_by_side(std::string_view text, const Groups& groups) {
  const std::size_t count = groups.rows.front().groups.size();
  return std::all_of(groups.rows.begin(), groups.rows.end(), [&](const GroupRow& row) {
    const std::string_view label = text.substr(row.label.begin, row.label.end - row.label.begin);
    const bool is_code = label.find('=') != std::string_view::npos || row.label.end == row.groups[0].begin;
    const bool is_plain = std::none_of(row.between.begin(), row.between.end(), [&](Span between) {
      const std::string_view written = text.substr(between.begin, between.end - between.begin);
      return !written.empty() && static_cast<unsigned char>(written[0]) < 0x80 && !is_divided(written);
    });
    return row.groups.size() == count && is_plain && !is_code;
  });
}

}  // namespace

std::vector<NamedSpan> side_by_side(std::string_view text) {
  const Span body{0, text.size()};
  std::vector<NamedSpan> found;
  if (text.find_first_of("[({") == std::string_view::npos) return found;
  const auto groups = groups_of(text, body);
  if (!groups || !are_side_by_side(text, *groups)) return found;
  const std::vector<Span>& first = groups->rows.front().groups;
  for (const Span group : first) found.push_back({"", group, body});
  for (const Span heading : groups->headings) {
    const std::vector<Span> names = headings_of(text, heading, first.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      found[i].name = text.substr(names[i].begin, names[i].end - names[i].begin);
      found[i].place = names[i];
    }
  }
  const std::vector<Span>& between = groups->rows.front().between;
  const bool is_scaling =
      first.size() == 2 && is_divided(text.substr(between[0].begin, between[0].end - between[0].begin));
  if (is_scaling) {
    found[0].name = "scores";
    found[1].name = "scaled";
  }
  return found;
}

const Form kGroupsForm{recognises, read};

}  // namespace qkv

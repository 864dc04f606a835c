// Several matrices in one paste, each with its name; the section's name chooses:
//
//   Q = [[1, 0]]        Q:          {"Q": [[1, 0]],      q1 = (1, 0)
//   K = [[1, 0]]        1 0          "K": [[1, 0]]}      k1 = (2, 0)
//                       K:                               k2 = (0, 2)
//                       1 1
//
// Vectors that are numbered, q1 k1 k2, are the rows of Q and of K.

#include <algorithm>
#include <utility>

#include "base/display_width.h"
#include "input/code_text.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/named_pieces.h"
#include "input/plain_rows.h"

namespace qkv {
namespace {

// A problem file is no paste.
bool has_sections(std::string_view text, Span body) {
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    if (!line.is_blank() && header_of(text, line)) return true;
  }
  return false;
}

bool recognises(const Paste& paste, Span body) {
  const std::string_view text = paste.text();
  const std::string_view written = paste.written(body);
  bool may_name = written.find_first_of("=:") != std::string_view::npos;
  for (const std::string_view sign : {"<-", "＝", "：", "[[", "([", "\\begin{"})
    may_name = may_name || written.find(sign) != std::string_view::npos;
  if (!may_name) return false;
  if (!json_pieces(text, body).empty()) return true;
  const std::vector<NamedPiece> pieces = named_pieces(text, body);
  const bool is_one = pieces.size() == 1 && pieces[0].is_titled &&
                      skip_blank(text, body.begin, body.end) == pieces[0].name.begin;
  if ((pieces.size() < 2 && !is_one) || has_sections(text, body)) return false;
  // The first name need not begin its line: "let q = …".
  const Span above{body.begin, pieces.front().name.begin};
  const bool has_rows_above = paste.written(above).find('\n', skip_blank(text, above.begin, above.end) -
                                                                  above.begin) != std::string_view::npos;
  // A setting left among rows is an error of its own.
  return !has_rows_above && std::any_of(pieces.begin(), pieces.end(), [&](const NamedPiece& piece) {
    return begins_matrix(text, piece, body.end);
  });
}

// "q1" → "q"
std::string_view stem(std::string_view name) {
  while (!name.empty() && ((name.back() >= '0' && name.back() <= '9') || name.back() == '_'))
    name.remove_suffix(1);
  return name;
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const std::string_view text = paste.text();
  const std::vector<NamedPiece> pieces = named_pieces(text, body);
  for (const NamedPiece& piece : pieces) {
    const bool is_only = pieces.size() == 1;
    if (!is_only && !is_name_of(paste.written(piece.name), paste.place.wanted)) continue;
    if (!is_only) {
      paste.faults.note(piece.name, say({"of several matrices the one named '{0}' is read as {1}",
                                         "有多个矩阵，名为“{0}”的读作 {1}"},
                                        quotable(paste.written(piece.name)), paste.place.called));
    }
    read_words(paste, piece.whole, table);
    return {};
  }

  std::vector<NamedPiece> rows;
  std::vector<std::string> names;
  std::vector<std::string> chosen;
  const std::string_view first_stem = stem(paste.written(pieces.front().name));
  const bool have_one_stem = std::all_of(pieces.begin(), pieces.end(), [&](const NamedPiece& piece) {
    return stem(paste.written(piece.name)) == first_stem;
  });
  for (const NamedPiece& piece : pieces) {
    const std::string_view name = paste.written(piece.name);
    const std::size_t value = skip_blank(text, piece.value, body.end);
    if (is_bracket_at(text, value, body.end) &&
        (have_one_stem || is_name_of(stem(name), paste.place.wanted))) {
      rows.push_back(piece);
      chosen.push_back(quotable(name));
    }
    names.push_back(quotable(name));
  }
  if (rows.empty()) {
    paste.faults.error(pieces.front().name,
                       say({"several matrices stand here, {0}, and none has the name of {1}",
                            "这里有多个矩阵：{0}；没有一个叫 {1}"},
                           listed(names), paste.place.called),
                       say({"paste one alone, or write the section's name before it",
                            "请只粘贴其中一个，或在它前面写上小节的名称"}));
    return {};
  }
  for (const NamedPiece& piece : rows) {
    const std::size_t value = skip_blank(text, piece.value, body.end);
    const Word label{.span = piece.name};
    read_bracketed_row(paste, &label, {value, end_of_bracket(text, value, body.end)}, table);
  }
  if (rows.size() < pieces.size()) {
    paste.faults.note(rows.front().name, say({"of the vectors {0} these are the rows of {1}: {2}",
                                              "向量 {0} 中，作为 {1} 各行的是：{2}"},
                                             listed(names), paste.place.called, listed(chosen)));
  }
  return {};
}

}  // namespace

const Form kNamedForm{recognises, read};

}  // namespace qkv

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
#include "input/plain_rows.h"

namespace qkv {
namespace {

struct Piece {
  Span name;
  std::size_t value = 0;  // where its value begins
  Span whole{};           // with the name, as it is read when it stands alone
};

bool is_bracket_at(std::string_view text, std::size_t at, std::size_t end) {
  return at < end && is_open_bracket(fold_at(text, at).value);
}

// A name alone on its line, with ":" behind: "Q:"
std::optional<Span> heading_of(std::string_view text, const Line& line) {
  std::size_t begin = line.content.begin;
  while (begin < line.content.end && (text[begin] == '*' || text[begin] == '#')) ++begin;
  std::size_t end = line.content.end;
  while (end > begin && text[end - 1] == '*') --end;
  for (const std::string_view colon : {":", "："}) {
    if (!text.substr(begin, end - begin).ends_with(colon)) continue;
    const Span name = trimmed(text, {begin, end - colon.size()});
    const std::string_view written = text.substr(name.begin, name.end - name.begin);
    if (is_plain_name(written) && !written.starts_with("Column")) return name;  // "Columns 1 through 8:"
  }
  return std::nullopt;
}

std::vector<Piece> json_pieces(std::string_view text, Span body) {
  std::vector<Piece> pieces;
  std::size_t at = skip_blank(text, body.begin, body.end);
  if (at >= body.end || text[at] != '{') return {};
  const std::size_t close = end_of_bracket(text, at, body.end);
  at = skip_blank(text, at + 1, close);
  while (at < close && (text[at] == '"' || text[at] == '\'')) {
    const std::size_t quote = text.find(text[at], at + 1);
    if (quote >= close) break;
    Piece piece{.name = {at + 1, quote}};
    at = skip_blank(text, quote + 1, close);
    if (at >= close || text[at] != ':') break;
    piece.value = at = skip_blank(text, at + 1, close);
    while (at < close && text[at] != ',' && text[at] != '}') {
      at = is_bracket_at(text, at, close) ? end_of_bracket(text, at, close) : at + 1;
    }
    piece.whole = {piece.value, at};
    pieces.push_back(piece);
    at = skip_blank(text, std::min(at + 1, close), close);
  }
  return pieces;
}

std::vector<Piece> pieces_of(std::string_view text, Span body) {
  std::vector<Piece> pieces = json_pieces(text, body);
  if (!pieces.empty()) return pieces;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    std::size_t next = line.next;
    if (!line.is_blank()) {
      const auto declared = declaration_at(text, line.content.begin, line.content.end);
      const auto heading = declared ? std::nullopt : heading_of(text, line);
      if (declared) {
        pieces.push_back({declared->name, declared->value, {at, body.end}});
      } else if (heading) {
        pieces.push_back({*heading, line.next, {line.next, body.end}});
      }
      if ((declared || heading) && pieces.size() > 1)
        pieces[pieces.size() - 2].whole.end = std::max(pieces[pieces.size() - 2].whole.begin, at);
      // What stands inside a bracket names nothing: "dtype=float32)".
      for (std::size_t c = line.content.begin; c < line.content.end;) {
        if (!is_bracket_at(text, c, line.content.end)) {
          c += fold_at(text, c).length;
          continue;
        }
        c = end_of_bracket(text, c, body.end);
        next = std::max(next, c);
      }
      if (next > line.next) next = std::min(text.find('\n', next), body.end - 1) + 1;
    }
    at = next;
  }
  return pieces;
}

// A bracket, LaTeX, a call, or numbers on the lines below.
bool begins_matrix(std::string_view text, const Piece& piece, std::size_t end) {
  const std::size_t at = skip_blank(text, piece.value, end);
  if (at >= end) return false;
  if (is_bracket_at(text, at, end) || text[at] == '\\' || call_length(text.substr(at, end - at)) > 0)
    return true;
  return text.substr(piece.value, at - piece.value).find('\n') != std::string_view::npos ||
         (piece.value > 0 && text[piece.value - 1] == '\n');
}

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
  if (written.find_first_of("=:") == std::string_view::npos && written.find("<-") == std::string_view::npos &&
      written.find("＝") == std::string_view::npos && written.find("：") == std::string_view::npos)
    return false;
  if (!json_pieces(text, body).empty()) return true;
  const std::vector<Piece> pieces = pieces_of(text, body);
  if (pieces.size() < 2 || has_sections(text, body)) return false;
  const bool has_rows_above =
      skip_blank(text, body.begin, body.end) != skip_blank(text, pieces.front().name.begin, body.end);
  // A setting left among rows is an error of its own.
  return !has_rows_above && std::any_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
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
  const std::vector<Piece> pieces = pieces_of(text, body);
  for (const Piece& piece : pieces) {
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

  std::vector<Piece> rows;
  std::vector<std::string> names;
  std::vector<std::string> chosen;
  const std::string_view first_stem = stem(paste.written(pieces.front().name));
  const bool have_one_stem = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return stem(paste.written(piece.name)) == first_stem;
  });
  for (const Piece& piece : pieces) {
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
  for (const Piece& piece : rows) {
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

#include "input/named_pieces.h"

#include <algorithm>
#include <optional>

#include "input/code_text.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"

namespace qkv {
namespace {

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

// "Q: [[1, 0]]" and "weights tensor([[1, 0]])": a name and a matrix on its line; "t1: [1, 0]" is a row.
std::optional<NamedPiece> titled_matrix(std::string_view text, const Line& line) {
  std::size_t at = line.content.begin;
  std::size_t name_end = at;
  while (at < line.content.end) {
    const Folded c = fold_at(text, at);
    if (c.value == ':' || is_space(c.value)) {
      name_end = at;
      at += c.length;
      if (c.value == ':') break;
      const Line rest{{}, trimmed(text, {at, line.content.end}), 0};
      if (rest.content.end > rest.content.begin && fold_at(text, rest.content.begin).value == ':') {
        at = rest.content.begin;
        at += fold_at(text, at).length;
      }
      break;
    }
    at += c.length;
  }
  const std::string_view name = text.substr(line.content.begin, name_end - line.content.begin);
  const std::size_t value = trimmed(text, {at, line.content.end}).begin;
  if (value >= line.content.end || !is_plain_name(name) || name == "new" || name == "return" || name == "let")
    return std::nullopt;
  const std::size_t behind =
      is_bracket_at(text, value, line.content.end) ? value + fold_at(text, value).length : value;
  const bool is_nested =
      behind > value && is_bracket_at(text, skip_blank(text, behind, line.content.end), line.content.end);
  // "Q: [1 0; 0 1]"
  const bool has_rows =
      behind > value && text.substr(value, end_of_bracket(text, value, line.content.end) - value).find(';') !=
                            std::string_view::npos;
  const bool is_matrix = is_nested || has_rows || begins_matrix_call(text, value, line.content.end) ||
                         text.substr(value).starts_with("\\begin{");
  if (!is_matrix) return std::nullopt;
  return NamedPiece{{line.content.begin, name_end}, value, {value, line.whole.end}, true};
}

}  // namespace

bool is_bracket_at(std::string_view text, std::size_t at, std::size_t end) {
  return at < end && is_open_bracket(fold_at(text, at).value);
}

namespace {

// The members of the object at `at`, and where it ends; nullopt where it is none.
std::optional<std::size_t> json_object(std::string_view text, std::size_t at, std::size_t end,
                                       std::vector<NamedPiece>& pieces) {
  const std::size_t close = end_of_bracket(text, at, end);
  if (text[close - 1] != '}') return std::nullopt;  // cut off
  at = skip_blank(text, at + 1, close);
  while (at < close && (text[at] == '"' || text[at] == '\'')) {
    const std::size_t quote = text.find(text[at], at + 1);
    if (quote >= close) break;
    NamedPiece piece{.name = {at + 1, quote}};
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
  return close;
}

}  // namespace

std::vector<NamedPiece> json_pieces(std::string_view text, Span body) {
  std::vector<NamedPiece> pieces;
  std::size_t at = skip_blank(text, body.begin, body.end);
  // JSON Lines: an object on every line.
  while (at < body.end && text[at] == '{') {
    const std::size_t before = pieces.size();
    const auto close = json_object(text, at, body.end, pieces);
    if (!close || pieces.size() == before) return {};
    at = skip_blank(text, *close, body.end);
    if (at < body.end && (text[at] == ',' || text[at] == ';')) at = skip_blank(text, at + 1, body.end);
  }
  return at < body.end ? std::vector<NamedPiece>{} : pieces;
}

std::vector<NamedPiece> named_pieces(std::string_view text, Span body) {
  std::vector<NamedPiece> pieces = json_pieces(text, body);
  if (!pieces.empty()) return pieces;
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    std::size_t next = line.next;
    if (!line.is_blank()) {
      const auto declared = declaration_at(text, line.content.begin, line.content.end);
      const auto heading = declared ? std::nullopt : heading_of(text, line);
      const auto titled = declared || heading ? std::nullopt : titled_matrix(text, line);
      if (declared) {
        pieces.push_back({declared->name, declared->value, {at, body.end}});
      } else if (heading) {
        pieces.push_back({*heading, line.next, {line.next, body.end}, true});
      } else if (titled) {
        pieces.push_back(*titled);
        pieces.back().whole.end = body.end;
      }
      if ((declared || heading || titled) && pieces.size() > 1)
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

bool begins_matrix(std::string_view text, const NamedPiece& piece, std::size_t end) {
  const std::size_t at = skip_blank(text, piece.value, end);
  if (at >= end) return false;
  if (is_bracket_at(text, at, end) || text[at] == '\\' || begins_matrix_call(text, at, end) ||
      list_type_length(text, at, end) > 0)
    return true;
  return text.substr(piece.value, at - piece.value).find('\n') != std::string_view::npos ||
         (piece.value > 0 && text[piece.value - 1] == '\n');
}

}  // namespace qkv

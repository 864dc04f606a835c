#include "input/pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "input/code_text.h"
#include "input/csv_table.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/markdown_text.h"
#include "input/named_pieces.h"

namespace qkv {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number_text(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// ---- names before matrices ----

Pieces latex_pieces(std::string_view text) {
  Pieces found;
  for (NamedSpan& matrix : named_latex(text))
    found.list.push_back({std::move(matrix.name), matrix.place, matrix.body});
  if (found.list.size() > 1) found.together = Together::named;
  return found;
}

// ---- side by side ----

// "Q = K" above one matrix names two.
Pieces pieces_side_by_side(std::string_view text) {
  std::vector<NamedSpan> matrices = side_by_side(text);
  if (matrices.empty()) matrices = vector_columns(text);
  Pieces found;
  if (matrices.size() < 2) return found;
  const bool have_names =
      std::all_of(matrices.begin(), matrices.end(), [](const NamedSpan& m) { return !m.name.empty(); });
  for (const NamedSpan& matrix : matrices) {
    if (!have_names) {
      found.list.push_back({std::to_string(found.list.size() + 1), matrix.place, matrix.body});
      continue;
    }
    for (std::size_t at = 0; at <= matrix.name.size();) {
      const std::size_t end = std::min(matrix.name.find('=', at), matrix.name.size());
      const Span name = trimmed(matrix.name, {at, end});
      found.list.push_back(
          {usual_name(matrix.name.substr(name.begin, name.end - name.begin)), matrix.place, matrix.body});
      at = end + 1;
    }
  }
  found.together = have_names ? Together::named : Together::stack;
  return found;
}

// What stands behind the name, on its line.
Span scalar_of(std::string_view text, const NamedPiece& piece) {
  const Line line = line_at(text, piece.value, text.size());
  return {trimmed(text, {piece.value, line.content.end}).begin, std::max(piece.value, line.content.end)};
}

// Comments left out.
bool has_digits(std::string_view text, Span span) {
  for (std::size_t at = span.begin; at < span.end;) {
    const Line line = line_at(text, at, span.end);
    at = line.next;
    const std::string_view written = text.substr(line.content.begin, line.content.end - line.content.begin);
    if (std::any_of(written.begin(), written.end(), is_digit)) return true;
  }
  return false;
}

Pieces pieces_behind_names(std::string_view text) {
  const Span all{0, text.size()};
  const bool is_json = !json_pieces(text, all).empty();
  const std::vector<NamedPiece> named = named_pieces(text, all);
  Pieces found;
  if (named.empty()) return found;
  if (!is_json && has_digits(text, {0, named.front().name.begin})) return found;
  for (const NamedPiece& piece : named) {
    std::string name(text.substr(piece.name.begin, piece.name.end - piece.name.begin));
    if (is_json ? is_bracket_at(text, piece.value, piece.whole.end)
                : begins_matrix(text, piece, piece.whole.end)) {
      found.list.push_back({std::move(name), piece.name, piece.whole});
    } else {
      found.scalars.push_back({std::move(name), piece.name, scalar_of(text, piece)});
    }
  }
  // "Q = [[1, 0]]" alone is a matrix; what an object holds has its name for a reason, and so has what stands
  // beside "d_k = 2".
  const bool is_one = found.list.size() == 1 && !is_json && found.scalars.empty();
  if (!found.list.empty() && !is_one) found.together = Together::named;
  return found;
}

// ---- tables ----

Pieces csv_pieces(std::string_view text, const std::function<bool(std::string_view)>& is_known) {
  Pieces found;
  for (std::size_t at = 0; at < text.size();) {
    Line line = line_at(text, at, text.size());
    at = line.next;
    if (line.is_blank()) continue;
    Span block{line.whole.begin, line.whole.end};
    while (at < text.size() && !(line = line_at(text, at, text.size())).is_blank()) {
      block.end = line.next;
      at = line.next;
    }
    const auto heading = csv_heading(text, block);
    if (!heading || heading->corner.empty()) return {};
    found.list.push_back({heading->corner, heading->line, block});
  }
  const bool are_named = found.list.size() > 1 || (!found.list.empty() && is_known(found.list.front().name));
  if (are_named) found.together = Together::named;
  found.are_tables = true;
  return found;
}

// "W\_Q (2×3)" and "Q (3×2) = X (3×4) · W\_Q (4×2)": the name; empty for any other line.
std::string name_before_shape(std::string_view line) {
  const std::size_t space = line.find(" (");
  const std::size_t close = line.find(')', std::min(space, line.size()));
  if (close == std::string_view::npos) return "";
  const std::string_view after = line.substr(close + 1);
  const std::string_view shape = line.substr(space + 2, close - space - 2);
  const std::size_t cross = shape.find_first_not_of("0123456789");
  if (cross == 0 || cross == std::string_view::npos || (!after.empty() && !after.starts_with(" =")))
    return "";
  for (const std::string_view sign : {"×", "x"}) {
    if (shape.substr(cross).starts_with(sign) && is_number_text(shape.substr(cross + sign.size())))
      return markdown_text(line.substr(0, space));
  }
  return "";
}

Pieces markdown_pieces(std::string_view text) {
  Pieces found;
  if (text.find("| --") == std::string_view::npos && text.find("| :--") == std::string_view::npos)
    return found;
  std::string name;
  Span place{};
  for (std::size_t at = 0; at < text.size();) {
    Line line = line_at(text, at, text.size());
    at = line.next;
    const Span content = trimmed(text, line.whole);
    const std::string_view written = text.substr(content.begin, content.end - content.begin);
    if (written.empty()) continue;
    if (!written.starts_with('|')) {
      name = name_before_shape(written);
      place = content;
      continue;
    }
    Span table{line.whole.begin, line.next};
    while (at < text.size() && text[at] == '|') {
      line = line_at(text, at, text.size());
      at = table.end = line.next;
    }
    if (!name.empty()) found.list.push_back({std::exchange(name, ""), place, table});
  }
  if (!found.list.empty()) found.together = Together::named;
  found.are_tables = true;
  return found;
}

// ---- stacks ----

// The number of the matrix that stands below: "1" of "# 1", "% 1", ", , 1", "(1,.,.) =", "[:, :, 1] =" and
// "ans(:,:,1) ="; empty for any other line.
std::string slice_number(std::string_view text, const Line& line) {
  std::string squeezed;
  for (const char c : text.substr(line.whole.begin, line.whole.end - line.whole.begin)) {
    if (c != ' ' && c != '\t') squeezed += c;
  }
  std::string_view rest = squeezed;
  const auto inside = [&](std::string_view before, std::string_view after) -> std::string {
    if (!rest.starts_with(before) || !rest.ends_with(after) || rest.size() <= before.size() + after.size())
      return "";
    const std::string_view number = rest.substr(before.size(), rest.size() - before.size() - after.size());
    const bool is_number = number.find_first_not_of("0123456789,") == std::string_view::npos &&
                           is_digit(number.front()) && is_digit(number.back());
    return is_number ? std::string(number) : "";
  };
  if (rest.starts_with('#') || rest.starts_with('%')) {
    rest.remove_prefix(std::min(rest.find_first_not_of("#%"), rest.size()));
    return inside("", "");
  }
  const std::size_t open = rest.find("(:,:,");
  if (open != std::string_view::npos && is_plain_name(rest.substr(0, open))) {
    rest.remove_prefix(open);
    return inside("(:,:,", ")=");
  }
  for (const auto& [before, after] : {std::pair{",,", ""}, {"(", ",.,.)="}, {"[:,:,", "]="}}) {
    if (std::string number = inside(before, after); !number.empty()) return number;
  }
  return "";
}

Pieces slices(std::string_view text) {
  Pieces found;
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at, text.size());
    at = line.next;
    std::string number = slice_number(text, line);
    if (number.empty()) continue;
    // Comments that do not count are comments.
    const bool counts =
        number.find(',') != std::string::npos || number == std::to_string(found.list.size() + 1);
    if (!counts) return {};
    if (!found.list.empty()) found.list.back().body.end = line.whole.begin;
    found.list.push_back({std::move(number), trimmed(text, line.whole), {line.next, text.size()}});
  }
  if (found.list.size() > 1) found.together = Together::stack;
  return found;
}

// Is the bracket at `at` that of a call, "np.array(" or "Sqrt["?
bool is_of_call(std::string_view text, std::size_t at) {
  if ((text[at] != '(' && text[at] != '[') || at == 0) return false;
  const char before = text[at - 1];
  return is_digit(before) || before == '_' || (before >= 'a' && before <= 'z') ||
         (before >= 'A' && before <= 'Z');
}

struct Bracket {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t depth = 0;          // 1: the outermost
  std::size_t height = 0;         // 1: it holds no other
  std::vector<std::size_t> path;  // its number in each that holds it
};

// The brackets that are no calls', in the order in which they open; empty where they do not match.
std::vector<Bracket> brackets_of(std::string_view text, Span body) {
  constexpr std::size_t kDeepest = 16;
  std::vector<Bracket> all;
  std::vector<std::optional<std::size_t>> open;  // of a call: nothing
  std::vector<std::size_t> children{0};
  const std::size_t begin = skip_blank(text, body.begin, body.end);
  const auto declared = declaration_at(text, begin, body.end);
  for (std::size_t at = declared ? declared->value : begin; at < body.end;) {
    const Folded c = fold_at(text, at);
    if (c.value == '#' || c.value == '"' || c.value == '\'') {
      const std::size_t close = text.find(c.value == '#' ? '\n' : c.value, at + 1);
      if (close >= body.end && c.value != '#') return {};
      at = std::min(close, body.end - 1) + 1;
      continue;
    }
    if (is_open_bracket(c.value)) {
      if (c.length == 1 && is_of_call(text, at)) {
        open.emplace_back(std::nullopt);
      } else {
        ++children.back();
        Bracket bracket{.begin = at, .depth = children.size(), .path = children};
        children.push_back(0);
        if (children.size() > kDeepest) return {};
        open.emplace_back(all.size());
        all.push_back(std::move(bracket));
      }
    } else if (is_close_bracket(c.value)) {
      if (open.empty()) return {};
      if (const auto closed = open.back()) {
        Bracket& bracket = all[*closed];
        bracket.end = at + c.length;
        bracket.height = std::max<std::size_t>(bracket.height, 1);
        children.pop_back();
        for (auto outer = open.rbegin() + 1; outer != open.rend(); ++outer) {
          if (!*outer) continue;
          all[**outer].height = std::max(all[**outer].height, bracket.height + 1);
          break;
        }
      }
      open.pop_back();
    }
    at += c.length;
  }
  return open.empty() ? std::move(all) : std::vector<Bracket>{};
}

// "tensor([[[1., 0.], …], …], dtype=…)": each bracket of brackets of numbers is a matrix.
Pieces stacked_brackets(std::string_view text, Span body) {
  Pieces found;
  const std::vector<Bracket> all = brackets_of(text, body);
  if (all.empty() || all.front().height < 3) return found;
  const Bracket& outermost = all.front();
  const char after = outermost.end < body.end ? text[outermost.end] : ' ';
  if (after == '.' || after == '\'' || after == '^') return found;  // turned, or laid out anew
  std::vector<std::vector<std::size_t>> paths;
  for (const Bracket& bracket : all) {
    // One outside the others, or a row where a matrix should be.
    if (bracket.begin != outermost.begin && bracket.depth == 1) return {};
    if (bracket.depth + bracket.height != outermost.height + 1) return {};
    if (bracket.height != 2) continue;
    paths.push_back(bracket.path);
    found.list.push_back({"", {bracket.begin, bracket.begin + 1}, {bracket.begin, bracket.end}});
  }
  // Of an axis of length 1, as a batch has, nothing is said.
  for (std::size_t axis = 1; !paths.empty() && axis < paths.front().size(); ++axis) {
    const bool is_long =
        std::any_of(paths.begin(), paths.end(), [&](const auto& path) { return path[axis] > 1; });
    for (std::size_t i = 0; is_long && i < paths.size(); ++i)
      found.list[i].name += (found.list[i].name.empty() ? "" : ",") + std::to_string(paths[i][axis]);
  }
  if (found.list.size() > 1) found.together = Together::stack;
  return found;
}

// A named stack is as many matrices as it holds: "attn.1", "attn.2".
Pieces unstacked(std::string_view text, Pieces named) {
  Pieces found{
      .together = named.together, .are_tables = named.are_tables, .scalars = std::move(named.scalars)};
  for (MatrixPiece& piece : named.list) {
    Pieces stack = stacked_brackets(text, piece.body);
    if (stack.together == Together::one) {
      found.list.push_back(std::move(piece));
      continue;
    }
    for (MatrixPiece& slice : stack.list) {
      std::replace(slice.name.begin(), slice.name.end(), ',', '.');
      slice.name = piece.name + "." + slice.name;
      found.list.push_back(std::move(slice));
    }
  }
  return found;
}

}  // namespace

Pieces pieces_of(std::string_view text, const std::function<bool(std::string_view)>& is_known) {
  for (Pieces found : {slices(text), markdown_pieces(text), csv_pieces(text, is_known), latex_pieces(text),
                       pieces_side_by_side(text), pieces_behind_names(text)}) {
    if (found.together == Together::named) return unstacked(text, std::move(found));
    if (found.together == Together::stack) return found;
  }
  if (Pieces stack = stacked_brackets(text, {0, text.size()}); stack.together == Together::stack)
    return stack;
  return {};
}

}  // namespace qkv

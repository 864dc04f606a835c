#include "render/diagnostics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/display_width.h"
#include "base/position.h"

namespace qkv {
namespace {

constexpr int kLineWidth = 100;  // columns of a source line that are shown
constexpr int kContext = 30;     // columns before the caret that stay when a line is cut
constexpr int kNumberWidth = 4;

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kYellow = "\x1b[1;33m";
constexpr std::string_view kCyan = "\x1b[1;36m";
constexpr std::string_view kReset = "\x1b[0m";

std::string_view word(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

std::string_view color(Severity severity) {
  switch (severity) {
    case Severity::note:
      return kCyan;
    case Severity::warning:
      return kYellow;
    case Severity::error:
      break;
  }
  return kRed;
}

// A source line cut to what fits around the caret, and the line that points into it.
struct Excerpt {
  std::string line;
  std::string carets;
};

// One character of the line as it is shown.
std::string shown(std::string_view character) { return character == "\t" ? " " : visible(character); }

Excerpt excerpt(std::string_view text, const Position& position, Span span, bool is_ascii) {
  const std::string_view dots = is_ascii ? "..." : "…";
  const int dots_width = column_width(dots);

  // Walk back from the caret to where the shown part begins.
  std::size_t begin = std::min(span.begin, position.whole_line.end);
  const std::size_t caret_at = begin;
  int width = 0;
  std::size_t fits_from = begin;
  while (begin > position.whole_line.begin && width <= kLineWidth) {
    std::size_t before = begin - 1;
    while (before > position.whole_line.begin && (static_cast<unsigned char>(text[before]) & 0xc0U) == 0x80)
      --before;
    width += column_width(shown(text.substr(before, begin - before)));
    if (width <= kContext) fits_from = before;
    begin = before;
  }
  // A caret in the first half of the line needs no cut on the left.
  const bool is_cut_left = width > kLineWidth / 2;
  begin = is_cut_left ? fits_from : position.whole_line.begin;

  Excerpt result;
  int column = 0;
  if (is_cut_left) {
    result.line = dots;
    column = dots_width;
  }
  int caret_begin = -1;
  int caret_end = -1;
  std::size_t at = begin;
  while (at < position.whole_line.end) {
    if (at == caret_at) caret_begin = column;
    const std::size_t length = first_code_point(text.substr(at)).length;
    const std::string character = shown(text.substr(at, length));
    const int after = column + column_width(character);
    if (after > kLineWidth) {
      result.line += dots;
      break;
    }
    result.line += character;
    column = after;
    if (at < span.end) caret_end = column;
    at += length;
  }
  if (caret_begin < 0) caret_begin = column;
  result.carets = std::string(static_cast<std::size_t>(caret_begin), ' ') +
                  std::string(static_cast<std::size_t>(std::max(1, caret_end - caret_begin)), '^');
  return result;
}

class Renderer {
 public:
  Renderer(Language language, bool has_color, bool is_ascii)
      : language_(language), has_color_(has_color), is_ascii_(is_ascii) {}

  std::string render(const Diagnostic& d) {
    std::string place = d.file.empty() ? "qkv" : visible(d.file);
    std::optional<Position> position;
    if (d.source && d.span) {
      position = position_of(d.source->text, d.span->begin);
      place += fmt::format(":{}:{}", position->line, position->column);
    }
    std::string text = painted(kBold, place + ":") + " " +
                       painted(color(d.severity), std::string(word(d.severity)) + ":") + " " +
                       said(d.message) + "\n";
    if (position) text += source_lines(*d.source, *position, *d.span, d.severity);
    if (!d.hint.empty()) text += std::string(gutter_, ' ') + " = hint: " + said(d.hint) + "\n";
    return text;
  }

 private:
  std::string painted(std::string_view paint, const std::string& text) const {
    return has_color_ ? std::string(paint) + text + std::string(kReset) : text;
  }

  // Sentences quote names and labels, which are the user's.
  std::string said(const Said& sentence) const {
    const std::string text = visible(sentence.in(language_));
    return is_ascii_ ? in_ascii(text) : text;
  }

  std::string source_lines(const Source& source, const Position& position, Span span, Severity severity) {
    const Excerpt part = excerpt(source.text, position, span, is_ascii_);
    const std::string number = fill_left(std::to_string(position.line), kNumberWidth);
    gutter_ = number.size();
    return number + " | " + part.line + "\n" + std::string(gutter_, ' ') + " | " +
           painted(color(severity), part.carets) + "\n";
  }

  Language language_;
  bool has_color_;
  bool is_ascii_;
  std::size_t gutter_ = kNumberWidth;
};

}  // namespace

std::string render_diagnostic(const Diagnostic& diagnostic, Language language, bool has_color,
                              bool is_ascii) {
  return Renderer(language, has_color, is_ascii).render(diagnostic);
}

std::string render_diagnostics(const Diagnostics& diagnostics, Language language, bool has_color,
                               bool is_ascii) {
  std::string text;
  for (const Diagnostic& d : diagnostics.list()) {
    text += render_diagnostic(d, language, has_color, is_ascii);
  }
  return text;
}

}  // namespace qkv

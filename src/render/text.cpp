#include "render/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <thread>
#include <utility>

#include "base/ascii.h"
#include "base/display_width.h"
#include "render/number_rows.h"

namespace qkv {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr std::string_view kGap = "  ";
constexpr std::size_t kShadeRoom = 3;  // a space and a shade

enum class Ink { plain, bold, faint, good, note, warning };

constexpr const char* kPlain = "\x1b[0m";

const char* escape_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::bold:
      return "\x1b[1m";
    case Ink::faint:
      return "\x1b[2m";
    case Ink::good:
      return "\x1b[32m";
    case Ink::note:
      return "\x1b[36m";
    case Ink::warning:
      return "\x1b[33m";
  }
  return "";
}

Ink ink_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return Ink::plain;
    case Tone::faint:
      return Ink::faint;
    case Tone::good:
      return Ink::good;
    case Tone::note:
      return Ink::note;
    case Tone::warning:
      return Ink::warning;
  }
  return Ink::plain;
}

// Large tables are most of a text; it is not to be copied over and over while it grows.
std::size_t room_for(const Report& report) {
  std::size_t room = 0;
  for (const Block& block : report.blocks) {
    const auto* table = std::get_if<Table>(&block);
    const NumberTable* const numbers = table != nullptr ? table->rows.numbers() : nullptr;
    if (numbers == nullptr) continue;
    const auto width = static_cast<std::size_t>(numbers->decimals.decimals()) + 8;
    room += numbers->rows.size() * (numbers->columns + 4) * width;
  }
  return room;
}

using Write = std::function<void(std::string_view)>;

class TextRenderer {
 public:
  TextRenderer(const TextStyle& style, const Write& write) : style_(style), write_(write) {}

  void render(const Report& report) {
    for (const Block& block : report.blocks) {
      std::visit([this](const auto& b) { show(b); }, block);
      if (out_.size() >= kPiece) flush();
    }
    flush();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 18;  // bytes

  void flush() {
    if (!out_.empty()) write_(out_);
    has_begun_ = has_begun_ || !out_.empty();
    out_.clear();
  }

  std::string text(const std::string& raw) const { return style_.ascii ? in_ascii(raw) : raw; }
  // The same, of a cell, without a copy where there is nothing to do.
  const std::string& text(const std::string& raw, std::string& ascii) const {
    return style_.ascii ? ascii = in_ascii(raw) : raw;
  }
  std::string label(const std::string& raw) const { return visible(raw); }

  std::string inked(std::string s, Ink ink) const {
    if (style_.color && ink != Ink::plain) s = escape_of(ink) + s + kPlain;
    return s;
  }

  static std::string spaces(std::size_t n) { return std::string(n, ' '); }
  static std::size_t width(const std::string& s) { return static_cast<std::size_t>(column_width(s)); }

  // A table is followed by an empty line, unless a heading brings its own.
  void begin_line() {
    if (after_table_) out_ += "\n";
    after_table_ = false;
  }

  void line(const std::string& s) {
    out_.append(s, 0, s.find_last_not_of(' ') + 1);
    out_ += '\n';
  }

  void show(const Heading& heading) {
    if (has_begun_ || !out_.empty()) out_ += "\n";
    after_table_ = false;
    std::string s = text(label(heading.title));
    if (heading.number > 0) s = "[" + std::to_string(heading.number) + "] " + s;
    line(inked(s, Ink::bold));
    indents_ = !heading.id.empty();
  }

  void show(const Paragraph& paragraph) {
    if (paragraph.tone == Tone::warning) {
      // Not part of the step it happens to follow.
      out_ += "\n";
      after_table_ = false;
      line(inked("warning: " + text(label(paragraph.text)), Ink::warning));
      return;
    }
    begin_line();
    line((indents_ ? std::string(kIndent) : "") + inked(text(label(paragraph.text)), ink_of(paragraph.tone)));
  }

  void show(const Formula& formula) {
    begin_line();
    line(std::string(kIndent) + text(label(formula.shapes)));
  }

  void show(const Table& table) {
    std::vector<std::string> labels;
    for (const std::string& raw : table.row_labels) labels.push_back(label(raw));
    std::size_t label_width = 0;
    for (const std::string& l : labels) label_width = std::max(label_width, width(l));

    const std::optional<HeatScale> heat = style_.heat ? heat_scale(table) : std::nullopt;
    const NumberTable* const numbers = heat ? nullptr : table.rows.numbers();
    const std::size_t columns = table.rows.empty() ? 0 : table.rows.front().size();
    std::string ascii;
    std::vector<std::string> heads(columns);
    std::vector<std::size_t> widths(columns, 0);
    for (std::size_t j = 0; j < columns; ++j) {
      if (!table.columns.empty()) heads[j] = label(table.columns[j]);
      widths[j] = width(heads[j]);
      if (numbers != nullptr) continue;
      for (const auto& row : table.rows) widths[j] = std::max(widths[j], width(text(row[j].text, ascii)));
    }
    const NumberLayout layout{text("−∞"), std::string(kGap), style_.color ? escape_of(Ink::faint) : "",
                              style_.color ? kPlain : ""};
    if (numbers != nullptr) widths = column_widths(*numbers, layout, std::move(widths));
    const bool is_shaded = heat && style_.depth == ColorDepth::none;
    const auto shade_room = [&](std::size_t j) { return is_shaded && has_value(table, j) ? kShadeRoom : 0; };
    const bool is_alone = !indents_;
    const std::string indent(is_alone ? "" : kIndent);
    if (!is_alone) out_ += "\n";
    if (!table.columns.empty()) {
      std::string head = indent + spaces(label_width);
      for (std::size_t j = 0; j < columns; ++j) {
        const bool is_left = numbers == nullptr && is_text(table, j);
        head += std::string(kGap) + aligned(heads[j], widths[j], is_left) + spaces(shade_room(j));
      }
      line(inked(head, Ink::faint));
    }
    if (numbers != nullptr) {
      std::vector<std::string> begins(table.rows.size(), indent);
      for (std::size_t i = 0; i < labels.size(); ++i)
        begins[i] += labels[i] + spaces(label_width - width(labels[i]));
      flush();
      has_begun_ = true;
      const int threads = style_.threads.value_or(static_cast<int>(std::thread::hardware_concurrency()));
      write_rows(*numbers, layout, begins, widths, threads, write_);
      after_table_ = !is_alone;
      return;
    }
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      std::string row = indent;
      if (!labels.empty()) row += labels[i] + spaces(label_width - width(labels[i]));
      bool is_on_heat = false;  // the last cell reached one column into the gap
      for (std::size_t j = 0; j < columns; ++j) {
        const TableCell& cell = table.rows[i][j];
        std::string shown = aligned(text(cell.text, ascii), widths[j], stands_left(table, cell));
        row += kGap.substr(is_on_heat ? 1 : 0);
        is_on_heat = heat && cell.value && !is_shaded;
        if (is_on_heat) {
          row.pop_back();
          row += on_heat(" " + shown + " ", *style_.heat, heat->place(*cell.value), style_.depth);
        } else {
          row += inked(std::move(shown), ink_of(cell.role));
        }
        if (shade_room(j) == 0) continue;
        row += cell.value ? " " + shade(heat->place(*cell.value), style_.ascii) : spaces(kShadeRoom);
      }
      line(row);
    }
    if (heat) {
      out_ += "\n";
      line(indent + text(heat_legend(*heat, *style_.heat, style_.depth, style_.ascii)));
    }
    after_table_ = !is_alone;
  }

  static bool has_value(const Table& table, std::size_t column) {
    return std::any_of(table.rows.begin(), table.rows.end(),
                       [&](const auto& row) { return row[column].value.has_value(); });
  }
  static bool is_text(const Table& table, std::size_t column) {
    return !table.rows.empty() && stands_left(table, table.rows.front()[column]);
  }
  static bool stands_left(const Table& table, const TableCell& cell) {
    return cell.role == CellRole::symbolic || (table.holds_terms && cell.role != CellRole::sum);
  }
  static Ink ink_of(Tone tone) { return qkv::ink_of(tone); }
  static Ink ink_of(CellRole role) {
    return role == CellRole::forbidden || role == CellRole::sum ? Ink::faint : Ink::plain;
  }

  // Numbers to the right, so that points stand below points; symbolic sums to the left.
  std::string aligned(const std::string& s, std::size_t to, bool to_left) const {
    std::string padded;
    padded.reserve(s.size() + to);
    if (to_left) padded += s;
    padded.append(to - width(s), ' ');
    if (!to_left) padded += s;
    return padded;
  }

  void show(const Working& working) {
    begin_line();
    std::size_t name_width = 0;
    for (const Working::Line& l : working.lines) name_width = std::max(name_width, width(label(l.name)));
    for (const Working::Line& l : working.lines) {
      const std::string name = label(l.name);
      std::string s = std::string(kIndent) + name + spaces(name_width - width(name));
      for (const std::string& side : l.sides) s += " = " + text(label(side));
      line(s);
    }
  }

  void show(const Tree& tree) {
    for (std::size_t i = 0; i < tree.items.size(); ++i) {
      const Tree::Item& item = tree.items[i];
      std::string above;
      for (int depth = 1; depth < item.depth; ++depth) above += continues(tree, i, depth) ? "│  " : "   ";
      std::string here = above;
      std::string below = above;
      if (item.depth > 0) {
        const bool has_sibling = continues(tree, i, item.depth);
        here += has_sibling ? "├─ " : "└─ ";
        below += has_sibling ? "│  " : "   ";
      }
      line(text(here + label(item.text)));
      const bool has_children = i + 1 < tree.items.size() && tree.items[i + 1].depth > item.depth;
      for (const std::string& more : item.more)
        line(text(below + (has_children ? "│  " : "   ") + label(more)));
    }
  }

  // Whether another item of this depth follows under the same parent.
  static bool continues(const Tree& tree, std::size_t from, int depth) {
    for (std::size_t i = from + 1; i < tree.items.size(); ++i) {
      if (tree.items[i].depth == depth) return true;
      if (tree.items[i].depth < depth) return false;
    }
    return false;
  }

  const TextStyle& style_;
  const Write& write_;
  std::string out_;         // not yet written
  bool has_begun_ = false;  // something was
  bool indents_ = false;    // below a step's heading
  bool after_table_ = false;
};

}  // namespace

std::string render_text(const Report& report, const TextStyle& style) {
  std::string text;
  text.reserve(room_for(report));
  render_text(report, style, [&text](std::string_view piece) { text += piece; });
  return text;
}

void render_text(const Report& report, const TextStyle& style,
                 const std::function<void(std::string_view)>& write) {
  TextRenderer(style, write).render(report);
}

}  // namespace qkv

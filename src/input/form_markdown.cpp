// Markdown tables:
//
//   | 位置 | Key     | Value   |          | | 小猫 | 坐在 |
//   |------|---------|---------|          |---|---|---|
//   | A    | $[2,0]$ | $[1,0]$ |          | cat | 0.85 | 0.10 |
//
// The line of dashes makes it one.  Where cells are whole vectors, the heading that is the section's name
// chooses the column.

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "input/csv_table.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/markdown_text.h"
#include "input/plain_rows.h"
#include "input/spelling.h"

namespace qkv {
namespace {

struct Row {
  std::vector<Span> cells;
};

// Without white space, "$", "**" and "`" around it.
Span undressed(std::string_view text, Span cell) {
  constexpr std::string_view kDress = "$*`";
  cell = trimmed(text, cell);
  while (cell.begin < cell.end && kDress.find(text[cell.begin]) != std::string_view::npos) ++cell.begin;
  const auto is_escaped = [&] { return cell.end - cell.begin > 1 && text[cell.end - 2] == '\\'; };
  while (cell.begin < cell.end && kDress.find(text[cell.end - 1]) != std::string_view::npos && !is_escaped())
    --cell.end;
  return trimmed(text, cell);
}

// The fields between "|"; not split inside $…$, nor at "\|".
Row row_of(std::string_view text, Span line) {
  Row row;
  line = trimmed(text, line);
  if (line.begin < line.end && text[line.begin] == '|') ++line.begin;
  bool is_math = false;
  std::size_t begin = line.begin;
  for (std::size_t at = line.begin; at < line.end; ++at) {
    if (text[at] == '\\') {
      ++at;  // the sign behind it stands for itself
      continue;
    }
    if (text[at] == '$') is_math = !is_math;
    if (text[at] != '|' || is_math) continue;
    row.cells.push_back(undressed(text, {begin, at}));
    begin = at + 1;
  }
  if (!trimmed(text, {begin, line.end}).begin || trimmed(text, {begin, line.end}).begin < line.end)
    row.cells.push_back(undressed(text, {begin, line.end}));
  if (row.cells.empty()) row.cells.push_back({line.end, line.end});  // "|" alone
  return row;
}

// "|---|:--:|"
bool is_line_of_dashes(std::string_view line) {
  return line.find("--") != std::string_view::npos && line.find_first_of("|+") != std::string_view::npos &&
         line.find_first_not_of("|+-: \t\r") == std::string_view::npos;
}

// "| - | :-: |": one dash a cell is enough below a heading of as many cells; elsewhere a dash is what is
// missing.
bool is_of_single_dashes(std::string_view text, Span above, Span line) {
  const Row cells = row_of(text, line);
  const bool are_dashes = std::all_of(cells.cells.begin(), cells.cells.end(), [&](Span cell) {
    const std::string_view dash = text.substr(cell.begin, cell.end - cell.begin);
    return dash == "-" || dash == ":-" || dash == "-:" || dash == ":-:";
  });
  const std::string_view heading = text.substr(above.begin, above.end - above.begin);
  return are_dashes && heading.find('|') != std::string_view::npos &&
         row_of(text, above).cells.size() == cells.cells.size();
}

template <class Do>
void each_line(std::string_view text, Span body, Do&& take) {
  for (std::size_t at = body.begin; at < body.end;) {
    const Line line = line_at(text, at, body.end);
    at = line.next;
    take(line.whole);
  }
}

// Where the line begins that makes a table: the first with dashes alone, or `body.end` for none.
std::size_t begin_of_dashes(std::string_view text, Span body) {
  std::size_t found = body.end;
  std::vector<Span> lines;
  each_line(text, body, [&](Span line) {
    const Span content = trimmed(text, line);
    if (found < body.end || content.begin == content.end) return;
    const bool is_second = lines.size() == 1;
    if (is_line_of_dashes(text.substr(line.begin, line.end - line.begin)) ||
        (is_second && is_of_single_dashes(text, lines[0], line)))
      found = line.begin;
    lines.push_back(line);
  });
  return found;
}

bool recognises(const Paste& paste, Span body) {
  if (paste.written(body).find('|') == std::string_view::npos) return false;
  const std::size_t dashes = begin_of_dashes(paste.text(), body);
  bool has_rows = false;
  bool are_all_framed = true;  // "| 1 | 0 |"
  each_line(paste.text(), body, [&](Span line) {
    const Span content = trimmed(paste.text(), line);
    const std::string_view written = paste.written(content);
    if (written.empty()) return;
    if (line.begin == dashes || is_line_of_dashes(written)) return;
    has_rows = true;
    are_all_framed = are_all_framed && written.size() > 2 && written.front() == '|' && written.back() == '|';
  });
  return has_rows && (dashes < body.end || are_all_framed);
}

class MarkdownTable {
 public:
  MarkdownTable(const Paste& paste, WordTable& table) : paste_(paste), table_(table), out_(table) {}

  // The columns of vectors, with their headings.
  std::vector<NamedSpan> columns(Span body) {
    split(body);
    std::vector<NamedSpan> found;
    for (std::size_t j = 0; !rows_.empty() && j < rows_.front().cells.size(); ++j) {
      if (!is_vector(rows_.front().cells[j])) continue;
      const Span heading = j < heading_.cells.size() ? heading_.cells[j] : Span{};
      found.push_back({std::string(written(heading)), heading, body});
    }
    return found;
  }

  Said read(Span body) {
    split(body);
    const Said name = say({"a Markdown table", " Markdown 表格"});
    if (rows_.empty()) {
      paste_.faults.error(heading_span_,
                          say({"the table has no rows below its heading", "表头下面没有任何一行"}));
      return {};
    }
    std::vector<std::size_t> vectors;
    for (std::size_t j = 0; j < rows_.front().cells.size(); ++j) {
      if (is_vector(rows_.front().cells[j])) vectors.push_back(j);
    }
    if (vectors.empty()) {
      numbers();
    } else if (const auto column = chosen(vectors)) {
      column_of_vectors(*column, vectors.front());
    } else {
      return {};
    }
    return name;
  }

 private:
  std::string_view written(Span span) const { return paste_.written(span); }

  void split(Span body) {
    const std::size_t dashes = begin_of_dashes(paste_.text(), body);
    bool is_below = dashes == body.end;
    Span before{};
    each_line(paste_.text(), body, [&](Span line) {
      if (line.begin == dashes || is_line_of_dashes(written(line))) {
        if (!is_below && before.begin < before.end) {
          heading_span_ = before;
          heading_ = row_of(paste_.text(), before);
        }
        is_below = true;
      } else if (is_below && written(line).find('|') != std::string_view::npos) {
        rows_.push_back(row_of(paste_.text(), line));
      } else if (is_below && trimmed(paste_.text(), line).begin < line.end) {
        left_out_ = left_out_.end == 0 ? line : left_out_;
      }
      before = line;
    });
  }

  bool is_vector(Span cell) const {
    const std::string_view text = written(cell);
    return !text.empty() && is_open_bracket(fold_at(text, 0).value) && text.size() > 2;
  }

  // ---- vectors in cells ----

  std::optional<std::size_t> chosen(const std::vector<std::size_t>& vectors) const {
    std::vector<std::string> names;
    for (const std::size_t j : vectors) {
      const std::string_view name = j < heading_.cells.size() ? written(heading_.cells[j]) : "";
      if (is_name_of(name, paste_.place.wanted)) return j;
      names.emplace_back(name);
    }
    if (vectors.size() == 1) return vectors.front();
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      if (paste_.place.wanted == std::to_string(i + 1)) return vectors[i];
    }
    paste_.faults.error(
        heading_span_,
        say({"the table has vectors in the columns {0}; which are meant cannot be told",
             "表格的这几列都是向量：{0}；看不出要哪一列"},
            listed(names)),
        say({"the heading of one column should be the section's name", "请让其中一列的表头与小节同名"}));
    return std::nullopt;
  }

  void column_of_vectors(std::size_t column, std::size_t first_vector) {
    for (const Row& row : rows_) {
      const bool has_label = first_vector > 0 && row.cells[0].begin < row.cells[0].end;
      const Word label{.span = has_label ? row.cells[0] : Span{}};
      if (column >= row.cells.size() || row.cells[column].begin == row.cells[column].end) {
        const Span here = row.cells.back();
        if (has_label) out_.label(label);
        out_.cell(missing_word(paste_, {here.begin, here.begin + 1}));
        out_.end_row();
        continue;
      }
      read_bracketed_row(paste_, has_label ? &label : nullptr, row.cells[column], table_);
    }
  }

  // ---- numbers in cells ----

  // Labels have no digit that a number could begin with; a column headed by a word and counting 1, 2, 3 is
  // one too.
  bool has_labels() const {
    if (std::all_of(rows_.begin(), rows_.end(), [&](const Row& r) { return r.cells.size() < 2; }))
      return false;
    const auto is_empty = [](Span cell) { return cell.begin == cell.end; };
    const bool is_heading_empty = std::all_of(heading_.cells.begin(), heading_.cells.end(), is_empty);
    if (!heading_.cells.empty() && is_empty(heading_.cells[0])) {
      // Nothing in the heading tells: words are labels, but not v0, a value of V.
      return !is_heading_empty || std::all_of(rows_.begin(), rows_.end(), [&](const Row& r) {
        return !r.cells.empty() && is_word(r.cells[0]);
      });
    }
    // | 1 | 2 |: every column is counted, so none holds labels.
    if (heading_.cells.size() > 1 && written(heading_.cells[0]) == "1" && written(heading_.cells[1]) == "2")
      return false;
    const bool are_letters_for_digits = std::all_of(rows_.begin(), rows_.end(), [&](const Row& r) {
      return !r.cells.empty() && is_letter_for_digit(written(r.cells[0]));
    });
    return !are_letters_for_digits && std::all_of(rows_.begin(), rows_.end(), [&](const Row& r) {
      return !r.cells.empty() && !looks_like_number(r.cells[0]);
    });
  }

  bool is_word(Span cell) const {
    const std::string text = folded(written(cell));
    NumberError ignored;
    const auto number = parse_number(text, ignored);
    const bool is_value =
        text.starts_with('v') && text.find_first_not_of("0123456789", 1) == std::string::npos;
    return !text.empty() && !is_value && !respelt(text, true) &&
           (!number || number->kind == Number::Kind::symbol);
  }

  bool looks_like_number(Span cell) const {
    const std::string text = folded(written(cell));
    NumberError ignored;
    const auto number = parse_number(text, ignored);
    return text.empty() || is_number_gone_wrong(text) || (number && number->kind != Number::Kind::symbol) ||
           respelt(text, false) || latex_number(text).has_value() || (text[0] >= '0' && text[0] <= '9') ||
           text[0] == '-';
  }

  // 1 2 3 … under an empty heading name no row.
  bool counts_rows() const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].cells.empty() || written(rows_[i].cells[0]) != std::to_string(i + 1)) return false;
    }
    return true;
  }

  void numbers() {
    const bool labels = has_labels();
    const bool counts =
        labels && !heading_.cells.empty() && written(heading_.cells[0]).empty() && counts_rows();
    const bool has_sums = heading_.cells.size() > 2 && names_row_sums(written(heading_.cells.back()));
    if (has_sums) {
      paste_.faults.note(
          heading_.cells.back(),
          say({"the sums of the rows are no column of {0}", "行和不是 {0} 的一列"}, paste_.place.called));
    }
    table_.comma_separates = say({"'|'", " '|' "});
    for (const Row& row : rows_) {
      for (std::size_t j = 0; j < row.cells.size(); ++j) {
        const Span cell = row.cells[j];
        const std::string_view text = written(cell);
        if (j == 0 && labels) {
          if (!text.empty() && !counts) out_.label(table_.spelt(cell, markdown_text(text)));
        } else if (has_sums && j + 1 == heading_.cells.size()) {
          continue;  // they are printed beside the weights
        } else if (text == "\\_") {
          out_.cell(table_.spelt(cell, "_"));
        } else if (text.empty()) {
          out_.cell(missing_word(paste_, {cell.begin - 1, cell.begin}));
        } else if (text.find('\\') != std::string_view::npos && !is_elision(text) && latex_number(text)) {
          out_.cell(table_.spelt(cell, *latex_number(text)));
        } else {
          out_.cell({.span = cell});
        }
      }
      out_.end_row();
    }
    if (left_out_.end > 0) {
      paste_.faults.note(left_out_, say({"what stands around the table is not read", "表格以外的文字不读"}));
    }
  }

  const Paste& paste_;
  WordTable& table_;
  RowBuilder out_;
  Row heading_;
  Span heading_span_;
  Span left_out_{};
  std::vector<Row> rows_;
};

Said read(const Paste& paste, Span body, WordTable& table) { return MarkdownTable(paste, table).read(body); }

}  // namespace

std::vector<NamedSpan> vector_columns(std::string_view text) {
  if (text.find('|') == std::string_view::npos || text.find_first_of("[(") == std::string_view::npos)
    return {};
  const auto source = std::make_shared<Source>(Source{"", std::string(text)});
  const Span body{0, text.size()};
  const MatrixPlace place{.source = source, .body = body, .name = {}, .called = {}};
  Diagnostics ignored;
  Faults faults(place, ignored);
  const Paste paste{place, faults};
  WordTable table;
  if (!recognises(paste, body)) return {};
  return MarkdownTable(paste, table).columns(body);
}

const Form kMarkdownForm{recognises, read};

}  // namespace qkv

#include "input/heading.h"

#include <algorithm>

#include "base/display_width.h"

namespace qkv {
namespace {

// The word as 0, 1, 2 …; nullopt for any other.
std::optional<std::size_t> counted(const CellReader& cells, const Word& word) {
  if (word.is_quoted || word.is_missing || CellReader::is_too_long(word)) return std::nullopt;
  const std::string text = cells.folded(word).text;
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoul(text);
}

class Heading {
 public:
  Heading(const CellReader& cells, const WordTable& table) : cells_(cells), table_(table) {}

  // Is this row one of names above numbers?
  bool is_of_words(std::size_t at) const {
    if (at + 1 >= table_.rows.size()) return false;
    const RowText& first = table_.rows[at];
    const RowText& second = table_.rows[at + 1];
    if (first.label != Label::none) return false;
    const bool is_wider = second.words() == first.words() + 1;
    if (!is_wider && second.words() != first.words()) return false;
    if (!is_wider && first.words() == 1 && is_value_symbol(table_.words[first.first])) return false;
    const bool may_be_symbols = is_wider || (at == 0 && are_numbers_below());
    for (std::size_t i = first.first; i < first.last; ++i) {
      const Word& word = table_.words[i];
      if (!is_name(word, may_be_symbols) || (!is_wider && may_be_symbols && is_value_symbol(word)))
        return false;
    }
    for (std::size_t i = second.first; i < second.last; ++i) {
      NumberError ignored;
      const auto number = cells_.number(table_.words[i], ignored);
      const bool is_symbol = number && number->kind == Number::Kind::symbol;
      if (number && !is_symbol) return true;
    }
    return false;
  }

  bool is_of_counts() const {
    const RowText& first = table_.rows[0];
    const auto base = counted(cells_, table_.words[first.first]);
    if (first.label != Label::none || !base || *base > 1) return false;
    for (std::size_t i = first.first; i < first.last; ++i) {
      if (counted(cells_, table_.words[i]) != *base + i - first.first) return false;
    }
    for (std::size_t i = 1; i < table_.rows.size(); ++i) {
      const RowText& row = table_.rows[i];
      if (row.label != Label::none || row.words() != first.words() + 1) return false;
      if (counted(cells_, table_.words[row.first]) != *base + i - 1) return false;
    }
    return true;
  }

 private:
  // Behind a label, if there is one, no symbol: so words above are no values of V.
  bool are_numbers_below() const {
    for (std::size_t r = 1; r < table_.rows.size(); ++r) {
      const RowText& row = table_.rows[r];
      for (std::size_t i = row.first + (row.words() > 1 ? 1 : 0); i < row.last; ++i) {
        NumberError ignored;
        const auto number = cells_.number(table_.words[i], ignored);
        if (!number || number->kind != Number::Kind::finite) return false;
      }
    }
    return true;
  }

  // "v0" is a value of V.
  bool is_value_symbol(const Word& word) const {
    const std::string text = cells_.folded(word).text;
    return text.size() > 1 && text[0] == 'v' && text.find_first_not_of("0123456789", 1) == std::string::npos;
  }

  // A mistyped number, such as the letter O, is none; nor are symbols, where V may hold them as values.
  bool is_name(const Word& word, bool may_be_symbol) const {
    if (word.is_missing || CellReader::is_too_long(word)) return false;
    const std::string text = cells_.folded(word).text;
    if (!not_a_number(text).hint.empty()) return false;
    NumberError ignored;
    const auto number = cells_.number(word, ignored);
    if (number) return number->kind == Number::Kind::symbol && may_be_symbol;
    return word.is_quoted || !cells_.is_meant_as_number(word);
  }

  const CellReader& cells_;
  const WordTable& table_;
};

}  // namespace

namespace {

// R and pandas print a wide table in blocks of columns, each with its heading and the labels again: puts them
// side by side.
void join_blocks(const Paste& paste, const Heading& heading, WordTable& table) {
  std::vector<std::size_t> begins;  // the first row of each block
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (heading.is_of_words(i)) begins.push_back(i);
  }
  const std::size_t height = begins.size() < 2 ? 0 : begins[1];
  if (height < 2 || table.rows.size() != begins.size() * height) return;
  const auto label = [&](std::size_t row) { return paste.written(table.words[table.rows[row].first].span); };
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const bool is_heading = i % height == 0;
    if (is_heading != heading.is_of_words(i)) return;
    if (!is_heading && (table.rows[i].words() < 2 || label(i) != label(i % height))) return;
  }
  WordTable joined;
  for (std::size_t i = 0; i < height; ++i) {
    RowText row = table.rows[i];
    row.first = joined.words.size();
    for (std::size_t part = i; part < table.rows.size(); part += height) {
      const RowText& from = table.rows[part];
      const bool has_label_again = i > 0 && part > i;
      for (std::size_t w = from.first + (has_label_again ? 1 : 0); w < from.last; ++w)
        joined.words.push_back(table.words[w]);
    }
    row.last = joined.words.size();
    joined.rows.push_back(row);
  }
  table.words = std::move(joined.words);
  table.rows = std::move(joined.rows);
}

// The first word of each row stands outside the columns that the heading names.
void take_labels(const CellReader& cells, WordTable& table) {
  bool is_index = true;  // 0 1 2 … or 1 2 3 …: not worth a label
  const auto base = counted(cells, table.words[table.rows[0].first]);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    is_index = is_index && base && counted(cells, table.words[table.rows[i].first]) == *base + i;
  }
  for (RowText& row : table.rows) {
    if (is_index) {
      ++row.first;
    } else if (row.label == Label::none) {
      row.label = Label::before_bracket;
    }
  }
}

}  // namespace

void drop_heading(const Paste& paste, const CellReader& cells, WordTable& table) {
  if (table.rows.size() < 2 || table.rows[0].words() == 0 || table.rows[0].is_broken) return;
  const Heading heading(cells, table);
  const bool is_of_counts = heading.is_of_counts();
  if (!is_of_counts && !heading.is_of_words(0)) return;
  if (!is_of_counts) join_blocks(paste, heading, table);
  std::string names;
  for (std::size_t i = table.rows[0].first; i < table.rows[0].last; ++i)
    names += (names.empty() ? "" : " ") + std::string(paste.written(table.words[i].span));
  paste.faults.note(
      table.rows[0].span,
      say({"'{0}' is read as a heading, not as a row", "“{0}”读作表头，不是一行数"}, quotable(names)));
  const std::size_t columns = table.rows[0].words();
  table.rows.erase(table.rows.begin());
  const bool is_wider = std::all_of(table.rows.begin(), table.rows.end(),
                                    [&](const RowText& row) { return row.words() == columns + 1; });
  if (is_of_counts || is_wider) take_labels(cells, table);
}

}  // namespace qkv

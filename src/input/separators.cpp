#include "input/separators.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/display_width.h"
#include "input/fold.h"
#include "input/spelling.h"

namespace qkv {
namespace {

bool has_space(std::string_view text, Span span) {
  for (std::size_t at = span.begin; at < span.end; at += fold_at(text, at).length) {
    if (is_space(fold_at(text, at).value)) return true;
  }
  return false;
}

bool is_number_with_spaces(std::string_view text) {
  constexpr std::size_t kLongest = 100;  // bytes
  return text.size() <= kLongest && has_spaced_thousands(folded(text));
}

class SeparatorGuesser {
 public:
  SeparatorGuesser(const Paste& paste, const PastedLines& lines)
      : place_(paste.place), text_(lines.text), faults_(paste.faults), lines_(lines) {}

  Separators guess() {
    if (obey_excel()) return separators_;
    separators_.thousands_end_at = guess_spaced_thousands();
    separators_.commas_are_inner = guess_inner_commas();
    if (!separators_.commas_are_inner) doubt_commas();
    return separators_;
  }

 private:
  std::string_view written(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  // "sep=;" on the first line says what separates; a comma is then part of a number.
  bool obey_excel() {
    const Line first = line_at(text_, lines_.body.begin, lines_.body.end);
    if (separator_of_excel(written(first.content)) != ';') return false;
    separators_.semicolons_separate_cells = separators_.commas_are_inner = true;
    separators_.words = {"';'", " ';'"};
    return true;
  }

  // "1 234,5 <tab> 2 000": the sign that ends a number whose thousands are set apart by spaces; 0 where
  // spaces separate cells.  On every line the same number of cells, and a space nowhere but in such numbers.
  char guess_spaced_thousands() const {
    for (const char separator : {'\t', ';', ','}) {
      if (are_spaced_thousands(separator)) return separator;
    }
    return 0;
  }

  bool are_spaced_thousands(char separator) const {
    std::size_t lines = 0;
    std::size_t expected = 0;  // cells
    bool is_possible = true;
    bool is_found = false;
    lines_.each([&](const Line& line) {
      std::size_t cells = 0;
      for (std::size_t at = line.whole.begin; at <= line.whole.end && is_possible; ++at) {
        Span cell{at, at};
        while (at < line.whole.end && fold_at(text_, at).value != separator) {
          const Folded c = fold_at(text_, at);
          if (is_open_bracket(c.value) || is_close_bracket(c.value)) is_possible = false;
          at += c.length;
        }
        cell.end = std::min(at, line.whole.end);
        ++cells;
        const Span inner = trimmed(text_, cell);
        // Behind its comma a list has a space, a table that a program wrote has none.
        if (separator == ',' && inner != cell) is_possible = false;
        if (written(inner).starts_with('"') || !has_space(text_, inner)) continue;
        is_found = is_possible = is_possible && is_number_with_spaces(written(inner));
      }
      if (lines++ == 0) expected = cells;
      is_possible = is_possible && cells == expected && cells > 1;
      return is_possible;
    });
    // On a single line "1 200;3 400" are two rows, as MATLAB writes them.
    return is_possible && is_found && (separator != ';' || lines > 1);
  }

  // "1,5 <tab> -2,25": where tabs separate the cells, or ";" does on every line, a comma
  // between two digits is part of a number.  Brackets or spaces around commas say otherwise.
  bool guess_inner_commas() {
    bool has_tabs = false;
    bool has_comma = false;
    bool is_possible = true;
    std::size_t lines = 0;
    std::optional<std::size_t> semicolons;  // the same inside every line
    lines_.each([&](const Line& line) {
      ++lines;
      std::size_t inner_semicolons = 0;
      bool field_has_comma = false;
      for (std::size_t at = line.content.begin; at < line.content.end && is_possible;) {
        const Folded c = fold_at(text_, at);
        const std::size_t next = at + c.length;
        if (c.value == '\t') has_tabs = true;
        if (c.value == ';' && next < line.content.end) ++inner_semicolons;
        if (c.value == '\t' || c.value == ';') field_has_comma = false;
        if (c.value == ' ' && separators_.thousands_end_at == 0) is_possible = false;
        if (is_open_bracket(c.value) || c.value == '"') is_possible = false;
        if (c.value == ',') {
          if (!is_digit_at(next, line) || !is_digit_before(at, line)) is_possible = false;
          if (field_has_comma && !is_group_at(next, line)) is_possible = false;  // not 1,234,567
          has_comma = field_has_comma = true;
        }
        at = next;
      }
      if (semicolons && *semicolons != inner_semicolons) semicolons = 0;
      if (!semicolons) semicolons = inner_semicolons;
      return is_possible;
    });
    // On a single line "1,0;0,1" are two rows, as MATLAB writes them.
    const bool semicolons_separate = !has_tabs && lines > 1 && semicolons.value_or(0) > 0;
    if (!is_possible) return false;
    separators_.semicolons_separate_cells = semicolons_separate;
    if (semicolons_separate && !has_comma) {
      faults_.note({lines_.body.begin, lines_.body.begin},
                   say({"';' separates the numbers of a row in {0}, as it stands in every line",
                        "{0} 的每一行都有“;”，读作一行中数与数之间的分隔"},
                       place_.called));
    }
    if (!has_comma || !(has_tabs || semicolons_separate)) return false;
    separators_.words = semicolons_separate ? Said{"';'", " ';'"} : Said{"a tab", "制表符"};
    return true;
  }

  // "1,5" in every field that white space or ";" separates, or in one of several: two numbers, or one with a
  // decimal comma.  Of "1,234.5" beside other fields nobody can tell.
  void doubt_commas() {
    if (written(lines_.body).find(',') == std::string_view::npos &&
        written(lines_.body).find("，") == std::string_view::npos)
      return;
    std::optional<Span> first;
    std::optional<Span> beside_others;  // the first that does not stand alone on its line
    bool are_all_doubtful = true;
    bool is_list = false;  // brackets or names: what separates is plain
    lines_.each([&](const Line& line) {
      const std::vector<Span> fields = fields_of(line, is_list);
      for (const Span field : fields) {
        const std::string text = folded(written(field));
        const bool is_number =
            text.find_first_not_of("+-0123456789.,") == std::string::npos && text[0] != ',';
        const MarkUse use = is_number ? use_of_mark(text, ',') : MarkUse::none;
        const bool is_certain =
            use == MarkUse::thousands || (use == MarkUse::decimal && text.find('.') != std::string::npos);
        if (is_certain && fields.size() > 1 && !is_list) {
          faults_.error(field,
                        say({"'{0}' may be one number or several", "“{0}”可能是一个数，也可能是几个数"},
                            quotable(text)),
                        say({"write one number as 1234.5, and several with spaces between them",
                             "一个数请写成 1234.5；几个数之间请用空格隔开"}));
          is_list = true;
          return false;
        }
        const bool is_doubtful = !is_certain && (use == MarkUse::decimal || use == MarkUse::either);
        are_all_doubtful = are_all_doubtful && is_doubtful;
        if (is_doubtful && !first) first = field;
        if (is_doubtful && !beside_others && fields.size() > 1) beside_others = field;
      }
      return !is_list;
    });
    if (is_list) return;
    const std::optional<Span> doubtful = are_all_doubtful ? first : beside_others;
    if (!doubtful) return;
    faults_.note(*doubtful, say({"'{0}' is read as two numbers; a decimal point is written '.'",
                                 "“{0}”读作两个数；小数点写作“.”"},
                                written(*doubtful)));
  }

  // What white space or ";" separates, without a comma at its end.
  std::vector<Span> fields_of(const Line& line, bool& is_list) const {
    std::vector<Span> fields;
    Span field{line.content.begin, line.content.begin};
    for (std::size_t at = line.content.begin; at <= line.content.end;) {
      const bool is_end = at == line.content.end;
      const Folded c = is_end ? Folded{' ', 1} : fold_at(text_, at);
      is_list = is_list || is_open_bracket(c.value) || c.value == ':' || c.value == '|' || c.value == '"';
      if (is_space(c.value) || c.value == ';') {
        if (at > field.begin) {
          const bool has_comma_behind = written({field.begin, at}).ends_with(',');
          fields.push_back({field.begin, at - (has_comma_behind ? 1 : 0)});
        }
        field.begin = at + c.length;
      }
      at += c.length;
    }
    std::erase_if(fields, [](Span f) { return f.begin == f.end; });
    return fields;
  }

  bool is_digit_at(std::size_t at, const Line& line) const {
    if (at >= line.content.end) return false;
    const char c = fold_at(text_, at).value;
    return c >= '0' && c <= '9';
  }
  // Three digits and no more.
  bool is_group_at(std::size_t at, const Line& line) const {
    for (int i = 0; i < 3; ++i) {
      if (!is_digit_at(at, line)) return false;
      at += fold_at(text_, at).length;
    }
    return !is_digit_at(at, line);
  }
  bool is_digit_before(std::size_t at, const Line& line) const {
    if (at == line.content.begin) return false;
    std::size_t before = at - 1;
    while (before > line.content.begin && (static_cast<unsigned char>(text_[before]) & 0xc0U) == 0x80)
      --before;
    return is_digit_at(before, line);
  }

  const MatrixPlace& place_;
  std::string_view text_;
  Faults& faults_;
  const PastedLines& lines_;
  Separators separators_;
};

// The words of each line, where the whole is one bracket with numbers and spaces in it; else nothing.
std::vector<std::vector<Span>> words_of_list(const PastedLines& pasted) {
  std::vector<std::vector<Span>> lines;
  int depth = 0;
  bool is_list = true;
  pasted.each([&](const Line& line) {
    lines.emplace_back();
    bool is_in_word = false;
    for (std::size_t at = line.content.begin; at < line.content.end && is_list;) {
      const Folded c = fold_at(pasted.text, at);
      const bool is_of_number = (c.value >= '0' && c.value <= '9') || (c.value >= 'a' && c.value <= 'z') ||
                                c.value == '.' || c.value == '-' || c.value == '+';
      if (is_of_number && depth == 1) {
        if (!is_in_word) lines.back().push_back({at, at});
        lines.back().back().end = at + c.length;
      } else if (c.value == '[') {
        is_list = ++depth == 1 && lines.size() == 1 && lines.back().empty();
      } else if (c.value == ']' && depth == 1) {
        depth = -1;  // nothing may follow
      } else {
        is_list = is_space(c.value);
      }
      is_in_word = is_of_number;
      at += c.length;
    }
    return is_list;
  });
  if (!is_list || depth != -1) lines.clear();
  return lines;
}

// Do they end where NumPy breaks lines, with no room for one more number of their width?
bool are_full(std::string_view text, const std::vector<std::vector<Span>>& lines) {
  constexpr std::size_t kLineOfNumpy = 75;
  std::size_t longest = 0;
  std::size_t before_point = 0;
  std::size_t behind_point = 0;
  for (const std::vector<Span>& words : lines) {
    const std::size_t above = text.rfind('\n', words.front().begin);
    const std::size_t line_begin = above == std::string_view::npos ? 0 : above + 1;
    longest = std::max(longest, words.back().end - line_begin);
    for (const Span word : words) {
      const std::size_t point =
          std::min(text.substr(word.begin, word.end - word.begin).find('.'), word.end - word.begin);
      before_point = std::max(before_point, point);
      behind_point = std::max(behind_point, word.end - word.begin - point);
    }
  }
  return longest <= kLineOfNumpy && longest + 1 + before_point + behind_point > kLineOfNumpy;
}

}  // namespace

// What stands around a matrix on a screen: a code fence, a prompt without a list, the shape printed first.
bool PastedLines::is_about_matrix(const Line& line) const {
  const std::string_view content = text.substr(line.content.begin, line.content.end - line.content.begin);
  if (content.starts_with("```") || content.starts_with("torch.Size(")) return true;
  // "[2 rows x 3 columns]", below a table of pandas
  if (content.starts_with('[') && content.ends_with(" columns]") &&
      content.find(" rows x ") != std::string_view::npos)
    return true;
  if (content.starts_with(">>>")) return content.find('[') == std::string_view::npos;
  if (separator_of_excel(content) != 0) return true;
  const bool is_shape = content.starts_with('(') && content.ends_with(')') &&
                        content.find_first_not_of("0123456789, ()") == std::string_view::npos;
  if (!is_shape) return false;
  const std::string_view below = text.substr(line.next, body.end - std::min(line.next, body.end));
  const std::size_t next = std::min(below.find_first_not_of(" \t\r\n"), below.size());
  return below.substr(next).starts_with("[[");
}

char separator_of_excel(std::string_view line) {
  const bool is_said = line.size() == 5 && (line.starts_with("sep=") || line.starts_with("SEP="));
  return is_said && std::string_view(";,").find(line[4]) != std::string_view::npos ? line[4] : '\0';
}

Separators separators_of(const Paste& paste, const PastedLines& lines) {
  return SeparatorGuesser(paste, lines).guess();
}

Span spaced_number_at(std::string_view text, Span rest, char end_sign) {
  const Span none{rest.begin, rest.begin};
  if (end_sign == 0) return none;
  std::size_t cell_end = rest.begin;
  while (cell_end < rest.end && fold_at(text, cell_end).value != end_sign)
    cell_end += fold_at(text, cell_end).length;
  const Span cell = trimmed(text, {rest.begin, cell_end});
  const bool is_number =
      has_space(text, cell) && is_number_with_spaces(text.substr(cell.begin, cell.end - cell.begin));
  return is_number ? cell : none;
}

// In MATLAB a line is a row, so the last line must be shorter than the others, or the others as long as NumPy
// makes them.
bool is_wrapped_list(const Paste& paste, const PastedLines& pasted) {
  const std::vector<std::vector<Span>> lines = words_of_list(pasted);
  if (lines.size() < 2) return false;
  const std::size_t wide = lines.front().size();
  const bool are_equal =
      std::all_of(lines.begin(), lines.end() - 1, [&](const auto& words) { return words.size() == wide; });
  if (!are_equal || lines.back().empty() || lines.back().size() > wide) return false;
  if (lines.back().size() == wide && !are_full(pasted.text, lines)) return false;
  paste.faults.note(
      {lines.front().front().begin, lines.front().back().end},
      say({"{0} is read as one list, printed over several lines", "{0} 读作一个列表，打印时折成了几行"},
          paste.place.called));
  return true;
}

}  // namespace qkv

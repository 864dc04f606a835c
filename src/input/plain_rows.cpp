#include "input/plain_rows.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "input/code_text.h"
#include "input/fold.h"
#include "input/lines.h"
#include "input/spelling.h"

namespace qkv {
namespace {

// "please → [1, 0]": bytes of the arrow that the text begins with.
std::size_t arrow_length(std::string_view text) {
  for (const std::string_view arrow : {"→", "⟶", "⇒", "↦", "->", "=>"}) {
    if (text.starts_with(arrow)) return arrow.size();
  }
  return 0;
}

// "$[1, 0]$", and the tall brackets that SymPy draws: bytes of the sign that the text begins with.
std::size_t frame_length(std::string_view text) {
  if (text.starts_with('$')) return 1;
  if (!text.starts_with("\xe2")) return 0;
  for (const std::string_view sign :
       {"⎡", "⎢", "⎣", "⎤", "⎥", "⎦", "⎛", "⎜", "⎝", "⎞", "⎟", "⎠", "│", "┌", "┐", "└", "┘"}) {
    if (text.starts_with(sign)) return sign.size();
  }
  return 0;
}

// "[1, 0].T", "(1, 0)^T", "[1 0]'": bytes of the sign that the text after the bracket begins with.
std::size_t transposition_length(std::string_view text) {
  for (const std::string_view sign : {".T", "^T", "^{T}", "^\\top", "^{\\top}", "ᵀ", "⊤", "'", ".t()"}) {
    if (!text.starts_with(sign)) continue;
    const std::string_view after = text.substr(sign.size());
    const bool is_whole =
        after.empty() || std::string_view(" \t;,)]}$").find(after[0]) != std::string_view::npos;
    if (is_whole) return sign.size();
  }
  return 0;
}

class PlainReader {
 public:
  PlainReader(const Paste& paste, WordTable& table)
      : place_(paste.place), text_(paste.place.source->text), faults_(paste.faults), table_(table) {}

  void read_lines(Span body, bool is_one_row) {
    body_ = body;
    is_one_row_ = is_one_row || is_wrapped_list();
    thousands_end_at_ = guess_spaced_thousands();
    commas_are_inner_ = guess_inner_commas();
    if (!commas_are_inner_) doubt_commas();
    read_words();
  }

  void read_one_row(const Word* label, Span row) {
    if (label) {
      add_word(*label);
      row_.label = Label::marked;
    }
    is_one_row_ = true;
    read_line(row.begin, row.end);
    end_row();
  }

 private:
  std::string_view written(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  void error(Span span, Said message, Said hint = {}) {
    faults_.error(span, std::move(message), std::move(hint));
  }
  bool is_hopeless() const { return faults_.is_hopeless(); }

  // What stands around a matrix on a screen: a code fence, a prompt without a list, the shape printed first.
  bool is_about_matrix(const Line& line) const {
    const std::string_view content = written(line.content);
    if (content.starts_with("```") || content.starts_with("torch.Size(")) return true;
    // "[2 rows x 3 columns]", below a table of pandas
    if (content.starts_with('[') && content.ends_with(" columns]") &&
        content.find(" rows x ") != std::string_view::npos)
      return true;
    if (content.starts_with(">>>")) return content.find('[') == std::string_view::npos;
    const bool is_shape = content.starts_with('(') && content.ends_with(')') &&
                          content.find_first_not_of("0123456789, ()") == std::string_view::npos;
    if (!is_shape) return false;
    const std::string_view below = text_.substr(line.next, body_.end - std::min(line.next, body_.end));
    const std::size_t next = std::min(below.find_first_not_of(" \t\r\n"), below.size());
    return below.substr(next).starts_with("[[");
  }

  template <class Do>
  void each_line(Do&& take) const {
    for (std::size_t at = body_.begin; at < body_.end;) {
      const Line line = line_at(text_, at, body_.end);
      at = line.next;
      if (!line.is_blank() && !is_about_matrix(line) && !take(line)) return;
    }
  }

  // "[1. 2. 3." and below it " 4. 5.]": one list as NumPy prints it, without commas.  In MATLAB a line is a
  // row, so the last line must be shorter than the others, or the others as long as NumPy makes them.
  bool is_wrapped_list() {
    const std::vector<std::vector<Span>> lines = lines_of_list();
    if (lines.size() < 2) return false;
    const std::size_t wide = lines.front().size();
    const bool are_equal =
        std::all_of(lines.begin(), lines.end() - 1, [&](const auto& words) { return words.size() == wide; });
    if (!are_equal || lines.back().empty() || lines.back().size() > wide) return false;
    if (lines.back().size() == wide && !are_full(lines)) return false;
    faults_.note(
        {lines.front().front().begin, lines.front().back().end},
        say({"{0} is read as one list, printed over several lines", "{0} 读作一个列表，打印时折成了几行"},
            place_.called));
    return true;
  }

  // The words of each line, where the whole is one bracket with numbers and spaces in it; else nothing.
  std::vector<std::vector<Span>> lines_of_list() const {
    std::vector<std::vector<Span>> lines;
    int depth = 0;
    bool is_list = true;
    each_line([&](const Line& line) {
      lines.emplace_back();
      bool is_in_word = false;
      for (std::size_t at = line.content.begin; at < line.content.end && is_list;) {
        const Folded c = fold_at(text_, at);
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
  bool are_full(const std::vector<std::vector<Span>>& lines) const {
    constexpr std::size_t kLineOfNumpy = 75;
    std::size_t longest = 0;
    std::size_t before_point = 0;
    std::size_t behind_point = 0;
    for (const std::vector<Span>& words : lines) {
      const std::size_t above = text_.rfind('\n', words.front().begin);
      const std::size_t line_begin = above == std::string_view::npos ? 0 : above + 1;
      longest = std::max(longest, words.back().end - line_begin);
      for (const Span word : words) {
        const std::size_t point = std::min(written(word).find('.'), word.end - word.begin);
        before_point = std::max(before_point, point);
        behind_point = std::max(behind_point, word.end - word.begin - point);
      }
    }
    return longest <= kLineOfNumpy && longest + 1 + before_point + behind_point > kLineOfNumpy;
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
    each_line([&](const Line& line) {
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
        if (written(inner).starts_with('"') || !has_space(inner)) continue;
        is_found = is_possible = is_possible && is_number_with_spaces(inner);
      }
      if (lines++ == 0) expected = cells;
      is_possible = is_possible && cells == expected && cells > 1;
      return is_possible;
    });
    // On a single line "1 200;3 400" are two rows, as MATLAB writes them.
    return is_possible && is_found && (separator != ';' || lines > 1);
  }

  bool has_space(Span span) const {
    for (std::size_t at = span.begin; at < span.end; at += fold_at(text_, at).length) {
      if (is_space(fold_at(text_, at).value)) return true;
    }
    return false;
  }

  bool is_number_with_spaces(Span span) const {
    constexpr std::size_t kLongest = 100;  // bytes
    return span.end - span.begin <= kLongest && has_spaced_thousands(folded(written(span)));
  }

  // The number with spaces that begins at `at` and fills its cell; empty where there is none.
  Span spaced_number_at(std::size_t at, std::size_t end) const {
    std::size_t cell_end = at;
    while (cell_end < end && fold_at(text_, cell_end).value != thousands_end_at_)
      cell_end += fold_at(text_, cell_end).length;
    const Span cell = trimmed(text_, {at, cell_end});
    return has_space(cell) && is_number_with_spaces(cell) ? cell : Span{at, at};
  }

  // "1,5 <tab> -2,25": where tabs separate the cells, or ";" does on every line, a comma
  // between two digits is part of a number.  Brackets or spaces around commas say otherwise.
  bool guess_inner_commas() {
    bool has_tabs = false;
    bool has_comma = false;
    bool is_possible = true;
    std::size_t lines = 0;
    std::optional<std::size_t> semicolons;  // the same inside every line
    each_line([&](const Line& line) {
      ++lines;
      std::size_t inner_semicolons = 0;
      bool field_has_comma = false;
      for (std::size_t at = line.content.begin; at < line.content.end && is_possible;) {
        const Folded c = fold_at(text_, at);
        const std::size_t next = at + c.length;
        if (c.value == '\t') has_tabs = true;
        if (c.value == ';' && next < line.content.end) ++inner_semicolons;
        if (c.value == '\t' || c.value == ';') field_has_comma = false;
        if (c.value == ' ' && thousands_end_at_ == 0) is_possible = false;
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
    semicolons_separate_cells_ = semicolons_separate;
    if (semicolons_separate && !has_comma) {
      faults_.note({body_.begin, body_.begin},
                   say({"';' separates the numbers of a row in {0}, as it stands in every line",
                        "{0} 的每一行都有“;”，读作一行中数与数之间的分隔"},
                       place_.called));
    }
    if (!has_comma || !(has_tabs || semicolons_separate)) return false;
    table_.comma_separates = semicolons_separate ? Said{"';'", " ';'"} : Said{"a tab", "制表符"};
    return true;
  }

  // "1,5" in every field that white space or ";" separates, or in one of several: two numbers, or one with a
  // decimal comma.  Of "1,234.5" beside other fields nobody can tell.
  void doubt_commas() {
    if (written(body_).find(',') == std::string_view::npos &&
        written(body_).find("，") == std::string_view::npos)
      return;
    std::optional<Span> first;
    std::optional<Span> beside_others;  // the first that does not stand alone on its line
    bool are_all_doubtful = true;
    bool is_list = false;  // brackets or names: what separates is plain
    each_line([&](const Line& line) {
      const std::vector<Span> fields = fields_of(line, is_list);
      for (const Span field : fields) {
        const std::string text = folded(written(field));
        const bool is_number =
            text.find_first_not_of("+-0123456789.,") == std::string::npos && text[0] != ',';
        const MarkUse use = is_number ? use_of_mark(text, ',') : MarkUse::none;
        const bool is_certain =
            use == MarkUse::thousands || (use == MarkUse::decimal && text.find('.') != std::string::npos);
        if (is_certain && fields.size() > 1 && !is_list) {
          error(field,
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

  void read_words() {
    bool has_prompt = is_behind_prompt();
    each_line([&](Line line) {
      const std::string_view content = written(line.content);
      has_prompt = has_prompt || content.starts_with(">>> ");
      const bool is_prompt = content.starts_with(">>> ") || (has_prompt && content.starts_with("... ") &&
                                                             line.content.begin == line.whole.begin);
      if (is_prompt) line.content = trimmed(text_, {line.content.begin + 4, line.content.end});
      std::size_t begin = line.content.begin;
      if (const auto assignment = assignment_of(text_, line);
          assignment && is_plain_name(written(assignment->name))) {
        if (!begins_pasted_matrix(text_.substr(0, line.content.end), *assignment)) {
          misplaced_setting(*assignment);
          return !is_hopeless();
        }
        begin = assignment->value.begin;
      } else if (place_.within == Within::matrix_file) {
        if (const auto header = header_of(text_, line)) {
          error(header->span,
                say({"a matrix file holds rows only, but here begins the section {0}",
                     "矩阵文件只含数据行，而这里是小节 {0} 的开头"},
                    quotable(written(header->span))),
                say({"give a problem file as FILE, without an option",
                     "题目文件请直接作为 FILE 给出，不要放在选项里"}));
          return false;
        }
      }
      read_line(begin + call_length(written({begin, line.content.end})), line.content.end);
      return !is_hopeless() && !is_refused_;
    });
    end_row();
    if (empty_row_ && !table_.rows.empty()) {
      error(*empty_row_, say({"a row without numbers", "这一行没有数"}),
            say({"write 0 for a zero", "零也要写成 0"}));
    }
    if (third_bracket_ && !table_.rows.empty()) judge_stack();
  }

  // Does the line on which this begins, or one above it, begin with Python's prompt?
  bool is_behind_prompt() const {
    const std::string_view above = text_.substr(0, body_.begin);
    return above.starts_with(">>> ") || above.find("\n>>> ") != std::string_view::npos;
  }

  // "[[[1, 0], [0, 1]]]": a stack of one matrix, as batches are printed, is that matrix.
  void judge_stack() {
    const bool is_one = std::all_of(opened_.begin(), opened_.end() - 1, [](std::size_t n) { return n == 1; });
    if (is_one) {
      faults_.note(*third_bracket_,
                   say({"a stack of one matrix is read as that matrix", "只含一个矩阵的一叠，读作这个矩阵"}));
      return;
    }
    table_.is_stack = true;
    error(*third_bracket_,
          say({"brackets three deep: this is a stack of matrices", "括号有三层：这是多个矩阵叠在一起"}),
          say({"write one matrix in each section; qkv convert writes each apart",
               "每个小节只写一个矩阵；qkv convert 可以把它们逐个写出"}));
  }

  // In a section the outline has told of it; a matrix file has no outline.
  void misplaced_setting(const Assignment& assignment) {
    if (place_.within == Within::section) return;
    error({assignment.name.begin, assignment.value.end},
          say({"a matrix file holds rows only, no settings", "矩阵文件只含数据行，不含设置"}),
          say({"give a problem file as FILE, without an option",
               "题目文件请直接作为 FILE 给出，不要放在选项里"}));
  }

  void read_line(std::size_t at, std::size_t end) {
    goes_on_ = false;
    line_begin_ = at;
    if (!is_row_open_ && depth_ == 0) at = label_with_commas(at, end);
    while (at < end && !is_hopeless()) {
      const Folded c = fold_at(text_, at);
      const Span here{at, at + c.length};
      if (const std::size_t frame = frame_length(text_.substr(at, end - at));
          is_space(c.value) || frame > 0) {
        at = std::max(here.end, at + frame);
      } else if (const std::size_t type =
                     c.value == 'v' || c.value == '[' || (c.value >= 'A' && c.value <= 'R')
                         ? list_type_length(text_, at, end)
                         : 0;
                 type > 0) {
        at += type;  // each row of a list in Rust or Go may say its own
      } else if (is_open_bracket(c.value)) {
        open_bracket(here);
        at = here.end;
      } else if (is_close_bracket(c.value)) {
        close_bracket(here);
        at = here.end;
      } else if (c.value == ',') {
        comma(here);
        at = here.end;
      } else if (c.value == ';') {
        if (semicolons_separate_cells_) {
          comma(here);
        } else {
          end_row();
        }
        at = here.end;
      } else if (c.value == ':' || c.value == '|') {
        if (is_range_alone(end)) {
          error({table_.words.back().span.begin, end},
                say({"'{0}' may be a range or a label with its number",
                     "“{0}”可能是一个范围，也可能是标签和它的数"},
                    written({table_.words.back().span.begin, end})),
                say({"write every number of the range, or a space behind ':'",
                     "请写出范围里的每个数；如果是标签，请在“:”后面加空格"}));
          row_.is_broken = true;
          return;
        }
        mark_label(here);
        at = here.end;
      } else if (text_.substr(at, end - at).starts_with("/*") || is_in_comment_) {
        const std::size_t close = text_.substr(0, end).find("*/", at);
        is_in_comment_ = close == std::string_view::npos;
        at = is_in_comment_ ? end : close + 2;
      } else if (const std::size_t sign = is_closed_ ? transposition_length(text_.substr(at, end - at)) : 0;
                 sign > 0) {
        table_.transpositions.push_back({at, at + sign});
        at += sign;
      } else if (const std::size_t arrow = arrow_length(text_.substr(at, end - at)); arrow > 0) {
        mark_label({at, at + arrow});
        at += arrow;
      } else if (const Span number = thousands_end_at_ != 0 ? spaced_number_at(at, end) : Span{at, at};
                 number.end > at) {
        add_word({.span = number});
        at = number.end;
      } else if (text_.substr(at, end - at).starts_with("//")) {
        at = end;  // a comment in C
      } else {
        at = c.value == '"' ? quoted_word(at, end) : word(at, end);
      }
    }
    // "[[1, 2," + "3, 4]]": a row that stands in its own bracket inside another goes on.
    if (!is_one_row_ && !goes_on_ && (depth_ < 2 || !is_row_open_)) end_row();
  }

  // "1:3", and nothing else on the line.
  bool is_range_alone(std::size_t end) const {
    if (words_in_row() != 1 || row_.label != Label::none || depth_ > 0) return false;
    const auto range = range_at(text_, table_.words.back().span.begin, end);
    return range && range->end == end;
  }

  // "a,b | 1 2": before ":" or "|" a comma belongs to the label.  Reads such a label and its sign;
  // returns where to go on, which is `at` for every other line.
  std::size_t label_with_commas(std::size_t at, std::size_t end) {
    std::optional<Span> label;
    bool has_comma = false;
    bool has_ended = false;
    for (std::size_t here = at; here < end;) {
      const Folded c = fold_at(text_, here);
      const Span span{here, here + c.length};
      if (c.value == ':' || c.value == '|') {
        if (!label || !has_comma) return at;
        if (here >= 3 && is_office_error(text_.substr(here - 3, 7))) return at;  // "3,Err:502"
        add_word({.span = *label});
        mark_label(span);
        return span.end;
      }
      if (is_space(c.value)) {
        has_ended = label.has_value();
      } else if (has_ended || c.value == ';' || c.value == '"' || is_open_bracket(c.value) ||
                 is_close_bracket(c.value)) {
        return at;
      } else {
        if (!label) label = Span{span.begin, span.begin};
        label->end = span.end;
        has_comma = has_comma || c.value == ',';
      }
      here = span.end;
    }
    return at;
  }

  void open_bracket(Span here) {
    if (is_row_open_ && !is_closed_ && is_comma_last_ && depth_ > 0) {
      error(here, say({"a list inside a row of numbers", "一行数里面又有一个列表"}),
            say({"every row is a list of its own, of numbers only", "每一行单独是一个列表，里面只有数"}));
      row_.is_broken = true;
    }
    if (is_closed_ && is_row_open_) {
      if (row_.label != Label::none) {
        error(here, say({"two bracketed rows after one label", "一个标签后面有两组括号"}),
              say({"each matrix has a section of its own", "每个矩阵要有自己的小节"}));
      }
      end_row();  // "[1, 0], [0, 1]": two rows
    }
    if (is_row_open_ && words_in_row() == 1 && row_.label == Label::none && depth_ < 2) {
      if (is_factor(table_.words.back(), here)) {
        error(table_.words.back().span,
              say({"what stands before the matrix would be lost", "矩阵前面还有内容，不能略去"}),
              say({"write the numbers of the result", "请写出算好的数"}));
        row_.is_broken = is_refused_ = true;
      }
      row_.label = Label::before_bracket;
    }
    ++depth_;
    opens_at_ = here.end;
    opened_with_ = fold_at(text_, here.begin).value;
    if (depth_ >= 3 && !third_bracket_) third_bracket_ = here;
    if (static_cast<std::size_t>(depth_) > opened_.size()) opened_.resize(static_cast<std::size_t>(depth_));
    ++opened_[static_cast<std::size_t>(depth_) - 1];
    is_comma_last_ = false;
    is_closed_ = false;
  }

  // "-", "2*" and "-np.array" before a bracket, but not "1", which counts lines.
  bool is_factor(const Word& word, Span bracket) const {
    if (word.is_quoted || word.is_missing) return false;
    const std::string text = folded(written(word.span));
    if (std::string_view("+-*/@").find(text.back()) != std::string_view::npos) return true;
    const bool is_signed = text[0] == '-' || text[0] == '+' || text.find('*') != std::string::npos;
    const char last = text.back();
    const bool ends_in_name = (last >= 'a' && last <= 'z') || (last >= 'A' && last <= 'Z');
    return is_signed && ends_in_name && word.span.end == bracket.begin;
  }

  // Brackets are decoration: one too many or too few changes nothing.
  void close_bracket(Span here) {
    if (depth_ > 0) --depth_;
    const bool is_empty = opens_at_ > 0 && skip_blank(text_, opens_at_, here.begin) == here.begin;
    if (depth_ > 0 && is_empty && !empty_row_) empty_row_ = Span{opens_at_ - 1, here.end};
    opens_at_ = 0;
    is_closed_ = true;
    is_comma_last_ = false;
    if (is_row_open_) row_.span.end = here.end;
  }

  void comma(Span here) {
    // Above the labels of the rows a heading has an empty field.
    if (semicolons_separate_cells_ && !is_row_open_ && table_.rows.empty()) return;
    const bool is_between_rows = is_closed_ || (depth_ > 0 && !is_row_open_);
    if (!is_between_rows && (is_comma_last_ || words_in_row() == (row_.label == Label::none ? 0U : 1U))) {
      error(here, say({"no number before this ','", "这个“,”前面没有数"}),
            say({"write 0 for a zero", "零也要写成 0"}));
      add_word({.span = here, .is_missing = true});  // counted, so that the row does not look ragged too
    }
    is_comma_last_ = true;
    last_comma_ = here;
  }

  void mark_label(Span here) {
    if (words_in_row() == 1 && row_.label == Label::none) {
      row_.label = Label::marked;
      return;
    }
    if (!is_row_open_) open_row(here.begin);
    row_.is_broken = true;
    error(here,
          say({"'{0}' stands only after the label of a row", "“{0}”只能写在一行的标签后面"}, written(here)),
          say({"a label that holds '{0}' or a space is written in quotes", "含有“{0}”或空格的标签要加引号"},
              written(here)));
  }

  std::size_t quoted_word(std::size_t begin, std::size_t end) {
    std::size_t close = text_.substr(0, end).find('"', begin + 1);
    // In a quoted word two quotes stand for one.
    while (close != std::string_view::npos && close > begin + 1 && close + 1 < end && text_[close + 1] == '"')
      close = text_.substr(0, end).find('"', close + 2);
    if (close == std::string_view::npos) {
      error({begin, end}, say({"the quote is never closed on this line", "这一行的引号没有配对"}));
      add_word({.span = {begin, end}, .is_quoted = true});
      row_.is_broken = true;
      return end;
    }
    add_word({.span = {begin, close + 1}, .is_quoted = true});
    return close + 1;
  }

  // "1:6" in brackets, as its numbers; where it ends, or `at` where none stands there.
  std::size_t range(std::size_t at, std::size_t end) {
    if ((depth_ == 0 && !is_one_row_) || opened_with_ == '{') return at;
    const auto found = range_at(text_, at, end);
    if (!found) return at;
    const Span span{at, found->end};
    if (found->is_empty()) {
      error(span,
            say({"'{0}' counts down: some languages read it as nothing, others backwards",
                 "“{0}”是倒着数的：有的语言读作空，有的读作倒序"},
                written(span)),
            say({"write every number of the range", "请写出范围里的每个数"}));
      add_word({.span = span, .is_missing = true});
      row_.is_broken = true;
      return span.end;
    }
    if (found->count() > static_cast<std::size_t>(kMostCells)) {
      faults_.too_large();
      return span.end;
    }
    for (std::size_t i = 0; i < found->count(); ++i)
      add_word(table_.spelt(span, std::to_string(found->first + static_cast<long>(i) * found->step)));
    faults_.note(span, say({"'{0}' is read as a range: {1} numbers from {2} on",
                            "“{0}”读作范围：从 {2} 起的 {1} 个数"},
                           written(span), found->count(), found->first));
    return span.end;
  }

  // "np.zeros((2, 3))": what comes of it is not written here.
  std::size_t call(Span name, std::size_t bracket, std::size_t end) {
    error(name,
          say({"'{0}(…)' is a call that computes, and code is not run",
               "“{0}(…)”是要计算的调用，而代码不会被执行"},
              written(name)),
          say({"paste its value as it is printed; behind a label stands ':'",
               "请粘贴它打印出来的值；如果是标签，后面要写“:”"}));
    add_word({.span = name, .is_missing = true});
    row_.is_broken = true;
    is_refused_ = true;
    return end_of_bracket(text_, bracket, end);
  }

  std::size_t word(std::size_t begin, std::size_t end) {
    if (const std::size_t behind = range(begin, end); behind > begin) return behind;
    std::size_t at = begin;
    if (is_office_error(text_.substr(at, std::min<std::size_t>(end - at, 7)))) at += 7;
    while (at < end) {
      const Folded c = fold_at(text_, at);
      // "\frac{1}{2}", in the cells of a Markdown table
      const bool is_argument =
          c.value == '{' && text_[at] == '{' && written({begin, at}).find('\\') != std::string_view::npos;
      if (is_argument || is_number_call(begin, at, end)) {
        at = end_of_bracket(text_, at, end);
        continue;
      }
      const bool is_separator = is_space(c.value) || c.value == ';' || c.value == ':' || c.value == '|' ||
                                c.value == '"' || is_open_bracket(c.value) || is_close_bracket(c.value) ||
                                (c.value == ',' && !commas_are_inner_);
      if ((c.value == '(' || c.value == '[') && computes(written({begin, at})))
        return call({begin, at}, at, end);
      if (is_separator) break;
      const std::string_view rest = text_.substr(at, end - at);
      if (at > begin && (arrow_length(rest) > 0 || frame_length(rest) > 0)) break;
      at += c.length;
    }
    // In MATLAB "..." at the end of a line joins it with the next one.
    const bool is_joined = depth_ == 1 && at == end && written({begin, at}) == "..." &&
                           (is_row_open_ || !trimmed_before(begin).empty());
    if (is_joined) {
      goes_on_ = true;
    } else {
      const std::string_view text = written({begin, at});
      const bool is_latex = text.find('\\') != std::string_view::npos && !is_elision(text);
      const auto number = is_latex ? latex_number(text) : std::nullopt;
      add_word(number ? table_.spelt({begin, at}, *number) : Word{.span = {begin, at}});
    }
    return at;
  }

  // What stands before `at` on its line.
  std::string_view trimmed_before(std::size_t at) const { return written(trimmed(text_, {line_begin_, at})); }

  // "sqrt(2)", "np.float64(0.5)"; but "tensor([" begins a list.
  bool is_number_call(std::size_t begin, std::size_t bracket, std::size_t end) const {
    const char c = fold_at(text_, bracket).value;
    if ((c != '(' && c != '[') || !begins_number_call(written({begin, bracket}), c)) return false;
    const std::size_t inside = bracket + fold_at(text_, bracket).length;
    return inside < end && !is_open_bracket(fold_at(text_, inside).value);
  }

  std::size_t words_in_row() const { return is_row_open_ ? table_.words.size() - row_.first : 0; }

  void open_row(std::size_t at) {
    is_row_open_ = true;
    is_closed_ = false;
    row_ = {.span = {at, at}, .first = table_.words.size(), .last = table_.words.size()};
  }

  void add_word(Word word) {
    // "t1 → [0.6, 0.4]   t2 → [0.4, 0.6]"
    if (is_closed_ && is_row_open_ && depth_ == 0 && row_.label != Label::none) end_row();
    if (!is_row_open_) open_row(word.span.begin);
    row_.span.end = word.span.end;
    table_.words.push_back(word);
    is_comma_last_ = false;
    // Labels are words too, hence the factor.
    if (table_.words.size() > 2 * static_cast<std::size_t>(kMostCells)) faults_.too_large();
  }

  void end_row() {
    if (is_row_open_) {
      if (is_comma_last_ && depth_ == 0 && !is_closed_) row_.comma_at_end = last_comma_;
      row_.last = table_.words.size();
      table_.rows.push_back(row_);
    }
    is_row_open_ = false;
    is_closed_ = false;
    is_comma_last_ = false;
  }

  const MatrixPlace& place_;
  std::string_view text_;
  Faults& faults_;
  WordTable& table_;
  Span body_;

  bool is_one_row_ = false;
  bool goes_on_ = false;        // after "..." at the end of a line
  bool is_refused_ = false;     // what follows would only be said again
  bool is_in_comment_ = false;  // of C, over several lines
  std::size_t line_begin_ = 0;
  std::size_t opens_at_ = 0;  // behind the bracket that was opened last, while nothing closed it
  char opened_with_ = '\0';
  std::optional<Span> empty_row_;  // the first "[]" among rows
  bool commas_are_inner_ = false;
  bool semicolons_separate_cells_ = false;
  char thousands_end_at_ = 0;  // what ends a number with spaces in it; 0: no number has any

  RowText row_;  // the row being read
  bool is_row_open_ = false;
  bool is_closed_ = false;  // its bracket was closed
  bool is_comma_last_ = false;
  Span last_comma_;
  int depth_ = 0;                      // open brackets
  std::vector<std::size_t> opened_;    // brackets ever opened at each depth
  std::optional<Span> third_bracket_;  // the first that stands three deep
};

}  // namespace

void read_plain_rows(const Paste& paste, Span body, WordTable& table, bool is_one_row) {
  PlainReader(paste, table).read_lines(body, is_one_row);
}

void read_bracketed_row(const Paste& paste, const Word* label, Span row, WordTable& table) {
  PlainReader(paste, table).read_one_row(label, row);
}

}  // namespace qkv

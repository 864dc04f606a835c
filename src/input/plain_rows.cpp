#include "input/plain_rows.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "input/code_text.h"
#include "input/fold.h"
#include "input/lines.h"
#include "input/separators.h"
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
      : paste_(paste), place_(paste.place), text_(paste.text()), faults_(paste.faults), table_(table) {}

  void read_lines(Span body, bool is_one_row) {
    const PastedLines lines{text_, body};
    is_one_row_ = is_one_row || is_wrapped_list(paste_, lines);
    separators_ = separators_of(paste_, lines);
    if (!separators_.words.empty()) table_.comma_separates = separators_.words;
    read_words(lines);
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

  void read_words(const PastedLines& lines) {
    bool has_prompt = is_behind_prompt(lines.body.begin);
    lines.each([&](Line line) {
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
      read_line(begin, line.content.end);
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
  bool is_behind_prompt(std::size_t begin) const {
    const std::string_view above = text_.substr(0, begin);
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
      if (const std::size_t twin = twin_of_bracket(at, end); twin > 0) {
        const bool opens = written({at, end}).starts_with(kOpenTwin);
        opens ? open_bracket({at, at + twin}) : close_bracket({at, at + twin});
        at += twin;
        twins_ += opens ? 1 : -1;
      } else if (const std::size_t frame = frame_length(text_.substr(at, end - at));
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
        if (separators_.semicolons_separate_cells) {
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
      } else if (const Span number = spaced_number_at(text_, {at, end}, separators_.thousands_end_at);
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

  // "【1，2】": a bracket where numbers stand in it, and else part of a label; its bytes, or 0.
  std::size_t twin_of_bracket(std::size_t at, std::size_t end) const {
    const std::string_view rest = text_.substr(at, end - at);
    if (rest.starts_with(kCloseTwin)) return twins_ > 0 ? kCloseTwin.size() : 0;
    if (!rest.starts_with(kOpenTwin)) return 0;
    std::size_t inside = at;
    while (inside < end && (text_.substr(inside, end - inside).starts_with(kOpenTwin) ||
                            is_space(fold_at(text_, inside).value)))
      inside += fold_at(text_, inside).length;
    const char c = inside < end ? fold_at(text_, inside).value : '\0';
    return (c >= '0' && c <= '9') || c == '-' || c == '.' || inside == end ? kOpenTwin.size() : 0;
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
    if (!calls_.empty() && calls_.back() == depth_ && fold_at(text_, here.begin).value == ')') {
      calls_.pop_back();
      return;
    }
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
    if (separators_.semicolons_separate_cells && !is_row_open_ && table_.rows.empty()) return;
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
                                (c.value == ',' && !separators_.commas_are_inner);
      if (at > begin && (c.value == '(' || c.value == '[')) {
        const std::size_t inside = skip_blank(text_, at + c.length, end);
        const bool holds_list = inside < end && is_open_bracket(fold_at(text_, inside).value);
        // "[array([1, 0]), array([0, 1])]": the list is the row.
        if (holds_list && fold_at(text_, inside).value == '[' && begins_matrix_call(text_, begin, end)) {
          calls_.push_back(depth_);
          return inside;
        }
        // "Normalize[{3, 4}]"
        const bool is_of_mathematica = c.value == '[' && holds_list && fold_at(text_, inside).value == '{';
        if (is_of_mathematica || computes(written({begin, at}), c.value, holds_list))
          return call({begin, at}, at, end);
      }
      if (is_separator) break;
      const std::string_view rest = text_.substr(at, end - at);
      if (at > begin && twin_of_bracket(at, end) > 0) break;
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
    if (depth_ > 0) row_.first_word = FirstWord::name;
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

  static constexpr std::string_view kOpenTwin = "【";
  static constexpr std::string_view kCloseTwin = "】";

  const Paste& paste_;
  const MatrixPlace& place_;
  std::string_view text_;
  Faults& faults_;
  WordTable& table_;

  bool is_one_row_ = false;
  bool goes_on_ = false;        // after "..." at the end of a line
  bool is_refused_ = false;     // what follows would only be said again
  bool is_in_comment_ = false;  // of C, over several lines
  std::size_t line_begin_ = 0;
  std::size_t opens_at_ = 0;  // behind the bracket that was opened last, while nothing closed it
  char opened_with_ = '\0';
  std::optional<Span> empty_row_;  // the first "[]" among rows
  Separators separators_;

  RowText row_;  // the row being read
  bool is_row_open_ = false;
  bool is_closed_ = false;  // its bracket was closed
  bool is_comma_last_ = false;
  Span last_comma_;
  int depth_ = 0;                      // open brackets, without those of calls
  int twins_ = 0;                      // open 【 among them
  std::vector<int> calls_;             // the depths at which a call's bracket is open
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

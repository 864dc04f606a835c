#include "input/sections.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "base/number.h"
#include "input/fold.h"
#include "input/lines.h"
#include "input/separators.h"

namespace qkv {
namespace {

constexpr std::size_t kLongestName = 128;       // bytes before "="
constexpr std::size_t kLongestValue = 1 << 20;  // bytes; room for a hundred thousand labels
constexpr int kMostMisplaced = 20;
constexpr int kMostWords = 5;  // lines without "=": a page of prose needs no more

class OutlineReader {
 public:
  OutlineReader(const SourcePtr& source, Diagnostics& diagnostics, std::size_t most)
      : text_(source->text), diagnostics_(diagnostics), most_(most) {
    outline_.source = source;
  }

  Outline read() {
    for (std::size_t at = 0; at < text_.size();) {
      const Line line = line_at(text_, at, text_.size());
      at = line.next;
      if (line.is_blank()) continue;
      if (const auto header = header_of(text_, line)) {
        begin_section(header->name, line);
      } else if (const std::string_view name = name_in_other_brackets(line); !name.empty()) {
        error_once(is_bracket_reported_, line.content,
                   say({"the name of a section stands in [ ]", "小节名要写在 [ ] 中"}),
                   say({"write [{0}]", "写作 [{0}]"}, quotable(name)));
        begin_section(std::string(name), line);
      } else if (const auto fault = fault_of_header(line)) {
        diagnostics_.error(outline_.source, line.content, *fault,
                           say({"a section begins with its name alone on a line, as in [Q]",
                                "小节以单独一行的名称开头，如 [Q]"}));
        begin_section("", line);
      } else if (outline_.sections.empty()) {
        setting(line);
      } else {
        misplaced_setting(line);
      }
      if (outline_.settings.size() + outline_.sections.size() > most_) {
        diagnostics_.error(outline_.source, line.content,
                           say({"more than {0} settings and sections", "设置和小节超过 {0} 个"}, most_));
        break;
      }
    }
    return std::move(outline_);
  }

 private:
  void begin_section(std::string name, const Line& line) {
    if (!outline_.sections.empty()) outline_.sections.back().body.end = line.whole.begin;
    outline_.sections.push_back({std::move(name), line.content, {line.next, text_.size()}});
  }

  void misplaced_setting(const Line& line) {
    const auto assignment = assignment_of(text_, line);
    if (!assignment || !is_plain_name(written(assignment->name)) ||
        separator_of_excel(written(line.content)) != 0 || begins_pasted_matrix(text_, *assignment) ||
        is_heading_of_brackets(line) || is_print_of_one(*assignment, line))
      return;
    if (++misplaced_reported_ > kMostMisplaced) return;
    diagnostics_.error(outline_.source, {assignment->name.begin, line.content.end},
                       say({"the setting '{0}' stands after a section", "设置“{0}”写在了小节之后"},
                           quotable(written(assignment->name))),
                       say({"settings stand above the first section", "设置要写在第一个小节之前"}));
  }

  // "Q = K            V" above "t1   [1, 0]        [1.0, 0.0]"
  bool is_heading_of_brackets(const Line& line) const {
    const std::string_view content = written(line.content);
    if (content.find("  ") == std::string_view::npos && content.find('\t') == std::string_view::npos)
      return false;
    const Line below = line_at(text_, line.next, text_.size());
    const std::string_view row = written(below.content);
    return !row.empty() && is_close_bracket(row.back()) && row.find('[') != row.rfind('[') &&
           row.find('[') != std::string_view::npos && row[0] != '[';
  }

  // "A = -80.193" and nothing else in the section: how Octave prints a matrix of one number.  No setting has
  // a capital letter.
  bool is_print_of_one(const Assignment& assignment, const Line& line) const {
    const std::string_view name = written(assignment.name);
    if (name != "ans" && (name.size() > 16 || name[0] < 'A' || name[0] > 'Z')) return false;
    const std::string value = folded(written(assignment.value));
    NumberError ignored;
    const auto number = value.size() > 100 ? std::nullopt : parse_number(value, ignored);
    if (!number || number->kind == Number::Kind::symbol) return false;
    const Span above{outline_.sections.back().body.begin, line.whole.begin};
    if (has_lines(above)) return false;
    for (std::size_t at = line.next; at < text_.size();) {
      const Line below = line_at(text_, at, text_.size());
      if (!below.is_blank()) return header_of(text_, below).has_value();
      at = below.next;
    }
    return true;
  }

  // Does a line of the span hold more than a comment?
  bool has_lines(Span span) const {
    for (std::size_t at = span.begin; at < span.end;) {
      const Line line = line_at(text_, at, span.end);
      if (!line.is_blank()) return true;
      at = line.next;
    }
    return false;
  }

  std::string_view written(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  // "【Q】": the Chinese brackets that look alike.
  std::string_view name_in_other_brackets(const Line& line) const {
    constexpr std::string_view kOpen = "【";
    constexpr std::string_view kClose = "】";
    const std::string_view content = written(line.content);
    if (content.size() <= kOpen.size() + kClose.size() || !content.starts_with(kOpen) ||
        !content.ends_with(kClose))
      return {};
    const std::string_view name = content.substr(kOpen.size(), content.size() - kOpen.size() - kClose.size());
    const std::string header = "[" + std::string(name) + "]";
    return header_of(header, line_at(header, 0, header.size())) ? name : std::string_view();
  }

  // "[X", "[ X ]" or "[X] 1 2": meant as a header, or else its rows would be taken for the
  // section above.  A name with a number at its end is a symbol of V: "[v0" begins a matrix.
  std::optional<Said> fault_of_header(const Line& line) const {
    const std::string_view content = written(line.content);
    if (fold_at(content, 0).value != '[') return std::nullopt;
    const std::string_view inside = content.substr(fold_at(content, 0).length);
    std::size_t end = 0;
    while (end < inside.size() && fold_at(inside, end).value != ']') end += fold_at(inside, end).length;
    const Span inner = trimmed(inside, {0, end});
    const std::string_view name = inside.substr(inner.begin, inner.end - inner.begin);
    const bool is_name = is_plain_name(name) && name.find_first_of(" \t") == std::string_view::npos &&
                         !(name.back() >= '0' && name.back() <= '9') && !is_number_word(folded(name));
    if (!is_name) return std::nullopt;
    if (end == inside.size()) return say({"the section name has no closing ']'", "小节名缺少“]”"});
    const std::string_view after = inside.substr(end + fold_at(inside, end).length);
    if (after.empty()) return say({"a section name has no spaces around it", "小节名两边不能有空格"});
    const Span rest = trimmed(after, {0, after.size()});
    const char next = fold_at(after, rest.begin).value;
    if (next == '[' || next == ',' || next == ';' || is_close_bracket(next))
      return std::nullopt;  // rows of symbols
    return say({"a section name stands alone on its line", "小节名要单独占一行"});
  }

  void setting(const Line& line) {
    const auto assignment = assignment_of(text_, line);
    if (!assignment) return not_a_setting(line);
    const std::string_view key = written(assignment->name);
    if (key.empty()) {
      return error_once(is_nameless_reported_, line.content,
                        say({"a name is missing before '='", "“=”前面缺少名称"}), {});
    }
    if (key.size() > kLongestName || line.whole.end - assignment->value.begin > kLongestValue) {
      return error_once(is_long_reported_, line.content,
                        say({"a setting of {0} bytes: the name may have {1}, the value {2}",
                             "设置有 {0} 字节：名称最多 {1} 字节，取值最多 {2} 字节"},
                            line.whole.end - line.whole.begin, kLongestName, kLongestValue),
                        {});
    }
    outline_.settings.push_back({folded(key), assignment->name, assignment->value,
                                 trimmed(text_, {assignment->value.begin, line.whole.end})});
  }

  // "mask: causal"; but "t1: 1 0" is a row.
  std::optional<Assignment> with_colon(const Line& line) const {
    for (std::size_t at = line.content.begin; at < line.content.end; at += fold_at(text_, at).length) {
      if (fold_at(text_, at).value != ':') continue;
      const Assignment found{trimmed(text_, {line.content.begin, at}),
                             trimmed(text_, {at + fold_at(text_, at).length, line.content.end})};
      const std::string value = folded(written(found.value));
      const bool is_row =
          value.empty() || (value.find_first_of(" ,") != std::string::npos &&
                            value.find_first_not_of("0123456789+-./e,;() []") == std::string::npos);
      const std::string_view name = written(found.name);
      return is_plain_name(name) && name.find(' ') == std::string_view::npos && !is_row ? std::optional(found)
                                                                                        : std::nullopt;
    }
    return std::nullopt;
  }

  void not_a_setting(const Line& line) {
    const std::string_view content = written(line.content);
    if (const auto meant = with_colon(line)) {
      if (++words_reported_ > kMostWords) return;
      return diagnostics_.error(outline_.source, line.content, say({"'=' is missing", "缺少“=”"}),
                                say({"did you mean '{0} = {1}'?", "是不是想写“{0} = {1}”？"},
                                    quotable(written(meant->name)), quotable(written(meant->value))));
    }
    const std::size_t word = std::min(content.find_first_of(" \t"), content.size());
    const std::size_t value = std::min(content.find_first_not_of(" \t", word), content.size());
    const char first = value < content.size() ? fold_at(content, value).value : kOther;
    const bool is_row = (first >= '0' && first <= '9') || first == '-' || is_open_bracket(first) ||
                        first == ':' || first == '|';
    if (is_plain_name(content.substr(0, word)) && !is_row) {
      if (++words_reported_ > kMostWords) return;
      return diagnostics_.error(
          outline_.source, line.content, say({"'=' is missing", "缺少“=”"}),
          value == content.size() ? say({"a setting is written 'name = value'", "设置写作“name = value”"})
                                  : say({"did you mean '{0} = {1}'?", "是不是想写“{0} = {1}”？"},
                                        quotable(content.substr(0, word)), quotable(content.substr(value))));
    }
    error_once(is_row_reported_, line.content,
               say({"numbers before the first section", "第一个小节之前不能有数"}),
               say({"put the name of the matrix on a line of its own above them, such as [Q]",
                    "请在上面单独一行写矩阵的名称，例如 [Q]"}));
  }

  // Twenty rows without a section have one cause.
  void error_once(bool& is_reported, Span span, Said message, Said hint) {
    if (!is_reported) diagnostics_.error(outline_.source, span, std::move(message), std::move(hint));
    is_reported = true;
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t most_;
  Outline outline_;
  bool is_row_reported_ = false;
  bool is_bracket_reported_ = false;
  int words_reported_ = 0;
  int misplaced_reported_ = 0;
  bool is_nameless_reported_ = false;
  bool is_long_reported_ = false;
};

}  // namespace

Outline read_outline(const SourcePtr& source, Diagnostics& diagnostics, std::size_t most) {
  return OutlineReader(source, diagnostics, most).read();
}

}  // namespace qkv

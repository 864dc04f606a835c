#include "problem/matrices.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/display_width.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/spelling.h"
#include "problem/keys.h"
#include "problem/section_kinds.h"
#include "problem/steps.h"

namespace qkv {
namespace {

// "inf 0]", "False False]"
bool begins_with_number_word(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter);
  return is_number_word(text.substr(0, static_cast<std::size_t>(end - text.begin())));
}

bool is_known(std::string_view name) {
  if (name.starts_with("expect.")) name.remove_prefix(7);
  const std::string_view simple = behind_prefixes(name);
  return find_section_kind(simple) != nullptr || find_step_name(simple) != nullptr;
}

CellRules rules_of(std::string_view name) {
  const SectionKind* kind = find_section_kind(behind_prefixes(name));
  CellRules rules = kind != nullptr ? kind->cells : CellRules{};
  rules.infinity = rules.blanks = rules.nan = true;
  return rules;
}

bool is_section_name(const std::string& name) {
  const std::string line = "[" + name + "]";
  const auto header = header_of(line, line_at(line, 0, line.size()));
  return header && header->name == name;
}

// A section's name that is nearest to what is written before a matrix: "WQ" is W_Q, "h1_weights" h1.weights
// and "查询矩阵 Q" Q; "layer-1/attn" becomes layer_1_attn.
std::string section_name(std::string_view written) {
  const auto without_lines = [](std::string_view name) {
    std::string simple(name);
    std::erase(simple, '_');
    return simple;
  };
  const std::string name(written);
  if (is_known(name)) return name;
  for (const SectionKind& kind : section_kinds()) {
    if (without_lines(kind.name) == without_lines(name)) return kind.name;
  }
  // Where a language has no "." in a name: "h1_W_Q" is h1.W_Q.
  std::string dotted = name;
  for (std::size_t at = dotted.find('_'); at != std::string::npos; at = dotted.find('_', at)) {
    dotted[at] = '.';
    if (is_known(dotted)) return dotted;
  }
  if (is_section_name(name)) return name;
  const std::size_t space = name.find_last_of(' ');
  if (space != std::string::npos && is_section_name(name.substr(space + 1))) return name.substr(space + 1);
  std::string made;
  for (std::size_t at = 0; at < name.size();) {
    const Folded c = fold_at(name, at);
    const std::string sign = name.substr(at, c.length);
    made += is_section_name(made + sign) ? sign : made.empty() ? "m_" : "_";
    at += c.length;
  }
  return made;
}

// Three letters and no digit: "the" is a word of a sentence, while v0, x and qk may stand for values, and inf
// and True are numbers.
bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  if (text.size() < 3 || !std::all_of(text.begin(), text.end(), is_letter)) return false;
  NumberError ignored;
  const auto number = parse_number(text, ignored);
  return number && number->kind == Number::Kind::symbol && !respelt(text, true);
}

// The first cell that holds a word.
std::optional<Span> first_word_among(const MatrixText& matrix) {
  for (std::size_t i = 0; i < matrix.cells.size(); ++i) {
    if (matrix.cells[i].kind == Number::Kind::symbol && is_word(matrix.cells[i].text))
      return matrix.cell_spans[i];
  }
  return std::nullopt;
}

// The first word, behind which a comma or a full stop may stand; nullopt where the text has a digit.
std::optional<Span> first_word_of_prose(const Source& source, Span body) {
  const std::string_view text = std::string_view(source.text).substr(0, body.end);
  if (text.find_first_of("0123456789", body.begin) != std::string_view::npos) return std::nullopt;
  for (std::size_t at = body.begin; at < body.end;) {
    const std::size_t begin = at;
    while (at < body.end && text[at] != '\n' && !is_space(fold_at(text, at).value))
      at += fold_at(text, at).length;
    std::size_t end = at;
    while (end > begin && std::string_view(".,;:!?").find(text[end - 1]) != std::string_view::npos) --end;
    if (is_word(text.substr(begin, end - begin))) return Span{begin, end};
    if (at < body.end) at += fold_at(text, at).length;
  }
  return std::nullopt;
}

bool is_finite(const Number& number) { return number.kind == Number::Kind::finite; }

void refuse_prose(const SourcePtr& source, Span word, Diagnostics& diagnostics) {
  const std::string_view text = std::string_view(source->text).substr(word.begin, word.end - word.begin);
  diagnostics.error(source, word,
                    say({"'{0}' is a word: this reads as running text, not as a matrix",
                         "“{0}”是一个单词：这像是一段文字，不是矩阵"},
                        quotable(text)),
                    say({"expected: numbers, or symbols such as v0; a matrix of words needs the line [V] "
                         "above it",
                         "应为数，或 v0 这样的符号；如果矩阵的值确实是单词，请在上面写一行 [V]"}));
}

// A matrix that nobody named may be one of values: v0, v1.  A word before numbers is a label first.  Under no
// name anything of words would be such a matrix, so a sentence is told apart.
std::optional<MatrixText> read_nameless(const MatrixPlace& place, Diagnostics& diagnostics) {
  CellRules rules = rules_of("");
  rules.truth = true;
  Diagnostics first;
  auto text = read_matrix(place, rules, first);
  if (first.has_errors()) {
    rules.symbols = true;
    Diagnostics second;
    auto symbolic = read_matrix(place, rules, second);
    const bool is_read = !second.has_errors();
    const auto word = is_read ? first_word_among(*symbolic) : first_word_of_prose(*place.source, place.body);
    const bool has_numbers =
        is_read && std::any_of(symbolic->cells.begin(), symbolic->cells.end(), is_finite);
    if (word && !has_numbers) {
      refuse_prose(place.source, *word, diagnostics);
      return std::nullopt;
    }
    if (is_read && !word) {
      text = std::move(symbolic);
      first = std::move(second);
    }
  }
  for (const Diagnostic& d : first.list()) diagnostics.add(d);
  return text;
}

class FileReader {
 public:
  FileReader(const SourcePtr& source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {
    file_.source = source;
  }

  MatrixFile read() {
    if (has_sections(source_->text)) {
      sections();
    } else {
      pieces();
    }
    return std::move(file_);
  }

 private:
  void sections() {
    Outline outline = read_outline(source_, diagnostics_, kMostSections);
    file_.together = Together::named;
    file_.settings = std::move(outline.settings);
    for (const Section& section : outline.sections) {
      if (!section.name.empty()) named(section.name, section.name, section.header, section.body);
    }
  }

  void pieces() {
    const Pieces found = pieces_of(source_->text, is_known);
    file_.together = found.together;
    for (const MatrixPiece& piece : found.list) {
      if (found.together == Together::named) {
        if (has_symbolic_sums(piece)) continue;
        named(section_name(piece.name), piece.name, piece.place, piece.body, !found.are_tables);
      } else if (found.together == Together::stack) {
        const Said called = say({"matrix {0}", "第 {0} 个矩阵"}, piece.name);
        keep(piece.name, piece.place,
             read_nameless({source_, piece.body, piece.place, called, Within::section, piece.name},
                           diagnostics_));
      }
    }
    if (found.together == Together::one) {
      const Span whole{0, source_->text.size()};
      keep("", {0, 0},
           read_nameless({source_, whole, {0, 0}, say({"the matrix", "这个矩阵"}), Within::matrix_file},
                         diagnostics_));
      return;
    }
    std::vector<std::string> left_out;
    for (const ScalarPiece& scalar : found.scalars) {
      if (find_key(scalar.name) != nullptr) {
        file_.settings.push_back({scalar.name, scalar.place, scalar.value, scalar.value});
      } else {
        left_out.push_back(scalar.name);
      }
    }
    if (!left_out.empty()) {
      diagnostics_.warning(source_->name,
                           say({"no matrices, and left out: {0}", "不是矩阵，略去：{0}"}, listed(left_out)));
    }
  }

  // "0.2689·v0 + 0.7311·v1", as a trace shows a sum of values without numbers.
  bool has_symbolic_sums(const MatrixPiece& piece) {
    const std::string_view body =
        std::string_view(source_->text).substr(piece.body.begin, piece.body.end - piece.body.begin);
    if (body.find("·") == std::string_view::npos || body.find("\\cdot") != std::string_view::npos)
      return false;
    diagnostics_.warning(
        source_, piece.place,
        say({"{0} holds sums of symbols, and is left out", "{0} 中是符号的和，略去"}, quotable(piece.name)));
    return true;
  }

  // Of tables that qkv wrote itself there is nothing to note.
  void named(const std::string& name, const std::string& wanted, Span place, Span body,
             bool has_notes = true) {
    if (!names_.insert(name).second) {
      if (++repeated_ > kMostRepeated) return;
      diagnostics_.error(source_, place, say({"[{0}] stands twice", "[{0}] 出现了两次"}, quotable(name)));
      return;
    }
    Diagnostics own;
    keep(name, place,
         read_matrix({source_, body, place, say({"[{0}]", "[{0}]"}, quotable(name)), Within::section, wanted},
                     rules_of(name), own));
    for (const Diagnostic& d : own.list()) {
      if (has_notes || d.severity != Severity::note) diagnostics_.add(d);
    }
  }

  void keep(const std::string& name, Span place, std::optional<MatrixText> text) {
    if (!text) return;
    for (Number& number : text->cells) {
      if (number.kind == Number::Kind::nan) number.text = "nan";  // R and Octave write NaN
    }
    file_.matrices.push_back({name, place, std::move(*text)});
  }

  static constexpr std::size_t kMostSections = 100'000;
  static constexpr int kMostRepeated = 20;

  const SourcePtr& source_;
  Diagnostics& diagnostics_;
  MatrixFile file_;
  std::set<std::string> names_;
  int repeated_ = 0;
};

}  // namespace

MatrixFile read_matrix_file(const SourcePtr& source, Diagnostics& diagnostics) {
  return FileReader(source, diagnostics).read();
}

bool names_its_matrices(std::string_view text) {
  return !has_sections(text) && pieces_of(text, is_known).together == Together::named;
}

// [1, 0] is a row, [Q] a section; and so is "[Q" or "[ Q ]" meant, of which the outline tells.
bool has_sections(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at, text.size());
    at = line.next;
    if (line.is_blank()) continue;
    if (header_of(text, line)) return true;
    const std::string_view content = text.substr(line.content.begin, line.content.end - line.content.begin);
    const Folded open = fold_at(content, 0);
    const auto count = [&](char bracket) { return std::count(content.begin(), content.end(), bracket); };
    const bool ends_a_matrix = count(']') > count('[');  // "[np.inf]])"
    const bool is_meant = open.value == '[' && !ends_a_matrix && open.length < content.size() &&
                          std::isalpha(static_cast<unsigned char>(content[open.length])) != 0 &&
                          content.find_first_of(",;(") == std::string_view::npos;
    if (is_meant && !begins_with_number_word(content.substr(open.length))) return true;
  }
  return false;
}

}  // namespace qkv

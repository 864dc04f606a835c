#include "problem/draft.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/display_width.h"
#include "base/position.h"
#include "base/suggest.h"
#include "base/threads.h"
#include "input/lines.h"
#include "input/matrix_text.h"
#include "input/plain_numbers.h"
#include "input/sections.h"
#include "problem/mask.h"
#include "problem/section_kinds.h"
#include "problem/steps.h"

namespace qkv {
namespace {

constexpr std::string_view kExpect = "expect.";

// "L2.W_Q": the name behind a prefix, where there is one.
std::optional<std::string_view> behind_prefix(std::string_view name) {
  const std::string_view inner = behind_prefixes(name);
  return inner.size() < name.size() ? std::optional(inner) : std::nullopt;
}

// Of "d.L2.Y", what arrives at the last layer.
const SectionKind* gradient_kind(std::string_view name) {
  constexpr std::string_view kGradient = "d.";
  if (!name.starts_with(kGradient)) return nullptr;
  const auto inner = behind_prefix(name.substr(kGradient.size()));
  return inner ? find_section_kind(std::string(kGradient) + std::string(*inner)) : nullptr;
}

// The number of "L2.mask".
std::optional<Index> layer_of(std::string_view name) {
  constexpr std::size_t kLongest = 4;
  const std::size_t point = name.find('.');
  if (name.empty() || name[0] != 'L' || point == std::string_view::npos || point < 2 || point > kLongest ||
      name.substr(1, point - 1).find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::stol(std::string(name.substr(1, point - 1)));
}

class DraftReader {
 public:
  DraftReader(const ProblemInput& input, Diagnostics& diagnostics)
      : input_(input), diagnostics_(diagnostics) {}

  Draft read() {
    Outline outline;
    if (input_.file) {
      draft_.file = input_.file->name;
      outline = read_outline(input_.file, diagnostics_);
    }
    settings(outline);
    // What a faulty line was meant to give is not missing.
    draft_.is_complete = !diagnostics_.has_errors();
    draft_.asks_for_result_alone = input_.asks_for_result_alone;
    for (const auto& [name, numbers] : input_.numbers) option_numbers(name, numbers);
    option_matrices();
    sections(outline);
    return std::move(draft_);
  }

 private:
  // ---- settings ----

  void settings(const Outline& outline) {
    std::map<std::string, const Setting*, std::less<>> first;
    for (const Setting& setting : outline.settings) {
      const Place place{outline.source, setting.key_span, {}};
      const auto [earlier, is_new] = first.emplace(setting.key, &setting);
      if (!is_new) {
        twice(say({"'{0}'", "“{0}”"}, quotable(setting.key)), outline.source, earlier->second->key_span,
              setting.key_span);
        continue;
      }
      const auto layer = layer_of(setting.key);
      const Key* key = find_key(layer ? setting.key.substr(setting.key.find('.') + 1) : setting.key);
      if (!key) {
        unknown_setting(setting.key, place);
        continue;
      }
      const Span value = key->is_free_text ? setting.whole_value : setting.value;
      SettingText written{key,
                          outline.source->text.substr(value.begin, value.end - value.begin),
                          place,
                          {outline.source, value, {}}};
      if (layer) {
        draft_.layer_settings[*layer].push_back(std::move(written));
      } else if (!is_overridden(key->name)) {
        read_setting(written, draft_.settings, diagnostics_);
      }
    }
    for (const auto& [name, value] : input_.settings) {
      const Key* key = find_key(name);
      const Place place{nullptr, {}, key ? option_of(*key) : "--" + name};
      if (!key) {
        unknown_setting(name, place);
      } else {
        read_setting({key, value, place, place}, draft_.settings, diagnostics_);
      }
    }
  }

  bool is_overridden(std::string_view key) const {
    for (const auto& [name, value] : input_.settings) {
      if (name == key) return true;
    }
    // --k FILE takes the place of `K = Q` too.
    const auto is_of_key = [&](const auto& matrix) { return matrix.first == key; };
    return std::any_of(input_.matrices.begin(), input_.matrices.end(), is_of_key) ||
           std::any_of(input_.numbers.begin(), input_.numbers.end(), is_of_key);
  }

  void unknown_setting(const std::string& name, const Place& place) {
    Said hint;
    if (find_section_kind(name)) {
      hint = say({"'{0}' is a matrix: write [{0}] on a line of its own, and its rows below",
                  "“{0}”是矩阵：请单独一行写 [{0}]，数据写在下面各行"},
                 name);
    } else {
      std::vector<std::string_view> names;
      for (const Key& key : keys()) names.push_back(key.name);
      hint = did_you_mean(name, names);
    }
    report(Severity::error, place, say({"unknown setting '{0}'", "未知的设置“{0}”"}, quotable(name)),
           std::move(hint), diagnostics_);
  }

  void twice(const Said& what, const SourcePtr& source, Span first, Span second) {
    diagnostics_.error(
        source, second,
        say({"{0} is given twice: on line {1} and on line {2}", "{0}给出了两次：第 {1} 行和第 {2} 行"}, what,
            line_of(source->text, first.begin), line_of(source->text, second.begin)));
  }

  // ---- matrices ----

  // Large ones, of nothing but numbers, are read at the same time.
  void option_matrices() {
    const auto& files = input_.matrices;
    std::vector<MatrixPlace> places;
    for (const auto& [name, source] : files) {
      places.push_back(
          {source, {0, source->text.size()}, {0, 0}, say({"{0}", "{0}"}, name), Within::matrix_file, name});
    }
    std::vector<std::optional<MatrixText>> plain(files.size());
    share(static_cast<Index>(files.size()), static_cast<std::size_t>(threads()), [&](Index i, std::size_t) {
      const auto at = static_cast<std::size_t>(i);
      plain[at] = read_plain_numbers(places[at]);
    });
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string& name = files[i].first;
      const SectionKind* kind = find_section_kind(name);
      if (!kind || draft_.has(name)) continue;
      DraftMatrix matrix =
          plain[i] ? with_text(places[i], std::move(plain[i])) : read(places[i], kind->cells);
      matrix.is_from_option = true;
      keep(*kind, std::move(matrix), name);
    }
  }

  void option_numbers(const std::string& name, const NumbersPtr& numbers) {
    const SectionKind* kind = find_section_kind(name);
    if (!kind) return;
    DraftMatrix matrix;
    matrix.given.rows = numbers->rows;
    matrix.given.cols = numbers->cols;
    matrix.given.numbers = numbers;
    matrix.given.source = std::make_shared<Source>(Source{numbers->file, ""});
    matrix.has_shape = true;
    matrix.is_from_option = true;
    keep(*kind, std::move(matrix), name);
  }

  void sections(const Outline& outline) {
    std::map<std::string, Span, std::less<>> first;
    for (const Section& section : outline.sections) {
      if (section.name.empty()) continue;
      const auto [earlier, is_new] = first.emplace(section.name, section.header);
      if (!is_new) {
        twice(say({"[{0}]", "[{0}] "}, quotable(section.name)), outline.source, earlier->second,
              section.header);
      } else {
        read_section(outline.source, section);
      }
    }
  }

  void read_section(const SourcePtr& source, const Section& section) {
    const Said called = say({"[{0}]", "[{0}]"}, quotable(section.name));
    std::string_view wanted = section.name;
    if (wanted.starts_with(kExpect)) wanted.remove_prefix(kExpect.size());
    const MatrixPlace place{source, section.body,    section.header,
                            called, Within::section, std::string(behind_prefixes(wanted))};
    if (section.name.starts_with(kExpect)) return expectation(place, section.name.substr(kExpect.size()));
    const SectionKind* kind = find_section_kind(section.name);
    const auto inner = behind_prefix(section.name);
    if (!kind && inner) kind = find_section_kind(*inner);  // of one layer or one head
    if (!kind) kind = gradient_kind(section.name);
    if (!kind) return unknown_section(place, section.name);
    if (draft_.has(section.name)) return;  // an option has taken its place
    if (std::string_view(kind->name) == "mask" && refuse_mask_in_words(place)) return;
    DraftMatrix matrix = read(place, kind->cells);
    keep(*kind, std::move(matrix), section.name);
  }

  // [mask] above "causal": the name of a mask, which is a setting.
  bool refuse_mask_in_words(const MatrixPlace& place) {
    const Span body = trimmed_lines(place.source->text, place.body);
    const std::string_view text =
        std::string_view(place.source->text).substr(body.begin, body.end - body.begin);
    std::vector<ValueFault> ignored;
    const bool is_setting = body.begin < body.end && !(text[0] >= '0' && text[0] <= '9') &&
                            text.find('\n') == std::string_view::npos && text.size() < 1000 &&
                            parse_mask(text, ignored).has_value();
    if (!is_setting) return false;
    draft_.is_complete = false;
    diagnostics_.error(place.source, body,
                       say({"'{0}' names a mask, and [mask] holds its matrix",
                            "“{0}”是掩码的名称，而 [mask] 中应是它的矩阵"},
                           quotable(text)),
                       say({"write 'mask = {0}' above the first section", "请在第一个小节之前写“mask = {0}”"},
                           quotable(text)));
    return true;
  }

  // Without what is blank above and below, and without comments behind.
  static Span trimmed_lines(std::string_view text, Span body) {
    Span found{body.end, body.end};
    for (std::size_t at = body.begin; at < body.end;) {
      const Line line = line_at(text, at, body.end);
      at = line.next;
      if (line.is_blank()) continue;
      found.begin = std::min(found.begin, line.content.begin);
      found.end = line.content.end;
    }
    return found;
  }

  void unknown_section(const MatrixPlace& place, const std::string& name) {
    draft_.is_complete = false;
    std::vector<std::string_view> names;
    for (const SectionKind& kind : section_kinds()) names.push_back(kind.name);
    Said hint;
    if (find_key(name)) {
      hint = say({"'{0}' is a setting: write '{0} = …' above the first section",
                  "“{0}”是设置：请在第一个小节之前写“{0} = …”"},
                 name);
    } else if (name == "expect") {
      hint = say({"name the step: [expect.weights]", "请写明是哪一步：[expect.weights]"});
    } else if (name.size() > 1 && name[0] == 'v' &&
               name.find_first_not_of("0123456789", 1) == std::string::npos) {
      hint = say({"a row of [V] that holds one symbol is written without brackets: {0}",
                  "[V] 中只有一个符号的行不加方括号：{0}"},
                 name);
    } else {
      hint = did_you_mean(name, names);
    }
    diagnostics_.error(place.source, place.name,
                       say({"unknown section '{0}'", "未知的小节“{0}”"}, quotable(name)), std::move(hint));
  }

  void expectation(const MatrixPlace& place, const std::string& step) {
    DraftMatrix printed = read(place, {.infinity = true, .blanks = true});
    if (find_step_name(behind_prefixes(step))) {
      draft_.expected.push_back({step, std::move(printed)});
      return;
    }
    const std::vector<std::string_view> all = step_names();
    Said hint = did_you_mean(step, all);
    if (hint.empty()) {
      hint = say({"the steps are {0}", "步骤有 {0}"}, fmt::format("{}", fmt::join(all, " ")));
    }
    diagnostics_.error(place.source, place.name,
                       say({"unknown step '{0}'", "未知的步骤“{0}”"}, quotable(step)), std::move(hint));
  }

  DraftMatrix read(const MatrixPlace& place, CellRules rules) {
    return with_text(place, read_matrix(place, rules, diagnostics_));
  }

  static DraftMatrix with_text(const MatrixPlace& place, std::optional<MatrixText> text) {
    DraftMatrix result;
    result.given.source = place.source;
    result.given.span = place.name;
    if (text) {
      result.given.rows = text->rows;
      result.given.cols = text->cols;
      result.given.cells = std::move(text->cells);
      result.given.row_labels = std::move(text->row_labels);
      result.cell_spans = std::move(text->cell_spans);
      result.row_spans = std::move(text->row_spans);
      result.has_shape = true;
      result.has_faults = text->has_faults;
    }
    return result;
  }

  void keep(const SectionKind& kind, DraftMatrix matrix, const std::string& name) {
    if (kind.is_vector && matrix.has_shape) {
      Given& given = matrix.given;
      if (given.rows > 1 && given.cols > 1) {
        matrix.has_shape = false;
        report(Severity::error, matrix.place(),
               say({"{0} is {1}×{2}, but it is one row or one column of numbers",
                    "{0} 是 {1}×{2}，但它应当只有一行或一列"},
                   kind.name, given.rows, given.cols),
               {}, diagnostics_);
      }
      given.cols *= given.rows;
      given.rows = 1;
      given.row_labels.clear();
    }
    draft_.matrices.emplace(name, std::move(matrix));
  }

  const ProblemInput& input_;
  Diagnostics& diagnostics_;  // without errors when reading begins
  Draft draft_;
};

}  // namespace

Draft read_draft(const ProblemInput& input, Diagnostics& diagnostics) {
  return DraftReader(input, diagnostics).read();
}

}  // namespace qkv

#include "check/shown_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/decimal.h"
#include "base/display_width.h"
#include "problem/answers.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// "−∞" as tables show it, "0.4011", "1.2500e+20"; nullopt for what is no number.
std::optional<ShownNumber> number_shown(std::string text) {
  ShownNumber number{text, 0, 0, false};
  if (text == "_") {
    number.is_blank = true;
    return number;
  }
  const std::string minus = "−";
  for (std::size_t at = text.find(minus); at != std::string::npos; at = text.find(minus))
    text.replace(at, minus.size(), "-");
  const std::string infinity = "∞";
  if (const std::size_t at = text.find(infinity); at != std::string::npos)
    text.replace(at, infinity.size(), "inf");
  NumberError ignored;
  const auto parsed = parse_number(text, ignored);
  if (!parsed || (parsed->kind != Number::Kind::finite && parsed->kind != Number::Kind::infinite))
    return std::nullopt;
  number.value = parsed->value;
  const std::size_t e = text.find_first_of("eE");
  const std::size_t point = text.find('.');
  const bool is_expression = text.find_first_of("*/s") != std::string::npos;
  if (parsed->kind == Number::Kind::finite && !is_expression) {
    const std::size_t end = std::min(e, text.size());
    const double decimals = point == std::string::npos ? 0 : static_cast<double>(end - point - 1);
    const double exponent = e == std::string::npos ? 0 : std::strtod(text.c_str() + e + 1, nullptr);
    number.unit = std::pow(10, exponent - decimals);
    // A number without a point is exact: 3 is 3.
    if (point == std::string::npos && e == std::string::npos) number.unit = 0;
  }
  return number;
}

// A trace without decimals rounds to whole numbers, which are not exact then.
void round_to_wholes(std::vector<ShownStep>& steps) {
  const auto round = [](std::vector<ShownNumber>& row) {
    for (ShownNumber& number : row) {
      if (number.unit == 0 && std::isfinite(number.value) && !number.is_blank) number.unit = 1;
    }
  };
  for (ShownStep& step : steps) {
    for (auto& row : step.cells) round(row);
    round(step.sums);
  }
}

// A cell such as 0.269·v0 + 0.731·v1 is compared as it is written.
ShownNumber symbolic(std::string text) {
  return {std::move(text), std::numeric_limits<double>::quiet_NaN(), 0, false};
}

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(std::to_string(i));
  return names;
}

// ---- JSON ------------------------------------------------------------------------------------

bool is_table(const ShownStep& step) {
  return !step.cells.empty() && !step.cells.front().empty() &&
         std::all_of(step.cells.begin(), step.cells.end(),
                     [&](const auto& row) { return row.size() == step.cells.front().size(); });
}

// The step with a label for each row and column; nullopt when its rows are not of one length.
std::optional<ShownStep> labelled(ShownStep step) {
  if (!is_table(step)) return std::nullopt;
  if (step.rows.size() != step.cells.size()) step.rows = numbered(step.cells.size());
  if (step.cols.size() != step.cells.front().size()) step.cols = numbered(step.cells.front().size());
  return step;
}

// A step of a trace; nullopt, or an exception, when it is none.
std::optional<ShownStep> from_json_step(const Json& json) {
  ShownStep step{json.at("id").get<std::string>(), {}, {}, {}};
  for (const Json& label : json.value("rows", Json::array())) step.rows.push_back(label.get<std::string>());
  for (const Json& label : json.value("cols", Json::array())) step.cols.push_back(label.get<std::string>());
  const Json& shown = json.at("shown");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    std::vector<ShownNumber> row;
    for (std::size_t j = 0; j < shown.at(i).size(); ++j) {
      const auto text = shown.at(i).at(j).get<std::string>();
      auto number = number_shown(text);
      if (!number) number = symbolic(text);
      const Json& value = json.at("values").at(i).at(j);
      if (value.is_number()) number->value = value.get<double>();
      row.push_back(std::move(*number));
    }
    step.cells.push_back(std::move(row));
  }
  return labelled(std::move(step));
}

// A list of lists of numbers, as json.dumps writes an array; nullopt, or an exception, when it is none.
std::optional<ShownStep> from_json_array(std::string name, const Json& rows) {
  if (!rows.is_array()) return std::nullopt;
  ShownStep step{std::move(name), {}, {}, {}};
  double finest = 0;
  for (const Json& row : rows) {
    if (!row.is_array()) return std::nullopt;
    std::vector<ShownNumber> cells;
    for (const Json& number : row) {
      cells.push_back(number_shown(shortest_text(number.get<double>())).value());
      const double unit = cells.back().unit;
      if (unit > 0) finest = finest > 0 ? std::min(finest, unit) : unit;
    }
    step.cells.push_back(std::move(cells));
  }
  // Zeros at the end are left out in JSON: 0.5 among numbers with four decimals has four.
  for (auto& row : step.cells) {
    for (ShownNumber& number : row) number.unit = finest;
  }
  return labelled(std::move(step));
}

std::optional<std::vector<ShownStep>> from_json(const SourcePtr& source, Diagnostics& diagnostics) {
  const Json json = Json::parse(source->text, nullptr, false);
  const auto fail = [&](Said message) {
    diagnostics.error(source->name, std::move(message),
                      say({"expected: what qkv trace --format json writes, or {0}",
                           "应为 qkv trace --format json 的输出，或 {0}"},
                          R"({"weights": [[0.4, 0.6]]})"));
    return std::nullopt;
  };
  if (json.is_discarded()) return fail(say({"this is not well-formed JSON", "JSON 格式有误"}));
  std::vector<ShownStep> steps;
  const Said no_trace = say({"this JSON is no trace", "这份 JSON 不是 qkv 的轨迹"});
  try {
    if (json.contains("schema")) {
      if (json["schema"] != "qkv/trace-1") return fail(no_trace);
      for (const Json& step : json.at("steps")) {
        auto read = from_json_step(step);
        if (!read) return fail(no_trace);
        steps.push_back(std::move(*read));
      }
      if (json.value("/settings/decimals"_json_pointer, "") == "0") round_to_wholes(steps);
    } else {
      for (const auto& item : json.items()) {
        auto read = from_json_array(item.key(), item.value());
        if (!read) return fail(no_trace);
        steps.push_back(std::move(*read));
      }
    }
  } catch (const Json::exception&) {  // a string where an array should be, and the like
    return fail(no_trace);
  }
  return steps;
}

// ---- What qkv trace prints ----------------------------------------------------------------------

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

// Cells are two spaces or more apart; inside a symbolic one there are single spaces.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result;
  std::string field;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const bool is_gap =
        i == line.size() || (line[i] == ' ' && (i + 1 == line.size() || line[i + 1] == ' ' || field.empty()));
    if (!is_gap) {
      field += line[i];
      continue;
    }
    if (!field.empty()) result.push_back(std::move(field));
    field.clear();
  }
  return result;
}

// "    scores (3×3) = Q …" → id, rows and columns.
struct Announced {
  std::string id;
  std::size_t rows = 0;
  std::size_t cols = 0;
};
std::optional<Announced> announced(const std::string& line) {
  if (!line.starts_with("    ")) return std::nullopt;
  const std::vector<std::string> parts = words(line);
  if (parts.size() < 2 || (parts.size() > 2 && parts[2] != "=")) return std::nullopt;
  std::string shape = parts[1];
  if (!shape.starts_with('(') || !shape.ends_with(')')) return std::nullopt;
  for (const std::string sign : {"×", "x"}) {
    const std::size_t at = shape.find(sign);
    if (at == std::string::npos) continue;
    const std::string rows = shape.substr(1, at - 1);
    const std::string cols = shape.substr(at + sign.size(), shape.size() - at - sign.size() - 1);
    const auto is_count = [](const std::string& s) {
      return !s.empty() && s.size() < 8 && s.find_first_not_of("0123456789") == std::string::npos;
    };
    if (is_count(rows) && is_count(cols)) return Announced{parts[0], std::stoul(rows), std::stoul(cols)};
  }
  return std::nullopt;
}

// "0 ░▒▓█ 0.5035", "0 .:-=+*#%@ 0.5035", or, when its colours are gone, as much room between two numbers.
bool is_heat_legend(const std::string& line) {
  const std::vector<std::string> parts = words(line);
  if (parts.size() < 2 || !number_shown(parts.front()) || !number_shown(parts.back())) return false;
  if (parts.size() == 3) return parts[1] == "░▒▓█" || parts[1] == ".:-=+*#%@";
  return parts.size() == 2 && line.ends_with(parts[0] + std::string(24, ' ') + parts[1]);
}

// "░░" or "++": a shade, as --heat writes it behind a number where there are no colours.
bool is_shade(const std::string& word) {
  for (const std::string block : {"░", "▒", "▓", "█"}) {
    if (word == block + block) return true;
  }
  return word.size() == 2 && word[0] == word[1] && std::string_view(".:-=+*#%@").find(word[0]) < 9;
}

// What --heat adds to tables taken away again: the shades, and the legend, an empty line below each table.
std::string without_heat(const std::string& text) {
  std::vector<std::string> lines;
  bool has_legend = false;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const bool is_legend = !lines.empty() && lines.back().empty() && is_heat_legend(line);
    has_legend = has_legend || is_legend;
    if (!is_legend) lines.push_back(std::move(line));
  }
  if (!has_legend) return text;
  std::string plain;
  for (const std::string& line : lines) {
    std::string before;  // the word before the one that begins at `at`
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
      const std::size_t end = std::min(line.find(' ', begin), line.size());
      std::string word = line.substr(begin, end - begin);
      if (!is_shade(word) || !number_shown(before)) plain += line.substr(at, end - at);
      before = std::move(word);
      at = end;
    }
    plain += "\n";
  }
  return plain;
}

std::vector<ShownStep> from_trace_text(const std::string& text) {
  std::istringstream stream(text);
  std::vector<ShownStep> steps;
  std::optional<Announced> open;
  bool has_sums = false;
  bool is_in_wholes = false;
  for (std::string line; std::getline(stream, line);) {
    is_in_wholes = is_in_wholes || (steps.empty() && (line + ";").find("decimals = 0;") != std::string::npos);
    if (auto next = announced(line)) {
      open = std::move(next);
      steps.push_back({open->id, {}, numbered(open->cols), {}});
      has_sums = false;
      continue;
    }
    if (!open || steps.back().cells.size() == open->rows) continue;
    std::vector<std::string> parts = words(line);
    if (parts.empty()) continue;
    std::vector<ShownNumber> row;
    if (line.find("·") != std::string::npos) {
      if (auto cells = fields(line); cells.size() >= open->cols) {
        for (std::size_t j = cells.size() - open->cols; j < cells.size(); ++j)
          row.push_back(symbolic(cells[j]));
        steps.back().rows.push_back(
            cells.size() > open->cols ? cells.front() : std::to_string(steps.back().cells.size() + 1));
        steps.back().cells.push_back(std::move(row));
      }
      continue;
    }
    std::size_t wanted = open->cols + (has_sums ? 1 : 0);
    while (!parts.empty() && row.size() < wanted) {
      const auto number = number_shown(parts.back());
      if (!number) break;
      row.insert(row.begin(), *number);
      parts.pop_back();
    }
    if (row.size() < wanted || (row.size() == wanted && steps.back().cells.empty() && parts.empty() &&
                                open->cols > 1 && line.find('.') == std::string::npos)) {
      // The line of column labels, which may have spaces in them.
      const std::vector<std::string> labels = fields(line);
      has_sums = labels.size() == open->cols + 1 && (labels.back() == "sum" || labels.back() == "行和");
      if (has_sums || labels.size() == open->cols)
        steps.back().cols.assign(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(open->cols));
      continue;
    }
    if (has_sums) {
      steps.back().sums.push_back(row.back());
      row.pop_back();
    }
    std::string label;
    for (const std::string& part : parts) label += (label.empty() ? "" : " ") + part;
    steps.back().rows.push_back(label.empty() ? std::to_string(steps.back().cells.size() + 1) : label);
    steps.back().cells.push_back(std::move(row));
  }
  // K = Q is announced without a table.
  std::erase_if(steps, [](const ShownStep& s) { return s.cells.empty(); });
  if (is_in_wholes) round_to_wholes(steps);
  return steps;
}

// A table as `--only-output` prints it: a line of column labels, then rows with one word more, the label.
std::optional<ShownStep> from_bare_table(const std::string& text) {
  std::istringstream stream(text);
  std::optional<ShownStep> table;
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> parts = words(line);
    if (parts.empty()) continue;
    if (!table) {
      if (!line.starts_with(' ')) return std::nullopt;
      table = ShownStep{"", {}, std::move(parts), {}};
      continue;
    }
    if (parts.size() <= table->cols.size()) return std::nullopt;
    std::vector<ShownNumber> row;
    std::string label;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i + table->cols.size() < parts.size()) {
        label += (label.empty() ? "" : " ") + parts[i];
        continue;
      }
      const auto number = number_shown(parts[i]);
      if (!number) return std::nullopt;
      row.push_back(*number);
    }
    table->rows.push_back(std::move(label));
    table->cells.push_back(std::move(row));
  }
  return table && !table->cells.empty() ? table : std::nullopt;
}

// ---- Arrays ----------------------------------------------------------------------------------------

// All numbers of an array are good to the same place: that of the last reliable digit of the largest.
std::vector<ShownStep> from_array(const Source& source) {
  ShownStep step;
  std::istringstream lines(source.text);
  double largest = 0;
  for (std::string line; std::getline(lines, line);) {
    std::vector<ShownNumber> row;
    for (const std::string& word : words(line)) {
      // The digits are all there, so this is the very number that was saved.
      const double value = std::strtod(word.c_str(), nullptr);
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
      row.push_back({shortest_text(value), value, 0, false});
    }
    step.cells.push_back(std::move(row));
    step.rows.push_back(std::to_string(step.cells.size()));
  }
  step.cols = numbered(step.cells.front().size());
  if (largest > 0) {
    const double unit = std::pow(10, std::floor(std::log10(largest)) + 1 - source.digits);
    for (auto& row : step.cells) {
      for (ShownNumber& number : row) number.unit = unit;
    }
  }
  return {std::move(step)};
}

// "{"weights": …"; "{{1, 2}, {3, 4}}" is a matrix in Mathematica or C.
bool begins_json_object(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const std::size_t open = text.find_first_not_of(kWhite);
  if (open == std::string_view::npos || text[open] != '{') return false;
  const std::size_t inside = text.find_first_not_of(kWhite, open + 1);
  return inside == std::string_view::npos ||
         std::string_view("{-.0123456789").find(text[inside]) == std::string_view::npos;
}

// ---- Sheets and matrices ---------------------------------------------------------------------------

std::optional<std::vector<ShownStep>> from_sheet(const SourcePtr& source, Diagnostics& diagnostics) {
  Diagnostics own;
  const AnswerFile file = read_answers(source, own);
  if (file.is_problem) {
    diagnostics.error(
        source->name,
        say({"this is a problem, whose steps are still to be worked out", "这是一道题，各步还没有算出来"}),
        say({"give what `qkv trace {0} -f json` prints", "请给出 `qkv trace {0} -f json` 的结果"},
            quotable(source->name)));
    return std::nullopt;
  }
  for (const Diagnostic& d : own.list()) diagnostics.add(d);
  if (own.has_errors()) return std::nullopt;
  std::vector<ShownStep> steps;
  for (const Answer& answer : file.answers) {
    const Given& given = answer.written;
    ShownStep step{answer.step, given.row_labels, numbered(static_cast<std::size_t>(given.cols)), {}};
    if (step.rows.empty()) step.rows = numbered(static_cast<std::size_t>(given.rows));
    for (Index i = 0; i < given.rows; ++i) {
      std::vector<ShownNumber> row;
      for (Index j = 0; j < given.cols; ++j) {
        const Number& number = given.at(i, j);
        auto shown = number_shown(number.kind == Number::Kind::blank ? "_" : number.text);
        row.push_back(shown ? *shown : ShownNumber{number.text, number.value, 0, false});
      }
      step.cells.push_back(std::move(row));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

TraceForm trace_form(const Source& source) {
  if (source.digits > 0) return TraceForm::none;
  if (begins_json_object(source.text))
    return source.text.find("\"qkv/trace-") == std::string::npos ? TraceForm::none : TraceForm::json;
  std::istringstream stream(source.text);
  for (std::string line; std::getline(stream, line);) {
    if (announced(line)) return TraceForm::text;
  }
  return TraceForm::none;
}

std::optional<std::vector<ShownStep>> read_steps(const SourcePtr& source, Diagnostics& diagnostics) {
  const std::string& text = source->text;
  if (source->digits > 0) return from_array(*source);
  if (begins_json_object(text)) return from_json(source, diagnostics);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!announced(line)) continue;
    // 1/√2 ≈ 0.7071: two numbers a cell.
    if (text.find(" ≈ ") != std::string::npos) {
      diagnostics.error(source->name,
                        say({"a trace with --exact cannot be read back", "带 --exact 的轨迹不能读回"}),
                        say({"write it without --exact, or as JSON", "请去掉 --exact，或写成 JSON"}));
      return std::nullopt;
    }
    return from_trace_text(without_heat(text));
  }
  if (auto table = from_bare_table(without_heat(text))) return std::vector<ShownStep>{std::move(*table)};
  return from_sheet(source, diagnostics);
}

}  // namespace qkv

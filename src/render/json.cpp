#include "render/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/decimal.h"
#include "base/display_width.h"
#include "report/against.h"
#include "report/cell_text.h"
#include "report/checks.h"
#include "report/formula.h"
#include "report/proofs.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

// nlohmann writes null for what is not finite.
Json number(double value) {
  if (!std::isfinite(value)) return fixed_text(value, 0);
  return value == 0 ? 0.0 : value;
}

Json value_of(const Trace& trace, const CellAt& at) {
  const Node& node = trace.plan()[at.node];
  if (!node.is_symbolic()) return number(trace.values(at.node)(at.row, at.col));
  Json coefficients = Json::object();
  const Index width = static_cast<Index>(node.basis.size());
  for (Index b = 0; b < width; ++b) {
    const Index col = at.col * width + b;
    if (trace.is_exactly_zero(at.node, at.row, col)) continue;
    const std::string& name = node.basis[static_cast<std::size_t>(b)];
    coefficients[name.empty() ? "1" : name] = number(trace.values(at.node)(at.row, col));
  }
  return coefficients;
}

Json labels_or_numbers(const std::vector<std::string>& labels, Index count) {
  if (!labels.empty()) return labels;
  Json numbers = Json::array();
  for (Index i = 1; i <= count; ++i) numbers.push_back(std::to_string(i));
  return numbers;
}

const char* name_of(Level level) {
  switch (level) {
    case Level::main:
      return "main";
    case Level::cells:
      return "cells";
    case Level::full:
      return "full";
  }
  return "main";
}

// "" where the exact value has no form.
Json exact_of(const Trace& trace, NodeId id) {
  const Node& node = trace.plan()[id];
  Json rows = Json::array();
  for (Index i = 0; i < node.shape.rows; ++i) {
    Json row = Json::array();
    for (Index j = 0; j < node.shape.cols; ++j) row.push_back(trace.exact_text(id, i, j));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json departure_as_json(const Departure& d) {
  Json json;
  json["cell"] = {d.at.row + 1, d.at.col + 1};
  json["shown"] = d.here;
  json["true"] = d.truly;
  json["units"] = d.units ? Json(*d.units) : Json(nullptr);
  return json;
}

Json node_as_json(const Trace& trace, NodeId id, const Telling& telling) {
  const Plan& plan = trace.plan();
  const Node& node = plan[id];
  Json step;
  step["id"] = node.id;
  step["op"] = node.op->name;
  step["title"] = node.op->title.in(telling.language);
  step["formula"] = tex_formula(plan, id);
  step["inputs"] = Json::array();
  for (const NodeId input : node.inputs) step["inputs"].push_back(plan[input].id);
  step["level"] = name_of(node.level);
  step["shape"] = {node.shape.rows, node.shown_cols()};
  step["rows"] = labels_or_numbers(node.rows, node.shape.rows);
  step["cols"] = labels_or_numbers(node.cols, node.shown_cols());
  Json values = Json::array();
  Json shown = Json::array();
  for (Index i = 0; i < node.shape.rows; ++i) {
    Json value_row = Json::array();
    Json shown_row = Json::array();
    for (Index j = 0; j < node.shown_cols(); ++j) {
      value_row.push_back(value_of(trace, {id, i, j}));
      shown_row.push_back(shown_cell(trace, {id, i, j}, telling.decimals).text);
    }
    values.push_back(std::move(value_row));
    shown.push_back(std::move(shown_row));
  }
  step["values"] = std::move(values);
  step["shown"] = std::move(shown);
  if (trace.arithmetic() == Arithmetic::doubles) step["bound"] = number(trace.bound(id));
  if (telling.exact) step["exact"] = exact_of(trace, id);
  if (telling.truth != nullptr) {
    const Departures found = departures(trace, *telling.truth, id, telling.decimals);
    step["differing"] = found.differing;
    if (found.largest) step["largest"] = departure_as_json(*found.largest);
  }
  return step;
}

std::string name_of(const Trace& trace) {
  switch (trace.arithmetic()) {
    case Arithmetic::proved:
      return "proved";
    case Arithmetic::doubles:
      return "double";
    case Arithmetic::format:
      return trace.format()->name;
    case Arithmetic::plain:
      return "plain double";
  }
  return "proved";
}

Json checks_as_json(const Trace& trace, Language language) {
  Json lines = Json::array();
  for (const Block& block : checks(trace, language)) {
    const auto* line = std::get_if<Paragraph>(&block);
    if (line == nullptr) continue;
    lines.push_back({{"sentence", line->text}, {"holds", line->tone == Tone::good}});
  }
  return lines;
}

Json proofs_as_json(const Telling& telling) {
  Json list = Json::array();
  for (const auto& [claim, found] : telling.proofs) {
    list.push_back({{"claim", claim.in(telling.language)},
                    {"holds", is_shown(found)},
                    {"compared", found.compared},
                    {"exactly_equal", found.exactly},
                    {"largest_difference", number(found.largest)}});
  }
  return list;
}

const char* name_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::exact:
      return "agrees";
    case Agreement::on_paper:
      return "agrees on paper";
    case Agreement::differs:
      return "differs";
  }
  return "differs";
}

Json comparison_as_json(const Comparison& c) {
  Json json;
  json["id"] = c.step;
  json["verdict"] = name_of(c.agreement);
  json["compared"] = c.compared;
  json["differences"] = Json::array();
  for (const Difference& d : c.differences) {
    Json difference;
    difference["cell"] = {d.at.row + 1, d.at.col + 1};
    difference["printed"] = d.printed;
    difference["calculated"] = d.calculated;
    difference["by"] = d.by;
    json["differences"].push_back(std::move(difference));
  }
  return json;
}

// What a terminal must not see (bidi controls, line separators) is escaped here too; other
// letters stay readable.
std::string dumped(const Json& json) {
  const std::string raw = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (std::size_t at = 0; at < raw.size();) {
    const CodePoint c = first_code_point(std::string_view(raw).substr(at));
    const std::string_view bytes = std::string_view(raw).substr(at, c.length);
    out += visible(bytes) == bytes ? std::string(bytes)
                                   : fmt::format("\\u{:04x}", static_cast<unsigned>(c.value));
    at += c.length;
  }
  return out;
}

// Objects over several lines, a row of a matrix on one.
void write(const Json& json, int indent, std::string& out) {
  const auto begin_line = [&](int by) {
    out += "\n" + std::string(static_cast<std::size_t>(indent + by), ' ');
  };
  const bool is_row = json.is_array() && (json.empty() || !json.front().is_structured() ||
                                          (json.front().is_object() && !json.front().contains("id")));
  if (!json.is_structured() || is_row) {
    out += dumped(json);
    return;
  }
  bool is_first = true;
  out += json.is_object() ? '{' : '[';
  for (const auto& [key, value] : json.items()) {
    if (!is_first) out += ',';
    is_first = false;
    begin_line(2);
    if (json.is_object()) out += dumped(Json(key)) + ": ";
    write(value, indent + 2, out);
  }
  if (!json.empty()) begin_line(0);
  out += json.is_object() ? '}' : ']';
}

}  // namespace

std::string render_json(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
                        const Telling& telling) {
  Json json;
  json["schema"] = "qkv/trace-1";
  json["title"] = about.title;
  json["settings"] = Json::object();
  for (const auto& [key, value] : about.settings) json["settings"][key] = value;
  json["arithmetic"] = name_of(trace);
  json["assumed_ties"] = 0;  // known when all digits are written
  json["given"] = Json::array();
  json["steps"] = Json::array();
  json["asides"] = Json::array();
  for (NodeId id = 0; id < trace.plan().nodes.size(); ++id) {
    const Role role = trace.plan()[id].role;
    const char* list = role == Role::step ? "steps" : (role == Role::given ? "given" : "asides");
    json[list].push_back(node_as_json(trace, id, telling));
  }
  if (telling.truth != nullptr) {
    json["first_difference"] = nullptr;
    for (NodeId id = 0; id < trace.plan().nodes.size(); ++id) {
      if (trace.plan()[id].role != Role::step) continue;
      const Departures found = departures(trace, *telling.truth, id, telling.decimals);
      if (!found.first) continue;
      json["first_difference"] = {{"id", trace.plan()[id].id}};
      json["first_difference"].update(departure_as_json(*found.first));
      break;
    }
  }
  if (!telling.proofs.empty()) json["proofs"] = proofs_as_json(telling);
  if (telling.checks) json["checks"] = checks_as_json(trace, telling.language);
  json["expect"] = Json::array();
  for (const Comparison& c : comparisons) json["expect"].push_back(comparison_as_json(c));
  json["assumed_ties"] = trace.assumed_ties();
  json["warnings"] = Json::array();
  for (const Said& warning : about.warnings) json["warnings"].push_back(warning.in(telling.language));
  for (const Said& warning : trace.warnings()) json["warnings"].push_back(warning.in(telling.language));
  std::string out;
  write(json, 0, out);
  return out + "\n";
}

}  // namespace qkv

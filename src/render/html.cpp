#include "render/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/display_width.h"
#include "base/escape.h"
#include "render/colormap.h"
#include "render/html_page.h"
#include "render/mathml.h"
#include "render/text.h"
#include "report/cell_text.h"
#include "report/formula.h"

namespace qkv {
namespace {

using Json = nlohmann::json;

// Heads are drawn beside one another while they have no more cells than this in all.
constexpr std::size_t kMostCellsOfHeads = 20000;

// Swatches of a table's scale.
constexpr int kSwatches = 16;

// The same words in both languages stand once.
std::string both(const std::string& en, const std::string& zh) {
  if (en == zh) return escape_xml(en);
  return "<span lang=\"en\">" + escape_xml(en) + "</span><span lang=\"zh\">" + escape_xml(zh) + "</span>";
}
std::string both(const Said& said) { return both(said.en, said.zh); }

// Where a table's cells stand among all cells of the page.
struct Placed {
  std::size_t section = 0;
  std::size_t first = 0;  // number of its first cell
  std::size_t width = 0;  // cells of a row, the sum included
  const Table* table = nullptr;

  std::optional<std::size_t> number(const CellAt& at) const {
    const auto row = std::find(table->node_rows.begin(), table->node_rows.end(), at.row);
    if (row == table->node_rows.end()) return std::nullopt;
    return first + static_cast<std::size_t>(row - table->node_rows.begin()) * width +
           static_cast<std::size_t>(at.col);
  }
};

// What the script knows: of each cell of the page its line of arithmetic and the cells it came from.
class Arithmetics {
 public:
  Arithmetics(const Trace& trace, const std::map<NodeId, Placed>& tables, int decimals, bool is_brief)
      : trace_(trace), plan_(trace.plan()), tables_(tables), decimals_(decimals), is_brief_(is_brief) {}

  // False when it takes more numbers than a page should hold.
  bool add(const Table& table) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      for (std::size_t j = 0; j < table.rows[i].size(); ++j) {
        if (!table.node) {
          put(nullptr, Json::array());
        } else if (table.rows[i][j].role == CellRole::sum) {
          add_sum(table, i, j);
        } else {
          add_cell({*table.node, table.node_rows[i], static_cast<Index>(j)});
        }
        if (numbers_ > kMostNumbersInPage) return false;
      }
    }
    return true;
  }

  std::string text() const {
    const Json all{{"lines", lines_}, {"from", from_}};
    return escape_json_in_html(all.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

 private:
  void put(Json line, Json from) {
    lines_.push_back(std::move(line));
    from_.push_back(std::move(from));
  }

  void add_cell(const CellAt& at) {
    std::set<std::size_t> from;
    ++numbers_;
    if (plan_[at.node].given.empty()) {
      for (const Term& term : expression_of(plan_, at, is_brief_)) {
        if (term.input < 0) continue;
        ++numbers_;
        if (const auto source = number_of(referred(plan_, at, term, is_brief_))) from.insert(*source);
      }
    }
    const Working::Line working = working_line(trace_, at, decimals_, is_brief_);
    Json line = Json::array({visible(working.name)});
    for (const std::string& side : working.sides) line.push_back(visible(side));
    put(std::move(line), Json(from));
  }

  void add_sum(const Table& table, std::size_t i, std::size_t j) {
    Json from = Json::array();
    const CellAt first{*table.node, table.node_rows[i], 0};
    for (std::size_t k = 0; k < j; ++k)
      from.push_back(*number_of({first.node, first.row, static_cast<Index>(k)}));
    numbers_ += j;
    const std::string row = i < table.row_labels.size() ? table.row_labels[i] : std::to_string(i + 1);
    put(Json::array({visible("Σ_j " + table.id + "[" + row + ",j]"), table.rows[i][j].text}),
        std::move(from));
  }

  // Of K = Q, where only Q is shown, the cell of Q; nullopt where the step is not in the page.
  std::optional<std::size_t> number_of(const CellAt& at) const {
    auto table = tables_.find(at.node);
    if (table == tables_.end()) table = tables_.find(origin(plan_, at.node));
    return table == tables_.end() ? std::nullopt : table->second.number(at);
  }

  const Trace& trace_;
  const Plan& plan_;
  const std::map<NodeId, Placed>& tables_;
  int decimals_;
  bool is_brief_;
  std::size_t numbers_ = 0;
  Json lines_ = Json::array();
  Json from_ = Json::array();
};

class HtmlRenderer {
 public:
  HtmlRenderer(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
               const Telling& telling)
      : trace_(trace), plan_(trace.plan()), about_(about), telling_(telling) {
    en_ = told(comparisons, Language::en);
    zh_ = told(comparisons, Language::zh);
    place_tables();
  }

  std::string render() {
    const std::string data = arithmetic();
    if (data.empty()) intro_ += paragraph_of(too_long(), Tone::note);
    for (std::size_t i = 0; i < en_.blocks.size(); ++i) show(en_.blocks[i], zh_.blocks[i], i);
    if (section_ > 0) body_ += "</section>\n";
    return head() + controls() + "<main>\n<h1 id=\"title\">" + escape_xml(title()) + "</h1>\n" +
           (intro_.empty() ? "" : "<header>\n" + intro_ + "</header>\n") + heads() + body_ + "</main>\n" +
           panel(!data.empty()) +
           (data.empty() ? "" : "<script type=\"application/json\" id=\"data\">" + data + "</script>\n") +
           "<script>" + std::string(page_script()) + "</script>\n</body>\n</html>\n";
  }

 private:
  Report told(const std::vector<Comparison>& comparisons, Language language) const {
    Telling telling = telling_;
    telling.language = language;
    return narrate(trace_, about_, comparisons, telling);
  }

  bool is_brief() const { return telling_.detail != Detail::full; }
  bool begins_section(std::size_t i) const {
    const auto* heading = std::get_if<Heading>(&en_.blocks[i]);
    return heading != nullptr && (i > 0 || !heading->id.empty());
  }

  void place_tables() {
    std::size_t section = 0;
    std::size_t cells = 0;
    for (std::size_t i = 0; i < en_.blocks.size(); ++i) {
      if (begins_section(i)) ++section;
      const auto* table = std::get_if<Table>(&en_.blocks[i]);
      if (table == nullptr || table->rows.empty()) continue;
      const std::size_t width = table->rows.front().size();
      if (table->node) tables_[*table->node] = {section, cells, width, table};
      cells += table->rows.size() * width;
    }
  }

  // Empty when it would be too long.
  std::string arithmetic() const {
    Arithmetics all(trace_, tables_, telling_.decimals, is_brief());
    for (const Block& block : en_.blocks) {
      const auto* table = std::get_if<Table>(&block);
      if (table != nullptr && !all.add(*table)) return "";
    }
    return all.text();
  }

  static Said too_long() {
    return say({"The arithmetic of single cells is left out here: it would take more than {0} numbers. "
                "qkv explain writes it out for one cell.",
                "这里省略了单元格的算式：写出来要超过 {0} 个数。qkv explain 可以写出某一格的算式。"},
               kMostNumbersInPage);
  }

  // ---- around the report ----

  std::string title() const {
    if (!about_.title.empty()) return about_.title;
    const std::string name = about_.file.substr(about_.file.rfind('/') + 1);
    return name.empty() || name == "-" ? "qkv trace" : name;
  }

  std::string head() const {
    // Nothing but these two texts: no request, no other script, no style written into an element.
    const std::string policy = fmt::format(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; "
        "form-action 'none'",
        kPageStyleHash, kPageScriptHash);
    return std::string("<!DOCTYPE html>\n<html lang=\"") + (telling_.language == Language::zh ? "zh" : "en") +
           "\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"" +
           policy +
           "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"generator\" content=\"qkv " QKV_VERSION "\">\n<title>" +
           escape_xml(title()) + "</title>\n<style>" + page_style() + "</style>\n</head>\n<body>\n";
  }

  // Hidden until the script runs: without it they would do nothing.
  static std::string controls() {
    const auto button = [](const std::string& attributes, const Text& words) {
      return "<button type=\"button\" " + attributes + ">" + both(words.en, words.zh) + "</button>\n";
    };
    return "<header class=\"bar\" data-live hidden><div>\n" +
           button("id=\"previous\"", {"‹ Previous step", "‹ 上一步"}) +
           "<span id=\"place\" role=\"status\"></span>\n" +
           button("id=\"next\"", {"Next step ›", "下一步 ›"}) +
           button("id=\"all\" aria-pressed=\"true\"", {"All steps", "全部步骤"}) +
           "<span class=\"gap\"></span>\n" + button("id=\"heat\" aria-pressed=\"true\"", {"Heat", "热力色"}) +
           button("id=\"dark\" aria-pressed=\"false\"", {"Dark", "深色"}) +
           "<button type=\"button\" lang=\"en\" aria-pressed=\"false\">English</button>\n"
           "<button type=\"button\" lang=\"zh\" aria-pressed=\"false\">中文</button>\n</div></header>\n";
  }

  static std::string panel(bool has_arithmetic) {
    const Said hint =
        say({"Point at a cell, or press Tab and the arrow keys: its arithmetic stands here, and the cells it "
             "came "
             "from are outlined. After “Next step”, Page Down and Page Up turn the steps.",
             "把鼠标指向一格，或按 Tab 再用方向键：这里显示它的算式，它所用到的格子会加上虚线框。"
             "按“下一步”之后，可用 Page Down、Page Up 翻步。"});
    return std::string("<footer id=\"panel\"") + (has_arithmetic ? " data-live" : "") +
           " hidden><div role=\"status\" aria-live=\"polite\">\n<p id=\"hint\">" + both(hint) +
           "</p>\n<div id=\"arithmetic\" hidden></div>\n</div></footer>\n";
  }

  // ---- the blocks of both reports, side by side ----

  void show(const Block& en, const Block& zh, std::size_t i) {
    if (begins_section(i)) begin_section(std::get<Heading>(en), std::get<Heading>(zh));
    std::visit([&](const auto& block) { show(block, std::get<std::decay_t<decltype(block)>>(zh)); }, en);
  }

  std::string& out() { return section_ > 0 ? body_ : intro_; }

  void begin_section(const Heading& en, const Heading& zh) {
    if (section_ > 0) body_ += "</section>\n";
    ++section_;
    std::string reads;
    for (const std::size_t section : sections_read(en.id))
      reads += fmt::format("{}s{}", reads.empty() ? "" : " ", section);
    body_ += fmt::format("<section id=\"s{}\" aria-labelledby=\"t{}\"{}>\n", section_, section_,
                         reads.empty() ? "" : " data-reads=\"" + reads + "\"");
    const std::string number = en.number > 0 ? fmt::format("<b>{}</b>", en.number) : "";
    // "Scaled scores  scaled": the id is a name for --steps and explain, not a word of the title.
    const std::string id = "  " + en.id;
    const bool has_id = !en.id.empty() && en.title.ends_with(id) && zh.title.ends_with(id);
    const auto bare = [&](const std::string& title) {
      return has_id ? title.substr(0, title.size() - id.size()) : title;
    };
    body_ += fmt::format("<h2 id=\"t{}\">", section_) + number + both(bare(en.title), bare(zh.title)) +
             (has_id ? " <code>" + escape_xml(en.id) + "</code>" : "") + "</h2>\n";
  }

  std::set<std::size_t> sections_read(const std::string& id) const {
    std::set<std::size_t> sections;
    const auto node = id.empty() ? std::nullopt : plan_.find(id);
    if (!node) return sections;
    for (const NodeId input : reading_of(plan_[*node], is_brief()).inputs) {
      auto table = tables_.find(input);
      if (table == tables_.end()) table = tables_.find(origin(plan_, input));
      if (table != tables_.end() && table->second.section != section_) sections.insert(table->second.section);
    }
    return sections;
  }

  void show(const Heading&, const Heading&) {}  // of the page or of a section

  void show(const Paragraph& en, const Paragraph& zh) {
    // A warning is not part of the step it happens to follow.
    (en.tone == Tone::warning ? intro_ : out()) += paragraph_of({en.text, zh.text}, en.tone);
  }

  static std::string paragraph_of(const Said& said, Tone tone) {
    switch (tone) {
      case Tone::plain:
        return "<p>" + both(said) + "</p>\n";
      case Tone::faint:
        return "<p class=\"faint\">" + both(said) + "</p>\n";
      case Tone::good:
        return "<p class=\"good\">" + both(said) + "</p>\n";
      case Tone::note:
        return "<p class=\"note\">" + both(said) + "</p>\n";
      case Tone::warning:
        return "<p class=\"warning\"><b>" + both("Warning:", "警告：") + "</b> " + both(said) + "</p>\n";
    }
    return "";
  }

  void show(const Formula& en, const Formula&) {
    if (!en.right.parts.empty()) out() += "<p class=\"formula\">" + mathml(en) + "</p>\n";
    out() += "<p class=\"shapes\">" + escape_xml(en.shapes) + "</p>\n";
  }

  void show(const Table& en, const Table& zh) {
    if (en.rows.empty()) return;
    const std::optional<HeatScale> scale = heat_scale(en);
    const std::string name = section_ > 0 ? fmt::format("t{}", section_) : "title";
    out() += "<div class=\"scroll\"><table role=\"grid\" aria-readonly=\"true\" aria-labelledby=\"" + name +
             "\">\n";
    const bool has_labels = !en.row_labels.empty();
    if (!en.columns.empty()) {
      out() += std::string("<thead><tr>") + (has_labels ? "<th></th>" : "");
      for (std::size_t j = 0; j < en.columns.size(); ++j)
        out() += "<th scope=\"col\">" + both(en.columns[j], zh.columns[j]) + "</th>";
      out() += "</tr></thead>\n";
    }
    out() += "<tbody>\n";
    for (std::size_t i = 0; i < en.rows.size(); ++i) {
      out() += "<tr>";
      if (has_labels) out() += "<th scope=\"row\">" + both(en.row_labels[i], zh.row_labels[i]) + "</th>";
      for (const TableCell& cell : en.rows[i]) {
        const std::string kind = class_of(cell, scale);
        out() +=
            "<td" + (kind.empty() ? "" : " class=\"" + kind + "\"") + ">" + escape_xml(cell.text) + "</td>";
      }
      out() += "</tr>\n";
    }
    out() += "</tbody>\n</table></div>\n";
    legend(en, scale);
  }

  static std::string class_of(const TableCell& cell, const std::optional<HeatScale>& scale) {
    if (cell.role == CellRole::forbidden) return "no";
    if (cell.role == CellRole::sum) return "sum";
    if (cell.value && scale)
      return fmt::format("h{}", std::lround(scale->place(*cell.value) * (kHeatLevels - 1)));
    return cell.role == CellRole::symbolic ? "term" : "";
  }

  // From which number to which the colours go, and what hatched cells are.
  void legend(const Table& table, const std::optional<HeatScale>& scale) {
    std::string parts;
    if (scale && scale->high > scale->low) {
      parts += "<span>" + text_of(table, scale->low) + "</span><span class=\"ramp\" aria-hidden=\"true\">";
      for (int k = 0; k < kSwatches; ++k)
        parts += fmt::format("<i class=\"h{}\"></i>", k * (kHeatLevels - 1) / (kSwatches - 1));
      parts += "</span><span>" + text_of(table, scale->high) + "</span>";
    }
    const bool has_forbidden = std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
      return std::any_of(row.begin(), row.end(),
                         [](const TableCell& cell) { return cell.role == CellRole::forbidden; });
    });
    if (has_forbidden)
      parts += "<span class=\"no\" aria-hidden=\"true\"></span><span>" +
               both(say({"closed by the mask", "被掩码屏蔽"})) + "</span>";
    if (!parts.empty()) out() += "<div class=\"scale\">" + parts + "</div>\n";
  }

  // As the table shows it; the scale begins with 0 even where no cell is 0.
  static std::string text_of(const Table& table, double value) {
    for (const auto& row : table.rows) {
      for (const TableCell& cell : row) {
        if (cell.value && *cell.value == value) return escape_xml(cell.text);
      }
    }
    return "0";
  }

  void show(const Working& en, const Working&) {
    out() += "<ul class=\"working\">\n";
    for (const Working::Line& line : en.lines) {
      out() += "<li>" + escape_xml(line.name);
      for (const std::string& side : line.sides) out() += " = " + escape_xml(side);
      out() += "</li>\n";
    }
    out() += "</ul>\n";
  }

  void show(const Tree& en, const Tree& zh) {
    for (const auto& [language, tree] : {std::pair{"en", &en}, {"zh", &zh}}) {
      out() += std::string("<pre lang=\"") + language + "\">";
      const std::string text = render_text({{*tree}}, {});
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        out() += escape_xml(std::string_view(text).substr(at, end - at)) + "\n";
        at = end + 1;
      }
      out() += "</pre>\n";
    }
  }

  // ---- the weights of all heads ----

  std::string heads() const {
    std::vector<const Placed*> weights;
    std::size_t cells = 0;
    for (const auto& [id, placed] : tables_) {
      const Node& node = plan_[id];
      const bool is_of_head = ("." + node.prefix).find(".h") != std::string::npos;
      if (node.name() != "weights" || !is_of_head || placed.section == 0) continue;
      weights.push_back(&placed);
      cells += placed.table->rows.size() * placed.width;
    }
    if (weights.size() < 2 || cells > kMostCellsOfHeads) return "";
    std::string out = "<nav class=\"heads\" aria-labelledby=\"heads\">\n<h2 id=\"heads\">" +
                      both(say({"The weights of all heads", "各个头的权重"})) + "</h2>\n<p class=\"faint\">" +
                      both(say({"One row a query, one column a key. Each leads to its step.",
                                "每行是一个查询，每列是一个键。点击可到相应的步骤。"})) +
                      "</p>\n<ul>\n";
    for (const Placed* placed : weights)
      out += fmt::format("<li><a href=\"#s{}\">", placed->section) + picture(*placed->table) +
             escape_xml(placed->table->id) + "</a></li>\n";
    return out + "</ul>\n</nav>\n";
  }

  // One unit a cell.
  std::string picture(const Table& table) const {
    const std::optional<HeatScale> scale = heat_scale(table);
    const std::size_t columns = static_cast<std::size_t>(plan_[*table.node].shown_cols());
    const std::string hatch = "hatch" + std::to_string(*table.node);
    std::string out = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><defs><pattern "
        "id=\"{}\" "
        "width=\".5\" height=\".5\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 .5 L.5 "
        "0\"/></pattern></defs>",
        columns, table.rows.size(), hatch);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const std::string kind = class_of(table.rows[i][j], scale);
        const bool is_closed = kind == "no" || kind.empty();
        out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\".96\" height=\".96\" {}/>", j, i,
                           is_closed ? "fill=\"url(#" + hatch + ")\"" : "class=\"" + kind + "\"");
      }
    }
    return out + "</svg>";
  }

  const Trace& trace_;
  const Plan& plan_;
  const About& about_;
  const Telling& telling_;
  Report en_;
  Report zh_;
  std::map<NodeId, Placed> tables_;
  std::string intro_;
  std::string body_;
  std::size_t section_ = 0;  // that is being written; 0: none yet
};

}  // namespace

std::string render_html(const Trace& trace, const About& about, const std::vector<Comparison>& comparisons,
                        const Telling& telling) {
  return HtmlRenderer(trace, about, comparisons, telling).render();
}

}  // namespace qkv

#include "render/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <vector>

#include "base/display_width.h"
#include "base/escape.h"

namespace qkv {
namespace {

// All lengths are in pixels.
constexpr double kColumn = 7.3;  // of one terminal column of text; a little more than fonts of kFontSize need
constexpr int kFontSize = 12;
constexpr double kTitleColumn = 8.2;
constexpr double kMargin = 20;
constexpr double kTitleHeight = 26;
constexpr double kCellHeight = 26;
constexpr double kLeastCellWidth = 44;
constexpr double kSumGap = 8;
constexpr double kPanelGap = 32;
constexpr double kBarWidth = 160;
constexpr double kBarHeight = 12;
constexpr double kLineHeight = 14;
constexpr double kMostWidth = 1200;  // of the panels of a figure in one line
constexpr double kMostSide = 1000;   // of a table with numbers; a larger one has small cells without
constexpr int kLongestLabel = 24;    // columns; the cells' titles have it whole
// Of labels that lean by 40 degrees.
constexpr double kLean = 40;
constexpr double kLeanAcross = 0.77;
constexpr double kLeanUp = 0.65;

std::string px(double length) { return fmt::format("{:g}", std::round(length * 10) / 10); }

double length_of(const std::string& text) { return kColumn * column_width(visible(text)); }

std::string shortened(const std::string& label) {
  if (column_width(visible(label)) <= kLongestLabel) return label;
  std::string out;
  std::string_view rest = label;
  while (column_width(visible(out)) < kLongestLabel - 2) {
    const std::size_t length = first_code_point(rest).length;
    out += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return out + "…";
}

// "h2.weights" and "L1.h2.weights" belong to the figures "weights" and "L1.weights".
std::string without_head(const std::string& id) {
  std::string out;
  for (std::size_t at = 0; at < id.size();) {
    const std::size_t end = std::min(id.find('.', at), id.size() - 1) + 1;
    const std::string part = id.substr(at, end - at);
    const bool is_head = part.size() > 2 && (part[0] == 'h' || part[0] == 'g') && part.back() == '.' &&
                         std::all_of(part.begin() + 1, part.end() - 1,
                                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    if (!is_head) out += part;
    at = end;
  }
  return out;
}

// One table and where its parts stand, measured from the panel's upper left corner.
class Panel {
 public:
  Panel(const Table& table, std::string title) : table_(table), title_(std::move(title)) { measure(); }

  const Table& table() const { return table_; }
  double width() const { return width_; }
  double height() const { return height_; }

  std::string drawn(double x, double y, ColorMap map, const std::optional<HeatScale>& scale) const {
    std::string out = fmt::format("<g transform=\"translate({},{})\">\n", px(x), px(y));
    out += titled();
    out += labels();
    out += "<g font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" text-anchor=\"end\"" +
           std::string(has_numbers_ ? "" : " shape-rendering=\"crispEdges\"") + ">\n";
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      for (std::size_t j = 0; j < columns_; ++j) out += cell(i, j, map, scale);
    }
    out += "</g>\n";
    out += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#777777\"/>\n</g>\n",
        px(left_), px(top_), px(static_cast<double>(numbers()) * cell_width_),
        px(static_cast<double>(table_.rows.size()) * cell_height_));
    return out;
  }

 private:
  // Columns that are part of the matrix.
  std::size_t numbers() const { return columns_ - (has_sums_ ? 1 : 0); }

  void measure() {
    columns_ = table_.rows.empty() ? 0 : table_.rows.front().size();
    has_sums_ = columns_ > 0 && table_.rows.front().back().role == CellRole::sum;
    double longest_cell = 0;
    for (const auto& row : table_.rows) {
      for (const TableCell& c : row) longest_cell = std::max(longest_cell, length_of(c.text));
    }
    double longest_row = 0;
    for (const std::string& l : table_.row_labels)
      longest_row = std::max(longest_row, length_of(shortened(l)));
    double longest_column = 0;
    for (const std::string& l : table_.columns)
      longest_column = std::max(longest_column, length_of(shortened(l)));

    text_width_ = longest_cell;
    cell_width_ = std::max(kLeastCellWidth, longest_cell + 14);
    cell_height_ = kCellHeight;
    const auto rows = static_cast<double>(table_.rows.size());
    has_numbers_ =
        static_cast<double>(columns_) * cell_width_ <= kMostSide && rows * cell_height_ <= kMostSide;
    if (!has_numbers_) {
      if (has_sums_) --columns_;
      has_sums_ = false;
      const double most = std::max(rows, static_cast<double>(columns_));
      cell_width_ = cell_height_ = std::clamp(std::floor(kMostSide / most), 2.0, 20.0);
    }
    leans_ = longest_column + 4 > cell_width_ && longest_column > 4 * kColumn;
    const double room = leans_ ? kLineHeight : longest_column + 6;
    column_step_ = static_cast<std::size_t>(std::max(1.0, std::ceil(room / cell_width_)));
    row_step_ = static_cast<std::size_t>(std::max(1.0, std::ceil(kLineHeight / cell_height_)));

    left_ = table_.row_labels.empty() ? 0 : longest_row + 8;
    top_ = kTitleHeight;
    if (!table_.columns.empty()) top_ += leans_ ? longest_column * kLeanUp + kLineHeight : kLineHeight + 6;
    width_ = left_ + static_cast<double>(columns_) * cell_width_ + (has_sums_ ? kSumGap : 0);
    if (leans_) width_ += std::max(0.0, longest_column * kLeanAcross - cell_width_ / 2);
    width_ = std::max(width_, kTitleColumn * column_width(visible(title_)));
    height_ = top_ + rows * cell_height_;
  }

  double x_of(std::size_t column) const {
    const bool is_sum = has_sums_ && column + 1 == columns_;
    return left_ + static_cast<double>(column) * cell_width_ + (is_sum ? kSumGap : 0);
  }
  double y_of(std::size_t row) const { return top_ + static_cast<double>(row) * cell_height_; }

  // "Scaled scores  scaled": the words, and fainter the step's id.
  std::string titled() const {
    const std::size_t two = title_.find("  ");
    std::string out = "<text y=\"14\" font-size=\"14\" font-weight=\"bold\" fill=\"#111111\">" +
                      escape_xml(title_.substr(0, two));
    if (two != std::string::npos) {
      out += "<tspan dx=\"8\" font-weight=\"normal\" fill=\"#555555\">" + escape_xml(title_.substr(two + 2)) +
             "</tspan>";
    }
    return out + "</text>\n";
  }

  std::string labels() const {
    std::string out = "<g fill=\"#333333\">\n";
    for (std::size_t j = 0; j < columns_ && !table_.columns.empty(); j += column_step_) {
      const double x = x_of(j) + cell_width_ / 2;
      const double y = top_ - 7;
      out += leans_ ? fmt::format("<text transform=\"translate({},{}) rotate(-{})\">", px(x), px(y), kLean)
                    : fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">", px(x), px(y));
      out += escape_xml(shortened(table_.columns[j])) + "</text>\n";
    }
    for (std::size_t i = 0; i < table_.row_labels.size(); i += row_step_) {
      out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", px(left_ - 8),
                         px(y_of(i) + cell_height_ / 2 + 4), escape_xml(shortened(table_.row_labels[i])));
    }
    return out + "</g>\n";
  }

  // "weights[t3,t2] = 0.2000", as qkv explain names it.
  std::string name(std::size_t i, std::size_t j) const {
    std::string row = i < table_.row_labels.size() ? table_.row_labels[i] : "1";
    if (!table_.columns.empty()) row += "," + table_.columns[j];
    return table_.id + "[" + row + "] = " + table_.rows[i][j].text;
  }

  std::string cell(std::size_t i, std::size_t j, ColorMap map, const std::optional<HeatScale>& scale) const {
    const TableCell& c = table_.rows[i][j];
    std::string fill = "#f2f2f2";
    std::string ink = "#111111";
    if (c.value && scale) {
      const Rgb back = color_at(map, scale->place(*c.value));
      fill = hex(back);
      ink = hex(ink_on(back));
    } else if (c.role == CellRole::forbidden) {
      fill = "url(#qkv-masked)";
      ink = "#444444";
    } else if (c.role == CellRole::sum) {
      fill = "none";
      ink = "#555555";
    }
    std::string out = "<g><title>" + escape_xml(name(i, j)) + "</title>";
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>", px(x_of(j)),
                       px(y_of(i)), px(cell_width_), px(cell_height_), fill,
                       has_numbers_ ? " stroke=\"#ffffff\"" : "");
    if (has_numbers_) {
      // Numbers to the right, so that points stand below points, terms to the left; as a whole in the middle.
      const bool is_left = c.role == CellRole::symbolic;
      out += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\"{}>{}</text>",
                         px(x_of(j) + (cell_width_ + (is_left ? -text_width_ : text_width_)) / 2),
                         px(y_of(i) + cell_height_ / 2 + 4), ink, is_left ? " text-anchor=\"start\"" : "",
                         escape_xml(c.text));
    }
    return out + "</g>\n";
  }

  const Table& table_;
  std::string title_;
  std::size_t columns_ = 0;  // that are drawn
  bool has_sums_ = false;
  bool has_numbers_ = true;  // in the cells
  bool leans_ = false;       // the labels of the columns
  std::size_t column_step_ = 1;
  std::size_t row_step_ = 1;
  double text_width_ = 0;
  double cell_width_ = 0;
  double cell_height_ = 0;
  double left_ = 0;
  double top_ = 0;
  double width_ = 0;
  double height_ = 0;
};

struct Figure {
  std::string name;  // the step's, of whatever head
  std::vector<Panel> panels;
  std::optional<HeatScale> scale;
};

class SvgRenderer {
 public:
  explicit SvgRenderer(ColorMap map) : map_(map) {}

  std::string render(const Report& report) {
    gather(report);
    if (!title_.empty()) {
      body_ += fmt::format(
          "<text x=\"{}\" y=\"{}\" font-size=\"16\" font-weight=\"bold\" fill=\"#111111\">{}</text>\n",
          px(kMargin), px(y_ + 12), escape_xml(title_));
      widen(kMargin + kTitleColumn * 1.15 * column_width(visible(title_)));
      y_ += 34;
    }
    for (const Figure& figure : figures_) draw(figure);
    return head() + body_ + "</svg>\n";
  }

 private:
  void gather(const Report& report) {
    std::string heading;
    for (const Block& block : report.blocks) {
      if (const auto* h = std::get_if<Heading>(&block)) {
        heading = h->title;
        if (h->id.empty() && &block == &report.blocks.front()) title_ = h->title;
      } else if (const auto* f = std::get_if<Formula>(&block)) {
        described_ += (described_.empty() ? "" : "; ") + f->shapes;
      } else if (const auto* t = std::get_if<Table>(&block); t != nullptr && t->node && !t->rows.empty()) {
        add(*t, heading.empty() ? t->id : heading);
      }
    }
  }

  void add(const Table& table, const std::string& heading) {
    const std::string name = without_head(table.id);
    auto figure =
        std::find_if(figures_.begin(), figures_.end(), [&](const Figure& f) { return f.name == name; });
    if (figure == figures_.end()) figure = figures_.insert(figures_.end(), Figure{name, {}, std::nullopt});
    figure->panels.emplace_back(table, heading);
    const auto own = heat_scale(table);
    if (own) figure->scale = figure->scale ? joined(*figure->scale, *own) : *own;
  }

  void widen(double right) { width_ = std::max(width_, right); }

  void draw(const Figure& figure) {
    double x = kMargin;
    double line_height = 0;
    for (const Panel& panel : figure.panels) {
      if (x > kMargin && x + panel.width() > kMargin + kMostWidth) {
        y_ += line_height + kPanelGap / 2;
        x = kMargin;
        line_height = 0;
      }
      body_ += panel.drawn(x, y_, map_, figure.scale);
      widen(x + panel.width());
      x += panel.width() + kPanelGap;
      line_height = std::max(line_height, panel.height());
    }
    y_ += line_height + 14;
    if (figure.scale) color_bar(*figure.scale);
    y_ += kPanelGap / 2;
  }

  void color_bar(const HeatScale& scale) {
    const double from = kMargin + length_of(scale.low_text) + 6;
    const double to = from + kBarWidth;
    body_ += fmt::format(
        "<g fill=\"#333333\"><text x=\"{}\" y=\"{}\">{}</text>"
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"url(#qkv-scale)\" stroke=\"#777777\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text></g>\n",
        px(kMargin), px(y_ + 10), escape_xml(scale.low_text), px(from), px(y_), px(kBarWidth), px(kBarHeight),
        px(to + 6), px(y_ + 10), escape_xml(scale.high_text));
    widen(to + 6 + length_of(scale.high_text));
    y_ += kBarHeight + 6;
  }

  // The size is known when everything is drawn.
  std::string head() const {
    const std::string width = px(width_ + kMargin);
    const std::string height = px(y_ + kMargin / 2);
    std::string names;
    for (const Figure& f : figures_) names += (names.empty() ? "" : ", ") + f.name;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "role=\"img\" font-size=\"{2}\" "
        "font-family=\"'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', system-ui, sans-serif\">\n"
        "<title>{3}</title>\n<desc>{4}</desc>\n<defs>\n",
        width, height, kFontSize, escape_xml(title_.empty() ? names : title_ + ": " + names),
        escape_xml(described_.empty() ? names : described_));
    out += "<linearGradient id=\"qkv-scale\">\n";
    constexpr int kStops = 16;
    for (int i = 0; i <= kStops; ++i) {
      const double t = static_cast<double>(i) / kStops;
      out += fmt::format("<stop offset=\"{:g}\" stop-color=\"{}\"/>\n", t, hex(color_at(map_, t)));
    }
    out +=
        "</linearGradient>\n"
        "<pattern id=\"qkv-masked\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#ffffff\"/>"
        "<rect width=\"2\" height=\"6\" fill=\"#d9d9d9\"/></pattern>\n"
        "</defs>\n";
    return out + fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", width, height);
  }

  ColorMap map_;
  std::string title_;
  std::string described_;
  std::vector<Figure> figures_;
  std::string body_;
  double width_ = 0;
  double y_ = kMargin;
};

}  // namespace

std::string render_svg(const Report& report, ColorMap map) { return SvgRenderer(map).render(report); }

}  // namespace qkv

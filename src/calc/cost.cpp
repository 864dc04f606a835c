#include "calc/cost.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calc/sizes.h"

namespace qkv {
namespace {

// The maximum, the sum and the unfinished output of each row of a tile, and the tile itself.
Integer tiled_numbers(const Cost& cost) {
  const Integer rows = std::min(Integer(cost.tile.rows), cost.scores->rows);
  const Integer cols = std::min(Integer(cost.tile.cols), cost.scores->cols);
  return rows * cols + rows * (cost.scores->width + 2);
}

Integer bytes_of(const Cost& cost, const Integer& numbers) { return bytes_of_bits(numbers * cost.bits); }

// Pairs of a query and a key that the mask of this head leaves open.
Integer open_pairs(const Plan& plan, const Node& node) {
  const auto weights = plan.find_beside(node, "weights");
  if (!weights || !plan[*weights].params.allowed) return -1;
  return Integer(static_cast<long>(plan[*weights].params.allowed->count()));
}

// " = 2^30"; nothing for other numbers.
std::string as_power_of_two(const Integer& count) {
  if (count < 1024 || lsb(count) != msb(count)) return "";
  return " = 2^" + std::to_string(msb(count));
}

class Teller {
 public:
  Teller(const Cost& cost, Language language) : cost_(cost), language_(language) {}

  Report report() {
    add(Heading{0, in({"Multiply-adds and memory, step by step", "逐步的乘加次数与内存"}), "steps"});
    if (cost_.grows_with_n) growth();
    if (cost_.is_masked && cost_.scores) open_pairs_of_a_head();
    add(steps());
    if (has_smaller_tiles()) {
      add(Heading{0, in({"The scores of one head in one layer", "一层中一个头的分数矩阵"}), "one_head"});
      matrix_and_tiles();
    }
    return std::move(report_);
  }

 private:
  void add(Block block) { report_.blocks.push_back(std::move(block)); }
  std::string in(const Text& text) const { return text.in(language_); }

  Table steps() const {
    Table table;
    table.columns = {in({"shape", "形状"}), in({"copies", "份数"}), in({"products a cell", "每格乘积"}),
                     in({"multiply-adds", "乘加"})};
    if (cost_.is_masked) table.columns.push_back(in({"open pairs only", "只算可见的"}));
    table.columns.push_back(in({"bytes", "字节"}));
    Integer open = 0;
    for (const CostRow& row : cost_.rows) {
      table.row_labels.push_back(row.id);
      std::vector<TableCell> cells{{grouped(row.rows) + "×" + grouped(row.cols)},
                                   {grouped(row.copies)},
                                   {grouped(row.terms)},
                                   {grouped(row.multiply_adds())}};
      if (cost_.is_masked) cells.push_back({grouped(row.open)});
      cells.push_back({grouped(bytes_of(cost_, row.cells()))});
      table.rows.push_back(std::move(cells));
      open += row.open;
    }
    table.row_labels.push_back(in({"in all", "合计"}));
    std::vector<TableCell> sums{{""}, {""}, {""}, {grouped(total_multiply_adds(cost_))}};
    if (cost_.is_masked) sums.push_back({grouped(open)});
    sums.push_back({grouped(total_bytes(cost_))});
    table.rows.push_back(std::move(sums));
    return table;
  }

  // In a small problem one tile would be the whole matrix.
  bool has_smaller_tiles() const {
    return cost_.scores && (cost_.tile.rows < cost_.scores->rows || cost_.tile.cols < cost_.scores->cols);
  }

  void growth() {
    const bool is_linear = cost_.window.has_value();
    add(Paragraph{
        is_linear
            ? in({"Twice as many tokens cost twice as much when hidden pairs are skipped: a query sees one "
                  "window.",
                  "跳过不可见的对时，token 翻倍，计算量也只翻倍：每个查询只看一个窗口。"})
            : in({"Twice as many tokens: scores and output cost 4 times as much (n²·d each), the projections "
                  "twice (n·d²).",
                  "token 翻倍：scores 和 output 的计算量变为 4 倍（各 n²·d），投影变为 2 倍（n·d²）。"}),
        Tone::faint});
  }

  void open_pairs_of_a_head() {
    const ScoreTable& scores = *cost_.scores;
    const Integer pairs = scores.rows * scores.cols;
    add(Paragraph{say({"The mask leaves {0} of the {1} pairs of a query and a key open.",
                       "掩码留下 {1} 个查询–键对中的 {0} 个。"},
                      grouped(scores.open), grouped(pairs))
                      .in(language_),
                  Tone::faint});
    if (!cost_.window) return;
    add(Paragraph{
        say({"A window of w keys leaves n·w = {0}, less the keys that the first queries do not have.",
             "宽 w 的窗口留下 n·w = {0} 个，再减去开头几个查询前面没有的键。"},
            grouped(scores.rows * *cost_.window))
            .in(language_),
        Tone::faint});
  }

  void matrix_and_tiles() {
    const ScoreTable& scores = *cost_.scores;
    const Integer held = scores.rows * scores.cols;
    const Integer tiled = tiled_numbers(cost_);
    Table table;
    table.columns = {in({"numbers", "数的个数"}), in({"bytes", "字节"}), ""};
    const auto row = [&](const Text& name, const Integer& numbers) {
      const Integer bytes = bytes_of(cost_, numbers);
      table.row_labels.push_back(in(name));
      table.rows.push_back({{grouped(numbers)}, {grouped(bytes)}, {both_sizes(bytes), CellRole::symbolic}});
    };
    add(Paragraph{say({"{0}×{1} = {2}{3} scores", "{0}×{1} = {2}{3} 个分数"}, grouped(scores.rows),
                      grouped(scores.cols), grouped(held), as_power_of_two(held))
                      .in(language_)});
    add(Paragraph{say({"In tiles of {0}×{1} the online softmax holds one tile, and a maximum, a sum and an "
                       "unfinished output "
                       "for each of its rows; the whole matrix is never written.",
                       "在线 softmax 按 {0}×{1} 分块，只保存一块，以及其中每行的最大值、和、尚未完成的输出；"
                       "整个矩阵从不写出。"},
                      std::min(Integer(cost_.tile.rows), scores.rows).str(),
                      std::min(Integer(cost_.tile.cols), scores.cols).str())
                      .in(language_),
                  Tone::faint});
    row({"whole matrix", "整个矩阵"}, held);
    row({"in tiles", "分块"}, tiled);
    add(std::move(table));
  }

  const Cost& cost_;
  Language language_;
  Report report_;
};

}  // namespace

// Causal, query i (from 0) sees the keys 0 … i, of which a window keeps the latest w; a window looks back
// only, so it is causal by itself.
Integer open_pairs(const CostQuestion& q) {
  const Integer n = q.n;
  if (!q.window && !q.is_causal) return n * n;
  const Integer w = std::min(q.window.value_or(q.n), q.n);
  return n * w - w * (w - 1) / 2;
}

Cost cost_of(const CostQuestion& q) {
  const Integer head_dim = q.d / q.heads;
  const Integer kv_width = head_dim * q.kv_heads;
  const Integer copies = Integer(q.layers) * q.heads;
  const Integer pairs = open_pairs(q);
  Cost cost{.rows = {},
            .scores = ScoreTable{q.n, q.n, head_dim, pairs},
            .bits = q.bits,
            .tile = q.tile,
            .is_masked = q.window || q.is_causal,
            .grows_with_n = true,
            .window = q.window ? std::optional(std::min(*q.window, q.n)) : std::nullopt};
  const auto projection = [&](const char* id, const Integer& width, const Integer& terms) {
    CostRow row{.id = id, .rows = q.n, .cols = width, .copies = q.layers, .terms = terms, .open = 0};
    row.open = row.multiply_adds();
    cost.rows.push_back(std::move(row));
  };
  projection("Q", q.d, q.d);
  projection("K", kv_width, q.d);
  projection("V", kv_width, q.d);
  const Integer open = copies * pairs * head_dim;
  cost.rows.push_back(
      {.id = "scores", .rows = q.n, .cols = q.n, .copies = copies, .terms = head_dim, .open = open});
  cost.rows.push_back({.id = "weights", .rows = q.n, .cols = q.n, .copies = copies, .terms = 0, .open = 0});
  cost.rows.push_back(
      {.id = "output", .rows = q.n, .cols = head_dim, .copies = copies, .terms = q.n, .open = open});
  projection("Y", q.d, q.d);
  return cost;
}

Cost cost_of(const Plan& plan, long long bits, const TileShape& tile) {
  Cost cost{.rows = {}, .scores = std::nullopt, .bits = bits, .tile = tile};
  for (const Node& node : plan.nodes) {
    if (node.role != Role::step) continue;
    std::vector<Shape> shapes;
    for (const NodeId input : node.inputs) shapes.push_back(plan[input].shape);
    const Index terms = node.op->terms == nullptr ? 0 : node.op->terms(shapes);
    CostRow row{.id = node.id,
                .rows = static_cast<long>(node.shape.rows),
                .cols = static_cast<long>(node.shown_cols()),
                .copies = 1,
                .terms = static_cast<long>(terms),
                .open = 0};
    row.open = row.multiply_adds();
    // Of the scores a hidden pair is one cell; of the output it is one product in each cell of its row.
    const bool is_scores = node.name() == "scores";
    const bool is_output = node.name() == "output";
    const Integer pairs = is_scores || is_output ? open_pairs(plan, node) : Integer(-1);
    if (terms > 0 && pairs >= 0) {
      row.open = pairs * (is_scores ? row.terms : row.cols);
      cost.is_masked = true;
    }
    if (is_scores && !cost.scores)
      cost.scores = ScoreTable{row.rows, row.cols, 0, pairs >= 0 ? pairs : row.rows * row.cols};
    if (is_output && cost.scores && cost.scores->width == 0) cost.scores->width = row.cols;
    cost.rows.push_back(std::move(row));
  }
  return cost;
}

Integer total_multiply_adds(const Cost& cost) {
  Integer total = 0;
  for (const CostRow& row : cost.rows) total += row.multiply_adds();
  return total;
}

Integer total_bytes(const Cost& cost) {
  Integer total = 0;
  for (const CostRow& row : cost.rows) total += bytes_of(cost, row.cells());
  return total;
}

Report told(const Cost& cost, Language language) { return Teller(cost, language).report(); }

std::string as_json(const Cost& cost) {
  const auto whole = [](const Integer& count) { return count.convert_to<long long>(); };
  nlohmann::ordered_json json;
  json["schema"] = "qkv/cost-1";
  json["bytes_per_number"] = static_cast<double>(cost.bits) / 8;
  json["steps"] = nlohmann::ordered_json::array();
  Integer open = 0;
  for (const CostRow& row : cost.rows) {
    json["steps"].push_back({{"id", row.id},
                             {"shape", {whole(row.rows), whole(row.cols)}},
                             {"copies", whole(row.copies)},
                             {"products_per_cell", whole(row.terms)},
                             {"multiply_adds", whole(row.multiply_adds())},
                             {"open_multiply_adds", whole(row.open)},
                             {"bytes", whole(bytes_of(cost, row.cells()))}});
    open += row.open;
  }
  json["multiply_adds"] = whole(total_multiply_adds(cost));
  json["open_multiply_adds"] = whole(open);
  json["bytes"] = whole(total_bytes(cost));
  if (cost.scores) {
    const Integer held = cost.scores->rows * cost.scores->cols;
    json["one_head"] = {{"scores", whole(held)},
                        {"bytes", whole(bytes_of(cost, held))},
                        {"tiled_numbers", whole(tiled_numbers(cost))},
                        {"tiled_bytes", whole(bytes_of(cost, tiled_numbers(cost)))}};
  }
  return json.dump(2) + "\n";
}

}  // namespace qkv

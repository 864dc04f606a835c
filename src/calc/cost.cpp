#include "calc/cost.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "calc/sizes.h"
#include "plan/training.h"

namespace qkv {
namespace {

using Rows = std::vector<CostRow>;

// The maximum, the sum and the unfinished output of each row of a tile, and the tile itself.
Integer tiled_numbers(const Cost& cost, const ScoreTable& scores) {
  const Integer rows = std::min(Integer(cost.tile.rows), scores.rows);
  const Integer cols = std::min(Integer(cost.tile.cols), scores.cols);
  return rows * cols + rows * (scores.width + 2);
}

// The largest table, which says what must be held at once; null where there are no scores.
const ScoreTable* largest(const std::vector<ScoreTable>& tables) {
  const auto found = std::max_element(tables.begin(), tables.end(), [](const auto& a, const auto& b) {
    return a.rows * a.cols < b.rows * b.cols;
  });
  return found == tables.end() ? nullptr : &*found;
}

Integer bytes_of(const Cost& cost, const Integer& numbers) { return bytes_of_bits(numbers * cost.bits); }

Integer sum(const Rows& rows, const std::function<Integer(const CostRow&)>& what) {
  Integer total = 0;
  for (const CostRow& row : rows) total += what(row);
  return total;
}
Integer multiply_adds_of(const Rows& rows) { return sum(rows, &CostRow::multiply_adds); }
Integer open_of(const Rows& rows) { return sum(rows, &CostRow::open); }
Integer bytes_of(const Cost& cost, const Rows& rows) {
  return sum(rows, [&](const CostRow& row) { return bytes_of(cost, row.cells()); });
}
bool is_masked(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(), std::mem_fn(&CostRow::is_masked));
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
    if (is_masked(cost_.rows) && !cost_.scores.empty()) open_pairs();
    add(steps(cost_.rows));
    if (!cost_.for_comparison.empty()) comparison();
    if (has_smaller_tiles()) {
      add(Heading{0, in({"The scores of one head in one layer", "一层中一个头的分数矩阵"}), "one_head"});
      matrix_and_tiles();
    }
    return std::move(report_);
  }

 private:
  void add(Block block) { report_.blocks.push_back(std::move(block)); }
  std::string in(const Text& text) const { return text.in(language_); }

  Table steps(const Rows& counted) const {
    const bool tells_open = is_masked(counted);
    Table table;
    table.columns = {in({"shape", "形状"}), in({"copies", "份数"}), in({"products a cell", "每格乘积"}),
                     in({"multiply-adds", "乘加"})};
    if (tells_open) table.columns.push_back(in({"open pairs only", "只算可见的"}));
    table.columns.push_back(in({"bytes", "字节"}));
    for (const CostRow& row : counted) {
      table.row_labels.push_back(row.id);
      std::vector<TableCell> cells{{grouped(row.rows) + "×" + grouped(row.cols)},
                                   {grouped(row.copies)},
                                   {products_text(row)},
                                   {grouped(row.multiply_adds())}};
      if (tells_open) cells.push_back({grouped(row.open)});
      cells.push_back({grouped(bytes_of(cost_, row.cells()))});
      table.rows.push_back(std::move(cells));
    }
    table.row_labels.push_back(in({"in all", "合计"}));
    std::vector<TableCell> sums{{""}, {""}, {""}, {grouped(multiply_adds_of(counted))}};
    if (tells_open) sums.push_back({grouped(open_of(counted))});
    sums.push_back({grouped(bytes_of(cost_, counted))});
    table.rows.push_back(std::move(sums));
    return table;
  }

  std::string products_text(const CostRow& row) const {
    if (row.shared_terms == 0) return grouped(row.terms);
    return say({"{0}, and {1} a row", "{0}，每行另有 {1}"}, grouped(row.terms), grouped(row.shared_terms))
        .in(language_);
  }

  void comparison() {
    add(Heading{
        0, in({"For comparison: through the table of all queries and keys", "对照：经过 查询×键 的整张表"}),
        "for_comparison"});
    add(Paragraph{in({"The method does without these steps, so the sum above leaves them out.",
                      "这种方法用不到这几步，所以上面的合计不含它们。"}),
                  Tone::faint});
    add(steps(cost_.for_comparison));
  }

  // In a small problem one tile would be the whole matrix.
  bool has_smaller_tiles() const {
    const ScoreTable* scores = largest(cost_.scores);
    return scores != nullptr && (cost_.tile.rows < scores->rows || cost_.tile.cols < scores->cols);
  }

  void growth() {
    const bool is_linear = has_narrow_window();
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

  // A window that is as wide as the text hides nothing.
  bool has_narrow_window() const {
    return cost_.window && !cost_.scores.empty() && *cost_.window < cost_.scores.front().cols;
  }

  void open_pairs() {
    const ScoreTable& first = cost_.scores.front();
    const auto is_like_first = [&](const ScoreTable& other) {
      return other.open == first.open && other.rows == first.rows && other.cols == first.cols;
    };
    if (!std::all_of(cost_.scores.begin(), cost_.scores.end(), is_like_first))
      return add(open_pairs_of_each());
    add(Paragraph{say({"The mask leaves {0} of the {1} pairs of a query and a key open.",
                       "掩码留下 {1} 个查询–键对中的 {0} 个。"},
                      grouped(first.open), grouped(first.rows * first.cols))
                      .in(language_),
                  Tone::faint});
    if (!has_narrow_window()) return;
    add(Paragraph{
        say({"A window of w keys leaves n·w = {0}, less the keys that the first queries do not have.",
             "宽 w 的窗口留下 n·w = {0} 个，再减去开头几个查询前面没有的键。"},
            grouped(first.rows * *cost_.window))
            .in(language_),
        Tone::faint});
  }

  Table open_pairs_of_each() const {
    Table table;
    table.columns = {in({"pairs that the mask leaves open", "掩码留下的对"}),
                     in({"pairs of a query and a key", "查询–键对"})};
    for (const ScoreTable& scores : cost_.scores) {
      table.row_labels.push_back(scores.place);
      table.rows.push_back({{grouped(scores.open)}, {grouped(scores.rows * scores.cols)}});
    }
    return table;
  }

  void matrix_and_tiles() {
    const ScoreTable& scores = *largest(cost_.scores);
    const Integer held = scores.rows * scores.cols;
    const Integer tiled = tiled_numbers(cost_, scores);
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

// Steps that the result is not made of, nor any step after it, a gradient: what linear attention shows
// beside itself, and does without.
std::vector<bool> steps_for_comparison(const Plan& plan) {
  const NodeId result = plan.last_step();
  std::vector<bool> is_needed(plan.nodes.size());
  for (NodeId id = plan.nodes.size(); id-- > 0;) {
    if (id >= result && plan[id].role == Role::step) is_needed[id] = true;
    if (!is_needed[id]) continue;
    for (const NodeId input : plan[id].inputs) is_needed[input] = true;
  }
  std::vector<bool> are_beside(plan.nodes.size());
  for (NodeId id = 0; id < result; ++id) are_beside[id] = plan[id].role == Role::step && !is_needed[id];
  return are_beside;
}

// The mask of a table of queries by keys, which it has itself or the softmax that it goes into.
const Mask* mask_of(const Plan& plan, const Node& table) {
  if (table.params.allowed) return table.params.allowed.get();
  for (const char* name : {"weights", "exp"}) {
    const auto found = plan.find_beside(table, name);
    if (found && plan[*found].params.allowed) return plan[*found].params.allowed.get();
  }
  return nullptr;
}

Integer closed_pairs(const Mask& mask) { return Integer(static_cast<long>(mask.size() - mask.count())); }

CostRow row_of(const Plan& plan, const Node& node) {
  std::vector<Shape> shapes;
  for (const NodeId input : node.inputs) shapes.push_back(plan[input].shape);
  const Index terms = node.op->terms == nullptr ? 0 : node.op->terms(shapes);
  CostRow row{.id = node.id,
              .rows = static_cast<long>(node.shape.rows),
              .cols = static_cast<long>(node.shown_cols()),
              .copies = 1,
              .terms = static_cast<long>(terms),
              .open = 0};
  if (node.op->shared_terms != nullptr) row.shared_terms = static_cast<long>(node.op->shared_terms(shapes));
  row.open = row.multiply_adds();
  if (terms == 0 || is_gradient(node)) return row;
  const auto leave_out = [&](const Mask* mask, const Integer& products) {
    if (mask == nullptr) return;
    row.open -= closed_pairs(*mask) * products;
    row.is_masked = true;
  };
  if (node.name() == "scores" || node.name() == "kernel") {
    leave_out(mask_of(plan, node), row.terms);  // a hidden pair is one cell
    return row;
  }
  for (const NodeId input : node.inputs) {
    const std::string_view read = plan[input].name();
    if (read != "weights" && read != "exp") continue;
    leave_out(plan[input].params.allowed.get(), row.cols);  // one product in each cell of its row
  }
  return row;
}

ScoreTable table_of(const Plan& plan, const Node& scores) {
  const Mask* mask = mask_of(plan, scores);
  const auto output = plan.find_beside(scores, "output");
  ScoreTable table{.place = scores.prefix.substr(0, scores.prefix.empty() ? 0 : scores.prefix.size() - 1),
                   .rows = static_cast<long>(scores.shape.rows),
                   .cols = static_cast<long>(scores.shown_cols()),
                   .width = output ? static_cast<long>(plan[*output].shown_cols()) : 0,
                   .open = 0};
  table.open = table.rows * table.cols - (mask == nullptr ? Integer(0) : closed_pairs(*mask));
  return table;
}

long long whole(const Integer& count) { return count.convert_to<long long>(); }

nlohmann::ordered_json steps_as_json(const Cost& cost, const Rows& rows) {
  auto steps = nlohmann::ordered_json::array();
  for (const CostRow& row : rows) {
    steps.push_back({{"id", row.id},
                     {"shape", {whole(row.rows), whole(row.cols)}},
                     {"copies", whole(row.copies)},
                     {"products_per_cell", whole(row.terms)},
                     {"products_per_row", whole(row.shared_terms)},
                     {"multiply_adds", whole(row.multiply_adds())},
                     {"open_multiply_adds", whole(row.open)},
                     {"bytes", whole(bytes_of(cost, row.cells()))}});
  }
  return steps;
}

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
            .for_comparison = {},
            .scores = {{.place = "", .rows = q.n, .cols = q.n, .width = head_dim, .open = pairs}},
            .bits = q.bits,
            .tile = q.tile,
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
  const bool is_masked = q.window || q.is_causal;
  cost.rows.push_back({.id = "scores",
                       .rows = q.n,
                       .cols = q.n,
                       .copies = copies,
                       .terms = head_dim,
                       .open = open,
                       .is_masked = is_masked});
  cost.rows.push_back({.id = "weights", .rows = q.n, .cols = q.n, .copies = copies, .terms = 0, .open = 0});
  cost.rows.push_back({.id = "output",
                       .rows = q.n,
                       .cols = head_dim,
                       .copies = copies,
                       .terms = q.n,
                       .open = open,
                       .is_masked = is_masked});
  projection("Y", q.d, q.d);
  return cost;
}

Cost cost_of(const Plan& plan, long long bits, const TileShape& tile) {
  Cost cost{.rows = {}, .for_comparison = {}, .scores = {}, .bits = bits, .tile = tile};
  std::vector<bool> is_beside = steps_for_comparison(plan);
  for (NodeId id = 0; id < plan.nodes.size(); ++id) {
    const Node& node = plan[id];
    // The aside that reads such steps is where they lead to.
    if (node.role == Role::aside)
      is_beside[id] =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](NodeId i) { return is_beside[i]; });
    if (is_beside[id]) {
      cost.for_comparison.push_back(row_of(plan, node));
    } else if (node.role == Role::step) {
      cost.rows.push_back(row_of(plan, node));
      if (node.name() == "scores" && !is_gradient(node)) cost.scores.push_back(table_of(plan, node));
    }
  }
  return cost;
}

Integer total_multiply_adds(const Cost& cost) { return multiply_adds_of(cost.rows); }

Integer total_bytes(const Cost& cost) { return bytes_of(cost, cost.rows); }

Report told(const Cost& cost, Language language) { return Teller(cost, language).report(); }

std::string as_json(const Cost& cost) {
  nlohmann::ordered_json json;
  json["schema"] = "qkv/cost-1";
  json["bytes_per_number"] = static_cast<double>(cost.bits) / 8;
  json["steps"] = steps_as_json(cost, cost.rows);
  json["multiply_adds"] = whole(multiply_adds_of(cost.rows));
  json["open_multiply_adds"] = whole(open_of(cost.rows));
  json["bytes"] = whole(total_bytes(cost));
  if (!cost.for_comparison.empty()) {
    json["for_comparison"] = {{"steps", steps_as_json(cost, cost.for_comparison)},
                              {"multiply_adds", whole(multiply_adds_of(cost.for_comparison))},
                              {"open_multiply_adds", whole(open_of(cost.for_comparison))},
                              {"bytes", whole(bytes_of(cost, cost.for_comparison))}};
  }
  if (const ScoreTable* scores = largest(cost.scores)) {
    const Integer held = scores->rows * scores->cols;
    const Integer tiled = tiled_numbers(cost, *scores);
    json["one_head"] = {{"scores", whole(held)},
                        {"bytes", whole(bytes_of(cost, held))},
                        {"tiled_numbers", whole(tiled)},
                        {"tiled_bytes", whole(bytes_of(cost, tiled))}};
  }
  return json.dump(2) + "\n";
}

}  // namespace qkv

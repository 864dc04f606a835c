#include "report/sweep.h"

#include "report/cell_text.h"

namespace qkv {

Report softmax_sweep(const std::vector<SweepLine>& lines, const std::vector<std::string>& scores,
                     const Telling& telling) {
  Table table;
  table.columns = scores;
  for (const Text& name :
       {Text{"keys", "键数"}, Text{"largest", "最大"}, Text{"entropy", "熵"}, Text{"bits", "比特"}})
    table.columns.emplace_back(name.in(telling.language));
  for (const SweepLine& line : lines) {
    const Plan& plan = line.trace.plan();
    const NodeId weights = *plan.find("weights");
    const auto cell = [&](NodeId node, Index col) {
      return shown_cell(line.trace, {node, 0, col}, telling.decimals, telling.colours);
    };
    Index largest = 0;
    line.trace.values(weights).row(0).maxCoeff(&largest);
    std::vector<TableCell> row;
    for (std::size_t j = 0; j < scores.size(); ++j) row.push_back(cell(weights, static_cast<Index>(j)));
    row.push_back({std::to_string(plan[weights].shape.cols)});
    row.push_back(cell(weights, largest));
    row.push_back(cell(*plan.find("entropy"), 0));
    row.push_back(cell(*plan.find("entropy.bits"), 0));
    table.row_labels.push_back(line.name);
    table.rows.push_back(std::move(row));
  }
  return {{std::move(table)}};
}

}  // namespace qkv

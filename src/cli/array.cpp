#include "cli/array.h"

#include <unistd.h>

#include <cmath>

#include "render/npy.h"
#include "run/proof.h"

namespace qkv {
namespace {

// A large problem has doubles within a bound; the few steps to the nearest are made for what is written
// alone.
double nearest(const Trace& trace, NodeId id, Index row, Index col) {
  const double value = trace.values(id)(row, col);
  if (trace.arithmetic() != Arithmetic::doubles || !std::isfinite(value)) return value;
  return trace.proof().nearest({id, row, col});
}

Matrix shown_matrix(const Table& table, const Trace& trace) {
  const NodeId id = *table.node;
  const Index cols = trace.plan()[id].shape.cols;
  Matrix matrix(static_cast<Index>(table.node_rows.size()), cols);
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < cols; ++j)
      matrix(i, j) = nearest(trace, id, table.node_rows[static_cast<std::size_t>(i)], j);
  }
  return matrix;
}

}  // namespace

void write_array(const Report& report, const Worked& worked, const SharedOptions& options,
                 Diagnostics& diagnostics) {
  std::vector<const Table*> tables;
  std::string ids;
  for (const Block& block : report.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (table == nullptr) continue;
    tables.push_back(table);
    ids += (ids.empty() ? "" : " | ") + table->id;
  }
  if (tables.size() != 1) {
    diagnostics.error("",
                      say({"a .npy file holds one matrix, and this shows {0}",
                           ".npy 文件只能存放一个矩阵，而这里要显示 {0} 个"},
                          tables.size()),
                      say({"choose one with --steps, or the result with --only-output: {0}",
                           "用 --steps 选一个，或用 --only-output 只取结果：{0}"},
                          ids));
    return;
  }
  const Table& table = *tables.front();
  if (worked.trace.plan()[*table.node].is_symbolic()) {
    diagnostics.error(
        "",
        say({"{0} holds symbols, and a .npy file numbers alone", "{0} 含有符号，而 .npy 文件只能存放数"},
            table.id),
        say({"choose another step with --steps, or give numbers for the symbols",
             "用 --steps 选别的步骤，或在题目里把符号换成数"}));
    return;
  }
  write_array(shown_matrix(table, worked.trace), table.id, options, worked.input_files, diagnostics);
}

void write_array(const Matrix& matrix, const std::string& id, const SharedOptions& options,
                 const std::vector<std::string>& inputs, Diagnostics& diagnostics) {
  const bool is_for_stdout = options.output.empty() || options.output == "-";
  if (is_for_stdout && isatty(STDOUT_FILENO) == 1) {
    diagnostics.error(
        "", say({"a .npy file is binary and is not written to a terminal", ".npy 是二进制文件，不写到终端"}),
        say({"name a file, -o {0}.npy, or send it to a program, | python3 …",
             "请指定文件（-o {0}.npy），或用管道交给别的程序（| python3 …）"},
            id));
    return;
  }
  write_output(options.output, render_npy(matrix), inputs, diagnostics);
}

}  // namespace qkv

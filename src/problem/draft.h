// Everything that was given, read but not yet compared with one another.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "problem/place.h"
#include "problem/problem.h"
#include "problem/read_problem.h"
#include "problem/settings.h"

namespace qkv {

struct DraftMatrix {
  Given given;
  bool has_shape = false;       // false: an error has been told, and no check may build on it
  bool has_faults = false;      // some cells could not be read and stand as 0
  bool is_from_option = false;  // --q FILE, not a section
  std::vector<Span> cell_spans;
  std::vector<Span> row_spans;

  Place place() const { return {given.source, given.span, {}}; }
  Place cell_place(Index row, Index col) const {
    return {given.source, cell_spans[static_cast<std::size_t>(row * given.cols + col)], {}};
  }
};

struct DraftExpectation {
  std::string step;
  DraftMatrix printed;
};

struct Draft {
  std::string file;  // for errors about the problem as a whole
  Settings settings;
  std::map<std::string, DraftMatrix, std::less<>> matrices;
  std::vector<DraftExpectation> expected;
  // "L2.mask = …": what one layer has otherwise, by its number.  Its matrices stand above as "L2.W_Q".
  std::map<Index, std::vector<SettingText>> layer_settings;
  std::string layer = {};     // "L2." of the draft of one layer of a stack
  bool is_last_layer = true;  // whose result is that of the whole
  bool asks_for_result_alone = false;  // as ProblemInput's
  bool is_complete = true;    // false: something was not understood, so nothing can be said to be missing

  const DraftMatrix* find(std::string_view name) const {
    const auto found = matrices.find(name);
    return found == matrices.end() ? nullptr : &found->second;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
};

// Reads settings and matrices, each for itself.  `diagnostics` must not hold errors yet.
Draft read_draft(const ProblemInput& input, Diagnostics& diagnostics);

}  // namespace qkv

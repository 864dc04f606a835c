// What the user asked for, validated.  After this nothing can be ill-formed: shapes fit,
// names are known, exactly one place to enter the calculation is given, and whatever has a
// default has been given it.  Nothing below needs an error path.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/matrix.h"
#include "base/number.h"

namespace qkv {

// A matrix as it was written: every cell keeps its text.
struct Given {
  Index rows = 0;
  Index cols = 0;
  std::vector<Number> cells;            // row by row
  std::vector<std::string> row_labels;  // one per row, or empty
  SourcePtr source;                     // where the section's name stands, for errors and provenance
  Span span;

  const Number& at(Index row, Index col) const { return cells[static_cast<std::size_t>(row * cols + col)]; }
  Shape shape() const { return {rows, cols}; }
};

// Where the calculation is entered: the first step that is given and not computed.
enum class Entry { x, qkv, scores, scaled, masked, weights };

enum class Layout { columns, linear };     // X·W, or X·Wᵀ as nn.Linear stores W
enum class EmptyRow { zero, nan, error };  // a row in which every key is forbidden
enum class ScoreKind { dot, general, additive, concat };
enum class ReadKind { soft, hard };  // weighted sum, or the row of the largest weight
enum class Rounding { exact, paper };
enum class ScaleKind { root, none, factor };  // ÷ √d_k, nothing, × a number

struct Scale {
  ScaleKind kind = ScaleKind::root;
  Number factor;  // with `factor`
  Number d_k;     // with `root`: the width under the root, from the shapes or from the setting
};

// A printed value of a step, which the calculated one is compared with.
struct Expectation {
  std::string step;  // step id: "weights", "output", …
  Given printed;     // "_" cells are skipped
};

struct Problem {
  std::string file;  // as named by the user; empty when everything came from options
  std::string title;
  std::string source;  // where the example was taken from

  Entry entry = Entry::x;

  // Sections by name ("X", "W_Q", "b_V", "scores", "bias", "mask", …), all with fitting
  // shapes.  After reading, every matrix stands under its own name: `K = Q` has made a copy
  // of Q at "K" (unless Q is computed) and noted it in `same_as`; [W_QKV] is also split into
  // W_Q, W_K and W_V; a V left out stands here as symbols; vectors written as a column or as
  // a row (b_*, v_a) are 1 × n.
  std::map<std::string, Given, std::less<>> given;
  std::map<std::string, std::string, std::less<>> same_as;  // {"K", "Q"}

  bool has(std::string_view name) const { return given.find(name) != given.end(); }
  const Given& operator[](std::string_view name) const { return given.find(name)->second; }

  // One label per query and per key, in order; kv_tokens equals tokens in self-attention.
  std::vector<std::string> tokens;
  std::vector<std::string> kv_tokens;
  int first_index = 1;

  Layout layout = Layout::columns;
  ScoreKind score = ScoreKind::dot;
  Scale scale;
  std::optional<Number> temperature;
  std::optional<Number> softcap;
  std::optional<Number> sink_logit;
  std::optional<Number> alibi;  // the slope, ≥ 0
  ReadKind read = ReadKind::soft;
  EmptyRow empty_row = EmptyRow::zero;

  // Position of query i among the keys is i + align, counted from 0; alibi and masks use it.
  long align = 0;

  // Which keys each query may look at, [n, m]: the setting `mask`, the section [mask], and
  // every -inf in [bias], [scores], [scaled] or [masked].  Null when nothing is forbidden by
  // any of them and no mask was asked for.
  std::shared_ptr<const Mask> allowed;
  // The part of it that stands in the step M: the setting and [mask].  Null without both;
  // then there is no step M.  May be all true ("causal" with one token).
  std::shared_ptr<const Mask> mask;
  // What the mask was understood to mean, e.g. "causal", or "[mask]: 1 = may look".
  Said mask_meaning;

  int decimals = 4;
  Rounding round = Rounding::exact;

  std::vector<Expectation> expected;  // in the order of the file
  // Settings as they were understood, in the order of the table of keys, for the header and JSON.
  std::vector<std::pair<std::string, std::string>> settings;
};

}  // namespace qkv

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
#include "input/numbers.h"
#include "problem/mask.h"

namespace qkv {

// A matrix as it was written: every cell keeps its text.
struct Given {
  Index rows = 0;
  Index cols = 0;
  std::vector<Number> cells;            // row by row; empty with `numbers`
  std::vector<std::string> row_labels;  // one per row, or empty
  SourcePtr source;                     // where the section's name stands, for errors and provenance
  Span span = {};
  NumbersPtr numbers = nullptr;  // of a matrix that is too large for cells, see ProblemInput::numbers

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
enum class MethodKind { softmax, linear };
enum class Phi { elu_plus_1, exp, relu, identity };  // linear attention's feature map

// Rotary positions: each pair of columns turns by position · base^(−2i/dims), i counted from 0.
struct Rope {
  enum class Pairs { none, half, interleaved };  // (i, i + dims/2), or (2i, 2i + 1)
  Pairs pairs = Pairs::none;
  Number base;
  Index dims = 0;  // how many columns of a head turn, an even number; the rest passes through
};

struct Tile {
  Index rows = 0;  // queries
  Index cols = 0;  // keys
};

struct Scale {
  ScaleKind kind = ScaleKind::root;
  Number factor;  // with `factor`
  Number d_k;     // with `root`: the width under the root, from the shapes or from the setting
};

// What one head may look at, where heads differ.
struct HeadMask {
  std::shared_ptr<const Mask> allowed;  // as Problem::allowed; null: every key
  std::shared_ptr<const Mask> mask;     // the M of this head alone; null: it has that of all heads, if any
};

// A printed value of a step, which the calculated one is compared with.
struct Expectation {
  std::string step;  // step id: "weights", "output", …
  Given printed;     // "_" cells are skipped
};

// [h1.mask], [h1.bias]: under which name the table of one head alone is given; heads from 0.
inline std::string table_of_head(std::string_view name, Index head) {
  return "h" + std::to_string(head + 1) + "." + std::string(name);
}

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

  Index heads = 1;
  Index kv_heads = 1;            // divides heads: so many consecutive heads share one K and V
  std::vector<bool> is_dropped;  // heads whose output is set to zero: one per head, or empty

  Layout layout = Layout::columns;
  ScoreKind score = ScoreKind::dot;
  Scale scale;
  std::optional<Number> temperature;
  std::optional<Number> softcap;
  std::vector<Number> sink_logits;  // one per head, or empty
  std::vector<Number> slopes;       // of alibi, ≥ 0: one per head, or empty
  ReadKind read = ReadKind::soft;
  MethodKind method = MethodKind::softmax;
  Phi phi = Phi::elu_plus_1;
  Number eps;  // added to linear attention's denominator

  Rope rope;
  bool adds_sinusoids = false;     // sinusoidal positions are added to X; learned ones stand as [P]
  std::vector<long> positions;     // of the queries, one each
  std::vector<long> kv_positions;  // of the new keys, one each

  bool is_decoded = false;   // token by token with a KV cache
  Index prefill = 0;         // tokens that the first pass takes together
  std::optional<Tile> tile;  // the softmax goes over the keys tile by tile
  bool wants_gradient = false;

  bool has_residual = false;   // the input of a layer is added to its output
  std::vector<Problem> stack;  // the layers, when there are several; X of all but the first is computed
  Index hops = 1;              // how often the memory is read
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
  // Where a [h2.mask] or a [h2.bias] stands: one per head; else empty.  `allowed` then holds what
  // some head may look at, `mask` what is common to all.
  std::vector<HeadMask> head_masks;
  const std::shared_ptr<const Mask>& allowed_to(std::size_t head) const {
    return head_masks.empty() ? allowed : head_masks[head].allowed;
  }
  const std::shared_ptr<const Mask>& mask_of(std::size_t head) const {
    return head_masks.empty() || !head_masks[head].mask ? mask : head_masks[head].mask;
  }
  // In a problem that asks for the result alone: the setting `mask` as a rule, where nothing else forbids.
  // `allowed` and `mask` are then null, and no table of queries by keys exists.
  std::shared_ptr<const MaskSetting> mask_rule;
  // The pairs that only `sinks` keeps open in a window; null: none.
  std::shared_ptr<const Mask> seen_by_sinks;
  // What the mask was understood to mean, e.g. "causal", or "[mask]: 1 = may look".
  Said mask_meaning;

  int decimals = 4;
  Rounding round = Rounding::exact;

  std::vector<Expectation> expected;   // in the order of the file
  bool is_changed_by_options = false;  // what the file expects may not be of this problem any more
  // Settings as they were understood, in the order of the table of keys, for the header and JSON.
  std::vector<std::pair<std::string, std::string>> settings;
};

}  // namespace qkv

// The setting `mask`: which keys a query may look at, by position.
//
//   allowed(i, j) = (no causal, or j ≤ pos i, or j < N of prefix)
//                   and (no window, or j inside it, or j a sink, or i or j global)
//                   and same segment and j not padded
//
// with pos i = i + align.  Masks are booleans until they are printed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/key_runs.h"
#include "base/matrix.h"

namespace qkv {

// How far a window reaches from the query's own position; nullopt: without end.
struct Window {
  std::optional<long> before;
  std::optional<long> after;
};

struct MaskSetting {
  bool is_causal = false;
  std::optional<Window> window;
  std::optional<long> prefix;  // the first N keys are visible to all; implies causal
  std::optional<long> sinks;   // the first N keys stay visible outside the window
  std::vector<long> global;    // token numbers as written, counted from first_index; ascending
  std::vector<long> padding;   // one per key: 1 = real, 0 = padding
  std::vector<long> segments;  // one per token; tokens see their own segment only
  long past = 0;               // tokens that were there before the first query's; known from [past_K]

  std::string text = "none";  // as understood: "causal window:3"
  Said meaning;               // in words

  // Where the parts that depend on the number of tokens stand in the setting's value.
  Span global_span;
  Span padding_span;
  Span segments_span;

  bool is_none() const {
    return !is_causal && !window && !prefix && !sinks && global.empty() && padding.empty() &&
           segments.empty();
  }
  bool uses_align() const { return is_causal || window.has_value(); }
};

// What was wrong in a value, and where in it.
struct ValueFault {
  Span span;  // bytes of the value
  Said message;
  Said hint;
};

// Reads "causal window:3 sinks:1"; nullopt, with every fault added, when it cannot be understood.
std::optional<MaskSetting> parse_mask(std::string_view value, std::vector<ValueFault>& faults);

// May query i look at key j?  Both counted from 0; `global` counts tokens, from first_index.
bool is_visible(const MaskSetting& mask, long align, int first_index, Index i, Index j);

// The same for all pairs, without asking for each: takes time in proportion to the runs.
KeyRuns visible_keys(const MaskSetting& mask, long align, int first_index, Index queries, Index keys);

}  // namespace qkv

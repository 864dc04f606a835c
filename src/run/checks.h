// What must hold in every trace, looked at in this one.
#pragma once

#include <optional>
#include <string>

#include "run/trace.h"

namespace qkv {

// Of a statement about many numbers, the worst case.
struct Finding {
  enum class Outcome {
    exactly,  // holds exactly, and that is proved
    within,   // holds to within `by`
    fails,    // by `by`, or is not a number
    absent,   // there is nothing to look at
  };
  Outcome outcome = Outcome::absent;
  double by = 0;    // an upper bound of the distance
  Index count = 0;  // how many rows or cells were looked at
  Index row = 0;    // of the worst case
};

// The weights of every row sum to 1; with a sink, to less.  Rows whose keys are all forbidden are
// left out.
Finding rows_sum_to_one(const Trace& trace, NodeId weights);
Finding rows_sum_to_less(const Trace& trace, NodeId weights);
// The weights of all forbidden keys are 0, not nearly.
Finding forbidden_weights_are_zero(const Trace& trace, NodeId weights);
// e^s / Σ e^s is the same as e^(s − max) / Σ e^(s − max).
Finding shift_changes_nothing(const Trace& trace, NodeId weights, NodeId naive_exp, NodeId naive_sum);
// Two steps that ought to hold the same numbers, computed in another way.
Finding values_are_equal(const Trace& trace, NodeId a, NodeId b);
// Every output lies between the smallest and the largest value of its column.
Finding output_is_in_hull(const Trace& trace, NodeId output);

}  // namespace qkv

// The projections of one attention layer, taken from a file of a model's tensors.
//
//   linear  q_proj.weight, k_proj.weight, v_proj.weight, o_proj.weight (nn.Linear: a row is an output)
//   fused   in_proj.weight, qkv.weight (nn.Linear) or GPT-2's c_attn.weight (Conv1D: a column is an output)
//   mha     torch.nn.MultiheadAttention: in_proj_weight, or q_proj_weight …; out_proj.weight
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

struct CheckpointChoice {
  std::string file;
  std::string form;   // "linear", "fused", "mha"; empty: told by the names of the tensors
  std::string layer;  // a number, or how the tensors' names begin; empty: the file has one
  std::optional<long> heads = {}, kv_heads = {};  // where K and V are narrower than Q in a fused matrix
};

// [W_Q] [W_K] [W_V] and, as far as the file has them, [W_O] [b_Q] [b_K] [b_V] [b_O], all for layout =
// columns, as matrix files with every digit.  Empty, with errors, when they are not found, or in more than
// one place.
std::vector<std::pair<std::string, SourcePtr>> read_checkpoint(const CheckpointChoice& choice,
                                                               Diagnostics& diagnostics);

}  // namespace qkv

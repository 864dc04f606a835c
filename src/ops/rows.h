// The ops, by concept.  Each is one constant; its kernel stands in ops/kernels.h.
#pragma once

#include <span>

#include "plan/op.h"

namespace qkv::ops {

// Given, not computed (ops/given.cpp).
extern const Op given_tokens;  // X: tokens as vectors
extern const Op given_q, given_k, given_v;
extern const Op given_scores, given_scaled, given_masked, given_weights;
extern const Op parameter;   // W_Q, b_Q, v_a …
extern const Op fused_part;  // W_Q, W_K or W_V, cut out of W_QKV
// K = Q and the like: one matrix in two roles.
extern const Op same_q, same_k, same_v;
extern const Op mask_matrix;  // M: 0 where a key is visible, -inf where it is not

// Products (ops/products.cpp).
extern const Op project_q, project_k, project_v, project_output;
extern const Op project_q_biased, project_k_biased, project_v_biased, project_output_biased;
// The same with W stored as nn.Linear does, [out, in].
extern const Op linear_q, linear_k, linear_v, linear_output;
extern const Op linear_q_biased, linear_k_biased, linear_v_biased, linear_output_biased;
extern const Op dot_rows, general_scores, additive_scores, additive_scores_biased, concat_scores;
extern const Op weighted_sum, hard_read, soft_read_beside;

// Between scores and softmax (ops/scores.cpp).
extern const Op scale_by_root;    // numbers: d_k
extern const Op scale_by_factor;  // numbers: factor
extern const Op soft_cap;         // numbers: cap
extern const Op temper;           // numbers: temperature
extern const Op given_bias;       // [bias]
extern const Op alibi;            // numbers: slope; params.shape, params.align
extern const Op alibi_and_bias;   // the same, added to [bias]
extern const Op add_mask, add_bias, add_bias_and_mask;

// Softmax (ops/softmax.cpp).  With a sink: numbers: sink logit.
extern const Op row_max, row_max_sink;
extern const Op shift_by_max;
extern const Op exponential;
extern const Op row_sum, row_sum_sink;
extern const Op normalise;
// The five lines in one, for who does not want to see them singly.
extern const Op softmax, softmax_sink;
// What the formula says before the maximum is subtracted, for comparison.
extern const Op naive_exponential, naive_sum, naive_sum_sink;

// Several heads (ops/heads.cpp).
extern const Op head_q, head_k, head_v;  // numbers: first and last column, counted from 1
extern const Op head_view;               // numbers: head, counted from 1, and how many there are
extern const Op kv_map;                  // for each head the KV head it reads, counted from 1
extern const Op drop_head;
extern const Op concat, concat_view;  // any number of inputs
extern const Op row_distance;

// Positions (ops/positions.cpp).
extern const Op positions;
extern const Op turning_angles;                // numbers: base, columns that turn
extern const Op rotate_half_q, rotate_half_k;  // x, angles
extern const Op rotate_interleaved_q, rotate_interleaved_k;
extern const Op sinusoids;  // angles; numbers: base, width
extern const Op learned_positions, add_positions;
extern const Op past_keys, past_values;      // of the cache
extern const Op append_keys, append_values;  // cached rows, new rows

// How widely weights are spread (ops/entropy.cpp).
extern const Op row_entropy;  // weights, shifted, sum
extern const Op entropy_in_bits;

// Every op, for tests and tables.
std::span<const Op* const> all();

}  // namespace qkv::ops

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
extern const Op weights_without_sinks;  // params.allowed: without the pairs that sinks opened
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
extern const Op sum_of_biases;     // [bias] and [h1.bias]
extern const Op alibi_and_biases;  // … and alibi (ops/scores.cpp, both)

// Positions (ops/positions.cpp).
extern const Op positions;
extern const Op turning_angles;                // numbers: base, columns that turn
extern const Op rotate_half_q, rotate_half_k;  // x, angles
extern const Op rotate_interleaved_q, rotate_interleaved_k;
// Of MLA; numbers: the width of one head's part.
extern const Op rotate_half_q_part, rotate_half_k_part;
extern const Op rotate_interleaved_q_part, rotate_interleaved_k_part;
extern const Op sinusoids;  // angles; numbers: base, width
extern const Op learned_positions, add_positions;
extern const Op past_keys, past_values;  // of the cache
// Cached rows, new rows.
extern const Op append_keys, append_values, append_latents, append_key_positions;

// Work in pieces (ops/passes.cpp).  numbers: the rows that are taken, counted from 1.
extern const Op new_x, new_q, new_k, new_v, new_k_for_state, new_v_for_state;
extern const Op kept_keys, kept_values, kept_latents, kept_key_positions;
extern const Op decoded;  // any number of inputs
extern const Op add_residual, next_query;
extern const Op tile_q, tile_k, tile_v;
extern const Op running_max, rescale, running_sum, tile_read, running_read, finish_read;
extern const Op tiled;  // numbers: most numbers held, cells of the table, tiles skipped

// The loss (ops/loss.cpp).  numbers: how many rows.
extern const Op given_targets, class_probabilities, cross_entropy, mean_of_rows;
extern const Op d_cross_entropy;
extern const Op given_gradient, gradient_of_ones;  // of the last step

// Steps backwards, each made of the gradient of a result (ops/gradients.cpp).
extern const Op d_weights, d_values, d_softmax;
extern const Op softmax_jacobian;  // numbers: the row, counted from 1; its text is the row's label
extern const Op d_unchanged, d_temper, d_soft_cap, d_scale_by_root, d_scale_by_factor;
extern const Op d_queries, d_keys, d_general_queries, d_general_keys, d_general_matrix;
extern const Op d_projected, d_linear, d_parameter, d_bias;
extern const Op d_fused, d_fused_rows;  // of W_QKV
extern const Op d_heads, d_dropped;
extern const Op d_head_part, d_joined_part;           // numbers: first and last column, counted from 1
extern const Op d_rotate_half, d_rotate_interleaved;  // numbers: the width of one head's part, of MLA
extern const Op d_new_rows;                           // numbers: first and last row, counted from 1
extern const Op d_sum_of_uses;

// Through scores that are small networks (ops/gradients_networks.cpp).
extern const Op d_hidden, d_hidden_vector, d_tanh;
extern const Op d_pair_queries, d_pair_keys;  // numbers: how many keys there are
extern const Op d_concat_part;                // numbers: first and last row of W_a, counted from 1
extern const Op d_concat_matrix;              // Q and what came back to it, K and what came back to it

// Through linear attention (ops/gradients_linear.cpp).
extern const Op d_table_weights;
extern const Op d_divided;      // d.weights, denominator
extern const Op d_denominator;  // d.weights, weights, denominator
extern const Op d_summed;       // numbers: how many are summed up
extern const Op d_query_features, d_key_features;
extern const Op d_phi_elu, d_phi_exp;  // what arrives, and φ(x)
extern const Op d_phi_relu;            // what arrives, and x
extern const Op d_phi_identity;

// Linear attention (ops/linear.cpp).  With eps: numbers end with it.
extern const Op phi_elu_q, phi_elu_k, phi_exp_q, phi_exp_k;
extern const Op phi_relu_q, phi_relu_k, phi_identity_q, phi_identity_k;
extern const Op kernel_scores, kernel_sum, kernel_sum_eps, kernel_weights, other_order;
extern const Op state, key_sum;              // over all keys
extern const Op read_state, read_state_eps;  // phi.Q, S, z
// Of one token: numbers begin with which one, counted from 1.
extern const Op first_state, next_state, first_key_sum, next_key_sum;
extern const Op read_state_of_token, read_state_of_token_eps;
extern const Op token_rows;  // any number of inputs of one row
// Of one pass: the state that it starts or continues, and what its tokens read of one another.
extern const Op pass_state, pass_key_sum, continued_state, continued_key_sum;
extern const Op kernel_weights_in_pass, read_in_pass;

// Multi-head latent attention (ops/latent.cpp).
extern const Op latent, latent_linear, query_latent, query_latent_linear;
extern const Op restored_keys, restored_keys_linear, restored_values, restored_values_linear;
extern const Op keys_from_cache, keys_from_cache_linear, values_from_cache, values_from_cache_linear;
extern const Op restored_queries, restored_queries_linear;
extern const Op key_position, key_position_linear, query_position, query_position_linear;
// numbers: first and last column of the one input and of the other, counted from 1.
extern const Op latent_head_q, latent_head_k;
extern const Op cached_latent, cached_plain;  // any number of inputs
// The same from what is cached, restoring nothing; numbers as for latent_head_q, or the head's columns.
extern const Op cached_key, absorbed_query, absorbed_query_linear, absorbed_head_q;
extern const Op cached_scores, cached_output, cached_output_linear;

// How widely weights are spread (ops/entropy.cpp).
extern const Op row_entropy;  // weights, shifted, sum
extern const Op entropy_in_bits;

// Beside the scores that are more than a dot product (ops/inner_scores.cpp).
extern const Op inner_queries, inner_keys;
extern const Op hidden_layer, hidden_layer_biased, hidden_layer_concat;  // a row for every query and key

// Every op, for tests and tables.
std::span<const Op* const> all();

}  // namespace qkv::ops

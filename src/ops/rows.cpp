#include "ops/rows.h"

#include <array>

namespace qkv::ops {

std::span<const Op* const> all() {
  // clang-format off
  static constexpr auto kAll = std::to_array<const Op*>({
      // given.cpp
      &given_tokens, &given_q, &given_k, &given_v, &given_scores, &given_scaled, &given_masked, &given_weights,
      &parameter, &fused_part, &same_q, &same_k, &same_v, &mask_matrix,
      // products.cpp
      &project_q, &project_k, &project_v, &project_output,
      &project_q_biased, &project_k_biased, &project_v_biased, &project_output_biased,
      &linear_q, &linear_k, &linear_v, &linear_output,
      &linear_q_biased, &linear_k_biased, &linear_v_biased, &linear_output_biased,
      &dot_rows, &general_scores, &additive_scores, &additive_scores_biased, &concat_scores,
      &weighted_sum, &hard_read, &soft_read_beside,
      // scores.cpp
      &scale_by_root, &scale_by_factor, &soft_cap, &temper, &given_bias, &alibi, &alibi_and_bias,
      &add_mask, &add_bias, &add_bias_and_mask,
      // softmax.cpp
      &row_max, &row_max_sink, &shift_by_max, &exponential, &row_sum, &row_sum_sink, &normalise,
      &softmax, &softmax_sink, &naive_exponential, &naive_sum, &naive_sum_sink,
      // heads.cpp
      &head_q, &weights_without_sinks, &head_k, &head_v, &head_view, &kv_map, &drop_head, &concat, &concat_view, &row_distance,
      &sum_of_biases, &alibi_and_biases,
      // positions.cpp
      &positions, &turning_angles, &rotate_half_q, &rotate_half_k, &rotate_interleaved_q, &rotate_interleaved_k,
      &rotate_half_q_part, &rotate_half_k_part, &rotate_interleaved_q_part, &rotate_interleaved_k_part,
      &sinusoids, &learned_positions, &add_positions, &past_keys, &past_values, &append_keys, &append_values,
      &append_latents, &append_key_positions,
      // passes.cpp
      &new_x, &new_q, &new_k, &new_v, &new_k_for_state, &new_v_for_state,
      &kept_keys, &kept_values, &kept_latents, &kept_key_positions,
      &decoded, &add_residual, &next_query,
      &tile_q, &tile_k, &tile_v, &running_max, &rescale, &running_sum, &tile_read, &running_read, &finish_read, &tiled,
      // loss.cpp
      &given_targets, &class_probabilities, &cross_entropy, &mean_of_rows, &d_cross_entropy, &given_gradient,
      &gradient_of_ones,
      // gradients.cpp
      &d_weights, &d_values, &d_softmax, &softmax_jacobian, &d_unchanged, &d_temper, &d_soft_cap,
      &d_scale_by_root, &d_scale_by_factor, &d_queries, &d_keys, &d_general_queries, &d_general_keys,
      &d_general_matrix, &d_projected, &d_linear, &d_parameter, &d_fused, &d_fused_rows, &d_bias, &d_heads, &d_head_part, &d_joined_part, &d_dropped,
      &d_rotate_half, &d_rotate_interleaved, &d_new_rows, &d_sum_of_uses,
      // gradients_networks.cpp
      &d_hidden, &d_hidden_vector, &d_tanh, &d_pair_queries, &d_pair_keys, &d_concat_part, &d_concat_matrix,
      // gradients_linear.cpp
      &d_table_weights, &d_divided, &d_denominator, &d_summed, &d_query_features, &d_key_features,
      &d_phi_elu, &d_phi_exp, &d_phi_relu, &d_phi_identity,
      // linear.cpp
      &phi_elu_q, &phi_elu_k, &phi_exp_q, &phi_exp_k, &phi_relu_q, &phi_relu_k, &phi_identity_q, &phi_identity_k,
      &kernel_scores, &kernel_sum, &kernel_sum_eps, &kernel_weights, &other_order,
      &state, &key_sum, &read_state, &read_state_eps,
      &first_state, &next_state, &first_key_sum, &next_key_sum,
      &read_state_of_token, &read_state_of_token_eps, &token_rows,
      &pass_state, &pass_key_sum, &continued_state, &continued_key_sum, &kernel_weights_in_pass, &read_in_pass,
      // latent.cpp
      &latent, &latent_linear, &query_latent, &query_latent_linear, &restored_keys, &restored_keys_linear,
      &restored_values, &restored_values_linear, &keys_from_cache, &keys_from_cache_linear,
      &values_from_cache, &values_from_cache_linear, &restored_queries, &restored_queries_linear,
      &key_position, &key_position_linear, &query_position, &query_position_linear,
      &latent_head_q, &latent_head_k, &cached_latent, &cached_plain,
      &cached_key, &absorbed_query, &absorbed_query_linear, &absorbed_head_q,
      &cached_scores, &cached_output, &cached_output_linear,
      // inner_scores.cpp
      &inner_queries, &inner_keys, &hidden_layer, &hidden_layer_biased, &hidden_layer_concat,
      // entropy.cpp
      &row_entropy, &entropy_in_bits,
  });
  // clang-format on
  return kAll;
}

}  // namespace qkv::ops

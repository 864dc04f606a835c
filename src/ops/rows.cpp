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
      &head_q, &head_k, &head_v, &head_view, &kv_map, &drop_head, &concat, &concat_view, &row_distance,
      // positions.cpp
      &positions, &turning_angles, &rotate_half_q, &rotate_half_k, &rotate_interleaved_q, &rotate_interleaved_k,
      &sinusoids, &learned_positions, &add_positions, &past_keys, &past_values, &append_keys, &append_values,
      // entropy.cpp
      &row_entropy, &entropy_in_bits,
  });
  // clang-format on
  return kAll;
}

}  // namespace qkv::ops

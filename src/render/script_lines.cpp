#include "render/script_lines.h"

#include <algorithm>
#include <array>
#include <utility>

namespace qkv {
namespace {

constexpr const char* kSumOfRow = "#1.sum(axis=1, keepdims=True)";
constexpr const char* kSumOfColumn = "#1.sum(axis=0, keepdims=True)";
constexpr const char* kReadBack = "read(#1.T, #2, @open.T)";
constexpr const char* kReadBackOctave = "read(#1', #2, @open')";
constexpr const char* kDivideOpen = "np.where(@open, #1 / #2, 0.0)";
constexpr const char* kDivideOpenOctave = "where(@open, #1 ./ #2, 0)";
constexpr const char* kDivideRows = "np.where(@openrows, #1 / #2, @empty)";
constexpr const char* kDivideRowsOctave = "where(@openrows, #1 ./ #2, @empty)";
constexpr const char* kRead = "np.where(@openrows, read(#1, #2, @open), @empty)";
constexpr const char* kReadOctave = "where(@openrows, read(#1, #2, @open), @empty)";

// clang-format off
constexpr auto kLines = std::to_array<ScriptLine>({
    {"same", "#1", "#1"},
    {"add", "#1 + #2", "#1 + #2"},

    // Products.
    {"project", "#1 @ #2", "#1 * #2"},
    {"project_biased", "#1 @ #2 + #3", "#1 * #2 + #3"},
    {"linear", "#1 @ #2.T", "#1 * #2'"},
    {"linear_biased", "#1 @ #2.T + #3", "#1 * #2' + #3"},
    {"dot_rows", "#1 @ #2.T", "#1 * #2'"},
    {"general_scores", "#1 @ #3 @ #2.T", "#1 * #3 * #2'"},
    {"additive_scores", "np.tanh((#1 @ #3)[:, None] + #2 @ #4) @ #5[0]", "network(#1 * #3, #2 * #4, #5)"},
    {"additive_scores_biased", "np.tanh((#1 @ #3)[:, None] + #2 @ #4 + #6) @ #5[0]", "network(#1 * #3, #2 * #4 + #6, #5)"},
    {"concat_scores", "np.tanh((#1 @ #3[:#1.shape[1]])[:, None] + #2 @ #3[#1.shape[1]:]) @ #4[0]",
     "network(#1 * #3(1:columns(#1), :), #2 * #3(columns(#1)+1:end, :), #4)"},
    {"weighted_sum", "#1 @ #2", "#1 * #2", Guard::leaks, kRead, kReadOctave},
    {"hard_read", "hard_read(#1, #2)", "hard_read(#1, #2)", Guard::closed,
     "np.where(@openrows, hard_read(np.where(@open, #1, -np.inf), #2), @empty)",
     "where(@openrows, hard_read(where(@open, #1, -Inf), #2), @empty)"},

    // Between scores and softmax.
    {"scale", "#1 / np.sqrt(@n1)", "#1 / sqrt(@n1)"},
    {"scale_by_factor", "@1 * #1", "@1 * #1", Guard::minus_inf,
     "np.where(#1 == -np.inf, #1, @1 * #1)", "where(#1 == -Inf, #1, @1 * #1)"},
    {"soft_cap", "@1 * np.tanh(#1 / @1)", "@1 * tanh(#1 / @1)", Guard::minus_inf,
     "np.where(#1 == -np.inf, #1, @1 * np.tanh(#1 / @1))", "where(#1 == -Inf, #1, @1 * tanh(#1 / @1))"},
    {"temper", "#1 / @1", "#1 / @1"},
    {"alibi", "-@1 * abs(np.arange(@rows)[:, None]@align - np.arange(@cols))",
     "-@1 * abs((0:@rows-1)'@align - (0:@cols-1))"},
    {"alibi_and_bias", "#1 - @1 * abs(np.arange(@rows)[:, None]@align - np.arange(@cols))",
     "#1 - @1 * abs((0:@rows-1)'@align - (0:@cols-1))"},
    {"alibi_and_biases", "#1 + #2 - @1 * abs(np.arange(@rows)[:, None]@align - np.arange(@cols))",
     "#1 + #2 - @1 * abs((0:@rows-1)'@align - (0:@cols-1))"},
    {"sum_of_biases", "#1 + #2", "#1 + #2"},
    {"add_mask", "#1 + #2", "#1 + #2", Guard::not_a_number, "np.where(@open, #1 + #2, -np.inf)", "where(@open, #1 + #2, -Inf)"},
    {"add_bias", "#1 + #2", "#1 + #2", Guard::not_a_number, "np.where(@open, #1 + #2, -np.inf)", "where(@open, #1 + #2, -Inf)"},
    {"add_bias_and_mask", "#1 + #2 + #3", "#1 + #2 + #3", Guard::not_a_number, "np.where(@open, #1 + #2 + #3, -np.inf)", "where(@open, #1 + #2 + #3, -Inf)"},

    // Softmax.
    {"row_max", "#1.max(axis=1, keepdims=True)", "max(#1, [], 2)"},
    {"row_max_sink", "#1.max(axis=1, keepdims=True).clip(min=@n1)", "max(max(#1, [], 2), @n1)"},
    {"shift", "#1 - #2", "#1 - #2", Guard::empty_row,
     "np.where(@open, #1 - #2, -np.inf)", "where(@open, #1 - #2, -Inf)"},
    {"exp", "np.exp(#1)", "exp(#1)"},
    {"row_sum", kSumOfRow, "sum(#1, 2)"},
    {"row_sum_sink", "#1.sum(axis=1, keepdims=True) + np.exp(@1 - #2)", "sum(#1, 2) + exp(@1 - #2)"},
    {"divide", "#1 / #2", "#1 ./ #2", Guard::empty_row, kDivideRows, kDivideRowsOctave},
    {"renormalise", "np.where(@open, #1, 0) / np.where(@open, #1, 0).sum(axis=1, keepdims=True)",
     "where(@open, #1, 0) ./ sum(where(@open, #1, 0), 2)", Guard::empty_row,
     "np.where(@openrows, np.where(@open, #1, 0) / np.where(@open, #1, 0).sum(axis=1, keepdims=True), @empty)",
     "where(@openrows, where(@open, #1, 0) ./ sum(where(@open, #1, 0), 2), @empty)"},
    {"softmax", "softmax(#1)", "softmax(#1)", Guard::empty_row,
     "np.where(@openrows, softmax(#1), @empty)", "where(@openrows, softmax(#1), @empty)"},
    {"softmax_sink", "softmax_with_sink(#1, @n1)", "softmax_with_sink(#1, @n1)", Guard::empty_row,
     "np.where(@openrows, softmax_with_sink(#1, @n1), @empty)", "where(@openrows, softmax_with_sink(#1, @n1), @empty)"},
    {"naive_exp", "np.exp(#1)", "exp(#1)"},
    {"naive_sum", kSumOfRow, "sum(#1, 2)"},
    {"naive_sum_sink", "#1.sum(axis=1, keepdims=True) + np.exp(np.array(@n1))", "sum(#1, 2) + exp(@n1)"},
    // Weights of exactly 0 add nothing.
    {"row_entropy", "(#1 * (np.log(#3) - #2)).sum(axis=1, keepdims=True)", "sum(#1 .* (log(#3) - #2), 2)",
     Guard::minus_inf, "np.where(#1 == 0, 0.0, #1 * (np.log(#3) - #2)).sum(axis=1, keepdims=True)",
     "sum(where(#1 == 0, 0, #1 .* (log(#3) - #2)), 2)"},
    {"entropy_in_bits", "#1 / math.log(2)", "#1 / log(2)"},

    // Several heads.
    {"head", "#1[:, @a1:@z2]", "#1(:, @b1:@z2)"},
    {"view", "#1.reshape(@n2, @rows, -1)[@a1]", "refill(#1, @rows * @n2, @cols)(@a1 * @rows + (1:@rows), :)"},
    {"drop_head", "np.zeros_like(#1)", "zeros(size(#1))"},
    {"concat", "np.concatenate([#*], axis=1)", "[#*]"},
    {"joined_view", "np.concatenate([#*], axis=0).reshape(@rows, -1)", "refill([#;], @rows, @cols)"},
    {"row_distance", "((#1 - #2) ** 2).sum(axis=1, keepdims=True) ** 0.5", "sqrt(sum((#1 - #2) .^ 2, 2))"},

    // Positions.
    {"angles", "#1 / @1 ** (np.arange(0, @n2, 2) / @n2)", "#1 ./ @1 .^ ((0:2:@n2-1) / @n2)"},
    {"rotate_half", "rotate_half(#1, #2, @width)", "rotate_half(#1, #2, @width)"},
    {"rotate_interleaved", "rotate_interleaved(#1, #2, @width)", "rotate_interleaved(#1, #2, @width)"},
    {"sinusoids", "sinusoids(#1, @n2)", "sinusoids(#1, @n2)"},
    {"append", "np.concatenate([#*], axis=0)", "[#;]"},

    // Work in pieces.
    {"rows", "#1[@taken0]", "#1(@taken1, :)"},
    {"fused_gradient", "np.concatenate([#*], axis=1)", "[#*]"},
    {"fused_rows_gradient", "np.concatenate([#*], axis=0)", "[#;]"},
    {"stack", "np.concatenate([#*], axis=0)", "[#;]"},
    {"running_max", "np.maximum(#2, #1.max(axis=1, keepdims=True))", "max(#2, max(#1, [], 2))"},
    {"rescale", "np.exp(#1 - #2)", "exp(#1 - #2)", Guard::minus_inf,
     "np.where(#1 == -np.inf, 0.0, np.exp(#1 - #2))", "where(#1 == -Inf, 0, exp(#1 - #2))"},
    {"running_sum", "#1 * #2 + #3.sum(axis=1, keepdims=True)", "#1 .* #2 + sum(#3, 2)"},
    {"tile_read", "#1 @ #2", "#1 * #2", Guard::leaks, "read(#1, #2, @open)", "read(#1, #2, @open)"},
    {"running_read", "#2 * #1 + #3 @ #4", "#2 .* #1 + #3 * #4", Guard::leaks,
     "#2 * #1 + read(#3, #4, @open)", "#2 .* #1 + read(#3, #4, @open)"},
    {"finish", "#1 / #2", "#1 ./ #2", Guard::empty_row, kDivideRows, kDivideRowsOctave},

    // The loss.
    {"class_softmax", "softmax(#1)", "softmax(#1)"},
    {"cross_entropy", "-(#2 * np.log(#1)).sum(axis=1, keepdims=True)", "-sum(#2 .* log(#1), 2)", Guard::zero,
     "-np.where(#2 == 0, 0.0, #2 * np.log(#1)).sum(axis=1, keepdims=True)",
     "-sum(where(#2 == 0, 0, #2 .* log(#1)), 2)"},
    {"mean", "#1.sum(axis=0, keepdims=True) / @1", "sum(#1, 1) / @1"},
    {"cross_entropy_gradient", "(#1 - #2) / @1", "(#1 - #2) / @1"},

    // Backwards.
    {"weights_gradient", "#1 @ #2.T", "#1 * #2'"},
    {"values_gradient", "#1.T @ #2", "#1' * #2", Guard::leaks, kReadBack, kReadBackOctave},
    {"softmax_gradient", "#1 * (#2 - (#1 * #2).sum(axis=1, keepdims=True))", "#1 .* (#2 - sum(#1 .* #2, 2))",
     Guard::leaks, "np.where(@open, #1 * (#2 - (#1 * #2).sum(axis=1, keepdims=True)), 0.0)",
     "where(@open, #1 .* (#2 - sum(#1 .* #2, 2)), 0)"},
    {"softmax_jacobian", "np.diag(#1[@a1]) - np.outer(#1[@a1], #1[@a1])", "diag(#1(@z1, :)) - #1(@z1, :)' * #1(@z1, :)"},
    {"temper_gradient", "#1 / @1", "#1 / @1"},
    {"soft_cap_gradient", "#1 * (1 - (#2 / @1) ** 2)", "#1 .* (1 - (#2 / @1) .^ 2)", Guard::minus_inf,
     "np.where(#2 == -np.inf, 0.0, #1 * (1 - (#2 / @1) ** 2))", "where(#2 == -Inf, 0, #1 .* (1 - (#2 / @1) .^ 2))"},
    {"scale_gradient", "#1 / np.sqrt(@n1)", "#1 / sqrt(@n1)"},
    {"scale_by_factor_gradient", "@1 * #1", "@1 * #1"},
    {"queries_gradient", "#1 @ #2", "#1 * #2"},
    {"keys_gradient", "#1.T @ #2", "#1' * #2", Guard::leaks, kReadBack, kReadBackOctave},
    {"general_queries_gradient", "#1 @ #2 @ #3.T", "#1 * #2 * #3'"},
    {"general_keys_gradient", "#1.T @ #2 @ #3", "#1' * #2 * #3"},
    {"general_matrix_gradient", "#1.T @ #2 @ #3", "#1' * #2 * #3"},
    {"projection_gradient", "#1 @ #2.T", "#1 * #2'"},
    {"linear_gradient", "#1 @ #2", "#1 * #2"},
    {"parameter_gradient", "#1.T @ #2", "#1' * #2"},
    {"bias_gradient", kSumOfColumn, "sum(#1, 1)"},
    {"heads_gradient", "np.concatenate([#*], axis=1)", "[#*]"},
    {"head_part_gradient", "#1[:, @a1:@z2]", "#1(:, @b1:@z2)"},
    {"joined_part_gradient", "#1[:, @a1:@z2]", "#1(:, @b1:@z2)"},
    {"dropped_gradient", "np.zeros_like(#1)", "zeros(size(#1))"},
    {"rotate_half_gradient", "rotate_half(#1, -#2, @width)", "rotate_half(#1, -#2, @width)"},
    {"rotate_interleaved_gradient", "rotate_interleaved(#1, -#2, @width)", "rotate_interleaved(#1, -#2, @width)"},
    {"new_rows_gradient", "#1[@a1:@z2]", "#1(@b1:@z2, :)"},
    {"sum_of_uses", "#+", "#+"},
    {"hidden_gradient", "#1.reshape(-1, 1) @ #2", "#1'(:) * #2"},
    {"hidden_vector_gradient", "#1.reshape(1, -1) @ #2", "#1'(:)' * #2"},
    {"tanh_gradient", "#1 * (1 - #2 ** 2)", "#1 .* (1 - #2 .^ 2)"},
    {"pair_queries_gradient", "#1.reshape(-1, @n1, @cols).sum(axis=1)", "kron(eye(@rows), ones(1, @n1)) * #1"},
    {"pair_keys_gradient", "#1.reshape(-1, @n1, @cols).sum(axis=0)", "kron(ones(1, rows(#1) / @n1), eye(@n1)) * #1"},
    {"concat_part_gradient", "#1 @ #2[@a1:@z2].T", "#1 * #2(@b1:@z2, :)'"},
    {"concat_matrix_gradient", "np.concatenate([#1.T @ #2, #3.T @ #4], axis=0)", "[#1' * #2; #3' * #4]"},
    {"table_weights_gradient", "#1 @ #2.T", "#1 * #2'"},
    {"quotient_gradient", "#1 / #2", "#1 ./ #2", Guard::closed, kDivideOpen, kDivideOpenOctave},
    {"denominator_gradient", "-(#1 * #2).sum(axis=1, keepdims=True) / #3", "-sum(#1 .* #2, 2) ./ #3", Guard::empty_row,
     "np.where(@openrows, -(#1 * #2).sum(axis=1, keepdims=True) / #3, 0.0)",
     "where(@openrows, -sum(#1 .* #2, 2) ./ #3, 0)"},
    {"sum_gradient", "#1 @ np.ones((1, @n1))", "#1 * ones(1, @n1)", Guard::closed,
     "np.where(@open, #1, 0.0)", "where(@open, #1 * ones(1, @n1), 0)"},
    {"query_features_gradient", "#1 @ #2", "#1 * #2"},
    {"key_features_gradient", "#1.T @ #2", "#1' * #2", Guard::leaks, kReadBack, kReadBackOctave},
    {"phi_elu_gradient", "#1 * #2.clip(max=1)", "#1 .* min(#2, 1)"},
    {"phi_exp_gradient", "#1 * #2", "#1 .* #2"},
    {"phi_relu_gradient", "#1 * (#2 > 0)", "#1 .* (#2 > 0)"},
    {"phi_identity_gradient", "#1", "#1"},

    // Linear attention.
    {"phi_elu", "np.where(#1 > 0, #1 + 1, np.exp(#1))", "where(#1 > 0, #1 + 1, exp(#1))"},
    {"phi_exp", "np.exp(#1)", "exp(#1)"},
    {"phi_relu", "#1.clip(min=0)", "max(#1, 0)"},
    {"phi_identity", "#1", "#1"},
    {"kernel_scores", "#1 @ #2.T", "#1 * #2'", Guard::closed, "np.where(@open, #1 @ #2.T, 0.0)", "where(@open, #1 * #2', 0)"},
    {"kernel_sum", kSumOfRow, "sum(#1, 2)"},
    {"kernel_sum_eps", "#1.sum(axis=1, keepdims=True) + @1", "sum(#1, 2) + @1"},
    {"kernel_weights", "#1 / #2", "#1 ./ #2", Guard::closed, kDivideOpen, kDivideOpenOctave},
    {"other_order", "#1 @ #2", "#1 * #2"},
    {"state", "#1.T @ #2", "#1' * #2"},
    {"key_sum", kSumOfColumn, "sum(#1, 1)"},
    {"read_state", "#1 @ #2 / (#1 @ #3.T)", "#1 * #2 ./ (#1 * #3')"},
    {"read_state_eps", "#1 @ #2 / (#1 @ #3.T + @1)", "#1 * #2 ./ (#1 * #3' + @1)"},
    {"read_state_of_token", "#1[@a1:@z1] @ #2 / (#1[@a1:@z1] @ #3.T)", "#1(@z1, :) * #2 ./ (#1(@z1, :) * #3')"},
    {"read_state_of_token_eps", "#1[@a1:@z1] @ #2 / (#1[@a1:@z1] @ #3.T + @2)",
     "#1(@z1, :) * #2 ./ (#1(@z1, :) * #3' + @2)"},
    {"first_state", "#1[@a1:@z1].T @ #2[@a1:@z1]", "#1(@z1, :)' * #2(@z1, :)"},
    {"next_state", "#1 + #2[@a1:@z1].T @ #3[@a1:@z1]", "#1 + #2(@z1, :)' * #3(@z1, :)"},
    {"first_key_sum", "#1[@a1:@z1]", "#1(@z1, :)"},
    {"next_key_sum", "#1 + #2[@a1:@z1]", "#1 + #2(@z1, :)"},
    {"token_rows", "np.concatenate([#*], axis=0)", "[#;]"},
    {"continued_state", "#1 + #2.T @ #3", "#1 + #2' * #3"},

    // Multi-head latent attention.
    {"join_parts", "np.concatenate([#1[:, @a1:@z2], #2[:, @a3:@z4]], axis=1)", "[#1(:, @b1:@z2), #2(:, @b3:@z4)]"},
    {"widths", "np.array([[1.0 * part.shape[1] for part in [#*]]])", "cellfun(\"columns\", {#*})"},
    {"absorbed_query", "#1[:, @a1:@z2] @ #2[:, @a1:@z2].T", "#1(:, @b1:@z2) * #2(:, @b1:@z2)'"},
    {"absorbed_query_linear", "#1[:, @a1:@z2] @ #2[@a1:@z2]", "#1(:, @b1:@z2) * #2(@b1:@z2, :)"},
    {"cached_scores", "#1 @ #2.T", "#1 * #2'"},
    {"cached_output", "#1 @ #2 @ #3[:, @a1:@z2]", "#1 * #2 * #3(:, @b1:@z2)"},
    {"cached_output_linear", "#1 @ #2 @ #3[@a1:@z2].T", "#1 * #2 * #3(@b1:@z2, :)'"},

    // Inside the scores.
    {"hidden_layer", "np.tanh((#1[:, None] + #2).reshape(@rows, @cols))",
     "tanh(kron(#1, ones(rows(#2), 1)) + repmat(#2, rows(#1), 1))"},
    {"hidden_layer_biased", "np.tanh((#1[:, None] + #2 + #3).reshape(@rows, @cols))",
     "tanh(kron(#1, ones(rows(#2), 1)) + repmat(#2, rows(#1), 1) + #3)"},
    {"hidden_layer_concat", "np.tanh(((#1 @ #3[:#1.shape[1]])[:, None] + #2 @ #3[#1.shape[1]:]).reshape(@rows, @cols))",
     "tanh([kron(#1, ones(rows(#2), 1)), repmat(#2, rows(#1), 1)] * #3)"},
});
// clang-format on

constexpr auto kFunctions = std::to_array<ScriptFunction>({
    {"softmax",
     "def softmax(scores):\n"
     "    e = np.exp(scores - scores.max(axis=1, keepdims=True))\n"
     "    return e / e.sum(axis=1, keepdims=True)\n",
     "function weights = softmax(scores)\n"
     "  e = exp(scores - max(scores, [], 2));\n"
     "  weights = e ./ sum(e, 2);\n"
     "end\n"},
    {"softmax_with_sink",
     "def softmax_with_sink(scores, sink):\n"
     "    largest = scores.max(axis=1, keepdims=True).clip(min=sink)\n"
     "    e = np.exp(scores - largest)\n"
     "    return e / (e.sum(axis=1, keepdims=True) + np.exp(sink - largest))\n",
     "function weights = softmax_with_sink(scores, sink)\n"
     "  largest = max(max(scores, [], 2), sink);\n"
     "  e = exp(scores - largest);\n"
     "  weights = e ./ (sum(e, 2) + exp(sink - largest));\n"
     "end\n"},
    // What a hidden key holds takes no part, not even an infinity times 0.
    {"read",
     "def read(weights, V, visible):\n"
     "    rows = [w[v] @ V[v] for w, v in zip(weights, visible)]\n"
     "    return np.stack(rows)\n",
     "function output = read(weights, V, visible)\n"
     "  output = zeros(rows(weights), columns(V));\n"
     "  for i = 1:rows(weights)\n"
     "    v = visible(i, :);\n"
     "    if any(v), output(i, :) = weights(i, v) * V(v, :); end\n"
     "  end\n"
     "end\n"},
    // Weights that are equal but for rounding: the first of them.
    {"hard_read",
     "def hard_read(weights, V):\n"
     "    largest = weights >= weights.max(axis=1, keepdims=True) - 1e-12\n"
     "    return V[(1 * largest).argmax(axis=1)]\n",
     "function output = hard_read(weights, V)\n"
     "  [~, first] = max(weights >= max(weights, [], 2) - 1e-12, [], 2);\n"
     "  output = V(first, :);\n"
     "end\n"},
    {"rotate_half",
     "def rotate_half(x, angles, width):\n"
     "    turned, half = 1.0 * x, angles.shape[1]\n"
     "    for first in range(0, x.shape[1], width):\n"
     "        a, b = x[:, first:first + half], x[:, first + half:first + 2 * half]\n"
     "        turned[:, first:first + half] = a * np.cos(angles) - b * np.sin(angles)\n"
     "        turned[:, first + half:first + 2 * half] = a * np.sin(angles) + b * np.cos(angles)\n"
     "    return turned\n",
     "function turned = rotate_half(x, angles, width)\n"
     "  turned = x;\n"
     "  for first = 0:width:columns(x)-1\n"
     "    i = first + (1:columns(angles));\n"
     "    j = i + columns(angles);\n"
     "    turned(:, i) = x(:, i) .* cos(angles) - x(:, j) .* sin(angles);\n"
     "    turned(:, j) = x(:, i) .* sin(angles) + x(:, j) .* cos(angles);\n"
     "  end\n"
     "end\n"},
    {"rotate_interleaved",
     "def rotate_interleaved(x, angles, width):\n"
     "    turned, columns = 1.0 * x, 2 * angles.shape[1]\n"
     "    for first in range(0, x.shape[1], width):\n"
     "        a, b = x[:, first:first + columns:2], x[:, first + 1:first + columns:2]\n"
     "        turned[:, first:first + columns:2] = a * np.cos(angles) - b * np.sin(angles)\n"
     "        turned[:, first + 1:first + columns:2] = a * np.sin(angles) + b * np.cos(angles)\n"
     "    return turned\n",
     "function turned = rotate_interleaved(x, angles, width)\n"
     "  turned = x;\n"
     "  for first = 0:width:columns(x)-1\n"
     "    i = first + (1:2:2*columns(angles));\n"
     "    j = i + 1;\n"
     "    turned(:, i) = x(:, i) .* cos(angles) - x(:, j) .* sin(angles);\n"
     "    turned(:, j) = x(:, i) .* sin(angles) + x(:, j) .* cos(angles);\n"
     "  end\n"
     "end\n"},
    {"sinusoids",
     "def sinusoids(angles, width):\n"
     "    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=2)\n"
     "    return pairs.reshape(len(angles), -1)[:, :width]\n",
     "function x = sinusoids(angles, width)\n"
     "  x(:, 1:2:2*columns(angles)) = sin(angles);\n"
     "  x(:, 2:2:2*columns(angles)) = cos(angles);\n"
     "  x = x(:, 1:width);\n"
     "end\n"},
    // Octave alone: NumPy and PyTorch have a word for it.
    {"network", nullptr,
     "function scores = network(q, k, v)\n"
     "  for j = 1:rows(k)\n"
     "    scores(:, j) = tanh(q + k(j, :)) * v';\n"
     "  end\n"
     "end\n"},
    {"refill", nullptr,
     "function y = refill(x, n, m)  % the same numbers, row by row\n"
     "  y = reshape(x', m, n)';\n"
     "end\n"},
    {"where", nullptr,
     "function x = where(holds, a, b)\n"
     "  holds = holds & true(size(a + 0 * b));\n"
     "  x = merge(holds, a + zeros(size(holds)), b + zeros(size(holds)));\n"
     "end\n"},
});

}  // namespace

std::span<const ScriptLine> script_lines() { return kLines; }

const ScriptLine* script_line(std::string_view op) {
  const auto found =
      std::find_if(kLines.begin(), kLines.end(), [&](const ScriptLine& line) { return line.op == op; });
  return found == kLines.end() ? nullptr : &*found;
}

std::span<const ScriptFunction> script_functions() { return kFunctions; }

std::string in_torch(std::string text) {
  // In this order: the general word comes last.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords{
      {{"np.concatenate(", "torch.cat("},
       {"np.array(", "torch.tensor("},
       {"np.sqrt(", "math.sqrt("},
       {"np.inf", "math.inf"},
       {"np.nan", "math.nan"},
       {".max(axis", ".amax(axis"},
       {"import numpy as np", "import torch"},
       {"np.", "torch."},
       {"axis=", "dim="},
       {"keepdims=", "keepdim="}}};
  for (const auto& [numpy, torch] : kWords) {
    for (std::size_t at = text.find(numpy); at != std::string::npos; at = text.find(numpy, at + torch.size()))
      text.replace(at, numpy.size(), torch);
  }
  return text;
}

}  // namespace qkv

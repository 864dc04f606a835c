// Walks the table of ops: whatever holds for one of them holds for all, those of next year too.
// An op that is in the table but not in inputs_of() below fails here until it is.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "base/exact.h"
#include "base/interval.h"
#include "expression.h"
#include "ops/rows.h"
#include "support.h"

namespace qkv::test {
namespace {

// ---- Inputs for every op ----------------------------------------------------------------

constexpr Index kQueries = 4;
constexpr Index kKeys = 5;
constexpr Index kWidth = 3;       // of queries
constexpr Index kOtherWidth = 2;  // of keys where it may differ, and of values
constexpr Index kHidden = 4;
constexpr Index kEmptyRow = 1;  // a query that may look at nothing

// What a matrix has to look like for the op to meet it in a plan.
enum class Looks {
  plain,
  forbidden_minus_inf,  // scores after the mask
  forbidden_zero,       // exponentials and weights: not negative, no two alike in a row
  mask,                 // 0 and -inf
  positive,
};

struct Input {
  Index rows;
  Index cols;
  Looks looks = Looks::plain;
};

struct Subject {
  const Op* op;
  std::vector<Input> inputs;
  std::vector<const char*> numbers = {};  // a value each that matters
  bool uses_mask = false;
  bool can_be_nan = false;     // an empty row may be asked to become NaN
  bool takes_symbols = false;  // works on cells of several columns
};

const Input kScores{kQueries, kKeys};
const Input kMasked{kQueries, kKeys, Looks::forbidden_minus_inf};
const Input kWeights{kQueries, kKeys, Looks::forbidden_zero};
const Input kMaskMatrix{kQueries, kKeys, Looks::mask};
const Input kColumn{kQueries, 1};
const Input kSums{kQueries, 1, Looks::positive};
const Input kQ{kQueries, kWidth};
const Input kK{kKeys, kWidth};
const Input kOtherK{kKeys, kOtherWidth};
const Input kV{kKeys, kOtherWidth};

std::vector<Subject> subjects() {
  using namespace ops;
  const Input w{kWidth, kOtherWidth};
  const Input w_linear{kOtherWidth, kWidth};
  const Input b{1, kOtherWidth};
  const Input w_a{kWidth, kHidden};
  const Input u_a{kOtherWidth, kHidden};
  const Input v_a{1, kHidden};
  const Input pairs{kQueries * kKeys, kHidden};
  const Input phi_q{kQueries, kWidth, Looks::positive};
  const Input s{kWidth, kOtherWidth};
  const Input z{1, kWidth, Looks::positive};
  std::vector<Subject> list{
      {&same_q, {kQ}},
      {&same_k, {kQ}},
      {&same_v, {kQ}},
      {&ops::dot_rows, {kQ, kK}},
      {&general_scores, {kQ, kOtherK, {kWidth, kOtherWidth}}},
      {&ops::additive_scores, {kQ, kOtherK, w_a, u_a, v_a}},
      {&additive_scores_biased, {kQ, kOtherK, w_a, u_a, v_a, v_a}},
      {&ops::concat_scores, {kQ, kOtherK, {kWidth + kOtherWidth, kHidden}, v_a}},
      {.op = &ops::weighted_sum, .inputs = {kWeights, kV}, .uses_mask = true, .can_be_nan = true},
      {.op = &ops::hard_read, .inputs = {kWeights, kV}, .uses_mask = true, .can_be_nan = true},
      {.op = &soft_read_beside, .inputs = {kWeights, kV}, .uses_mask = true, .can_be_nan = true},
      {&scale_by_root, {kMasked}, {"3"}},
      {&scale_by_root, {kMasked}, {"1/3"}},
      {.op = &scale_by_factor, .inputs = {kMasked}, .numbers = {"-0.3"}, .uses_mask = true},
      {.op = &scale_by_factor, .inputs = {kMasked}, .numbers = {"1/3"}, .uses_mask = true},
      {.op = &ops::soft_cap, .inputs = {kMasked}, .numbers = {"5"}, .uses_mask = true},
      {.op = &ops::soft_cap, .inputs = {kMasked}, .numbers = {"5/3"}, .uses_mask = true},
      {.op = &head_q, .inputs = {kQ}, .numbers = {"2", "3"}, .takes_symbols = true},
      {.op = &head_k, .inputs = {kQ}, .numbers = {"1", "1"}, .takes_symbols = true},
      {.op = &head_v, .inputs = {kQ}, .numbers = {"2", "2"}, .takes_symbols = true},
      {&head_view, {{kQueries, 4}}, {"2", "2"}},
      {&drop_head, {kQ}},
      {&inner_queries, {kQ, w_a}},
      {&inner_keys, {kOtherK, u_a}},
      {&hidden_layer, {{kQueries, kHidden}, {kKeys, kHidden}}},
      {&hidden_layer_biased, {{kQueries, kHidden}, {kKeys, kHidden}, v_a}},
      {&hidden_layer_concat, {kQ, kOtherK, {kWidth + kOtherWidth, kHidden}}},
      {&turning_angles, {kColumn}, {"10000", "4"}},
      {&turning_angles, {kColumn}, {"500/3", "6"}},
      {&ops::sinusoids, {{kQueries, 2}}, {"10000", "3"}},
      {&rotate_half_q, {kQ, {kQueries, 1}}},
      {&rotate_half_k, {{kQueries, 4}, {kQueries, 2}}},
      {&rotate_interleaved_q, {kQ, {kQueries, 1}}},
      {&rotate_interleaved_k, {{kQueries, 4}, {kQueries, 2}}},
      {&add_positions, {kQ, kQ}},
      {&append_keys, {kQ, kK}},
      {&append_values, {kV, kV}},
      {&append_latents, {kK, kK}},
      {&append_key_positions, {kV, kV}},
      {&new_x, {kQ}, {"2"}},
      {&new_q, {kQ}, {"3", "4"}},
      {&new_k, {kK}, {"1"}},
      {&new_v, {kV}, {"5"}},
      {&new_k_for_state, {kK}, {"2"}},
      {&new_v_for_state, {kV}, {"3"}},
      {&kept_keys, {kK}, {"1", "4", "5"}},
      {&kept_values, {kV}, {"2", "3"}},
      {&kept_latents, {kK}, {"1", "5"}},
      {&kept_key_positions, {kK}, {"4"}},
      {&tile_q, {kQ}, {"1", "2"}},
      {&tile_k, {kK}, {"3"}},
      {&tile_v, {kV}, {"4", "5"}},
      {&decoded, {kQ, kQ}},
      {&tiled, {kQ, kK}, {"20", "16", "1"}},
      {&add_residual, {kQ, kQ}},
      {&next_query, {kQ, kQ}},
      {.op = &ops::running_max, .inputs = {kMasked, kColumn}, .uses_mask = true},
      {&ops::rescale, {kColumn, kColumn}},
      {&ops::running_sum, {kSums, kSums, kWeights}},
      {.op = &tile_read, .inputs = {kWeights, kV}, .uses_mask = true},
      {.op = &ops::running_read, .inputs = {{kQueries, kOtherWidth}, kSums, kWeights, kV}, .uses_mask = true},
      {.op = &finish_read, .inputs = {{kQueries, kOtherWidth}, kSums}, .uses_mask = true, .can_be_nan = true},
      {&phi_elu_q, {kQ}},
      {&phi_elu_k, {kK}},
      {&phi_exp_q, {kQ}},
      {&phi_exp_k, {kK}},
      {&phi_relu_q, {kQ}},
      {&phi_relu_k, {kK}},
      {&phi_identity_q, {kQ}},
      {&phi_identity_k, {kK}},
      {.op = &ops::kernel_scores, .inputs = {kQ, kK}, .uses_mask = true},
      {&kernel_sum, {kWeights}},
      {&kernel_sum_eps, {kWeights}, {"1/3"}},
      {.op = &kernel_weights, .inputs = {kWeights, kSums}, .uses_mask = true},
      {&other_order, {kWeights, kV}},
      {&state, {kK, kV}},
      {&key_sum, {kK}},
      {&ops::read_state, {phi_q, s, z}},
      {&read_state_eps, {phi_q, s, z}, {"1/3"}},
      {&first_state, {kK, kV}, {"2"}},
      {&next_state, {s, kK, kV}, {"5"}},
      {&first_key_sum, {kK}, {"3"}},
      {&next_key_sum, {z, kK}, {"5"}},
      {&read_state_of_token, {phi_q, s, z}, {"2"}},
      {&read_state_of_token_eps, {phi_q, s, z}, {"4", "1/3"}},
      {&token_rows, {z, z, z}},
      {&pass_state, {kK, kV}},
      {&pass_key_sum, {kK}},
      {&continued_state, {s, kK, kV}},
      {&continued_key_sum, {z, z}},
      {.op = &kernel_weights_in_pass, .inputs = {kWeights, kSums}, .uses_mask = true},
      {&ops::read_in_pass, {kWeights, kV}},
      {&rotate_half_q_part, {{kQueries, 6}, {kQueries, 1}}, {"3"}},
      {&rotate_half_k_part, {{kQueries, 4}, {kQueries, 1}}, {"2"}},
      {&rotate_interleaved_q_part, {{kQueries, 8}, {kQueries, 2}}, {"4"}},
      {&rotate_interleaved_k_part, {kQ, {kQueries, 1}}, {"3"}},
      {&latent_head_q, {{kQueries, 4}, {kQueries, 6}}, {"3", "4", "1", "3"}},
      {&latent_head_k, {{kQueries, 4}, {kQueries, 3}}, {"1", "2", "2", "3"}},
      {&cached_key, {{kKeys, 2}, {kKeys, 3}}, {"1", "2", "1", "3"}},
      {&absorbed_head_q, {kQ, {kQueries, 4}}, {"1", "3", "3", "4"}},
      {&absorbed_query, {{kQueries, 4}, {3, 4}}, {"3", "4"}},
      {&absorbed_query_linear, {{kQueries, 4}, {4, 3}}, {"2", "4"}},
      {&ops::cached_scores, {kQ, kK}},
      {&cached_output, {kWeights, kK, {kWidth, 4}}, {"2", "3"}},
      {&cached_output_linear, {kWeights, kK, {4, kWidth}}, {"3", "4"}},
      {&cached_latent, {kK, kV}},
      {&cached_plain, {kK, kOtherK, kV}},
      {&concat, {kQ, kQ, kQ}},
      {&concat_view, {kQ, kQ}},
      {&ops::row_distance, {kQ, kQ}},
      {&temper, {kMasked}, {"2"}},
      {&temper, {kMasked}, {"2/3"}},
      {&temper, {kMasked}, {"50%"}},
      {&ops::alibi, {}, {"0.25"}},
      {&ops::alibi, {}, {"1/3"}},
      {&alibi_and_bias, {kMasked}, {"0.25"}},
      {&alibi_and_bias, {kMasked}, {"sqrt(2)/3"}},
      {&alibi_and_biases, {kMasked, kScores}, {"0.25"}},
      {&sum_of_biases, {kMasked, kScores}},
      {.op = &add_mask, .inputs = {kScores, kMaskMatrix}, .uses_mask = true},
      {.op = &add_bias, .inputs = {kScores, kMasked}, .uses_mask = true},
      {.op = &add_bias_and_mask, .inputs = {kScores, kScores, kMaskMatrix}, .uses_mask = true},
      {.op = &ops::row_max, .inputs = {kMasked}, .uses_mask = true},
      {.op = &row_max_sink, .inputs = {kMasked}, .numbers = {"0.7"}, .uses_mask = true},
      {.op = &row_max_sink, .inputs = {kMasked}, .numbers = {"-1/3"}, .uses_mask = true},
      {.op = &shift_by_max, .inputs = {kMasked, kColumn}, .uses_mask = true},
      {.op = &ops::exponential, .inputs = {kMasked}, .uses_mask = true},
      {.op = &ops::row_sum, .inputs = {kWeights}, .uses_mask = true},
      {.op = &row_sum_sink, .inputs = {kWeights, kColumn}, .numbers = {"0.7"}, .uses_mask = true},
      {.op = &row_sum_sink, .inputs = {kWeights, kColumn}, .numbers = {"-1/3"}, .uses_mask = true},
      {.op = &normalise, .inputs = {kWeights, kSums}, .uses_mask = true, .can_be_nan = true},
      {.op = &weights_without_sinks, .inputs = {kWeights}, .uses_mask = true, .can_be_nan = true},
      {.op = &ops::row_entropy, .inputs = {kWeights, kMasked, kSums}, .uses_mask = true, .can_be_nan = true},
      {&entropy_in_bits, {kSums}},
      {.op = &softmax, .inputs = {kMasked}, .uses_mask = true, .can_be_nan = true},
      {.op = &softmax_sink, .inputs = {kMasked}, .numbers = {"0.7"}, .uses_mask = true},
      {.op = &naive_exponential, .inputs = {kMasked}, .uses_mask = true},
      {.op = &naive_sum, .inputs = {kWeights}, .uses_mask = true},
      {.op = &naive_sum_sink, .inputs = {kWeights}, .numbers = {"0.7"}, .uses_mask = true},
      {&class_probabilities, {kScores}},
      {.op = &ops::cross_entropy,
       .inputs = {{kQueries, kKeys, Looks::positive}, kWeights},
       .uses_mask = true},
      {&mean_of_rows, {kColumn}, {"4"}},
      {&d_cross_entropy, {kScores, kScores}, {"3"}},
      {&d_weights, {kQ, kK}},
      {.op = &d_values, .inputs = {kWeights, {kQueries, kOtherWidth}}, .uses_mask = true},
      {.op = &d_softmax, .inputs = {kWeights, kScores}, .uses_mask = true},
      {.op = &ops::softmax_jacobian, .inputs = {kWeights}, .numbers = {"3"}, .uses_mask = true},
      {&d_unchanged, {kScores}},
      {&d_temper, {kScores}, {"2/3"}},
      {.op = &d_soft_cap, .inputs = {kScores, kMasked}, .numbers = {"5/3"}, .uses_mask = true},
      {&d_scale_by_root, {kScores}, {"3"}},
      {&d_scale_by_factor, {kScores}, {"1/3"}},
      {&d_queries, {kScores, kK}},
      {&d_keys, {kScores, kQ}},
      {&d_general_queries, {kScores, kOtherK, w}},
      {&d_general_keys, {kScores, kQ, w}},
      {&d_general_matrix, {kQ, kScores, kOtherK}},
      {&d_projected, {kQ, w_linear}},
      {&d_linear, {kQ, w}},
      {&d_parameter, {kQ, kScores}},
      {&d_bias, {kQ}},
      {&d_fused, {kQ, kScores, kQ}},
      {&d_fused_rows, {kQ, kQ, kQ}},
      {&d_heads, {kQ, kQ, kQ}},
      {&d_head_part, {kQ}, {"2", "3"}},
      {&d_joined_part, {kQ}, {"1", "2"}},
      {&d_dropped, {kQ}},
      {&d_rotate_half, {{kQueries, 5}, {kQueries, 2}}},
      {&d_rotate_interleaved, {kQ, {kQueries, 1}}},
      {&d_rotate_half, {{kQueries, 6}, {kQueries, 1}}, {"3"}},
      {&d_rotate_interleaved, {{kQueries, 8}, {kQueries, 2}}, {"4"}},
      {&d_new_rows, {kQ}, {"3", "4"}},
      {&d_sum_of_uses, {kQ, kQ, kQ}},
      {&d_hidden, {kScores, v_a}},
      {&d_hidden_vector, {kScores, pairs}},
      {&d_tanh, {pairs, pairs}},
      {&d_pair_queries, {pairs}, {"5"}},
      {&d_pair_keys, {pairs}, {"5"}},
      {&d_concat_part, {{kQueries, kHidden}, {kWidth + kOtherWidth, kHidden}}, {"4", "5"}},
      {&d_table_weights, {kQ, kK}},
      {.op = &d_divided, .inputs = {kScores, kSums}, .uses_mask = true},
      {.op = &d_denominator, .inputs = {kScores, kWeights, kSums}, .uses_mask = true},
      {.op = &d_summed, .inputs = {kColumn}, .numbers = {"5"}, .uses_mask = true},
      {&d_query_features, {kScores, kK}},
      {&d_key_features, {kScores, kQ}},
      {&d_phi_elu, {kQ, phi_q}},
      {&d_phi_exp, {kQ, kQ}},
      {&d_phi_relu, {kQ, kQ}},
      {&d_phi_identity, {kQ}},
      {&d_concat_matrix, {kQ, {kQueries, kHidden}, kOtherK, {kKeys, kHidden}}},
  };
  for (const Op* op : {&latent, &query_latent, &restored_keys, &restored_values, &keys_from_cache,
                       &values_from_cache, &restored_queries, &key_position, &query_position}) {
    list.push_back({op, {kQ, w}});
  }
  for (const Op* op : {&latent_linear, &query_latent_linear, &restored_keys_linear, &restored_values_linear,
                       &keys_from_cache_linear, &values_from_cache_linear, &restored_queries_linear,
                       &key_position_linear, &query_position_linear}) {
    list.push_back({op, {kQ, w_linear}});
  }
  for (const Op* op : {&project_q, &project_k, &project_v, &project_output}) {
    list.push_back({.op = op, .inputs = {kQ, w}, .takes_symbols = true});
  }
  for (const Op* op : {&project_q_biased, &project_k_biased, &project_v_biased, &project_output_biased}) {
    list.push_back({.op = op, .inputs = {kQ, w, b}, .takes_symbols = true});
  }
  for (const Op* op : {&linear_q, &linear_k, &linear_v, &linear_output}) {
    list.push_back({.op = op, .inputs = {kQ, w_linear}, .takes_symbols = true});
  }
  for (const Op* op : {&linear_q_biased, &linear_k_biased, &linear_v_biased, &linear_output_biased}) {
    list.push_back({.op = op, .inputs = {kQ, w_linear, b}, .takes_symbols = true});
  }
  return list;
}

// One op with everything it needs.
struct Instance {
  const Op* op;
  std::vector<Matrix> inputs;
  Params params;
};

Mask random_mask(Random& random) {
  Mask mask = random.mask(kQueries, kKeys);
  mask.row(kEmptyRow).setConstant(false);
  return mask;
}

Matrix random_input(const Input& input, const Mask& mask, Index basis, Random& random) {
  Matrix m = random.matrix(input.rows, input.cols * basis);
  for (Index i = 0; i < m.rows(); ++i) {
    // 1/16 … 5/16 in some order: hard reading has no tie.
    const std::vector<Index> order = random.shuffled(m.cols());
    for (Index j = 0; j < m.cols(); ++j) {
      switch (input.looks) {
        case Looks::plain:
          break;
        case Looks::positive:
          m(i, j) = std::abs(m(i, j)) + 0.5;
          break;
        case Looks::mask:
          m(i, j) = mask(i, j) ? 0 : -kInfinity;
          break;
        case Looks::forbidden_minus_inf:
          if (!mask(i, j)) m(i, j) = -kInfinity;
          break;
        case Looks::forbidden_zero:
          m(i, j) = mask(i, j) ? static_cast<double>(order[static_cast<std::size_t>(j)] + 1) / 16 : 0;
          break;
      }
    }
  }
  return m;
}

Instance instance_of(const Subject& subject, bool is_nan, Index basis, Random& random) {
  Instance instance{subject.op, {}, {}};
  const Mask mask = random_mask(random);
  for (std::size_t i = 0; i < subject.inputs.size(); ++i) {
    instance.inputs.push_back(random_input(subject.inputs[i], mask, i == 0 ? basis : 1, random));
  }
  Params& p = instance.params;
  for (const char* number : subject.numbers) p.numbers.push_back(written(number));
  if (subject.uses_mask) p.allowed = std::make_shared<const Mask>(mask);
  p.align = -1;
  p.shape = {kQueries, kKeys};
  p.empty_row_is_nan = is_nan;
  p.basis = basis;
  return instance;
}

std::string label_of(const Op& op) { return fmt::format("{}, {}", op.name, op.title.en); }

template <class F>
void for_each_instance(std::uint64_t stream, F check) {
  QKV_SAY_SEED();
  Random random(stream);
  for (int round = 0; round < 5; ++round) {
    for (const Subject& subject : subjects()) {
      INFO("op ", label_of(*subject.op));
      for (const bool is_nan : {false, true}) {
        if (is_nan && !subject.can_be_nan) continue;
        for (const Index basis : {1, 2}) {
          if (basis > 1 && !subject.takes_symbols) continue;
          CAPTURE(is_nan);
          CAPTURE(basis);
          check(instance_of(subject, is_nan, basis, random));
        }
      }
    }
  }
}

std::vector<Shape> shapes_of(const std::vector<Matrix>& inputs) {
  std::vector<Shape> shapes;
  for (const Matrix& m : inputs) shapes.push_back({m.rows(), m.cols()});
  return shapes;
}

Matrix result_of(const Instance& instance) {
  const InputsOf<Matrix> inputs(instance.inputs.begin(), instance.inputs.end());
  return instance.op->kernel.doubles(inputs, instance.params);
}

IntervalMatrix enclosures_of(const Instance& instance) {
  std::vector<IntervalMatrix> enclosed;
  for (const Matrix& m : instance.inputs) {
    IntervalMatrix exact(m.rows(), m.cols());
    for (Index i = 0; i < m.rows(); ++i) {
      for (Index j = 0; j < m.cols(); ++j) exact(i, j) = m(i, j);
    }
    enclosed.push_back(std::move(exact));
  }
  const InputsOf<IntervalMatrix> inputs(enclosed.begin(), enclosed.end());
  return instance.op->kernel.intervals(inputs, instance.params);
}

ExactMatrix exacts_of(const Instance& instance) {
  std::vector<ExactMatrix> exact;
  for (const Matrix& m : instance.inputs) {
    ExactMatrix known(m.rows(), m.cols());
    for (Index i = 0; i < m.rows(); ++i) {
      for (Index j = 0; j < m.cols(); ++j) {
        known(i, j) = std::isinf(m(i, j)) ? Exact::infinity(m(i, j) > 0 ? 1 : -1) : Exact(m(i, j));
      }
    }
    exact.push_back(std::move(known));
  }
  const InputsOf<ExactMatrix> inputs(exact.begin(), exact.end());
  return instance.op->kernel.exacts(inputs, instance.params);
}

// e^x of what holds exponentials itself.
bool leaves_the_exact_values(const Op& op) {
  static const std::set<std::string_view> leaving{"additive_scores",
                                                  "additive_scores_biased",
                                                  "concat_scores",
                                                  "hidden_layer",
                                                  "hidden_layer_biased",
                                                  "hidden_layer_concat",
                                                  "angles",
                                                  "sinusoids",
                                                  "rotate_half",
                                                  "rotate_interleaved",
                                                  "rotate_half_gradient",
                                                  "rotate_interleaved_gradient",
                                                  "cross_entropy",
                                                  "row_entropy",
                                                  "entropy_in_bits"};
  return leaving.contains(op.name);
}

bool lies_near(const Exact& x, double computed) {
  const double margin = 1e-13 * std::max(1.0, std::abs(computed));
  return compare(x, Exact(computed - margin)) == 1 && compare(x, Exact(computed + margin)) == -1;
}

// ---- Expressions ------------------------------------------------------------------------

std::string bracketed(double value) {
  if (std::isinf(value)) return value > 0 ? "(∞)" : "(−∞)";
  return fmt::format("({:.17g})", value);
}

// The expression of a shown cell with numbers put in.  Of a symbolic cell, the coefficient of
// one name: a bias joins the constant alone, which comes first.
std::string in_numbers(const Instance& instance, Index row, Index col, Index name) {
  std::vector<Shape> shapes = shapes_of(instance.inputs);
  const Index basis = instance.params.basis;
  if (basis > 1) shapes[0].cols /= basis;
  std::string text;
  for (const Term& term : instance.op->cell({instance.params, shapes, row, col})) {
    if (term.input < 0) {
      text += term.text;
    } else if (term.input == 0) {
      text += bracketed(instance.inputs[0](term.row, term.col * basis + name));
    } else {
      const bool is_bias_elsewhere = term.input == 2 && name > 0;
      text += bracketed(
          is_bias_elsewhere ? 0 : instance.inputs[static_cast<std::size_t>(term.input)](term.row, term.col));
    }
  }
  return text;
}

// Empty when the interval is narrow and holds the double up to the double's own error.
std::string enclosure_fault(const Interval& x, double computed) {
  const auto nearest = nearest_double(x);
  if (std::isnan(computed) || std::isinf(computed)) {
    const bool is_same = nearest && (*nearest == computed || (std::isnan(*nearest) && std::isnan(computed)));
    return is_same ? "" : "the double is not finite, the interval differs";
  }
  const double scale = std::max(1.0, std::abs(computed));
  const auto low = lower(x);
  const auto high = upper(x);
  if (!(low <= computed + 1e-13 * scale && high >= computed - 1e-13 * scale))
    return "does not hold the double";
  if (!(high - low <= 1e-30 * scale)) return "is wide";
  return "";
}

std::string file_text(const char* path) {
  std::ifstream file(fmt::format("{}{}", QKV_SOURCE_DIR, path));
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_chinese(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xE3; });
}

}  // namespace

TEST_CASE("the table of ops holds every op that ops/rows.h declares, once") {
  const std::string header = file_text("/src/ops/rows.h");
  std::size_t declared = 0;
  const std::regex line(R"(extern const Op ([^;]*);)");
  for (auto match = std::sregex_iterator(header.begin(), header.end(), line); match != std::sregex_iterator();
       ++match) {
    const std::string names = (*match)[1];
    declared += static_cast<std::size_t>(std::count(names.begin(), names.end(), ',')) + 1;
  }
  const std::set<const Op*> in_table(ops::all().begin(), ops::all().end());
  CHECK(in_table.size() == declared);
  CHECK(ops::all().size() == declared);
}

TEST_CASE("every op that computes is a subject of these tests") {
  std::set<const Op*> tested;
  for (const Subject& subject : subjects()) tested.insert(subject.op);
  for (const Op* op : ops::all()) {
    INFO("op ", label_of(*op));
    CHECK((op->kernel.doubles != nullptr) == tested.contains(op));
    CHECK((op->kernel.doubles != nullptr) == (op->kernel.intervals != nullptr));
    CHECK((op->kernel.doubles != nullptr) == (op->kernel.exacts != nullptr));
  }
}

TEST_CASE("every op speaks both languages") {
  for (const Op* op : ops::all()) {
    INFO("op ", label_of(*op));
    for (const Text& text : {op->title, op->why}) {
      CHECK(std::string_view(text.en) != "");
      CHECK_FALSE(has_chinese(text.en));
      CHECK(has_chinese(text.zh));
    }
    CHECK(std::string_view(op->why.en).ends_with("."));
    CHECK(std::string_view(op->why.zh).ends_with("。"));
  }
}

TEST_CASE("a formula names every input and no other, and only numbers there are") {
  for (const Subject& subject : subjects()) {
    const std::string formula(subject.op->formula);
    INFO("op ", label_of(*subject.op), ": ", formula);
    CHECK(formula != "");
    for (std::size_t i = 1; i <= 9; ++i) {
      const bool is_named = formula.find("#" + std::to_string(i)) != std::string::npos;
      const bool is_for_all = formula.find("#*") != std::string::npos ||
                              formula.find("#;") != std::string::npos ||
                              formula.find("#+") != std::string::npos;
      if (!is_for_all) CHECK(is_named == (i <= subject.inputs.size()));
      if (formula.find("@" + std::to_string(i)) != std::string::npos) CHECK(i <= subject.numbers.size());
    }
    CHECK(std::count(formula.begin(), formula.end(), '{') == std::count(formula.begin(), formula.end(), '}'));
    CHECK(std::count(formula.begin(), formula.end(), '(') == std::count(formula.begin(), formula.end(), ')'));
  }
}

TEST_CASE("an op without a formula is given, and has nothing to explain") {
  for (const Op* op : ops::all()) {
    INFO("op ", label_of(*op));
    CHECK(op->formula.empty() == (op->kernel.doubles == nullptr));
    if (op->kernel.doubles != nullptr) continue;
    const Params params{.shape = {2, 3}};
    CHECK(op->shape({}, params) == Shape{2, 3});
    CHECK(op->cell({params, {}, 0, 0}).empty());
  }
}

TEST_CASE("ops of one name share their formula, and only the known families share a name") {
  std::map<std::string, std::set<std::string>> formulas;
  std::map<std::string, int> count;
  for (const Op* op : ops::all()) {
    formulas[op->name].insert(std::string(op->formula));
    ++count[op->name];
  }
  for (const auto& of_name : formulas) {
    INFO("name ", of_name.first);
    CHECK(of_name.second.size() == 1);
  }
  std::string families;
  for (const auto& [name, n] : count) {
    if (n > 1) families += fmt::format("{} {}, ", name, n);
  }
  CHECK(families ==
        "add 4, append 4, given 12, head 3, join_parts 4, kernel_weights 2, key_sum 2, linear 13, "
        "linear_biased 4, other_order 2, parameter 3, past 2, "
        "phi_elu 2, phi_exp 2, phi_identity 2, phi_relu 2, project 15, project_biased 4, rotate_half 4, "
        "rotate_interleaved 4, rows 13, same 4, stack 2, state 2, weighted_sum 2, widths 2, ");
}

TEST_CASE("the shape rule of every op gives the shape of its result") {
  for_each_instance(1, [](const Instance& instance) {
    const std::vector<Shape> shapes = shapes_of(instance.inputs);
    const Matrix result = result_of(instance);
    CHECK(instance.op->shape(shapes, instance.params) == Shape{result.rows(), result.cols()});
    if (instance.op->terms != nullptr) CHECK(instance.op->terms(shapes) > 0);
  });
}

TEST_CASE("intervals hold what doubles compute, are narrow, and shrink as digits grow") {
  for_each_instance(2, [](const Instance& instance) {
    const Matrix result = result_of(instance);
    const auto at_digits = [&](unsigned digits) {
      const PrecisionScope precision(digits);
      return enclosures_of(instance);
    };
    const IntervalMatrix rough = at_digits(20);
    const IntervalMatrix usual = at_digits(40);
    REQUIRE(Shape{usual.rows(), usual.cols()} == Shape{result.rows(), result.cols()});
    for (Index i = 0; i < result.rows(); ++i) {
      for (Index j = 0; j < result.cols(); ++j) {
        CAPTURE(i);
        CAPTURE(j);
        CHECK(enclosure_fault(usual(i, j), result(i, j)) == "");
        if (!std::isfinite(result(i, j))) continue;
        CHECK(lower(rough(i, j)) <= lower(usual(i, j)));
        CHECK(upper(rough(i, j)) >= upper(usual(i, j)));
      }
    }
  });
}

TEST_CASE("a value known exactly is what doubles compute, and is known unless too many exponentials meet") {
  for_each_instance(4, [](const Instance& instance) {
    const Matrix result = result_of(instance);
    const ExactMatrix exact = exacts_of(instance);
    REQUIRE(Shape{exact.rows(), exact.cols()} == Shape{result.rows(), result.cols()});
    for (Index i = 0; i < result.rows(); ++i) {
      for (Index j = 0; j < result.cols(); ++j) {
        CAPTURE(i);
        CAPTURE(j);
        switch (exact(i, j).kind()) {
          case Exact::Kind::decimal:
          case Exact::Kind::fraction:
          case Exact::Kind::quotient:
            // The theorem tells the value from its neighbours, a double's own error away.
            CHECK(lies_near(exact(i, j), result(i, j)));
            break;
          case Exact::Kind::plus_infinity:
            CHECK(result(i, j) == kInfinity);
            break;
          case Exact::Kind::minus_infinity:
            CHECK(result(i, j) == -kInfinity);
            break;
          case Exact::Kind::unknown:
            CHECK((std::isnan(result(i, j)) || leaves_the_exact_values(*instance.op)));
            break;
        }
      }
    }
  });
}

TEST_CASE("the explanation of every cell, read by somebody else, is the cell's value") {
  for_each_instance(3, [](const Instance& instance) {
    const Matrix result = result_of(instance);
    const Index basis = instance.params.basis;
    Matrix explained(result.rows(), result.cols());
    for (Index i = 0; i < result.rows(); ++i) {
      for (Index j = 0; j < result.cols(); ++j) {
        const std::string text = in_numbers(instance, i, j / basis, j % basis);
        CAPTURE(text);
        REQUIRE(text != "");
        REQUIRE_NOTHROW(explained(i, j) = static_cast<double>(ExpressionReader::value_of(text)));
        CHECK(apart(explained.block(i, j, 1, 1), result.block(i, j, 1, 1), 1e-9) == "");
      }
    }
  });
}

TEST_CASE("the reader of expressions reads as a person does") {
  const auto value = [](const char* text) { return static_cast<double>(ExpressionReader::value_of(text)); };
  CHECK(value("1 + 2·3 − 8/4/2") == 6);
  CHECK(value("−2·|1 − 4| + (-3)") == -9);
  CHECK(value("1 / √4") == 0.5);
  CHECK(value("sqrt(2)*sqrt(2)/2 + 50%") == 1.5);
  CHECK(value("e^(−∞) / (e^(0) + e^(−∞))") == 0);
  CHECK(value("max(-3, 2, 1) + 1e-3") == 2.001);
  CHECK(value("argmax(0.5→7, 0.2→9, 0.5→8)") == 7);
  CHECK(value("5·tanh(10 / 5)") == doctest::Approx(4.820137900379085));  // mpmath: 5*tanh(2)
  CHECK(std::isnan(value("nan")));
  CHECK_THROWS(value("1 + -2 3"));
  CHECK_THROWS(value("2 · · 3"));
}

}  // namespace qkv::test

// One step done wrong, in every way that has a name: what numbers a mistake gives.
//
// Each function returns every result its mistake can have, from the numbers as they stand on one chain;
// a matrix of another shape than the step's, or none, where the mistake cannot be made there.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "check/sheet.h"

namespace qkv {

// A step of somebody's sheet.
struct Spoil {
  const Sheet& sheet;
  NodeId node;
  Chain chain = Chain::theirs;  // what the numbers before it are taken for

  const Node& at() const { return sheet.plan()[node]; }
  // A node's numbers as they stand on the sheet, or follow from it; null when there is no such node before
  // this one.
  const IntervalMatrix* value(std::string_view name) const;
  std::optional<NodeId> node_named(std::string_view name) const;
  // Null where nothing was written.
  const Given* written() const { return sheet.answer(node); }
  const IntervalMatrix& input(std::size_t i) const { return sheet.value(at().inputs[i], chain); }
};

namespace spoil {

using Results = std::vector<IntervalMatrix>;

// Projections.
Results other_layout(const Spoil& s);
Results bias_forgotten_or_twice(const Spoil& s);
Results projection_left_out(const Spoil& s);

// Scores.
Results swapped_q_and_k(const Spoil& s);
Results k_not_transposed(const Spoil& s);
Results element_wise(const Spoil& s);
Results half_overflow(const Spoil& s);

// Scaling.
Results not_scaled(const Spoil& s);
Results by_d_k(const Spoil& s);
Results times_root(const Spoil& s);
Results by_root_of_keys(const Spoil& s);
Results by_root_of_model(const Spoil& s);
Results scale_after_softmax(const Spoil& s);
Results bias_scaled(const Spoil& s);

// Masks.
Results polarity(const Spoil& s);
Results diagonal_hidden(const Spoil& s);
Results upside_down(const Spoil& s);
Results wrong_corner(const Spoil& s);
Results window_off_by_one(const Spoil& s);
Results mask_transposed(const Spoil& s);
Results mask_ignored(const Spoil& s);
Results mask_after_softmax(const Spoil& s);
Results zero_for_infinity(const Spoil& s);
Results ones_added(const Spoil& s);
Results mask_unscaled(const Spoil& s);
Results empty_row_filled(const Spoil& s);
Results empty_row_nan(const Spoil& s);
Results finite_fill(const Spoil& s);
Results masks_added(const Spoil& s);
Results capped_after_mask(const Spoil& s);

// Softmax.
Results by_column(const Spoil& s);
Results over_all(const Spoil& s);
Results all_ones(const Spoil& s);
Results plain_sum(const Spoil& s);
Results not_divided(const Spoil& s);
Results divided_by_count(const Spoil& s);
Results other_base(const Spoil& s);
Results wrong_sign(const Spoil& s);
Results winner_takes_all(const Spoil& s);
Results twice(const Spoil& s);
Results maximum_off_columns(const Spoil& s);
Results sums_across(const Spoil& s);
Results overflow(const Spoil& s);
Results sink_not_shifted(const Spoil& s);
Results dropout(const Spoil& s);

// The read.
Results of_something_else(const Spoil& s);
Results weights_transposed(const Spoil& s);
Results softmax_outside(const Spoil& s);
Results plain_mean(const Spoil& s);
Results scores_times_v(const Spoil& s);
Results without_denominator(const Spoil& s);

// Heads.
Results split_flat(const Spoil& s);
Results joined_flat(const Spoil& s);
Results one_wide_head(const Spoil& s);
Results mean_of_heads(const Spoil& s);
Results groups_tiled(const Spoil& s);

// Positions.
Results other_pairing(const Spoil& s);
Results position_off_by_one(const Spoil& s);
Results other_frequencies(const Spoil& s);
Results turned_back_or_not(const Spoil& s);
Results other_slope(const Spoil& s);

// Tiles.
Results sum_not_rescaled(const Spoil& s);
Results accumulator_not_rescaled(const Spoil& s);
Results division_left_out(const Spoil& s);
Results empty_tile(const Spoil& s);

// Slips that know nothing of attention.
Results rows_and_columns_swapped(const Spoil& s);
Results all_signs(const Spoil& s);
Results two_cells_swapped(const Spoil& s);
Results copied_row(const Spoil& s);
Results outside_the_values(const Spoil& s);
Results one_cell(const Spoil& s);

}  // namespace spoil
}  // namespace qkv

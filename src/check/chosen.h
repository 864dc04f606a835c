// The attention of a problem under a choice of conventions, in any kind of number.
//
// Parts that a choice leaves alone are kept: thousands of combinations share a few score tables.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "check/conventions.h"
#include "ops/kernels.h"
#include "ops/position_kernels.h"

namespace qkv {

// Each result is nothing where the choice makes no sense: shapes that do not fit, nothing to hide.
template <class T>
class Calculation {
 public:
  using M = MatrixOf<T>;

  explicit Calculation(const Problem& problem) : problem_(problem) {}

  bool has_heads() const { return problem_.heads > 1; }
  Index heads(const Choice& choice) const { return choice.is_one_head ? 1 : problem_.heads; }

  std::optional<M> weights(const Choice& choice, Index head) {
    const auto& products = scores(choice, head);
    const auto open_keys = choice.open ? choice.open : own_mask(head);
    if (!products || products->rows() != open_keys->rows() || products->cols() != open_keys->cols())
      return std::nullopt;
    if (choice.hiding != Hiding::minus_infinity && open_keys->all()) return std::nullopt;
    M s = scaled(*products, choice.scaling);
    if (problem_.softcap && choice.cap == Cap::before_mask) s = kernels::soft_cap(s, *problem_.softcap);
    for (const std::string& name : {std::string("bias"), table_of_head("bias", head)}) {
      if (const auto bias = given(name)) s += *bias;
    }
    if (!problem_.slopes.empty())
      s += kernels::distance_bias<T>({s.rows(), s.cols()}, slope_of(head), problem_.align);
    const Params open{.allowed = open_keys};
    if (choice.hiding == Hiding::minus_infinity) s = kernels::add_all<T>({s}, open);
    if (choice.hiding == Hiding::zero_score) s = zero_where_hidden(std::move(s), *open_keys);
    if (problem_.softcap && choice.cap == Cap::after_mask) s = capped_with_mask(std::move(s));
    if (problem_.temperature) s = kernels::divide(s, *problem_.temperature);
    M weights = softmax(s, choice.axis, head);
    if (choice.hiding == Hiding::zero_weight || choice.hiding == Hiding::zero_weight_renormalised)
      weights = zero_where_hidden(std::move(weights), *open_keys);
    if (choice.hiding == Hiding::zero_weight_renormalised)
      weights = kernels::normalise_rows<T>(weights, kernels::row_sum<T>(weights, nullptr, nullptr), open);
    return weights;
  }

  // What the weights of a head read, [m, d_v].
  const std::optional<M>& values(const Choice& choice, Index head) {
    const Key key{.name = choice.values,
                  .is_other_layout = choice.is_other_layout,
                  .is_one_head = choice.is_one_head,
                  .is_split_flat = choice.is_split_flat,
                  .head = group(choice, head),
                  .is_not_positioned = choice.is_not_positioned};
    return remembered(key, [&] {
      return part(choice.values == "X" ? tokens(name_of_keys_source(), choice) : role(choice.values, choice),
                  choice, group(choice, head), kv_heads(choice));
    });
  }

  bool is_dropped(const Choice& choice, Index head) const {
    return !choice.are_dropped_kept && !problem_.is_dropped.empty() &&
           problem_.is_dropped[static_cast<std::size_t>(head)];
  }

  // The outputs of all heads, [n, heads · d_v].
  M joined(const std::vector<M>& outputs, const Choice& choice) const {
    const InputsOf<M> parts(outputs.begin(), outputs.end());
    return choice.is_joined_flat ? kernels::join_flat<T>(parts, 1) : kernels::join_columns<T>(parts);
  }

  // output [k, d_v] → Y, [k, d_model]
  std::optional<M> projected_output(const M& output, const Choice& choice) {
    return projected(output, "W_O", "b_O", choice.is_other_layout);
  }

 private:
  // What a matrix depends on.
  struct Key {
    std::string name;
    bool is_other_layout = false;
    bool is_one_head = false;
    bool is_split_flat = false;
    Index head = 0;
    bool are_groups_tiled = false;
    bool is_other_pairing = false;
    long query_shift = 0;
    bool is_not_turned = false;
    bool is_not_positioned = false;
    auto operator<=>(const Key&) const = default;
  };

  template <class F>
  const std::optional<M>& remembered(const Key& key, F compute) {
    const auto found = made_.find(key);
    return found != made_.end() ? found->second : made_.emplace(key, compute()).first->second;
  }

  std::shared_ptr<const Mask> own_mask(Index head) const {
    if (const auto& own = problem_.allowed_to(static_cast<std::size_t>(head))) return own;
    return std::make_shared<const Mask>(Mask::Constant(static_cast<Index>(problem_.tokens.size()),
                                                       static_cast<Index>(problem_.kv_tokens.size()), true));
  }

  const char* name_of_keys_source() const { return problem_.has("X_kv") ? "X_kv" : "X"; }

  std::optional<M> given(const std::string& name) const {
    if (!problem_.has(name)) return std::nullopt;
    const Given& given = problem_[name];
    M matrix(given.rows, given.cols);
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        if (given.at(i, j).kind == Number::Kind::symbol) return std::nullopt;
        matrix(i, j) = scalar_of<T>(given.at(i, j));
      }
    }
    return matrix;
  }

  std::optional<M> projected(const M& x, const std::string& w_name, const std::string& b_name,
                             bool is_other_layout) const {
    const auto stored = given(w_name);
    if (!stored) return std::nullopt;
    const bool is_linear = (problem_.layout == Layout::linear) != is_other_layout;
    const M w = is_linear ? M(stored->transpose()) : *stored;
    if (x.cols() != w.rows()) return std::nullopt;
    M result = kernels::project(x, w);
    const auto bias = given(b_name);
    if (!bias) return result;
    if (bias->cols() != result.cols()) return std::nullopt;
    return kernels::add_row(std::move(result), *bias);
  }

  std::optional<M> role(const std::string& name, const Choice& choice) const {
    if (const auto same = problem_.same_as.find(name); same != problem_.same_as.end()) {
      const std::string& other = same->second;
      return other == "Q" || other == "K" || other == "V" ? role(other, choice) : tokens(other, choice);
    }
    if (problem_.has(name)) return given(name);
    const auto x = tokens(name == "Q" ? "X" : name_of_keys_source(), choice);
    return x ? projected(*x, "W_" + name, "b_" + name, choice.is_other_layout) : std::nullopt;
  }

  // X or X_kv, with the positions that are added to it.
  std::optional<M> tokens(const std::string& name, const Choice& choice) const {
    auto x = given(name);
    if (!x || choice.is_not_positioned) return x;
    if (name == "X" && problem_.has("P")) {
      const auto p = given("P");
      return p ? std::optional<M>(*x + *p) : std::nullopt;
    }
    if (!problem_.adds_sinusoids) return x;
    const M places = column(name == "X" ? problem_.positions : problem_.kv_positions, 0);
    const Number base = whole_number(kernels::kSinusoidBase);
    return M(*x + kernels::sinusoids<T>(kernels::angles<T>(places, base, x->cols()), x->cols()));
  }

  static M column(const std::vector<long>& positions, long shift) {
    M column(static_cast<Index>(positions.size()), 1);
    for (Index t = 0; t < column.rows(); ++t)
      column(t, 0) = T(static_cast<double>(positions[static_cast<std::size_t>(t)] + shift));
    return column;
  }

  Index kv_heads(const Choice& choice) const { return choice.is_one_head ? 1 : problem_.kv_heads; }

  Index group(const Choice& choice, Index head) const {
    return choice.are_groups_tiled ? head % problem_.kv_heads : head / (problem_.heads / problem_.kv_heads);
  }

  // Part `index` of `count` of a matrix of all heads.
  std::optional<M> part(const std::optional<M>& wide, const Choice& choice, Index index, Index count) const {
    if (!wide || wide->cols() % count != 0) return std::nullopt;
    if (choice.is_split_flat) return kernels::cut_flat<T>(*wide, index, count);
    const Index width = wide->cols() / count;
    return M(wide->middleCols(index * width, width));
  }

  // Queries or keys where they stand, turned.
  std::optional<M> placed(std::optional<M> x, const std::vector<long>& positions, long shift,
                          const Choice& choice) const {
    const Rope& rope = problem_.rope;
    if (rope.pairs == Rope::Pairs::none || choice.is_not_turned || !x) return x;
    if (x->rows() != static_cast<Index>(positions.size()) || x->cols() < rope.dims) return std::nullopt;
    const bool is_interleaved = (rope.pairs == Rope::Pairs::interleaved) != choice.is_other_pairing;
    return kernels::rotate<T>(*x, kernels::angles<T>(column(positions, shift), rope.base, rope.dims),
                              is_interleaved, x->cols());
  }

  const std::optional<M>& scores(const Choice& choice, Index head) {
    const bool is_exchanged = choice.are_q_and_k_exchanged;
    const Key key{.name = is_exchanged ? "K·Qᵀ" : "Q·Kᵀ",
                  .is_other_layout = choice.is_other_layout,
                  .is_one_head = choice.is_one_head,
                  .is_split_flat = choice.is_split_flat,
                  .head = head,
                  .are_groups_tiled = choice.are_groups_tiled,
                  .is_other_pairing = choice.is_other_pairing,
                  .query_shift = choice.query_shift,
                  .is_not_turned = choice.is_not_turned,
                  .is_not_positioned = choice.is_not_positioned};
    return remembered(key, [&]() -> std::optional<M> {
      if (problem_.entry == Entry::scores) return given("scores");
      const auto q = placed(part(role("Q", choice), choice, head, heads(choice)), problem_.positions,
                            choice.query_shift, choice);
      const auto k = placed(part(role("K", choice), choice, group(choice, head), kv_heads(choice)),
                            problem_.kv_positions, 0, choice);
      if (!q || !k || q->cols() != k->cols()) return std::nullopt;
      return is_exchanged ? kernels::dot_rows(*k, *q) : kernels::dot_rows(*q, *k);
    });
  }

  const Number& slope_of(Index head) const { return problem_.slopes[static_cast<std::size_t>(head)]; }

  static M scaled(const M& scores, const Scaling& scaling) {
    switch (scaling.kind) {
      case Scaling::Kind::by_root:
        return kernels::divide_by_root(scores, scaling.number);
      case Scaling::Kind::divide:
        return kernels::divide(scores, scaling.number);
      case Scaling::Kind::multiply:
        return kernels::multiply(scores, scaling.number);
      case Scaling::Kind::none:
        break;
    }
    return scores;
  }

  static M zero_where_hidden(M matrix, const Mask& open) {
    for (Index k = 0; k < matrix.size(); ++k) {
      if (!open(k)) matrix(k) = T(0);
    }
    return matrix;
  }

  // The mistake itself: tanh turns −∞ into −cap, which the kernel for the cap takes care not to do.
  M capped_with_mask(M masked) const {
    using std::tanh;
    const T cap = scalar_of<T>(*problem_.softcap);
    for (Index k = 0; k < masked.size(); ++k) {
      const T bent = tanh(T(masked(k) / cap));
      masked(k) = cap * bent;
    }
    return masked;
  }

  M softmax(const M& s, Axis axis, Index head) const {
    switch (axis) {
      case Axis::rows:
        return softmax_of_rows(s, head);
      case Axis::columns:
        return softmax_of_rows(s.transpose(), head).transpose();
      case Axis::all:
        break;
    }
    const M row = s.template reshaped<Eigen::RowMajor>(1, s.size());
    return softmax_of_rows(row, head).template reshaped<Eigen::RowMajor>(s.rows(), s.cols());
  }

  M softmax_of_rows(const M& s, Index head) const {
    const Number* sink =
        problem_.sink_logits.empty() ? nullptr : &problem_.sink_logits[static_cast<std::size_t>(head)];
    Mask open(s.rows(), s.cols());
    for (Index k = 0; k < s.size(); ++k) open(k) = !is_minus_infinity(s(k));
    const Params visible{.allowed = std::make_shared<const Mask>(std::move(open)),
                         .empty_row_is_nan = problem_.empty_row == EmptyRow::nan};
    const M max = kernels::row_max<T>(s, sink, visible);
    const M e = kernels::exponential<T>(kernels::shift<T>(s, max, sink, visible), visible);
    return kernels::normalise_rows<T>(e, kernels::row_sum<T>(e, sink, &max), visible);
  }

  const Problem& problem_;
  std::map<Key, std::optional<M>> made_;
};

}  // namespace qkv

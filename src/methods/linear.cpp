// Linear attention, as Katharopoulos et al. 2020 have it:
//
//   phi.Q  = φ(Q)      phi.K = φ(K)
//   S      = φ(K)ᵀ·V   z     = Σ φ(k)
//   output = φ(q)·S / (φ(q)·z), row by row
//
// With a causal mask S and z are a state that each token adds itself to and then reads: t1.S t1.z
// t1.output, t2.S …  The table that softmax attention would fill, and the output through it, stand
// beside for comparison.
//
// Decoding makes each of these tokens a pass of its own: S and z are all that one pass leaves to the next.

#include "methods/linear.h"

#include <string>
#include <utility>
#include <vector>

#include "ops/rows.h"

namespace qkv {
namespace {

struct PhiOps {
  const Op& q;
  const Op& k;
};

PhiOps phi_ops(Phi phi) {
  switch (phi) {
    case Phi::elu_plus_1:
      return {ops::phi_elu_q, ops::phi_elu_k};
    case Phi::exp:
      return {ops::phi_exp_q, ops::phi_exp_k};
    case Phi::relu:
      return {ops::phi_relu_q, ops::phi_relu_k};
    case Phi::identity:
      break;
  }
  return {ops::phi_identity_q, ops::phi_identity_k};
}

class LinearReader {
 public:
  LinearReader(Builder& builder, const Problem& problem, NodeId v)
      : builder_(builder), problem_(problem), v_(v), has_eps_(problem.eps.value != 0) {}

  NodeId read(NodeId q, NodeId k) {
    features_of_queries(q);
    features_of_keys(k);
    const std::vector<NodeId> states = problem_.mask ? read_token_by_token() : whole_state();
    const NodeId weights = weights_table(ops::kernel_weights);
    const NodeId output = problem_.mask
                              ? builder_.step("output", ops::token_rows, states, {}, output_traits())
                              : read_whole_state(states[0], states[1]);
    NodeTraits beside = output_traits();
    beside.role = Role::aside;
    builder_.step("quadratic.output", ops::other_order, {weights, v_}, {}, std::move(beside));
    return output;
  }

  LinearState add_to_state(NodeId k, const std::optional<LinearState>& past) {
    features_of_keys(k);
    const NodeTraits state{.basis = builder_[v_].basis};
    if (!past) {
      return {.phi_k = phi_k_,
              .s = builder_.step("S", ops::pass_state, {phi_k_, v_}, {}, state),
              .z = builder_.step("z", ops::pass_key_sum, {phi_k_}, {}, {})};
    }
    return {.phi_k = phi_k_,
            .s = builder_.step("S", ops::continued_state, {past->s, phi_k_, v_}, {}, state),
            .z = builder_.step("z", ops::continued_key_sum, {past->z, phi_k_}, {}, {})};
  }

  NodeId read_in_pass(NodeId q, const LinearState& state) {
    features_of_queries(q);
    phi_k_ = state.phi_k;
    if (problem_.tokens.size() == 1) return read_whole_state(state.s, state.z);
    return builder_.step("output", ops::read_in_pass, {weights_table(ops::kernel_weights_in_pass), v_}, {},
                         output_traits());
  }

 private:
  void features_of_queries(NodeId q) {
    phi_q_ = builder_.step("phi.Q", phi_ops(problem_.phi).q, {q}, {}, {.rows = problem_.tokens});
  }
  void features_of_keys(NodeId k) {
    phi_k_ = builder_.step("phi.K", phi_ops(problem_.phi).k, {k}, {}, {.rows = problem_.kv_tokens});
  }

  NodeTraits output_traits() const { return {.rows = problem_.tokens, .basis = builder_[v_].basis}; }

  // The numbers of a step that may add eps: what it has of its own, then eps.
  Params with_eps(Params params) const {
    if (has_eps_) params.numbers.push_back(problem_.eps);
    return params;
  }

  NodeId weights_table(const Op& op) {
    const Params visible{.allowed = problem_.allowed};
    NodeTraits table{.rows = problem_.tokens, .cols = problem_.kv_tokens};
    const NodeId kernel = builder_.step("kernel", ops::kernel_scores, {phi_q_, phi_k_}, visible, table);
    const NodeId denominator = builder_.step("denominator", has_eps_ ? ops::kernel_sum_eps : ops::kernel_sum,
                                             {kernel}, with_eps({}), {.rows = problem_.tokens});
    table.has_row_sums = true;
    return builder_.step("weights", op, {kernel, denominator}, visible, std::move(table));
  }

  // S and z.
  std::vector<NodeId> whole_state() {
    const NodeId s = builder_.step("S", ops::state, {phi_k_, v_}, {}, {.basis = builder_[v_].basis});
    return {s, builder_.step("z", ops::key_sum, {phi_k_}, {}, {})};
  }

  NodeId read_whole_state(NodeId s, NodeId z) {
    return builder_.step("output", has_eps_ ? ops::read_state_eps : ops::read_state, {phi_q_, s, z},
                         with_eps({}), output_traits());
  }

  // What each token reads.
  std::vector<NodeId> read_token_by_token() {
    const std::string prefix = builder_.prefix();
    std::vector<NodeId> rows;
    NodeId s = 0;
    NodeId z = 0;
    for (std::size_t t = 0; t < problem_.tokens.size(); ++t) {
      const auto number = static_cast<Index>(t) + problem_.first_index;
      builder_.name_under("t" + std::to_string(number) + "." + prefix);
      const Params token{.numbers = {whole_number(static_cast<long>(t + 1))}};
      const NodeTraits state{.basis = builder_[v_].basis};
      s = t == 0 ? builder_.step("S", ops::first_state, {phi_k_, v_}, token, state)
                 : builder_.step("S", ops::next_state, {s, phi_k_, v_}, token, state);
      z = t == 0 ? builder_.step("z", ops::first_key_sum, {phi_k_}, token, {})
                 : builder_.step("z", ops::next_key_sum, {z, phi_k_}, token, {});
      rows.push_back(builder_.step(
          "output", has_eps_ ? ops::read_state_of_token_eps : ops::read_state_of_token, {phi_q_, s, z},
          with_eps(token), {.rows = {problem_.tokens[t]}, .basis = builder_[v_].basis}));
    }
    builder_.name_under(prefix);
    return rows;
  }

  Builder& builder_;
  const Problem& problem_;
  NodeId v_;
  bool has_eps_;
  NodeId phi_q_ = 0;
  NodeId phi_k_ = 0;
};

}  // namespace

NodeId read_linearly(Builder& builder, const Problem& problem, NodeId q, NodeId k, NodeId v) {
  return LinearReader(builder, problem, v).read(q, k);
}

LinearState add_to_state(Builder& builder, const Problem& problem, NodeId k, NodeId v,
                         const std::optional<LinearState>& past) {
  return LinearReader(builder, problem, v).add_to_state(k, past);
}

NodeId read_in_pass(Builder& builder, const Problem& problem, NodeId q, NodeId v, const LinearState& state) {
  return LinearReader(builder, problem, v).read_in_pass(q, state);
}

}  // namespace qkv

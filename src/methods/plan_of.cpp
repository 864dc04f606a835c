#include "methods/gradient.h"
#include "methods/methods.h"
#include "methods/pass.h"

namespace qkv {

Plan plan_of(const Problem& problem) {
  Builder builder;
  Parameters parameters;
  if (!problem.stack.empty()) {
    problem.is_decoded ? decode_stack(problem, builder, parameters) : stack(problem, builder, parameters);
  } else if (problem.hops > 1) {
    hops(problem, builder, parameters);
  } else {
    const NodeId read =
        problem.is_decoded ? decode(problem, builder, parameters) : attend(problem, builder, parameters).last;
    if (problem.has_residual) add_residual(problem, builder, read);
  }
  if (problem.wants_gradient) append_gradient(problem, builder);
  return builder.take();
}

}  // namespace qkv

#include "methods/methods.h"
#include "methods/pass.h"

namespace qkv {

Plan plan_of(const Problem& problem) {
  Builder builder;
  Parameters parameters;
  if (!problem.stack.empty()) {
    stack(problem, builder, parameters);
  } else if (problem.hops > 1) {
    hops(problem, builder, parameters);
  } else if (problem.is_decoded) {
    decode(problem, builder, parameters);
  } else {
    attend(problem, builder, parameters);
  }
  return builder.take();
}

}  // namespace qkv

// The lines of one head, from its scores to what it reads.
#pragma once

#include "methods/pass.h"
#include "plan/plan.h"
#include "problem/problem.h"

namespace qkv {

struct PassParts {
  const Problem& problem;
  Builder& builder;
  Parameters& parameters;
  MadeOnce& tables;  // what the heads of a pass share: the mask, the given bias
};

// scores … masked, tempered: from the head's q and k, or from the table that the problem gives.
NodeId scores_of_head(const PassParts& pass, const Head& head);

// The same, and the softmax line by line; or the weights that the problem gives.
NodeId weights_of_head(const PassParts& pass, const Head& head);

// What the head's weights read from v; a hard read has the soft one beside it.
NodeId read_with(const PassParts& pass, const Head& head, NodeId weights, NodeId v);

}  // namespace qkv

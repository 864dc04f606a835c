// Rows of two plans that are to be compared.
#pragma once

#include "plan/plan.h"

namespace qkv {

struct RowPair {
  NodeId node = 0;
  Index row = 0;
  NodeId other_node = 0;  // in the other plan
  Index other_row = 0;
};

}  // namespace qkv

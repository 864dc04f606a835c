// MLA: keys, values and queries restored from latents, which a chain of sections makes from X.
#pragma once

#include "base/diagnostic.h"
#include "problem/draft.h"
#include "problem/roles.h"

namespace qkv {

// Whether any section of MLA is given; then Q, K and V come from them.
bool is_latent(const Draft& draft);

// The first section of MLA that is given, to point at.
std::string_view first_latent_section(const Draft& draft);

// That they are complete, fit each other, and meet no setting that contradicts them.  Fills in the
// shapes of Q, K and V of all heads together, position parts included.
void fit_latents(const Draft& draft, Roles& roles, Diagnostics& diagnostics);

}  // namespace qkv

// Where Q, K and V come from, and at which step the calculation is entered.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "base/matrix.h"
#include "problem/draft.h"
#include "problem/problem.h"

namespace qkv {

inline constexpr std::array<std::string_view, 3> kRoles{"Q", "K", "V"};

struct Role {
  enum class From {
    nothing,     // missing; for V: symbols
    given,       // [Q]
    same,        // Q = X
    projection,  // X · W_Q
    latent,      // MLA: X · W_DQ · W_UQ and the like, see problem/latent.h
  };
  From from = From::nothing;
  std::string matrix;  // `given`: its name; `same`: the other matrix; `projection`, `latent`: X or X_kv
  std::optional<Shape> shape;  // filled in by fit_shapes; unknown after an error
};

struct Roles {
  Entry entry = Entry::qkv;
  Role q, k, v;
  bool is_settled = true;        // false: after an error, what is missing or unused cannot be said
  std::optional<Index> queries;  // n, filled in by fit_shapes
  std::optional<Index> keys;     // m

  Role& operator[](std::string_view name) { return name == "Q" ? q : name == "K" ? k : v; }
  const Role* find(std::string_view name) const {
    return name == "Q" ? &q : name == "K" ? &k : name == "V" ? &v : nullptr;
  }
  bool starts_by(Entry last) const { return entry <= last; }  // is the step `last` computed or given?
  bool computes_scores() const { return entry == Entry::x || entry == Entry::qkv; }
};

// Every fault is told once.  Also copies X_kv from the matrix it is said to be.
Roles assign_roles(Draft& draft, Diagnostics& diagnostics);

}  // namespace qkv

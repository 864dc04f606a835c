// How and where matrices were given, in the words of messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "problem/draft.h"
#include "problem/place.h"
#include "problem/roles.h"

namespace qkv {

struct GivenAs {
  Said called;  // "[Q]", or "`K = Q`"
  Place place;
};

// Both nullopt when there is no such section, or no such setting.
std::optional<GivenAs> section_of(const Draft& draft, std::string_view name);
std::optional<GivenAs> alias_of(const Draft& draft, std::string_view name);

// "[Q] is on line 6, [W_Q] on line 11"; empty where there are no lines.
Said lines_of(const GivenAs& a, const GivenAs& b);

// "[Q], line 6", or the file that an option named.
Said where(const std::string& name, const DraftMatrix& matrix);

// The same for a matrix that may be computed: "[X], line 3 and [W_Q], line 8".
Said origin(const Draft& draft, const Roles& roles, const std::string& name);

// "Q comes from [Q], line 6; K from [K], line 11"
Said origins(const Draft& draft, const Roles& roles, const std::string& a, const std::string& b);

}  // namespace qkv

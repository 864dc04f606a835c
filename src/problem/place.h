// Where something was given: in a file, or on the command line.
#pragma once

#include <string>
#include <utility>

#include "base/diagnostic.h"

namespace qkv {

struct Place {
  SourcePtr source;  // null: the command line
  Span span;
  std::string option;  // "--mask", when there is no source
};

// Adds a diagnostic at the place.  The command line has no lines to point at; there the
// message begins with the option.
inline void report(Severity severity, const Place& place, Said message, Said hint, Diagnostics& diagnostics) {
  if (place.source) {
    diagnostics.add(
        {severity, place.source->name, place.source, place.span, std::move(message), std::move(hint)});
  } else {
    diagnostics.add({severity, "", nullptr, std::nullopt,
                     say({"{0}: {1}", "{0}：{1}"}, place.option, message), std::move(hint)});
  }
}

}  // namespace qkv

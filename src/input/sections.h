// A problem file, or an answer file, cut into its settings and its sections.
//
// Only the outline is read here; which names are known, and what stands in a section, is for
// the caller to say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace qkv {

struct Setting {
  std::string key;  // full-width forms folded
  Span key_span;
  Span value;        // up to the comment
  Span whole_value;  // up to the end of the line: a title may hold '#'
};

struct Section {
  std::string name;  // empty: an error was told of its header
  Span header;       // "[name]"
  Span body;         // whole lines
};

struct Outline {
  SourcePtr source;
  std::vector<Setting> settings;
  std::vector<Section> sections;
};

// Faults of the outline (a row before the first section, a setting without "=") are added to
// `diagnostics`; what could be understood is returned.
//   most  settings and sections, after which reading stops with an error: a file of noise would list millions
Outline read_outline(const SourcePtr& source, Diagnostics& diagnostics, std::size_t most = 1000);

}  // namespace qkv

// What is wrong, where, and what to do about it: the only way input code speaks of errors.
//
// Reading goes on after an error, so that one run reports everything that can be found.
// A Problem exists only when none of its diagnostics is an error.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace qkv {

// A text as it was read, kept for as long as anything may point into it.
// `text` is valid UTF-8 without a byte order mark; lines end with LF or CRLF.
struct Source {
  std::string name;  // as the user wrote it; "-" is standard input
  std::string text;
  // Of an array, written out with every digit its numbers have: how many digits of its largest number a
  // comparison may rely on.  0: what is written is meant.
  int digits = 0;
};
using SourcePtr = std::shared_ptr<const Source>;

// Bytes [begin, end) of a source.  Lines and columns are worked out only when they are shown.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Span&) const = default;
};

enum class Severity { note, warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;  // shown before the message; empty: the command line, shown as "qkv"
  SourcePtr source;  // with `span`: line, column and caret are shown
  std::optional<Span> span;
  Said message;
  Said hint;  // empty: none
};

class Diagnostics {
 public:
  void add(Diagnostic d) { list_.push_back(std::move(d)); }

  // Of a place in a text.  Cold: what leads to an error need not stand among what runs.
  [[gnu::cold]] void error(const SourcePtr& source, Span span, Said message, Said hint = {});
  [[gnu::cold]] void warning(const SourcePtr& source, Span span, Said message, Said hint = {});
  [[gnu::cold]] void note(const SourcePtr& source, Span span, Said message, Said hint = {});
  // About a file as a whole (or, with an empty name, about the command line).
  [[gnu::cold]] void error(std::string file, Said message, Said hint = {});
  [[gnu::cold]] void warning(std::string file, Said message, Said hint = {});

  bool has_errors() const {
    for (const Diagnostic& d : list_) {
      if (d.severity == Severity::error) return true;
    }
    return false;
  }
  const std::vector<Diagnostic>& list() const { return list_; }

 private:
  std::vector<Diagnostic> list_;
};

}  // namespace qkv

// Feeds arbitrary bytes to the reader, as a problem file and as matrix files and settings of
// the command line, and prints what it says in both languages.
//
// Crashes and sanitizer reports are found by the fuzzer itself; what a problem promises to
// the rest of the program is checked here.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/display_width.h"
#include "input/source.h"
#include "problem/keys.h"
#include "methods/methods.h"
#include "render/diagnostics.h"

namespace {

using namespace qkv;

void require(bool promise) {
  if (!promise) std::abort();
}

void check_promises(const Problem& p) {
  const auto n = static_cast<Index>(p.tokens.size());
  const auto m = static_cast<Index>(p.kv_tokens.size());
  require(n > 0 && m > 0);
  for (const auto& [name, given] : p.given) {
    require(given.rows > 0 && given.cols > 0);
    require(static_cast<Index>(given.cells.size()) == given.rows * given.cols);
    require(given.row_labels.empty() || static_cast<Index>(given.row_labels.size()) == given.rows);
  }
  for (const auto& mask : {p.allowed, p.mask}) require(!mask || (mask->rows() == n && mask->cols() == m));
  for (const char* table : {"mask", "bias", "scores", "scaled", "masked", "weights"}) {
    require(!p.has(table) || p[table].shape() == Shape{n, m});
  }
  require(!p.has("V") || p["V"].rows == m);
  require(p.scale.kind != ScaleKind::root || p.scale.d_k.value >= 1);
}

void check_diagnostics(const Diagnostics& diagnostics) {
  for (const Language language : {Language::en, Language::zh}) {
    const std::string text = render_diagnostics(diagnostics, language, false);
    require(!invalid_utf8_at(text));
    for (const char c : text) require(c == '\n' || (c >= 0x20 && c != 0x7f) || c < 0);
  }
}

void check(const ProblemInput& input) {
  Diagnostics diagnostics;
  const auto planned = read_and_plan(input, diagnostics);
  require(planned.has_value() != diagnostics.has_errors());
  if (planned) check_promises(planned->problem);
  check_diagnostics(diagnostics);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Diagnostics diagnostics;
  const SourcePtr source = source_from_text("fuzz.qkv", bytes, diagnostics);
  check_diagnostics(diagnostics);
  if (!source) return 0;
  check({source, {}, {}});

  // The first byte chooses how the rest is used on the command line.
  const std::string rest = source->text.substr(1);
  const auto choice = static_cast<unsigned char>(source->text[0]);
  if (invalid_utf8_at(rest) || rest.empty()) return 0;
  if (const Key& key = keys()[choice % keys().size()]; key.as_option) {
    const SourcePtr scores = source_from_text("scores.txt", "1 2\n3 4\n", diagnostics);
    check({nullptr, {{"scores", scores}}, {{key.name, rest}, {"d_k", "4"}}});
  }
  const SourcePtr matrix = source_from_text("matrix.txt", rest, diagnostics);
  if (!matrix) return 0;
  constexpr const char* kNames[] = {"Q", "V", "mask", "masked"};
  check({nullptr, {{kNames[choice % 4], matrix}, {choice % 2 ? "K" : "Q", matrix}}, {}});
  return 0;
}

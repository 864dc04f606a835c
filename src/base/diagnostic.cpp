#include "base/diagnostic.h"

namespace qkv {

void Diagnostics::error(const SourcePtr& source, Span span, Said message, Said hint) {
  add({Severity::error, source->name, source, span, std::move(message), std::move(hint)});
}
void Diagnostics::warning(const SourcePtr& source, Span span, Said message, Said hint) {
  add({Severity::warning, source->name, source, span, std::move(message), std::move(hint)});
}
void Diagnostics::note(const SourcePtr& source, Span span, Said message, Said hint) {
  add({Severity::note, source->name, source, span, std::move(message), std::move(hint)});
}
void Diagnostics::error(std::string file, Said message, Said hint) {
  add({Severity::error, std::move(file), nullptr, std::nullopt, std::move(message), std::move(hint)});
}
void Diagnostics::warning(std::string file, Said message, Said hint) {
  add({Severity::warning, std::move(file), nullptr, std::nullopt, std::move(message), std::move(hint)});
}

}  // namespace qkv

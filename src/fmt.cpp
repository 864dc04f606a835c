// The code of fmt, for the program that has its libraries inside.
//
// Debian has libfmt as a shared library only, but fmt's headers hold all of it.  It is compiled once, here: with
// FMT_HEADER_ONLY in every file that says a sentence, the build would take five minutes more of a processor.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <string>

namespace {

// The other files are compiled against the shared library and look for these by name; an inline function has one only
// where its address is taken.  Should another version of fmt need more, CMake finds that it does not link.
[[gnu::used]] std::string (*const vformat)(fmt::string_view, fmt::format_args) = fmt::vformat;
[[gnu::used]] bool (*const is_printable)(std::uint32_t) = fmt::detail::is_printable;
#if FMT_VERSION < 110000
[[gnu::used]] void (*const fail)(const char*) = fmt::detail::throw_format_error;
#else
[[gnu::used]] void (*const fail)(const char*) = fmt::report_error;
#endif

}  // namespace

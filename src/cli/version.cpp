#include "cli/version.h"

#include <fmt/format.h>
#include <gmp.h>
#include <mpfi.h>
#include <mpfr.h>
#include <utf8proc.h>

#include <CLI/Version.hpp>
#include <Eigen/Core>
#include <array>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>

namespace qkv {
namespace {

std::string numbers(int major, int minor, int patch) { return fmt::format("{}.{}.{}", major, minor, patch); }

}  // namespace

std::string version_text() {
  struct Library {
    const char* name;
    std::string version;
  };
  const std::array<Library, 9> libraries{{
      {"fmt", numbers(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"Eigen", numbers(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
      {"CLI11", CLI11_VERSION},
      {"nlohmann-json",
       numbers(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"Boost", numbers(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
      {"GMP", gmp_version},
      {"MPFR", mpfr_get_version()},
      {"MPFI", mpfi_get_version()},
      {"utf8proc", utf8proc_version()},
  }};
  std::string text = "qkv " QKV_VERSION;
  for (const Library& library : libraries) text += fmt::format("\n{} {}", library.name, library.version);
  return text;
}

}  // namespace qkv

// Reading the shared test vectors (tests/data/vectors, format in its README), for the tests that
// compare with them.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/matrix.h"

namespace qkv::test {

using Json = nlohmann::json;

// Tokens such as 1.0e+400 are legal JSON, but nlohmann refuses them.  Every number becomes a
// string, and is read where it is needed.
inline std::string with_quoted_numbers(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const std::size_t end = text.find('"', at + 1);  // no vector has an escaped quote
      out += text.substr(at, end - at + 1);
      at = end + 1;
    } else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
      const std::size_t end = text.find_first_not_of("+-.0123456789eE", at);
      out += '"' + text.substr(at, end - at) + '"';
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Correctly rounded; beyond the doubles infinity, below them zero.
inline double number(const Json& json) { return std::strtod(json.get<std::string>().c_str(), nullptr); }

inline Matrix matrix_of(const Json& json) {
  const bool is_column = !json.front().is_array();
  Matrix m(static_cast<Index>(json.size()), is_column ? 1 : static_cast<Index>(json.front().size()));
  for (Index i = 0; i < m.rows(); ++i) {
    const Json& row = json[static_cast<std::size_t>(i)];
    for (Index j = 0; j < m.cols(); ++j) m(i, j) = number(is_column ? row : row[static_cast<std::size_t>(j)]);
  }
  return m;
}

// A section of a problem file.
inline std::string section_text(const std::string& name, const Json& json) {
  std::string text = "\n[" + name + "]\n";
  const bool is_row = !json.front().is_array();
  for (const Json& row : is_row ? Json::array({json}) : json) {
    for (const Json& cell : row) {
      // As the vectors write it: the shortest decimal, which is not the double itself.
      const std::string number = cell.is_boolean() ? (cell.get<bool>() ? "1" : "0") : cell.get<std::string>();
      text += number + " ";
    }
    text += "\n";
  }
  return text;
}

// What the expected key is called among qkv's steps.
inline const std::map<std::string, std::string, std::less<>> kStepOf{
    {"Q", "Q"},
    {"K", "K"},
    {"V", "V"},
    {"scores_raw", "scores"},
    {"scores", "scores"},
    {"scores_scaled", "scaled"},
    {"scores_capped", "capped"},
    {"scores_masked", "masked"},
    {"row_max", "max"},
    {"exp", "exp"},
    {"row_sum", "sum"},
    {"weights", "weights"},
    {"output", "output"},
    {"concat", "output"},  // of one head
};

}  // namespace qkv::test

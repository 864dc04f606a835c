#include "render/matrix_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/display_width.h"

namespace qkv {
namespace {

// How a form puts matrices together: {0} is the name, or the number in a stack.
struct Joint {
  const char* form;
  const char* open = "";
  const char* before_name = "";
  const char* after_name = "";
  const char* between = "\n";
  const char* close = "\n";
  const char* no_letters = "";  // what a name cannot hold here
};

constexpr std::array<Joint, 11> kNamed{{
    {"plain", "", "[", "]\n", "\n\n"},
    {"numpy", "", "", " = ", "\n", "\n", "."},
    {"torch", "", "", " = ", "\n", "\n", "."},
    {"json", "{", "\"", "\": ", ",\n ", "}\n"},
    {"octave", "", "", " = ", "\n", "\n", "."},
    {"r", "", "", " <- "},
    {"mathematica", "", "", " = ", "\n", "\n", "._"},
    {"latex", "", "", " = ", "\n\n"},
    {"md", "", "", "\n\n", "\n\n"},
    {"csv", "", "", "", "\n\n"},
    {"tsv", "", "", "", "\n\n"},
}};

constexpr std::array<Joint, 11> kStack{{
    {"plain", "", "# ", "\n", "\n\n"},
    {"numpy", "np.array([", "", "", ",\n", "])\n"},
    {"torch", "torch.stack([", "", "", ",\n", "])\n"},
    {"json", "[", "", "", ",\n", "]\n"},
    {"octave", "", "% ", "\n"},
    {"r", "", "# ", "\n"},
    {"mathematica", "{", "", "", ",\n", "}\n"},
    {"latex", "", "% ", "\n", "\n\n"},
    {"md", "", "# ", "\n\n", "\n\n"},
    {"csv", "", "# ", "\n", "\n\n"},
    {"tsv", "", "# ", "\n", "\n\n"},
}};

const Joint* joint_of(const MatrixForm& form, const std::array<Joint, 11>& joints) {
  const auto found = std::find_if(joints.begin(), joints.end(),
                                  [&](const Joint& j) { return std::string_view(j.form) == form.name; });
  return found == joints.end() ? nullptr : &*found;
}

// W_QKV as W_{QKV}, so that TeX lowers all of it.
std::string tex_name(const std::string& name) {
  const std::size_t line = name.find('_');
  if (line == std::string::npos || line + 2 >= name.size()) return name;
  return name.substr(0, line + 1) + "{" + name.substr(line + 1) + "}";
}

// Lines below the first stand under it: a bracket's rows one below the other.
std::string indented(const std::string& text, int columns) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += std::string(static_cast<std::size_t>(columns), ' ');
  }
  return out;
}

}  // namespace

Said refuses_several(const MatrixForm& form) {
  if (joint_of(form, kNamed) != nullptr) return {};
  return say({"{0} holds one matrix", "{0} 只能存一个矩阵"}, form.name);
}

std::string name_in(const MatrixForm& form, const std::string& name) {
  const Joint* joint = joint_of(form, kNamed);
  if (joint == nullptr) return name;
  if (std::string_view(form.name) == "latex") return tex_name(name);
  std::string written;
  const std::string_view without = joint->no_letters;
  for (const char c : name) {
    if (without.find(c) == std::string_view::npos) {
      written += c;
    } else if (without.find('_') == std::string_view::npos) {
      written += '_';
    }
  }
  return written;
}

std::string write_several(const MatrixForm& form, std::span<const NamedMatrix> matrices, Several several) {
  const bool is_named = several == Several::named;
  const Joint& joint = *joint_of(form, is_named ? kNamed : kStack);
  const std::string_view kind = form.name;
  const bool is_table = kind == "csv" || kind == "tsv";
  const bool is_list = !is_named && joint.before_name[0] == '\0';  // its matrices stand one below the other
  std::string out = joint.open;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    NamedMatrix matrix = matrices[i];
    std::string before;
    if (!is_list && !(is_named && is_table)) {
      before = joint.before_name + name_in(form, matrix.name);
      if (is_named && kind == "md") before += " (" + size_text({matrix.rows, matrix.cols}) + ")";
      before += joint.after_name;
    }
    // A table has its name in its corner.
    if (!is_named) matrix.name.clear();
    std::string text = form.write(matrix);
    text.pop_back();  // the last line break
    const bool is_bracket = kind != "plain" && kind != "md" && kind != "latex" && !is_table;
    if (is_bracket && (is_named || is_list)) {
      const std::string first = is_list ? std::string(joint.open) : (kind == "json" ? " " : "") + before;
      text = indented(text, column_width(first));
    }
    if (is_list && i > 0) out += std::string(static_cast<std::size_t>(column_width(joint.open)), ' ');
    out += before + text + (i + 1 < matrices.size() ? joint.between : joint.close);
  }
  return out;
}

}  // namespace qkv

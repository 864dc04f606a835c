#include "render/script.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "base/display_width.h"
#include "base/escape.h"
#include "render/exported.h"
#include "render/matrix_form.h"
#include "render/script_lines.h"
#include "report/formula.h"
#include "run/apply.h"

namespace qkv {
namespace {

// A matrix in one line up to this many characters, else a line a row.
constexpr std::size_t kLongestLine = 96;

// 9 digits, and what is nothing, as the scripts write them.
constexpr double kTolerance = 1e-9;
constexpr double kLeast = 1e-300;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::array<ScriptLanguage, 3> kLanguages{
    {{"numpy", ".py", true, false}, {"torch", ".py", true, true}, {"octave", ".m", false, false}}};

// Words of Python and Octave, and of the scripts themselves.  A variable of such a name would hide the
// function.
constexpr std::string_view kTakenNames =
    "False None True and as assert async await break class continue def del elif else except finally for "
    "from global if import in is lambda nonlocal not or pass raise return try while with yield do end "
    "function otherwise persistent switch case unwind_protect until abs agreed any all ans cellfun check "
    "columns cos diag disp exit exp eye eps e i j pi Inf NaN isequal isfinite isnan kron len log logical "
    "math max merge min np ones print printf range repmat reshape rows sin size sqrt sum sys tanh torch "
    "true false zeros zip visible";

bool is_name_sign(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string whole(Index value) { return std::to_string(value); }

bool has_empty_row(const Mask& mask) { return !mask.rowwise().any().all(); }

class Script {
 public:
  Script(const ScriptLanguage& language, const Trace& trace, const About& about, const Telling& telling)
      : language_(language),
        trace_(trace),
        plan_(trace.plan()),
        about_(about),
        telling_(telling),
        names_(script_names(plan_)) {}

  std::string write() {
    const std::vector<NodeId> steps = exported_steps(plan_, telling_, is_brief());
    for (const Node& node : plan_.nodes) doubles_.push_back(value_of(node, doubles_));
    for (const NodeId id : steps) step(id);
    bool is_all_finite = true;
    for (const NodeId id : steps) is_all_finite = is_all_finite && is_finite(trace_.values(id));
    return head(is_all_finite) + functions() + body_ + tail();
  }

 private:
  // Without --detail full the softmax is one line, as a trace tells it.
  bool is_brief() const { return telling_.detail != Detail::full; }

  std::string in(const Said& said) const { return said.in(telling_.language); }
  std::string comment(const std::string& text) const {
    return std::string(language_.is_python ? "#" : "%") + (text.empty() ? "" : " ") + visible(text) + "\n";
  }
  std::string literal(const std::string& text) const {
    return language_.is_python ? python_string(text) : octave_string(text);
  }
  std::string number(const Number& n) const {
    if (language_.is_torch) return torch_number(n);
    return language_.is_python ? numpy_number(n) : octave_number(n);
  }

  // ---- matrices ----

  // Rows in the brackets of the language, broken behind each row where they would be long.
  std::string in_rows(const std::vector<std::vector<std::string>>& cells, std::size_t indent) const {
    const char* between_cells = language_.is_python ? ", " : " ";
    std::vector<std::string> rows;
    std::size_t length = indent;
    for (const auto& row : cells) {
      std::string text = language_.is_python ? "[" : "";
      for (std::size_t j = 0; j < row.size(); ++j) text += (j == 0 ? "" : between_cells) + row[j];
      rows.push_back(text + (language_.is_python ? "]" : ""));
      length += rows.back().size() + 2;
    }
    const std::string between_rows = language_.is_python ? "," : ";";
    const std::string space = length > kLongestLine ? "\n" + std::string(indent + 1, ' ') : " ";
    std::string out = "[";
    for (std::size_t i = 0; i < rows.size(); ++i) out += (i == 0 ? "" : between_rows + space) + rows[i];
    return out + "]";
  }

  // With 12 digits, which leaves room for a tolerance of 9.
  std::string in_digits(double value) const {
    if (std::isnan(value)) return number({Number::Kind::nan, "nan"});
    if (std::isinf(value)) return number({Number::Kind::infinite, value < 0 ? "-inf" : "inf"});
    return fmt::format("{:.12g}", value == 0 ? 0.0 : value);
  }

  std::vector<std::vector<std::string>> values_of(NodeId id) const {
    const Matrix& values = trace_.values(id);
    std::vector<std::vector<std::string>> cells(static_cast<std::size_t>(values.rows()));
    for (Index i = 0; i < values.rows(); ++i) {
      for (Index j = 0; j < values.cols(); ++j)
        cells[static_cast<std::size_t>(i)].push_back(in_digits(values(i, j)));
    }
    return cells;
  }

  // Where numbers cancel, a script has fewer than 9 right digits of what is left.  It computes in doubles,
  // and the proved bound of these tells how far off they can be; other sums are made in another order. 0
  // where the 9 digits leave room enough.
  double rounding_in(NodeId id) {
    constexpr double kOtherOrders = 16;
    constexpr double kUnknown = 1e-12;
    const Matrix& values = trace_.values(id);
    double most = 0;
    for (Index i = 0; i < values.rows(); ++i) {
      for (Index j = 0; j < values.cols(); ++j) {
        const double bound = kOtherOrders * doubles_[id](i, j).error;
        if (!std::isfinite(values(i, j)) ||
            bound <= std::max(kTolerance / 10 * std::abs(values(i, j)), kLeast))
          continue;
        most = std::max(most, std::isfinite(bound) ? bound : kUnknown);
      }
    }
    return most;
  }

  // As they were written; symbols as the names of columns, which hold their coefficients.
  std::vector<std::vector<std::string>> given_of(NodeId id) const {
    const Node& node = plan_[id];
    if (node.is_symbolic()) return values_of(id);
    std::vector<std::vector<std::string>> cells(static_cast<std::size_t>(node.shape.rows));
    for (std::size_t k = 0; k < node.given.size(); ++k)
      cells[k / static_cast<std::size_t>(node.shape.cols)].push_back(number(node.given[k]));
    return cells;
  }

  std::string matrix(const std::vector<std::vector<std::string>>& cells, std::size_t indent) const {
    if (!language_.is_python) return in_rows(cells, indent);
    // Whole numbers alone would make a matrix of integers.
    bool is_whole = true;
    for (const auto& row : cells) {
      for (const std::string& cell : row)
        is_whole = is_whole && cell.find_first_of("./e") == std::string::npos;
    }
    const std::string open = language_.is_torch ? "torch.tensor(" : "np.array(";
    const std::string type = language_.is_torch ? ", dtype=torch.float64" : ", dtype=float";
    return open + in_rows(cells, indent + open.size()) + (is_whole ? type : "") + ")";
  }

  // ---- the mask ----

  // The variable that holds it, written before its first use.
  std::string name_of(const Mask& mask) {
    std::vector<std::vector<std::string>> cells(static_cast<std::size_t>(mask.rows()));
    for (Index i = 0; i < mask.rows(); ++i) {
      for (Index j = 0; j < mask.cols(); ++j) {
        const char* truth = mask(i, j) ? "True" : "False";
        cells[static_cast<std::size_t>(i)].push_back(language_.is_python ? truth : mask(i, j) ? "1" : "0");
      }
    }
    const auto found = masks_.find(cells);
    if (found != masks_.end()) return found->second;
    const std::string name = masks_.empty() ? "visible" : "visible_" + std::to_string(masks_.size() + 1);
    masks_.emplace(cells, name);
    const std::string open = name + (language_.is_torch    ? " = torch.tensor("
                                     : language_.is_python ? " = np.array("
                                                           : " = logical(");
    body_ += comment(in(say({"which keys each query may see", "每个查询可以看哪些键"})));
    body_ += open + in_rows(cells, open.size()) + (language_.is_python ? ")\n\n" : ");\n\n");
    return name;
  }

  // ---- one line ----

  bool holds(Guard guard, const Reading& node) const {
    const Mask* mask = node.params.allowed.get();
    const auto value_of = [&](std::size_t input) -> const Matrix& {
      return trace_.values(node.inputs[input]);
    };
    switch (guard) {
      case Guard::none:
        return false;
      case Guard::closed:
        return mask != nullptr && !mask->all();
      case Guard::empty_row:
        return mask != nullptr && has_empty_row(*mask);
      case Guard::minus_inf:
        return std::any_of(node.inputs.begin(), node.inputs.end(),
                           [&](NodeId input) { return holds_minus_inf(trace_.values(input)); });
      case Guard::zero:
        return holds_zero(value_of(0));
      case Guard::not_a_number:
        return mask != nullptr && std::any_of(node.inputs.begin(), node.inputs.end(), [&](NodeId input) {
                 return !(trace_.values(input).array() < kInfinity).all();
               });
      case Guard::leaks: {
        if (mask == nullptr) return false;
        const Matrix& weights = value_of(node.inputs.size() - 2);
        return !is_finite(value_of(node.inputs.size() - 1)) ||
               !((weights.array() == 0) || mask->array()).all();
      }
    }
    return false;
  }

  std::string variable(const Reading& node, std::size_t input) const {
    const std::string& name = names_[node.inputs[input]];
    // What acts on cells acts on each of the columns that a symbolic cell has; a bias joins the constant,
    // which comes first.
    const bool is_projection = node.params.basis > 1 && node.op.reads[0] == Reads::row && input > 0;
    if (!is_projection) return name;
    const std::string package = language_.is_torch ? "torch." : language_.is_python ? "np." : "";
    const std::string basis = whole(node.params.basis);
    const std::string once = language_.is_python ? "eye(" + basis + ")[:1]" : "eye(" + basis + ")(1, :)";
    return package + "kron(" + name + ", " + package + (input == 1 ? "eye(" + basis + ")" : once) + ")";
  }

  std::string joined(const Reading& node, const char* between) const {
    std::string out;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      out += (k == 0 ? "" : between) + names_[node.inputs[k]];
    return out;
  }

  // "0:3" where they follow one another, else "[0, 2]".
  std::string taken(const Params& params, Index first) const {
    std::vector<Index> rows;
    for (const Number& n : params.numbers) rows.push_back(static_cast<Index>(n.value) - 1 + first);
    const Index count = static_cast<Index>(rows.size());
    bool is_range = true;
    for (Index k = 0; k < count; ++k) is_range = is_range && rows[static_cast<std::size_t>(k)] == rows[0] + k;
    if (is_range) return whole(rows[0]) + ":" + whole(rows[0] + count - first);
    std::string list;
    for (const Index row : rows) list += (list.empty() ? "" : first == 0 ? ", " : " ") + whole(row);
    return "[" + list + "]";
  }

  std::string in_brackets(const std::string& text) const {
    return text.find_first_of("*/-") == std::string::npos ? text : "(" + text + ")";
  }

  // What stands for the word at the start of `rest`, and how many characters it has; 0: it is no such word.
  std::pair<std::string, std::size_t> filled(std::string_view rest, const Node& node,
                                             const Reading& reading) {
    const Params& params = reading.params;
    const auto digit = [&](std::size_t at) { return static_cast<std::size_t>(rest[at] - '1'); };
    const auto column = [&](std::size_t at) { return static_cast<Index>(params.numbers[digit(at)].value); };
    if (rest.starts_with("#*")) return {joined(reading, ", "), 2};
    if (rest.starts_with("#;")) return {joined(reading, "; "), 2};
    if (rest.starts_with("#+")) return {joined(reading, " + "), 2};
    if (rest.starts_with("#")) return {variable(reading, digit(1)), 2};
    if (rest.starts_with("@openrows")) {
      const std::string mask = name_of(*params.allowed);
      if (!language_.is_python) return {"any(" + mask + ", 2)", 9};
      return {mask + (language_.is_torch ? ".any(dim=1, keepdim=True)" : ".any(axis=1, keepdims=True)"), 9};
    }
    if (rest.starts_with("@open")) return {name_of(*params.allowed), 5};
    if (rest.starts_with("@empty")) {
      if (params.empty_row_is_nan) return {number({Number::Kind::nan, "nan"}), 6};
      return {language_.is_python ? "0.0" : "0", 6};
    }
    if (rest.starts_with("@rows")) return {whole(node.shape.rows), 5};
    if (rest.starts_with("@cols")) return {whole(node.shape.cols), 5};
    if (rest.starts_with("@width")) {
      const Index all = node.shape.cols;
      return {whole(params.numbers.empty() ? all : static_cast<Index>(params.numbers[0].value)), 6};
    }
    if (rest.starts_with("@taken")) return {taken(params, rest[6] == '0' ? 0 : 1), 7};
    if (rest.starts_with("@align")) {
      if (params.align == 0) return {"", 6};
      return {(params.align < 0 ? " - " : " + ") + std::to_string(std::abs(params.align)), 6};
    }
    if (rest.size() > 2 && rest[0] == '@') {
      switch (rest[1]) {
        case 'a':
          return {whole((column(2) - 1) * params.basis), 3};
        case 'b':
          return {whole((column(2) - 1) * params.basis + 1), 3};
        case 'z':
          return {whole(column(2) * params.basis), 3};
        case 'n':
          return {number(params.numbers[digit(2)]), 3};
        default:
          break;
      }
    }
    if (rest.size() > 1 && rest[0] == '@' && rest[1] >= '1' && rest[1] <= '9')
      return {in_brackets(number(params.numbers[digit(1)])), 2};
    return {"", 0};
  }

  std::string right_side(const Node& node, const Reading& reading) {
    const ScriptLine& line = *script_line(reading.op.name);
    const bool is_guarded = holds(line.guard, reading);
    std::string form = language_.is_python ? (is_guarded ? line.guarded_python : line.python)
                                           : (is_guarded ? line.guarded_octave : line.octave);
    if (language_.is_torch) form = in_torch(std::move(form));
    for (const ScriptFunction& function : script_functions()) {
      if (calls(form, function.name)) called_.insert(function.name);
    }
    std::string out;
    for (std::size_t at = 0; at < form.size();) {
      const auto [text, length] = filled(std::string_view(form).substr(at), node, reading);
      out += length == 0 ? std::string(1, form[at]) : text;
      at += std::max<std::size_t>(length, 1);
    }
    return out;
  }

  static bool calls(std::string_view text, std::string_view function) {
    for (std::size_t at = text.find(function); at != std::string_view::npos;
         at = text.find(function, at + 1)) {
      const bool is_whole = at == 0 || (!is_name_sign(text[at - 1]) && text[at - 1] != '.');
      if (is_whole && text.substr(at + function.size()).starts_with("(")) return true;
    }
    return false;
  }

  std::string labels(const std::vector<std::string>& of) const {
    std::string out;
    for (const std::string& label : of) out += (out.empty() ? "" : ", ") + label;
    return out;
  }

  void step(NodeId id) {
    const Node& node = plan_[id];
    const Reading reading = reading_of(node, is_brief());
    const std::string end = language_.is_python ? "\n" : ";\n";
    const std::string left = names_[id] + " = ";
    const bool is_given = reading.op.kernel.doubles == nullptr;
    const std::string right = is_given ? matrix(given_of(id), left.size()) : right_side(node, reading);
    body_ += comment(reading.op.title.in(telling_.language) +
                     std::string(node.prefix.empty() ? "" : "  " + node.id));
    if (is_given && !node.rows.empty())
      body_ += comment(in(say({"rows: {0}", "行：{0}"}, labels(node.rows))));
    if (node.is_symbolic()) body_ += comment(in(say({"columns: {0}", "列：{0}"}, symbolic_columns(node))));
    body_ += left + right + end;
    if (!is_given) {
      const std::string call = "check(" + literal(node.id) + ", " + names_[id] + ", ";
      const double rounding = rounding_in(id);
      body_ += call + in_rows(values_of(id), call.size()) +
               (rounding > 0 ? fmt::format(", {:.0e}", rounding) : "") + ")" + end;
    }
    body_ += "\n";
  }

  // "v0, v1", or "1·v0, 1·v1, 2·v0, 2·v1" where there are several shown columns; 1 is the constant.
  std::string symbolic_columns(const Node& node) const {
    std::vector<std::string> names;
    for (Index c = 0; c < node.shown_cols(); ++c) {
      for (const std::string& name : node.basis) {
        const std::string symbol = name.empty() ? "1" : name;
        names.push_back(node.shown_cols() == 1 ? symbol : "[" + whole(c + 1) + "] " + symbol);
      }
    }
    return labels(names);
  }

  // ---- around the steps ----

  std::string head(bool is_all_finite) const {
    const Said what = say({"Written by qkv: every step, each checked against the values that qkv found.",
                           "由 qkv 写出：每一步都与 qkv 算出的值核对。"});
    const Said status = say({"Ends with status 0 when all agree, else with 1 at the first that does not.",
                             "全部一致时退出码为 0；否则在第一个不一致的步骤以 1 退出。"});
    std::string out;
    if (language_.is_python) out += "#!/usr/bin/env python3\n";
    out += comment(in(what)) + comment(in(status));
    if (!about_.title.empty()) out += comment("") + comment(about_.title);
    out += language_.is_python ? python_head(is_all_finite) : octave_head();
    return out;
  }

  std::string tolerance_comment() const {
    return comment(in(say({"to 9 digits; where numbers cancel, within what rounding amounts to",
                           "核对到 9 位数字；相减抵消之处，容许舍入带来的差"})));
  }

  std::string python_head(bool is_all_finite) const {
    const bool uses_math = language_.is_torch || body_.find("math.") != std::string::npos;
    std::string out = std::string(uses_math ? "import math\n" : "") + "import sys\n\nimport numpy as np\n\n";
    if (language_.is_torch) {
      out += "torch.set_default_dtype(torch.float64)\n\n";
    } else if (!is_all_finite) {
      out += comment(in(say({"a row without any visible key makes 0 / 0, which the line itself puts right",
                             "没有可见键的行会出现 0 / 0，由该行代码自己处理"}))) +
             "np.seterr(all=\"ignore\")\n\n";
    }
    const std::string expected =
        language_.is_torch ? "torch.tensor(expected, dtype=torch.float64)" : "np.array(expected)";
    out += "agreed = 0\n\n\ndef check(step, value, expected, rounding=1e-300):\n    " + tolerance_comment() +
           "    global agreed\n    expected = " + expected +
           "\n"
           "    same_shape = value.shape == expected.shape\n"
           "    if not (same_shape and np.allclose(value, expected, rtol=1e-9, atol=rounding, "
           "equal_nan=True)):\n"
           "        print(" +
           in(say({"\"differs:\", step", "\"不一致：\", step"})) +
           ", value, expected, sep=\"\\n\")\n"
           "        sys.exit(1)\n"
           "    agreed += 1\n\n\n";
    return language_.is_torch ? in_torch(std::move(out)) : out;
  }

  std::string octave_head() const {
    return "1;  " + comment(in(say({"a script, not a file of one function", "这是脚本，不是函数文件"}))) +
           "global agreed\nagreed = 0;\n\n"
           "function check(step, value, expected, rounding)\n  " +
           tolerance_comment() +
           "  global agreed\n"
           "  if nargin < 4, rounding = 1e-300; end\n"
           "  same = isequal(size(value), size(expected));\n"
           "  if same\n"
           "    near = isfinite(expected) & abs(value - expected) <= rounding + 1e-9 * abs(expected);\n"
           "    same = all((near | value == expected | (isnan(value) & isnan(expected)))(:));\n"
           "  end\n"
           "  if ! same\n"
           "    printf(" +
           in(say({"\"differs:\\n%s\\n\"", "\"不一致：\\n%s\\n\""})) +
           ", step); disp(value); disp(expected);\n"
           "    exit(1);\n"
           "  end\n"
           "  agreed += 1;\n"
           "end\n\n";
  }

  std::string functions() const {
    std::string out;
    for (const ScriptFunction& function : script_functions()) {
      if (!called_.contains(function.name)) continue;
      const char* text = language_.is_python ? function.python : function.octave;
      if (language_.is_torch) {
        out += in_torch(text) + "\n\n";
      } else {
        out += text + std::string(language_.is_python ? "\n\n" : "\n");
      }
    }
    return out;
  }

  std::string tail() const {
    return language_.is_python
               ? in(say({"print(f\"all {{agreed}} steps agree\")\n", "print(f\"{{agreed}} 步全部一致\")\n"}))
               : in(say({"printf(\"all %d steps agree\\n\", agreed);\n",
                         "printf(\"%d 步全部一致\\n\", agreed);\n"}));
  }

  const ScriptLanguage& language_;
  const Trace& trace_;
  const Plan& plan_;
  const About& about_;
  const Telling& telling_;
  const std::vector<std::string> names_;
  std::vector<BoundedMatrix> doubles_;  // of every node, for their bounds
  std::map<std::vector<std::vector<std::string>>, std::string> masks_;
  std::set<std::string_view> called_;
  std::string body_;
};

}  // namespace

std::span<const ScriptLanguage> script_languages() { return kLanguages; }

std::string render_script(const ScriptLanguage& language, const Trace& trace, const About& about,
                          const Telling& telling) {
  return Script(language, trace, about, telling).write();
}

std::optional<NodeId> infinite_scores(const Trace& trace) {
  for (const Node& node : trace.plan().nodes) {
    if (std::string_view(node.op->name) != "shift") continue;
    if ((trace.values(node.inputs[0]).array() == kInfinity).any()) return node.inputs[0];
  }
  return std::nullopt;
}

std::vector<std::string> script_names(const Plan& plan) {
  std::istringstream words{std::string(kTakenNames)};
  std::set<std::string, std::less<>> taken(std::istream_iterator<std::string>(words), {});
  for (const ScriptFunction& function : script_functions()) taken.emplace(function.name);
  std::vector<std::string> names;
  for (const Node& node : plan.nodes) {
    std::string name = node.id;
    for (char& c : name) c = is_name_sign(c) ? c : '_';
    if (name.starts_with("visible_")) name += '_';  // the masks' own
    while (!taken.insert(name).second) name += '_';
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace qkv

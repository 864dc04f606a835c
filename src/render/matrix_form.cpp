#include "render/matrix_form.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "base/decimal.h"
#include "base/escape.h"
#include "base/row_label.h"
#include "render/npy.h"

namespace qkv {
namespace {

// "007." and "+.5" are numbers for people; JSON and others want 7 and 0.5.
std::string strict_decimal(std::string text) {
  std::string sign;
  if (text.front() == '-') sign = "-";
  if (text.front() == '-' || text.front() == '+') text.erase(0, 1);
  std::size_t zeros = 0;
  while (zeros + 1 < text.size() && text[zeros] == '0' && text[zeros + 1] >= '0' && text[zeros + 1] <= '9')
    ++zeros;
  text.erase(0, zeros);
  if (text.front() == '.') text.insert(0, "0");
  const std::size_t exponent = text.find_first_of("eE");
  const std::size_t end = exponent == std::string::npos ? text.size() : exponent;
  if (text[end - 1] == '.') text.erase(end - 1, 1);
  return sign + text;
}

bool is_literal(const Number& number) {
  return number.text.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

// ---- Expressions: 2*sqrt(2)/3 ----------------------------------------------------------------

struct Notation {
  const char* root_open;
  const char* root_close;
  const char* infinity;
  const char* nan;
  const char* exponent = "e";
};

// The number grammar in another program's notation; a percentage becomes a quotient.
std::string in_notation(const Number& number, const Notation& notation) {
  const bool is_negative = number.text.starts_with('-');
  if (number.kind == Number::Kind::infinite) return (is_negative ? "-" : "") + std::string(notation.infinity);
  if (number.kind == Number::Kind::nan) return notation.nan;
  if (is_literal(number)) {
    std::string text = strict_decimal(number.text);
    const std::size_t e = text.find_first_of("eE");
    if (e != std::string::npos) text.replace(e, 1, notation.exponent);
    return text;
  }
  std::string out;
  std::string_view rest = number.text;
  while (!rest.empty()) {
    if (rest.starts_with("sqrt(")) {
      out += notation.root_open;
      rest.remove_prefix(5);
    } else if (rest.front() == ')') {
      out += notation.root_close;
      rest.remove_prefix(1);
    } else if (rest.front() == '%') {
      out += "/100";
      rest.remove_prefix(1);
    } else if (rest.front() == 'e' || rest.front() == 'E') {
      out += notation.exponent;
      rest.remove_prefix(1);
    } else {
      out += rest.front();
      rest.remove_prefix(1);
    }
  }
  return out;
}

// Reads "[sign] factor { (*|/) factor } [%]" into a fraction of TeX.
class TexNumber {
 public:
  explicit TexNumber(std::string_view text) : rest_(text) {}

  std::string write() {
    std::string sign = take('-') ? "-" : "";
    take('+');
    std::string above = factor();
    std::string below;
    while (!rest_.empty() && rest_.front() != ')' && rest_.front() != '%') {
      std::string& to = rest_.front() == '/' ? below : above;
      rest_.remove_prefix(1);
      to += (to.empty() ? "" : " \\cdot ") + factor();
    }
    if (take('%')) below += below.empty() ? "100" : " \\cdot 100";
    return sign + (below.empty() ? above : "\\frac{" + above + "}{" + below + "}");
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string factor() {
    if (rest_.starts_with("sqrt(")) {
      rest_.remove_prefix(5);
      std::string inside = write();
      take(')');
      return "\\sqrt{" + inside + "}";
    }
    std::string digits;
    while (!rest_.empty() && std::string_view("0123456789.").find(rest_.front()) != std::string_view::npos)
      digits += rest_.front(), rest_.remove_prefix(1);
    if (!take('e') && !take('E')) return digits;
    std::string exponent;
    while (!rest_.empty() && std::string_view("+-0123456789").find(rest_.front()) != std::string_view::npos)
      exponent += rest_.front(), rest_.remove_prefix(1);
    return digits + " \\times 10^{" + exponent + "}";
  }

  std::string_view rest_;
};

std::string in_tex(const Number& number) {
  switch (number.kind) {
    case Number::Kind::infinite:
      return number.text.starts_with('-') ? "-\\infty" : "\\infty";
    case Number::Kind::nan:
      return "\\text{nan}";
    case Number::Kind::blank:
      return "\\_";
    case Number::Kind::symbol: {
      const std::size_t digits = number.text.find_first_of("0123456789");
      if (digits == std::string::npos) return number.text;
      return number.text.substr(0, digits) + "_{" + number.text.substr(digits) + "}";
    }
    case Number::Kind::finite:
      break;
  }
  return TexNumber(number.text).write();
}

// The nearest double, of what is no decimal.
std::string as_double(const Number& number) {
  if (number.kind != Number::Kind::finite) return number.text;
  return is_literal(number) ? strict_decimal(number.text) : shortest_text(number.value);
}

// ---- Rows ------------------------------------------------------------------------------------

using CellText = std::function<std::string(const Number&)>;

struct Brackets {
  const char* open;
  const char* row_open;
  const char* between_cells;
  const char* row_close;
  const char* between_rows;
  const char* close;
};

std::string bracketed(const NamedMatrix& m, const Brackets& b, const CellText& cell) {
  std::string out = b.open;
  for (Index i = 0; i < m.rows; ++i) {
    out += (i == 0 ? "" : b.between_rows) + std::string(b.row_open);
    for (Index j = 0; j < m.cols; ++j)
      out += (j == 0 ? "" : b.between_cells) + cell(m.cells[static_cast<std::size_t>(i * m.cols + j)]);
    out += b.row_close;
  }
  return out + b.close + "\n";
}

std::string label_of(const NamedMatrix& m, Index row) {
  return m.row_labels.empty() ? "" : m.row_labels[static_cast<std::size_t>(row)];
}

std::string plain(const NamedMatrix& m) {
  std::string out;
  for (Index i = 0; i < m.rows; ++i) {
    out += row_label_text(label_of(m, i));
    for (Index j = 0; j < m.cols; ++j)
      out += (j == 0 ? "" : " ") + m.cells[static_cast<std::size_t>(i * m.cols + j)].text;
    out += "\n";
  }
  return out;
}

std::string numpy(const NamedMatrix& m) {
  return bracketed(m, {"np.array([", "[", ", ", "]", ",\n          ", "])"}, numpy_number);
}

std::string torch(const NamedMatrix& m) {
  return bracketed(m, {"torch.tensor([", "[", ", ", "]", ",\n              ", "])"}, torch_number);
}

// Infinities as qkv's own JSON writes them.
std::string json(const NamedMatrix& m) {
  return bracketed(m, {"[", "[", ", ", "]", ",\n ", "]"}, [](const Number& n) {
    return n.kind == Number::Kind::finite ? as_double(n) : "\"" + n.text + "\"";
  });
}

std::string octave(const NamedMatrix& m) {
  return bracketed(m, {"[", "", " ", "", "; ", "]"}, octave_number);
}

std::string r_code(const NamedMatrix& m) {
  const std::string tail = "), nrow = " + std::to_string(m.rows) + ", byrow = TRUE)";
  return bracketed(m, {"matrix(c(", "", ", ", "", ",\n         ", tail.c_str()}, [](const Number& n) {
    return in_notation(n, {"sqrt(", ")", "Inf", "NaN"});
  });
}

std::string mathematica(const NamedMatrix& m) {
  return bracketed(m, {"{", "{", ", ", "}", ",\n ", "}"}, [](const Number& n) {
    return in_notation(n, {"Sqrt[", "]", "Infinity", "Indeterminate", "*^"});
  });
}

std::string latex(const NamedMatrix& m) {
  return bracketed(m, {"\\begin{bmatrix}\n", "", " & ", "", " \\\\\n", "\n\\end{bmatrix}"}, in_tex);
}

std::string markdown(const NamedMatrix& m) {
  const bool has_labels = !m.row_labels.empty();
  std::string out = has_labels ? "|  |" : "|";
  for (Index j = 1; j <= m.cols; ++j) out += " " + std::to_string(j) + " |";
  out += has_labels ? "\n| :-- |" : "\n|";
  for (Index j = 0; j < m.cols; ++j) out += " --: |";
  out += "\n";
  for (Index i = 0; i < m.rows; ++i) {
    out += has_labels ? "| " + escape_markdown(label_of(m, i)) + " |" : "|";
    for (Index j = 0; j < m.cols; ++j) {
      const std::string& text = m.cells[static_cast<std::size_t>(i * m.cols + j)].text;
      out += " " + (text == "_" ? std::string("\\_") : text) + " |";
    }
    out += "\n";
  }
  return out;
}

// Rows with labels stand under a line that counts the columns, with the matrix's name in the corner; then the
// reader tells labels from numbers.
std::string separated(const NamedMatrix& m, char separator) {
  const bool has_names = !m.name.empty() || !m.row_labels.empty();
  std::string out;
  if (has_names) {
    out += m.name;
    for (Index j = 1; j <= m.cols; ++j) out += separator + std::to_string(j);
    out += "\n";
  }
  for (Index i = 0; i < m.rows; ++i) {
    if (has_names)
      out += (m.row_labels.empty() ? std::to_string(i + 1) : csv_text(label_of(m, i))) + separator;
    for (Index j = 0; j < m.cols; ++j) {
      if (j > 0) out += separator;
      out += as_double(m.cells[static_cast<std::size_t>(i * m.cols + j)]);
    }
    out += "\n";
  }
  return out;
}

std::string array_file(const NamedMatrix& m) {
  Matrix values(m.rows, m.cols);
  for (Index i = 0; i < m.rows; ++i) {
    for (Index j = 0; j < m.cols; ++j) values(i, j) = m.cells[static_cast<std::size_t>(i * m.cols + j)].value;
  }
  return render_npy(values);
}

constexpr std::array<MatrixForm, 12> kForms{
    {{"plain", ".txt", true, true, true, plain},
     {"numpy", ".py", false, false, true, numpy},
     {"torch", "", false, false, true, torch},
     {"json", ".json", false, true, false, json},
     {"octave", ".m", false, false, true, octave},
     {"r", ".R", false, false, true, r_code},
     {"mathematica", ".wl", false, false, true, mathematica},
     {"latex", ".tex", false, true, true, latex},
     {"md", ".md", true, true, true, markdown},
     {"csv", ".csv", true, true, false, [](const NamedMatrix& m) { return separated(m, ','); }},
     {"tsv", ".tsv", true, true, false, [](const NamedMatrix& m) { return separated(m, '\t'); }},
     {"npy", ".npy", false, false, false, array_file}}};

}  // namespace

std::span<const MatrixForm> matrix_forms() { return kForms; }

std::string numpy_number(const Number& number) {
  return in_notation(number, {"np.sqrt(", ")", "np.inf", "np.nan"});
}
std::string torch_number(const Number& number) {
  return in_notation(number, {"math.sqrt(", ")", "math.inf", "math.nan"});
}
std::string octave_number(const Number& number) { return in_notation(number, {"sqrt(", ")", "Inf", "NaN"}); }

FormFit fit_of(const MatrixForm& form, const NamedMatrix& matrix) {
  FormFit fit;
  for (const Number& number : matrix.cells) {
    const bool is_open = number.kind == Number::Kind::symbol || number.kind == Number::Kind::blank;
    if (is_open && !form.has_symbols && fit.refused.empty()) {
      fit.refused = say({"{0} has no place for {1}", "{0} 里写不下 {1}"}, form.name, number.text);
    }
    if (number.kind == Number::Kind::finite && !is_literal(number) && !form.has_ratios && fit.loses.empty()) {
      fit.loses.push_back(say({"{0} holds decimals only: {1} becomes {2}, and others likewise",
                               "{0} 只能写小数：{1} 写成 {2}，其他类似"},
                              form.name, number.text, shortest_text(number.value)));
    }
  }
  const bool has_labels = std::any_of(matrix.row_labels.begin(), matrix.row_labels.end(),
                                      [](const auto& l) { return !l.empty(); });
  if (has_labels && !form.has_labels)
    fit.loses.push_back(say({"{0} has no place for the names of rows", "{0} 里写不下各行的名字"}, form.name));
  return fit;
}

}  // namespace qkv

// Matrices as code writes them, and as programs print them for code:
//
//   tensor([[1., 0.]], device='cuda:0', grad_fn=<MmBackward0>)      float K[2][3] = {{1.0f, 0}, …};
//   <tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 0.]], dtype=float32)>
//   matrix(c(1, 0, -2.5, 3), nrow = 2)                              np.array([1, 0, 0, 1]).reshape(2, 2)
//
// The numbers are the first argument that is a list; of the others only R's nrow, ncol and byrow matter.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/display_width.h"
#include "input/code_text.h"
#include "input/fold.h"
#include "input/forms.h"
#include "input/lines.h"
#include "input/plain_rows.h"

namespace qkv {
namespace {

struct Call {
  std::string_view name;
  Text form;
};

constexpr Text kNumpy{"a NumPy array", " NumPy 数组"};
constexpr Text kTorch{"a PyTorch tensor", " PyTorch 张量"};
constexpr Text kJax{"a JAX array", " JAX 数组"};
constexpr Text kTensorFlow{"a TensorFlow tensor", " TensorFlow 张量"};
constexpr Text kSymPy{"a SymPy matrix", " SymPy 矩阵"};
constexpr Text kR{"a matrix in R", " R 的矩阵"};
constexpr Text kRust{"a list in Rust", " Rust 的列表"};
constexpr Text kJulia{"a list in Julia", " Julia 的列表"};
constexpr Text kMathematica{"a list in Mathematica", " Mathematica 的列表"};
constexpr Text kGo{"a list in Go", " Go 的列表"};

// By the last part of the name.
constexpr std::array<Call, 19> kCalls{{{"array", kNumpy},
                                       {"asarray", kNumpy},
                                       {"matrix", kNumpy},
                                       {"mat", kNumpy},
                                       {"Matrix", kSymPy},
                                       {"tensor", kTorch},
                                       {"Tensor", kTorch},
                                       {"FloatTensor", kTorch},
                                       {"DoubleTensor", kTorch},
                                       {"as_tensor", kTorch},
                                       {"Parameter", kTorch},
                                       {"Array", kJax},
                                       {"DeviceArray", kJax},
                                       {"constant", kTensorFlow},
                                       {"Variable", kTensorFlow},
                                       {"c", kR},
                                       {"structure", kR},
                                       {"rbind", kR},
                                       {"cbind", kR}}};

// Behind a list they change no number and no place.
constexpr std::array<std::string_view, 12> kHarmless{"astype", "float",  "double", "half",   "cuda",
                                                     "cpu",    "detach", "numpy",  "tolist", "requires_grad_",
                                                     "to",     "clone"};

// The arguments whose value is the list.
constexpr std::array<std::string_view, 5> kListArguments{"numpy", "value", "data", "object", "values"};

std::string_view last_part(std::string_view name) {
  const std::size_t at = name.find_last_of(".:");
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

const Call* find_call(std::string_view name) {
  const std::string_view last = last_part(name);
  const auto found =
      std::find_if(kCalls.begin(), kCalls.end(), [&](const Call& c) { return c.name == last; });
  return found == kCalls.end() ? nullptr : &*found;
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What the text says of a matrix; `list` is its outermost bracket.
struct Value {
  Span list{};
  Said form = {};
  std::vector<Span> parts = {};  // of rbind and cbind: each c(…)
  bool has_parts_in_columns = false;
  bool is_flat = false;  // one list, to be laid out in rows and columns
  std::optional<long> rows = {}, cols = {};
  bool is_filled_by_columns = false;
  std::size_t transpositions = 0;
  std::size_t end = 0;
};

class CodeReader {
 public:
  CodeReader(std::string_view text, std::size_t end) : text_(text), end_(end) {}

  // The value that begins at `at`; nullopt when what stands there is no list and no known call.
  std::optional<Value> value(std::size_t at) {
    if (++depth_ > kDeepest) return std::nullopt;
    at = skip_blank(text_, at, end_);
    if (at >= end_) return std::nullopt;
    for (const std::string_view lead : {"Parameter containing:", "new "}) {
      if (text_.substr(at, end_ - at).starts_with(lead)) at = skip_blank(text_, at + lead.size(), end_);
    }
    Value found;
    if (at >= end_) return std::nullopt;
    if (text_.substr(at, end_ - at).starts_with("<tf.")) return tensorflow_repr(at);
    if (const std::size_t type = list_type_length(text_, at, end_); type > 0) {
      found.form = text_[at] == '[' ? say(kGo) : text_[at + type - 1] == '!' ? say(kRust) : say(kJulia);
      found.list = {at + type, end_of_bracket(text_, at + type, end_)};
      found.end = found.list.end;
      --depth_;
      return found;
    }
    if (is_open_bracket(fold_at(text_, at).value)) {
      found.list = {at, end_of_bracket(text_, at, end_)};
      found.end = found.list.end;
      suffixes(found);
      --depth_;
      return found;
    }
    if (const auto range = range_at(text_, at, end_)) {
      found.list = {at, range->end};
      found.is_flat = true;
      found.end = range->end;
      --depth_;
      return found;
    }
    const std::size_t name_end = end_of_name(text_, at, end_);
    const std::string_view name = text_.substr(at, name_end - at);
    const bool transposes = (name == "t" || name == "np.transpose") && is_at(name_end, '(');
    const bool shows = (name == "MatrixForm" || name == "TableForm") && is_at(name_end, '[');
    if (transposes || shows) {
      auto inner = value(name_end + 1);
      --depth_;
      if (!inner) return std::nullopt;
      inner->end = skip_blank(text_, inner->end, end_);
      if (inner->end >= end_ || !is_close_bracket(fold_at(text_, inner->end).value)) return std::nullopt;
      ++inner->end;
      if (transposes) ++inner->transpositions;
      if (shows) inner->form = say(kMathematica);
      suffixes(*inner);
      return inner;
    }
    const Call* call = find_call(name);
    if (!call || name_end >= end_ || fold_at(text_, name_end).value != '(') return std::nullopt;
    auto result = called(name, *call, name_end);
    if (result) suffixes(*result);
    --depth_;
    return result;
  }

 private:
  static constexpr int kDeepest = 8;

  bool is_at(std::size_t at, char folded) const { return at < end_ && fold_at(text_, at).value == folded; }

  std::optional<Value> tensorflow_repr(std::size_t at) {
    const std::size_t numbers = text_.find("numpy=", at);
    if (numbers >= end_) return std::nullopt;
    auto found = value(numbers + 6);
    if (!found) return std::nullopt;
    found->form = say(kTensorFlow);
    found->end = std::min(text_.find('>', found->end), end_ - 1) + 1;
    return found;
  }

  std::optional<Value> called(std::string_view name, const Call& call, std::size_t open) {
    const std::size_t close = end_of_bracket(text_, open, end_);
    const std::size_t inside = open + fold_at(text_, open).length;
    Value found;
    found.form = say(call.form);
    if (name.starts_with("tf.")) found.form = say(kTensorFlow);
    if (name == "c") {
      found.list = {open, close};
      found.is_flat = true;
      found.end = close;
      return found;
    }
    if (name == "rbind" || name == "cbind") {
      found.has_parts_in_columns = name == "cbind";
      found.list = {open, close};
    }
    std::optional<Value> list;
    std::vector<long> sizes;  // "matrix(c(…), 2, 3)"
    for (std::size_t at = inside; at < close;) {
      const std::size_t end = end_of_argument(at, close);
      if (!argument({at, end}, found, list, sizes)) return std::nullopt;
      at = end + 1;
    }
    found.end = close;
    // "structure(5, dim = c(1L, 1L))": how R writes a matrix of one number.
    // "matrix(0, nrow = 2, ncol = 3)": the number in every place.
    const bool is_filled = call.name == "matrix" && !list && single_ && found.rows && found.cols;
    const bool is_single =
        is_filled || (call.name == "structure" && !list && single_ && found.rows == 1 && found.cols == 1);
    if (is_single) {
      found.list = *single_;
      found.is_flat = true;
    }
    if (!found.list.end && !list) return std::nullopt;
    if (list) {
      found.list = list->list;
      found.is_flat = list->is_flat;
      found.transpositions = list->transpositions;
    }
    if (call.name == "structure" && !(found.rows && found.cols)) return std::nullopt;
    if ((call.name == "matrix" || call.name == "structure") && found.is_flat) {
      found.form = say(kR);
      if (!found.rows && !sizes.empty()) found.rows = sizes[0];
      if (!found.cols && sizes.size() > 1) found.cols = sizes[1];
      if (!has_byrow_) found.is_filled_by_columns = true;
    }
    return found;
  }

  // Up to the "," at this depth, or the closing bracket.
  std::size_t end_of_argument(std::size_t at, std::size_t close) const {
    while (at < close) {
      const Folded c = fold_at(text_, at);
      if (c.value == ',' || is_close_bracket(c.value)) return at;
      if (c.value == '\'' || c.value == '"') {
        at = std::min(text_.find(c.value, at + 1), close - 1) + 1;
      } else {
        at = is_open_bracket(c.value) ? end_of_bracket(text_, at, close) : at + c.length;
      }
    }
    return close;
  }

  // False where the argument makes the call one that is not understood.
  bool argument(Span span, Value& call, std::optional<Value>& list, std::vector<long>& sizes) {
    span.begin = std::min(skip_blank(text_, span.begin, span.end), span.end);
    const std::string_view written = text_.substr(span.begin, span.end - span.begin);
    const bool is_dim_of_old = written.starts_with(".Dim");  // before R 4.0
    const std::size_t name_end = end_of_name(text_, span.begin + (is_dim_of_old ? 1 : 0), span.end);
    const std::size_t equals = skip_blank(text_, name_end, span.end);
    std::string_view name;
    if (name_end > span.begin && is_at(equals, '=')) {
      name = text_.substr(span.begin, name_end - span.begin);
      span.begin = skip_blank(text_, equals + 1, span.end);
    }
    const std::string_view value_text = text_.substr(span.begin, span.end - span.begin);
    const bool is_part = call.list.end > 0;  // of rbind
    if (!name.empty() && !is_part && !is_one_of(name, kListArguments)) {
      if (name == "nrow") call.rows = whole(value_text);
      if (name == "ncol") call.cols = whole(value_text);
      if (name == "dim" || name == ".Dim") dimensions(span, call);
      if (name == "byrow") has_byrow_ = value_text.starts_with('T');
      return true;
    }
    if (is_part) {
      const auto part = value(span.begin);
      if (!part) return name == "deparse.level";
      call.parts.push_back(part->list);
      return true;
    }
    if (!list && !single_) single_ = trimmed(text_, span);
    if (const auto size = whole(written)) {
      sizes.push_back(*size);
    } else if (written.starts_with('T') && sizes.size() == 2) {
      has_byrow_ = true;
    } else if (!list) {
      list = value(span.begin);
    } else if (span.begin < span.end && is_open_bracket(fold_at(text_, span.begin).value)) {
      return false;  // a second list
    }
    return true;
  }

  // "c(2L, 3L)" and "2:3"
  void dimensions(Span span, Value& call) const {
    const std::size_t open = text_.substr(0, span.end).find('(', span.begin);
    const std::size_t begin = open == std::string_view::npos ? span.begin : open + 1;
    const std::size_t between = text_.substr(0, span.end).find_first_of(",:", begin);
    if (between == std::string_view::npos) return;
    const std::size_t end = std::min(text_.find(')', between), span.end);
    call.rows = whole(trimmed_text({begin, between}));
    call.cols = whole(trimmed_text({between + 1, end}));
  }

  std::string_view trimmed_text(Span span) const {
    span = trimmed(text_, {skip_blank(text_, span.begin, span.end), span.end});  // line breaks too
    return text_.substr(span.begin, span.end - span.begin);
  }

  static std::optional<long> whole(std::string_view text) {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error != std::errc() || rest.find_first_not_of("L \t\r\n") != std::string_view::npos)
      return std::nullopt;
    return value;
  }

  // ".reshape(2, 2)", ".T", ".float()"
  void suffixes(Value& found) {
    while (is_at(found.end, '.')) {
      const std::size_t name_begin = found.end + 1;
      std::size_t name_end = name_begin;
      while (name_end < end_ && ((text_[name_end] >= 'a' && text_[name_end] <= 'z') ||
                                 text_[name_end] == '_' || text_[name_end] == 'T'))
        ++name_end;
      const std::string_view name = text_.substr(name_begin, name_end - name_begin);
      const bool is_call = is_at(name_end, '(');
      const std::size_t close = is_call ? end_of_bracket(text_, name_end, end_) : name_end;
      if (name == "T" || name == "t" || (name == "transpose" && close == name_end + 2)) {
        ++found.transpositions;
      } else if (is_call && (name == "reshape" || name == "view")) {
        std::vector<long> sizes;
        for (std::size_t at = name_end + 1; at < close;) {
          const std::size_t end = end_of_argument(at, close);
          if (const auto n = whole(trimmed_text({at, end}))) sizes.push_back(*n);
          at = end + 1;
        }
        if (sizes.size() != 2 || found.rows || found.transpositions > 0) return;
        if (sizes[0] > 0) found.rows = sizes[0];
        if (sizes[1] > 0) found.cols = sizes[1];
        found.is_flat = true;
      } else if (!is_call || !is_one_of(name, kHarmless)) {
        return;
      }
      found.end = close;
    }
  }

  std::string_view text_;
  std::size_t end_;
  int depth_ = 0;
  bool has_byrow_ = false;
  std::optional<Span> single_;  // the first argument without a name
};

struct Statement {
  Value value;
  std::vector<long> sizes;  // declared, as C does
  bool is_code = false;     // not a list that plain rows know
};

std::optional<Statement> statement(std::string_view text, Span body) {
  const std::size_t begin = skip_blank(text, body.begin, body.end);
  const auto declared = declaration_at(text, begin, body.end);
  auto value = CodeReader(text, body.end).value(declared ? declared->value : begin);
  if (!value) return std::nullopt;
  // "1:3" alone may be a label and its number.
  if (!declared && value->list.begin == begin && range_at(text, begin, body.end)) return std::nullopt;
  const bool is_code = !value->form.empty() || (declared && declared->has_type) || value->is_flat;
  if (declared && declared->has_type && value->form.empty())
    value->form =
        text.substr(begin).starts_with("let ") ? say(kRust) : say({"an array in C or C++", " C/C++ 数组"});
  // An index of Python, "Q[0] = [1, 0]", is no size.
  const bool has_braces = text[value->list.begin] == '{';
  return Statement{std::move(*value), declared && has_braces ? declared->sizes : std::vector<long>(),
                   is_code};
}

bool recognises(const Paste& paste, Span body) {
  const auto found = statement(paste.text(), body);
  return found && found->is_code;
}

// One list of numbers into rows.
void lay_out(const Paste& paste, const Value& value, WordTable& table, std::size_t first_word) {
  std::size_t count = table.words.size() - first_word;
  const auto given = [](const std::optional<long>& n) {
    return n && *n > 0 ? static_cast<std::size_t>(*n) : 0;
  };
  std::size_t rows = given(value.rows);
  std::size_t cols = given(value.cols);
  if (rows == 0 && cols == 0) {
    // R: one column; elsewhere a vector is a row.
    rows = value.is_filled_by_columns ? count : 1;
    cols = value.is_filled_by_columns ? 1 : count;
  } else if (rows == 0) {
    rows = count / cols;
  } else if (cols == 0) {
    cols = count / rows;
  }
  if (count == 1 && rows > 0 && cols > 0 && rows <= static_cast<std::size_t>(kMostCells) &&
      cols <= static_cast<std::size_t>(kMostCells) / rows && value.is_filled_by_columns) {
    table.words.resize(first_word + rows * cols, table.words.back());
    count = rows * cols;
  }
  // No product: it could overflow.
  if (rows == 0 || cols == 0 || count % cols != 0 || count / cols != rows) {
    paste.faults.error(value.list,
                       say({"{0} numbers do not fill {1} rows of {2}", "{0} 个数排不成 {1} 行 {2} 列"}, count,
                           std::max<std::size_t>(rows, 1), std::max<std::size_t>(cols, 1)));
    return;
  }
  const std::vector<Word> flat(table.words.begin() + static_cast<long>(first_word), table.words.end());
  table.words.resize(first_word);
  table.rows.clear();
  RowBuilder out(table);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      out.cell(flat[value.is_filled_by_columns ? j * rows + i : i * cols + j]);
    }
    out.end_row();
  }
  if (value.is_filled_by_columns && rows > 1 && cols > 1) {
    paste.faults.note(value.list, say({"R's matrix() fills column by column, unless it says byrow = TRUE",
                                       "R 的 matrix() 按列填充，除非写明 byrow = TRUE"}));
  }
}

bool is_nested(std::string_view text, Span list) {
  const std::size_t inside = skip_blank(text, list.begin + fold_at(text, list.begin).length, list.end);
  return inside < list.end && is_open_bracket(fold_at(text, inside).value);
}

// Lists that do not fill what is declared: C puts zeros where none are written, and somebody forgot them.
void check_sizes(const Paste& paste, const Statement& statement, const WordTable& table) {
  if (statement.sizes.size() != 2) return;
  const auto rows = static_cast<std::size_t>(statement.sizes[0]);
  const auto cols = static_cast<std::size_t>(statement.sizes[1]);
  const bool is_filled = (rows == 0 || table.rows.size() == rows) &&
                         std::all_of(table.rows.begin(), table.rows.end(), [&](const RowText& row) {
                           return cols == 0 || row.is_broken || row.words() == cols;
                         });
  if (is_filled) return;
  paste.faults.error(statement.value.list,
                     say({"{0} rows of {1} are declared, and the lists do not fill them",
                          "声明的是 {0} 行 {1} 列，而列表没有填满"},
                         rows, cols),
                     say({"write every number, zeros too", "请写出每一个数，包括零"}));
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const std::string_view text = paste.text();
  Statement found = *statement(text, body);
  Value& value = found.value;
  const bool is_declared_flat = found.sizes.size() == 2 && !is_nested(text, value.list);
  if (is_declared_flat) {
    value.is_flat = true;
    value.rows = found.sizes[0];
    value.cols = found.sizes[1];
  }
  if (!value.parts.empty()) {
    for (const Span part : value.parts) read_bracketed_row(paste, nullptr, part, table);
    if (value.has_parts_in_columns) table.is_transposed = true;
  } else if (value.is_flat) {
    const std::size_t first_word = table.words.size();
    read_plain_rows(paste, value.list, table, !is_nested(text, value.list));
    lay_out(paste, value, table, first_word);
  } else {
    read_plain_rows(paste, value.list, table, !is_nested(text, value.list));
    check_sizes(paste, found, table);
  }
  // NumPy leaves a vector as it is.
  const bool is_matrix = is_nested(text, value.list) || value.rows || value.cols || !value.parts.empty();
  if (value.transpositions % 2 == 1 && is_matrix) table.is_transposed = !table.is_transposed;
  std::size_t rest = value.end;
  while (rest < body.end) {
    rest = skip_blank(text, rest, body.end);
    if (rest < body.end && fold_at(text, rest).value != ';' && fold_at(text, rest).value != ',') break;
    if (rest < body.end) ++rest;
  }
  if (rest < body.end) {
    const Span left{rest, trimmed(text, {rest, std::min(text.find('\n', rest), body.end)}).end};
    paste.faults.error(left, say({"'{0}' behind the matrix is not understood", "矩阵后面的“{0}”看不懂"},
                                 quotable(paste.written(left))));
  }
  return value.form;
}

}  // namespace

bool begins_matrix_call(std::string_view text, std::size_t at, std::size_t end) {
  const std::size_t name_end = end_of_name(text, at, end);
  return name_end < end && fold_at(text, name_end).value == '(' &&
         find_call(text.substr(at, name_end - at)) != nullptr;
}

const Form kCodeForm{recognises, read};

}  // namespace qkv

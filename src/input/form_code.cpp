// Matrices as code writes them, and as programs print them for code:
//
//   tensor([[1., 0.]], device='cuda:0', grad_fn=<MmBackward0>)      float K[2][3] = {{1.0f, 0}, …};
//   <tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 0.]], dtype=float32)>
//   matrix(c(1, 0, -2.5, 3), nrow = 2)                              np.array([1, 0, 0, 1]).reshape(2, 2)
//
// The numbers are the first argument that is a list.  Of the others some say where the numbers stand, as R's
// nrow and byrow, some change none of them, as device, and whatever else a call is given is refused: it might
// change the matrix.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "base/display_width.h"
#include "base/number.h"
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

// Behind a list they change no number and no place; "astype" and "to" only where they name no other type.
constexpr std::array<std::string_view, 12> kHarmless{"astype", "float",  "double", "half",   "cuda",
                                                     "cpu",    "detach", "numpy",  "tolist", "requires_grad_",
                                                     "to",     "clone"};

// The arguments whose value is the list.
constexpr std::array<std::string_view, 7> kListArguments{"numpy",  "value", "data",         "object",
                                                         "values", ".Data", "initial_value"};

// The arguments that change no number and no place of one; a print names the shape that it shows.
constexpr std::array<std::string_view, 27> kHarmlessArguments{"device",
                                                              "requires_grad",
                                                              "grad_fn",
                                                              "copy",
                                                              "subok",
                                                              "ndmin",
                                                              "order",
                                                              "like",
                                                              "name",
                                                              "names",
                                                              "place",
                                                              "class",
                                                              "weak_type",
                                                              "trainable",
                                                              "stop_gradient",
                                                              "layout",
                                                              "dimnames",
                                                              "size",
                                                              "deparse.level",
                                                              "shape",
                                                              "pin_memory",
                                                              "sharding",
                                                              "quantization_scheme",
                                                              "scale",
                                                              "zero_point",
                                                              "committed",
                                                              "lod"};

// What a call takes where no name is written, in this order.
constexpr std::array<std::string_view, 3> kOfLists{"data", "dtype", "shape"};
constexpr std::array<std::string_view, 5> kOfMatrixInR{"data", "nrow", "ncol", "byrow", "dimnames"};
constexpr std::array<std::string_view, 3> kOfArrayInR{"data", "dim", "dimnames"};
constexpr std::array<std::string_view, 3> kOfSizes{"nrow", "ncol", "data"};  // Matrix(2, 2, [1, 2, 3, 4])

// The numbers that a type can hold.
enum class Holds { all, whole, truth };
Holds held_by(std::string_view type) {
  while (!type.empty() && std::string_view("\"' <>=").find(type.front()) != std::string_view::npos)
    type.remove_prefix(1);
  type = type.substr(type.find_last_of(".:") + 1);  // npos + 1 is 0
  if (type.starts_with("bool") || type.starts_with("Bool") || type.starts_with('?')) return Holds::truth;
  // The last ones are NumPy's letters, and those of quantized types, which PyTorch prints as decimals.
  for (const std::string_view of_decimals :
       {"float", "Float", "double", "Double", "half", "bfloat", "single", "longdouble", "complex", "object",
        "None", "O", "f", "d", "e", "g", "q"}) {
    if (type.starts_with(of_decimals)) return Holds::all;
  }
  return Holds::whole;
}

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
  bool is_recycled = false;  // R begins again with the first number where more are needed
  std::size_t transpositions = 0;
  Holds holds = Holds::all;  // the type that it is brought to, and where that is said
  Span type{};
  std::optional<Span> lost = {};  // what else the call is given, and is not understood
  std::size_t end = 0;

  // Is it numbers as they are written, not laid out anew?
  bool is_as_written() const {
    return !rows && !cols && parts.empty() && transpositions == 0 && holds == Holds::all && !lost;
  }
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

  struct Argument {
    std::string_view name;  // empty where none is written
    Span whole;
    Span value;
  };

  std::optional<Value> called(std::string_view name, const Call& call, std::size_t open) {
    const std::size_t close = end_of_bracket(text_, open, end_);
    Value found;
    if (name == "c") {
      found.form = say(call.form);
      found.list = {open, close};
      found.is_flat = true;
      found.end = close;
      return found;
    }
    std::vector<Argument> given = arguments(open + fold_at(text_, open).length, close);
    if (name == "rbind" || name == "cbind") {
      if (!bind(given, found)) return std::nullopt;
      found.has_parts_in_columns = name == "cbind";
      found.list = {open, close};
      found.form = say(call.form);
    } else {
      const auto data = name_arguments(call, given);
      if (!data || !take_data(*data, found)) return std::nullopt;
      const bool may_be_of_r =
          found.is_flat && (call.name == "structure" || name == "matrix" || name == "array");
      if (may_be_of_r && !found.is_as_written() && !found.lost) found.lost = data->whole;
      for (const Argument& argument : given) take(argument, call, found);
      if (call.name == "structure" && !(found.rows && found.cols) && !found.lost) return std::nullopt;
      // "array(5)" is what NumPy prints.
      const bool is_of_r = may_be_of_r && (name != "array" || found.rows || text_[data->value.begin] == 'c');
      found.form = say(is_of_r ? kR : call.form);
      if (name.starts_with("tf.")) found.form = say(kTensorFlow);
      if (is_of_r) {
        found.is_filled_by_columns = !std::exchange(is_by_row_, false) && (name != "array" || found.rows);
        found.is_recycled = true;
      }
    }
    found.end = close;
    return found;
  }

  std::vector<Argument> arguments(std::size_t at, std::size_t close) const {
    std::vector<Argument> all;
    while (at < close) {
      const std::size_t end = end_of_argument(at, close);
      Argument argument{{}, trimmed_span({at, end}), {}};
      argument.value = argument.whole;
      at = end + 1;
      if (argument.whole.begin == argument.whole.end) continue;       // "[1, 2], )"
      const bool is_dim_of_old = text_[argument.whole.begin] == '.';  // ".Dim", before R 4.0
      const std::size_t name_end =
          end_of_name(text_, argument.whole.begin + (is_dim_of_old ? 1 : 0), argument.whole.end);
      const std::size_t equals = skip_blank(text_, name_end, argument.whole.end);
      if (name_end > argument.whole.begin && equals < argument.whole.end && is_at(equals, '=')) {
        argument.name = text_.substr(argument.whole.begin, name_end - argument.whole.begin);
        argument.value = trimmed_span({equals + 1, argument.whole.end});
      }
      all.push_back(argument);
    }
    return all;
  }

  // Gives every argument its name, and takes out the one that holds the numbers; nullopt where none does.
  std::optional<Argument> name_arguments(const Call& call, std::vector<Argument>& given) {
    const auto text_of = [&](const Argument& a) {
      return text_.substr(a.value.begin, a.value.end - a.value.begin);
    };
    const bool has_sizes_first =
        call.name == "Matrix" && given.size() == 3 && whole(text_of(given[0])) && whole(text_of(given[1]));
    const bool is_list = !given.empty() && is_at(given[0].value.begin, '[');
    std::span<const std::string_view> order = kOfLists;
    if (has_sizes_first) order = kOfSizes;
    if (call.name == "matrix" && !is_list) order = kOfMatrixInR;
    if (call.name == "array" && !is_list) order = kOfArrayInR;
    for (Argument& argument : given) {
      if (is_one_of(argument.name, kListArguments)) argument.name = "data";
      if (call.name == "matrix" && !argument.name.empty()) argument.name = completed(argument.name);
    }
    for (const std::string_view name : order) {
      const bool is_given =
          std::any_of(given.begin(), given.end(), [&](const Argument& a) { return a.name == name; });
      const auto next =
          std::find_if(given.begin(), given.end(), [](const Argument& a) { return a.name.empty(); });
      if (!is_given && next != given.end()) next->name = name;
    }
    const auto data =
        std::find_if(given.begin(), given.end(), [](const Argument& a) { return a.name == "data"; });
    if (data == given.end()) return std::nullopt;
    const Argument found = *data;
    given.erase(data);
    return found;
  }

  // R takes the beginning of a name for the name: "nc" for ncol.
  static std::string_view completed(std::string_view name) {
    std::string_view found;
    for (const std::string_view full : kOfMatrixInR) {
      if (!full.starts_with(name)) continue;
      if (!found.empty()) return name;
      found = full;
    }
    return found.empty() ? name : found;
  }

  bool take_data(const Argument& data, Value& found) {
    if (auto list = value(data.value.begin)) {
      const Span rest = trimmed_span({std::min(list->end, data.value.end), data.value.end});
      found = std::move(*list);
      if (rest.begin < rest.end) found.lost = rest;  // "[1, 2] * 2"
      return true;
    }
    // One number, in every place.
    const std::string_view written = text_.substr(data.value.begin, data.value.end - data.value.begin);
    NumberError ignored;
    const auto number = parse_number(folded(written), ignored);
    if (!whole(written) && (!number || number->kind == Number::Kind::symbol)) return false;
    found.list = data.value;
    found.is_flat = found.is_recycled = true;
    return true;
  }

  void take(const Argument& argument, const Call& call, Value& found) {
    const std::string_view written =
        text_.substr(argument.value.begin, argument.value.end - argument.value.begin);
    const std::string_view name = argument.name;
    bool is_understood = true;
    const bool has_shape = name == "dim" || name == ".Dim" || (name == "shape" && call.name == "constant");
    if (name == "nrow" || name == "ncol") {
      const auto size = whole(written);
      is_understood = size && *size > 0;
      (name == "nrow" ? found.rows : found.cols) = size;
      if (call.name == "Matrix") found.is_flat = true;
    } else if (has_shape) {
      is_understood = found.is_as_written() && dimensions(argument.value, found);
      if (found.rows) found.is_flat = true;
    } else if (name == "byrow") {
      is_by_row_ = written == "TRUE" || written == "T";
      is_understood = is_by_row_ || written == "FALSE" || written == "F";
    } else if (name == "dtype") {
      is_understood = !written.empty() && !is_open_bracket(fold_at(written, 0).value);  // "([1, 2], [3, 4])"
      found.holds = std::max(found.holds, held_by(written));
      found.type = argument.whole;
    } else {
      is_understood = is_one_of(name, kHarmlessArguments);
    }
    if (!is_understood && !found.lost) found.lost = argument.whole;
  }

  // The rows of rbind or the columns of cbind; false where one is no list.
  bool bind(const std::vector<Argument>& given, Value& found) {
    for (const Argument& argument : given) {
      if (argument.name == "deparse.level") continue;
      const auto part = value(argument.value.begin);
      if (!part) return false;
      const bool is_whole = skip_blank(text_, part->end, argument.value.end) >= argument.value.end;
      if ((!part->is_as_written() || !is_whole) && !found.lost) found.lost = argument.whole;
      found.parts.push_back(part->list);
    }
    return !found.parts.empty();
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

  // "c(2L, 3L)", "(2, 3)" and "2:3"; of a vector, which has one, nothing.
  bool dimensions(Span span, Value& call) const {
    const std::size_t open = text_.substr(0, span.end).find_first_of("([", span.begin);
    if (open == std::string_view::npos) {
      const auto range = range_at(text_, span.begin, span.end);
      if (!range || range->count() != 2 || range->end != span.end)
        return whole(trimmed_text(span)).has_value();
      call.rows = range->first;
      call.cols = range->first + range->step;
      return *call.rows > 0;
    }
    std::vector<long> sizes;
    for (const Argument& size : arguments(open + 1, span.end)) {
      const auto n = whole(trimmed_text(size.whole));
      if (!n || *n <= 0) return false;
      sizes.push_back(*n);
    }
    if (sizes.size() == 2) {
      call.rows = sizes[0];
      call.cols = sizes[1];
    }
    return sizes.size() == 1 || sizes.size() == 2;
  }

  // Line breaks too.
  Span trimmed_span(Span span) const {
    span.begin = std::min(skip_blank(text_, span.begin, span.end), span.end);
    while (span.end > span.begin &&
           std::string_view(" \t\r\n").find(text_[span.end - 1]) != std::string_view::npos)
      --span.end;
    return span;
  }

  std::string_view trimmed_text(Span span) const {
    span = trimmed_span(span);
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
        std::vector<Argument> given = arguments(name_end + 1, close);
        if (given.size() == 1 && is_open_bracket(fold_at(text_, given[0].value.begin).value))
          given = arguments(given[0].value.begin + 1, given[0].value.end);  // "reshape((2, 3))"
        std::vector<long> sizes;
        for (const Argument& argument : given) {
          if (const auto n = whole(trimmed_text(argument.whole))) {
            sizes.push_back(*n);
          } else if (argument.name != "order" ||
                     trimmed_text(argument.value).find('C') == std::string_view::npos) {
            found.lost = found.lost.value_or(argument.whole);
          }
        }
        if (found.rows || found.transpositions > 0) return;
        if (!found.lost && (sizes.size() != 2 || std::max(sizes[0], sizes[1]) <= 0)) return;
        if (sizes.size() == 2 && sizes[0] > 0) found.rows = sizes[0];
        if (sizes.size() == 2 && sizes[1] > 0) found.cols = sizes[1];
        found.is_flat = true;
        found.is_recycled = false;
      } else if (!is_call || !is_one_of(name, kHarmless)) {
        return;
      } else if (name == "astype" || name == "to") {
        // "to('cuda')" names a place, and "to(torch.int)" a type.
        for (const Argument& argument : arguments(name_end + 1, close)) {
          const std::string_view type = trimmed_text(argument.value);
          const bool is_type = name == "astype" || type.find("int") != std::string_view::npos ||
                               type.find("long") != std::string_view::npos || held_by(type) == Holds::truth;
          if (!is_type || held_by(type) == Holds::all || (!argument.name.empty() && argument.name != "dtype"))
            continue;
          found.holds = std::max(found.holds, held_by(type));
          found.type = {name_begin, close};
        }
      }
      found.end = close;
    }
  }

  std::string_view text_;
  std::size_t end_;
  int depth_ = 0;
  bool is_by_row_ = false;
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
  const bool is_code = !value->form.empty() || (declared && declared->has_type) || value->is_flat ||
                       value->lost || value->holds != Holds::all;
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
  const bool is_small = rows > 0 && cols > 0 && rows <= static_cast<std::size_t>(kMostCells) &&
                        cols <= static_cast<std::size_t>(kMostCells) / rows;
  if (value.is_recycled && is_small && rows * cols > count && (rows * cols) % count == 0) {
    for (std::size_t i = 0; table.words.size() - first_word < rows * cols; ++i)
      table.words.push_back(Word(table.words[first_word + i]));
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
    table.rows.back().first_word = FirstWord::cell;
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

// A type of whole numbers cuts off decimals, and one of truth makes every number 0 or 1.
void check_type(const Paste& paste, const Value& value, const WordTable& table) {
  for (const Word& word : table.words) {
    NumberError ignored;
    const auto number =
        word.is_missing ? std::nullopt : parse_number(folded(paste.written(word.span)), ignored);
    if (!number || number->kind == Number::Kind::symbol) continue;  // said later, or True
    const double n = number->value;
    const bool is_kept = number->kind == Number::Kind::finite &&
                         (value.holds == Holds::whole ? n == std::floor(n) : n == 0 || n == 1);
    if (is_kept) continue;
    paste.faults.error(
        value.type,
        say({"'{0}' changes the number {1}", "“{0}”会改变 {1} 这个数"}, quotable(paste.written(value.type)),
            quotable(paste.written(word.span))),
        say({"write the numbers that come of it, or leave it out", "请写出转换后的数，或去掉它"}));
    return;
  }
}

Said read(const Paste& paste, Span body, WordTable& table) {
  const std::string_view text = paste.text();
  Statement found = *statement(text, body);
  Value& value = found.value;
  if (value.lost) {
    paste.faults.error(
        *value.lost,
        say({"'{0}' is not understood, and may change the matrix", "看不懂“{0}”，而它可能改变矩阵"},
            quotable(paste.written(*value.lost))),
        say({"paste the value as it is printed", "请粘贴它打印出来的值"}));
    return {};
  }
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
  if (value.holds != Holds::all) check_type(paste, value, table);
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

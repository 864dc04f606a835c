// qkv convert IN: a matrix, several or a problem, from one form into another.

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include "base/decimal.h"
#include "check/shown_steps.h"
#include "cli/shared.h"
#include "input/fold.h"
#include "input/numbers.h"
#include "input/source.h"
#include "problem/matrices.h"
#include "render/matrix_file.h"
#include "render/matrix_form.h"
#include "render/npy.h"

namespace qkv {
namespace {

constexpr std::string_view kPlain = "plain";

struct ConvertOptions : SharedOptions {
  std::string in;
  std::string to;
};

// What was read, ready to be written.
struct Content {
  Together together = Together::one;
  std::vector<NamedMatrix> matrices;
  SourcePtr source;
  std::vector<Setting> settings;
};

// --to, or the ending of -o; null, with an error, for what no form is.
const MatrixForm* form_of(const ConvertOptions& options, Diagnostics& diagnostics) {
  const auto forms = matrix_forms();
  if (!options.to.empty()) {
    const auto form = row_named(forms, "--to", options.to, diagnostics);
    return form == forms.end() ? nullptr : &*form;
  }
  const std::string extension = ending_of(options.output);
  for (const MatrixForm& form : forms) {
    if (extension == form.extension && !extension.empty()) return &form;
  }
  if (extension.empty() || extension == ".qkv" || extension == ".dat") return &forms.front();
  diagnostics.error(
      options.output, say({"'{0}' is the ending of no form", "“{0}”不是任何格式的扩展名"}, extension),
      say({"say which with --to; the forms are: {0}", "请用 --to 指明；可写的格式：{0}"}, names_of(forms)));
  return nullptr;
}

// Every digit of a saved float, in the fewest that read back as the same number.
Number number_of(double value) {
  NumberError ignored;
  const auto number = parse_number(shortest_text(value), ignored);
  return number.value_or(Number{});
}

NamedMatrix matrix_of(NamedText&& read, bool is_array) {
  NamedMatrix matrix{std::move(read.name), read.text.rows, read.text.cols, std::move(read.text.cells),
                     std::move(read.text.row_labels)};
  if (!is_array) return matrix;
  for (Number& number : matrix.cells) {
    const bool has_point = number.text.find('.') != std::string::npos;
    if (number.kind == Number::Kind::finite && has_point) number = number_of(number.value);
  }
  return matrix;
}

// A step of a trace: of JSON the values with all their digits, of text what is shown.
std::optional<NamedMatrix> matrix_of(const ShownStep& step, TraceForm form) {
  NamedMatrix matrix{
      step.id, static_cast<Index>(step.cells.size()), static_cast<Index>(step.cells.front().size()), {}, {}};
  for (const std::vector<ShownNumber>& row : step.cells) {
    for (const ShownNumber& shown : row) {
      if (form == TraceForm::json && std::isfinite(shown.value)) {
        matrix.cells.push_back(number_of(shown.value));
        continue;
      }
      NumberError ignored;
      const auto number = parse_number(folded(shown.text), ignored);
      if (!number) return std::nullopt;
      matrix.cells.push_back(*number);
    }
  }
  bool has_labels = false;
  for (std::size_t i = 0; i < step.rows.size(); ++i)
    has_labels = has_labels || step.rows[i] != std::to_string(i + 1);
  if (has_labels) matrix.row_labels = step.rows;
  return matrix;
}

Content content_of_trace(const SourcePtr& source, TraceForm form, Diagnostics& diagnostics) {
  Content content{Together::named, {}, source, {}};
  const auto steps = read_steps(source, diagnostics);
  if (!steps) return content;
  for (const ShownStep& step : *steps) {
    if (auto matrix = matrix_of(step, form)) {
      content.matrices.push_back(std::move(*matrix));
    } else {
      diagnostics.warning(
          source->name,
          say({"{0} holds sums of symbols, and is left out", "{0} 中是符号的和，略去"}, step.id));
    }
  }
  return content;
}

Content content_of(const SourcePtr& source, Diagnostics& diagnostics) {
  if (const TraceForm form = trace_form(*source); form != TraceForm::none)
    return content_of_trace(source, form, diagnostics);
  MatrixFile file = read_matrix_file(source, diagnostics);
  Content content{file.together, {}, source, std::move(file.settings)};
  for (NamedText& matrix : file.matrices)
    content.matrices.push_back(matrix_of(std::move(matrix), source->digits > 0));
  return content;
}

// "K, V: " before what is said of these matrices; nothing of one without a name.
std::string said_of(const std::string& names) { return names.empty() ? "" : names + ": "; }

// What this form cannot hold: an error, or a warning where something is lost.
void check_fit(const Content& content, const MatrixForm& form, const std::string& file,
               Diagnostics& diagnostics) {
  if (content.matrices.size() > 1) {
    if (const Said refused = refuses_several(form); !refused.empty())
      diagnostics.error(file, refused, say({"there are {0} here", "这里有 {0} 个"}, content.matrices.size()));
  }
  std::vector<std::pair<Said, std::string>> losses;  // each once, with the names
  const NamedMatrix* renamed = nullptr;
  for (const NamedMatrix& matrix : content.matrices) {
    const FormFit fit = fit_of(form, matrix);
    if (!fit.refused.empty()) {
      diagnostics.error(file, say({"{0}{1}", "{0}{1}"}, said_of(matrix.name), fit.refused),
                        say({"plain, json, latex, md, csv and tsv can hold it",
                             "plain、json、latex、md、csv 和 tsv 写得下"}));
    }
    for (const Said& lost : fit.loses) {
      const auto same =
          std::find_if(losses.begin(), losses.end(), [&](const auto& loss) { return loss.first == lost; });
      if (same == losses.end()) {
        losses.emplace_back(lost, matrix.name);
      } else {
        same->second += ", " + matrix.name;
      }
    }
    // Python and Octave have no "." either, but there "_" stands for it when it is read again.
    const bool is_renamed = content.together == Together::named &&
                            matrix.name.find('.') != std::string::npos &&
                            name_in(form, matrix.name).find_first_of("._") == std::string::npos;
    if (is_renamed && renamed == nullptr) renamed = &matrix;
  }
  for (const auto& [loss, names] : losses)
    diagnostics.warning(file, say({"{0}{1}", "{0}{1}"}, said_of(names), loss));
  if (renamed != nullptr) {
    diagnostics.warning(file, say({"{0} has no '.' in a name: {1} becomes {2}, and others likewise",
                                   "{0} 的名称里没有“.”：{1} 写成 {2}，其他类似"},
                                  form.name, renamed->name, name_in(form, renamed->name)));
  }
  if (content.settings.empty() || form.name == kPlain) return;
  std::string keys;
  for (const Setting& setting : content.settings) keys += (keys.empty() ? "" : ", ") + setting.key;
  diagnostics.warning(
      file, say({"settings are left out, which only plain keeps: {0}", "略去设置，只有 plain 保留它们：{0}"},
                keys));
}

std::string text_of(const Content& content, const MatrixForm& form) {
  const bool holds_one = !refuses_several(form).empty();
  if (content.together == Together::one || holds_one) return form.write(content.matrices.front());
  std::string text;
  if (form.name == kPlain) {
    for (const Setting& setting : content.settings) {
      const Span value = setting.whole_value;
      text += setting.key + " = " + content.source->text.substr(value.begin, value.end - value.begin) + "\n";
    }
    if (!text.empty()) text += "\n";
  }
  return text + write_several(form, content.matrices,
                              content.together == Together::stack ? Several::stack : Several::named);
}

// Plain numbers to an array, or back: nothing of them is kept but the numbers, so that there may be many more
// than the general way could hold.  False for anything else.
bool convert_numbers(const ConvertOptions& options, const MatrixForm& form, Diagnostics& diagnostics) {
  const bool is_array = form.extension == std::string_view(".npy");
  if (is_array ? std::endian::native != std::endian::little : form.name != kPlain) return false;
  const NumbersPtr numbers = read_numbers(options.in, threads_of(options));
  if (!numbers || (!is_array && !numbers->are_doubles)) return false;
  const auto count = static_cast<std::size_t>(numbers->rows * numbers->cols);
  const auto write_array = [&](const WritePiece& write) {
    write(npy_header({numbers->rows, numbers->cols}));
    write({reinterpret_cast<const char*>(numbers->values.get()), count * sizeof(double)});
  };
  const auto write_rows = [&](const WritePiece& write) {
    constexpr std::size_t kPiece = 1 << 16;  // bytes
    std::string rows;
    for (Index i = 0; i < numbers->rows; ++i) {
      for (Index j = 0; j < numbers->cols; ++j)
        rows += (j == 0 ? "" : " ") + without_negative_zero(shortest_text(numbers->at(i, j)));
      rows += '\n';
      if (rows.size() < kPiece && i + 1 < numbers->rows) continue;
      write(rows);
      rows.clear();
    }
  };
  const auto write_all = [&](const WritePiece& write) { is_array ? write_array(write) : write_rows(write); };
  write_output(options.output, write_all, {options.in}, diagnostics);
  return true;
}

int run_convert(const ConvertOptions& options) {
  Diagnostics diagnostics;
  const auto presentation = presentation_of(options, diagnostics);
  const MatrixForm* form = form_of(options, diagnostics);
  if (presentation && form != nullptr && convert_numbers(options, *form, diagnostics))
    return finish(options, diagnostics);
  const SourcePtr source = presentation && form != nullptr ? read_source(options.in, diagnostics) : nullptr;
  if (!source) return finish(options, diagnostics);
  const Content content = content_of(source, diagnostics);
  if (!diagnostics.has_errors() && content.matrices.empty())
    diagnostics.error(options.in, say({"there is no matrix in this file", "文件里没有矩阵"}));
  if (!diagnostics.has_errors()) check_fit(content, *form, options.in, diagnostics);
  if (!diagnostics.has_errors())
    write_output(options.output, text_of(content, *form), {options.in}, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace

Command setup_convert(const OptionTaker& app, Language language) {
  const OptionTaker command = add_command(app, "convert",
                                          Text{"a matrix, several or a problem, from one form into another",
                                               "把矩阵、多个矩阵或题目从一种格式转成另一种"}
                                              .in(language));
  const auto options = std::make_shared<ConvertOptions>();
  options->has_own_forms = true;
  add_option(command, "IN", options->in,
             Text{"what qkv reads: a problem or sheet, a trace, or a matrix as NumPy, PyTorch, R, MATLAB, "
                  "LaTeX, Markdown … print it, also several with names, or a stack; - is standard input",
                  "qkv 能读的任何内容：题目、答卷、轨迹，或 NumPy、PyTorch、R、MATLAB、LaTeX、Markdown "
                  "等写法的矩阵，也可以是多个有名称的矩阵或叠在一起的矩阵；- 表示标准输入"}
                 .in(language))
      .type("")
      .required();
  add_option(command, "--to", options->to,
             Text{"the form to write; guessed from -o name.json, else plain rows",
                  "写成哪种格式；可由 -o 的扩展名推断，否则为普通的行"}
                 .in(language))
      .one_of(matrix_forms());
  add_output_options(command, *options, language);
  return {command.app, [options] { return run_convert(*options); }};
}

}  // namespace qkv

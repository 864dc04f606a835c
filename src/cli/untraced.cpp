#include "cli/untraced.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bounded.h"
#include "base/counted.h"
#include "base/decimal.h"
#include "base/fixed.h"
#include "base/threads.h"
#include "calc/sizes.h"
#include "cli/array.h"
#include "cli/worked.h"
#include "input/not_plain.h"
#include "input/source.h"
#include "input/words.h"
#include "methods/exact_numbers.h"
#include "methods/methods.h"
#include "methods/untraced.h"
#include "ops/rows.h"

namespace qkv {
namespace {

struct IsaName {
  const char* name;
  fast::Isa isa;
};
constexpr std::array<IsaName, 3> kIsas{
    {{"baseline", fast::Isa::baseline}, {"avx2", fast::Isa::avx2}, {"avx512", fast::Isa::avx512}}};

// In multiply-adds: below it a trace takes no longer than its start, and a second thread costs more than it
// brings.
constexpr double kWorthwhile = 5e4;
constexpr double kWorthThreads = 2e7;
// What a trace computes on intervals; its doubles are then the nearest to the true numbers.
constexpr double kTracedOnIntervals = 1.5e6;
constexpr std::uintmax_t kSmallInputs = 2048;  // bytes, of which no such work can come

bool asks_for_result(const SharedOptions& o, const Presentation& p) {
  return o.only_output || p.detail == Detail::summary;
}

// The option that asks for more than a table of the result; empty when none does.
std::string option_beyond_result(const SharedOptions& o, const Presentation& p) {
  const bool are_floats =
      p.arithmetic != nullptr && o.is_fast && std::string_view(p.arithmetic->name) == "fp32";
  constexpr std::array kForms{Format::text, Format::md, Format::latex, Format::csv, Format::npy};
  if (!o.steps.empty()) return "--steps";
  if (!o.row.empty() && p.format == Format::npy) return "--row";
  if (!o.head.empty()) return "--head";
  if (o.exact) return "--exact";
  if (o.checks) return "--checks";
  if (o.prove) return "--prove";
  if (p.heat) return "--heat";
  if (o.plain_doubles) return "--plain-doubles";
  if (p.arithmetic != nullptr && !are_floats) return fmt::format("--arithmetic {}", p.arithmetic->name);
  if (std::find(kForms.begin(), kForms.end(), p.format) != kForms.end()) return "";
  return fmt::format("--format {}", name_of(p.format));
}

// The matrices that the way without a trace knows as numbers alone.
bool is_plain(std::string_view section) {
  constexpr std::array<std::string_view, 14> kPlain{"Q",     "K",   "V",   "X",   "X_kv", "W_Q", "W_K",
                                                    "W_QKV", "W_V", "W_O", "b_Q", "b_K",  "b_V", "b_O"};
  return std::find(kPlain.begin(), kPlain.end(), section) != kPlain.end();
}

// Matrices as plain numbers where they are that, else as a trace reads them.  nullopt for what can be read
// only once, and for faults; an error for those that a trace would not find.
//   told  what is to be said if the problem is computed from this input
std::optional<ProblemInput> read_input(const SharedOptions& options, int threads, Diagnostics& told,
                                       Diagnostics& diagnostics) {
  Diagnostics ignored;  // a trace finds the same
  ProblemInput input;
  input.asks_for_result_alone = true;
  SourcePtr standard_input;  // for whichever way the problem is computed in the end
  const auto source_of = [&](const std::string& file) {
    if (file != "-") return read_source(file, ignored);
    return standard_input = read_source(file, diagnostics);
  };
  if (!options.file.empty()) input.file = source_of(options.file);
  std::vector<std::string> files;  // "-" is no file of numbers
  for (const auto& [section, file] : options.matrix_files) {
    files.push_back(is_plain(section) ? file : "-");
  }
  std::vector<NumbersPtr> all = read_numbers(files, threads);
  auto numbers = all.begin();
  std::set<std::string> faulty;  // one file can be K and V
  for (const auto& [section, file] : options.matrix_files) {
    if (NumbersPtr& plain = *numbers++) {
      input.numbers.emplace_back(section, std::move(plain));
    } else {
      if (is_plain(section) && file != "-" && faulty.insert(file).second)
        tell_why_not_plain(file, diagnostics);
      if (diagnostics.has_errors()) continue;
      input.matrices.emplace_back(section, source_of(file));
    }
  }
  give_back(standard_input);
  if (ignored.has_errors() || diagnostics.has_errors()) return std::nullopt;
  for (const auto& setting : options.settings) input.settings.push_back(setting);
  add_checkpoint(options, input, told);
  if (told.has_errors()) return std::nullopt;
  return input;
}

// Whose length is not known before it is read.
bool reads_standard_input(const SharedOptions& options) {
  return options.file == "-" || std::any_of(options.matrix_files.begin(), options.matrix_files.end(),
                                            [](const auto& matrix) { return matrix.second == "-"; });
}

// Whether, by the lengths of their files, there may be too many pairs of queries and keys for a trace.
bool may_be_too_large(const SharedOptions& options) {
  if (input_bytes(options) <= kSmallInputs) return false;
  // Of the first of them that is given.
  const auto rows_of = [&](std::initializer_list<const char*> sections) {
    for (const char* section : sections) {
      const auto file = options.matrix_files.find(section);
      if (file != options.matrix_files.end()) return static_cast<double>(most_rows(file->second));
    }
    return 0.0;
  };
  return rows_of({"Q", "X"}) * rows_of({"K", "X_kv", "X"}) > static_cast<double>(kMostCells);
}

// What this process may have: of the machine, or as ulimit -v says.
double memory_bytes() {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
  return bytes;
}

// Numbers that were read into place have no text to point at.
Diagnostic without_empty_source(Diagnostic d) {
  if (!d.source || !d.source->text.empty()) return d;
  d.source = nullptr;
  d.span.reset();
  return d;
}

// Places of numbers whose digits the doubles of a result leave open.
struct OpenRow {
  Index row, part;             // as in Untraced::bounds
  std::vector<Index> columns;  // of the part
};

// The texts of those numbers, row by row in their order.
class OpenTexts {
 public:
  OpenTexts(const Problem& problem, const Untraced& result, const std::vector<OpenRow>& rows)
      : problem_(problem), result_(result), rows_(rows), progress_(static_cast<long long>(rows.size())) {}

  // Of rows[nth], in the order of its columns.
  std::vector<std::string> texts(std::size_t nth) {
    const OpenRow& open = rows_[nth];
    if (!exact_) exact_.emplace(problem_);
    if (nth >= end_) compute_from(nth);
    const std::optional<UntracedRow>& again = computed_[nth - begin_];
    std::vector<std::string> texts;
    for (const Index column : open.columns) {
      std::optional<std::string> text = exact_text(open, column);
      if (!text && again) {
        const DoubleDouble& number = again->values[static_cast<std::size_t>(column)];
        text = fixed_text(number, again->bound, problem_.decimals);
      }
      texts.push_back(text ? *text : careful_text(open.row, open.part, column));
    }
    return texts;
  }

  // How many stayed open, because their inputs have more digits than their doubles tell.
  std::size_t unproved() const { return unproved_; }

 private:
  std::optional<std::string> exact_text(const OpenRow& open, Index column) const {
    const Index width = result_.values->cols() / result_.bounds.cols();
    return exact_->text(open.row, open.part * width + column, problem_.decimals);
  }

  bool are_exact(const OpenRow& open) const {
    return std::all_of(open.columns.begin(), open.columns.end(),
                       [&](Index column) { return exact_text(open, column).has_value(); });
  }

  // In double-doubles, by all threads, some rows ahead.
  void compute_from(std::size_t nth) {
    constexpr std::size_t kRowsEach = 32;
    const auto all = static_cast<std::size_t>(threads());
    begin_ = nth;
    end_ = std::min(rows_.size(), nth + kRowsEach * all);
    computed_.assign(end_ - begin_, std::nullopt);
    std::vector<std::size_t> inexact;
    for (std::size_t at = begin_; at < end_; ++at) {
      if (!are_exact(rows_[at])) inexact.push_back(at);
    }
    if (!inexact.empty() && !again_) again_.emplace(problem_);
    share(static_cast<std::ptrdiff_t>(inexact.size()), all, [&](std::ptrdiff_t i, std::size_t) {
      const std::size_t at = inexact[static_cast<std::size_t>(i)];
      computed_[at - begin_] = again_->row(rows_[at].row, rows_[at].part);
      progress_.step();
    });
  }

  std::string careful_text(Index row, Index part, Index column) {
    const Index width = result_.values->cols() / result_.bounds.cols();
    const Bounded number{(*result_.values)(row, part * width + column), result_.bounds(row, part)};
    if (decides(number, problem_.decimals)) return fixed_text(number.value, problem_.decimals);
    if (!are_known_) {
      ++unproved_;
      return fixed_text(number.value, problem_.decimals);
    }
    if (row != row_) {
      row_ = row;
      query_ = run(plan_of(problem_of_query(problem_, row)), {});
    }
    return query_.text(query_.plan().last_step(), 0, part * width + column, problem_.decimals);
  }

  const Problem& problem_;
  const Untraced& result_;
  const std::vector<OpenRow>& rows_;
  Progress progress_;
  const bool are_known_ = are_numbers_known(problem_);
  std::optional<ExactNumbers> exact_;
  std::optional<UntracedRows> again_;
  std::vector<std::optional<UntracedRow>> computed_;  // rows begin_ to end_
  std::size_t begin_ = 0, end_ = 0;
  Index row_ = -1;
  Trace query_;  // of that row
  std::size_t unproved_ = 0;
};

// The result as a table.  Digits are proved, unless they are those of floats.
//   row  the only one that is shown; nullopt: all
NumberTable table_of(const Problem& problem, const Untraced& result, bool are_floats,
                     std::optional<Index> row, Diagnostics& diagnostics) {
  const Matrix& values = *result.values;
  const Index parts = result.bounds.cols();
  const Index width = values.cols() / parts;
  NumberTable table;
  table.values = result.values;
  table.columns = static_cast<std::size_t>(values.cols());
  table.decimals = FixedDecimals(problem.decimals);
  table.first.push_back(0);
  const Index begin = row.value_or(0);
  const Index rows = row ? 1 : values.rows();
  std::vector<std::vector<Index>> columns(static_cast<std::size_t>(rows * parts));
  share_rows(rows, values.cols(), [&](Index from, Index to) {
    for (Index i = begin + from; i < begin + to; ++i) {
      for (Index part = 0; part < parts; ++part) {
        const RowBound bound{are_floats ? 0 : result.bounds(i, part), 0};
        table.decimals.find_open(&values(i, part * width), static_cast<std::size_t>(width), bound,
                                 columns[static_cast<std::size_t>((i - begin) * parts + part)]);
      }
    }
  });
  std::vector<OpenRow> open;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const auto place = static_cast<Index>(at);
    if (!columns[at].empty()) open.push_back({begin + place / parts, place % parts, std::move(columns[at])});
  }
  OpenTexts texts(problem, result, open);
  std::size_t nth = 0;
  for (Index i = begin; i < begin + rows; ++i) {
    table.rows.push_back(i);
    for (; nth < open.size() && open[nth].row == i; ++nth) {
      std::vector<std::string> own;
      if (!are_floats) own = texts.texts(nth);
      for (std::size_t at = 0; at < open[nth].columns.size(); ++at) {
        const Index j = open[nth].part * width + open[nth].columns[at];
        std::string text = are_floats ? fixed_text(values(i, j), problem.decimals) : std::move(own[at]);
        table.others.push_back(
            {static_cast<std::size_t>(i - begin), static_cast<std::size_t>(j), {std::move(text)}});
      }
    }
    table.first.push_back(table.others.size());
  }
  if (texts.unproved() > 0) {
    diagnostics.warning(
        "",
        say({"{0} could not be proved: the inputs have more than 15 digits, and were taken as the nearest "
             "doubles",
             "有 {0} 个数的末位未能证明：输入超过 15 位数字，按最近的双精度数计算"},
            counted(static_cast<Index>(texts.unproved()), "number")));
  }
  return table;
}

// The last step of a trace.
struct Result {
  const char* id;
  const Op& op;
};
Result result_of(const Problem& problem) {
  if (problem.has("W_O")) return {"Y", problem.has("b_O") ? ops::project_output_biased : ops::project_output};
  return problem.heads > 1 ? Result{"concat", ops::concat} : Result{"output", ops::weighted_sum};
}

// How far the numbers can be from the true ones, and how they came about.
Said way_taken(bool is_fast, bool are_floats, Format format, const Untraced& result) {
  const std::string bound = fmt::format("{:.1e}", result.bounds.maxCoeff());
  if (are_floats) {
    return say({"The result alone was computed: in single precision, in tiles with fused multiply-adds. "
                "Every number is within {0} of the true one; the digits are not proved.",
                "只计算了结果：用单精度、分块并以融合乘加计算。每个数与真值相差不超过 {0}；数字未经证明。"},
               bound);
  }
  const Said how = is_fast ? say({"in tiles with fused multiply-adds", "分块并以融合乘加计算"})
                           : say({"in the order of the steps", "按各步的次序计算"});
  if (format == Format::npy) {
    return say(
        {"the result alone was computed: in double precision, {0}, every number within {1} of the true "
         "one",
         "只计算了结果：用双精度、{0}，每个数与真值相差不超过 {1}"},
        how, bound);
  }
  return say(
      {"The result alone was computed: in double precision, {0}, within {1} of the true numbers; digits that "
       "this leaves open are computed again, for their row alone, with more precision. All digits shown are "
       "proved.",
       "只计算了结果：用双精度、{0}，与真值相差不超过 {1}；由此定不下来的数字，单独对那一行用更高精度重算。"
       "印出的数字全部经过证明。"},
      how, bound);
}

// The problem, if it is to be computed without a trace.  Else nullopt: with errors it cannot be computed at
// all.   beyond: an option that asks for more than the result
std::optional<Problem> problem_for_result(const SharedOptions& options, const Presentation& presentation,
                                          const std::string& beyond, Diagnostics& diagnostics) {
  if (input_bytes(options) <= kSmallInputs && !reads_standard_input(options) && !options.is_fast)
    return std::nullopt;
  Diagnostics told;
  const auto input = read_input(options, threads_of(options), told, diagnostics);
  if (!input) return std::nullopt;
  auto problem = read_problem(*input, told);
  if (!problem) {
    for (const Diagnostic& d : told.list()) diagnostics.add(without_empty_source(d));
    return std::nullopt;
  }
  const double pairs =
      static_cast<double>(problem->tokens.size()) * static_cast<double>(problem->kv_tokens.size());
  const bool can_be_traced = pairs <= static_cast<double>(kMostCells);
  const bool is_known = can_be_untraced(*problem);
  if (!is_known || !asks_for_result(options, presentation) || !beyond.empty()) {
    const Said known =
        say({"without a table of scores qkv computes Q, K and V that are given or projected from X, with dot "
             "products, masks, ALiBi, soft cap, temperature, sink logits, grouped heads and W_O",
             "不列分数表能算的是：给定的或由 X 投影的 Q、K、V，点积，掩码，ALiBi，softcap，温度，sink "
             "logit，分组的头和 W_O"});
    if (!can_be_traced) {
      diagnostics.error(
          "",
          say({"{0} queries and {1} keys are too many to be computed step by step: {2} a table",
               "{0} 个查询和 {1} 个键太多，不能一步一步地算：一张表就要 {2}"},
              problem->tokens.size(), problem->kv_tokens.size(),
              binary_size(Integer(pairs * sizeof(double)))),
          !is_known ? known
          : beyond.empty()
              ? say({"--only-output computes the result without one", "--only-output 不列表，只算结果"})
              : say({"--only-output computes the result without one, but not with {0}",
                     "--only-output 不列表，只算结果，但不能同时用 {0}"},
                    beyond));
    } else if (options.is_fast && !is_known) {
      diagnostics.warning("",
                          say({"--fast has no effect: this problem is computed step by step",
                               "--fast 不起作用：这道题要一步一步地算"}),
                          known);
    }
    return std::nullopt;
  }
  if (can_be_traced && !options.is_fast) {
    if (!options.only_output) return std::nullopt;  // a trace has more to say of its last step
    const double least = presentation.format == Format::npy ? kTracedOnIntervals : kWorthwhile;
    if (untraced_work(*problem) < least) return std::nullopt;
  }
  if (const double bytes = untraced_bytes(*problem, threads_of(options)); bytes > memory_bytes()) {
    diagnostics.error("", say({"the result would take {0} of memory, and there is {1}",
                               "结果需要 {0} 内存，而这里只有 {1}"},
                              binary_size(Integer(bytes)), binary_size(Integer(memory_bytes()))));
    return std::nullopt;
  }
  for (const Diagnostic& d : told.list()) diagnostics.add(d);
  return problem;
}

}  // namespace

std::uintmax_t input_bytes(const SharedOptions& options) {
  std::uintmax_t bytes = 0;
  const auto add = [&](const std::string& file) {
    std::error_code fault;
    const std::uintmax_t size = std::filesystem::file_size(file, fault);
    if (!fault) bytes += size;
  };
  if (!options.file.empty()) add(options.file);
  for (const auto& [section, file] : options.matrix_files) add(file);
  return bytes;
}

std::optional<int> show_result_alone(const SharedOptions& options, const Presentation& presentation,
                                     Diagnostics& diagnostics) {
  const std::string beyond = option_beyond_result(options, presentation);
  const bool is_alone = asks_for_result(options, presentation) && beyond.empty();
  if (!is_alone && options.is_fast) {
    diagnostics.error("", say({"--fast computes the result alone", "--fast 只计算结果"}),
                      beyond.empty() ? say({"add --only-output", "请加上 --only-output"})
                                     : say({"leave out {0}", "请去掉 {0}"}, beyond));
    return finish(options, diagnostics);
  }
  if (!is_alone && !may_be_too_large(options)) return std::nullopt;
  fast::How how{.is_online = options.is_fast};
  if (!options.isa.empty()) {
    const auto named = row_named(kIsas, "--isa", options.isa, diagnostics);
    if (named == kIsas.end()) return finish(options, diagnostics);
    if (fast::is_available(named->isa)) how.isa = named->isa;
  }
  const auto problem = problem_for_result(options, presentation, beyond, diagnostics);
  if (!problem) return diagnostics.has_errors() ? std::optional(finish(options, diagnostics)) : std::nullopt;

  std::optional<Index> row;
  if (!options.row.empty()) {
    row = query_named(options.row, problem->tokens, problem->first_index, diagnostics);
    if (!row) return finish(options, diagnostics);
  }
  how.threads = untraced_work(*problem) < kWorthThreads ? 1 : threads_of(options);
  const bool are_floats = presentation.arithmetic != nullptr;
  const Untraced result = are_floats ? untraced_in_floats(*problem, how) : untraced(*problem, how);

  const Said way = way_taken(options.is_fast, are_floats, presentation.format, result);
  if (are_floats && !std::isfinite(result.bounds.maxCoeff())) {
    diagnostics.error(
        "", say({"numbers of this size overflow in single precision", "这么大的数在单精度里会溢出"}),
        say({"leave out --arithmetic fp32", "请去掉 --arithmetic fp32"}));
    return finish(options, diagnostics);
  }

  std::vector<std::string> inputs;
  if (!options.file.empty()) inputs.push_back(options.file);
  for (const auto& [section, file] : options.matrix_files) inputs.push_back(file);
  if (!options.weights.empty()) inputs.push_back(options.weights);
  const auto note_way = [&] { diagnostics.add({Severity::note, "", nullptr, std::nullopt, way, {}}); };
  if (presentation.format == Format::npy) {
    write_array(*result.values, result_of(*problem).id, options, inputs, diagnostics);
    note_way();
    return finish(options, diagnostics);
  }

  Table table;
  table.id = result_of(*problem).id;
  table.row_labels = problem->tokens;
  if (row) table.row_labels = {problem->tokens[static_cast<std::size_t>(*row)]};
  for (Index j = 0; j < result.values->cols() && result.values->cols() > 1; ++j)
    table.columns.push_back(std::to_string(j + 1));
  table.rows = table_of(*problem, result, are_floats, row, diagnostics);
  Report report;
  if (!options.only_output) {
    const Op& op = result_of(*problem).op;
    report.blocks = head_lines(about_of(*problem, diagnostics), presentation.language);
    report.blocks.emplace_back(Paragraph{way.in(presentation.language), Tone::faint});
    report.blocks.emplace_back(Heading{0, op.title.in(presentation.language), table.id});
    report.blocks.emplace_back(Paragraph{std::string(op.why.in(presentation.language)), Tone::plain});
  } else if (are_floats) {
    note_way();  // nothing else says so where there is no head
  }
  report.blocks.emplace_back(std::move(table));
  write_report(report, options, presentation, inputs, diagnostics);
  return finish(options, diagnostics);
}

}  // namespace qkv

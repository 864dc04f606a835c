// From a draft, in which everything stands for itself, to a problem that can be calculated.

#include "problem/read_problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "base/display_width.h"
#include "problem/draft.h"
#include "problem/gradient.h"
#include "problem/heads.h"
#include "problem/keys.h"
#include "problem/labels.h"
#include "problem/linear.h"
#include "problem/parts.h"
#include "problem/passes.h"
#include "problem/positions.h"
#include "problem/roles.h"
#include "problem/shapes.h"
#include "problem/steps.h"
#include "problem/visibility.h"

namespace qkv {
namespace {

constexpr std::size_t kMostDiagnostics = 100;  // of one run; more is no help to anybody

// Where the calculation may start at the latest for a setting still to act.
struct Reach {
  std::string_view key;
  Entry last;
};
constexpr std::array<Reach, 18> kReach{{{"layout", Entry::qkv},
                                        {"heads", Entry::qkv},
                                        {"kv_heads", Entry::qkv},
                                        {"rope", Entry::qkv},
                                        {"rope_base", Entry::qkv},
                                        {"rope_dims", Entry::qkv},
                                        {"positions", Entry::qkv},
                                        {"kv_positions", Entry::qkv},
                                        {"score", Entry::qkv},
                                        {"scale", Entry::scores},
                                        {"d_k", Entry::scores},
                                        {"softcap", Entry::scaled},
                                        {"alibi", Entry::scaled},
                                        {"mask", Entry::scaled},
                                        {"align", Entry::scaled},
                                        {"empty_row", Entry::masked},
                                        {"temperature", Entry::masked},
                                        {"sink_logit", Entry::masked}}};

// One layer, which is usually all there is.
class ProblemReader {
 public:
  ProblemReader(const ProblemInput& input, Draft draft, Diagnostics& diagnostics)
      : input_(input), diagnostics_(diagnostics), draft_(std::move(draft)) {}

  std::optional<Problem> read() {
    imply_causal(draft_);
    join_heads(draft_, diagnostics_);
    reject_other_parts(draft_, diagnostics_);
    roles_ = assign_roles(draft_, diagnostics_);
    fit_shapes(draft_, roles_, diagnostics_);
    shuffle_tokens(draft_, roles_, diagnostics_);
    problem_.file = draft_.file;
    problem_.entry = roles_.entry;
    copy_settings();
    settle_heads(draft_, roles_, problem_, diagnostics_);
    check_passes(draft_, roles_, diagnostics_);
    find_scale();
    if (roles_.queries && roles_.keys) {
      Labels labels = label_tokens(draft_, roles_, diagnostics_);
      problem_.tokens = std::move(labels.tokens);
      problem_.kv_tokens = std::move(labels.kv_tokens);
      Visibility seen = visibility(draft_, roles_, problem_.tokens, diagnostics_);
      problem_.align = seen.align;
      problem_.allowed = std::move(seen.allowed);
      problem_.mask = std::move(seen.mask);
      problem_.mask_rule = std::move(seen.rule);
      problem_.head_masks = std::move(seen.heads);
      problem_.seen_by_sinks = std::move(seen.by_sinks);
      problem_.mask_meaning = std::move(seen.meaning);
      settle_positions(draft_, roles_, problem_, diagnostics_);
    }
    settle_gradient(draft_, roles_, problem_, diagnostics_);
    check_linear(draft_, roles_, problem_, diagnostics_);
    check_weights();
    warn_of_settings_without_effect();
    if (diagnostics_.has_errors()) return std::nullopt;
    result_width_ = width_of_result(draft_, roles_);
    complete_matrices();
    list_settings();
    return std::move(problem_);
  }

  // The columns of the last line, once read; nullopt for symbols.
  std::optional<Index> result_width() const { return result_width_; }

 private:
  const Settings& settings() const { return draft_.settings; }

  void error(const Place& place, Said message, Said hint = {}) {
    report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
  }
  void warn(const Place& place, Said message, Said hint = {}) {
    report(Severity::warning, place, std::move(message), std::move(hint), diagnostics_);
  }

  // ---- settings ----

  void copy_settings() {
    const Settings& s = settings();
    problem_.title = s.title;
    problem_.source = s.source;
    problem_.same_as = s.same_as;
    problem_.first_index = s.first_index;
    problem_.layout = s.layout;
    problem_.score = s.score;
    problem_.temperature = s.temperature;
    problem_.softcap = s.softcap;
    problem_.read = s.read;
    problem_.method = s.method;
    problem_.phi = s.phi;
    problem_.eps = s.eps;
    problem_.adds_sinusoids = s.adds_sinusoids;
    problem_.is_decoded = s.is_decoded;
    problem_.prefill = s.prefill;
    problem_.tile = s.tile;
    problem_.has_residual = s.has_residual;
    problem_.hops = s.hops;
    problem_.empty_row = s.empty_row;
    problem_.decimals = s.decimals;
    problem_.round = s.round;
  }

  // 1/√d_k of one head, unless the file says otherwise; additive and bilinear scores are not
  // scaled by their authors, and linear attention has no scores.
  void find_scale() {
    find_root();
    const std::string& d_k = problem_.scale.d_k.text;
    if (!settings().scales_by_width || problem_.scale.kind != ScaleKind::root || d_k.empty()) return;
    NumberError ignored;
    if (const auto factor = parse_number("1/" + d_k, ignored))
      problem_.scale = {.kind = ScaleKind::factor, .factor = *factor, .d_k = {}};
  }

  void find_root() {
    const Settings& s = settings();
    if (!roles_.starts_by(Entry::scores)) {
      problem_.scale.kind = ScaleKind::none;
      return;
    }
    if (s.scale) {
      problem_.scale = *s.scale;
    } else {
      const bool has_root = s.score == ScoreKind::dot && s.method == MethodKind::softmax;
      problem_.scale.kind = has_root ? ScaleKind::root : ScaleKind::none;
    }
    if (problem_.scale.kind != ScaleKind::root) {
      if (s.d_k && !draft_.has("W_QKV")) {
        warn(s.find("d_k")->place,
             say({"'d_k' has no effect with scale = {0}", "scale = {0} 时“d_k”不起作用"}, scale_text()));
      }
      return;
    }
    if (roles_.starts_by(Entry::qkv)) {
      if (!roles_.q.shape) return;
      const Index d_k = roles_.q.shape->cols / problem_.heads;
      problem_.scale.d_k = whole_number(static_cast<long>(d_k));
      if (s.d_k && s.d_k->value != problem_.scale.d_k.value) {
        error(s.find("d_k")->value_place,
              problem_.heads == 1
                  ? say({"d_k = {0}, but Q has {1}", "d_k = {0}，而 Q 有 {1} 列"}, s.d_k->text,
                        counted(d_k, "column"))
                  : say({"d_k = {0}, but Q has {1} a head", "d_k = {0}，而每个头的 Q 有 {1} 列"}, s.d_k->text,
                        counted(d_k, "column")),
              say({"for another divisor write scale = 1/sqrt({0})", "要换一个除数，请写 scale = 1/sqrt({0})"},
                  s.d_k->text));
      }
    } else if (s.d_k) {
      problem_.scale.d_k = *s.d_k;
    } else if (roles_.is_settled) {
      error(draft_.find("scores")->place(),
            say({"[scores] does not show d_k, so 1/sqrt(d_k) is not known",
                 "[scores] 看不出 d_k，无法确定 1/sqrt(d_k)"}),
            say({"write d_k = …, or scale = none if the scores are scaled already",
                 "请写 d_k = …；如果分数已经缩放过，请写 scale = none"}));
    }
  }

  std::string scale_text() const {
    switch (problem_.scale.kind) {
      case ScaleKind::root:
        return "1/sqrt(d_k)";
      case ScaleKind::none:
        return "none";
      case ScaleKind::factor:
        break;
    }
    return problem_.scale.factor.text;
  }

  // A setting whose step lies before the place where the calculation starts does nothing.
  bool acts(std::string_view key) const {
    const auto reach =
        std::find_if(kReach.begin(), kReach.end(), [&](const Reach& r) { return r.key == key; });
    if (reach == kReach.end() || roles_.starts_by(reach->last)) return true;
    return key == "layout" && (draft_.has("W_V") || draft_.has("W_O"));
  }

  void warn_of_settings_without_effect() {
    if (diagnostics_.has_errors()) return;
    for (const auto& [key, given] : settings().given) {
      if (acts(key) || given.text == find_key(key)->by_default) continue;
      warn(given.place,
           say({"'{0}' has no effect: the calculation starts at [{1}]", "“{0}”不起作用：计算从 [{1}] 开始"},
               key, entry_name(roles_.entry)));
    }
    if (!roles_.starts_by(Entry::scaled)) return;
    const MaskSetting& mask = settings().mask;
    if (!mask.window && (mask.sinks || !mask.global.empty())) {
      warn(settings().find("mask")->place, say({"sinks and global have no effect without a window",
                                                "没有 window 时，sinks 和 global 不起作用"}));
    }
    if (const Settings::Given* values = settings().find("mask_values");
        values && tables_given(draft_, "mask").empty()) {
      warn(values->place,
           say({"'mask_values' has no effect: there is no [mask]", "“mask_values”不起作用：没有 [mask]"}));
    }
    if (const Settings::Given* positions = settings().find("positions");
        positions && uses_alibi() && !are_places(problem_.positions)) {
      warn(positions->place,
           say({"'positions' turn the queries and keys; ALiBi counts places in the sequence all the same",
                "“positions”只用于旋转查询和键；ALiBi 仍按序列中的位次计算距离"}));
    }
    if (const Settings::Given* align = settings().find("align");
        align && !mask.uses_align() && !uses_alibi()) {
      warn(align->place, say({"'align' has no effect without causal, window or alibi",
                              "没有 causal、window 或 alibi 时，“align”不起作用"}));
    }
  }

  // Do these positions of queries say the same as the places that masks and ALiBi count?
  bool are_places(const std::vector<long>& positions) const {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] != problem_.align + static_cast<long>(i)) return false;
    }
    return true;
  }

  // ---- given weights ----

  // Weights may come from a text that rounded them, or from a method that is no softmax.
  void check_weights() {
    const DraftMatrix* weights = draft_.find("weights");
    if (!weights || !weights->has_shape || weights->has_faults || problem_.tokens.empty()) return;
    constexpr double kExact = 1e-12;  // decimals that sum to 1 miss it by a few 1e-16 as doubles
    constexpr std::size_t kMostNamed = 10;
    const Given& given = weights->given;
    std::vector<std::string> odd_rows;
    for (Index i = 0; i < given.rows; ++i) {
      double sum = 0;
      for (Index j = 0; j < given.cols; ++j) {
        sum += given.at(i, j).value;
        if (given.at(i, j).value < 0 && !is_negative_told_) {
          is_negative_told_ = true;
          warn(weights->cell_place(i, j),
               say({"a negative weight; it is used as it stands", "权重为负；按原样使用"}));
        }
      }
      if (std::abs(sum - 1) > kExact)
        odd_rows.push_back(quotable(problem_.tokens[static_cast<std::size_t>(i)]));
    }
    if (odd_rows.empty()) return;
    std::string names;
    for (std::size_t i = 0; i < std::min(odd_rows.size(), kMostNamed); ++i)
      names += (i ? ", " : "") + odd_rows[i];
    if (odd_rows.size() > kMostNamed) names += ", …";
    warn(weights->place(), say({"these rows of weights do not sum to 1: {0}; they are used as they stand",
                                "weights 中这些行的和不为 1：{0}；按原样使用"},
                               names));
  }

  // ---- the finished problem ----

  void complete_matrices() {
    for (auto& [name, matrix] : draft_.matrices) problem_.given.emplace(name, std::move(matrix.given));
    if (roles_.v.from == Role::From::nothing) problem_.given.emplace("V", symbols());
    // `K = Q`: a copy of what was given; what is computed has no copy.
    for (const auto& [name, other] : problem_.same_as) {
      const Given* given = given_behind(other);
      if (given) problem_.given.emplace(name, Given(*given));
    }
    for (const DraftExpectation& expected : draft_.expected) {
      if (expected.printed.has_shape) problem_.expected.push_back({expected.step, expected.printed.given});
    }
    problem_.is_changed_by_options = is_changed_by_options();
  }

  bool is_changed_by_options() const {
    const auto is_from_option = [](const auto& matrix) { return matrix.second.is_from_option; };
    return !input_.settings.empty() ||
           std::any_of(draft_.matrices.begin(), draft_.matrices.end(), is_from_option);
  }

  const Given* given_behind(const std::string& name, int depth = 0) const {
    const auto found = problem_.given.find(name);
    if (found != problem_.given.end()) return &found->second;
    const auto same = problem_.same_as.find(name);
    return same == problem_.same_as.end() || depth > 3 ? nullptr : given_behind(same->second, depth + 1);
  }

  // V left out: v1, v2, … stand for its rows.
  Given symbols() const {
    Given v;
    v.rows = *roles_.keys;
    v.cols = 1;
    for (Index i = 0; i < v.rows; ++i) {
      Number symbol;
      symbol.kind = Number::Kind::symbol;
      const std::vector<long>& order = settings().order;
      symbol.text =
          fmt::format("v{}", order.empty() ? i + settings().first_index : order[static_cast<std::size_t>(i)]);
      v.cells.push_back(std::move(symbol));
    }
    return v;
  }

  bool align_matters() const {
    return problem_.tokens.size() != problem_.kv_tokens.size() &&
           (settings().mask.uses_align() || uses_alibi());
  }

  bool uses_alibi() const { return settings().alibi_is_on || !settings().slopes.empty(); }

  // What the header names: scale and mask wherever they act, the rest where it is not usual.
  void list_settings() {
    constexpr std::array<std::string_view, 4> kElsewhere{"title", "source", "tokens", "kv_tokens"};
    for (const Key& key : keys()) {
      const std::string_view name = key.name;
      if (std::find(kElsewhere.begin(), kElsewhere.end(), name) != kElsewhere.end() || !acts(name)) continue;
      const Settings::Given* given = settings().find(name);
      if (name == "scale") {
        problem_.settings.emplace_back(name, scale_text());
      } else if (name == "mask") {
        problem_.settings.emplace_back(name, settings().mask.text);
      } else if (name == "align" && align_matters()) {
        // Libraries differ on the corner, so the default is named as well.
        problem_.settings.emplace_back(name, given ? given->text : key.by_default);
      } else if ((name == "phi" || name == "eps") && problem_.method == MethodKind::linear) {
        // Programs differ on both.
        problem_.settings.emplace_back(name, given ? given->text : key.by_default);
      } else if (given && given->text != key.by_default) {
        problem_.settings.emplace_back(name, given->text);
      }
    }
  }

  const ProblemInput& input_;
  Diagnostics& diagnostics_;
  Draft draft_;
  Roles roles_;
  Problem problem_;
  std::optional<Index> result_width_;
  bool is_negative_told_ = false;
};

// X of a layer whose input is computed: only its shape is known, and its labels.
Draft with_computed_x(Draft draft, Index width) {
  DraftMatrix& x = draft.matrices["X"];
  x.given.cols = width;
  x.given.cells.assign(static_cast<std::size_t>(x.given.rows * width), whole_number(0));
  x.cell_spans.clear();
  draft.matrices.erase("P");  // positions are added once, to the first layer's X
  draft.settings.adds_sinusoids = false;
  return draft;
}

class StackReader {
 public:
  StackReader(const ProblemInput& input, const Draft& draft, Diagnostics& diagnostics)
      : input_(input), draft_(draft), diagnostics_(diagnostics) {}

  std::optional<Problem> read() {
    const Settings& settings = draft_.settings;
    if (!draft_.has("X")) return refuse(say({"a stack of layers starts at [X]", "多层计算从 [X] 开始"}));
    if (draft_.has("X_kv") || draft_.has("past_K") || settings.hops > 1) {
      return refuse(
          say({"a stack of layers is self-attention from the first token on: no [X_kv], no [past_K], one hop",
               "多层计算是从第一个 token 开始的自注意力：不能有 [X_kv] 或 [past_K]，也不能多次读取"}));
    }
    std::optional<Problem> all;
    Index width = 0;  // of the latest layer's result
    for (Index layer = 1; layer <= settings.layers; ++layer) {
      Diagnostics& told = told_.emplace_back();
      Draft own = draft_of_layer(draft_, layer, told);
      if (layer > 1) own = with_computed_x(std::move(own), width);
      own.expected.clear();
      ProblemReader reader(input_, std::move(own), told);
      std::optional<Problem> problem = reader.read();
      if (!problem) {  // what the layers share would be told once each
        hand_over_layers();
        return std::nullopt;
      }
      if (!reader.result_width()) {
        hand_over_layers();
        return refuse(
            say({"a stack of layers needs numbers in V: what one layer reads is what the next one "
                 "works on",
                 "多层计算要求 V 是数：一层读到的内容就是下一层的输入"}));
      }
      width = *reader.result_width();
      if (layer == 1) all = problem;
      for (const auto& [name, given] : problem->given) {  // where the backward pass starts
        if (name == "target" || name.starts_with("d.")) all->given.emplace(name, given);
      }
      all->stack.push_back(std::move(*problem));
    }
    for (const DraftExpectation& expected : draft_.expected) {
      if (expected.printed.has_shape) all->expected.push_back({expected.step, expected.printed.given});
    }
    name_settings(*all);
    hand_over_layers();
    return all;
  }

 private:
  static const std::string* setting_of(const Problem& layer, const std::string& key) {
    const auto found = std::find_if(layer.settings.begin(), layer.settings.end(),
                                    [&](const auto& setting) { return setting.first == key; });
    return found == layer.settings.end() ? nullptr : &found->second;
  }

  // What the header names: once where the layers agree, else for each.
  void name_settings(Problem& all) const {
    const std::vector<Problem>& layers = all.stack;
    std::vector<std::string> keys;
    for (const Problem& layer : layers) {
      for (const auto& [key, value] : layer.settings) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
    all.settings.clear();
    for (const std::string& key : keys) {
      const std::string* first = setting_of(layers.front(), key);
      const bool is_of_all = std::all_of(layers.begin(), layers.end(), [&](const Problem& layer) {
        const std::string* value = setting_of(layer, key);
        return first != nullptr && value != nullptr && *value == *first;
      });
      for (std::size_t i = 0; i < (is_of_all ? 1 : layers.size()); ++i) {
        if (const std::string* value = setting_of(layers[i], key))
          all.settings.emplace_back(is_of_all ? key : fmt::format("L{}.{}", i + 1, key), *value);
      }
    }
    all.settings.emplace_back("layers", std::to_string(layers.size()));
    const auto means_the_same = [&](const Problem& layer) {
      return layer.mask_meaning.en == layers.front().mask_meaning.en;
    };
    if (std::all_of(layers.begin(), layers.end(), means_the_same)) return;
    all.mask_meaning = {};
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Said meaning = layers[i].mask_meaning.empty() ? say({"none", "无"}) : layers[i].mask_meaning;
      const Said of_layer = say({"layer {0}: {1}", "第 {0} 层：{1}"}, i + 1, meaning);
      all.mask_meaning = i == 0 ? of_layer : say({"{0}; {1}", "{0}；{1}"}, all.mask_meaning, of_layer);
    }
  }

  static bool are_same(const Diagnostic& a, const Diagnostic& b) {
    return a.message.en == b.message.en && a.source == b.source && a.span == b.span;
  }

  // Whether something is given for this layer alone.
  bool has_parts(Index layer) const {
    const std::string prefix = "L" + std::to_string(layer) + ".";
    return draft_.layer_settings.contains(layer) ||
           std::any_of(draft_.matrices.begin(), draft_.matrices.end(),
                       [&](const auto& matrix) { return matrix.first.starts_with(prefix); });
  }

  // What all layers say is about the file; the rest is about one layer, and says about which.
  void hand_over_layers() {
    for (std::size_t i = 0; i < told_.size(); ++i) {
      for (Diagnostic d : told_[i].list()) {
        const bool is_of_all = std::all_of(told_.begin(), told_.end(), [&](const Diagnostics& other) {
          const auto& list = other.list();
          return std::any_of(list.begin(), list.end(), [&](const Diagnostic& o) { return are_same(d, o); });
        });
        const bool is_of_layer = told_.size() > 1 ? !is_of_all : has_parts(1);
        if (is_of_layer) d.message = say({"in layer {0}: {1}", "第 {0} 层：{1}"}, i + 1, d.message);
        diagnostics_.add(std::move(d));
      }
    }
  }

  std::optional<Problem> refuse(Said message) {
    report(Severity::error, draft_.settings.find("layers")->value_place, std::move(message), {},
           diagnostics_);
    return std::nullopt;
  }

  const ProblemInput& input_;
  const Draft& draft_;
  Diagnostics& diagnostics_;
  std::vector<Diagnostics> told_;  // by each layer
};

// In the order of the file; what concerns it as a whole comes last.  Layers may say the same twice.
void hand_over(const std::vector<Diagnostic>& found, const SourcePtr& file, const std::string& name,
               Diagnostics& diagnostics) {
  std::vector<Diagnostic> list;
  for (const Diagnostic& d : found) {
    const bool is_told = std::any_of(list.begin(), list.end(), [&](const Diagnostic& other) {
      return other.message.en == d.message.en && other.source == d.source &&
             other.span.has_value() == d.span.has_value() && (!d.span || other.span->begin == d.span->begin);
    });
    if (!is_told) list.push_back(d);
  }
  std::stable_sort(list.begin(), list.end(), [&](const Diagnostic& a, const Diagnostic& b) {
    const auto place = [&](const Diagnostic& d) {
      return d.source == file && d.span ? d.span->begin : static_cast<std::size_t>(-1);
    };
    return place(a) < place(b);
  });
  std::size_t count = 0;
  for (Diagnostic& d : list) {
    if (++count > kMostDiagnostics && d.severity != Severity::error) continue;
    if (count > kMostDiagnostics) {
      diagnostics.error(
          name, say({"there are more errors; these were the first {0}", "还有更多错误；以上是前 {0} 个"},
                    kMostDiagnostics));
      return;
    }
    diagnostics.add(std::move(d));
  }
}

}  // namespace

std::optional<Problem> read_problem(const ProblemInput& input, Diagnostics& diagnostics) {
  Diagnostics found;
  Draft draft = read_draft(input, found);
  const std::string name = draft.file;
  std::optional<Problem> problem;
  if (draft.settings.layers > 1) {
    reject_other_parts(draft, found);
    if (!found.has_errors()) problem = StackReader(input, draft, found).read();
  } else {
    problem = ProblemReader(input, std::move(draft), found).read();
  }
  hand_over(found.list(), input.file, name, diagnostics);
  return problem;
}

}  // namespace qkv

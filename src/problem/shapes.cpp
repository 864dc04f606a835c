#include "problem/shapes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "input/matrix_text.h"
#include "problem/given_part.h"
#include "problem/latent.h"
#include "problem/origin.h"
#include "problem/parts.h"
#include "problem/steps.h"

namespace qkv {
namespace {

class ShapeFitter {
 public:
  ShapeFitter(Draft& draft, Roles& roles, Diagnostics& diagnostics)
      : draft_(draft), roles_(roles), diagnostics_(diagnostics) {}

  void fit() {
    split_fused();
    if (roles_.q.from == Role::From::latent) fit_latents(draft_, roles_, diagnostics_);
    for (const std::string_view name : kRoles) shape_of(name);
    count_tokens();
    fit_values();
    fit_past();
    fit_tables();
    fit_score_parameters();
    fit_output_projection();
    limit_sizes();
  }

 private:
  bool is_linear() const { return draft_.settings.layout == Layout::linear; }
  Index heads() const { return draft_.settings.heads; }
  Index kv_heads() const { return draft_.settings.kv_heads.value_or(heads()); }

  void error(const Place& place, Said message, Said hint = {}) {
    report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
  }
  void error(Said message, Said hint = {}) {
    diagnostics_.error(draft_.file, std::move(message), std::move(hint));
  }

  Said origins_of(const std::string& a, const std::string& b) const { return origins(draft_, roles_, a, b); }

  std::optional<Shape> given_shape(std::string_view name) const {
    const DraftMatrix* matrix = draft_.find(name);
    if (!matrix || !matrix->has_shape) return std::nullopt;
    return matrix->given.shape();
  }

  // ---- projections ----

  // The fused matrix is W_Q, W_K and W_V side by side or, as nn.Linear stores it, on top of
  // each other.  Its width is d_k + d_k + d_v, each times its heads; without the setting d_k all
  // heads are equally wide.
  void split_fused() {
    const DraftMatrix* fused = draft_.find("W_QKV");
    if (!fused) return;
    const Given& given = fused->given;
    const auto& d_k_setting = draft_.settings.d_k;
    const Index width = is_linear() ? given.rows : given.cols;
    const Index all_heads = heads() + 2 * kv_heads();
    const Index d_k = d_k_setting ? static_cast<Index>(d_k_setting->value) : width / all_heads;
    const Index q_width = d_k * heads();
    const Index k_width = d_k * kv_heads();
    const bool is_divided = d_k_setting ? width > q_width + k_width : width % all_heads == 0;
    if (fused->has_shape && !is_divided) {
      const Said unit = is_linear() ? Said{"rows", "行"} : Said{"columns", "列"};
      error(fused->place(),
            heads() == 1 ? say({"W_QKV has {0} {1}, which are not d_k + d_k + d_v",
                                "W_QKV 有 {0} {1}，不能分成 d_k + d_k + d_v"},
                               width, unit)
                         : say({"W_QKV has {0} {1}, which are not {2}·d_k + {3}·d_k + {3}·d_v",
                                "W_QKV 有 {0} {1}，不能分成 {2}·d_k + {3}·d_k + {3}·d_v"},
                               width, unit, heads(), kv_heads()),
            heads() == 1 ? say({"without the setting d_k three equal parts are expected",
                                "没有设置 d_k 时，按三等分处理"})
                         : say({"without the setting d_k all heads are equally wide",
                                "没有设置 d_k 时，各个头的宽度相同"}));
    }
    const bool is_known = fused->has_shape && is_divided;
    const std::array<std::pair<std::string_view, Index>, 3> parts{
        {{"W_Q", q_width}, {"W_K", k_width}, {"W_V", width - q_width - k_width}}};
    Index begin = 0;
    for (const auto& [name, size] : parts) {
      DraftMatrix part;
      part.has_shape = is_known;
      part.is_from_option = fused->is_from_option;
      part.given.source = given.source;
      part.given.span = given.span;
      if (is_known) part.given = cut(given, begin, size);
      begin += size;
      draft_.matrices.emplace(name, std::move(part));  // one that is given too was an error
    }
  }

  // Columns, or with nn.Linear's layout rows, [begin, begin + size) of the fused matrix.
  Given cut(const Given& fused, Index begin, Index size) const {
    if (is_linear()) {
      return given_part(fused, size, fused.cols, [&](Index i, Index j) { return std::pair(begin + i, j); });
    }
    return given_part(fused, fused.rows, size, [&](Index i, Index j) { return std::pair(i, begin + j); });
  }

  std::optional<Shape> shape_of(std::string_view name) {
    if (!roles_.find(name)) return given_shape(name);
    Role& role = roles_[name];
    // Measured once; a product that does not fit is told once.
    if (std::find(measured_.begin(), measured_.end(), name) != measured_.end()) return role.shape;
    measured_.push_back(name);
    switch (role.from) {
      case Role::From::nothing:
      case Role::From::latent:  // known already
        break;
      case Role::From::given:
        role.shape = given_shape(role.matrix);
        break;
      case Role::From::same:
        role.shape = shape_of(role.matrix);
        break;
      case Role::From::projection:
        role.shape = projected(name, role.matrix);
        break;
    }
    return role.shape;
  }

  std::optional<Shape> projected(std::string_view name, const std::string& from) {
    const std::string w_name = "W_" + std::string(name);
    const auto x = given_shape(from);
    const auto stored = given_shape(w_name);
    if (!x || !stored) return std::nullopt;
    const Shape w = as_columns(draft_.settings, *stored);
    fit_projection_bias("b_" + std::string(name), w_name, w.cols);
    if (x->cols == w.rows) return Shape{x->rows, w.cols};
    if (draft_.has("W_QKV")) {
      if (!is_fused_told_) product_mismatch(from, *x, "W_QKV", *given_shape("W_QKV"));
      is_fused_told_ = true;
    } else {
      product_mismatch(from, *x, w_name, *stored);
    }
    return std::nullopt;
  }

  // X·W needs as many columns on the left as rows on the right.
  void product_mismatch(const std::string& left, Shape x, const std::string& right, Shape stored) {
    const Said from = origins_of(left, right);
    if (is_linear()) {
      error(say({"{0} is {1} but {2} is {3}: {0}·{2}ᵀ needs {4} in {2} (layout = linear)",
                 "{0} 是 {1}，而 {2} 是 {3}：{0}·{2}ᵀ 要求 {2} 有 {4} 列（layout = linear）"},
                left, size_text(x), right, size_text(stored), counted(x.cols, "column")),
            from);
      return;
    }
    // Who said the layout, as --weights does, is not told to say another.
    const bool may_be_transposed = stored.cols == x.cols && draft_.settings.find("layout") == nullptr;
    error(say({"{0} is {1} but {2} is {3}: {0}·{2} needs {4} in {2}",
               "{0} 是 {1}，而 {2} 是 {3}：{0}·{2} 要求 {2} 有 {4} 行"},
              left, size_text(x), right, size_text(stored), counted(x.cols, "row")),
          may_be_transposed ? say({"{0}. If W is stored as nn.Linear does, write 'layout = linear'",
                                   "{0}。如果 W 按 nn.Linear 的方式存放，请写“layout = linear”"},
                                  from)
                            : from);
  }

  void fit_projection_bias(const std::string& name, const std::string& w_name, Index width) {
    const auto bias = given_shape(name);
    if (!bias || bias->cols == width) return;
    error(say({"{0} has {1}, but {2} makes rows of {3}", "{0} 有 {1} 个数，而 {2} 得到的每行有 {3} 个"}, name,
              counted(bias->cols, "number"), w_name, width),
          origins_of(name, w_name));
  }

  // ---- queries and keys ----

  void count_tokens() {
    if (!roles_.computes_scores()) {
      if (const auto table = given_shape(entry_name(roles_.entry))) {
        roles_.queries = table->rows;
        roles_.keys = table->cols;
      }
      return;
    }
    const auto q = roles_.q.shape;
    const auto k = roles_.k.shape;
    if (q) roles_.queries = q->rows;
    if (k) roles_.keys = k->rows + past_rows();
    if (!divides("Q", q, heads(), "heads") || !divides("K", k, kv_heads(), "kv_heads")) return;
    if (q && k && heads() > 1 && q->cols / heads() != k->cols / kv_heads()) {
      error(
          say({"Q has {2} of width {0}, K has {3} of width {1}: a dot product needs equal widths (d_k)",
               "Q 分成 {2} 个头，每个宽 {0}；K 分成 {3} 个头，每个宽 {1}：点积要求两者宽度相同（d_k）"},
              q->cols / heads(), k->cols / kv_heads(), counted(heads(), "head"), counted(kv_heads(), "head")),
          origins_of("Q", "K"));
    } else if (q && k && heads() == 1 && draft_.settings.score == ScoreKind::dot && q->cols != k->cols) {
      error(say({"Q is {0} but K is {1}: a dot product needs equal widths (d_k)",
                 "Q 是 {0}，而 K 是 {1}：点积要求两者宽度相同（d_k）"},
                size_text(*q), size_text(*k)),
            origins_of("Q", "K"));
    }
  }

  bool divides(const char* name, const std::optional<Shape>& shape, Index parts, const char* key) {
    if (!shape || shape->cols % parts == 0) return true;
    const Settings::Given* given = draft_.settings.find(key);
    error((given ? given : draft_.settings.find("heads"))->value_place,
          say({"the {1} of {0} cannot be cut into {2}", "{0} 的 {1} 列不能等分成 {2} 个头"}, name,
              counted(shape->cols, "column"), counted(parts, "head")),
          say({"{0} comes from {1}", "{0} 来自{1}"}, name, origin(draft_, roles_, name)));
    return false;
  }

  Index past_rows() const {
    const auto past = given_shape("past_K");
    return past ? past->rows : 0;
  }

  // Cached keys and values stand above the new ones.
  void fit_past() {
    const DraftMatrix* past_k = draft_.find("past_K");
    const DraftMatrix* past_v = draft_.find("past_V");
    if ((!past_k && !past_v) || roles_.k.from == Role::From::latent) return;
    if (!past_k || !past_v) {
      const char* has = past_k ? "past_K" : "past_V";
      if (roles_.is_settled) {
        error(draft_.find(has)->place(),
              say({"[{0}] needs [{1}]: the cache holds a key and a value per token",
                   "[{0}] 需要 [{1}]：缓存中每个 token 有一个键和一个值"},
                  has, past_k ? "past_V" : "past_K"));
      }
      return;
    }
    if (!roles_.computes_scores()) {
      error(past_k->place(), say({"[past_K] is not used: the calculation starts at [{0}]",
                                  "用不到 [past_K]：计算从 [{0}] 开始"},
                                 entry_name(roles_.entry)));
      return;
    }
    const DraftMatrix* v = draft_.find("V");
    const bool holds_symbols =
        v && std::any_of(v->given.cells.begin(), v->given.cells.end(),
                         [](const Number& cell) { return cell.kind == Number::Kind::symbol; });
    if ((roles_.v.from == Role::From::nothing || holds_symbols) && roles_.is_settled) {
      error(past_v->place(), say({"[past_V] needs numbers in V: [V] or [W_V]",
                                  "有 [past_V] 时 V 要是数：请给出 [V] 或 [W_V]"}));
    }
    if (past_k->has_shape && past_v->has_shape && past_k->given.rows != past_v->given.rows) {
      error(past_v->place(),
            say({"[past_V] has {0}, but [past_K] has {1}", "[past_V] 有 {0} 行，而 [past_K] 有 {1} 行"},
                counted(past_v->given.rows, "row"), past_k->given.rows));
    }
    const auto same_width = [&](const DraftMatrix& past, const char* name,
                                const std::optional<Shape>& fresh) {
      if (!past.has_shape || !fresh || past.given.cols == fresh->cols) return;
      error(past.place(),
            say({"[past_{0}] is {1} wide, but {0} is {2}", "[past_{0}] 有 {1} 列，而 {0} 有 {2} 列"}, name,
                past.given.cols, fresh->cols));
    };
    same_width(*past_k, "K", roles_.k.shape);
    same_width(*past_v, "V", roles_.v.shape);
  }

  void fit_values() {
    const auto v = roles_.v.shape;
    if (!divides("V", v, kv_heads(), "kv_heads")) return;
    if (heads() > 1 && roles_.v.from == Role::From::nothing && roles_.is_settled) {
      error(draft_.settings.find("heads")->place,
            say({"several heads need [V]: symbols in its place cannot be cut into heads",
                 "多个头需要 [V]：代替它的符号不能切分"}));
    }
    if (!v || !roles_.keys || v->rows + past_rows() == *roles_.keys) return;
    if (roles_.computes_scores()) {
      error(say({"K is {0} but V is {1}: every key needs one value, so equal numbers of rows",
                 "K 是 {0}，而 V 是 {1}：每个键对应一个值，行数应当相同"},
                size_text(*roles_.k.shape), size_text(*v)),
            origins_of("K", "V"));
      return;
    }
    const std::string table(entry_name(roles_.entry));
    error(say({"{0} is {1} but V is {2}: every column of {0} needs one row of V",
               "{0} 是 {1}，而 V 是 {2}：{0} 的每一列对应 V 的一行"},
              table, size_text(*given_shape(table)), size_text(*v)),
          origins_of(table, "V"));
  }

  // One row per query, one column per key.
  void fit_tables() {
    if (!roles_.queries || !roles_.keys) return;
    const Shape expected{*roles_.queries, *roles_.keys};
    for (const char* table : {"mask", "bias"}) {
      for (const std::string& name : tables_given(draft_, table)) {
        const auto shape = given_shape(name);
        if (!shape || *shape == expected) continue;
        const Said from = roles_.computes_scores() ? origins_of("Q", "K") : Said{};
        error(draft_.find(name)->place(),
              say({"{0} is {1}, but the scores are {2}: one row per query, one column per key",
                   "{0} 是 {1}，而分数矩阵是 {2}：每个查询一行，每个键一列"},
                  name, size_text(*shape), size_text(expected)),
              from);
      }
    }
  }

  // ---- parameters of the score ----

  struct Parameter {
    const char* name;
    bool is_used;
    bool is_needed;
    std::optional<Shape> shape;  // as the formula wants it
  };

  void fit_score_parameters() {
    if (!roles_.computes_scores()) return;
    const ScoreKind score = draft_.settings.score;
    const bool is_general = score == ScoreKind::general;
    const bool is_additive = score == ScoreKind::additive;
    const bool is_concat = score == ScoreKind::concat;
    const auto q = roles_.q.shape;
    const auto k = roles_.k.shape;
    const auto w = given_shape("W_a");  // its columns are the hidden width of additive and concat
    std::optional<Shape> w_a;
    std::optional<Shape> u_a;
    std::optional<Shape> row;
    if (q && k && is_general) w_a = Shape{q->cols, k->cols};
    if (q && k && w && is_additive) w_a = Shape{q->cols, w->cols};
    if (q && k && w && is_concat) w_a = Shape{q->cols + k->cols, w->cols};
    if (k && w) u_a = Shape{k->cols, w->cols};
    if (w) row = Shape{1, w->cols};
    const std::array<Parameter, 4> parameters{{
        {"W_a", is_general || is_additive || is_concat, true, w_a},
        {"U_a", is_additive, true, u_a},
        {"v_a", is_additive || is_concat, true, row},
        {"b_a", is_additive, false, row},
    }};
    for (const Parameter& parameter : parameters) fit_parameter(parameter);
  }

  void fit_parameter(const Parameter& parameter) {
    const ScoreKind score = draft_.settings.score;
    const std::string_view kind = score == ScoreKind::general    ? "general"
                                  : score == ScoreKind::additive ? "additive"
                                  : score == ScoreKind::concat   ? "concat"
                                                                 : "dot";
    const std::string_view formula = score == ScoreKind::general    ? "q·W_a·kᵀ"
                                     : score == ScoreKind::additive ? "v_a·tanh(q·W_a + k·U_a + b_a)"
                                     : score == ScoreKind::concat   ? "v_a·tanh([q;k]·W_a)"
                                                                    : "q·k";
    const Said recall = say({"score = {0} is {1}", "score = {0} 即 {1}"}, kind, formula);
    const auto source = section_of(draft_, parameter.name);
    const auto shape = given_shape(parameter.name);
    if (source && !parameter.is_used) {
      const Said other =
          say({"write score = general, additive or concat", "请写 score = general、additive 或 concat"});
      error(source->place,
            say({"{0} is not used by score = {1}", "score = {1} 用不到 {0}"}, source->called, kind),
            score == ScoreKind::dot ? other : recall);
    } else if (!source && parameter.is_used && parameter.is_needed) {
      if (!roles_.is_settled) return;
      error(draft_.settings.find("score")->place,
            say({"score = {0} needs [{1}]", "score = {0} 需要 [{1}]"}, kind, parameter.name), recall);
    } else if (shape && parameter.shape && *shape != *parameter.shape) {
      error(source->place,
            say({"{0} is {1}, but {2} is expected", "{0} 是 {1}，应为 {2}"}, parameter.name,
                size_text(*shape), size_text(*parameter.shape)),
            roles_.q.shape && roles_.k.shape
                ? say({"{0}; q has {1}, k has {2}", "{0}；q 有 {1} 个数，k 有 {2} 个数"}, recall,
                      counted(roles_.q.shape->cols, "number"), roles_.k.shape->cols)
                : recall);
    }
  }

  // ---- output ----

  void fit_output_projection() {
    const auto stored = given_shape("W_O");
    if (!stored) return;
    const Shape w = as_columns(draft_.settings, *stored);
    fit_projection_bias("b_O", "W_O", w.cols);
    const bool is_symbolic = roles_.v.from == Role::From::nothing;
    if (!is_symbolic && !roles_.v.shape) return;
    // Heads that do not divide are told of, and have no width to compare with.
    if (heads() % kv_heads() != 0 || (!is_symbolic && roles_.v.shape->cols % kv_heads() != 0)) return;
    const Index width = is_symbolic ? 1 : roles_.v.shape->cols / kv_heads() * heads();
    if (w.rows == width) return;
    const Said from = is_symbolic ? say({"V is not given, so each of its rows is one symbol",
                                         "没有给出 V，所以它的每一行是一个符号"})
                                  : origins_of("V", "W_O");
    error(say({"W_O is {0}, but the output is {1} wide: output·{2} needs as many {3} in W_O",
               "W_O 是 {0}，而输出有 {1} 列：output·{2} 要求 W_O 的{3}数相同"},
              size_text(*stored), width, is_linear() ? "W_Oᵀ" : "W_O",
              is_linear() ? Said{"columns", "列"} : Said{"rows", "行"}),
          from);
  }

  // The product of two small matrices can be large: X 100000×1, and K likewise.
  void limit_sizes() {
    if (draft_.asks_for_result_alone) return;
    std::vector<std::pair<std::string_view, Shape>> steps;
    for (const std::string_view name : kRoles) {
      if (roles_[name].shape) steps.push_back({name, *roles_[name].shape});
    }
    if (roles_.queries && roles_.keys) steps.push_back({"scores", {*roles_.queries, *roles_.keys}});
    if (roles_.queries && roles_.v.shape) {
      steps.push_back({heads() > 1 ? "concat" : "output",
                       {*roles_.queries, roles_.v.shape->cols / kv_heads() * heads()}});
    }
    if (const auto stored = given_shape("W_O"); stored && roles_.queries) {
      steps.push_back({"Y", {*roles_.queries, as_columns(draft_.settings, *stored).cols}});
    }
    for (const auto& [name, shape] : steps) {
      if (shape.cols == 0 || shape.rows <= kMostCells / shape.cols) continue;  // none: told already
      error(say({"{0} would be {1}: more than {2} cells, the most that are traced",
                 "{0} 将是 {1}：超过逐格演算的上限 {2} 格"},
                name, size_text(shape), "1,000,000"),
            name != "scores"
                ? Said{}
                : say({"where Q, K and V are given, or projected from X, --only-output alone needs "
                       "no such table",
                       "如果 Q、K、V 是给定的或由 X 投影的，单用 --only-output 就不需要这张表"}));
      return;
    }
  }

  Draft& draft_;
  Roles& roles_;
  Diagnostics& diagnostics_;
  std::vector<std::string_view> measured_;
  bool is_fused_told_ = false;
};

}  // namespace

void fit_shapes(Draft& draft, Roles& roles, Diagnostics& diagnostics) {
  ShapeFitter(draft, roles, diagnostics).fit();
}

Shape as_columns(const Settings& settings, Shape stored) {
  if (settings.layout == Layout::linear) return {stored.cols, stored.rows};
  return stored;
}

std::optional<Index> width_of_result(const Draft& draft, const Roles& roles) {
  const DraftMatrix* v = draft.find("V");
  const bool holds_symbols =
      v && std::any_of(v->given.cells.begin(), v->given.cells.end(),
                       [](const Number& cell) { return cell.kind == Number::Kind::symbol; });
  if (!roles.v.shape || holds_symbols) return std::nullopt;
  const Settings& settings = draft.settings;
  if (const DraftMatrix* w = draft.find("W_O")) {
    if (!w->has_shape) return std::nullopt;
    return as_columns(settings, w->given.shape()).cols;
  }
  return roles.v.shape->cols / settings.kv_heads.value_or(settings.heads) * settings.heads;
}

}  // namespace qkv

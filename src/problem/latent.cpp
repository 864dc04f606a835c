#include "problem/latent.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/counted.h"
#include "input/matrix_text.h"
#include "problem/origin.h"
#include "problem/shapes.h"

namespace qkv {
namespace {

constexpr std::array<std::string_view, 7> kSections{"W_DKV", "W_UK", "W_UV", "W_DQ", "W_UQ", "W_QR", "W_KR"};
constexpr std::array<std::string_view, 4> kNeeded{"W_DKV", "W_UK", "W_UV", "W_UQ"};

// A matrix of the chain, once its width is known.
struct Link {
  std::string name;
  std::optional<Shape> shape;
};

class LatentFitter {
 public:
  LatentFitter(const Draft& draft, Roles& roles, Diagnostics& diagnostics)
      : draft_(draft), settings_(draft.settings), roles_(roles), diagnostics_(diagnostics) {}

  void fit() {
    if (roles_.is_settled) needs_sections();
    refuse_keys_and_values();
    const Link x_kv = given(roles_.k.matrix);
    const Link x = given(roles_.q.matrix);
    const Link c_kv = product("c_KV", x_kv, "W_DKV");
    const Link k_c = product("K_C", c_kv, "W_UK");
    const Link v_c = product("V_C", c_kv, "W_UV");
    const Link c_q = draft_.has("W_DQ") ? product("c_Q", x, "W_DQ") : x;
    const Link q_c = product("Q_C", c_q, "W_UQ");
    Link k_r = product("K_R", x_kv, "W_KR");
    Link q_r = product("Q_R", c_q, "W_QR");
    const bool has_position = draft_.has("W_KR");
    if (!k_c.shape || !v_c.shape || !q_c.shape || (has_position && (!k_r.shape || !q_r.shape))) return;
    if (!are_cut_into_heads({{{"W_UK", k_c}, {"W_UV", v_c}, {"W_UQ", q_c}}})) return;
    if (q_c.shape->cols != k_c.shape->cols) {
      return error("W_UQ",
                   say({"Q_C is {0} wide, but K_C is {1}: in each head a query and a key are equally wide",
                        "Q_C 宽 {0}，而 K_C 宽 {1}：每个头里查询与键要一样宽"},
                       q_c.shape->cols, k_c.shape->cols),
                   origins_of("W_UQ", "W_UK"));
    }
    Index d_rope = 0;
    if (has_position) {
      d_rope = k_r.shape->cols;
      if (q_r.shape->cols != heads() * d_rope) {
        return error("W_QR",
                     say({"Q_R is {0} wide, but {1}, each with a position part of {2}, make {3}",
                          "Q_R 宽 {0}，而 {1} 个头、每个头的位置部分宽 {2}，需要 {3}"},
                         q_r.shape->cols, counted(heads(), "head"), d_rope, heads() * d_rope),
                     say({"[W_KR] makes one part for all heads, [W_QR] a part for each",
                          "[W_KR] 得到所有头共用的一份，[W_QR] 给每个头各一份"}));
      }
    }
    if (settings_.kv_heads && *settings_.kv_heads != heads()) return refuse_shared_heads();
    const Index width = q_c.shape->cols + heads() * d_rope;
    roles_.q.shape = Shape{q_c.shape->rows, width};
    roles_.k.shape = Shape{k_c.shape->rows, width};
    roles_.v.shape = v_c.shape;
  }

 private:
  Index heads() const { return settings_.heads; }

  void error(std::string_view section, Said message, Said hint = {}) {
    report(Severity::error, draft_.find(section)->place(), std::move(message), std::move(hint), diagnostics_);
  }

  Said origins_of(const std::string& a, const std::string& b) const { return origins(draft_, roles_, a, b); }

  void needs_sections() {
    const std::string_view first = first_latent_section(draft_);
    const Said recall = say({"K = X·W_DKV·W_UK, V = X·W_DKV·W_UV, Q = X·W_UQ or X·W_DQ·W_UQ",
                             "K = X·W_DKV·W_UK，V = X·W_DKV·W_UV，Q = X·W_UQ 或 X·W_DQ·W_UQ"});
    for (const std::string_view needed : kNeeded) {
      if (draft_.has(needed)) continue;
      error(first,
            say({"[{0}] is a part of MLA, which needs [{1}] too", "[{0}] 是 MLA 的一部分，还需要 [{1}]"},
                first, needed),
            recall);
    }
    const bool has_q = draft_.has("W_QR");
    if (has_q == draft_.has("W_KR")) return;
    error(has_q ? "W_QR" : "W_KR",
          say({"[{0}] needs [{1}]: query and key have a position part, or neither has",
               "[{0}] 需要 [{1}]：查询和键要么都有位置部分，要么都没有"},
              has_q ? "W_QR" : "W_KR", has_q ? "W_KR" : "W_QR"));
  }

  // The cache holds latents here.
  void refuse_keys_and_values() {
    for (const std::string_view name : {"past_K", "past_V"}) {
      if (!draft_.has(name)) continue;
      error(name, say({"[{0}] does not go with MLA", "[{0}] 不能与 MLA 同用"}, name),
            say({"MLA caches c_KV and K_R, not the keys and values",
                 "MLA 缓存的是 c_KV 和 K_R，而不是键和值"}));
    }
  }

  void refuse_shared_heads() {
    report(Severity::error, settings_.find("kv_heads")->value_place,
           say({"kv_heads = {0} does not go with MLA: each of the {1} heads restores keys of its own",
                "kv_heads = {0} 不能与 MLA 同用：{1} 个头各自还原自己的键"},
               *settings_.kv_heads, heads()),
           {}, diagnostics_);
  }

  Link given(const std::string& name) const {
    const DraftMatrix* matrix = draft_.find(name);
    if (!matrix || !matrix->has_shape) return {name, std::nullopt};
    return {name, matrix->given.shape()};
  }

  Link product(const std::string& name, const Link& left, const std::string& w_name) {
    const Link stored = given(w_name);
    if (!left.shape || !stored.shape) return {name, std::nullopt};
    const Shape w = as_columns(settings_, *stored.shape);
    if (left.shape->cols != w.rows) {
      const bool is_linear = settings_.layout == Layout::linear;
      error(w_name, is_linear
                        ? say({"{0} is {1} but {2} is {3}: {0}·{2}ᵀ needs {4} in {2} (layout = linear)",
                               "{0} 是 {1}，而 {2} 是 {3}：{0}·{2}ᵀ 要求 {2} 有 {4} 列（layout = linear）"},
                              left.name, size_text(*left.shape), w_name, size_text(*stored.shape),
                              counted(left.shape->cols, "column"))
                        : say({"{0} is {1} but {2} is {3}: {0}·{2} needs {4} in {2}",
                               "{0} 是 {1}，而 {2} 是 {3}：{0}·{2} 要求 {2} 有 {4} 行"},
                              left.name, size_text(*left.shape), w_name, size_text(*stored.shape),
                              counted(left.shape->cols, "row")));
      return {name, std::nullopt};
    }
    const Shape made{left.shape->rows, w.cols};
    if (made.rows > kMostCells / made.cols) {
      error(w_name, say({"{0} would be {1}: more than {2} cells, the most that are traced",
                         "{0} 将是 {1}：超过逐格演算的上限 {2} 格"},
                        name, size_text(made), "1,000,000"));
      return {name, std::nullopt};
    }
    return {name, made};
  }

  bool are_cut_into_heads(const std::array<std::pair<const char*, Link>, 3>& matrices) {
    for (const auto& [w_name, link] : matrices) {
      if (link.shape->cols % heads() == 0) continue;
      error(w_name, say({"the {1} of {0} cannot be cut into {2}", "{0} 的 {1} 列不能等分成 {2} 个头"},
                        link.name, counted(link.shape->cols, "column"), counted(heads(), "head")));
      return false;
    }
    return true;
  }

  const Draft& draft_;
  const Settings& settings_;
  Roles& roles_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::string_view first_latent_section(const Draft& draft) {
  const auto found = std::find_if(kSections.begin(), kSections.end(),
                                  [&](std::string_view name) { return draft.has(name); });
  return found == kSections.end() ? std::string_view() : *found;
}

bool is_latent(const Draft& draft) { return !first_latent_section(draft).empty(); }

void fit_latents(const Draft& draft, Roles& roles, Diagnostics& diagnostics) {
  LatentFitter(draft, roles, diagnostics).fit();
}

}  // namespace qkv

#include "problem/visibility.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/display_width.h"
#include "problem/parts.h"

namespace qkv {
namespace {

bool is_minus_infinity(const Number& n) { return n.kind == Number::Kind::infinite && n.value < 0; }
bool is_one(const Number& n) { return n.kind == Number::Kind::finite && n.value == 1; }
bool is_zero(const Number& n) { return n.kind == Number::Kind::finite && n.value == 0; }

class VisibilityReader {
 public:
  VisibilityReader(const Draft& draft, const Roles& roles, const std::vector<std::string>& tokens,
                   Diagnostics& diagnostics)
      : draft_(draft),
        settings_(draft.settings),
        entry_(roles.entry),
        queries_(*roles.queries),
        keys_(*roles.keys),
        tokens_(tokens),
        mask_setting_(draft.settings.mask),
        diagnostics_(diagnostics) {
    if (const DraftMatrix* past = draft.find("past_K"))
      mask_setting_.past = static_cast<long>(past->given.rows);
  }

  Visibility read() {
    result_.align = aligned();
    if (draft_.asks_for_result_alone && !has_tables()) return rule();
    mask_ = Mask::Constant(queries_, keys_, true);
    if (entry_ != Entry::masked && entry_ != Entry::weights) {
      if (!mask_setting_.is_none()) add_setting();
      is_asked_for_ = add_section("mask", mask_) || is_asked_for_;
    }
    result_.mask = shared(mask_);
    Mask allowed = mask_;
    bool hides_more = false;
    if (entry_ != Entry::weights) {
      for (const char* name : {"bias", "scores", "scaled", "masked"}) {
        const DraftMatrix* matrix = draft_.find(name);
        if (matrix && fits(*matrix)) hides_more = hide_infinities(matrix->given, allowed) || hides_more;
      }
    }
    result_.allowed = hides_more || result_.mask ? std::make_shared<const Mask>(std::move(allowed)) : nullptr;
    if (has_tables_of_heads()) {
      tables_of_heads();
    } else {
      empty_rows(result_.allowed, mask_place({"mask", "bias", "scores", "scaled", "masked"}));
    }
    tell_sections();
    return std::move(result_);
  }

 private:
  bool fits(const DraftMatrix& matrix) const {
    return matrix.has_shape && matrix.given.rows == queries_ && matrix.given.cols == keys_;
  }

  std::shared_ptr<const Mask> shared(const Mask& mask) const {
    return is_asked_for_ ? std::make_shared<const Mask>(mask) : nullptr;
  }

  // pos i = i + align.
  long aligned() const {
    switch (settings_.align.kind) {
      case Align::Kind::bottom_right:
        return static_cast<long>(keys_ - queries_);
      case Align::Kind::top_left:
        return 0;
      case Align::Kind::number:
        break;
    }
    return settings_.align.number;
  }

  void add_meaning(Said meaning) {
    result_.meaning = result_.meaning.empty() ? std::move(meaning)
                                              : say({"{0}; {1}", "{0}；{1}"}, result_.meaning, meaning);
  }

  // ---- the setting ----

  // Without a table of queries by keys.
  Visibility rule() {
    if (mask_setting_.is_none() || !parts_fit()) return std::move(result_);
    result_.rule = std::make_shared<const MaskSetting>(mask_setting_);
    tell_setting();
    const KeyRuns seen = visible_keys(mask_setting_, result_.align, settings_.first_index, queries_, keys_);
    std::vector<Index> empty;
    for (std::size_t i = 0; i + 1 < seen.first.size(); ++i) {
      if (seen.first[i] == seen.first[i + 1]) empty.push_back(static_cast<Index>(i));
    }
    tell_empty_rows(empty, mask_place({}), 0);
    return std::move(result_);
  }

  // What may forbid a pair besides the setting.
  bool has_tables() const {
    if (entry_ != Entry::x && entry_ != Entry::qkv) return true;
    return draft_.has("mask") || draft_.has("bias") || has_tables_of_heads();
  }

  void add_setting() {
    if (!parts_fit()) return;
    is_asked_for_ = true;
    const KeyRuns seen = visible_keys(mask_setting_, result_.align, settings_.first_index, queries_, keys_);
    mask_.setConstant(false);
    for (Index i = 0; i < queries_; ++i) {
      const auto row = static_cast<std::size_t>(i);
      for (std::size_t r = seen.first[row]; r < seen.first[row + 1]; ++r)
        mask_.row(i).segment(seen.runs[r].begin, seen.runs[r].end - seen.runs[r].begin).setConstant(true);
    }
    find_seen_by_sinks();
    tell_setting();
  }

  void tell_setting() {
    add_meaning(mask_setting_.meaning);
    if (queries_ != keys_ && mask_setting_.uses_align()) {
      add_meaning(say({"the first query stands at position {0} of the keys, counted from 0",
                       "第一个查询对应键的位置 {0}（从 0 数起）"},
                      result_.align));
    }
  }

  // The pairs that would be closed without `sinks`.
  void find_seen_by_sinks() {
    if (!mask_setting_.sinks || !mask_setting_.window) return;
    MaskSetting without = mask_setting_;
    without.sinks.reset();
    Mask opened = mask_;
    for (Index i = 0; i < queries_; ++i) {
      for (Index j = 0; j < keys_; ++j)
        opened(i, j) = mask_(i, j) && !is_visible(without, result_.align, settings_.first_index, i, j);
    }
    if (opened.any()) result_.by_sinks = std::make_shared<const Mask>(std::move(opened));
  }

  Place part_place(Span part) const {
    Place place = settings_.find("mask")->value_place;
    place.span = {place.span.begin + part.begin, place.span.begin + part.end};
    return place;
  }

  void error(const Place& place, Said message, Said hint = {}) {
    report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
  }

  // The parts that speak of single tokens fit the number of tokens.
  bool parts_fit() {
    const MaskSetting& mask = mask_setting_;
    bool fit = true;
    if (const Index count = static_cast<Index>(mask.padding.size()); count != 0 && count != keys_) {
      fit = false;
      error(part_place(mask.padding_span),
            say({"padding names {0}, but the problem has {1}", "padding 给出 {0} 个键，而实际有 {1} 个"},
                counted(count, "key"), keys_));
    }
    if (const Index count = static_cast<Index>(mask.segments.size()); count != 0) {
      if (queries_ != keys_) {
        fit = false;
        error(part_place(mask.segments_span),
              say({"segments need as many queries as keys, but there are {0} and {1}",
                   "segments 要求查询和键一样多，而这里分别有 {0} 个和 {1} 个"},
                  queries_, keys_));
      } else if (count != keys_) {
        fit = false;
        error(part_place(mask.segments_span), say({"segments name {0}, but the problem has {1}",
                                                   "segments 给出 {0} 个 token，而实际有 {1} 个"},
                                                  counted(count, "token"), keys_));
      }
    }
    const long last = static_cast<long>(std::max(queries_, keys_)) + settings_.first_index - 1;
    for (const long token : mask.global) {
      if (token >= settings_.first_index && token <= last) continue;
      fit = false;
      error(part_place(mask.global_span),
            say({"there is no token {0}: tokens are numbered {1} to {2}",
                 "没有第 {0} 号 token：token 编号从 {1} 到 {2}"},
                token, settings_.first_index, last),
            say({"the setting first_index says where numbering begins", "编号从几开始由 first_index 决定"}));
      break;
    }
    return fit;
  }

  // ---- the section ----

  // A 0/1 mask and a 0/-inf mask mean opposite things by 0, and libraries disagree about 1.
  // qkv reads what can be read one way only, says what it understood, and asks otherwise.
  // Returns whether there is such a section, and it was understood.
  bool add_section(const std::string& name, Mask& mask) {
    const DraftMatrix* section = draft_.find(name);
    if (section == nullptr || !fits(*section)) return false;
    const std::optional<MaskValues> meaning = understood(name, *section);
    if (!meaning) return false;
    const Given& given = section->given;
    for (Index i = 0; i < queries_; ++i) {
      for (Index j = 0; j < keys_; ++j) {
        const Number& cell = given.at(i, j);
        const bool may_look = *meaning == MaskValues::look ? is_one(cell) : is_zero(cell);
        mask(i, j) = mask(i, j) && may_look;
      }
    }
    std::string& names = understood_[*meaning];
    names += (names.empty() ? "[" : " [") + name + "]";
    return true;
  }

  // Sections of one meaning are told together.
  void tell_sections() {
    for (const auto& [meaning, names] : understood_) {
      switch (meaning) {
        case MaskValues::look:
          add_meaning(say({"{0}: 1 = may look, 0 = may not", "{0}：1 = 可看，0 = 不可看"}, names));
          break;
        case MaskValues::hide:
          add_meaning(say({"{0}: 1 = may not look, 0 = may", "{0}：1 = 不可看，0 = 可看"}, names));
          break;
        default:
          add_meaning(say({"{0}: 0 = may look, -inf = may not", "{0}：0 = 可看，-inf = 不可看"}, names));
      }
    }
  }

  using Test = bool (*)(const Number&);

  // The first cell, row by row, of which the test holds.
  static std::optional<std::pair<Index, Index>> first_cell(const Given& given, Test test) {
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        if (test(given.at(i, j))) return std::pair(i, j);
      }
    }
    return std::nullopt;
  }

  std::optional<MaskValues> understood(const std::string& name, const DraftMatrix& section) {
    if (section.has_faults) return std::nullopt;
    const Given& given = section.given;
    const auto other =
        first_cell(given, [](const Number& n) { return !is_zero(n) && !is_one(n) && !is_minus_infinity(n); });
    if (other) {
      error(
          section.cell_place(other->first, other->second),
          say({"a mask holds 0 and 1, or 0 and -inf, not '{0}'",
               "掩码只含 0 和 1，或 0 和 -inf，不能有“{0}”"},
              quotable(given.at(other->first, other->second).text)),
          say({"numbers that are added to the scores belong in [bias]", "要加到分数上的数请写在 [bias] 中"}));
      return std::nullopt;
    }
    const auto one = first_cell(given, is_one);
    const auto hidden = first_cell(given, is_minus_infinity);
    switch (settings_.mask_values) {
      case MaskValues::look:
      case MaskValues::hide:
        if (!hidden) return settings_.mask_values;
        error(section.cell_place(hidden->first, hidden->second),
              say({"-inf stands only in a mask that is added (mask_values = add)",
                   "只有相加的掩码（mask_values = add）才能写 -inf"}));
        return std::nullopt;
      case MaskValues::add:
        if (!one) return MaskValues::add;
        error(section.cell_place(one->first, one->second),
              say({"a mask that is added holds 0 and -inf, not 1", "相加的掩码只含 0 和 -inf，不能有 1"}));
        return std::nullopt;
      case MaskValues::automatic:
        break;
    }
    if (one && hidden) {
      const bool one_is_later = *one > *hidden;
      const auto later = one_is_later ? *one : *hidden;
      error(
          section.cell_place(later.first, later.second),
          say({"[{0}] holds both 1 and -inf: what does 0 mean?", "[{0}] 中既有 1 又有 -inf：0 是什么意思？"},
              name),
          say({"use 0 and 1, or 0 and -inf", "请只用 0 和 1，或只用 0 和 -inf"}));
      return std::nullopt;
    }
    if (!one && !hidden) {
      error(section.place(),
            say({"[{0}] holds zeros alone: are all keys visible, or none?",
                 "[{0}] 全是 0：是都可看，还是都不可看？"},
                name),
            say({"write mask_values = add (0 = visible), hide (0 = visible) or look (0 = hidden)",
                 "请写 mask_values = add（0 可看）、hide（0 可看）或 look（0 不可看）"}));
      return std::nullopt;
    }
    return one ? MaskValues::look : MaskValues::add;
  }

  // ---- heads that differ ----

  bool has_tables_of_heads() const {
    const auto is_of_a_head = [](const std::string& name) { return name.find('.') != std::string::npos; };
    for (const char* table : {"mask", "bias"}) {
      const std::vector<std::string> given = tables_given(draft_, table);
      if (std::any_of(given.begin(), given.end(), is_of_a_head)) return true;
    }
    return false;
  }

  // What all heads have, and what each has on top.
  void tables_of_heads() {
    const Mask open = Mask::Constant(queries_, keys_, true);
    const std::shared_ptr<const Mask> common = result_.allowed;
    Mask some = Mask::Constant(queries_, keys_, false);
    for (Index h = 0; h < settings_.heads; ++h) {
      HeadMask head{common, nullptr};
      const std::string mask_name = table_of_head("mask", h);
      const std::string bias_name = table_of_head("bias", h);
      Mask mask = mask_;
      Mask allowed = common ? *common : open;
      bool hides_more = false;
      if (add_section(mask_name, mask)) {
        head.mask = std::make_shared<const Mask>(mask);
        allowed = allowed && mask;
        hides_more = true;
      }
      if (const DraftMatrix* bias = draft_.find(bias_name); bias && fits(*bias))
        hides_more = hide_infinities(bias->given, allowed) || hides_more;
      if (hides_more) head.allowed = std::make_shared<const Mask>(allowed);
      some = some || allowed;
      const bool is_common = head.allowed == common;
      if (!is_common || h == 0) {
        empty_rows(
            head.allowed,
            is_common ? mask_place({"mask", "bias"}) : mask_place({mask_name, bias_name, "mask", "bias"}),
            is_common ? 0 : h + 1);
      }
      result_.heads.push_back(std::move(head));
    }
    result_.allowed = some.all() && !common ? nullptr : std::make_shared<const Mask>(std::move(some));
  }

  // ---- all together ----

  static bool hide_infinities(const Given& given, Mask& allowed) {
    bool hides = false;
    for (Index i = 0; i < given.rows; ++i) {
      for (Index j = 0; j < given.cols; ++j) {
        if (!is_minus_infinity(given.at(i, j))) continue;
        allowed(i, j) = false;
        hides = true;
      }
    }
    return hides;
  }

  // head: counted from 1; 0 for all of them.
  void empty_rows(const std::shared_ptr<const Mask>& allowed, const Place& place, Index head = 0) {
    if (!allowed) return;
    std::vector<Index> empty;
    for (Index i = 0; i < queries_; ++i) {
      if (!allowed->row(i).any()) empty.push_back(i);
    }
    tell_empty_rows(empty, place, head);
  }

  void tell_empty_rows(const std::vector<Index>& empty, const Place& place, Index head) {
    constexpr std::size_t kMostNamed = 10;
    const std::size_t count = empty.size();
    if (count == 0 || settings_.empty_row == EmptyRow::nan) return;
    std::string names;
    for (std::size_t i = 0; i < std::min(count, kMostNamed); ++i)
      names += (names.empty() ? "" : ", ") + quotable(tokens_[static_cast<std::size_t>(empty[i])]);
    if (count > kMostNamed) names += ", …";
    const bool is_error = settings_.empty_row == EmptyRow::error;
    const Said whose =
        head == 0 ? say({"{0}", "{0}"}, names) : say({"{0} in head h{1}", "头 h{1} 中 {0}"}, names, head);
    const Said message = is_error ? say({"every key is forbidden to {0}", "{0} 的所有键都被屏蔽"}, whose)
                                  : say({"every key is forbidden to {0}: weights and output are zero there",
                                         "{0} 的所有键都被屏蔽：这些行的权重和输出取零"},
                                        whose);
    const Said hint = is_error ? Said{}
                               : say({"empty_row = nan or error treats such a row otherwise",
                                      "可用 empty_row = nan 或 error 换一种处理方式"});
    report(is_error ? Severity::error : Severity::warning, place, message, hint, diagnostics_);
  }

  // Where a key was forbidden: of what is given, the first.  A head's own table comes before the setting.
  Place mask_place(const std::vector<std::string>& names) const {
    const bool is_setting = !mask_setting_.is_none();
    for (const std::string& name : names) {
      if (is_setting && name.find('.') == std::string::npos) break;
      if (const DraftMatrix* matrix = draft_.find(name)) return matrix->place();
    }
    return is_setting ? settings_.find("mask")->place : Place{};
  }

  const Draft& draft_;
  const Settings& settings_;
  Entry entry_;
  Index queries_;
  Index keys_;
  const std::vector<std::string>& tokens_;
  MaskSetting mask_setting_;
  Diagnostics& diagnostics_;
  Mask mask_;
  bool is_asked_for_ = false;
  std::map<MaskValues, std::string> understood_;  // the sections that were understood so: "[mask] [h1.mask]"
  Visibility result_;
};

}  // namespace

Visibility visibility(const Draft& draft, const Roles& roles, const std::vector<std::string>& tokens,
                      Diagnostics& diagnostics) {
  return VisibilityReader(draft, roles, tokens, diagnostics).read();
}

}  // namespace qkv

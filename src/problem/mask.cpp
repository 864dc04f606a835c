#include "problem/mask.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "base/suggest.h"
#include "input/fold.h"
#include "problem/value_words.h"

namespace qkv {
namespace {

// One part of the setting, "window:2,0", cut at the colon.
struct Part {
  std::string name;
  std::string argument;  // empty without a colon
  bool has_argument = false;
  Span span;
};

class MaskParser {
 public:
  MaskParser(std::string_view value, std::vector<ValueFault>& faults) : value_(value), faults_(faults) {}

  std::optional<MaskSetting> parse() {
    const std::size_t faults_before = faults_.size();
    if (has_commas_between_parts()) return std::nullopt;
    const std::vector<Part> parts = cut();
    for (const Part& part : parts) read(part);
    if (parts.size() > 1) {
      for (const Part& part : parts) {
        if (part.name == "none") {
          fault(part, say({"'none' stands alone", "“none”只能单独写"}));
        }
      }
    }
    if (faults_.size() > faults_before) return std::nullopt;
    describe();
    return std::move(mask_);
  }

 private:
  struct Kind {
    std::string_view name;
    const char* argument;  // what stands behind the colon, for hints; null: nothing
    void (MaskParser::*read)(const Part&);
  };

  static std::span<const Kind> kinds() {
    static const std::array<Kind, 8> all{{
        {"none", nullptr, nullptr},
        {"causal", nullptr, &MaskParser::causal},
        {"window", "window:3 / window:2,0", &MaskParser::window},
        {"prefix", "prefix:2", &MaskParser::prefix},
        {"padding", "padding:1,1,0", &MaskParser::padding},
        {"segments", "segments:1,1,2", &MaskParser::segments},
        {"sinks", "sinks:1", &MaskParser::sinks},
        {"global", "global:1,5", &MaskParser::global},
    }};
    return all;
  }

  // "causal, window:2": says so, with what to write.
  bool has_commas_between_parts() {
    std::string mended = folded(value_);
    bool is_found = false;
    for (const std::string_view comma : {",", "、"}) {
      for (std::size_t at = mended.find(comma); at != std::string::npos; at = mended.find(comma, at + 1)) {
        const std::size_t behind = std::min(mended.find_first_not_of(' ', at + comma.size()), mended.size());
        const std::string_view rest = std::string_view(mended).substr(behind);
        const auto all = kinds();
        if (std::none_of(all.begin(), all.end(), [&](const Kind& k) { return rest.starts_with(k.name); }))
          continue;
        mended.replace(at, behind - at, " ");
        is_found = true;
      }
    }
    if (!is_found) return false;
    faults_.push_back(
        {{0, value_.size()},
         say({"the parts of a mask are joined by spaces, not by ','", "掩码的几部分用空格隔开，不用“,”"}),
         say({"write 'mask = {0}'", "写作“mask = {0}”"}, quotable(mended))});
    return true;
  }

  // Words, except that "window: 3" and "padding:1, 1, 0" belong together.
  std::vector<Part> cut() const {
    std::vector<Part> parts;
    std::string joined;
    Span span;
    const auto finish = [&] {
      if (joined.empty()) return;
      const std::size_t colon = joined.find(':');
      Part part{joined.substr(0, colon), "", colon != std::string::npos, span};
      if (part.has_argument) part.argument = joined.substr(colon + 1);
      parts.push_back(std::move(part));
    };
    for (const ValueWord& word : words_of(value_)) {
      const bool goes_on = !joined.empty() && (joined.back() == ':' || joined.back() == ',' ||
                                               word.text[0] == ':' || word.text[0] == ',');
      if (!goes_on) {
        finish();
        joined.clear();
        span.begin = word.span.begin;
      }
      joined += word.text;
      span.end = word.span.end;
    }
    finish();
    return parts;
  }

  void fault(const Part& part, Said message, Said hint = {}) {
    faults_.push_back({part.span, std::move(message), std::move(hint)});
  }

  void read(const Part& part) {
    const auto all = kinds();
    const auto kind =
        std::find_if(all.begin(), all.end(), [&](const Kind& k) { return k.name == part.name; });
    if (kind == all.end()) return unknown(part);
    if (std::find(seen_.begin(), seen_.end(), part.name) != seen_.end()) {
      return fault(part, say({"'{0}' stands twice in this mask", "“{0}”在这个掩码中出现两次"}, part.name));
    }
    seen_.push_back(part.name);
    if (!kind->argument && part.has_argument) {
      return fault(part, say({"'{0}' takes nothing after it", "“{0}”后面不带参数"}, part.name));
    }
    if (kind->argument && part.argument.empty()) {
      return fault(part, say({"'{0}' needs a number", "“{0}”后面缺少数字"}, part.name),
                   say({"write {0}", "写作 {0}"}, kind->argument));
    }
    if (kind->read) (this->*kind->read)(part);
  }

  void unknown(const Part& part) {
    std::vector<std::string_view> names;
    for (const Kind& kind : kinds()) names.push_back(kind.name);
    Said hint = did_you_mean(part.name, names);
    if (hint.empty()) {
      hint = say(
          {"masks are none, causal, window:w, prefix:N, padding:1,1,0, segments:1,1,2, sinks:N, global:1,5",
           "掩码有 none、causal、window:w、prefix:N、padding:1,1,0、segments:1,1,2、sinks:N、global:1,5"});
    }
    fault(part, say({"unknown mask '{0}'", "未知的掩码“{0}”"}, quotable(part.name)), std::move(hint));
  }

  // A whole number of at least `least`; -1, with a fault, for anything else.
  long number(const Part& part, std::string_view text, long least) {
    const std::optional<long> value = small_integer(text);
    if (value && *value >= least) return *value;
    fault(part, say({"'{0}' takes a whole number from {1} on, not '{2}'",
                     "“{0}”应为不小于 {1} 的整数，而不是“{2}”"},
                    part.name, least, quotable(text)));
    return -1;
  }

  // "0,1,1"
  std::vector<long> numbers(const Part& part, long least) {
    std::vector<long> values;
    const std::size_t faults_before = faults_.size();
    for (const ValueWord& piece : split_at_commas(part.argument, 0)) {
      values.push_back(number(part, piece.text, least));
      if (faults_.size() > faults_before) break;
    }
    return values;
  }

  void causal(const Part&) { mask_.is_causal = true; }

  void window(const Part& part) {
    const std::vector<ValueWord> sides = split_at_commas(part.argument, 0);
    if (sides.size() > 2) {
      return fault(part, say({"a window has one or two sizes", "窗口只有一个或两个大小"}),
                   say({"window:3 is the 3 latest keys; window:2,1 is 2 before, 1 after",
                        "window:3 是最近的 3 个键；window:2,1 是前 2 个、后 1 个"}));
    }
    Window window{std::nullopt, 0};
    if (sides.size() == 1) {
      // The w latest keys, the query's own counted: w − 1 before it and none after.
      if (sides[0].text != "inf") window.before = number(part, sides[0].text, 1) - 1;
    } else {
      if (sides[0].text != "inf") window.before = number(part, sides[0].text, 0);
      window.after = sides[1].text == "inf" ? std::nullopt : std::optional(number(part, sides[1].text, 0));
    }
    mask_.window = window;
    window_text_ = part.argument;
  }

  void prefix(const Part& part) {
    mask_.prefix = number(part, part.argument, 0);
    mask_.is_causal = true;
  }

  void sinks(const Part& part) { mask_.sinks = number(part, part.argument, 0); }

  void padding(const Part& part) {
    mask_.padding = numbers(part, 0);
    mask_.padding_span = part.span;
    if (std::any_of(mask_.padding.begin(), mask_.padding.end(), [](long p) { return p > 1; })) {
      fault(part, say({"padding is written with 1 (a real key) and 0 (padding)",
                       "padding 只用 1（真实的键）和 0（填充）"}));
    }
  }

  void segments(const Part& part) {
    mask_.segments = numbers(part, 0);
    mask_.segments_span = part.span;
  }

  void global(const Part& part) {
    mask_.global = numbers(part, 0);
    std::sort(mask_.global.begin(), mask_.global.end());
    mask_.global_span = part.span;
  }

  static std::string joined(const std::vector<long>& values) {
    std::string text;
    for (const long value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
    return text;
  }

  void add(const std::string& text, Said meaning) {
    mask_.text = mask_.is_none() || mask_.text == "none" ? text : mask_.text + " " + text;
    mask_.meaning =
        mask_.meaning.empty() ? std::move(meaning) : say({"{0}; {1}", "{0}；{1}"}, mask_.meaning, meaning);
  }

  // In one order, whatever the order they were written in.
  void describe() {
    if (mask_.is_causal && !mask_.prefix) {
      add("causal", say({"causal: a query sees the keys up to its own position",
                         "causal：每个查询只看自己及之前的键"}));
    }
    if (mask_.prefix) {
      add("prefix:" + std::to_string(*mask_.prefix),
          *mask_.prefix == 1
              ? say({"prefix:1: the first key is visible to all, the others only from their own position on",
                     "prefix:1：第一个键对所有查询可见，其余的键只对自己及之后的查询可见"})
              : say({"prefix:{0}: the first {0} keys are visible to all, the others only from their own "
                     "position "
                     "on",
                     "prefix:{0}：前 {0} 个键对所有查询可见，其余的键只对自己及之后的查询可见"},
                    *mask_.prefix));
    }
    if (mask_.window) describe_window();
    if (!mask_.padding.empty()) {
      add("padding:" + joined(mask_.padding),
          say({"padding: keys marked 0 are hidden", "padding：标为 0 的键被屏蔽"}));
    }
    if (!mask_.segments.empty()) {
      add("segments:" + joined(mask_.segments),
          say({"segments: a token sees only its own segment", "segments：每个 token 只看同一段内的键"}));
    }
    if (mask_.sinks) {
      add("sinks:" + std::to_string(*mask_.sinks),
          *mask_.sinks == 1 ? say({"sinks:1: the first key stays visible outside the window",
                                   "sinks:1：第一个键在窗口外也可见"})
                            : say({"sinks:{0}: the first {0} keys stay visible outside the window",
                                   "sinks:{0}：前 {0} 个键在窗口外也可见"},
                                  *mask_.sinks));
    }
    if (!mask_.global.empty()) {
      add("global:" + joined(mask_.global),
          say({"global: these tokens see beyond the window, and are seen beyond it",
               "global：这些 token 不受窗口限制，既能看到也能被看到"}));
    }
  }

  void describe_window() {
    const std::string text = "window:" + window_text_;
    const Window& window = *mask_.window;
    if (window_text_ == "1") {
      return add(text, say({"window:1: a query sees the key at its own position only",
                            "window:1：每个查询只看自己那个键"}));
    }
    if (window_text_.find(',') == std::string::npos) {
      return add(text, window.before
                           ? say({"{0}: the {1} latest keys, its own position counted",
                                  "{0}：最近的 {1} 个键，自己算在内"},
                                 text, *window.before + 1)
                           : say({"{0}: all keys up to its own position", "{0}：自己及之前的所有键"}, text));
    }
    const auto size = [](const std::optional<long>& side) {
      return side ? std::to_string(*side) : std::string("inf");
    };
    add(text, say({"{0}: its own position, {1} before it and {2} after it",
                   "{0}：自己，之前 {1} 个键，之后 {2} 个键"},
                  text, size(window.before), size(window.after)));
  }

  std::string_view value_;
  std::vector<ValueFault>& faults_;
  MaskSetting mask_;
  std::string window_text_;
  std::vector<std::string> seen_;
};

}  // namespace

std::optional<MaskSetting> parse_mask(std::string_view value, std::vector<ValueFault>& faults) {
  return MaskParser(value, faults).parse();
}

bool is_visible(const MaskSetting& mask, long align, int first_index, Index i, Index j) {
  const long position = static_cast<long>(i) + align;
  const long key = static_cast<long>(j);
  if (mask.is_causal && key > position && key >= mask.prefix.value_or(0)) return false;
  if (mask.window) {
    const bool is_inside = (!mask.window->before || key >= position - *mask.window->before) &&
                           (!mask.window->after || key <= position + *mask.window->after);
    const bool is_sink = key < mask.sinks.value_or(0);
    const auto is_global = [&](Index token) {
      return std::binary_search(mask.global.begin(), mask.global.end(),
                                static_cast<long>(token) + first_index);
    };
    if (!is_inside && !is_sink && !is_global(i + mask.past) && !is_global(j)) return false;
  }
  if (!mask.segments.empty() &&
      mask.segments[static_cast<std::size_t>(i)] != mask.segments[static_cast<std::size_t>(j)]) {
    return false;
  }
  return mask.padding.empty() || mask.padding[static_cast<std::size_t>(j)] == 1;
}

namespace {

// What both see; each ascending and apart.
std::vector<KeyRun> in_both(const std::vector<KeyRun>& a, const std::vector<KeyRun>& b) {
  std::vector<KeyRun> both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const KeyRun common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.begin < common.end) both.push_back(common);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return both;
}

// Cut to [0, keys), in order, neighbours joined.
std::vector<KeyRun> in_order(std::vector<KeyRun> runs, Index keys) {
  std::sort(runs.begin(), runs.end(), [](const KeyRun& a, const KeyRun& b) { return a.begin < b.begin; });
  std::vector<KeyRun> result;
  for (KeyRun run : runs) {
    run = {std::max<Index>(run.begin, 0), std::min(run.end, keys)};
    if (run.begin >= run.end) continue;
    if (!result.empty() && run.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, run.end);
    } else {
      result.push_back(run);
    }
  }
  return result;
}

// The runs of the keys j with table[j] == value.
std::vector<KeyRun> runs_of(const std::vector<long>& table, long value) {
  std::vector<KeyRun> runs;
  for (std::size_t j = 0; j < table.size(); ++j) {
    const auto key = static_cast<Index>(j);
    if (table[j] == value) runs.push_back({key, key + 1});
  }
  return in_order(std::move(runs), static_cast<Index>(table.size()));
}

}  // namespace

KeyRuns visible_keys(const MaskSetting& mask, long align, int first_index, Index queries, Index keys) {
  const std::vector<KeyRun> all = in_order({{0, keys}}, keys);
  const std::vector<KeyRun> real = mask.padding.empty() ? all : runs_of(mask.padding, 1);
  std::map<long, std::vector<KeyRun>> segments;
  for (const long segment : mask.segments) {
    if (!segments.contains(segment)) segments.emplace(segment, runs_of(mask.segments, segment));
  }
  std::vector<KeyRun> beyond_window;  // sinks and global keys
  if (mask.sinks) beyond_window.push_back({0, *mask.sinks});
  for (const long token : mask.global)
    beyond_window.push_back({token - first_index, token - first_index + 1});

  KeyRuns result;
  for (Index i = 0; i < queries; ++i) {
    const Index position = i + align;
    std::vector<KeyRun> seen = real;
    if (mask.is_causal)
      seen = in_both(seen, in_order({{0, std::max<Index>(position + 1, mask.prefix.value_or(0))}}, keys));
    const bool is_global = std::binary_search(mask.global.begin(), mask.global.end(),
                                              static_cast<long>(i) + mask.past + first_index);
    if (mask.window && !is_global) {
      std::vector<KeyRun> window = beyond_window;
      window.push_back({mask.window->before ? position - *mask.window->before : 0,
                        mask.window->after ? position + *mask.window->after + 1 : keys});
      seen = in_both(seen, in_order(std::move(window), keys));
    }
    if (!mask.segments.empty()) seen = in_both(seen, segments[mask.segments[static_cast<std::size_t>(i)]]);
    result.add_query(seen);
  }
  return result;
}

}  // namespace qkv

#include "problem/value_reader.h"

#include <algorithm>
#include <utility>

#include "base/display_width.h"
#include "base/suggest.h"
#include "input/fold.h"
#include "input/matrix_text.h"
#include "input/spelling.h"
#include "problem/value_words.h"

namespace qkv {

ValueReader::ValueReader(const SettingText& setting, Diagnostics& diagnostics)
    : setting_(setting), diagnostics_(diagnostics), text_(folded(setting.value)) {}

void ValueReader::error(Span within, Said message, Said hint) {
  Place place = setting_.value_place;
  if (place.source) {
    const std::size_t begin = place.span.begin;
    place.span = {begin + within.begin, begin + within.end};
  }
  report(Severity::error, place, std::move(message), std::move(hint), diagnostics_);
}

Said ValueReader::allowed_values() const {
  return say({"values of '{0}': {1}", "“{0}”的取值：{1}"}, key().name, qkv::allowed_values(key()));
}

// "soft | hard" holds the words soft and hard.
std::vector<std::string_view> ValueReader::choices() const {
  std::vector<std::string_view> result;
  std::string_view rest = key().values;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(" | "), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word.find(' ') == std::string_view::npos) result.push_back(word);  // "a number" describes one
    rest.remove_prefix(std::min(end + 3, rest.size()));
  }
  return result;
}

bool ValueReader::choice() {
  const std::vector<std::string_view> all = choices();
  if (std::find(all.begin(), all.end(), text_) != all.end()) return true;
  not_a_choice();
  return false;
}

Said ValueReader::meant_or_allowed(std::string_view written) const {
  Said near = did_you_mean(written, choices());
  return near.empty() ? allowed_values() : near;
}

void ValueReader::not_a_choice() {
  Said hint = meant_or_allowed(text_);
  error(say({"'{0}' is not a value of '{1}'", "“{0}”不是“{1}”的取值"}, quotable(text_), key().name),
        std::move(hint));
}

std::optional<long> ValueReader::integer(long least, long most) {
  const std::optional<long> value = small_integer(text_);
  if (value && *value >= least && *value <= most) return value;
  constexpr long kOpenEnd = 999'999'999;
  const Said range = most >= kOpenEnd
                         ? say({"a whole number from {0} on", "不小于 {0} 的整数"}, least)
                         : say({"a whole number from {0} to {1}", " {0} 到 {1} 的整数"}, least, most);
  error(say({"'{0}' takes {1}, not '{2}'", "“{0}”应为{1}，而不是“{2}”"}, key().name, range, quotable(text_)),
        did_you_mean(text_, choices()));
  return std::nullopt;
}

std::optional<Number> ValueReader::number_in(std::string_view written, std::size_t offset) {
  const FoldedWord word = folded_word(written);
  NumberError fault;
  std::optional<Number> number = parse_number(word.text, fault);
  if (const auto other = number ? std::nullopt : respelt(word.text, false)) {
    NumberError ignored;
    number = parse_number(*other, ignored);  // "1/√2"
  }
  if (number && number->kind == Number::Kind::finite) return number;
  if (number && number->kind == Number::Kind::infinite) {
    fault = {0, word.text.size(), say({"'{0}' must be finite", "“{0}”必须是有限的数"}, key().name), {}};
  } else if (number) {
    fault = not_a_number(word.text);
  }
  if (fault.hint.empty()) fault.hint = meant_or_allowed(word.text);
  const std::size_t begin = std::min(fault.at, word.text.size());
  const std::size_t end = std::min(fault.at + fault.length, word.text.size());
  error({offset + word.offsets[begin], offset + word.offsets[end]}, std::move(fault.message),
        std::move(fault.hint));
  return std::nullopt;
}

std::optional<Number> ValueReader::number() { return number_in(setting_.value, 0); }

std::optional<Number> ValueReader::positive_number() {
  std::optional<Number> value = number();
  if (!value || value->value > 0) return value;
  error(say({"'{0}' must be positive, not {1}", "“{0}”必须为正数，而不是 {1}"}, key().name,
            quotable(value->text)));
  return std::nullopt;
}

std::optional<std::vector<Number>> ValueReader::numbers() {
  std::vector<Number> result;
  for (const ValueWord& word : words_of(setting_.value)) {
    std::size_t begin = word.span.begin;
    while (begin < word.span.end) {
      std::size_t end = begin;
      while (end < word.span.end && fold_at(setting_.value, end).value != ',')
        end += fold_at(setting_.value, end).length;
      if (end > begin) {
        std::optional<Number> number =
            number_in(std::string_view(setting_.value).substr(begin, end - begin), begin);
        if (!number) return std::nullopt;
        result.push_back(std::move(*number));
      }
      begin = end < word.span.end ? end + fold_at(setting_.value, end).length : end;
    }
  }
  return result;
}

// Labels are never folded: ， is a token that a sentence may well hold.
std::optional<std::vector<std::string>> ValueReader::labels() {
  std::vector<std::string> result;
  const std::string& value = setting_.value;
  for (std::size_t at = 0; at < value.size();) {
    if (const Folded c = fold_at(value, at); is_space(c.value)) {
      at += c.length;
      continue;
    }
    const std::size_t begin = at;
    std::string label;
    if (value[at] == '"') {
      const std::size_t close = value.find('"', at + 1);
      if (close == std::string::npos) {
        error({begin, value.size()}, say({"the quote is never closed on this line", "这一行的引号没有配对"}));
        return std::nullopt;
      }
      label = value.substr(at + 1, close - at - 1);
      at = close + 1;
    } else {
      while (at < value.size() && !is_space(fold_at(value, at).value)) at += fold_at(value, at).length;
      label = value.substr(begin, at - begin);
    }
    if (label.empty()) {
      error({begin, at}, say({"a label must not be empty", "标签不能为空"}));
      return std::nullopt;
    }
    if (label.size() > kLongestLabel) {
      error({begin, at}, say({"a label of {0} bytes; the limit is {1}", "标签有 {0} 字节；上限是 {1}"},
                             label.size(), kLongestLabel));
      return std::nullopt;
    }
    result.push_back(std::move(label));
  }
  return result;
}

}  // namespace qkv

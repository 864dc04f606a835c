#include "cli/counts.h"

#include <charconv>
#include <limits>

#include "base/number.h"

namespace qkv {
namespace {

// What somebody may have meant who wrote 32K or 8,192.
Said hint_about(const std::string& text) {
  if (text.find(',') != std::string::npos || text.find('_') != std::string::npos)
    return say({"write it without separators, e.g. 8192", "请不要加分隔符，例如 8192"});
  long long thousands = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, thousands);
  const bool is_thousands = error == std::errc() && rest + 1 == end && (*rest == 'K' || *rest == 'k');
  if (!is_thousands || thousands > kMostCount / 1024) return {};
  return say(
      {"write it out: {0} ({1}·1024) or {2} ({1}·1000)", "请写成完整的数：{0}（{1}·1024）或 {2}（{1}·1000）"},
      thousands * 1024, thousands, thousands * 1000);
}

}  // namespace

std::optional<long long> count_of(const std::string& option, const std::string& text,
                                  Diagnostics& diagnostics, long long least, long long most) {
  long long count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && rest == end && count >= least && count <= most) return count;
  diagnostics.error(
      "",
      say({"{0} takes a whole number from {1} to {2}, not '{3}'", "{0} 应为 {1} 到 {2} 的整数，而不是“{3}”"},
          option, least, most, text),
      hint_about(text));
  return std::nullopt;
}

std::optional<long long> bits_of_bytes(const std::string& option, const std::string& text,
                                       Diagnostics& diagnostics) {
  constexpr double kMostBytes = 1024;
  NumberError error;
  const auto number = parse_number(text, error);
  const double bits = number && number->kind == Number::Kind::finite ? number->value * 8 : 0;
  if (bits >= 1 && bits <= 8 * kMostBytes && bits == static_cast<double>(static_cast<long long>(bits)))
    return static_cast<long long>(bits);
  diagnostics.error("",
                    say({"{0}: '{1}' is no size of a number", "{0}：“{1}”不能是一个数的大小"}, option, text),
                    say({"4 for fp32, 2 for fp16 and bf16, 1 for fp8 and int8, 0.5 for int4",
                         "fp32 为 4，fp16、bf16 为 2，fp8、int8 为 1，int4 为 0.5"}));
  return std::nullopt;
}

bool is_countable(const Integer& count, Diagnostics& diagnostics) {
  if (count <= std::numeric_limits<long long>::max()) return true;
  diagnostics.error(
      "",
      say({"these sizes multiply to {0}, more than any machine holds", "这些数相乘得到 {0}，没有机器装得下"},
          count.str()),
      say({"is one of them written with a digit too many?", "是不是有一个数多写了几位？"}));
  return false;
}

}  // namespace qkv

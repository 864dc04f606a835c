// What is said of one matrix while it is read: errors up to a limit, and notes.
#pragma once

#include <string>
#include <utility>

#include "base/diagnostic.h"

namespace qkv {

enum class Within { section, matrix_file };

struct MatrixPlace {
  SourcePtr source;
  Span body;    // whole lines
  Span name;    // where to point when nothing stands in the body; the section's header
  Said called;  // in messages: "[X]"
  Within within = Within::section;
  std::string wanted =
      {};  // the matrix's name, "K": chooses where a paste holds several; empty: none is known
};

class Faults {
 public:
  Faults(const MatrixPlace& place, Diagnostics& diagnostics) : place_(place), diagnostics_(diagnostics) {}

  void error(Span span, Said message, Said hint = {}) {
    if (is_hopeless()) return;
    ++count_;
    diagnostics_.error(place_.source, span, joined(std::move(message)), std::move(hint));
    if (count_ == kMost) {
      diagnostics_.error(
          place_.source, place_.name,
          joined(say({"{0} has more faults; these were the first {1}", "{0} 还有其他错误；以上是前 {1} 处"},
                     place_.called, kMost)));
    }
  }

  void no_rows() {
    if (place_.within == Within::section) {
      error(place_.name, say({"{0} has no rows", "{0} 没有任何一行"}, place_.called));
    } else {
      diagnostics_.error(place_.source->name, say({"no numbers in this file", "文件里没有数"}));
    }
  }

  void too_large() {
    const std::string& called = place_.called.en;
    const bool is_of_attention = called == "[Q]" || called == "[K]" || called == "[V]";
    error(place_.name,
          say({"{0} has more than {1} numbers, the most that are traced", "{0} 的数超过 {1} 个，这是上限"},
              place_.called, "1,000,000"),
          is_of_attention
              ? say({"more are read from files of plain rows: --only-output --q FILE --k FILE --v FILE",
                     "普通的数字行写成单独的文件就可以更多：--only-output --q 文件 --k 文件 --v 文件"})
              : Said{});
    is_too_large_ = true;
  }

  void warning(Span span, Said message, Said hint = {}) {
    diagnostics_.warning(place_.source, span, joined(std::move(message)), std::move(hint));
  }
  void note(Span span, Said message, Said hint = {}) {
    diagnostics_.note(place_.source, span, joined(std::move(message)), std::move(hint));
  }

  int count() const { return count_; }
  // Reading on would only say the same again.
  bool is_hopeless() const { return is_too_large_ || count_ >= kMost; }

 private:
  // In Chinese a space stands behind "[X]" and "Q", as the messages have it, and none behind Chinese words.
  Said joined(Said message) const {
    const std::string& called = place_.called.zh;
    if (called.empty() || static_cast<unsigned char>(called.back()) < 0x80) return message;
    for (std::size_t at = message.zh.find(called + " "); at != std::string::npos;
         at = message.zh.find(called + " ", at))
      message.zh.erase(at + called.size(), 1);
    return message;
  }

  static constexpr int kMost = 20;  // the rest is likely of the same kind

  const MatrixPlace& place_;
  Diagnostics& diagnostics_;
  int count_ = 0;
  bool is_too_large_ = false;
};

}  // namespace qkv

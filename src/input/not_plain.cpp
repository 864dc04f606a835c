#include "input/not_plain.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/display_width.h"
#include "input/number_lines.h"
#include "input/words.h"

namespace qkv {
namespace {

std::vector<Span> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<Span> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back({at, end});
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_plain_number(std::string_view word) {
  std::string line(word);
  line += '\n';
  const std::size_t size = line.size();
  line.append(kBehindLines, '\0');
  std::vector<double> values(most_numbers(size));
  return read_number_lines(line.data(), line.data() + size, values.data()).has_value();
}

}  // namespace

void tell_why_not_plain(const std::string& name, Diagnostics& diagnostics) {
  std::ifstream file(name, std::ios::binary);
  std::size_t words_in_all = 0;
  std::size_t width = 0;  // of the first row
  bool is_ended = false;  // by an empty line behind a row
  struct Fault {
    std::string line;
    std::size_t number;
    Span span;
    Said message;
  };
  std::optional<Fault> fault;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.find('\0') != std::string::npos || invalid_utf8_at(line)) return;  // no text
    const std::vector<Span> words = words_of(line);
    if (words.empty() || line[words.front().begin] == '#') {
      is_ended = is_ended || (words.empty() && width > 0);
      continue;
    }
    words_in_all += words.size();
    if (fault) continue;
    const auto text = [&](const Span& word) {
      return std::string_view(line).substr(word.begin, word.end - word.begin);
    };
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&](const Span& each) { return !is_plain_number(text(each)); });
    const Span whole{words.front().begin, words.back().end};
    if (word != words.end()) {
      fault = {line, number, *word,
               say({"'{0}' is not a plain decimal", "“{0}”不是普通的十进制小数"}, text(*word))};
    } else if (is_ended) {
      fault = {line, number, whole, say({"a second matrix begins here", "这里开始了第二个矩阵"})};
    } else if (width != 0 && words.size() != width) {
      fault = {line, number, whole,
               say({"this row has {0} numbers, the first one {1}", "这一行有 {0} 个数，第一行有 {1} 个"},
                   words.size(), width)};
    }
    if (width == 0) width = words.size();
  }
  if (!fault || words_in_all <= static_cast<std::size_t>(kMostCells)) return;

  // The line stands at its place in a text of which nothing else is kept.
  auto source = std::make_shared<Source>();
  source->name = name;
  source->text.assign(fault->number - 1, '\n');
  const std::size_t begin = source->text.size();
  source->text += fault->line + "\n";
  diagnostics.error(
      source, {begin + fault->span.begin, begin + fault->span.end}, fault->message,
      say({"more than 1,000,000 numbers are read as rows of decimals with blanks between them, one "
           "matrix a file; fractions, names and the like are read in smaller ones",
           "超过 1,000,000 个数的矩阵只按一行行小数来读（用空格隔开，一个文件一个矩阵）；"
           "分数、名称之类只在较小的矩阵里能读"}));
}

}  // namespace qkv
